//! Secrets whose characters are written as escapes: `\u0041KIA…`, `"a\u002Bb"`. JSON allows them for every character, and some writers use them
//! for `+`, `/`, `=`, `&` and quotes. Also what a reader sees as the same characters: full-width ones, and those with nothing between them that is seen.

use std::sync::LazyLock;

use regex::Regex;

/// A text with printable ASCII characters in the place of what stands for them, and without characters that have no shape.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) text: String,
    /// After each escape: the place here, and how many bytes more stand before the same place in the source.
    shifts: Vec<(usize, usize)>,
}

/// What no text with a disguise is without.
pub(super) fn signs() -> Vec<String> {
    let wide = ('\u{ff01}'..='\u{ff5e}').map(String::from);
    wide.chain("\u{ad}\u{34f}\u{180e}\u{200b}\u{200c}\u{200d}\u{2060}\u{2061}\u{2062}\u{2063}\u{2064}\u{feff}".chars().map(String::from))
        .chain(["\\u00".to_owned()])
        .collect()
}

/// What stands for another character, or for none: an escape, with those of a text inside a text escaped again; a character as wide as an ideograph;
/// characters without a shape.
static DISGUISES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\\+u00(?:[2-6][[:xdigit:]]|7[0-9A-Ea-e])|[\x{ff01}-\x{ff5e}]|[\x{ad}\x{34f}\x{180e}\x{200b}-\x{200d}\x{2060}-\x{2064}\x{feff}]",
    )
    .ok()
});

impl Plain {
    /// `None`: the text has none of them.
    pub(super) fn of(source: &str) -> Option<Self> {
        let mut plain = Self { text: String::new(), shifts: Vec::new() };
        let mut from = 0;
        for disguise in DISGUISES.as_ref()?.find_iter(source) {
            plain.text.push_str(source.get(from..disguise.start()).unwrap_or_default());
            plain.text.extend(plain_character(disguise.as_str()));
            from = disguise.end();
            plain.shifts.push((plain.text.len(), from - plain.text.len()));
        }
        if plain.shifts.is_empty() {
            return None;
        }
        plain.text.push_str(source.get(from..).unwrap_or_default());
        crate::work::read(plain.text.len());
        Some(plain)
    }

    /// Where a span of this text begins and ends in the source: an escape at its edge is in it.
    pub(super) fn source(&self, start: usize, end: usize) -> (usize, usize) {
        (start + self.shift(start), end + self.shift(end))
    }

    fn shift(&self, at: usize) -> usize {
        let after = self.shifts.partition_point(|(place, _)| *place <= at);
        after.checked_sub(1).and_then(|last| self.shifts.get(last)).map_or(0, |(_, shift)| *shift)
    }
}

/// The character that a disguise stands for.
fn plain_character(disguise: &str) -> Option<char> {
    if let Some((_, code)) = disguise.split_once("u00") {
        return u8::from_str_radix(code, 16).ok().map(char::from);
    }
    let wide = disguise.chars().next().filter(|character| ('\u{ff01}'..='\u{ff5e}').contains(character))?;
    char::from_u32(u32::from(wide) - 0xfee0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;
    use super::*;

    #[test]
    fn secrets_are_found_behind_characters_that_read_the_same() {
        for (text, secret) in [
            ("pass\u{200b}word = tG4xw8KdZq1nPy", "tG4xw8KdZq1nPy"),
            ("p\u{ad}a\u{feff}ssword: \"tG4xw8KdZq1nPy\"", "tG4xw8KdZq1nPy"),
            ("\u{ff50}\u{ff41}\u{ff53}\u{ff53}\u{ff57}\u{ff4f}\u{ff52}\u{ff44}\u{ff1d}tG4xw8KdZq1nPy", "tG4xw8KdZq1nPy"),
            ("password = tG4x\u{200b}w8KdZq1nPy", "tG4x\u{200b}w8KdZq1nPy"),
            ("id AKIAQ7ZT\u{200b}3N5WXK2VPLMR.", "AKIAQ7ZT\u{200b}3N5WXK2VPLMR"),
        ] {
            assert_eq!(found_in(text).iter().map(|(_, value)| *value).collect::<Vec<_>>(), [secret], "{text:?}");
        }
        assert_eq!(found_in("pass\u{200b}word = your_password"), []);
    }

    #[test]
    fn secrets_are_found_through_their_escapes_and_masked_with_them() {
        let written = |text: &str| text.bytes().map(|byte| format!("\\u{byte:04X}")).collect::<Vec<_>>().concat();
        let all = written("AKIAQ7ZT3N5WXK2VPLMR");
        for (text, sub, value) in [
            (r#"{"id":"\u0041KIAQ7ZT3N5WXK2VPLMR"}"#, "aws-access-key", r"\u0041KIAQ7ZT3N5WXK2VPLMR"),
            (r#"{"id":"AKIAQ7ZT3N5WXK2VPLM\u0052","a":1}"#, "aws-access-key", r"AKIAQ7ZT3N5WXK2VPLM\u0052"),
            (&all, "aws-access-key", &all),
            (r#""{\"id\":\"\\u0041KIAQ7ZT3N5WXK2VPLMR\"}""#, "aws-access-key", r"\\u0041KIAQ7ZT3N5WXK2VPLMR"),
            (
                r#""accountKey":"UwcSPg38hW\u002FD9Y3tcS1FOV0K1wuURMbS0sesJEP5ak\u003d""#,
                "credential",
                r"UwcSPg38hW\u002FD9Y3tcS1FOV0K1wuURMbS0sesJEP5ak\u003d",
            ),
            (r"{\u0022db_password\u0022:\u0022tG4#xw8Kd!Zq1nPy\u0022}", "credential", "tG4#xw8Kd!Zq1nPy"),
        ] {
            assert_eq!(found_in(text), [(sub, value)], "{text}");
        }
    }

    #[test]
    fn ordinary_escapes_are_left_alone() {
        for text in [
            r#"{"html":"\u003cb\u003eHello\u003c/b\u003e","q":"a\u0026b","u":"\u00e9\u4f60","n":"\u0000\u000a"}"#,
            r"\u00",
            r"\u00g1 \u0041",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
        assert!(Plain::of(r"\u00e9 \u000a \u00").is_none());
    }
}
