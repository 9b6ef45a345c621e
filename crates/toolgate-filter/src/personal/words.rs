//! The words just before and after a number, which say what it is.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;
use serde::Deserialize;

use crate::finding::{ceil, floor};

/// Bytes looked at before and after.
const BEFORE: usize = 64;
const AFTER: usize = 24;
/// Bytes between a number and a word that stands near before it.
pub(super) const NEAR: usize = 20;

/// What `data/personal/words.toml` holds; the file says what each list is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lists {
    strict: BTreeSet<String>,
    pub(super) file_endings: Vec<String>,
    words: BTreeMap<String, Vec<String>>,
    pub(super) calling: BTreeMap<String, (String, u8, u8)>,
    pub(super) iban: BTreeMap<String, usize>,
}

/// Every word of the rows, by its number.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: Vec<String>,
    /// Whether a word counts only without an underscore beside it.
    strict: Vec<bool>,
    automaton: Option<AhoCorasick>,
}

/// The words that stand around a number.
#[derive(Debug)]
pub(super) struct Context {
    /// Bytes between a word before the number and the number.
    before: Vec<(usize, usize)>,
    after: Vec<usize>,
}

impl Vocabulary {
    /// The numbers of some words; `{name}` stands for a list.
    pub(super) fn numbers(&mut self, words: &[String], lists: &Lists) -> BTreeSet<usize> {
        let list = |word: &String| lists.words.get(word.strip_prefix('{')?.strip_suffix('}')?).cloned();
        words.iter().flat_map(|word| list(word).unwrap_or_else(|| vec![word.clone()])).map(|word| self.number(word)).collect()
    }

    fn number(&mut self, word: String) -> usize {
        self.words.iter().position(|known| *known == word).unwrap_or_else(|| {
            self.words.push(word);
            self.words.len() - 1
        })
    }

    /// With the automaton over all of its words.
    pub(super) fn built(self, lists: &Lists) -> Option<Self> {
        let strict = self.words.iter().map(|word| lists.strict.contains(word)).collect();
        Some(Self { strict, automaton: Some(AhoCorasick::new(&self.words).ok()?), ..self })
    }

    /// The words around a span.
    pub(super) fn around(&self, text: &str, start: usize, end: usize) -> Context {
        let before = text.get(floor(text, start.saturating_sub(BEFORE))..start).unwrap_or_default();
        // Words of an earlier paragraph name an earlier number.
        let before = before.rsplit("\n\n").next().unwrap_or_default().to_lowercase();
        let after = text.get(end..ceil(text, end + AFTER)).unwrap_or_default().to_lowercase();
        crate::work::read(before.len() + after.len());
        Context {
            before: self.found(&before).map(|(word, end)| (word, before.len() - end)).collect(),
            after: self.found(&after).map(|(word, _)| word).collect(),
        }
    }

    /// The words in a text with their ends. Those of ASCII count whole, where no letter or digit stands before and no letter after.
    fn found<'s>(&'s self, text: &'s str) -> impl Iterator<Item = (usize, usize)> + 's {
        let all = self.automaton.iter().flat_map(move |automaton| automaton.find_overlapping_iter(text));
        all.map(|found| (found.pattern().as_usize(), found.start(), found.end())).filter_map(move |(word, start, end)| {
            let strict = self.strict.get(word) == Some(&true);
            let is_sign = |byte: Option<&u8>| byte.is_none_or(|byte| !(byte.is_ascii_alphabetic() || strict && *byte == b'_'));
            let before = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
            let whole = is_sign(before) && !before.is_some_and(u8::is_ascii_digit) && is_sign(text.as_bytes().get(end));
            (whole || self.words.get(word).is_some_and(|word| !word.is_ascii())).then_some((word, end))
        })
    }
}

impl Context {
    /// Bytes between the number and the nearest of some words before it.
    pub(super) fn nearest(&self, words: &BTreeSet<usize>) -> Option<usize> {
        self.before.iter().filter(|(word, _)| words.contains(word)).map(|(_, distance)| *distance).min()
    }

    /// Whether one of some words stands after the number.
    pub(super) fn follows(&self, words: &BTreeSet<usize>) -> bool {
        self.after.iter().any(|word| words.contains(word))
    }
}
