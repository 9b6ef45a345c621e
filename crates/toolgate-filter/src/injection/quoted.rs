//! Texts about injection quote it. A cue inside quotes or code weighs less where the text around it talks about the
//! subject; alone, quotes change nothing.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::excuse::{EXCUSES, Subject};
use crate::view::View;

/// The words of people who write about the subject: those that name it, those that name it beside one of the trade, the trade.
fn subject() -> impl Iterator<Item = &'static String> {
    let Subject { itself, near, trade, .. } = &EXCUSES.subject;
    itself.iter().chain(near).chain(trade)
}

static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(subject()).ok());

/// Where a text quotes, and whether it is about the subject.
#[derive(Debug)]
pub(super) struct Quoting {
    /// Quotations, and whether the words before each call it one.
    spans: Vec<(usize, usize, bool)>,
    /// Whether the text is about the subject.
    about: bool,
    /// Whether it names a word of the trade at all.
    trade: bool,
}

impl Quoting {
    /// Looks for quotations and for the subject.
    pub(super) fn of(source: &str, folded: &View) -> Self {
        let Some(automaton) = AUTOMATON.as_ref() else { return Self { spans: Vec::new(), about: false, trade: false } };
        let mut named = vec![false; subject().count()];
        for found in automaton.find_overlapping_iter(&folded.text) {
            if let Some(word) = named.get_mut(found.pattern().as_usize()) {
                *word = true;
            }
        }
        // A text that does not name the subject is about something else.
        let subject = named.iter().take(EXCUSES.subject.itself.len() + EXCUSES.subject.near.len()).any(|word| *word);
        let enough = named.iter().filter(|word| **word).count() >= 3;
        let cited = |&(start, end): &(usize, usize)| (start, end, is_cited(source, start));
        let trade = named.iter().any(|word| *word);
        Self { spans: spans(source).iter().map(cited).collect(), about: subject && enough, trade }
    }

    /// Whether hits in quotations are examples: the text is about the subject, it lists at least three of them, or all of them are quotations
    /// that it calls by that name in the company of a word of the trade.
    pub(super) fn is_of_examples(&self, hits: impl Iterator<Item = (usize, usize)>) -> bool {
        if self.about {
            return true;
        }
        let hits: Vec<Option<usize>> = hits.map(|(start, end)| self.quotation(start, end)).collect();
        let is_cited = |place: &Option<usize>| place.and_then(|place| self.spans.get(place)).is_some_and(|&(.., cited)| cited);
        if self.trade && hits.iter().all(is_cited) {
            return true;
        }
        let mut quoting: Vec<usize> = hits.into_iter().flatten().collect();
        quoting.sort_unstable();
        quoting.dedup();
        quoting.len() >= 3
    }

    /// Whether the span lies inside a quotation.
    pub(super) fn covers(&self, start: usize, end: usize) -> bool {
        self.quotation(start, end).is_some()
    }

    fn quotation(&self, start: usize, end: usize) -> Option<usize> {
        let place = self.spans.partition_point(|&(from, ..)| from <= start).checked_sub(1)?;
        self.spans.get(place).is_some_and(|&(_, to, _)| end <= to).then_some(place)
    }
}

/// Whether a span stands between backticks or quotes of its own: a token that is named rather than used.
pub(super) fn is_named(source: &str, start: usize, end: usize) -> bool {
    let bytes = source.as_bytes();
    let before = start.checked_sub(1).and_then(|at| bytes.get(at));
    before.is_some_and(|sign| matches!(sign, b'`' | b'"' | b'\'')) && before == bytes.get(end)
}

/// Whether the words before a quotation call it one: "the words", "a phrase like".
fn is_cited(source: &str, start: usize) -> bool {
    let from = crate::finding::floor(source, start.saturating_sub(48));
    let before = source.get(from..start).unwrap_or_default().to_ascii_lowercase();
    let before = before.rsplit(['.', '!', '?', '\n']).next().unwrap_or_default();
    let Subject { citing, joining, .. } = &EXCUSES.subject;
    citing.iter().any(|word| before.contains(word.as_str())) || joining.iter().any(|word| before.ends_with(word.as_str()))
}

/// Code fences, inline code, double and typographic quotes, within a line; table rows and list items of examples.
fn spans(source: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut at = 0;
    let mut fence = None;
    for line in source.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            match fence.take() {
                Some(start) => spans.push((start, at)),
                None => fence = Some(at + line.len()),
            }
        } else if fence.is_none() {
            if trimmed.starts_with('|') || trimmed.starts_with('>') {
                spans.push((at, at + line.len()));
            } else {
                inline(line, at, &mut spans);
            }
        }
        at += line.len();
    }
    if let Some(start) = fence {
        spans.push((start, source.len()));
    }
    spans
}

fn inline(line: &str, offset: usize, spans: &mut Vec<(usize, usize)>) {
    let mut open: Option<(char, usize)> = None;
    let bytes = line.as_bytes();
    let is_letter = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    for (at, character) in line.char_indices() {
        // An apostrophe stands after a letter where it opens nothing, and before one where it closes nothing.
        let before = is_letter(at.checked_sub(1));
        let after = is_letter(Some(at + 1));
        if character == '\'' && (if open.is_some_and(|(opener, _)| opener == '\'') { after } else { before || !after }) {
            continue;
        }
        let closing = match character {
            '"' | '`' | '\'' => Some(character),
            '”' => Some('“'),
            _ => None,
        };
        match (open, closing) {
            (Some((opener, start)), Some(wanted)) if opener == wanted => {
                spans.push((offset + start, offset + at + character.len_utf8()));
                open = None;
            }
            (None, _) if matches!(character, '"' | '`' | '\'' | '“') => open = Some((character, at)),
            _ => {}
        }
    }
}
