//! Places inside a line: a line longer than an answer is read on from a column. Columns count the characters of the file, not those of the
//! masks that stand in their place; of what is sent in base64 they count bytes.

use std::ops::Range;

/// Where a column of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skipped {
    /// It is so many bytes after the beginning of what was looked at.
    To(usize),
    /// The line ended before it.
    PastEnd,
    /// It is behind what was looked at.
    Further,
}

/// Looks for the column behind `left` characters, and takes from `left` what lies before the end of `bytes`.
pub(super) fn skip(bytes: &[u8], left: &mut u64, is_text: bool) -> Skipped {
    for (at, byte) in bytes.iter().enumerate() {
        if is_text && is_inside(*byte) {
            continue;
        }
        if *left == 0 {
            return Skipped::To(at);
        }
        if *byte == b'\n' {
            return Skipped::PastEnd;
        }
        *left -= 1;
    }
    Skipped::Further
}

/// How many columns bytes fill.
pub(super) fn units(bytes: &[u8], is_text: bool) -> u64 {
    if is_text { bytes.iter().filter(|byte| !is_inside(**byte)).count() as u64 } else { bytes.len() as u64 }
}

/// How an answer is bounded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// Bytes of it.
    pub bytes: usize,
    /// Bytes that are put before each line.
    pub per_line: usize,
    /// It is cut between characters.
    pub is_text: bool,
}

/// How many bytes fit into the bound: up to the end of a line where one fits, else up to the end of a character that no mask stands over. A mask
/// that fits in no answer comes whole.
pub(super) fn cut<'m>(bytes: &[u8], bound: Bound, mut masks: impl Iterator<Item = &'m Range<usize>>) -> usize {
    let fitting = fitting(bytes, bound);
    if fitting == bytes.len() || bytes.get(..fitting).is_some_and(|fitting| fitting.ends_with(b"\n")) {
        return fitting;
    }
    match masks.find(|mask| mask.start < fitting && fitting < mask.end) {
        Some(mask) if mask.start > 0 => mask.start,
        Some(mask) => mask.end,
        None => fitting,
    }
}

fn fitting(bytes: &[u8], bound: Bound) -> usize {
    let within = if bound.per_line == 0 { bound.bytes } else { numbered(bytes, bound) };
    let Some(fitting) = bytes.get(..within).filter(|_| bytes.len() > within) else { return bytes.len() };
    match fitting.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => end + 1,
        None if bound.is_text => (0..=within).rev().find(|at| bytes.get(*at).is_none_or(|byte| !is_inside(*byte))).unwrap_or(within),
        None => within,
    }
}

/// How many bytes fit where something stands before each line.
fn numbered(bytes: &[u8], bound: Bound) -> usize {
    let (mut at, mut left) = (0, bound.bytes);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(rest) = left.checked_sub(bound.per_line) else { break };
        at += line.len().min(rest);
        match rest.checked_sub(line.len()) {
            Some(rest) => left = rest,
            None => break,
        }
    }
    at
}

/// Whether a byte is inside a character of UTF-8, and not its first.
const fn is_inside(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_found_by_characters_and_never_behind_its_line() {
        let text = "aé\u{1f600}b\nnext".as_bytes();
        let found = |column: u64| skip(text, &mut (column - 1), true);
        assert_eq!(
            [1, 2, 3, 4, 5, 6].map(found),
            [Skipped::To(0), Skipped::To(1), Skipped::To(3), Skipped::To(7), Skipped::To(8), Skipped::PastEnd]
        );
        // In two parts, between the bytes of a character.
        let mut left = 3;
        assert_eq!((skip(&text[..5], &mut left, true), left), (Skipped::Further, 0));
        assert_eq!(skip(&text[5..], &mut left, true), Skipped::To(2));
        assert_eq!((units(&text[..8], true), units(&text[..8], false)), (4, 8));
    }

    #[test]
    fn a_cut_is_between_lines_else_between_characters_and_through_no_mask() {
        let plain = |bytes, per_line| Bound { bytes, per_line, is_text: true };
        let at = |text: &str, bound, masks: &[Range<usize>]| cut(text.as_bytes(), bound, masks.iter());
        assert_eq!(at("ab\ncd\nef", plain(7, 0), &[]), 6);
        assert_eq!(at("ab\ncd\nef", plain(8, 0), &[]), 8);
        assert_eq!(at("ab\ncd\nef", plain(13, 4), &[]), 3);
        assert_eq!(at("ab\ncd\nef", plain(14, 4), &[]), 6);
        assert_eq!(at("aéé", plain(4, 0), &[]), 3);
        assert_eq!(at("ab[SECRET:x]cd", plain(6, 0), std::slice::from_ref(&(2..12))), 2);
        assert_eq!(at("[SECRET:x]cd", plain(6, 0), std::slice::from_ref(&(0..10))), 10);
        assert_eq!(at("[SECRET:x]cd", plain(10, 0), std::slice::from_ref(&(0..10))), 10);
    }
}
