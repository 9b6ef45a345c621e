//! Ideas that say something only together: "forget" and "previous" and "instructions" in one sentence, in any order.
//!
//! English has forms (`forms.rs`); for other languages word order and inflection are left open and only the company
//! of ideas in a sentence counts. One automaton finds the words of every language in one pass.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::Deserialize;

use super::Hit;
use crate::finding::{ceil, floor};
use crate::view::{View, fold};

/// What a word can mean here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
enum Idea {
    /// ignore, disregard
    Forget,
    /// previous, all, your
    Above,
    /// instructions, rules
    Orders,
    /// everything you were told
    Told,
    /// system prompt
    Prompt,
    /// reveal, print
    Show,
    /// you are now
    Now,
    /// without restrictions
    Free,
    /// assistant, language model
    Machine,
    /// new instructions
    New,
    /// the password, where the user lives
    Guarded,
    /// what is, tell me
    Ask,
    /// a mode that is entered
    Mode,
    /// I am your creator
    Rank,
    /// instead
    Instead,
    /// forget that
    Drop,
    /// actually
    Turn,
    /// regardless of previous tasks
    Despite,
    /// delete all files
    Harm,
    /// do not mention this, not to the user
    Silent,
    /// send the conversation
    Carry,
    /// five stars, the best mark
    Praise,
    /// the user's request
    Wish,
    /// the rules no longer hold
    Void,
    /// respond, speak
    Answer,
    /// your answer
    Reply,
    /// do not forget to
    Minded,
}

/// How many ideas there are.
const IDEAS: usize = Minded as usize + 1;

use Idea::{
    Above, Answer, Ask, Carry, Despite, Drop, Forget, Free, Guarded, Harm, Instead, Machine, Minded, Mode, New, Now, Orders, Praise,
    Prompt, Rank, Reply, Show, Silent, Told, Turn, Void, Wish,
};

impl Idea {
    /// Whether its words are rare enough in ordinary text to be looked for first.
    const fn is_rare(self) -> bool {
        !matches!(self, Above | Orders | Show | Machine | Ask | Harm | Wish | Answer | Reply)
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
    words: BTreeMap<Idea, Vec<String>>,
    /// Texts in which something must be found.
    #[cfg(test)]
    #[serde(default)]
    r#match: Vec<String>,
    /// Texts in which nothing may be found.
    #[cfg(test)]
    #[serde(default)]
    not: Vec<String>,
}

/// Ideas that weigh together when one sentence holds all of them.
struct Company {
    type_: &'static str,
    ideas: &'static [Idea],
    weight: f32,
}

const COMPANIES: &[Company] = &[
    Company { type_: "override", ideas: &[Forget, Above, Orders], weight: 0.85 },
    Company { type_: "override", ideas: &[Forget, Told], weight: 0.7 },
    Company { type_: "override", ideas: &[Forget, Orders], weight: 0.3 },
    Company { type_: "override", ideas: &[Instead, Ask], weight: 0.2 },
    Company { type_: "override", ideas: &[Drop, Ask], weight: 0.5 },
    Company { type_: "override", ideas: &[Turn, Instead, Ask], weight: 0.5 },
    Company { type_: "override", ideas: &[Despite, Ask], weight: 0.55 },
    Company { type_: "override", ideas: &[Forget, Show], weight: 0.3 },
    Company { type_: "tool_poisoning", ideas: &[New, Harm], weight: 0.5 },
    Company { type_: "prompt_extraction", ideas: &[Show, Prompt], weight: 0.7 },
    Company { type_: "role_change", ideas: &[Now, Free], weight: 0.75 },
    Company { type_: "role_change", ideas: &[Now, Machine], weight: 0.45 },
    Company { type_: "role_change", ideas: &[Machine, Free], weight: 0.45 },
    Company { type_: "new_instructions", ideas: &[New], weight: 0.35 },
    Company { type_: "secret_request", ideas: &[Guarded, Ask], weight: 0.35 },
    Company { type_: "authority", ideas: &[Rank], weight: 0.45 },
    Company { type_: "authority", ideas: &[Mode, Machine], weight: 0.2 },
    Company { type_: "authority", ideas: &[Mode, Rank], weight: 0.3 },
    Company { type_: "authority", ideas: &[Mode, Guarded], weight: 0.35 },
    Company { type_: "override", ideas: &[Forget, Wish], weight: 0.6 },
    Company { type_: "override", ideas: &[Void], weight: 0.35 },
    Company { type_: "role_change", ideas: &[Void, Free], weight: 0.5 },
    Company { type_: "role_change", ideas: &[Void, Now], weight: 0.5 },
    Company { type_: "role_change", ideas: &[Forget, Free], weight: 0.55 },
    Company { type_: "hidden_action", ideas: &[Silent, Machine], weight: 0.4 },
    Company { type_: "hidden_action", ideas: &[Silent, Praise], weight: 0.5 },
    Company { type_: "exfiltration", ideas: &[Carry, Machine], weight: 0.45 },
    Company { type_: "exfiltration", ideas: &[Carry, Silent], weight: 0.55 },
    Company { type_: "exfiltration", ideas: &[Carry, Forget], weight: 0.5 },
    Company { type_: "exfiltration", ideas: &[Carry, Now], weight: 0.45 },
    Company { type_: "exfiltration", ideas: &[Carry, Free], weight: 0.4 },
    Company { type_: "payload", ideas: &[Praise, Machine], weight: 0.3 },
    Company { type_: "exfiltration", ideas: &[Forget, Guarded], weight: 0.2 },
    Company { type_: "prompt_extraction", ideas: &[Forget, Prompt], weight: 0.3 },
    Company { type_: "role_change", ideas: &[Answer, Free], weight: 0.5 },
    Company { type_: "role_change", ideas: &[Mode, Free], weight: 0.4 },
    Company { type_: "new_instructions", ideas: &[New, Now], weight: 0.4 },
    Company { type_: "payload", ideas: &[New, Reply], weight: 0.3 },
    Company { type_: "prompt_extraction", ideas: &[Ask, Prompt], weight: 0.4 },
    Company { type_: "prompt_extraction", ideas: &[Rank, Prompt], weight: 0.4 },
    Company { type_: "override", ideas: &[Rank, Void], weight: 0.3 },
    Company { type_: "role_change", ideas: &[Answer, Void], weight: 0.4 },
    Company { type_: "addressed", ideas: &[Machine, Forget], weight: 0.3 },
    Company { type_: "secret_request", ideas: &[Rank, Guarded], weight: 0.3 },
];

/// The companies that each idea is of.
static COMPANY_OF: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| {
    let mut companies = vec![Vec::new(); IDEAS];
    for (number, company) in COMPANIES.iter().enumerate() {
        for idea in company.ideas {
            if let Some(list) = companies.get_mut(*idea as usize) {
                list.push(number);
            }
        }
    }
    companies
});

