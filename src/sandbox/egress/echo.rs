//! A value in bytes that came back, whatever its characters are written as: in any Unicode encoding, as references of HTML, as escapes, with
//! tags, blanks or characters without a shape between them.

use std::ops::Range;

/// How a text is spread over bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// UTF-8, or an encoding that has ASCII in common with it.
    One,
    /// UTF-16.
    Two { big: bool },
    /// UTF-32.
    Four { big: bool },
}

/// Every one that a reader decodes.
const SPREADS: [Spread; 5] =
    [Spread::One, Spread::Two { big: false }, Spread::Two { big: true }, Spread::Four { big: false }, Spread::Four { big: true }];

/// Values shorter than this are looked for as they are alone: with blanks between its letters a short word is in every text.
const LEAST: usize = 8;

/// Bytes with `name` in the place of each `value`; `None` where it is not in them.
pub(super) fn masked(bytes: &[u8], value: &str, name: &str) -> Option<Vec<u8>> {
    let value: Vec<char> = value.chars().filter(|character| !is_nothing(*character)).collect();
    if value.len() < LEAST {
        return None;
    }
    let is_wide = bytes.contains(&0);
    let mut found: Option<Vec<u8>> = None;
    for spread in SPREADS.into_iter().filter(|spread| is_wide || *spread == Spread::One) {
        let now = found.as_deref().unwrap_or(bytes);
        let places = places(now, &value, spread);
        if places.is_empty() {
            continue;
        }
        let mut masked = Vec::with_capacity(now.len());
        let mut from = 0;
        for place in places {
            masked.extend_from_slice(now.get(from..place.start).unwrap_or_default());
            name.chars().for_each(|character| spread.write(character, &mut masked));
            from = place.end;
        }
        masked.extend_from_slice(now.get(from..).unwrap_or_default());
        found = Some(masked);
    }
    found
}

/// Where a value stands, in order, none over another.
fn places(bytes: &[u8], value: &[char], spread: Spread) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match end_of(bytes, at, value, spread) {
            Some(end) => {
                places.push(at..end);
                at = end;
            }
            None => at = spread.read(bytes, at).map_or(bytes.len(), |(_, next)| next),
        }
    }
    places
}

/// Where a value ends that begins at `at`.
fn end_of(bytes: &[u8], mut at: usize, value: &[char], spread: Spread) -> Option<usize> {
    for (place, wanted) in value.iter().enumerate() {
        loop {
            let (literal, next) = spread.read(bytes, at)?;
            let (written, after) = decoded(bytes, literal, next, spread).unwrap_or((literal, next));
            if written == *wanted {
                at = after;
                break;
            }
            if literal == *wanted {
                at = next;
                break;
            }
            if place == 0 {
                return None;
            }
            at = match (literal, is_nothing(written)) {
                ('<', _) => tag(bytes, next, spread)?,
                (_, true) => after,
                // What Markdown puts around words.
                ('*' | '_' | '`' | '\\' | '~', _) => next,
                _ => return None,
            };
        }
    }
    Some(at)
}

/// A character that is no part of a word that is read: blanks, what has no shape.
fn is_nothing(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        || !character.is_ascii() && !crate::filter::is_shown_as_is(character)
}

/// What a character begins that is written as something else: `&#107;`, `&amp;`, `\u006b`, `\/`, `%6b`; and where that ends.
fn decoded(bytes: &[u8], sign: char, at: usize, spread: Spread) -> Option<(char, usize)> {
    /// Characters of the longest that is read, without its sign; `&#` may be followed by zeros.
    const LONGEST: usize = 24;
    if !matches!(sign, '&' | '\\' | '%') {
        return None;
    }
    let mut written = Vec::with_capacity(LONGEST);
    let mut next = at;
    while written.len() < LONGEST
        && let Some((character, after)) = spread.read(bytes, next)
    {
        written.push((character, after));
        next = after;
        if !character.is_ascii_alphanumeric() && character != '{' && (character != '#' || written.len() > 1) {
            break;
        }
    }
    let text: String = written.iter().map(|(character, _)| *character).collect();
    let (character, length) = match sign {
        '&' => reference(&text)?,
        '%' => (char::from(number(text.get(..2)?, 16).and_then(|code| u8::try_from(code).ok()).filter(u8::is_ascii)?), 2),
        _ => escape(&text)?,
    };
    Some((character, written.get(length.checked_sub(1)?)?.1))
}

/// A reference of HTML after its `&`, and its length in characters.
fn reference(text: &str) -> Option<(char, usize)> {
    const NAMED: &[(&str, char)] = &[
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
        ("shy", '\u{ad}'),
        ("zwnj", '\u{200c}'),
        ("zwj", '\u{200d}'),
    ];
    let Some(number_at) = text.strip_prefix('#') else {
        let (name, character) = NAMED.iter().find(|(name, _)| text.starts_with(name))?;
        return Some((*character, name.len() + usize::from(text.get(name.len()..)?.starts_with(';'))));
    };
    let (digits, radix) = number_at.strip_prefix(['x', 'X']).map_or((number_at, 10), |digits| (digits, 16));
    let length = digits.chars().take_while(|digit| digit.is_digit(radix)).count();
    let character = char::from_u32(number(digits.get(..length)?, radix)?)?;
    let closes = usize::from(digits.get(length..)?.starts_with(';'));
    Some((character, text.len() - digits.len() + length + closes))
}

