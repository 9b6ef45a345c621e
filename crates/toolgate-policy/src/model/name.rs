//! One name between two slashes: which characters it may hold, which a new one may, and when two spellings are one name.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// What a folder holds for a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// An entry of these very bytes.
    Same,
    /// One entry whose name is another spelling of it.
    Other(String),
    /// More than one such entry, and none of these very bytes.
    Several,
    /// No entry.
    Nothing,
    /// The folder is a link: what lies behind it is another path.
    Beyond,
}

impl Found {
    /// What a folder with these entries, none of the name's very bytes, holds for a name.
    pub fn among(name: &str, entries: impl Iterator<Item: AsRef<str>>) -> Self {
        let (wanted, mut found) = (nfc(name), Self::Nothing);
        for entry in entries.filter(|entry| nfc(entry.as_ref()) == wanted) {
            found = match found {
                Self::Nothing => Self::Other(entry.as_ref().to_owned()),
                _ => return Self::Several,
            };
        }
        found
    }
}

/// What a name of a temporary file of the server begins and ends with; 32 hexadecimal digits stand between. A later server removes it.
pub const TEMPORARY: (&str, &str) = (".toolgate-", ".tmp");

/// Whether a name is one of a temporary file of the server.
pub fn is_temporary(name: &[u8]) -> bool {
    let middle = name.strip_prefix(TEMPORARY.0.as_bytes()).and_then(|rest| rest.strip_suffix(TEMPORARY.1.as_bytes()));
    middle.is_some_and(|random| random.len() == 32 && random.iter().all(u8::is_ascii_hexdigit))
}

/// The name in normal form C (UAX #15). Two spellings of one name are equal in it.
pub fn nfc(name: &str) -> Cow<'_, str> {
    if name.is_ascii() || is_nfc(name) { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

/// The name without the characters that are not drawn (`Default_Ignorable_Code_Point`), in normal form C.
pub fn visible(name: &str) -> Cow<'_, str> {
    if name.chars().any(is_ignorable) { Cow::Owned(name.chars().filter(|c| !is_ignorable(*c)).nfc().collect()) } else { nfc(name) }
}

/// Whether a name can have more spellings than one. Of ASCII, these three are what `U+212A`, `U+037E` and `U+1FEF` become in normal form C.
pub(super) fn has_spellings(name: &str) -> bool {
    name.bytes().any(|byte| !byte.is_ascii() || matches!(byte, b'K' | b';' | b'`'))
}

/// Whether a name needs no entry to vouch for its spelling: in normal form C, without joiners, selectors and tags.
pub fn is_plain(name: &str) -> bool {
    name.is_ascii() || is_nfc(name) && !name.chars().any(is_joining)
}

/// Whether a new entry may have this name: in normal form C, with joiners, selectors and tags in emoji alone.
pub fn may_be_new(name: &str) -> bool {
    is_plain(name) || is_nfc(name) && EMOJI.as_ref().is_some_and(|emoji| emoji.is_match(name))
}

/// The first character of a path that no name may hold, or that stands where it joins or selects nothing.
///
/// Refused are control and bidirectional characters and all that is not drawn. Joiners and selectors are refused where they follow none of the
/// characters that they act on, and tags outside the three flags that have them: a run of them carries a text that nobody sees.
pub fn refused(path: &str) -> Option<char> {
    if path.is_ascii() {
        return path.chars().find(|c| c.is_control());
    }
    let without_flags = FLAGS
        .iter()
        .fold(Cow::Borrowed(path), |path, flag| if path.contains(flag) { Cow::Owned(path.replace(flag, "\u{1f3f4}")) } else { path });
    let mut before = '/';
    without_flags.chars().find(|c| {
        let after_drawn = before != '/' && !is_joining(before);
        let fits = match c {
            '\u{fe00}'..='\u{fe0f}' => after_drawn,
            '\u{200c}' | '\u{200d}' => after_drawn || before == '\u{fe0f}',
            '\u{180b}'..='\u{180d}' | '\u{180f}' => matches!(before, '\u{1820}'..='\u{18aa}'),
            '\u{e0100}'..='\u{e01ef}' => matches!(before, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}'),
            other => !is_hidden(*other),
        };
        before = *c;
        !fits
    })
}