/// Bytes within which the ideas of one company must stand.
const REACH: usize = 260;

struct Entry {
    language: usize,
    idea: Idea,
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
            for (idea, words) in row.words.iter().filter(|(idea, _)| idea.is_rare() == rare) {
                for word in words {
                    let stem = word.strip_suffix('*');
                    let folded = fold(stem.unwrap_or(word)).text;
                    if folded.is_ascii() != ascii {
                        continue;
                    }
                    // A word like `dan (` ends in a sign, where no further boundary is wanted.
                    let ends_open = !folded.ends_with(char::is_alphanumeric);
                    let parted = row.blanks || ascii;
                    entries.push(Entry {
                        language,
                        idea: *idea,
                        left: parted,
                        right: stem.is_none() && parted && !ends_open && *idea != Minded,
                    });
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

/// The file of each language.
const FILES: &[&str] = &[
    include_str!("../../data/injection/languages/ar.toml"),
    include_str!("../../data/injection/languages/baltic.toml"),
    include_str!("../../data/injection/languages/bn.toml"),
    include_str!("../../data/injection/languages/cs.toml"),
    include_str!("../../data/injection/languages/de.toml"),
    include_str!("../../data/injection/languages/el.toml"),
    include_str!("../../data/injection/languages/es.toml"),
    include_str!("../../data/injection/languages/fa.toml"),
    include_str!("../../data/injection/languages/fr.toml"),
    include_str!("../../data/injection/languages/he.toml"),
    include_str!("../../data/injection/languages/hi.toml"),
    include_str!("../../data/injection/languages/id.toml"),
    include_str!("../../data/injection/languages/it.toml"),
    include_str!("../../data/injection/languages/ja.toml"),
    include_str!("../../data/injection/languages/ko.toml"),
    include_str!("../../data/injection/languages/minded.toml"),
    include_str!("../../data/injection/languages/mr.toml"),
    include_str!("../../data/injection/languages/nl.toml"),
    include_str!("../../data/injection/languages/pl.toml"),
    include_str!("../../data/injection/languages/pt.toml"),
    include_str!("../../data/injection/languages/ro-hu-fi-bg.toml"),
    include_str!("../../data/injection/languages/ru.toml"),
    include_str!("../../data/injection/languages/south-slavic.toml"),
    include_str!("../../data/injection/languages/sv.toml"),
    include_str!("../../data/injection/languages/sw.toml"),
    include_str!("../../data/injection/languages/ta.toml"),
    include_str!("../../data/injection/languages/te.toml"),
    include_str!("../../data/injection/languages/th.toml"),
    include_str!("../../data/injection/languages/tl.toml"),
    include_str!("../../data/injection/languages/tr.toml"),
    include_str!("../../data/injection/languages/uk.toml"),
    include_str!("../../data/injection/languages/ur.toml"),
    include_str!("../../data/injection/languages/vi.toml"),
    include_str!("../../data/injection/languages/zh.toml"),
];

/// Every language; a test reads every file.
static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| FILES.iter().filter_map(|file| toml::from_str(file).ok()).collect());

static RARE_ASCII: LazyLock<Table> = LazyLock::new(|| Table::of(true, true));
static RARE_OTHER: LazyLock<Table> = LazyLock::new(|| Table::of(false, true));
static COMMON_ASCII: LazyLock<Table> = LazyLock::new(|| Table::of(true, false));
static COMMON_OTHER: LazyLock<Table> = LazyLock::new(|| Table::of(false, false));

/// Finds companies of ideas. Linear: per word found, a constant number of companies is looked at.
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
    idea: Idea,
}

/// Who is told not to forget something is told to keep it in mind. Words come in the order of their places.
fn drop_minded(words: &mut Vec<Word>) {
    let minded: Vec<(usize, usize)> = words.iter().filter(|word| word.idea == Minded).map(|word| (word.start, word.end)).collect();
    if minded.is_empty() {
        return;
    }
    words.retain(|word| {
        // Spans of one automaton over one text end in the order they begin, but for a few that overlap.
        let near = minded.partition_point(|&(start, _)| start <= word.end).checked_sub(1).and_then(|at| minded.get(at));
        let covered = near.is_some_and(|&(start, end)| start <= word.end && word.start <= end + 2);
        word.idea != Minded && !(covered && matches!(word.idea, Forget | Drop | Told))
    });
}

/// Where common words can keep company with rare ones; disjoint, so that each byte is read once more at most.
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
    let mut seen = vec![[None::<(usize, usize, usize)>; IDEAS]; LANGUAGES.len()];
    for word in words {
        let sentence = ends.sentence_of(word.start);
        let Some(row) = seen.get_mut(word.language) else { continue };
        if let Some(place) = row.get_mut(word.idea as usize) {
            *place = Some((word.start, word.end, sentence));
        }
        for &number in COMPANY_OF.get(word.idea as usize).into_iter().flatten() {
            let Some(company) = COMPANIES.get(number) else { continue };
            let mut span = Some((word.start, word.end));
            for idea in company.ideas {
                let here = row.get(*idea as usize).copied().flatten();
                span = span.zip(here).and_then(|((start, end), (from, to, place))| {
                    (place == sentence && word.end.saturating_sub(from) <= REACH).then_some((start.min(from), end.max(to)))
                });
            }
            if let Some((start, end)) = span {
                let weight = if number == 0 && is_turned(row, word.language) { TURNED } else { company.weight };
                out.push(Hit { rule: 1000 + number, type_: company.type_, weight, start, end, example: false });
            }
        }
    }
}

/// What a setting aside weighs whose verb comes last where the language says the verb of an order first.
const TURNED: f32 = 0.4;

/// Whether the words say "the rules above … to ignore" in a language that would say "ignore the rules above".
fn is_turned(row: &[Option<(usize, usize, usize)>; IDEAS], language: usize) -> bool {
    let place = |idea: Idea| row.get(idea as usize).copied().flatten().map(|(start, ..)| start);
    let last = place(Forget).zip(place(Orders)).is_some_and(|(verb, object)| verb > object);
    last && LANGUAGES.get(language).is_some_and(|language| language.verb_first)
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
        // Without a rare idea a company would never be looked for.
        assert!(COMPANIES.iter().all(|company| company.ideas.iter().any(|idea| idea.is_rare())));
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
