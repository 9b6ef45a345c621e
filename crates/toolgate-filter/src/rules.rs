//! Rules of the caller: what it alone knows to look for, as a regular expression or a list of words, by name.
//!
//! Expressions are those of automata (no back-references, no look-around), so a rule takes time in proportion to the text whatever
//! both hold; what one may cost to build is bounded as well.

use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Regex, RegexBuilder};

use super::finding::{Finding, Kind};
use super::view::{self, View};

/// Words of one rule, bytes of one word and of one expression.
const MAX_WORDS: usize = 2000;
const MAX_WORD: usize = 200;
const MAX_REGEX: usize = 2000;
/// What one expression may take when it is built, in bytes.
const MAX_BUILT: usize = 1 << 20;
/// What one rule may find in one text; more say nothing new, and a rule that fits everywhere must not fill the memory.
const MAX_FOUND: usize = 10_000;

/// What one rule looks for.
#[derive(Debug, Clone)]
pub struct Pattern(Built);

#[derive(Debug, Clone)]
enum Built {
    Regex(Regex),
    Words(AhoCorasick),
}

/// Why a rule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternFault {
    /// `regex` or `words`; empty where the rule as a whole is at fault.
    pub key: &'static str,
    /// What is wrong, as a sentence.
    pub message: String,
}

/// Rules by name; a finding names the place of its rule.
#[derive(Debug, Clone, Default)]
pub struct WordRules(Vec<(String, Pattern)>);

impl WordRules {
    /// The rules in this order; those after the 256th are left out.
    pub fn new(rules: impl IntoIterator<Item = (String, Pattern)>) -> Self {
        Self(rules.into_iter().take(256).collect())
    }

    /// The name of the rule at a place; empty where there is none.
    pub fn name(&self, place: u8) -> &str {
        self.0.get(usize::from(place)).map_or("", |(name, _)| name)
    }

    /// Finds what the rules look for. `folded` is the text's main view, made when it is needed.
    pub(super) fn findings(&self, text: &str, folded: &mut Option<View>, out: &mut Vec<Finding>) {
        for (place, (_, pattern)) in (0_u8..=255).zip(&self.0) {
            let mut push = |start: usize, end: usize| {
                if start < end {
                    out.push(Finding { kind: Kind::Rule(place), type_: "RULE", sub: "", start, end, score: 1.0 });
                }
            };
            match &pattern.0 {
                Built::Regex(regex) => regex.find_iter(text).take(MAX_FOUND).for_each(|found| push(found.start(), found.end())),
                Built::Words(words) => {
                    let view = folded.get_or_insert_with(|| view::fold(text));
                    let whole = |found: &aho_corasick::Match| stands_alone(&view.text, found.start(), found.end());
                    for found in words.find_overlapping_iter(&view.text).filter(whole).take(MAX_FOUND) {
                        let (start, end) = view.source(text, found.start(), found.end());
                        push(start, end);
                    }
                }
            }
        }
    }
}

impl Pattern {
    /// A regular expression of at most 2000 bytes, or at most 2000 words of at most 200 bytes; one of the two.
    /// # Errors  What is wrong with it, and the key.
    pub fn new(regex: Option<&str>, words: Option<&[String]>) -> Result<Self, PatternFault> {
        match (regex, words) {
            (Some(regex), None) => of_regex(regex).map_err(|message| PatternFault { key: "regex", message }),
            (None, Some(words)) => of_words(words).map_err(|message| PatternFault { key: "words", message }),
            (None, None) => Err(PatternFault { key: "", message: "the rule looks for nothing; give `regex` or `words`".to_owned() }),
            (Some(_), Some(_)) => {
                let message = "give `regex` or `words`, not both; two rules may do the same".to_owned();
                Err(PatternFault { key: "", message })
            }
        }
    }
}

fn of_regex(regex: &str) -> Result<Pattern, String> {
    if regex.len() > MAX_REGEX {
        return Err(format!("the expression has {} bytes; {MAX_REGEX} are the most", regex.len()));
    }
    let mut builder = RegexBuilder::new(regex);
    let built = builder.size_limit(MAX_BUILT).dfa_size_limit(2 * MAX_BUILT).nest_limit(50).build().map_err(|fault| sentence(&fault))?;
    if built.is_match("") {
        return Err("the expression fits the empty text, so it would be found everywhere".to_owned());
    }
    Ok(Pattern(Built::Regex(built)))
}

fn of_words(words: &[String]) -> Result<Pattern, String> {
    if words.is_empty() || words.len() > MAX_WORDS {
        return Err(format!("{} words; 1 to {MAX_WORDS} may be listed", words.len()));
    }
    let folded: Vec<String> = words.iter().map(|word| view::fold(word).text.trim().to_owned()).collect();
    if let Some(bad) = words.iter().zip(&folded).position(|(word, folded)| folded.is_empty() || word.len() > MAX_WORD) {
        return Err(format!("word {} is empty or longer than {MAX_WORD} bytes", bad + 1));
    }
    let built = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&folded);
    built.map(|built| Pattern(Built::Words(built))).map_err(|fault| format!("the list cannot be built: {fault}"))
}

/// The last line of an expression's fault, which says what is wrong; the lines before draw a picture of it.
fn sentence(fault: &regex::Error) -> String {
    match fault {
        regex::Error::CompiledTooBig(_) => format!("the expression takes more than {MAX_BUILT} bytes when it is built; repeat less"),
        other => {
            let text = other.to_string();
            text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
    }
}

/// Whether a span is no part of a longer word. Scripts without spaces between words have no other words around them to tell.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let word = |c: char| c.is_alphanumeric() && !matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{e00}'..='\u{e7f}');
    let (before, inside, after) = (text.get(..start), text.get(start..end), text.get(end..));
    let joined = |a: Option<char>, b: Option<char>| a.is_some_and(word) && b.is_some_and(word);
    let inside = inside.unwrap_or_default();
    !joined(before.and_then(|before| before.chars().next_back()), inside.chars().next())
        && !joined(inside.chars().next_back(), after.and_then(|after| after.chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(patterns: &[Pattern], text: &'t str) -> Vec<&'t str> {
        let mut out = Vec::new();
        WordRules::new(patterns.iter().map(|pattern| (String::new(), pattern.clone()))).findings(text, &mut None, &mut out);
        out.iter().filter_map(|finding| text.get(finding.start..finding.end)).collect()
    }

    fn words(words: &[&str]) -> Pattern {
        Pattern::new(None, Some(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())).unwrap()
    }

    #[test]
    fn words_are_found_whole_and_through_disguise() {
        let names = words(&["Project Aurora", "señal", "北斗"]);
        let text = "PROJECT  aurora, pro\u{200b}ject Aurora, Projects Aurora, project auroras, SENAL; 用北斗导航";
        assert_eq!(found(&[names], text), ["PROJECT  aurora", "pro\u{200b}ject Aurora", "SENAL", "北斗"]);
    }

    #[test]
    fn an_expression_is_found_as_it_is_written() {
        let tickets = Pattern::new(Some(r"\bTCK-[0-9]{4,}\b"), None).unwrap();
        assert_eq!(found(&[tickets], "TCK-12345 tck-12345 TCK-12 x"), ["TCK-12345"]);
    }

    #[test]
    fn a_rule_that_fits_everywhere_finds_so_much_and_no_more() {
        let rules = [Pattern::new(Some("."), None).unwrap(), words(&["a"])];
        assert_eq!(found(&rules, &"a ".repeat(100_000)).len(), 2 * MAX_FOUND);
    }
}
