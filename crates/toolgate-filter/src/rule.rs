//! Rules that keywords start: one pass over a text for the keywords of all rules, and a regular expression for each, compiled when a text first
//! holds one of its keywords.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;

/// Keywords, and the rules that each of them starts. A rule is known by its number.
#[derive(Debug)]
pub(crate) struct Keywords {
    automaton: Option<AhoCorasick>,
    /// Each keyword with its rules.
    words: Vec<(String, Vec<usize>)>,
}

impl Keywords {
    /// `rules`: the keywords of each rule, in the order of their numbers. `is_any_case`: ASCII letters match in either case.
    pub(crate) fn new<'k, K: IntoIterator<Item = &'k str>>(rules: impl IntoIterator<Item = K>, is_any_case: bool) -> Self {
        let mut words: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, keywords) in rules.into_iter().enumerate() {
            for word in keywords {
                words.entry(word.to_owned()).or_default().push(number);
            }
        }
        // A DFA is built once and takes one step for each byte, however many keywords there are.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .ascii_case_insensitive(is_any_case)
            .build(words.keys())
            .ok();
        Self { automaton, words: words.into_iter().collect() }
    }

    /// Gives every place of a keyword with the number of each rule that it starts, in the order in which the keywords end; also whether the
    /// keyword stands there in its own case.
    pub(crate) fn each_hit(&self, text: &str, mut take: impl FnMut(usize, Range<usize>, bool)) {
        let Some(automaton) = &self.automaton else { return };
        for hit in automaton.find_overlapping_iter(text) {
            let Some((word, rules)) = self.words.get(hit.pattern().as_usize()) else { continue };
            let is_exact = text.get(hit.range()) == Some(word);
            for &rule in rules {
                take(rule, hit.range(), is_exact);
            }
        }
    }
}

/// A regular expression that is compiled at its first use.
#[derive(Debug)]
pub(crate) struct Form {
    source: String,
    regex: OnceLock<Option<Regex>>,
}

impl Form {
    /// `{name}` in `source` stands for the part of that name. A part may name parts.
    pub(crate) fn new(source: &str, parts: &BTreeMap<String, String>) -> Self {
        let mut source = source.to_owned();
        for _ in 0..2 {
            for (name, part) in parts {
                source = source.replace(&format!("{{{name}}}"), part);
            }
        }
        Self { source, regex: OnceLock::new() }
    }

    /// `None`: the source is no regular expression; the tests compile every one.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&self.source).ok()).as_ref()
    }

    /// The regular expression as it is written.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }
}
