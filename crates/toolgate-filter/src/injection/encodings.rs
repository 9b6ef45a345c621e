//! Text in encodings: base64, hexadecimal, percent signs, character references, backslashes.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose::STANDARD};

use super::disguise::LONGEST;
use crate::view::View;

/// Shortest run that is tried as an encoding, in bytes.
const SHORTEST: usize = 20;

/// Longest run that is decoded once more.
const TWICE: usize = 4096;

/// Base64, hexadecimal, percent signs, character references and backslash escapes that spell text.
pub(super) fn encoded(source: &str, views: &mut Vec<View>) {
    for kind in ['%', '&', '\\'] {
        let mut at = 0;
        while let Some(found) = source.get(at..).and_then(|rest| rest.find(kind)) {
            at += found;
            let (text, length) = escapes(source.get(at..).unwrap_or_default(), kind as u8);
            if length >= SHORTEST && text.chars().count() >= 8 {
                views.push(View::of_decoded(&text, at, at + length));
            }
            at += length.max(1);
        }
    }
    runs(source, views);
}

/// Runs of base64 signs. A run of the shortest length has a sign at every place that far on, so most bytes are skipped.
fn runs(source: &str, views: &mut Vec<View>) {
    let bytes = source.as_bytes();
    let is_sign = |at: usize| bytes.get(at).is_some_and(|byte| is_base64(*byte));
    let mut from = 0;
    while from + SHORTEST <= bytes.len() {
        let Some(gap) = (from..from + SHORTEST).rev().find(|at| !is_sign(*at)) else {
            let length = bytes.iter().skip(from).take_while(|byte| is_base64(**byte)).count();
            let run = source.get(from..from + length).unwrap_or_default();
            if length <= LONGEST
                && let Some(text) = from_hex(run).or_else(|| from_base64(run)).or_else(|| from_base64(value_of(run)?))
            {
                views.push(View::of_decoded(&text, from, from + length));
            }
            from += length + 1;
            continue;
        };
        from = gap + 1;
    }
}

/// What stands after `name=`; the sign belongs to base64 as well, but never stands before its text.
fn value_of(run: &str) -> Option<&str> {
    let (_, value) = run.trim_end_matches('=').rsplit_once('=')?;
    (value.len() >= SHORTEST).then_some(value)
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

fn from_hex(run: &str) -> Option<String> {
    let digits = run.strip_prefix("0x").unwrap_or(run);
    if digits.len() < SHORTEST || digits.len() % 2 == 1 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes: Vec<u8> =
        digits.as_bytes().chunks(2).filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    prose(bytes)
}

fn from_base64(run: &str) -> Option<String> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent).with_decode_allow_trailing_bits(true);
    const URL: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT);
    const PLAIN: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT);
    // Words of a path or an identifier decode to noise; skip what cannot be text before paying for it.
    let trimmed = run.trim_matches(|c| matches!(c, '-' | '_' | '/'));
    let bytes = if trimmed.contains(['-', '_']) { URL.decode(trimmed) } else { PLAIN.decode(trimmed) };
    let bytes = bytes.ok().or_else(|| STANDARD.decode(trimmed).ok())?;
    // What was encoded twice decodes to one run of the same signs.
    if bytes.len() >= SHORTEST && bytes.len() <= TWICE && bytes.iter().all(|byte| is_base64(*byte)) {
        return PLAIN.decode(&bytes).ok().and_then(prose);
    }
    prose(bytes)
}

/// Decoded bytes as text, when they read as text: printable, with blanks.
fn prose(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let strange = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    let dense = text.chars().filter(|c| !c.is_ascii()).count();
    (text.len() >= 12 && strange == 0 && (text.contains(' ') || dense * 2 > text.chars().count())).then_some(text)
}

/// Reads a run of escapes of one kind; plain letters may stand between them. Gives the text and the run's length.
fn escapes(rest: &str, kind: u8) -> (String, usize) {
    let mut bytes = Vec::new();
    let mut at = 0;
    let mut count = 0;
    let mut plain = 0;
    let mut end = 0;
    while let Some(&byte) = rest.as_bytes().get(at) {
        let here = rest.get(at..).unwrap_or_default();
        let read = if byte == kind { escape_at(here, kind) } else { None };
        match read {
            Some((character, length)) => {
                let mut buffer = [0; 4];
                match character {
                    Read::Byte(raw) => bytes.push(raw),
                    Read::Character(c) => bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
                }
                at += length;
                count += 1;
                plain = 0;
                end = at;
            }
            None if byte.is_ascii_graphic() && byte != kind && plain < 16 && count > 0 => {
                bytes.push(byte);
                plain += 1;
                at += 1;
            }
            None => break,
        }
    }
    if count < 4 {
        return (String::new(), end);
    }
    bytes.truncate(bytes.len().saturating_sub(plain));
    (String::from_utf8_lossy(&bytes).into_owned(), end)
}

enum Read {
    Byte(u8),
    Character(char),
}

fn escape_at(rest: &str, kind: u8) -> Option<(Read, usize)> {
    let hex = |from: usize, to: usize| rest.get(from..to).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match kind {
        b'%' => hex(1, 3).and_then(|code| Some((Read::Byte(u8::try_from(code).ok()?), 3))),
        b'\\' => match rest.as_bytes().get(1)? {
            b'x' => hex(2, 4).and_then(|code| Some((Read::Byte(u8::try_from(code).ok()?), 4))),
            b'u' => hex(2, 6).and_then(char::from_u32).map(|c| (Read::Character(c), 6)),
            _ => None,
        },
        _ => reference(rest).map(|(character, length)| (Read::Character(character), length)),
    }
}

/// A character reference by number at the start of a text, and its length.
fn reference(rest: &str) -> Option<(char, usize)> {
    let end = rest.bytes().take(12).position(|byte| byte == b';')?;
    let body = rest.get(1..end)?;
    let number = body.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    };
    code.and_then(char::from_u32).map(|character| (character, end + 1))
}
