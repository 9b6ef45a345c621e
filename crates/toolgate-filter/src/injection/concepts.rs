//! Ideas that say something only together: "forget" and "previous" and "instructions" in one sentence, in any order.
//!
//! English has forms (`forms.rs`); for other languages word order and inflection are left open and only the combination
//! of ideas in a sentence counts. One automaton finds the words of every language in one pass.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::Deserialize;

use super::Hit;
use crate::finding::{ceil, floor};
use crate::view::{View, fold};

/// What `data/injection/ideas.toml` holds. An idea is known by its place: the rare ones first, then the common ones.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Ideas {
    /// What the ideas mean, by name.
    rare: BTreeMap<String, String>,
    common: BTreeMap<String, String>,
    combinations: Vec<Combination>,
}

/// Ideas that weigh together when one sentence holds all of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Combination {
    r#type: String,
    ideas: Vec<String>,
    weight: f32,
    /// The weight where the first idea stands after the last in a language whose orders begin with the verb.
    #[serde(default)]
    turned: Option<f32>,
    #[serde(skip)]
    places: Vec<usize>,
}

/// The ideas; a test reads the file.
static IDEAS: LazyLock<Ideas> = LazyLock::new(|| {
    let mut ideas: Ideas = toml::from_str(include_str!("../../data/injection/ideas.toml")).unwrap_or_default();
    for mut combination in std::mem::take(&mut ideas.combinations) {
        combination.places = combination.ideas.iter().filter_map(|idea| ideas.place(idea)).collect();
        ideas.combinations.push(combination);
    }
    ideas
});

impl Ideas {
    fn place(&self, name: &str) -> Option<usize> {
        self.rare.keys().chain(self.common.keys()).position(|known| known == name)
    }
}

/// The words of one language, as its file has them.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
struct Language {
    /// Whether it separates words by blanks.
    blanks: bool,
    /// Whether an order begins with its verb.
    #[serde(default)]
    verb_first: bool,
    /// Words per idea, folded or not.
    words: BTreeMap<String, Vec<String>>,
    /// Texts in which something must be found.
    #[cfg(test)]
    #[serde(default)]
    r#match: Vec<String>,
    /// Texts in which nothing may be found.
    #[cfg(test)]
    #[serde(default)]
    not: Vec<String>,
}

/// The combinations that each idea is of.
static COMBINATIONS_OF: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| {
    let of = |idea: usize| {
        (0..).zip(&IDEAS.combinations).filter(|(_, combination)| combination.places.contains(&idea)).map(|(number, _)| number).collect()
    };
    (0..IDEAS.rare.len() + IDEAS.common.len()).map(of).collect()
});

/// Bytes within which the ideas of one combination must stand.
const REACH: usize = 260;

struct Entry {
    language: usize,
    idea: usize,
    left: bool,
    right: bool,
}

struct Table {
    automaton: Option<AhoCorasick>,
    entries: Vec<Entry>,
}

impl Table {
    /// The words that are ASCII once folded, or the others.
    fn of(ascii: bool, rare: bool) -> Self {
        let mut patterns = Vec::new();
        let mut entries = Vec::new();
        for (language, row) in LANGUAGES.iter().enumerate() {
            for (name, words) in row.words.iter().filter(|(name, _)| IDEAS.rare.contains_key(*name) == rare) {
                let Some(idea) = IDEAS.place(name) else { continue };
                for word in words {
                    let stem = word.strip_suffix('*');
                    let folded = fold(stem.unwrap_or(word)).text;
                    if folded.is_ascii() != ascii {
                        continue;
                    }
                    // A word like `dan (` ends in a sign, where no further boundary is wanted.
                    let ends_open = !folded.ends_with(char::is_alphanumeric);
                    let parted = row.blanks || ascii;
                    entries.push(Entry { language, idea, left: parted, right: stem.is_none() && parted && !ends_open && name != MINDED });
                    patterns.push(folded);
                }
            }
        }
        // One transition per byte for the words of every text; those of other scripts make so many states that a table of
        // them would take tens of megabytes.
        let kind = if ascii { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA };
        Self { automaton: AhoCorasick::builder().kind(Some(kind)).build(&patterns).ok(), entries }
    }
}

macro_rules! files {
    ($($name:literal)*) => { &[$(include_str!(concat!("../../data/injection/languages/", $name, ".toml"))),*] };
}

