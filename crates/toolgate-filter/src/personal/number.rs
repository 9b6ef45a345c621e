//! Numbers as people write them: groups of digits with signs between, read as far as they go, then classified once; and words of letters
//! and digits.
//!
//! A number that touches a letter, or continues with a sign and more digits, is not cut to fit a row: the phone number inside a longer
//! number is not one.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::table::{Candidate, Row, Table};
use crate::finding::{Finding, Kind, ceil, floor};

/// Most groups and digits that one number can have.
const GROUPS: usize = 9;
const DIGITS: usize = 20;

/// Groups of digits with one or two signs between.
static RUN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[0-9]+(?:(?:[ \-./()\u{a0}\u{2009}\u{202f}]|\)[ \-/]| [(\-]|- | [/\-] )[0-9]+)*").ok());
/// What a number does not touch: letters, signs of identifiers and decimals, a sign and more of them.
static STICKS_BEFORE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?:[A-Za-z0-9_$%\\]|[0-9][.,:]|[A-Za-z0-9][-./]| \.)$").ok());
static STICKS_AFTER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:[A-WYZa-wyz_%]|[Xx][A-Za-z0-9]|[.,:/][A-Za-z0-9]|-[0-9])").ok());

/// Finds numbers of persons.
pub(super) fn findings(table: &'static Table, text: &str, out: &mut Vec<Finding>) {
    for run in RUN.iter().flat_map(|run| run.find_iter(text)) {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, _) in run.as_str().bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()) {
            let at = run.start() + at;
            match groups.last_mut().filter(|last| last.end == at) {
                Some(last) => last.end += 1,
                None => groups.push(at..at + 1),
            }
        }
        classify(table, text, &groups, out);
    }
    for found in table.lettered.find_iter(text) {
        let written = found.as_str();
        let mixed = written.bytes().any(|byte| byte.is_ascii_lowercase()) && written.bytes().any(|byte| byte.is_ascii_uppercase());
        let joins = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b'_' | b'-' | b'/' | b'+' | b'='));
        let bytes = text.as_bytes();
        let joined = joins(bytes.get(found.end())) || joins(found.start().checked_sub(1).and_then(|at| bytes.get(at)));
        if mixed || joined || written.bytes().filter(u8::is_ascii_digit).count() < 4 {
            continue;
        }
        let candidate = Candidate { text, start: found.start(), end: found.end(), shape: written.to_ascii_uppercase(), in_row: false };
        out.extend(table.classify(&candidate).map(|row| finding(row, &candidate)));
    }
}

fn finding(row: &'static Row, candidate: &Candidate<'_>) -> Finding {
    let Candidate { start, end, .. } = *candidate;
    Finding { kind: Kind::PersonalData, type_: row.type_, sub: &row.id, start, end, score: row.score }
}

/// Classifies the numbers of one run: whole words of it first, longest first. Bounded by the run's length times nine.
fn classify(table: &'static Table, text: &str, run: &[Range<usize>], out: &mut Vec<Finding>) {
    let mut first = 0;
    while first < run.len() {
        let longest = (1..=GROUPS.min(run.len() - first)).rev();
        let found = longest.into_iter().find_map(|count| {
            let groups = run.get(first..first + count)?;
            let total: usize = groups.iter().map(ExactSizeIterator::len).sum();
            // Single digits with signs between are a count or a drawing, and would be read nine times each.
            let single = count >= 6 && total == count;
            if single || !(7..=DIGITS).contains(&total) || !stands_alone(text, run, first, count) {
                return None;
            }
            let candidate = candidate(text, groups, count < run.len())?;
            Some((finding(table.classify(&candidate)?, &candidate), count))
        });
        out.extend(found.map(|(finding, _)| finding));
        first += found.map_or(1, |(_, count)| count);
    }
}

/// Whether a part of a run is a number by itself: only blanks part it from the rest, and nothing sticks to its ends.
fn stands_alone(text: &str, run: &[Range<usize>], first: usize, count: usize) -> bool {
    let (Some(start), Some(end)) = (run.get(first).map(|group| group.start), run.get(first + count - 1).map(|group| group.end)) else {
        return false;
    };
    let parted = |from: usize, to: usize| !text.get(from..to).is_some_and(|between| between.contains(['-', '.', '/']));
    let left = first.checked_sub(1).and_then(|place| run.get(place)).is_none_or(|before| parted(before.end, start));
    let right = run.get(first + count).is_none_or(|after| parted(end, after.start));
    let before = text.get(floor(text, start.saturating_sub(2))..start).unwrap_or_default();
    let after = text.get(end..ceil(text, end + 2)).unwrap_or_default();
    let sticks = |regex: &Option<Regex>, beside: &str| regex.as_ref().is_some_and(|regex| regex.is_match(beside));
    left && right && !sticks(&STICKS_BEFORE, before) && !sticks(&STICKS_AFTER, after)
}

fn candidate<'t>(text: &'t str, groups: &[Range<usize>], in_row: bool) -> Option<Candidate<'t>> {
    let (mut start, mut end) = (groups.first()?.start, groups.last()?.end);
    let mut shape = String::new();
    // `(212) …`, `+(49) …`: an opening bracket belongs to the number only with its closing one.
    let before = text.get(..start)?;
    let closes = groups.iter().any(|group| text.as_bytes().get(group.end) == Some(&b')'));
    let lead = ["+(", "+", "("].into_iter().find(|lead| before.ends_with(lead) && (closes || *lead == "+"));
    if let Some(lead) = lead {
        start -= lead.len();
        shape.extend(lead.chars().filter(|sign| *sign == '+'));
    }
    let mut last = None;
    for group in groups {
        if let Some(last) = last {
            let sign = text.get(last..group.start)?.chars().find(|sign| *sign != ' ').filter(char::is_ascii);
            shape.push(sign.unwrap_or(' '));
        }
        shape.push_str(text.get(group.clone())?);
        last = Some(group.end);
    }
    // The last place of a Chinese number.
    if text.get(end..)?.starts_with(['X', 'x']) {
        shape.push('X');
        end += 1;
    }
    Some(Candidate { text, start, end, shape, in_row })
}
