//! Which records a reader wants: `tool=write_file status=error since=1h`.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::read::Stored;

/// Conditions that must all hold. The empty filter lets everything pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    path: Vec<String>,
    is: Is,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Equal,
    Different,
    Containing,
    AtLeast,
    AtMost,
    /// Of the whole record; there is no path.
    Denied,
}

impl Filter {
    /// Reads conditions separated by spaces: `field=value`, `field!=value`, `field~part`, `field>=number`, `field<=number`, `since=` and `until=` with a time
    /// or an age before `now` (`90s`, `30m`, `1h`, `7d`), and the word `denied`. A field inside another is written `args.path`.
    /// # Errors
    /// The first word that is no condition.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, FilterFault> {
        let conditions = text.split_whitespace().map(|word| condition(word, now).ok_or_else(|| FilterFault(word.to_owned())));
        Ok(Self { conditions: conditions.collect::<Result<_, _>>()? })
    }

    /// The fields of a record that the conditions name, by their first word: `args` of `args.path`.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().filter_map(|condition| condition.path.first().map(String::as_str))
    }

    /// Whether every condition holds for the record.
    pub fn admits(&self, record: &Stored) -> bool {
        let is_denied = || record.text("ev") == "tool.denied" || record.text("decision") == "deny" || record.text("status") == "denied";
        let holds = |Condition { path, is, value }: &Condition| match is {
            Is::Denied => is_denied(),
            is => compare(field(record, path), *is, value),
        };
        self.conditions.iter().all(holds)
    }
}

/// A word that is no condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterFault(String);

impl std::error::Error for FilterFault {}

impl fmt::Display for FilterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = super::plain(&self.0);
        write!(
            f,
            "`{word}` is no condition; write e.g. `tool=write_file`, `status!=success`, `args.path~notes`, `level>=2`, `since=1h`, `denied`"
        )
    }
}

fn condition(word: &str, now: Timestamp) -> Option<Condition> {
    if word == "denied" {
        return Some(Condition { path: Vec::new(), is: Is::Denied, value: String::new() });
    }
    let operators = [("!=", Is::Different), (">=", Is::AtLeast), ("<=", Is::AtMost), ("=", Is::Equal), ("~", Is::Containing)];
    // The operator that comes first in the word, and the longest of those, is meant: a value may hold any of them.
    let (name, is, value) = operators
        .into_iter()
        .filter_map(|(operator, is)| word.split_once(operator).map(|(name, value)| (name, is, value)))
        .min_by_key(|(name, _, _)| name.len())?;
    if name.is_empty() {
        return None;
    }
    let (name, is, value) = match (name, is) {
        // Times are written alike, so that their texts compare as they do.
        ("since", Is::Equal) => ("ts", Is::AtLeast, format!("{:.6}", moment(value, now)?)),
        ("until", Is::Equal) => ("ts", Is::AtMost, format!("{:.6}", moment(value, now)?)),
        ("since" | "until", _) => return None,
        (_, Is::AtLeast | Is::AtMost) if value.parse::<f64>().is_err() => return None,
        _ => (name, is, value.to_owned()),
    };
    Some(Condition { path: name.split('.').map(str::to_owned).collect(), is, value })
}

/// A time, or an age before `now`.
fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return None,
    };
    now.checked_sub(SignedDuration::from_secs(number.parse::<i64>().ok()?.checked_mul(seconds)?)).ok()
}

fn field<'r>(record: &'r Stored, path: &[String]) -> Option<&'r Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(record.fields.get(first)?, |value, name| value.get(name))
}

fn compare(found: Option<&Value>, is: Is, wanted: &str) -> bool {
    let text = match found {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => return is == Is::Different,
    };
    // What is wanted is a number, or a time as it stands in a record.
    let order = if wanted.ends_with('Z') {
        Some(text.as_str().cmp(wanted))
    } else {
        text.parse::<f64>().ok().zip(wanted.parse().ok()).and_then(|(found, wanted)| found.partial_cmp(&wanted))
    };
    match is {
        Is::Different => text != wanted,
        Is::Containing => text.contains(wanted),
        Is::AtLeast => order.is_some_and(std::cmp::Ordering::is_ge),
        Is::AtMost => order.is_some_and(std::cmp::Ordering::is_le),
        Is::Equal | Is::Denied => text == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(filter: &str) -> bool {
        let line = br#"{"ts":"2026-11-21T12:00:00.000000Z","ev":"call.finished","tool":"fetch","level":3,"status":"denied","args":{"url":"https://a/?x=1"}}"#;
        let now = "2026-11-21T12:30:00Z".parse().unwrap();
        Filter::parse(filter, now).unwrap().admits(&Stored::read("f", line).unwrap())
    }

    #[test]
    fn all_conditions_must_hold() {
        for yes in [
            "",
            "tool=fetch",
            "tool=fetch status!=success level>=3 since=1h denied",
            "args.url~x=1",
            "args.url=https://a/?x=1",
            "until=2026-11-21T12:00:00Z",
            "missing!=x",
        ] {
            assert!(admits(yes), "{yes}");
        }
        for no in ["tool=read_file", "tool=fetch level>=4", "since=29m", "missing=x", "until=1h", "level<=2"] {
            assert!(!admits(no), "{no}");
        }
    }

    #[test]
    fn a_word_that_is_no_condition_is_named() {
        for word in ["tool", "=x", "since=soon", "since>=1h", "level>=high", "since=99999999999999d"] {
            assert_eq!(Filter::parse(word, Timestamp::UNIX_EPOCH), Err(FilterFault(word.to_owned())));
        }
    }
}
