//! From bytes to text.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Decodes a page: by its byte order mark, else the charset of `content_type`, else the one it names in its first 1024 bytes, else by the
/// frequencies of its letters. UTF-8 is believed of no bytes that are mostly not. What cannot be decoded becomes U+FFFD; nothing fails.
///
/// # Source
/// HTML standard, section 13.2.3.2 (encoding sniffing); beside it UTF-16 is known without a mark, which the standard shows as letters between
/// zero bytes: a model reads those all the same.
pub fn decode(bytes: &[u8], content_type: Option<&str>) -> String {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let named = content_type.and_then(charset_of);
    let encoding = marked.or_else(|| named.filter(|encoding| *encoding != UTF_8)).or_else(|| unmarked(bytes)).unwrap_or_else(|| {
        let (whole, broken) = characters(bytes);
        let own = declared(bytes);
        let other = own.filter(|encoding| *encoding != UTF_8);
        if broken <= whole && (named.is_some() || other.is_none()) {
            // A text that is cut or has a few broken characters is UTF-8 all the same.
            return UTF_8;
        }
        let is_named = named.or(own).is_some();
        match other {
            Some(other) => other,
            None if broken < FEW => {
                if is_named {
                    UTF_8
                } else {
                    WINDOWS_1252
                }
            }
            None => guess_charset(bytes),
        }
    });
    encoding.decode(bytes).0.into_owned()
}

/// The characters beyond ASCII that bytes hold as UTF-8, and the places where they are no UTF-8.
pub fn characters(bytes: &[u8]) -> (usize, usize) {
    bytes.utf8_chunks().fold((0, 0), |(whole, broken), chunk| {
        (whole + chunk.valid().chars().filter(|c| !c.is_ascii()).count(), broken + usize::from(!chunk.invalid().is_empty()))
    })
}

/// The charset that the letters of a text speak for; UTF-8 is not among them.
pub fn guess_charset(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes.get(..MOST_COUNTED).unwrap_or(bytes), bytes.len() <= MOST_COUNTED);
    detector.guess(None, Utf8Detection::Deny)
}

/// Broken characters that what calls itself UTF-8 may have, and that are too few to speak for a charset.
const FEW: usize = 4;
/// Bytes of a text whose letters are counted.
const MOST_COUNTED: usize = 256 * 1024;

fn charset_of(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| Encoding::for_label(value.trim().trim_matches(['"', '\'']).as_bytes()))?
    })
}

/// UTF-16 without a mark: of markup and western text every second byte is zero.
fn unmarked(bytes: &[u8]) -> Option<&'static Encoding> {
    let zeros = |from: usize| bytes.iter().take(1024).skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (high, low, half) = (zeros(0), zeros(1), bytes.len().min(1024) / 2);
    let most = |count: usize| half >= 8 && count * 2 >= half;
    match (most(high), most(low)) {
        (true, false) => Some(UTF_16BE),
        (false, true) => Some(UTF_16LE),
        _ => None,
    }
}