/// The file of each language.
const FILES: &[&str] = files!(
    "ar" "baltic" "bn" "cs" "de" "el" "es" "fa" "fr" "he" "hi" "id" "it" "ja" "ko" "minded" "mr" "nl" "pl"
    "pt" "ro-hu-fi-bg" "ru" "south-slavic" "sv" "sw" "ta" "te" "th" "tl" "tr" "uk" "ur" "vi" "zh"
);

/// Every language; a test reads every file.
static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| FILES.iter().filter_map(|file| toml::from_str(file).ok()).collect());

static RARE_ASCII: LazyLock<Table> = LazyLock::new(|| Table::of(true, true));
static RARE_OTHER: LazyLock<Table> = LazyLock::new(|| Table::of(false, true));
static COMMON_ASCII: LazyLock<Table> = LazyLock::new(|| Table::of(true, false));
static COMMON_OTHER: LazyLock<Table> = LazyLock::new(|| Table::of(false, false));

/// Finds combinations of ideas. Linear: per word found, a constant number of combinations is looked at.
pub(super) fn hits(view: &View, out: &mut Vec<Hit>) {
    let text = view.text.as_str();
    let mut words = Vec::new();
    find(&RARE_ASCII, text, 0, &mut words);
    // A language's words may be of both kinds (a name, `ai`); those of other scripts need a text that holds some.
    let other = !text.is_ascii();
    if other {
        find(&RARE_OTHER, text, 0, &mut words);
    }
    words.sort_by_key(|word: &Word| word.start);
    drop_minded(&mut words);
    let parts = surroundings(&words);
    for &(start, end) in &parts {
        let start = floor(text, start);
        let part = text.get(start..ceil(text, end)).unwrap_or_default();
        find(&COMMON_ASCII, part, start, &mut words);
        if other {
            find(&COMMON_OTHER, part, start, &mut words);
        }
    }
    words.sort_by_key(|word| word.end);
    judge(&words, &SentenceEnds::within(text, &parts), out);
}

/// A word that was found.
struct Word {
    start: usize,
    end: usize,
    language: usize,
    idea: usize,
}

/// The idea of words that say that something should not be forgotten.
const MINDED: &str = "minded";

/// Drops the words of forgetting that such words are about. Words come in the order of their places.
fn drop_minded(words: &mut Vec<Word>) {
    let minded = IDEAS.place(MINDED);
    let forgotten = ["forget", "drop", "told"].map(|name| IDEAS.place(name));
    let spans: Vec<(usize, usize)> = words.iter().filter(|word| Some(word.idea) == minded).map(|word| (word.start, word.end)).collect();
    if spans.is_empty() {
        return;
    }
    words.retain(|word| {
        // Spans of one automaton over one text end in the order they begin, but for a few that overlap.
        let near = spans.partition_point(|&(start, _)| start <= word.end).checked_sub(1).and_then(|at| spans.get(at));
        let covered = near.is_some_and(|&(start, end)| start <= word.end && word.start <= end + 2);
        Some(word.idea) != minded && !(covered && forgotten.contains(&Some(word.idea)))
    });
}

/// Where common words stand near enough to rare ones; disjoint, so that each byte is read once more at most.
fn surroundings(words: &[Word]) -> Vec<(usize, usize)> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for word in words {
        let (start, end) = (word.start.saturating_sub(REACH), word.end + REACH);
        match parts.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => parts.push((start, end)),
        }
    }
    parts
}

/// Finds a table's words in a part of the view that begins at `offset`.
fn find(table: &Table, text: &str, offset: usize, words: &mut Vec<Word>) {
    let Some(automaton) = &table.automaton else { return };
    for found in automaton.find_overlapping_iter(text) {
        let Some(entry) = table.entries.get(found.pattern().as_usize()) else { continue };
        if (entry.left && joined_before(text, found.start())) || (entry.right && joined_after(text, found.end())) {
            continue;
        }
        words.push(Word { start: offset + found.start(), end: offset + found.end(), language: entry.language, idea: entry.idea });
    }
}

