//! Content rules: what the operator alone knows to look for, as a regular expression or a list of words, by name.
//!
//! Expressions are those of automata (no back-references, no look-around), so a rule takes time in proportion to the text whatever
//! both hold; what one may cost to build is bounded as well.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Finding, Kind};
use super::settings::{Treatment, Watch};
use super::view::{self, View};

/// Rules of one manifest, words of one rule, bytes of one word and of one expression.
const MAX_RULES: usize = 64;
const MAX_WORDS: usize = 2000;
const MAX_WORD: usize = 200;
const MAX_REGEX: usize = 2000;
/// What one expression may take when it is built, in bytes.
const MAX_BUILT: usize = 1 << 20;
/// What one rule may find in one text; more say nothing new, and a rule that fits everywhere must not fill the memory.
const MAX_FOUND: usize = 10_000;

/// One rule of the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct ContentRule {
    /// A regular expression without look-around and back-references, at most 2000 bytes; `(?i)` ignores upper and lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// Whole words or phrases, at most 2000; case, width, accents and invisible characters make no difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Vec<String>>,
    /// What is done where it is found in what goes to the model. `mask` masks it in what strangers wrote; in files and in a program's own output,
    /// whose bytes stay as they are, it is told of like `mark`; `deny` refuses both.
    pub action: Treatment,
    /// What is done where it is found in a call's arguments.
    pub input: Watch,
}

/// The rules by name, built when they are first used.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, ContentRule>", into = "BTreeMap<String, ContentRule>")]
pub struct ContentRules {
    written: BTreeMap<String, ContentRule>,
    built: OnceLock<Vec<Built>>,
}

impl JsonSchema for ContentRules {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ContentRules".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BTreeMap::<String, ContentRule>::json_schema(generator)
    }
}

impl From<BTreeMap<String, ContentRule>> for ContentRules {
    fn from(written: BTreeMap<String, ContentRule>) -> Self {
        Self { written, built: OnceLock::new() }
    }
}

impl From<ContentRules> for BTreeMap<String, ContentRule> {
    fn from(rules: ContentRules) -> Self {
        rules.written
    }
}

impl PartialEq for ContentRules {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for ContentRules {}

/// A rule ready to be used; its place is that of its name.
#[derive(Debug, Clone)]
enum Built {
    Regex(Regex),
    Words(AhoCorasick),
    /// It could not be built; the manifest that held it was refused.
    Nothing,
}

/// Which direction a text goes, which decides whether a rule looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Out,
    In,
}

impl ContentRules {
    /// The rules in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ContentRule)> {
        self.written.iter().map(|(name, rule)| (name.as_str(), rule))
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    /// The name and the rule at a place.
    pub(super) fn at(&self, place: u8) -> Option<(&str, &ContentRule)> {
        self.iter().nth(usize::from(place))
    }

