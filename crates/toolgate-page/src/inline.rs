//! The marks inside a paragraph of Markdown of this floor: code spans, links and pictures.

use std::collections::HashMap;

/// A part of a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// A character that is no mark of a link and no code.
    Char(char),
    /// A character behind a backslash.
    Escaped(char),
    /// A code span: as it is written, and its text.
    Code(&'a str, &'a str),
    /// `[` that begins a link.
    Link,
    /// `![` that begins a picture.
    Picture,
    /// The end of a link or a picture: as it is written, and its target.
    Target { written: &'a str, target: &'a str, is_picture: bool },
}

/// Reads a paragraph, in one pass for each kind of mark.
pub(super) fn parts(paragraph: &str) -> Vec<Part<'_>> {
    let mut runs = runs(paragraph);
    let ends = ends(paragraph);
    let mut parts = Vec::new();
    // Where in `parts` a bracket is open.
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(rest) = paragraph.get(at..).filter(|rest| !rest.is_empty()) {
        let mut chars = rest.chars();
        let c = chars.next().unwrap_or_default();
        let next = chars.next();
        let (part, length) = match (c, next) {
            ('\\', Some(escaped)) if escaped.is_ascii_punctuation() => (Part::Escaped(escaped), 1 + escaped.len_utf8()),
            ('`', _) => {
                if let Some((written, text)) = span(paragraph, at, &mut runs) {
                    (Part::Code(written, text), written.len())
                } else {
                    let ticks = rest.len() - rest.trim_start_matches('`').len();
                    parts.extend(std::iter::repeat_n(Part::Char('`'), ticks - 1));
                    (Part::Char('`'), ticks)
                }
            }
            ('[', _) => {
                open.push(parts.len());
                (Part::Char('['), 1)
            }
            (']', _) => {
                let begin = open.pop();
                let end = ends.get(&(at + 1)).filter(|_| next == Some('('));
                match begin.zip(end.and_then(|end| paragraph.get(at..*end))) {
                    Some((begin, written)) => {
                        let is_picture = begin.checked_sub(1).and_then(|before| parts.get(before)) == Some(&Part::Char('!'));
                        if let Some(slot) = parts.get_mut(begin) {
                            *slot = if is_picture { Part::Picture } else { Part::Link };
                        }
                        (Part::Target { written, target: target(written), is_picture }, written.len())
                    }
                    None => (Part::Char(']'), 1),
                }
            }
            _ => (Part::Char(c), c.len_utf8()),
        };
        parts.push(part);
        at += length;
    }
    parts
}

/// The target in `](target "title")`.
fn target(written: &str) -> &str {
    let inside = written.strip_prefix("](").and_then(|inside| inside.strip_suffix(')')).unwrap_or_default();
    let target = inside.split_once(" \"").map_or(inside, |(target, _)| target);
    target.strip_prefix('<').and_then(|target| target.strip_suffix('>')).unwrap_or(target)
}

/// Where runs of backticks begin, by their length, the last first.
fn runs(text: &str) -> HashMap<usize, Vec<usize>> {
    let mut runs: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut at = 0;
    for part in text.split_inclusive(|c| c != '`') {
        let ticks = part.len() - part.trim_start_matches('`').len();
        if ticks > 0 {
            runs.entry(ticks).or_default().push(at);
        }
        at += part.len();
    }
    for places in runs.values_mut() {
        places.reverse();
    }
    runs
}

/// The code span that begins at `at`: as it is written, and its text (`CommonMark` 0.31, section 6.1).
fn span<'a>(text: &'a str, at: usize, runs: &mut HashMap<usize, Vec<usize>>) -> Option<(&'a str, &'a str)> {
    let rest = text.get(at..)?;
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let places = runs.get_mut(&ticks)?;
    while places.last().is_some_and(|place| *place <= at) {
        places.pop();
    }
    let end = *places.last()?;
    let inside = text.get(at + ticks..end)?;
    // Code of a line ends with it.
    if inside.contains('\n') {
        return None;
    }
    let bare = inside.strip_prefix(' ').and_then(|inside| inside.strip_suffix(' ')).filter(|_| !inside.trim_matches(' ').is_empty());
    Some((text.get(at..end + ticks)?, bare.unwrap_or(inside)))
}

/// Where the bracket that is opened by `(` at a place is closed: the place behind `)`.
fn ends(text: &str) -> HashMap<usize, usize> {
    let mut ends = HashMap::new();
    let mut open: Vec<usize> = Vec::new();
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => open.push(at),
            ')' => {
                if let Some(begin) = open.pop() {
                    ends.insert(begin, at + 1);
                }
            }
            _ => {}
        }
    }
    ends
}
