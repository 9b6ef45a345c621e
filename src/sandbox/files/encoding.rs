//! Texts of files that are not UTF-8: only where nothing speaks against the encoding.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};
use toolgate_page::{characters, guess_charset};

/// A text that was decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub text: String,
    /// The encoding's name, e.g. `windows-1252`.
    pub encoding: &'static str,
    /// Places that are not of the encoding; each stands as U+FFFD in the text.
    pub broken: usize,
}

/// Decodes what is no UTF-8: UTF-16 by its byte order mark or by the zero bytes of its ASCII characters, UTF-8 with a few broken places, else the
/// encoding that its letters speak for. None for what is no text: what the encoding does not know, or a control character that texts do not hold.
pub(super) fn decoded(bytes: &[u8]) -> Option<Decoded> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes).filter(|(encoding, _)| [UTF_16LE, UTF_16BE].contains(encoding)) {
        return whole(encoding, bytes.get(mark..).unwrap_or_default());
    }
    if bytes.contains(&0) {
        return whole(unmarked(bytes)?, bytes);
    }
    let (known, broken) = characters(bytes);
    if broken <= known {
        let text = String::from_utf8_lossy(bytes).into_owned();
        return is_text(&text).then_some(Decoded { text, encoding: "utf-8", broken });
    }
    // A few letters speak for no language; most such files are of the West.
    whole(if broken < FEW { WINDOWS_1252 } else { guess_charset(bytes) }, bytes)
}

/// Whether what begins with these bytes, a zero among them, may be a text of wide characters.
pub(super) fn may_be_wide(beginning: &[u8]) -> bool {
    let is_marked = Encoding::for_bom(beginning).is_some_and(|(encoding, _)| [UTF_16LE, UTF_16BE].contains(&encoding));
    is_marked || unmarked(beginning).is_some()
}

/// Fewer letters beyond ASCII say nothing of an encoding.
const FEW: usize = 4;

fn whole(encoding: &'static Encoding, bytes: &[u8]) -> Option<Decoded> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?.into_owned();
    is_text(&text).then(|| Decoded { text, encoding: name(encoding), broken: 0 })
}

/// A control character that is no blank and begins no colour says that the bytes are no text, or of another encoding.
fn is_text(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}'))
}

/// UTF-16 without a mark: most of one half of its bytes are zero and none of the other half.
fn unmarked(bytes: &[u8]) -> Option<&'static Encoding> {
    let zeros = |from: usize| bytes.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (high, low, half) = (zeros(0), zeros(1), bytes.len() / 2);
    let most = |count: usize| half >= 4 && count * 2 > half;
    match (most(high) && low == 0, most(low) && high == 0) {
        (true, false) => Some(UTF_16BE),
        (false, true) => Some(UTF_16LE),
        _ => None,
    }
}

fn name(encoding: &'static Encoding) -> &'static str {
    match encoding.name() {
        "UTF-16LE" => "utf-16le",
        "UTF-16BE" => "utf-16be",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Option<(String, &'static str, usize)> {
        decoded(bytes).map(|decoded| (decoded.text, decoded.encoding, decoded.broken))
    }

    fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn a_text_is_decoded_where_nothing_speaks_against_its_encoding() {
        let text = "Grüße aus Köln, 東京\n";
        for (unit, mark, name) in
            [(u16::to_le_bytes as fn(u16) -> [u8; 2], b"\xff\xfe", "utf-16le"), (u16::to_be_bytes, b"\xfe\xff", "utf-16be")]
        {
            let wide = utf16(text, unit);
            assert_eq!(of(&[mark.as_slice(), &wide].concat()), Some((text.to_owned(), name, 0)));
            assert_eq!(of(&wide), Some((text.to_owned(), name, 0)), "without a mark");
        }
        assert_eq!(of(b"caf\xe9 \x80 5\n"), Some(("café € 5\n".to_owned(), "windows-1252", 0)));
        let russian = "Быстрая коричневая лиса прыгает через ленивую собаку";
        let (bytes, ..) = encoding_rs::KOI8_R.encode(russian);
        assert_eq!(of(&bytes).map(|(text, ..)| text), Some(russian.to_owned()));
        let japanese = "日本語の文書はこのように符号化されることがある。";
        let (bytes, ..) = encoding_rs::SHIFT_JIS.encode(japanese);
        assert_eq!(of(&bytes), Some((japanese.to_owned(), "Shift_JIS", 0)));
        let torn = [text.as_bytes(), b"\xff end\n"].concat();
        assert_eq!(of(&torn), Some((format!("{text}\u{fffd} end\n"), "utf-8", 1)));
    }

    #[test]
    fn what_is_no_text_is_not_decoded() {
        let noise: Vec<u8> = (0..400_u32).map(|n| u8::try_from((n.wrapping_mul(2_654_435_761) >> 13) & 0xff).unwrap().max(1)).collect();
        for bytes in [
            b"a\0b".as_slice(),
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0",
            b"\xff\xfe\0\0a\0\0",
            b"\xff\xfe\0\0\0\xd8\0\0",
            b"\xff\xfea\0\x01\0b\0",
            b"\xff\xfea",
            b"\xff\xfe\x00\xd8a\0",
            b"caf\xe9\x01",
            b"\x81\x8d",
            b"PK\x03\x04\x14\xff\xfe",
            &noise,
        ] {
            assert_eq!(of(bytes), None, "{bytes:?}");
        }
    }
}
