//! Where a passage stands in a text. Line ends do not count: `\n` in a passage matches `\r\n` in the file and takes its form.

use std::borrow::Cow;
use std::ops::Range;

/// Why a passage cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// It is not there. `near`: the line where something like it begins, and whether only white space differs.
    None { near: Option<(usize, bool)> },
    /// It is there more than once; the first lines where it begins.
    Many { count: usize, lines: Vec<usize> },
}

/// The passages found in a text, in order, none over another.
#[derive(Debug)]
pub(super) struct Passages<'a> {
    text: &'a str,
    found: Vec<Range<usize>>,
    /// Whether most lines of the text end in `\r\n`.
    crlf: bool,
}

impl<'a> Passages<'a> {
    /// Finds `passage`: exactly once, or every time with `all`.
    pub(super) fn find(text: &'a str, passage: &str, all: bool) -> Result<Self, Mismatch> {
        let plain = Plain::of(text);
        let wanted = passage.replace("\r\n", "\n");
        let starts: Vec<usize> = plain.text.match_indices(&wanted).map(|(at, _)| at).collect();
        if starts.is_empty() {
            return Err(Mismatch::None { near: near(&plain.text, &wanted) });
        }
        // `aa` stands in `aaa` twice: such a passage is ambiguous too.
        let count = if all { 1 } else { overlapping(&plain.text, &wanted) };
        if count > 1 {
            let line = |at: &usize| plain.text.get(..*at).unwrap_or_default().matches('\n').count() + 1;
            return Err(Mismatch::Many { count, lines: starts.iter().take(5).map(line).collect() });
        }
        let found = starts.iter().map(|at| plain.original(*at)..plain.original(at + wanted.len())).collect();
        let ends = text.matches('\n').count();
        Ok(Self { text, found, crlf: plain.removed.len() * 2 > ends })
    }

    /// Where they stand, in order.
    pub(super) fn ranges(&self) -> &[Range<usize>] {
        &self.found
    }

    pub(super) fn count(&self) -> u64 {
        self.found.len() as u64
    }

    /// Size in bytes of the text with each passage replaced, at most.
    pub(super) fn size_with(&self, by: &str) -> u64 {
        let line_ends = if self.crlf || self.text.contains("\r\n") { by.matches('\n').count() } else { 0 };
        let old: usize = self.found.iter().map(Range::len).sum();
        (self.text.len() - old) as u64 + self.count().saturating_mul((by.len() + line_ends) as u64)
    }

    /// What stands in the place of the passage at `range` when it is replaced: each line end takes the form of the one in its place in the passage,
    /// further ones that of the last, and where the passage has none that of most in the text.
    pub(super) fn written<'b>(&self, range: &Range<usize>, by: &'b str) -> Cow<'b, str> {
        let old = self.text.get(range.clone()).unwrap_or_default();
        let mut ends = old.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(|line| line.ends_with("\r\n"));
        if !by.contains('\n') || !(by.contains("\r\n") || self.text.contains("\r\n")) {
            return Cow::Borrowed(by);
        }
        let mut crlf = self.crlf;
        let mut out = String::with_capacity(by.len());
        for line in by.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                Some(line) => {
                    crlf = ends.next().unwrap_or(crlf);
                    out.push_str(line.strip_suffix('\r').unwrap_or(line));
                    out.push_str(if crlf { "\r\n" } else { "\n" });
                }
                None => out.push_str(line),
            }
        }
        Cow::Owned(out)
    }
}

/// A text with plain line ends, and where each removed `\r` was.
struct Plain<'a> {
    text: Cow<'a, str>,
    /// Positions in the plain text before which a `\r` was removed, ascending.
    removed: Vec<usize>,
}

impl<'a> Plain<'a> {
    fn of(text: &'a str) -> Self {
        if !text.contains("\r\n") {
            return Self { text: Cow::Borrowed(text), removed: Vec::new() };
        }
        let mut plain = String::with_capacity(text.len());
        let mut removed = Vec::new();
        for (index, part) in text.split("\r\n").enumerate() {
            if index > 0 {
                removed.push(plain.len());
                plain.push('\n');
            }
            plain.push_str(part);
        }
        Self { text: Cow::Owned(plain), removed }
    }

    /// The position in the original text. A passage that begins with a line end takes the `\r` with it; one that ends before
    /// a line end leaves it.
    fn original(&self, at: usize) -> usize {
        at + self.removed.partition_point(|removed| *removed < at)
    }
}

fn overlapping(text: &str, wanted: &str) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(next) = text.get(at..).and_then(|rest| rest.find(wanted)) {
        count += 1;
        at += next + 1;
        while !text.is_char_boundary(at) {
            at += 1;
        }
        if count >= MOST_COUNTED {
            break;
        }
    }
    count
}

