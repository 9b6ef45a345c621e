//! Secrets in bytes of files: where they are, in whatever encoding, and the bytes with masks in their place.
//!
//! What is looked for in a whole file is projected onto every part that is shown of it: a part alone may hold half of a secret, or a secret
//! without the name before it.

use std::borrow::Cow;
use std::ops::Range;

use super::finding::{Finding, without_overlaps};
use super::mask::write_lines;
use super::secret;

/// How far before and after a place stands what decides whether a secret is there, in bytes: the longest private keys in use are shorter.
pub const REACH: usize = 16 * 1024;

/// One secret in a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Which one: `aws-access-key`, `pem`, …
    pub name: &'static str,
    /// Its bytes.
    pub at: Range<usize>,
}

/// The secrets in a content, in order, none over another. Bytes that are no UTF-8 are no part of a secret.
pub fn secrets_in(content: &[u8]) -> Vec<Secret> {
    let text = readable(content);
    let mut findings = Vec::new();
    secret::findings(&text, &mut findings);
    let secret = |finding: Finding| {
        // A key whose end is missing runs to the end of its lines; the last line end is the file's own.
        let value = text.get(finding.start..finding.end).unwrap_or_default().trim_end();
        Secret { name: finding.sub, at: finding.start..finding.start + value.len() }
    };
    without_overlaps(findings).into_iter().map(secret).collect()
}

/// The names of the secrets that a content shows to a reader that decodes it, as UTF-8, UTF-16 or UTF-32, with a mark or without.
pub fn secrets_in_any_encoding(content: &[u8]) -> Vec<&'static str> {
    let mut names: Vec<_> = secrets_in(content).iter().map(|secret| secret.name).collect();
    names.extend(secrets_in_wide(content));
    names
}

/// The names of the secrets that a content shows to a reader that decodes it as UTF-16 or UTF-32, with a mark or without.
pub fn secrets_in_wide(content: &[u8]) -> Vec<&'static str> {
    // What a secret is made of is ASCII, which has a zero byte in each wide character.
    if !content.contains(&0) {
        return Vec::new();
    }
    wide(content).iter().flat_map(|text| secrets_in(text.as_bytes())).map(|secret| secret.name).collect()
}

/// The content with a mask in the place of each secret, and where each mask stands. A mask fills every line of its secret, so lines keep
/// their numbers. `secrets` as [`secrets_in`] gives them.
pub fn with_masks(content: &[u8], secrets: &[Secret]) -> (Vec<u8>, Vec<Range<usize>>) {
    let mut out = Vec::with_capacity(content.len());
    let mut masks = Vec::with_capacity(secrets.len());
    let mut from = 0;
    for secret in secrets {
        out.extend_from_slice(content.get(from..secret.at.start).unwrap_or_default());
        let start = out.len();
        let mut mask = String::new();
        write_lines(&mut mask, &format!("[SECRET:{}]", secret.name), &readable(content.get(secret.at.clone()).unwrap_or_default()));
        out.extend_from_slice(mask.as_bytes());
        masks.push(start..out.len());
        from = secret.at.end;
    }
    out.extend_from_slice(content.get(from..).unwrap_or_default());
    (out, masks)
}

/// What of these secrets lies in a part of their content, with the places counted from the part's beginning.
pub fn within(secrets: &[Secret], part: Range<usize>) -> Vec<Secret> {
    let inside = secrets.iter().map(|secret| (secret.name, secret.at.start.max(part.start)..secret.at.end.min(part.end)));
    let shifted = inside.filter(|(_, at)| !at.is_empty());
    shifted.map(|(name, at)| Secret { name, at: at.start - part.start..at.end - part.start }).collect()
}

/// How often the mask of a secret of this name stands in a text, as a text of its own.
pub fn mentions(text: &str, name: &str) -> usize {
    text.matches(&format!("[SECRET:{name}]")).count()
}

