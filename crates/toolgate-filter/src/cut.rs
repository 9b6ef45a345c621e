//! Where a text may be cut so that no part of a secret, of personal data or of a word stands beside the cut: what is cut through is known by
//! no rule any more.

use super::finding::Finding;
use super::{masked, secret, values};

/// So many bytes beyond a cut are to be kept for these looks: the longest private keys in use are shorter.
pub const BEYOND: usize = masked::REACH;

/// A run of letters that is no longer than this is not cut through.
const WORD: usize = 256;

/// The last place at or before `at` where `content` may end. `content` goes on behind it as far as is known.
pub fn before(content: &[u8], at: usize) -> usize {
    let text = masked::readable(content);
    let at = at.min(content.len());
    let mut place = match word(content, at) {
        (before, 1..) => at - before,
        _ => at,
    };
    for finding in values(&text).iter().rev() {
        if is_cut(finding, place) {
            place = finding.start;
        }
    }
    // Nothing of a character that goes on.
    while place > 0 && content.get(place).is_some_and(|byte| is_inside(*byte)) {
        place -= 1;
    }
    place
}

/// The first place at or after `at` from where `content` may be shown. `content` begins before it as far as is known.
pub fn after(content: &[u8], at: usize) -> usize {
    let text = masked::readable(content);
    let at = at.min(content.len());
    let mut place = match word(content, at) {
        (1.., after) => at + after,
        _ => at,
    };
    for finding in values(&text) {
        if is_cut(&finding, place) {
            place = finding.end;
        }
    }
    // A private key may begin before the text that is kept beside the cut: its end line alone shows it.
    if let Some(end) = secret::end_of(&text).filter(|end| *end > place) {
        place = end;
    }
    while content.get(place).is_some_and(|byte| is_inside(*byte)) {
        place += 1;
    }
    place
}

fn is_cut(finding: &Finding, place: usize) -> bool {
    finding.start < place && place < finding.end
}

/// Whether a byte is inside a character of UTF-8, and not its first.
const fn is_inside(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// How much of a word stands before and after a place inside it; nothing where a run goes through that is longer than a word.
fn word(content: &[u8], at: usize) -> (usize, usize) {
    let (before, after) = content.split_at_checked(at).unwrap_or((content, &[]));
    let is_letter = |byte: &&u8| !byte.is_ascii_whitespace();
    let before = before.iter().rev().take_while(is_letter).take(WORD).count();
    let after = after.iter().take_while(is_letter).take(WORD).count();
    if before + after <= WORD { (before, after) } else { (0, 0) }
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    const KEY: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

    #[test]
    fn no_cut_goes_through_a_secret_or_a_word() {
        for value in [KEY, "AKIAQ7ZT3N5WXK2VPLMR", "password = \"Zq8vT3xLw9Rk\"", "anna.maier@posteo.de", "ordinary", "ü"] {
            let text = format!("one two {value} three four");
            let (from, to) = (8, 8 + value.len());
            for at in 0..=text.len() {
                let (before, after) = (before(text.as_bytes(), at), after(text.as_bytes(), at));
                assert!(before <= at && at <= after, "{value} {at}");
                let (head, tail) = (&text[..before], &text[after..]);
                let whole = at <= from || at >= to || value.contains(' ') || !(head.len() > from || tail.len() > text.len() - to);
                assert!(whole, "{value} {at}: {head:?} {tail:?}");
                assert!(!value.contains("Zq8") || !head.contains("Zq8") || head.contains("w9Rk"), "{head:?}");
                assert!(!value.contains("Zq8") || !tail.contains("w9Rk") || tail.contains("Zq8"), "{tail:?}");
            }
        }
    }

    #[test]
    fn a_key_that_a_cut_goes_through_is_on_neither_side() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7x9zQ\n".repeat(400);
        let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n");
        let text = format!("first line\n{key}last line\n");
        for at in [30, 60, 500, text.len() / 2, text.len() - 60, text.len() - 30] {
            assert_eq!(&text[..before(text.as_bytes(), at)], "first line\n", "{at}");
            // Whatever is known of what went before.
            for known in [0, 11, at.saturating_sub(BEYOND)] {
                let tail = &text[known..];
                assert_eq!(tail[after(tail.as_bytes(), at - known)..].trim_start(), "last line\n", "{at} {known}");
            }
        }
        // One that is not whole yet.
        let open = &text[..text.len() / 2];
        assert_eq!(before(open.as_bytes(), 200), 11);
        // In another armour.
        let lines = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7x9zQ\n".repeat(400);
        for tail in [
            format!("{lines}---- END SSH2 ENCRYPTED PRIVATE KEY ----"),
            format!("{lines}Private-MAC: 8d3f1b6c2a9e4d7f5b0c1e8a6d2f4b9c7e3a5d10"),
        ] {
            let text = format!("{tail}\nlast line\n");
            assert_eq!(&text[after(text.as_bytes(), 60)..], "\nlast line\n");
        }
        let public = "a\n-----END PUBLIC KEY-----\nb\n";
        assert_eq!(after(public.as_bytes(), 2), 2);
    }

    #[test]
    fn a_run_without_end_is_cut_where_it_must_be_and_bytes_that_are_no_text_as_well() {
        let long = [b'x'; 1000];
        assert_eq!((before(&long, 500), after(&long, 500)), (500, 500));
        let bytes = [0xff_u8; 1000];
        assert_eq!((before(&bytes, 500), after(&bytes, 500)), (500, 500));
        assert_eq!((before(b"a b", 99), after(b"a b", 99), before(b"", 0), after(b"", 0)), (3, 3, 0, 0));
    }
}
