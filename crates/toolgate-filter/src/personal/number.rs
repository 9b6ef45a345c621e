//! Numbers as people write them: groups of digits with signs between, read as far as they go, then classified once.
//!
//! A number that touches a letter, or continues with a sign and more digits, is not cut to fit a rule: the phone number
//! inside a longer number is not one.

use super::context::Context;
use super::{card, national, phone};
use crate::finding::Finding;

/// One group of digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    start: usize,
    end: usize,
}

/// Most groups and digits that one number can have.
const GROUPS: usize = 9;
const DIGITS: usize = 20;

/// A number that may be one of ours.
#[derive(Debug)]
pub(super) struct Number<'t> {
    /// As it is written, from its plus sign, bracket or first digit to its last digit (or check letter).
    pub(super) written: &'t str,
    /// Its digits, 0 to 9.
    pub(super) digits: Vec<u8>,
    /// How many digits each group has.
    pub(super) groups: Vec<usize>,
    /// The signs between groups, each as one byte (blank for several).
    pub(super) signs: Vec<u8>,
    /// Whether a plus sign leads.
    pub(super) plus: bool,
    /// Whether `X` follows, as in the last place of a Chinese number.
    pub(super) check_letter: bool,
    /// Whether more numbers stand right beside it, as in a table.
    pub(super) in_row: bool,
    /// The words around.
    pub(super) context: Context<'t>,
}

/// Finds numbers of persons.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut run: Vec<Group> = Vec::new();
    while let Some(&byte) = bytes.get(at) {
        if !byte.is_ascii_digit() {
            at += 1;
            continue;
        }
        let end = at + bytes.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count();
        let joined = run.last().is_some_and(|last| joins(bytes, last.end, at));
        if !joined {
            classify(text, &run, out);
            run.clear();
        }
        run.push(Group { start: at, end });
        at = end;
    }
    classify(text, &run, out);
}

/// Whether the bytes between two groups are what one number may hold: one or two of blank, `-`, `.`, `(`, `)`, `/`.
fn joins(bytes: &[u8], from: usize, to: usize) -> bool {
    let between = bytes.get(from..to).unwrap_or_default();
    let no_break = between == "\u{a0}".as_bytes() || between == "\u{2009}".as_bytes() || between == "\u{202f}".as_bytes();
    no_break
        || matches!(
            between,
            [b' ' | b'-' | b'.' | b'/' | b')' | b'(']
                | [b')', b' ' | b'-' | b'/']
                | [b' ', b'(' | b'-']
                | [b'-', b' ']
                | [b' ', b'/' | b'-', b' ']
        )
}

/// Classifies the numbers of one run: whole words of it first, longest first. Bounded by the run's length times nine.
fn classify(text: &str, run: &[Group], out: &mut Vec<Finding>) {
    let bytes = text.as_bytes();
    let mut first = 0;
    while first < run.len() {
        let mut taken = 0;
        for count in (1..=GROUPS.min(run.len() - first)).rev() {
            let Some(groups) = run.get(first..first + count) else { continue };
            let total: usize = groups.iter().map(|group| group.end - group.start).sum();
            // Single digits with signs between are a count or a drawing, and would be read nine times each.
            let single = count >= 6 && total == count;
            if single || !(7..=DIGITS).contains(&total) || !stands_alone(bytes, run, first, count) {
                continue;
            }
            crate::work::read(total);
            let Some(number) = read(text, groups, count < run.len()) else { continue };
            let finding = national::classify(&number).or_else(|| card::classify(&number)).or_else(|| phone::classify(&number));
            if let Some((type_, sub, score)) = finding {
                let start = number.written.as_ptr() as usize - text.as_ptr() as usize;
                out.push(super::found(type_, sub, start, start + number.written.len(), score));
                taken = count;
                break;
            }
        }
        first += taken.max(1);
    }
}