    /// What is wrong with them: the key below `filters.rules`, and a sentence. Builds every rule.
    pub fn faults(&self) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        if self.written.len() > MAX_RULES {
            faults.push((String::new(), format!("{} rules; {MAX_RULES} are the most", self.written.len())));
        }
        for (name, rule) in &self.written {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
            if name.is_empty() || name.len() > 40 || !name.bytes().all(plain) {
                faults.push((name.clone(), "a rule's name is 1 to 40 of a-z, 0-9, `-` and `_`".to_owned()));
            }
            if let Err((key, fault)) = build(rule) {
                faults.push((if key.is_empty() { name.clone() } else { format!("{name}.{key}") }, fault));
            } else if rule.action == Treatment::Off && rule.input == Watch::Off {
                faults.push((name.clone(), "the rule does nothing; set `action`, `input` or both".to_owned()));
            }
        }
        faults
    }

    /// Finds what the rules for this way look for. `folded` is the text's main view, made when it is needed.
    pub(super) fn findings(&self, text: &str, folded: &mut Option<View>, way: Way, out: &mut Vec<Finding>) {
        if self.written.is_empty() {
            return;
        }
        let built = self.built.get_or_init(|| self.written.values().map(|rule| build(rule).unwrap_or(Built::Nothing)).collect());
        for (place, (rule, built)) in self.written.values().zip(built).enumerate() {
            let looks = match way {
                Way::Out => rule.action != Treatment::Off,
                Way::In => rule.input != Watch::Off,
            };
            let Ok(place) = u8::try_from(place) else { return };
            let mut push = |start: usize, end: usize| {
                if start < end {
                    out.push(Finding { kind: Kind::Rule(place), type_: "RULE", sub: "", start, end, score: 1.0 });
                }
            };
            match built {
                Built::Regex(regex) if looks => regex.find_iter(text).take(MAX_FOUND).for_each(|found| push(found.start(), found.end())),
                Built::Words(words) if looks => {
                    let view = folded.get_or_insert_with(|| view::fold(text));
                    let whole = |found: &aho_corasick::Match| stands_alone(&view.text, found.start(), found.end());
                    for found in words.find_overlapping_iter(&view.text).filter(whole).take(MAX_FOUND) {
                        let (start, end) = view.source(text, found.start(), found.end());
                        push(start, end);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Builds a rule, or says which key is at fault and why.
fn build(rule: &ContentRule) -> Result<Built, (&'static str, String)> {
    match (&rule.regex, &rule.words) {
        (Some(regex), None) => {
            if regex.len() > MAX_REGEX {
                return Err(("regex", format!("the expression has {} bytes; {MAX_REGEX} are the most", regex.len())));
            }
            let built = RegexBuilder::new(regex)
                .size_limit(MAX_BUILT)
                .dfa_size_limit(2 * MAX_BUILT)
                .nest_limit(50)
                .build()
                .map_err(|fault| ("regex", sentence(&fault)))?;
            if built.is_match("") {
                return Err(("regex", "the expression fits the empty text, so it would be found everywhere".to_owned()));
            }
            Ok(Built::Regex(built))
        }
        (None, Some(words)) => {
            if words.is_empty() || words.len() > MAX_WORDS {
                return Err(("words", format!("{} words; 1 to {MAX_WORDS} may be listed", words.len())));
            }
            let folded: Vec<String> = words.iter().map(|word| view::fold(word).text.trim().to_owned()).collect();
            if let Some(bad) = words.iter().zip(&folded).position(|(word, folded)| folded.is_empty() || word.len() > MAX_WORD) {
                return Err(("words", format!("word {} is empty or longer than {MAX_WORD} bytes", bad + 1)));
            }
            AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .build(&folded)
                .map(Built::Words)
                .map_err(|fault| ("words", format!("the list cannot be built: {fault}")))
        }
        (None, None) => Err(("", "the rule looks for nothing; give `regex` or `words`".to_owned())),
        (Some(_), Some(_)) => Err(("", "give `regex` or `words`, not both; two rules may do the same".to_owned())),
    }
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

    fn rules(json: &str) -> ContentRules {
        serde_json::from_str(json).unwrap()
    }

    fn found<'t>(rules: &ContentRules, text: &'t str) -> Vec<&'t str> {
        let mut out = Vec::new();
        rules.findings(text, &mut None, Way::Out, &mut out);
        out.iter().filter_map(|finding| text.get(finding.start..finding.end)).collect()
    }

    #[test]
    fn words_are_found_whole_and_through_disguise() {
        let rules = rules(r#"{"names":{"words":["Project Aurora","señal","北斗"],"action":"mark"}}"#);
        assert_eq!(rules.faults(), []);
        let text = "PROJECT  aurora, pro\u{200b}ject Aurora, Projects Aurora, project auroras, SENAL; 用北斗导航";
        assert_eq!(found(&rules, text), ["PROJECT  aurora", "pro\u{200b}ject Aurora", "SENAL", "北斗"]);
    }

    #[test]
    fn an_expression_is_found_as_it_is_written() {
        let rules = rules(r#"{"tickets":{"regex":"\\bTCK-[0-9]{4,}\\b","action":"mask"},"off":{"regex":"x","input":"deny"}}"#);
        assert_eq!(rules.faults(), []);
        assert_eq!(found(&rules, "TCK-12345 tck-12345 TCK-12 x"), ["TCK-12345"]);
    }

    #[test]
    fn what_could_cost_without_end_or_says_nothing_is_a_fault() {
        let long = format!(r#"{{"a":{{"regex":"{}","action":"mark"}}}}"#, "x".repeat(2001));
        for (json, at, says) in [
            (r#"{"a":{"regex":"((a{1,100}){1,100}){1,100}","action":"mark"}}"#, "a.regex", "repeat less"),
            (r#"{"a":{"regex":"(a)\\1","action":"mark"}}"#, "a.regex", "backreferences"),
            (r#"{"a":{"regex":"(?=x)y","action":"mark"}}"#, "a.regex", "look-around"),
            (r#"{"a":{"regex":"x*","action":"mark"}}"#, "a.regex", "empty text"),
            (long.as_str(), "a.regex", "2000"),
            (r#"{"a":{"words":["x",""],"action":"mark"}}"#, "a.words", "word 2"),
            (r#"{"a":{"words":[],"action":"mark"}}"#, "a.words", "0 words"),
            (r#"{"a":{"action":"mark"}}"#, "a", "nothing"),
            (r#"{"a":{"words":["x"],"regex":"x","action":"mark"}}"#, "a", "not both"),
            (r#"{"a":{"words":["x"]}}"#, "a", "does nothing"),
            (r#"{"A b":{"words":["x"],"action":"mark"}}"#, "A b", "name"),
        ] {
            let faults = rules(json).faults();
            assert!(faults.len() == 1 && faults[0].0 == at && faults[0].1.contains(says), "{json}: {faults:?}");
        }
    }

    #[test]
    fn a_rule_that_fits_everywhere_finds_so_much_and_no_more() {
        let rules = rules(r#"{"a":{"regex":".","action":"mark"},"b":{"words":["a"],"action":"mark"}}"#);
        assert_eq!(found(&rules, &"a ".repeat(100_000)).len(), 2 * MAX_FOUND);
    }
}
