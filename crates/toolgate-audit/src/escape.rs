//! Text that a reader of the log cannot be deceived by: JSON with every control, bidirectional, zero-width and tag character written as an escape.

use std::fmt::Write as _;
use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use unicode_normalization::{IsNormalized, is_nfc, is_nfc_quick};

/// Writes a value or a text as compact JSON on one line in which nothing is hidden.
pub(crate) fn write(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Writing values and texts to a Vec cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(out, Visible));
}

/// JSON that escapes what a reader would not see.
struct Visible;

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if fragment.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
            return out.write_all(fragment.as_bytes());
        }
        // Two names that look the same must not read the same: what normal form C would change is escaped.
        let is_decomposed = !is_nfc(fragment);
        let changes = |letter: char| is_decomposed && is_nfc_quick(std::iter::once(letter)) != IsNormalized::Yes;
        fragment.chars().try_for_each(|letter| match letter {
            hidden if changes(hidden) || is_hidden(hidden) => {
                hidden.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
            }
            plain => write!(out, "{plain}"),
        })
    }
}

/// `text` as it may be shown on a terminal: one line, hidden characters as `\u{…}`.
pub fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(letter));
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// `value` as one line of compact JSON in which nothing is hidden.
pub fn json(value: &Value) -> String {
    let mut out = Vec::new();
    write(&mut out, value);
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether a reader would not see `letter`, or would see the text around it in another order: control characters, bidirectional marks, zero-width
/// and filler characters, line separators, tag characters and the variation selectors that carry hidden text.
/// # Source
/// Unicode 17, UAX #9 (bidirectional formatting), `Default_Ignorable_Code_Point`; emoji's own selectors and letters' joiners of scripts are inside and escaped too.
pub fn is_hidden(letter: char) -> bool {
    matches!(u32::from(letter),
        0..=0x1f | 0x7f..=0x9f | 0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
        | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a
        | 0xe0000..=0xe0fff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        write(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hidden_characters_are_escaped_and_letters_are_not() {
        assert_eq!(written("añ \"q\" \\ 日本 🙂"), r#""añ \"q\" \\ 日本 🙂""#);
        assert_eq!(written("\u{1b}[2J\u{202e}txt\u{200b}\u{e0041}\n"), r#""\u001b[2J\u202etxt\u200b\udb40\udc41\n""#);
        assert_eq!(written("caf\u{e9} cafe\u{301}"), r#""café cafe\u0301""#);
        assert_eq!(plain("a\nApproved by operator\u{202e}"), r"a\u{a}Approved by operator\u{202e}");
    }

    proptest! {
        #[test]
        fn a_written_string_is_one_line_shows_nothing_hidden_and_decodes_to_itself(text in any::<String>()) {
            let line = written(&text);
            prop_assert!(!line.chars().any(is_hidden));
            prop_assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        }
    }
}
