//! Texts about injection quote it. A cue inside quotes or code weighs less where the text around it talks about the
//! subject; alone, quotes change nothing.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::filter::view::View;

/// Words of people who write about the subject.
const SUBJECT: &[&str] = &[
    "prompt injection",
    "prompt-injection",
    "promptinjection",
    "jailbreak",
    "injection detect",
    "injection_detect",
    "detect_injection",
    "comment injection",
    // Up to here the subject itself; from here the trade.
    "red team",
    "red-team",
    "adversarial",
    "owasp",
    "guardrail",
    "benchmark",
    "attack",
    "vulnerab",
    "mitigat",
    "detect",
    "scanner",
    "classif",
    "dataset",
    "payload",
    "exploit",
    "malicious",
    "false positive",
    "heuristic",
    "regex",
    "yara",
    "threat model",
    "canary",
    "evaluat",
];

/// How many of them name the subject itself.
const ITSELF: usize = 8;

static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(SUBJECT).ok());

/// Where a text that is about the subject quotes.
#[derive(Debug)]
pub(super) struct Quoting {
    spans: Vec<(usize, usize)>,
}

impl Quoting {
    /// Looks for quotes, in a text that names at least three words of the subject.
    pub(super) fn of(source: &str, folded: &View) -> Self {
        let Some(automaton) = AUTOMATON.as_ref() else { return Self { spans: Vec::new() } };
        let mut named = vec![false; SUBJECT.len()];
        for found in automaton.find_overlapping_iter(&folded.text) {
            if let Some(word) = named.get_mut(found.pattern().as_usize()) {
                *word = true;
            }
        }
        // A text that does not name the subject itself is about something else.
        let subject = named.iter().take(ITSELF).any(|word| *word);
        let enough = named.iter().filter(|word| **word).count() >= 3;
        Self { spans: if subject && enough { spans(source) } else { Vec::new() } }
    }

    /// Whether the span lies inside a quotation.
    pub(super) fn covers(&self, start: usize, end: usize) -> bool {
        let next = self.spans.partition_point(|&(from, _)| from <= start);
        next.checked_sub(1).and_then(|i| self.spans.get(i)).is_some_and(|&(_, to)| end <= to)
    }
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
    for (at, character) in line.char_indices() {
        let closing = match character {
            '"' | '`' => Some(character),
            '”' => Some('“'),
            _ => None,
        };
        match (open, closing) {
            (Some((opener, start)), Some(wanted)) if opener == wanted => {
                spans.push((offset + start, offset + at + character.len_utf8()));
                open = None;
            }
            (None, _) if matches!(character, '"' | '`' | '“') => open = Some((character, at)),
            _ => {}
        }
    }
}