/// Joiners, variation selectors and tags: ordinary in emoji and in some scripts, and not drawn.
const fn is_joining(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{e0020}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Control, bidi and zero-width characters: they make two names look equal, or forge a line of a prompt or log.
pub fn is_hidden(c: char) -> bool {
    c.is_control() || is_ignorable(c) || matches!(c, '\u{2028}'..='\u{2029}' | '\u{fff9}'..='\u{fffb}')
}

const fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The flags of England, Scotland and Wales: the only sequences of tags that are for general interchange (UTS #51, annex C).
const FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// A name in which every joiner, selector and tag belongs to an emoji (UTS #51, definitions ED-9a to ED-16).
static EMOJI: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let element = r"\p{Extended_Pictographic}[\x{FE0E}\x{FE0F}]?[\x{1F3FB}-\x{1F3FF}]?";
    let flags = FLAGS.join("|");
    let other = r"[^\x{200C}\x{200D}\x{180B}-\x{180F}\x{FE00}-\x{FE0F}\x{E0000}-\x{E0FFF}]";
    Regex::new(&format!(r"^(?:{element}(?:\x{{200D}}{element})*|[0-9#*]\x{{FE0F}}\x{{20E3}}|{flags}|{other})+$")).ok()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_as_the_server_makes_them_are_temporary() {
        assert!(is_temporary(b".toolgate-00000000000000000000000000aBcDeF.tmp"));
        for name in [
            ".toolgate-x.tmp",
            ".toolgate-.tmp",
            "toolgate-00000000000000000000000000000000.tmp",
            ".toolgate-0000000000000000000000000000000g.tmp",
            ".toolgate-00000000000000000000000000000000.tmp2",
        ] {
            assert!(!is_temporary(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn joiners_and_selectors_stand_behind_what_they_act_on_and_nothing_else_that_is_hidden_stands_anywhere() {
        for name in [
            "cafe\u{301}",
            "\u{1112}\u{1161}\u{11ab}",
            "a\u{200d}b",
            "\u{645}\u{6cc}\u{200c}\u{62e}",
            "\u{2764}\u{fe0f}\u{200d}\u{1f525}.md",
            "\u{845b}\u{e0100}",
            "1\u{fe0f}\u{20e3}",
            FLAGS[0],
        ] {
            assert_eq!(refused(name), None, "{name:?}");
        }
        for (name, bad) in [
            ("a\u{200b}b", '\u{200b}'),
            ("a\u{202e}b", '\u{202e}'),
            ("a\u{2066}b", '\u{2066}'),
            ("a\u{feff}b", '\u{feff}'),
            ("a\u{ad}b", '\u{ad}'),
            ("\u{3164}", '\u{3164}'),
            ("a\nb", '\n'),
            ("\u{200d}a", '\u{200d}'),
            ("x/\u{fe0f}a", '\u{fe0f}'),
            ("a\u{200d}\u{200d}b", '\u{200d}'),
            ("a\u{fe00}\u{fe01}", '\u{fe01}'),
            ("a\u{e0101}", '\u{e0101}'),
            ("a\u{e0041}", '\u{e0041}'),
            ("\u{1f3f4}\u{e0075}\u{e0073}\u{e0063}\u{e0061}\u{e007f}", '\u{e0075}'),
        ] {
            assert_eq!(refused(name), Some(bad), "{name:?}");
        }
    }

    #[test]
    fn a_new_name_is_in_normal_form_c_and_joins_in_emoji_alone() {
        for name in [
            "a.txt",
            "caf\u{e9}",
            "\u{d55c}",
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}.txt",
            "\u{2764}\u{fe0f}",
            "a 1\u{fe0f}\u{20e3}",
            FLAGS[1],
        ] {
            assert!(may_be_new(name), "{name:?}");
        }
        for name in [
            "cafe\u{301}",
            "\u{1112}\u{1161}\u{11ab}",
            "a\u{200d}b",
            "a\u{fe0f}",
            "\u{1f468}\u{200d}a",
            "\u{645}\u{200c}\u{62e}",
            "\u{212a}",
        ] {
            assert!(!may_be_new(name), "{name:?}");
        }
        assert!(is_plain("caf\u{e9}") && !is_plain("\u{2764}\u{fe0f}"));
    }

    #[test]
    fn only_three_ascii_characters_are_what_another_character_becomes() {
        let single = |c: char| nfc(c.encode_utf8(&mut [0; 4])).chars().next();
        let into_ascii: std::collections::BTreeSet<char> = ('\u{80}'..=char::MAX).filter_map(single).filter(char::is_ascii).collect();
        assert_eq!(into_ascii.into_iter().collect::<String>(), ";K`");
    }

    #[test]
    fn a_spelling_finds_the_one_entry_that_is_equal() {
        let among = |name: &str, entries: &[&str]| Found::among(name, entries.iter().copied());
        assert_eq!(among("caf\u{e9}", &["a", "cafe\u{301}", "cafe"]), Found::Other("cafe\u{301}".to_owned()));
        assert_eq!(among("K", &["\u{212a}"]), Found::Other("\u{212a}".to_owned()));
        assert_eq!(among("\u{212b}", &["\u{c5}", "A\u{30a}"]), Found::Several);
        assert_eq!(among("a\u{200d}b", &["ab"]), Found::Nothing, "what is not drawn still tells two names apart");
    }
}
