//! Text that a reader of the log cannot be deceived by: JSON with every control, bidirectional, zero-width and tag character written as an escape.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Map, Value};
use unicode_normalization::{IsNormalized, is_nfc, is_nfc_quick};

/// Writes `text` as a JSON string. Decoding it gives `text` back, byte for byte.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if text.bytes().all(|byte| matches!(byte, 0x20..=0x7e) && byte != b'"' && byte != b'\\') {
        out.extend_from_slice(text.as_bytes());
    } else {
        // Two names that look the same must not read the same: what normal form C would change is told apart.
        let is_decomposed = !text.is_ascii() && !is_nfc(text);
        let changes = |letter: char| is_decomposed && is_nfc_quick(std::iter::once(letter)) != IsNormalized::Yes;
        text.chars().for_each(|letter| char_in_json(out, letter, changes(letter)));
    }
    out.push(b'"');
}

fn char_in_json(out: &mut Vec<u8>, letter: char, is_escaped: bool) {
    match letter {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        hidden if is_escaped || is_hidden(hidden) => {
            for unit in hidden.encode_utf16(&mut [0; 2]) {
                // Writing to a Vec cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        plain => out.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// Writes `value` as compact JSON. Below `DEPTH` levels it writes `"…"`, so that a hostile value cannot exhaust the stack.
pub(crate) fn value(out: &mut Vec<u8>, value: &Value) {
    nested(out, value, DEPTH);
}

fn nested(out: &mut Vec<u8>, value: &Value, depth: u8) {
    let Some(below) = depth.checked_sub(1) else { return string(out, "…") };
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) => string(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                nested(out, item, below);
            }
            out.push(b']');
        }
        Value::Object(map) => object(out, map, |out, _, item| nested(out, item, below)),
    }
}

/// Writes an object whose values `each` writes.
pub(crate) fn object(out: &mut Vec<u8>, map: &Map<String, Value>, mut each: impl FnMut(&mut Vec<u8>, &str, &Value)) {
    out.push(b'{');
    for (place, (key, item)) in map.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        string(out, key);
        out.push(b':');
        each(out, key, item);
    }
    out.push(b'}');
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
    self::value(&mut out, value);
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

/// Deeper than any JSON parser in use reads (`serde_json` stops at 128).
const DEPTH: u8 = 130;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        string(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hidden_characters_are_escaped_and_letters_are_not() {
        assert_eq!(written("añ \"q\" \\ 日本 🙂"), r#""añ \"q\" \\ 日本 🙂""#);
        assert_eq!(written("\u{1b}[2J\u{202e}txt\u{200b}\u{e0041}\n"), r#""\u001b[2J\u202etxt\u200b\udb40\udc41\n""#);
        assert_eq!(written("caf\u{e9} cafe\u{301}"), r#""café cafe\u0301""#);
        assert_eq!(plain("a\nApproved by operator\u{202e}"), r"a\u{a}Approved by operator\u{202e}");
    }

    #[test]
    fn a_value_deeper_than_any_parser_reads_is_cut() {
        let mut deep = json!(1);
        for _ in 0..1000 {
            deep = json!([deep]);
        }
        let mut out = Vec::new();
        value(&mut out, &deep);
        assert_eq!(out.len(), 130 * 2 + "\"…\"".len());
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