/// The line at which something like the passage begins: the same but for white space, or most alike in its first line that says anything.
fn near(text: &str, wanted: &str) -> Option<(usize, bool)> {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().take(MOST_LINES).map(squeezed).collect();
    let passage: Vec<String> = wanted.lines().map(squeezed).skip_while(String::is_empty).collect();
    let passage: Vec<&String> = passage.iter().take(passage.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1)).collect();
    let first = passage.first()?;
    let same = |window: &[String]| window.iter().zip(&passage).all(|(line, wanted)| line == *wanted);
    if let Some(at) = lines.windows(passage.len()).position(same) {
        return Some((at + 1, true));
    }
    let wanted_len = first.chars().count();
    let mut best = (0, 0.0);
    for (index, line) in lines.iter().enumerate() {
        let length = line.chars().count();
        // Lines of very different length are not alike; long ones cost the square of their length.
        if length * 2 < wanted_len || length > wanted_len * 2 || length > 400 {
            continue;
        }
        let likeness = strsim::normalized_levenshtein(line, first);
        if likeness > best.1 {
            best = (index + 1, likeness);
        }
    }
    (best.1 >= 0.6).then_some((best.0, false))
}

const MOST_COUNTED: usize = 10_000;
const MOST_LINES: usize = 5_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, old: &str, new: &str, all: bool) -> Result<String, Mismatch> {
        let passages = Passages::find(text, old, all)?;
        let mut out = text.to_owned();
        for range in passages.ranges().iter().rev() {
            out.replace_range(range.clone(), &passages.written(range, new));
        }
        Ok(out)
    }

    fn edit(text: &str, old: &str, new: &str) -> Result<String, Mismatch> {
        replaced(text, old, new, false)
    }

    #[test]
    fn line_ends_of_the_file_are_kept_whatever_the_passage_uses() {
        assert_eq!(edit("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz").unwrap(), "x\r\ny\r\nz\r\nc\r\n");
        assert_eq!(edit("a\r\nb\r\nc\r\n", "b", "b1\nb2").unwrap(), "a\r\nb1\r\nb2\r\nc\r\n");
        assert_eq!(edit("a\r\nb\r\n", "b\r\n", "").unwrap(), "a\r\n");
        assert_eq!(edit("a\nb\nc\n", "a\r\nb", "x\ny").unwrap(), "x\ny\nc\n");
        // Mixed line ends: only the passage is touched, in its own form.
        assert_eq!(edit("a\r\nb\nc\r\n", "b\nc", "B\nC").unwrap(), "a\r\nB\nC\r\n");
        assert_eq!(edit("a\r\nb\r\nc\n", "c", "C").unwrap(), "a\r\nb\r\nC\n");
        assert_eq!(edit("a\r\n\r\nb", "\n\nb", "\nb").unwrap(), "a\r\nb");
        assert_eq!(edit("a\r\nb\nc\r\n", "a\nb\nc\n", "A\nB\nC\nD\n").unwrap(), "A\r\nB\nC\r\nD\r\n");
        // What comes from a client with other line ends.
        assert_eq!(edit("a\nb\nc\n", "b\r\n", "x\r\ny\r\n").unwrap(), "a\nx\ny\nc\n");
    }

    #[test]
    fn a_byte_order_mark_stays_in_front() {
        assert_eq!(edit("\u{feff}a\nb\n", "a\n", "x\n").unwrap(), "\u{feff}x\nb\n");
    }

    #[test]
    fn none_and_many_are_told_apart_with_where() {
        assert_eq!(edit("a\na\nb\na", "a", "x").unwrap_err(), Mismatch::Many { count: 3, lines: vec![1, 2, 4] });
        assert_eq!(edit("aaa", "aa", "x").unwrap_err(), Mismatch::Many { count: 2, lines: vec![1] });
        assert_eq!(
            edit("one\n\tlet x = 1;\n\tend\n", "    let x = 1;\n    end", "").unwrap_err(),
            Mismatch::None { near: Some((2, true)) }
        );
        assert_eq!(edit("one\nfn alpha_beta() {\n", "fn alpha_bita() {", "").unwrap_err(), Mismatch::None { near: Some((2, false)) });
        assert_eq!(edit("one\ntwo\n", "something else entirely", "").unwrap_err(), Mismatch::None { near: None });
    }

    #[test]
    fn every_occurrence_is_replaced_when_asked() {
        assert_eq!(replaced("é a é a", "é", "e", true).unwrap(), "e a e a");
        assert_eq!(replaced("aaa", "aa", "b", true).unwrap(), "ba");
    }
}