/// The content as a text of the same length: a byte that is no UTF-8 becomes a control character.
pub(super) fn readable(content: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(content) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(content.len());
    for chunk in content.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| OTHER));
    }
    Cow::Owned(text)
}

/// The content as texts of two and of four bytes a character, of both byte orders. Where it is none, its ASCII characters are left.
fn wide(content: &[u8]) -> [String; 4] {
    let pairs = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = content.as_chunks().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).unwrap_or_else(|_| units.into_iter().map(|unit| ascii(unit.into())).collect())
    };
    let fours = |unit: fn([u8; 4]) -> u32| {
        let units = content.as_chunks().0.iter().map(|four| unit(*four));
        units.map(|unit| char::from_u32(unit).unwrap_or(OTHER)).collect()
    };
    [pairs(u16::from_le_bytes), pairs(u16::from_be_bytes), fours(u32::from_le_bytes), fours(u32::from_be_bytes)]
}

fn ascii(unit: u32) -> char {
    char::from_u32(unit).filter(char::is_ascii).unwrap_or(OTHER)
}

/// Stands for what is no character: no letter, no blank, no line end, one byte long.
const OTHER: char = '\u{1a}';

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AKIAQ7ZT3N5WXK2VPLMR";
    const PEM: &str = "-----BEGIN PRIVATE KEY-----\r\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----";

    fn masked(content: &[u8]) -> Vec<u8> {
        with_masks(content, &secrets_in(content)).0
    }

    #[test]
    fn a_mask_fills_the_lines_of_its_secret_and_no_more() {
        let text = format!("a\n{PEM}\nid = {KEY}\n");
        let secrets = secrets_in(text.as_bytes());
        let (shown, masks) = with_masks(text.as_bytes(), &secrets);
        let lines = "[SECRET:pem]\r\n[SECRET:pem]\n[SECRET:pem]\n[SECRET:pem]";
        assert_eq!(String::from_utf8(shown.clone()).unwrap(), format!("a\n{lines}\nid = [SECRET:aws-access-key]\n"));
        assert_eq!(masks.iter().map(|at| shown[at.clone()].len()).collect::<Vec<_>>(), [lines.len(), 23]);
        assert_eq!(text.lines().count(), shown.split(|byte| *byte == b'\n').count() - 1);
        assert_eq!(masked(&shown), shown, "a mask is no secret");
        let cut_off = format!("{}\n", PEM.rsplit_once('\n').unwrap().0);
        assert_eq!(String::from_utf8(masked(cut_off.as_bytes())).unwrap(), "[SECRET:pem]\r\n[SECRET:pem]\n[SECRET:pem]\n");
    }

    #[test]
    fn bytes_that_are_no_text_hide_no_secret_and_stay_as_they_are() {
        let content = [b"caf\xe9 \xff".as_slice(), KEY.as_bytes(), b"\xc3"].concat();
        assert_eq!(masked(&content), b"caf\xe9 \xff[SECRET:aws-access-key]\xc3");
        assert_eq!(masked(b"caf\xe9\0"), b"caf\xe9\0");
    }

    #[test]
    fn a_secret_is_seen_in_every_encoding_a_reader_decodes() {
        let text = format!("caf\u{e9} \u{5bc6}\u{7801} id = {KEY}\n");
        let utf16: Vec<u16> = text.encode_utf16().collect();
        let utf32: Vec<u32> = text.chars().map(u32::from).collect();
        let encodings: [Vec<u8>; 6] = [
            text.clone().into_bytes(),
            utf16.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
            utf16.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
            utf32.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
            utf32.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
            // An unpaired surrogate: no UTF-16, and read as one all the same.
            [0xd800].iter().chain(&utf16).flat_map(|unit| unit.to_le_bytes()).collect(),
        ];
        for content in encodings {
            assert!(secrets_in_any_encoding(&content).contains(&"aws-access-key"), "{content:?}");
        }
        assert_eq!(secrets_in_any_encoding(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), Vec::<&str>::new());
    }
}