/// An escape after its backslash, and its length in characters.
fn escape(text: &str) -> Option<(char, usize)> {
    let coded = |from: usize, digits: usize| Some((char::from_u32(number(text.get(from..from + digits)?, 16)?)?, from + digits));
    match text.chars().next()? {
        'u' if text.get(1..)?.starts_with('{') => {
            let end = text.find('}')?;
            Some((char::from_u32(number(text.get(2..end)?, 16)?)?, end + 1))
        }
        'u' => coded(1, 4),
        'x' => coded(1, 2),
        sign if sign.is_ascii_punctuation() => Some((sign, 1)),
        _ => None,
    }
}

fn number(digits: &str, radix: u32) -> Option<u32> {
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, radix).ok())?
}

/// Where a tag or a comment ends whose `<` was read.
fn tag(bytes: &[u8], mut at: usize, spread: Spread) -> Option<usize> {
    const LONGEST: usize = 1024;
    let (first, _) = spread.read(bytes, at)?;
    if !first.is_ascii_alphabetic() && !matches!(first, '/' | '!' | '?') {
        return None;
    }
    for _ in 0..LONGEST {
        let (character, next) = spread.read(bytes, at)?;
        at = next;
        if character == '>' {
            return Some(at);
        }
    }
    None
}

impl Spread {
    /// The character at a place, and where the next one is. What is none is read as U+FFFD.
    fn read(self, bytes: &[u8], at: usize) -> Option<(char, usize)> {
        let other = char::REPLACEMENT_CHARACTER;
        match self {
            Self::One => {
                let first = *bytes.get(at)?;
                if first.is_ascii() {
                    return Some((char::from(first), at + 1));
                }
                let length = 2 + usize::from(first >= 0xe0) + usize::from(first >= 0xf0);
                let whole = bytes.get(at..at + length).and_then(|bytes| std::str::from_utf8(bytes).ok());
                Some(whole.and_then(|text| text.chars().next()).map_or((other, at + 1), |character| (character, at + length)))
            }
            Self::Two { big } => {
                let pair = *bytes.get(at..)?.first_chunk()?;
                let unit = if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
                Some((char::from_u32(unit.into()).unwrap_or(other), at + 2))
            }
            Self::Four { big } => {
                let four = *bytes.get(at..)?.first_chunk()?;
                let unit = if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) };
                Some((char::from_u32(unit).unwrap_or(other), at + 4))
            }
        }
    }

    /// Writes a character, which is one of ASCII or of the first plane.
    fn write(self, character: char, out: &mut Vec<u8>) {
        let code = u32::from(character);
        let unit = u16::try_from(code).unwrap_or(u16::from(b'?'));
        match self {
            Self::One => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            Self::Two { big: true } => out.extend_from_slice(&unit.to_be_bytes()),
            Self::Two { big: false } => out.extend_from_slice(&unit.to_le_bytes()),
            Self::Four { big: true } => out.extend_from_slice(&code.to_be_bytes()),
            Self::Four { big: false } => out.extend_from_slice(&code.to_le_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "kP9sVx2LmQ7wT4vRnB3yHz8J";

    fn each(write: impl Fn(char) -> String) -> String {
        VALUE.chars().map(write).collect()
    }

    #[test]
    fn a_value_is_found_whatever_its_characters_are_written_as() {
        for echo in [
            VALUE.to_owned(),
            each(|c| format!("&#{};", u32::from(c))),
            each(|c| format!("&#{}", u32::from(c))),
            each(|c| format!("&#x{:X};", u32::from(c))),
            each(|c| format!("&#0000{};", u32::from(c))),
            each(|c| format!("\\u{:04x}", u32::from(c))),
            each(|c| format!("\\u{{{:x}}}", u32::from(c))),
            each(|c| format!("\\x{:02x}", u32::from(c))),
            each(|c| format!("%{:02x}", u32::from(c))),
            each(|c| format!("{c}\u{200b}")),
            each(|c| format!("{c}\u{ad}\u{feff}")),
            each(|c| format!("{c}&shy;&#8203;")),
            each(|c| format!("{c} ")),
            VALUE.replace("T4", "<b class=\"x\">T4</b>"),
            VALUE.replace("T4", "<!-- a -->\r\n  T4"),
            VALUE.replace("T4", "**T4**"),
        ] {
            let text = format!("before {echo} after");
            let shown = String::from_utf8(masked(text.as_bytes(), VALUE, "[secret gh]").unwrap_or_default()).unwrap();
            let rest = shown.strip_prefix("before [secret gh]").unwrap_or_else(|| panic!("{text}: {shown}"));
            assert!(rest.ends_with(" after") && rest.len() < 32, "{text}: {shown}");
            for wide in [
                text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
                text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
                text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect(),
                text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect(),
            ] {
                let shown = masked(&wide, VALUE, "[secret gh]").unwrap();
                assert!(shown.len() < wide.len() && shown.len().is_multiple_of(2), "{text}");
                assert_eq!(masked(&shown, VALUE, "[secret gh]"), None);
            }
        }
    }

    #[test]
    fn what_is_another_value_stays_as_it_is() {
        for text in ["", "kP9sVx2LmQ7w", "kP9sVx2LmQ7wT4vRnB3yHz8", "kP9sVx2LmQ7w, T4vRnB3yHz8J", "&#107;P9", "%6", "\\u00", "<kP9", "k<"] {
            assert_eq!(masked(text.as_bytes(), VALUE, "x"), None, "{text}");
        }
        assert_eq!(masked(b"a b c d", "abcd", "x"), None, "a short one would be in every text");
        assert_eq!(masked("é\u{fffd}".as_bytes(), VALUE, "x"), None);
        assert_eq!(masked(&[0xff, 0xe9, 0, b'k'], VALUE, "x"), None);
    }
}