fn judge(words: &[Word], ends: &SentenceEnds, out: &mut Vec<Hit>) {
    if words.is_empty() {
        return;
    }
    // Per language and idea: where it was last seen (start, end, sentence).
    let mut seen = vec![vec![None::<(usize, usize, usize)>; COMBINATIONS_OF.len()]; LANGUAGES.len()];
    for word in words {
        let sentence = ends.sentence_of(word.start);
        let Some(row) = seen.get_mut(word.language) else { continue };
        if let Some(place) = row.get_mut(word.idea) {
            *place = Some((word.start, word.end, sentence));
        }
        for &number in COMBINATIONS_OF.get(word.idea).into_iter().flatten() {
            let Some(combination) = IDEAS.combinations.get(number) else { continue };
            let mut span = Some((word.start, word.end));
            for idea in &combination.places {
                let here = row.get(*idea).copied().flatten();
                span = span.zip(here).and_then(|((start, end), (from, to, place))| {
                    (place == sentence && word.end.saturating_sub(from) <= REACH).then_some((start.min(from), end.max(to)))
                });
            }
            if let Some((start, end)) = span {
                let order = |idea: Option<&usize>| row.get(*idea?).copied().flatten().map(|(start, ..)| start);
                let is_turned = || {
                    let ends = order(combination.places.first()).zip(order(combination.places.last()));
                    ends.is_some_and(|(first, last)| first > last)
                        && LANGUAGES.get(word.language).is_some_and(|language| language.verb_first)
                };
                let weight = combination.turned.filter(|_| is_turned()).unwrap_or(combination.weight);
                out.push(Hit { rule: 1000 + number, type_: &combination.r#type, weight, start, end, example: false });
            }
        }
    }
}

fn joined_before(text: &str, at: usize) -> bool {
    text.get(..at).and_then(|before| before.chars().next_back()).is_some_and(char::is_alphanumeric)
}

fn joined_after(text: &str, at: usize) -> bool {
    text.get(at..).and_then(|after| after.chars().next()).is_some_and(char::is_alphanumeric)
}

/// Where sentences end.
struct SentenceEnds {
    ends: Vec<usize>,
}

impl SentenceEnds {
    /// The ends in some parts of a text; between parts a sentence ends as well.
    fn within(text: &str, parts: &[(usize, usize)]) -> Self {
        let mut ends = Vec::new();
        for &(start, end) in parts {
            let start = floor(text, start);
            ends.push(start);
            let mut last = ' ';
            for (at, character) in text.get(start..ceil(text, end)).unwrap_or_default().char_indices() {
                let ended = matches!(character, '。' | '！' | '？' | '।' | '؟')
                    || (matches!(last, '.' | '!' | '?') && character.is_whitespace())
                    || (character == '\n' && matches!(last, '\n' | ';' | '{' | '}' | ')' | ','));
                if ended {
                    ends.push(start + at);
                }
                last = character;
            }
        }
        Self { ends }
    }

    fn sentence_of(&self, at: usize) -> usize {
        self.ends.partition_point(|&end| end <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::injection::tests::types;

    #[test]
    fn the_table_builds_and_every_word_is_more_than_a_letter() {
        for table in [&RARE_ASCII, &RARE_OTHER, &COMMON_ASCII, &COMMON_OTHER] {
            assert!(table.automaton.is_some() && !table.entries.is_empty());
        }
        // Without a rare idea a combination would never be looked for.
        assert!(IDEAS.combinations.iter().all(|combination| combination.ideas.iter().any(|idea| IDEAS.rare.contains_key(idea))));
        assert!(
            IDEAS.combinations.len() > 40
                && IDEAS.combinations.iter().all(|combination| combination.places.len() == combination.ideas.len())
        );
        assert!(LANGUAGES.iter().flat_map(|language| language.words.keys()).all(|name| IDEAS.place(name).is_some()));
        for (file, language) in FILES.iter().zip(LANGUAGES.iter()) {
            for word in language.words.values().flatten() {
                assert!(fold(word).text.chars().count() >= 2 || !word.is_ascii(), "{word:?} in {file}");
            }
        }
    }

    #[test]
    fn every_file_is_read_and_its_examples_hold() {
        for file in FILES {
            assert!(toml::from_str::<Language>(file).is_ok(), "{:?}", toml::from_str::<Language>(file).err());
        }
        for language in LANGUAGES.iter() {
            for text in &language.r#match {
                assert!(!types(text).is_empty(), "{text}");
            }
            for text in &language.not {
                assert_eq!(types(text), Vec::<&str>::new(), "{text}");
            }
        }
    }
}
