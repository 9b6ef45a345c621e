//! Runs the English rules: one keyword pass, then each rule's form only where one of its words stands.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::Hit;
use crate::finding::{ceil, floor};
use crate::rule::{Form, Keywords};
use crate::view::View;

/// The rules, as `data/injection/english.toml` has them.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
struct English {
    /// Lists of keywords by name.
    words: BTreeMap<String, Vec<String>>,
    /// Verbs of setting aside as a story has them: they say half as much.
    narrated: Vec<String>,
    /// What denies or reports a demand.
    denying: Vec<String>,
    /// Parts of forms by name.
    forms: BTreeMap<String, String>,
    rules: Vec<Rule>,
    /// Texts in which something must be found.
    #[cfg(test)]
    r#match: Vec<String>,
    /// Texts in which nothing may be found.
    #[cfg(test)]
    not: Vec<String>,
}

/// One form that instructs a reader.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
struct Rule {
    /// What a match of it is called.
    r#type: String,
    /// How much it says, 0 to 1.
    weight: f32,
    /// Literals, one of which every match holds; `{name}` stands for a list.
    words: Vec<String>,
    /// A regular expression with the names of parts in braces.
    form: String,
    /// Whether it says nothing where the words before it deny it ("never share your password").
    #[serde(default)]
    deniable: bool,
}

impl English {
    fn keywords<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = &'a str> {
        rule.words.iter().flat_map(|word| {
            let list = word.strip_prefix('{').and_then(|name| self.words.get(name.strip_suffix('}')?));
            list.map_or(std::slice::from_ref(word), Vec::as_slice).iter().map(String::as_str)
        })
    }

    /// The regular expression of a rule.
    fn form(&self, rule: &Rule) -> Form {
        // The folded view holds two kinds of blank and lower-case ASCII words; saying so keeps the automata small, and the
        // Unicode word boundary would throw them back to a slower engine at the first letter beyond ASCII.
        let plain =
            |form: &str| form.replace(r"\b", r"(?-u:\b)").replace(r"\s", r"[ \n]").replace(r"\w", "[a-z0-9_]").replace(r"\S", r"[^ \n]");
        let parts = self.forms.iter().map(|(name, part)| (name.clone(), plain(part))).collect();
        Form::new(&plain(&rule.form), &parts)
    }
}

/// Every rule; a test reads the file.
static ENGLISH: LazyLock<English> = LazyLock::new(|| toml::from_str(include_str!("../../data/injection/english.toml")).unwrap_or_default());

/// Bytes before and after a keyword within which a form must match.
const BEFORE: usize = 220;
const AFTER: usize = 320;

static KEYWORDS: LazyLock<Keywords> = LazyLock::new(|| Keywords::new(ENGLISH.rules.iter().map(|rule| ENGLISH.keywords(rule)), false));

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| ENGLISH.rules.iter().map(|rule| ENGLISH.form(rule)).collect());

/// Finds the forms. Linear: per rule, windows are merged, so that a form sees each byte at most once.
pub(super) fn hits(view: &View, out: &mut Vec<Hit>) {
    let text = view.text.as_str();
    let mut windows: Vec<Option<(usize, usize)>> = vec![None; ENGLISH.rules.len()];
    KEYWORDS.each_hit(text, |rule, hit, _| {
        let (from, to) = (hit.start.saturating_sub(BEFORE), hit.end + AFTER);
        let Some(window) = windows.get_mut(rule) else { return };
        *window = match *window {
            Some((start, end)) if from <= end => Some((start, end.max(to))),
            Some((start, end)) => {
                try_form(text, rule, start, end, out);
                Some((from.max(end), to))
            }
            None => Some((from, to)),
        };
    });
    for (rule, window) in windows.into_iter().enumerate() {
        if let Some((start, end)) = window {
            try_form(text, rule, start, end, out);
        }
    }
}

fn try_form(text: &str, number: usize, start: usize, end: usize, out: &mut Vec<Hit>) {
    let (Some(rule), Some(form)) = (ENGLISH.rules.get(number), FORMS.get(number).and_then(Form::regex)) else { return };
    let start = floor(text, start);
    let window = text.get(start..ceil(text, end)).unwrap_or_default();
    for found in form.find_iter(window) {
        if rule.deniable && is_denied(window, found.start()) {
            continue;
        }
        // What somebody does or did is narrated, not ordered.
        let narrated = rule.r#type == "override" && ENGLISH.narrated.iter().any(|word| found.as_str().starts_with(word.as_str()));
        let weight = if narrated { rule.weight * 0.5 } else { rule.weight };
        let (start, end) = (start + found.start(), start + found.end());
        out.push(Hit { rule: number, type_: &rule.r#type, weight, start, end, example: false });
    }
}

/// Whether the words before a place deny or report what follows: "never share", "asked how to reveal".
fn is_denied(window: &str, at: usize) -> bool {
    let from = floor(window, at.saturating_sub(28));
    let before = window.get(from..at).unwrap_or_default();
    let before = before.rsplit(['.', '!', '?', ':', ';', '\n']).next().unwrap_or_default();
    ENGLISH.denying.iter().any(|word| before.contains(word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::injection::tests::types;

    #[test]
    fn every_form_compiles_and_has_a_keyword() {
        let read = toml::from_str::<English>(include_str!("../../data/injection/english.toml"));
        assert!(read.is_ok(), "{:?}", read.err());
        for rule in &ENGLISH.rules {
            assert!(ENGLISH.form(rule).regex().is_some(), "{}", rule.form);
            assert!(rule.weight > 0.0 && rule.weight < 1.0 && ENGLISH.keywords(rule).next().is_some());
            assert!(ENGLISH.keywords(rule).all(|word| !word.starts_with('{')), "{:?} names no list", rule.words);
        }
    }

    #[test]
    fn something_is_found_in_each_example_and_nothing_in_its_neighbours() {
        for text in &ENGLISH.r#match {
            assert!(!types(text).is_empty(), "{text}");
        }
        for text in &ENGLISH.not {
            assert_eq!(types(text), Vec::<&str>::new(), "{text}");
        }
    }
}