/// Whether a part of a run is a number by itself: only blanks part it from the rest, and nothing sticks to its ends.
fn stands_alone(bytes: &[u8], run: &[Group], first: usize, count: usize) -> bool {
    let (Some(start), Some(end)) = (run.get(first).map(|group| group.start), run.get(first + count - 1).map(|group| group.end)) else {
        return false;
    };
    let parted =
        |from: usize, to: usize| !bytes.get(from..to).is_some_and(|between| between.iter().any(|byte| matches!(byte, b'-' | b'.' | b'/')));
    let left = first.checked_sub(1).and_then(|i| run.get(i)).is_none_or(|before| parted(before.end, start));
    let right = run.get(first + count).is_none_or(|after| parted(end, after.start));
    left && right && !sticks_before(bytes, start) && !sticks_after(bytes, end)
}

/// A letter, an underscore, a sign of a decimal or an identifier right before.
fn sticks_before(bytes: &[u8], start: usize) -> bool {
    let back = |n: usize| start.checked_sub(n).and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
    let one = back(1);
    one.is_ascii_alphanumeric()
        || matches!(one, b'_' | b'$' | b'%' | b'\\')
        || (matches!(one, b'.' | b',' | b':') && back(2).is_ascii_digit())
        || (matches!(one, b'-' | b'.') && (back(2).is_ascii_alphanumeric() || back(2) == b' ' && one == b'.'))
        || (one == b'/' && back(2).is_ascii_alphanumeric())
}

/// A letter or an underscore right after, or a comma, colon or dot with more digits.
fn sticks_after(bytes: &[u8], end: usize) -> bool {
    let ahead = |n: usize| bytes.get(end + n).copied().unwrap_or(b' ');
    let check_letter = matches!(ahead(0), b'X' | b'x') && !ahead(1).is_ascii_alphanumeric();
    (ahead(0).is_ascii_alphabetic() && !check_letter)
        || matches!(ahead(0), b'_' | b'%')
        || (matches!(ahead(0), b'.' | b',' | b':' | b'-' | b'/')
            && ahead(1).is_ascii_alphanumeric()
            && !(ahead(0) == b'-' && ahead(1).is_ascii_alphabetic()))
}

fn read<'t>(text: &'t str, groups: &[Group], in_row: bool) -> Option<Number<'t>> {
    let bytes = text.as_bytes();
    let (mut start, mut end) = (groups.first()?.start, groups.last()?.end);
    let mut plus = false;
    let mut back = |wanted: u8| {
        let here = start.checked_sub(1).filter(|&at| bytes.get(at) == Some(&wanted));
        start = here.unwrap_or(start);
        here.is_some()
    };
    // `(212) …`, `+(49) …`, `(+49) …`: an opening bracket belongs to the number only with its closing one.
    let closes = groups.iter().any(|group| bytes.get(group.end) == Some(&b')'));
    if back(b'+') {
        plus = true;
    } else if closes && back(b'(') {
        plus = back(b'+');
    }
    let check_letter = bytes.get(end).is_some_and(|byte| matches!(byte, b'X' | b'x'));
    if check_letter {
        end += 1;
    }
    let mut digits = Vec::with_capacity(DIGITS);
    for group in groups {
        digits.extend(bytes.get(group.start..group.end)?.iter().map(|byte| byte - b'0'));
    }
    let signs = groups
        .windows(2)
        .map(|pair| match pair {
            [left, right] => {
                bytes.get(left.end..right.start).and_then(|between| between.iter().find(|byte| **byte != b' ')).copied().unwrap_or(b' ')
            }
            _ => b' ',
        })
        .map(|sign| if sign.is_ascii() { sign } else { b' ' })
        .collect();
    Some(Number {
        written: text.get(start..end)?,
        digits,
        groups: groups.iter().map(|group| group.end - group.start).collect(),
        signs,
        plus,
        check_letter,
        in_row,
        context: Context::around(text, start, end),
    })
}
