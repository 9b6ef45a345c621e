//! The folded form of names: what file systems and eyes may take for one name is one text.

use unicode_normalization::UnicodeNormalization;

/// Folds a text: NFKC, then upper and lower case to one, then NFKC.
///
/// Goes by the upper case first, so that it joins at least what Unicode's full case folding joins (`ß` and `SS`, `ſ` and `s`, the Kelvin
/// sign and `k`). Used where joining too much is the safe side.
/// # Source  Unicode Standard, section 3.13, and UAX #15.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().collect()
}

/// Folds one character, where its folded form is one character; else gives it back.
pub(super) fn fold_char(c: char) -> char {
    let folded = fold(c.encode_utf8(&mut [0; 4]));
    let mut chars = folded.chars();
    match (chars.next(), chars.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// The folded segments, or none when each is its own folded form.
pub(super) fn fold_segments(segments: &[String]) -> Option<Vec<String>> {
    let plain = |name: &String| name.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase());
    if segments.iter().all(plain) {
        return None;
    }
    Some(segments.iter().map(|name| fold(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_fold_to_one_text() {
        for (a, b) in [("ß", "SS"), ("ſ", "S"), ("\u{212a}", "k"), ("．ｅｎｖ", ".ENV"), ("Σ", "ς"), ("é", "E\u{301}"), ("ﬁ", "FI")]
        {
            assert_eq!(fold(a), fold(b), "{a} {b}");
        }
        assert_ne!(fold("а"), fold("a"), "a Cyrillic letter is another letter");
    }
}
