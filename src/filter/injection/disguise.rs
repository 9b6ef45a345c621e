//! Views of what is written so that a filter does not read it: spaced letters, leet, reversed lines, encodings.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose::STANDARD};

use crate::filter::view::View;

/// Shortest run that is tried as an encoding, in bytes.
const SHORTEST: usize = 20;
/// Longest run that is decoded, in bytes; longer ones are pictures or archives.
const LONGEST: usize = 64 * 1024;

/// Every view besides the main one. Together they are at most a few times as long as the source.
pub(super) fn views(source: &str, main: &View) -> Vec<View> {
    let mut views = Vec::new();
    spaced(source, &mut views);
    leet(main, source, &mut views);
    lines(source, &mut views);
    encoded(source, &mut views);
    selectors(source, &mut views);
    views
}

/// `i g n o r e`, `i.g.n.o.r.e`, `i-g-n-o-r-e`: runs of single letters with one sign between; two signs part words.
fn spaced(source: &str, views: &mut Vec<View>) {
    if !has_single_letters(source.as_bytes()) {
        return;
    }
    let mut run = View::default();
    let mut letters = 0;
    let mut start = 0;
    let mut rest = source.char_indices().peekable();
    let mut last_letter_end = usize::MAX;
    let mut separators = String::new();
    let mut usual = None;
    while let Some((at, character)) = rest.next() {
        if !character.is_alphanumeric() {
            separators.push(character);
            if separators.len() > 12 {
                finish(source, &mut run, &mut letters, start, at, views);
                separators.clear();
                usual = None;
            }
            continue;
        }
        let alone = rest.peek().is_none_or(|&(_, next)| !next.is_alphanumeric()) && last_letter_end != at;
        if !alone {
            finish(source, &mut run, &mut letters, start, at, views);
            separators.clear();
            usual = None;
            last_letter_end = at + character.len_utf8();
            continue;
        }
        if letters == 0 {
            start = at;
        } else {
            if usual.is_none() {
                usual = separators.chars().next();
            }
            let one = separators.chars().count() == 1 && separators.chars().next() == usual;
            if !one {
                run.push(' ', at, 0);
            }
        }
        separators.clear();
        for lower in character.to_lowercase() {
            run.push(lower, at, character.len_utf8());
        }
        letters += 1;
        last_letter_end = at + character.len_utf8();
    }
    finish(source, &mut run, &mut letters, start, source.len(), views);
}

/// Whether twelve letters may stand alone one after the other somewhere; most texts hold none and are done here.
///
/// In such a run no two letters touch for 23 bytes, so a window that ends in two that do is skipped as a whole.
fn has_single_letters(bytes: &[u8]) -> bool {
    const WINDOW: usize = 2 * SINGLE - 1;
    let is_letter = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
    let mut from = 0;
    while from + WINDOW <= bytes.len() {
        let Some(pair) = (from..from + WINDOW - 1).rev().find(|at| is_letter(*at) && is_letter(at + 1)) else {
            // No two touch; signs alone (a rule of dashes, an empty table) are no run of letters.
            let letters = (from..from + WINDOW).filter(|at| is_letter(*at)).count();
            if letters >= 2 {
                return true;
            }
            from += WINDOW / 2;
            continue;
        };
        from = pair + 1;
    }
    false
}

/// Letters that must stand alone before they are read together.
const SINGLE: usize = 12;

fn finish(_source: &str, run: &mut View, letters: &mut usize, start: usize, end: usize, views: &mut Vec<View>) {
    if *letters >= SINGLE {
        let done = std::mem::take(run);
        // Where blanks were collapsed on the way, words are glued; the most telling ones are cut out again.
        let mut text = done.text.clone();
        if text.contains(' ') {
            views.push(View::of_decoded(&text, start, end));
        } else {
            for word in GLUED {
                text = text.replace(word, &format!(" {word} "));
            }
            views.push(View::of_decoded(&text, start, end));
        }
    }
    *run = View::default();
    *letters = 0;
}

/// Words to cut out of glued letters; longer before shorter.
const GLUED: &[&str] = &[
    "ignore",
    "disregard",
    "forget",
    "previous",
    "prior",
    "instructions",
    "system",
    "prompt",
    "reveal",
    "assistants",
    "assistant",
    "donot",
    "tell",
    "theuser",
    "youare",
    "now",
    "unrestricted",
    "forward",
    "conversation",
    "history",
    "your",
    "all",
    "send",
    "the",
    "silently",
    "about",
    "this",
];

/// `1gn0r3`: digits that stand for letters, in paragraphs where several words mix both.
fn leet(main: &View, source: &str, views: &mut Vec<View>) {
    let mut at = 0;
    for paragraph in main.text.split_inclusive('\n') {
        if paragraph.bytes().filter(u8::is_ascii_digit).take(3).count() < 3 {
            at += paragraph.len();
            continue;
        }
        let mixed = paragraph.split(|c: char| c.is_whitespace()).filter(|word| is_leet(word)).count();
        if mixed >= 3 {
            let text: String = paragraph.chars().map(unleet).collect();
            let (start, end) = main.source(source, at, at + paragraph.len());
            views.push(View::of_decoded(&text, start, end));
        }
        at += paragraph.len();
    }
}

