//! Views of what is written so that a filter does not read it: spaced letters, leet, turned lines, and encodings.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::encodings;
use crate::view::View;

/// Longest run that is decoded, in bytes; longer ones are pictures or archives.
pub(super) const LONGEST: usize = 64 * 1024;

/// Longest decoded text that is looked through together with others, in bytes.
const SHORT: usize = 512;

/// Every view besides the main one. Together they are at most a few times as long as the source.
pub(super) fn views(source: &str, main: &View) -> Vec<View> {
    let mut views = Vec::new();
    spaced(source, &mut views);
    leet(main, source, &mut views);
    lines(source, &mut views);
    encodings::encoded(source, &mut views);
    View::merge(views, SHORT)
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
                finish(&mut run, &mut letters, start, at, views);
                separators.clear();
                usual = None;
            }
            continue;
        }
        let alone = rest.peek().is_none_or(|&(_, next)| !next.is_alphanumeric()) && last_letter_end != at;
        if !alone {
            finish(&mut run, &mut letters, start, at, views);
            separators.clear();
            usual = None;
            last_letter_end = at + character.len_utf8();
            continue;
        }
        if letters == 0 {
            start = at;
        } else {
            let one = *usual.get_or_insert_with(|| separators.clone()) == separators;
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
    finish(&mut run, &mut letters, start, source.len(), views);
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

/// Ends a run of single letters: a long one is a view.
fn finish(run: &mut View, letters: &mut usize, start: usize, end: usize, views: &mut Vec<View>) {
    if *letters == 0 {
        return;
    }
    if *letters >= SINGLE {
        views.push(View::of_decoded(&run.text, start, end));
    }
    *run = View::default();
    *letters = 0;
}

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
    let digits = word.bytes().filter(|byte| matches!(byte, b'0' | b'1' | b'3' | b'4' | b'5' | b'7' | b'@' | b'$')).count();
    // A sign of hexadecimal or an identifier: too long, or no letter beside its digits.
    letters > 0 && digits > 0 && word.len() <= 16
}

const fn unleet(character: char) -> char {
    match character {
        '0' => 'o',
        '1' | '!' | '|' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' | '+' => 't',
        _ => character,
    }
}

/// Lines written backwards: tried only where two words stand that are English in that form alone.
fn lines(source: &str, views: &mut Vec<View>) {
    let Some(automaton) = TURNED.as_ref() else { return };
    let mut line = (0, 0);
    let mut count = 0;
    for found in automaton.find_iter(source) {
        if found.start() >= line.1 {
            line = line_around(source, found.start());
            count = 0;
        }
        count += 1;
        let (start, end) = line;
        let (2, Some(text)) = (count, source.get(start..end).filter(|text| text.len() <= LONGEST)) else { continue };
        views.push(View::of_decoded(&text.chars().rev().collect::<String>(), start, end));
    }
}

fn line_around(source: &str, at: usize) -> (usize, usize) {
    let start = source.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |place| place + 1);
    let end = source.get(at..).and_then(|after| after.find('\n')).map_or(source.len(), |place| at + place);
    (start, end)
}

static TURNED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(BACKWARDS.split('\n')).ok()
});

/// Words that are English only when they are turned, parted by line ends: some end in a blank.
const BACKWARDS: &str = "eht \nuoy \nruoy\nerongi\nsuoiver\nsnoitcurtsni\ntpmorp\nmetsys\ntnatsissa\negassem\ndrawrof\nlaever\nresu eht\nyltnelis\ntsum\nnoitasrevnoc";
