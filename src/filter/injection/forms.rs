//! Runs the English rules: one keyword pass, then each rule's form only where one of its words stands.

use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use super::Hit;
use super::english::{self, Rule};
use super::lists::LISTS;
use super::{english_deeds, english_frames, english_leaks, english_more, english_reader, english_speech, english_tricks, english_wide};
use crate::filter::finding::{ceil, floor};
use crate::filter::view::View;

/// Bytes before and after a keyword within which a form must match.
const BEFORE: usize = 220;
const AFTER: usize = 320;

struct Table {
    automaton: Option<AhoCorasick>,
    /// Rules per keyword.
    rules: Vec<Vec<usize>>,
    /// Each is compiled when a text first holds one of its words.
    forms: Vec<OnceLock<Option<Regex>>>,
}

/// Every rule, by its number.
static RULES: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
    let first = english::RULES.iter().chain(english_more::RULES).chain(english_speech::RULES).chain(english_deeds::RULES);
    first
        .chain(english_wide::RULES)
        .chain(english_frames::RULES)
        .chain(english_reader::RULES)
        .chain(english_leaks::RULES)
        .chain(english_tricks::RULES)
        .collect()
});

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut words: Vec<&str> = Vec::new();
    let mut rules: Vec<Vec<usize>> = Vec::new();
    for (number, rule) in RULES.iter().enumerate() {
        for word in rule.words.split(';') {
            if let Some(place) = words.iter().position(|known| *known == word) {
                if let Some(list) = rules.get_mut(place) {
                    list.push(number);
                }
            } else {
                words.push(word);
                rules.push(vec![number]);
            }
        }
    }
    Table {
        automaton: AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(&words).ok(),
        rules,
        forms: RULES.iter().map(|_| OnceLock::new()).collect(),
    }
});

/// Puts the word lists in place of their names.
fn expand(form: &str) -> String {
    let mut out = form.to_owned();
    // Lists may name lists; two rounds are enough for the table, and a test compiles every form.
    for _ in 0..2 {
        for (name, list) in LISTS {
            out = out.replace(name, list);
        }
    }
    // The folded view holds two kinds of blank and lower-case ASCII words; saying so keeps the automata small, and the
    // Unicode word boundary would throw them back to a slower engine at the first letter beyond ASCII.
    out.replace(r"\b", r"(?-u:\b)").replace(r"\s", r"[ \n]").replace(r"\w", "[a-z0-9_]").replace(r"\S", r"[^ \n]")
}

/// Finds the forms. Linear: per rule, windows are merged, so that a form sees each byte at most once.
pub(super) fn hits(view: &View, out: &mut Vec<Hit>) {
    let Some(automaton) = &TABLE.automaton else { return };
    let text = view.text.as_str();
    let mut windows: Vec<Option<(usize, usize)>> = vec![None; RULES.len()];
    for found in automaton.find_overlapping_iter(text) {
        let (from, to) = (found.start().saturating_sub(BEFORE), found.end() + AFTER);
        for &rule in TABLE.rules.get(found.pattern().as_usize()).into_iter().flatten() {
            let Some(window) = windows.get_mut(rule) else { continue };
            *window = match *window {
                Some((start, end)) if from <= end => Some((start, end.max(to))),
                Some((start, end)) => {
                    try_form(text, rule, start, end, out);
                    Some((from.max(end), to))
                }
                None => Some((from, to)),
            };
        }
    }
    for (rule, window) in windows.into_iter().enumerate() {
        if let Some((start, end)) = window {
            try_form(text, rule, start, end, out);
        }
    }
}

fn try_form(text: &str, number: usize, start: usize, end: usize, out: &mut Vec<Hit>) {
    let (Some(rule), Some(form)) = (RULES.get(number), TABLE.forms.get(number)) else { return };
    let Some(form) = form.get_or_init(|| Regex::new(&expand(rule.form)).ok()) else { return };
    let start = floor(text, start);
    let window = text.get(start..ceil(text, end)).unwrap_or_default();
    for found in form.find_iter(window) {
        if rule.deniable && is_denied(window, found.start()) {
            continue;
        }
        // What somebody does or did is told, not ordered.
        let told = rule.type_ == "override" && TOLD.iter().any(|word| found.as_str().starts_with(word));
        let weight = if told { rule.weight * 0.5 } else { rule.weight };
        let (start, end) = (start + found.start(), start + found.end());
        out.push(Hit { rule: number, type_: rule.type_, weight, start, end, example: false });
    }
}

/// Whether the words before a place deny or report what follows: "never share", "asked how to reveal".
fn is_denied(window: &str, at: usize) -> bool {
    let from = floor(window, at.saturating_sub(28));
    let before = window.get(from..at).unwrap_or_default();
    let before = before.rsplit(['.', '!', '?', ':', ';', '\n']).next().unwrap_or_default();
    DENYING.iter().any(|word| before.contains(word))
}

/// Verbs of setting aside as a story has them.
const TOLD: &[&str] = &["ignores ", "ignored ", "disregards ", "disregarded ", "overrides ", "bypasses ", "nullifies "];

/// What denies or reports a demand.
const DENYING: &[&str] = &[
    "never ",
    "not ",
    "n't ",
    "cannot ",
    "without ",
    "avoid",
    "refus",
    "prevent",
    "may ",
    "will ",
    "how to ",
    "used to ",
    "able to ",
    "asks ",
    "asked ",
    "asking ",
    "option to ",
    "attempt",
    "tries to ",
    "trying to ",
    "when ",
    "they ",
    "who ",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_compiles_and_has_a_keyword() {
        assert!(TABLE.automaton.is_some());
        for rule in RULES.iter() {
            let form = expand(rule.form);
            assert!(Regex::new(&form).is_ok(), "{:?}", Regex::new(&form).err());
            assert!(!rule.words.is_empty() && rule.weight > 0.0 && rule.weight < 1.0);
        }
    }
}
