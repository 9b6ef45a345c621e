//! Content rules: what the operator alone knows to look for, as `[filters.rules]` of the manifest has them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_filter::{Detectors, Pattern, WordRules, escape_line};

use super::filters::{Treatment, Watch};

/// Rules of one manifest.
const MAX_RULES: usize = 64;

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
    /// What happens when it is found in a text that goes to the model. `mark` reports it. `mask` replaces it in web pages and other
    /// untrusted texts, and only reports it in files and program output. `deny` refuses the text.
    pub action: Treatment,
    /// What happens when it is found in the arguments of a call. `mark` reports it, `deny` refuses the call.
    pub input: Watch,
    /// Texts in which the rule must find something. They are checked when the manifest is loaded.
    #[serde(rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Texts in which the rule must find nothing. They are checked when the manifest is loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not: Vec<String>,
}

/// The rules by name, built when they are first used.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct ContentRules {
    written: BTreeMap<String, ContentRule>,
    #[serde(skip)]
    built: OnceLock<WordRules>,
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

    /// Adds rules; one replaces a rule of the same name.
    pub fn extend(&mut self, more: Self) {
        self.written.extend(more.written);
        self.built = OnceLock::new();
    }

    /// The name and the rule at a place.
    pub fn at(&self, place: u8) -> Option<(&str, &ContentRule)> {
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
            match rule.pattern() {
                Err(fault) if fault.key.is_empty() => faults.push((name.clone(), fault.message)),
                Err(fault) => faults.push((format!("{name}.{}", fault.key), fault.message)),
                Ok(_) if rule.action == Treatment::Off && rule.input == Watch::Off => {
                    faults.push((name.clone(), "the rule does nothing; set `action`, `input` or both".to_owned()));
                }
                Ok(pattern) => faults.extend(rule.failed_examples(pattern).map(|(key, what)| (format!("{name}.{key}"), what))),
            }
        }
        faults
    }

    /// The rules as the detectors take them. A manifest with a rule that cannot be built is refused before.
    pub fn built(&self) -> &WordRules {
        let built = || self.written.iter().filter_map(|(name, rule)| Some((name.clone(), rule.pattern().ok()?)));
        self.built.get_or_init(|| WordRules::new(built()))
    }
}

impl ContentRule {
    fn pattern(&self) -> Result<Pattern, toolgate_filter::PatternFault> {
        Pattern::new(self.regex.as_deref(), self.words.as_deref())
    }

    /// The examples that the rule does not hold to: the key of each, and a sentence.
    fn failed_examples(&self, pattern: Pattern) -> impl Iterator<Item = (String, String)> {
        let rule = WordRules::new([(String::new(), pattern)]);
        let finds = move |text: &str| !toolgate_filter::scan(text, Detectors::NONE, &rule).is_empty();
        let wanted = self.matches.iter().enumerate().map(|example| ("match", true, "the rule does not find its example", example));
        let unwanted = self.not.iter().enumerate().map(|example| ("not", false, "the rule finds something in its counterexample", example));
        let failed = wanted.chain(unwanted).filter(move |(_, must_find, _, (_, text))| finds(text) != *must_find);
        failed.map(|(key, _, what, (at, text))| (format!("{key}[{at}]"), format!("{what} `{}`", escape_line(text))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(json: &str) -> ContentRules {
        serde_json::from_str(json).unwrap()
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
            (r#"{"a":{"words":["x"],"action":"mark","match":["an x","a y"],"not":["a z"]}}"#, "a.match[1]", "`a y`"),
            (r#"{"a":{"words":["x"],"action":"mark","match":["an x"],"not":["an X!"]}}"#, "a.not[0]", "`an X!`"),
        ] {
            let faults = rules(json).faults();
            assert!(faults.len() == 1 && faults[0].0 == at && faults[0].1.contains(says), "{json}: {faults:?}");
        }
    }
}
