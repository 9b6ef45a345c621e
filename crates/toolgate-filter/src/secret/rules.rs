//! The rules of `data/secrets`: a keyword, what stands before and behind it, and what the value must be like.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use serde::Deserialize;

use super::edge::{Left, begins};
use super::strength::{Check, entropy};
use super::{found, head};
use crate::finding::{Finding, ceil, floor};
use crate::rule::Form;

/// A rule as its file has it; `data/secrets/README.md` says what each field is.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
pub(super) struct Source {
    id: String,
    pub(super) keywords: Vec<String>,
    before: Option<String>,
    form: String,
    near: Option<String>,
    except: Option<String>,
    entropy: Option<f32>,
    #[serde(default)]
    left: Left,
    #[serde(default)]
    check: Check,
    #[serde(default)]
    any_case: bool,
    #[serde(default = "usual_reach")]
    reach: usize,
    #[cfg(test)]
    #[serde(default)]
    r#match: Vec<String>,
    #[cfg(test)]
    #[serde(default)]
    not: Vec<String>,
}

const fn usual_reach() -> usize {
    512
}

#[derive(Debug, Deserialize)]
struct File {
    rules: Vec<Source>,
}

/// One rule with its forms.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) source: Source,
    before: Option<Form>,
    form: Form,
    near: Option<Form>,
    except: Option<Form>,
    pub(super) any_case: bool,
    /// Whether its keys are drawn from letters of both cases.
    mixes_cases: bool,
}

/// Every rule; a test reads the files.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let parts: BTreeMap<String, String> = toml::from_str(include_str!("../../data/secrets/parts.toml")).unwrap_or_default();
    let files = [include_str!("../../data/secrets/keys.toml"), include_str!("../../data/secrets/forms.toml")];
    let sources = files.into_iter().filter_map(|file| toml::from_str::<File>(file).ok()).flat_map(|file| file.rules);
    sources.map(|source| Rule::new(source, &parts)).collect()
});

/// Bytes before a keyword that `before` is matched in.
const BEFORE: usize = 256;

/// Bytes on both sides of a value that `near` is looked for in.
const NEAR: usize = 2048;

impl Rule {
    fn new(source: Source, parts: &BTreeMap<String, String>) -> Self {
        let form = |form: &str| Form::new(form, parts);
        Self {
            before: source.before.as_ref().map(|before| form(&format!("(?:{before})$"))),
            form: form(&format!("^(?:{})", source.form)),
            near: source.near.as_deref().map(form),
            except: source.except.as_deref().map(form),
            any_case: source.any_case,
            mixes_cases: !source.form.starts_with("{hex}") && !source.form.starts_with("{upper}"),
            source,
        }
    }

    /// The secret of this rule whose keyword stands at `hit`. `read_to` is where the last match of the rule ended: no keyword inside it is looked at.
    pub(super) fn finding(&'static self, text: &str, hit: Range<usize>, read_to: &mut usize) -> Option<Finding> {
        let source = &self.source;
        if hit.start < *read_to {
            return None;
        }
        let (mut start, mut marked) = (hit.start, None);
        if let Some(before) = &self.before {
            let from = floor(text, hit.start.saturating_sub(BEFORE));
            crate::work::read(hit.start - from);
            let groups = before.regex()?.captures(text.get(from..hit.start)?)?;
            start = from + groups.get(0)?.start();
            marked = groups.get(1).map(|group| from + group.start()..from + group.end());
        }
        let (end, group) = self.behind(text, hit.end)?;
        *read_to = end;
        let (value, body) = match (marked, group) {
            // An empty group marks where the value begins.
            (Some(mark), _) if mark.is_empty() => (mark.start..end, hit.end..end),
            (Some(value), _) | (None, Some(value)) => (value.clone(), value),
            (None, None) => (start..end, hit.end..end),
        };
        let body = text.get(body)?;
        let first = head(body);
        let is_cut = source.check == Check::Key && text.as_bytes().get(end).is_some_and(u8::is_ascii_alphanumeric);
        let fits = !is_cut
            && begins(text, start, source.left, first, self.mixes_cases)
            && entropy(first) >= source.entropy.unwrap_or_else(|| source.check.least_entropy())
            && source.check.passes(body, first)
            && self.except.as_ref().is_none_or(|except| except.regex().is_some_and(|except| !except.is_match(body)))
            && self.near.as_ref().is_none_or(|near| is_near(text, &value, near));
        fits.then(|| found(&source.id, value.start, value.end, if source.check == Check::Key { 0.97 } else { 0.9 }))
    }