fn is_leet(word: &str) -> bool {
    let letters = word.bytes().filter(u8::is_ascii_lowercase).count();
    let digits = word.bytes().filter(|byte| matches!(byte, b'0' | b'1' | b'3' | b'4' | b'5' | b'7')).count();
    // A sign of hexadecimal or an identifier: too long, or no letter beside its digits.
    letters > 0 && digits > 0 && word.len() <= 16
}

const fn unleet(character: char) -> char {
    match character {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        _ => character,
    }
}

/// Lines written backwards, and lines in ROT13: tried only where two words stand that are English in that form alone.
fn lines(source: &str, views: &mut Vec<View>) {
    let Some(automaton) = TURNED.as_ref() else { return };
    let mut line = (0, 0);
    let mut seen = (0, 0);
    for found in automaton.find_iter(source) {
        if found.start() >= line.1 {
            line = line_around(source, found.start());
            seen = (0, 0);
        }
        let backwards = found.pattern().as_usize() < BACKWARDS.len();
        let count = if backwards { &mut seen.0 } else { &mut seen.1 };
        *count += 1;
        let (start, end) = line;
        let (2, Some(text)) = (*count, source.get(start..end).filter(|text| text.len() <= LONGEST)) else { continue };
        let turned: String = if backwards { text.chars().rev().collect() } else { text.chars().map(rot13).collect() };
        views.push(View::of_decoded(&turned, start, end));
    }
}

fn line_around(source: &str, at: usize) -> (usize, usize) {
    let start = source.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |place| place + 1);
    let end = source.get(at..).and_then(|after| after.find('\n')).map_or(source.len(), |place| at + place);
    (start, end)
}

static TURNED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(BACKWARDS.iter().chain(ROTATED)).ok()
});

const BACKWARDS: &[&str] = &[
    "eht ",
    "uoy ",
    "ruoy",
    "erongi",
    "suoiver",
    "snoitcurtsni",
    "tpmorp",
    "metsys",
    "tnatsissa",
    "egassem",
    "drawrof",
    "laever",
    "resu eht",
    "yltnelis",
    "tsum",
    "noitasrevnoc",
];
const ROTATED: &[&str] = &[
    "gur ",
    "vtaber",
    "cerivbhf",
    "vafgehpgvba",
    "cebzcg",
    "flfgrz",
    "nffvfgnag",
    "zrffntr",
    "sbejneq",
    "erirny",
    "hfre",
    "fvyragyl",
    "zhfg",
    "pbairefngvba",
    "lbhe",
    "nobhg",
];

fn rot13(character: char) -> char {
    let turn = |byte: u8, base: u8| char::from((byte - base + 13) % 26 + base);
    match u8::try_from(character) {
        Ok(byte @ b'a'..=b'z') => turn(byte, b'a'),
        Ok(byte @ b'A'..=b'Z') => turn(byte, b'A'),
        _ => character,
    }
}

/// Base64, hexadecimal, percent signs, character references and backslash escapes that spell text.
fn encoded(source: &str, views: &mut Vec<View>) {
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
                && let Some(text) = from_hex(run).or_else(|| from_base64(run))
            {
                views.push(View::of_decoded(&text, from, from + length));
            }
            from += length + 1;
            continue;
        };
        from = gap + 1;
    }
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
    bytes.ok().or_else(|| STANDARD.decode(trimmed).ok()).and_then(prose)
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

/// A character reference at the start of a text, and its length.
pub(in crate::filter) fn reference(rest: &str) -> Option<(char, usize)> {
    let end = rest.bytes().take(12).position(|byte| byte == b';')?;
    let body = rest.get(1..end)?;
    let code = match body.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        },
        None => named(body).map(u32::from),
    };
    code.and_then(char::from_u32).map(|character| (character, end + 1))
}

fn named(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => return None,
    })
}

/// Bytes carried by runs of variation selectors (one selector, one byte).
fn selectors(source: &str, views: &mut Vec<View>) {
    let bytes = source.as_bytes();
    let mut carried = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut at = 0;
    // The selectors' first bytes in UTF-8.
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| matches!(byte, 0xef | 0xf3))) {
        at += found;
        let Some(character) = source.get(at..).and_then(|rest| rest.chars().next()) else { break };
        let byte = match u32::from(character) {
            code @ 0xfe00..=0xfe0f => u8::try_from(code - 0xfe00).ok(),
            code @ 0xe_0100..=0xe_01ef => u8::try_from(code - 0xe_0100 + 16).ok(),
            _ => None,
        };
        if at > end {
            carry(&mut carried, start, end, views);
        }
        if let Some(byte) = byte {
            if carried.is_empty() {
                start = at;
            }
            carried.push(byte);
            end = at + character.len_utf8();
        }
        at += character.len_utf8();
    }
    carry(&mut carried, start, end, views);
}

fn carry(carried: &mut Vec<u8>, start: usize, end: usize, views: &mut Vec<View>) {
    if carried.len() >= 8 {
        views.push(View::of_decoded(&String::from_utf8_lossy(carried), start, end));
    }
    carried.clear();
}
