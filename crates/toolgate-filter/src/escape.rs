//! The one escaper of the house: text that a person or a terminal will read shows what it really holds.
//!
//! Approvals, logs and command output all pass their foreign strings through here, so that no character can move the
//! cursor, turn the reading direction, hide, or forge a line.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes for a place that may hold several lines: line feed and tab stay, every other character that is not shown
/// as itself becomes `\u{…}` (lower-case hex).
///
/// The result is injective: a literal `\u{` in the text is written `\u{5c}u{`, so an escape can never be forged.
pub fn escape(text: &str) -> Cow<'_, str> {
    rewrite(text, |character| matches!(character, '\n' | '\t'))
}

/// Escapes for a place that is one line: as [`escape`], and line feed and tab are escaped as well.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    rewrite(text, |_| false)
}

/// Whether a character is drawn as itself: no control, no direction mark, not invisible, no line end in disguise.
///
/// # Source
/// Unicode 16: `Cc`, `Default_Ignorable_Code_Point`, `Bidi_Control`, `Zl`, `Zp`, the noncharacters, and the blank
/// letters (Hangul fillers, Braille blank) that fonts draw as nothing. Private use is escaped too: what it draws is
/// anybody's choice. Variation selectors are escaped even after an emoji: a run of them can carry hidden bytes.
pub const fn is_shown_as_is(character: char) -> bool {
    let code = character as u32;
    // INVARIANT: ranges are disjoint and ascending; one is written per block that hides something.
    !matches!(
        code,
        0x00..=0x1f
            | 0x7f..=0x9f
            | 0xad
            | 0x34f
            | 0x61c
            | 0x115f..=0x1160
            | 0x17b4..=0x17b5
            | 0x180b..=0x180f
            | 0x200b..=0x200f
            | 0x2028..=0x202e
            | 0x2060..=0x206f
            | 0x2800
            | 0x3164
            | 0xe000..=0xf8ff
            | 0xfdd0..=0xfdef
            | 0xfe00..=0xfe0f
            | 0xfeff
            | 0xffa0
            | 0xfff0..=0xfffb
            | 0xfffe..=0xffff
            | 0x1_3430..=0x1_345f
            | 0x1_bca0..=0x1_bca3
            | 0x1_d159
            | 0x1_d173..=0x1_d17a
            | 0xe_0000..=0x10_ffff
    ) && code & 0xfffe != 0xfffe
}

fn rewrite(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let mut rest = text.char_indices();
    let Some(first) = rest.find(|&(at, c)| must_escape(text, at, c, &keep)).map(|(at, _)| at) else {
        return Cow::Borrowed(text);
    };
    let (clean, tail) = text.split_at_checked(first).unwrap_or(("", text));
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(clean);
    for (at, character) in tail.char_indices() {
        if must_escape(tail, at, character, &keep) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

fn must_escape(text: &str, at: usize, character: char, keep: &impl Fn(char) -> bool) -> bool {
    if character == '\\' {
        return text.get(at + 1..).is_some_and(|after| after.starts_with("u{"));
    }
    !is_shown_as_is(character) && !keep(character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_text_is_borrowed_unchanged() {
        for text in ["", "notes/a.txt", "naïve café 東京 🦀", "C:\\temp\\u", "नमस्ते", "a\u{a0}b"] {
            assert!(matches!(escape_line(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
        assert_eq!(escape("a\n\tb"), "a\n\tb");
    }

    #[test]
    fn what_moves_hides_or_turns_is_written_out() {
        assert_eq!(escape("\u{1b}[2J\r\u{9b}31m\u{7f}"), "\\u{1b}[2J\\u{d}\\u{9b}31m\\u{7f}");
        assert_eq!(escape("exe.\u{202e}txt\u{2066}\u{2069}"), "exe.\\u{202e}txt\\u{2066}\\u{2069}");
        assert_eq!(escape("a\u{200b}\u{200f}\u{feff}\u{ad}b"), "a\\u{200b}\\u{200f}\\u{feff}\\u{ad}b");
        assert_eq!(escape("x\u{2028}y\u{2029}z\u{85}"), "x\\u{2028}y\\u{2029}z\\u{85}");
        assert_eq!(escape("\u{e0001}\u{e0041}\u{fe0f}\u{e0100}\u{10ffff}"), "\\u{e0001}\\u{e0041}\\u{fe0f}\\u{e0100}\\u{10ffff}");
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(escape_line("ok\nallow: yes\t!"), "ok\\u{a}allow: yes\\u{9}!");
    }

    #[test]
    fn an_escape_cannot_be_forged() {
        assert_eq!(escape("\\u{202e}"), "\\u{5c}u{202e}");
        assert_ne!(escape("\\u{202e}"), escape("\u{202e}"));
        assert_eq!(escape("\\\\u{1}"), "\\\\u{5c}u{1}");
    }

    fn unescape(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("\\u{") {
            let (digits, tail) = after.split_once('}').unwrap();
            out.push_str(before);
            out.push(char::from_u32(u32::from_str_radix(digits, 16).unwrap()).unwrap());
            rest = tail;
        }
        out + rest
    }

    proptest! {
        #[test]
        fn output_holds_only_the_safe_set(text in any::<String>()) {
            prop_assert!(escape_line(&text).chars().all(is_shown_as_is));
            prop_assert!(escape(&text).chars().all(|c| is_shown_as_is(c) || c == '\n' || c == '\t'));
        }

        #[test]
        fn what_was_escaped_can_be_read_back(text in "([\\x00-\\x7f]|[\u{2000}-\u{2070}]|[\u{e0000}-\u{e01ff}]|\\\\u\\{|\\PC){0,40}") {
            prop_assert_eq!(unescape(&escape_line(&text)), text.clone());
            prop_assert_eq!(unescape(&escape(&text)), text);
        }
    }
}