/// `<meta charset>`, `<meta content="…charset=…">` or an XML declaration. A page that could be read this far is no UTF-16.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head: String = bytes.iter().take(1024).map(|byte| char::from(*byte).to_ascii_lowercase()).collect();
    let named = head.split_once("encoding=").filter(|(before, _)| before.trim_start().starts_with("<?xml") && !before.contains("?>"));
    let metas = head.split("<meta").skip(1).filter_map(|meta| meta.split('>').next()?.split_once("charset"));
    let candidates = metas.map(|(_, after)| after.trim_start().trim_start_matches('=').trim_start()).chain(named.map(|(_, after)| after));
    for value in candidates {
        let label: String = value
            .trim_start_matches(['"', '\''])
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
            .collect();
        if let Some(encoding) = Encoding::for_label(label.as_bytes()) {
            return Some(if encoding == UTF_16BE || encoding == UTF_16LE { UTF_8 } else { encoding });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_header_and_page_are_believed_in_this_order() {
        assert_eq!(decode(b"\xef\xbb\xbf\xc3\xa9", Some("text/html; charset=latin1")), "é");
        assert_eq!(decode(b"\xff\xfeA\0", None), "A");
        assert_eq!(decode(b"\xe9", Some("text/html; Charset=\"ISO-8859-1\"")), "é");
        assert_eq!(decode(b"<meta charset=shift_jis>\x83\x65", None), "<meta charset=shift_jis>テ");
        assert_eq!(
            decode(b"<META http-equiv=x content='text/html; charset=gbk'>\xb0\xa1", None),
            "<META http-equiv=x content='text/html; charset=gbk'>啊"
        );
        assert_eq!(decode("<?xml version='1.0' encoding='koi8-r'?>".as_bytes(), None), "<?xml version='1.0' encoding='koi8-r'?>");
    }

    #[test]
    fn utf_16_is_known_without_a_mark_and_zero_bytes_alone_are_none() {
        let page = "<meta charset=utf-8><p>naïve 日本";
        let little: Vec<u8> = page.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = page.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!((decode(&little, None), decode(&big, Some("text/html"))), (page.to_owned(), page.to_owned()));
        assert_eq!(decode(&little, Some("text/html; charset=windows-1252")).chars().filter(|c| *c == '\0').count(), page.len() - 7);
        assert_eq!(decode(&[0; 64], None), "\0".repeat(64));
        assert_eq!(decode(b"a\0b\0", None), "a\0b\0");
    }

    #[test]
    fn utf_7_is_never_decoded_and_shifted_japanese_is_read_as_it_is_shown() {
        let seven = "+ADw-script+AD4-";
        for named in ["utf-7", "UTF7", "unicode-1-1-utf-7", "csUnicode11UTF7", "x-unicode-2-0-utf-7"] {
            assert_eq!(decode(seven.as_bytes(), Some(&format!("text/html; charset={named}"))), seven, "{named}");
            let page = format!("<meta charset={named}>{seven}");
            assert_eq!(decode(page.as_bytes(), None), page);
        }
        let shifted = b"\x1b$B$\"\x1b(B<b>\x1b(J\\x\x1b(B</b>";
        assert_eq!(decode(shifted, Some("text/html; charset=iso-2022-jp")), "あ<b>¥x</b>");
        // The standard reads these two not at all: what they shift is markup to some and text to others.
        for named in ["hz-gb-2312", "iso-2022-kr"] {
            assert_eq!(decode(b"~{<script>~}", Some(&format!("text/html; charset={named}"))), "\u{fffd}");
        }
    }

    #[test]
    fn undeclared_bytes_are_what_their_letters_speak_for() {
        let rows = [
            ("koi8-r", "Съешь же ещё этих мягких французских булок да выпей чаю."),
            ("windows-1251", "Съешь же ещё этих мягких французских булок да выпей чаю."),
            ("gbk", "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。这是一段没有声明编码的中文文字。"),
            ("big5", "天地玄黃，宇宙洪荒。日月盈昃，辰宿列張。這是一段沒有宣告編碼的中文文字。"),
            (
                "shift_jis",
                "東京は日本の首都であり、世界でも最大級の都市のひとつである。人口は約千四百万人で、政治と経済の中心となっている。",
            ),
            ("euc-kr", "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다."),
            ("windows-1253", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία και την ταχίστη αλώπηξ."),
        ];
        for (name, text) in rows {
            let bytes = Encoding::for_label(name.as_bytes()).unwrap().encode(text).0;
            for head in ["", "<meta charset=utf-8>"] {
                let page = [head.as_bytes(), &bytes].concat();
                assert_eq!(decode(&page, None), format!("{head}{text}"), "{name}");
                assert_eq!(decode(&page, Some("text/html; charset=utf-8")), format!("{head}{text}"), "{name}");
            }
            let page = [format!("<meta charset={name}>").as_bytes(), &bytes].concat();
            assert!(decode(&page, Some("text/html; charset=utf-8")).ends_with(text), "{name}: its own word is right");
        }
    }

    #[test]
    fn utf_8_with_broken_characters_stays_utf_8() {
        let cut = &"日本語の文章".as_bytes()[..16];
        for named in [None, Some("text/html; charset=utf-8")] {
            assert_eq!(decode(cut, named), "日本語の文\u{fffd}");
            assert_eq!(decode(b"<meta charset=gbk>", named), "<meta charset=gbk>");
        }
        assert_eq!(decode("<meta charset=gbk>é é".as_bytes(), Some("text/html; charset=utf-8")), "<meta charset=gbk>é é");
    }

    #[test]
    fn undeclared_bytes_are_utf_8_or_western() {
        assert_eq!(decode("naïve".as_bytes(), Some("text/plain")), "naïve");
        assert_eq!(decode(b"na\xefve \x93q\x94", Some("text/plain; charset=no-such")), "naïve “q”");
        assert_eq!(decode(b"a\xffb", Some("text/plain; charset=utf-8")), "a\u{fffd}b");
    }
}