    /// Where the form that begins at `at` ends, and what of it is the value.
    fn behind(&self, text: &str, at: usize) -> Option<(usize, Option<Range<usize>>)> {
        let regex = self.form.regex()?;
        let rest = text.get(at..)?;
        let reach = if self.source.reach == 0 { rest.len() } else { floor(rest, self.source.reach) };
        let find = |rest: &str| {
            if regex.captures_len() == 1 {
                return regex.find(rest).map(|form| (form.end(), None));
            }
            let groups = regex.captures(rest)?;
            Some((groups.get(0)?.end(), groups.iter().skip(1).flatten().next().map(|group| group.range())))
        };
        let mut ends = find(rest.get(..reach)?)?;
        // No secret is too long: where the form goes on to the end of what was looked at, all of the rest is.
        if ends.0 == reach && reach < rest.len() {
            ends = find(rest)?;
        }
        crate::work::read(ends.0.max(reach.min(usual_reach())));
        Some((at + ends.0, ends.1.map(|group| at + group.start..at + group.end)))
    }
}

fn is_near(text: &str, value: &Range<usize>, near: &Form) -> bool {
    let around = text.get(floor(text, value.start.saturating_sub(NEAR))..ceil(text, value.end + NEAR)).unwrap_or_default();
    crate::work::read(around.len());
    near.regex().is_some_and(|near| near.is_match(around))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;

    use super::*;
    use crate::secret::tests::found_in;

    /// The examples of every rule, without the marks of their values.
    pub(crate) fn examples() -> Vec<Vec<String>> {
        let of = |rule: &Rule| rule.source.r#match.iter().map(|example| example.replace(['«', '»'], "")).collect();
        RULES.iter().map(of).filter(|examples: &Vec<_>| !examples.is_empty()).collect()
    }

    #[test]
    fn every_file_is_read_and_every_form_compiles() {
        for file in [include_str!("../../data/secrets/keys.toml"), include_str!("../../data/secrets/forms.toml")] {
            let read = toml::from_str::<File>(file);
            assert!(read.is_ok(), "{:?}", read.err());
        }
        for rule in RULES.iter() {
            let forms = [Some(&rule.form), rule.before.as_ref(), rule.near.as_ref(), rule.except.as_ref()];
            assert!(forms.into_iter().flatten().all(|form| form.regex().is_some()), "{:?}", rule.source);
            assert!(!rule.source.keywords.is_empty());
        }
    }

    #[test]
    fn each_rule_finds_its_examples_and_no_rule_what_only_looks_like_them() {
        let mut wrong = Vec::new();
        for rule in RULES.iter() {
            for example in &rule.source.r#match {
                let (before, rest) = example.split_once('«').unwrap();
                let (value, after) = rest.split_once('»').unwrap();
                let text = format!("{before}{value}{after}");
                let found = found_in(&text);
                if found != [(&*rule.source.id, value)] {
                    wrong.push(format!("{text}: {found:?}"));
                }
            }
            let found = rule.source.not.iter().filter(|text| !found_in(text).is_empty());
            wrong.extend(found.map(|text| format!("{text}: {:?}", found_in(text))));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn keys_of_every_form_are_found_whole() {
        let mut runner = TestRunner::deterministic();
        for rule in RULES.iter().filter(|rule| rule.source.r#match.is_empty()) {
            let form = proptest::string::string_regex(rule.form.source().trim_start_matches('^')).unwrap();
            for keyword in &rule.source.keywords {
                for more in [0, 300, 5_344] {
                    let filling = if rule.mixes_cases { "aZ3kQ7" } else { "2b7d9f" };
                    let upper = rule.source.form.starts_with("{upper}");
                    let filling = if upper { filling.to_uppercase() } else { filling.to_owned() }.repeat(more / 6);
                    let key = format!("{keyword}{}{filling}", form.new_tree(&mut runner).unwrap().current());
                    let text = format!("a line\nkey {key}\nanother");
                    let found = found_in(&text);
                    assert!(found.len() == 1 && found[0].1 == key, "{} {key}: {found:?}", rule.source.id);
                }
            }
        }
    }
}
