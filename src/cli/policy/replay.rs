//! Recorded calls judged again: by two manifests, in the world as it is now.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::super::decide::{Call, Decided, decide, modules};
use super::super::judging::{Names, look};
use super::super::run::Fault;
use super::super::setup::Found;
use crate::audit::{Follower, Stored, is_partly_hidden};
use crate::filter::escape_line;
use crate::manifest::{Check, Manifest};
use crate::model::{Caller, Channel, ClientLabel, Facts, PathFact};
use crate::policy::{Channels, Decision, State};
use crate::sandbox::root::Roots;
use crate::tools;

/// A call as the log has it.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) tool: String,
    pub(super) profile: String,
    pub(super) arguments: Map<String, Value>,
    /// Why it was refused; none: it was made.
    pub(super) refused: Option<String>,
    /// The arguments that the log has as a digest alone and on which the verdict may depend. Where there are some, the call is not judged
    /// again.
    pub(super) lost: Vec<String>,
    /// The modules that a refused program imported and the manifest of then did not list.
    pub(super) imports: Vec<String>,
    principal: String,
}

/// The last calls of the log, oldest first; each once.
pub(super) fn recorded(state: &Path, most: usize) -> Result<Vec<Recorded>, Fault> {
    if !state.join("audit").is_dir() {
        return Ok(Vec::new());
    }
    let is_call = |record: &Stored| matches!(record.text("ev"), "call.started" | "tool.denied");
    let (_, last) = Follower::open(state, most, is_call).map_err(super::super::audit::Failed::from)?;
    let read = |record: Stored| {
        let imports = imports(&record);
        let (arguments, missing) =
            record.fields.get("args").and_then(Value::as_object).map(|args| restored(args, &imports)).unwrap_or_default();
        Recorded {
            tool: record.text("tool").to_owned(),
            profile: record.text("profile").to_owned(),
            arguments,
            lost: missing,
            refused: (record.text("ev") == "tool.denied").then(|| record.text("reason").to_owned()),
            imports,
            principal: record.text("principal").to_owned(),
        }
    };
    Ok(last.into_iter().map(read).collect())
}

/// The modules that a record says a refused program lacked. Only what is the name of a module is taken for one.
fn imports(record: &Stored) -> Vec<String> {
    let is_module = |name: &&str| {
        let is_part = |part: &str| {
            let mut letters = part.chars();
            letters.next().is_some_and(|first| first == '_' || first.is_alphabetic()) && letters.all(|c| c == '_' || c.is_alphanumeric())
        };
        name.split('.').all(is_part)
    };
    let listed = record.fields.get("imports").and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(Value::as_str).filter(is_module).map(str::to_owned).collect()
}

/// Arguments as a call has them, and the names of those that are lost. What stands in the log by length and digest becomes a text of that length where
/// the length alone is judged: of what is written or sent. A program becomes
/// one that imports what it lacked, and does nothing else; an empty text stands for every other.
fn restored(arguments: &Map<String, Value>, imports: &[String]) -> (Map<String, Value>, Vec<String>) {
    const LONGEST: u64 = 64 << 20;
    const BY_LENGTH: [&str; 5] = ["content", "body", "stdin", "old_text", "new_text"];
    const NAMES_NO_FILE: [&str; 5] = ["url", "urls", "headers", "query", "method"];
    let long = |length: u64| "x".repeat(usize::try_from(length.min(LONGEST)).unwrap_or(0));
    let mut lost = Vec::new();
    if length_of(arguments).is_some() {
        // All of them together were too long for a record.
        return (Map::new(), vec!["all arguments".to_owned()]);
    }
    let mut all = Map::new();
    for (name, value) in arguments {
        let digest = value.as_object().filter(|map| length_of(map).is_some() || is_keyed(map));
        let value = match digest.map(length_of) {
            // A secret in an address or a text that is searched for decides nothing; in a name of a file it may.
            None if !NAMES_NO_FILE.contains(&name.as_str()) && is_any_hidden(value) => {
                lost.push(name.clone());
                value.clone()
            }
            None => within(value, "", &|name, map| {
                let of = |length: u64| if name == "new_text" { long(length).replace('x', "y") } else { long(length) };
                length_of(map).map(of).or_else(|| is_keyed(map).then(|| long(1)))
            }),
            Some(Some(length)) if BY_LENGTH.contains(&name.as_str()) => Value::String(long(length)),
            Some(_) if name == "code" && !imports.is_empty() => {
                Value::String(imports.iter().flat_map(|module| ["import ", module, "\n"]).collect())
            }
            Some(_) => {
                lost.push(name.clone());
                Value::String(String::new())
            }
        };
        all.insert(name.clone(), value);
    }
    (all, lost)
}

/// Whether a text in a value has a secret of it left out.
fn is_any_hidden(value: &Value) -> bool {
    match value {
        Value::String(text) => is_partly_hidden(text),
        Value::Array(items) => items.iter().any(is_any_hidden),
        Value::Object(map) => map.iter().any(|(name, item)| is_partly_hidden(name) || is_any_hidden(item)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The length of a text that is kept as `{"len","sha256"}`.
fn length_of(map: &Map<String, Value>) -> Option<u64> {
    (map.len() == 2 && map.get("sha256")?.is_string()).then(|| map.get("len")?.as_u64()).flatten()
}

/// Whether it stands for a secret: `{"hmac"}`.
fn is_keyed(map: &Map<String, Value>) -> bool {
    map.len() == 1 && map.get("hmac").is_some_and(Value::is_string)
}

/// The text for a digest, and the name before it.
type ToText<'a> = dyn Fn(&str, &Map<String, Value>) -> Option<String> + 'a;

/// A value with every digest inside it replaced by the text for it and the name before it.
fn within(value: &Value, name: &str, text: &ToText<'_>) -> Value {
    match value {
        Value::Object(map) => match text(name, map) {
            Some(text) => Value::String(text),
            None => Value::Object(map.iter().map(|(name, value)| (name.clone(), within(value, name, text))).collect()),
        },
        Value::Array(items) => Value::Array(items.iter().map(|item| within(item, name, text)).collect()),
        other => other.clone(),
    }
}

/// Judges a recorded call as if it came now, without its counts.
pub(super) fn judged(manifest: &std::sync::Arc<Manifest>, roots: Option<&Roots>, call: &Recorded) -> Decided {
    let caller = Caller {
        principal: call.principal.clone(),
        session: "replay".to_owned(),
        profile: Some(call.profile.clone()).filter(|name| !name.is_empty()),
        client: ClientLabel::default(),
        channel: Channel::During,
    };
    let call = Call { caller, tool: &call.tool, arguments: call.arguments.clone(), malformed: None };
    let modules =
        modules(&call, manifest, |profile, names| roots.map(|roots| roots.modules("replay", manifest, profile, names)).unwrap_or_default());
    let state = State { channels: Channels { client: true, operator: true }, modules, ..State::default() };
    decide(tools::all(), manifest, &call, &state, &|action, screened| match roots {
        Some(roots) => look(roots, manifest, action, screened, Names::ByText),
        // Where the roots cannot be opened any more, their files are not there.
        None => Ok(Facts { paths: vec![PathFact::ABSENT; screened.targets.len()], addresses: Vec::new(), redirects: Vec::new() }),
    })
}

/// What would come out otherwise.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// How many calls were judged.
    pub(super) judged: usize,
    /// Calls that cannot be judged again, by tool and the arguments that the log keeps as a digest.
    lost: BTreeMap<String, usize>,
    by: BTreeMap<String, usize>,
}

impl Changed {
    pub(super) fn count(&self) -> usize {
        self.by.values().sum()
    }

    /// How many calls cannot be judged again.
    pub(super) fn lost(&self) -> usize {
        self.lost.values().sum()
    }

    /// What cannot be told, a line each.
    pub(super) fn not_judged(&self) -> impl Iterator<Item = String> {
        self.lost.iter().map(|(what, count)| format!("{count:>4} × {what} in the log is a digest: what would become of it is not known"))
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let mut lines: Vec<(&String, &usize)> = self.by.iter().collect();
        lines.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        lines.into_iter().map(|(line, count)| format!("{count:>4} × {line}"))
    }
}

/// Judges the last calls by both manifests.
pub(super) fn changed(old: &mut Found, new: &mut Found, state: &Path, most: usize) -> Result<Changed, Fault> {
    let calls = recorded(state, most)?;
    let mut changed = Changed::default();
    if calls.is_empty() {
        return Ok(changed);
    }
    let ((old, old_roots), (new, new_roots)) = (super::opened(old), super::opened(new));
    for call in &calls {
        if !call.lost.is_empty() {
            *changed.lost.entry(format!("{}: {}", escape_line(&call.tool), call.lost.join(", "))).or_default() += 1;
            continue;
        }
        let (before, after) = (judged(&old, old_roots.as_ref(), call).verdict, judged(&new, new_roots.as_ref(), call).verdict);
        // Of a refused program the log has the imports alone, and `strict` judges the rest of it as well.
        if !call.imports.is_empty() && new.python.check == Check::Strict && after.decision != Decision::Deny {
            *changed.lost.entry(format!("{}: code", escape_line(&call.tool))).or_default() += 1;
            continue;
        }
        changed.judged += 1;
        if (before.decision, before.code) != (after.decision, after.code) {
            let told = |verdict: &crate::policy::Verdict| format!("{} {}", verdict.decision.as_str(), verdict.code.as_str());
            let line = format!("{} {}: {} → {}", call.tool, target(call), told(&before), told(&after));
            *changed.by.entry(line).or_default() += 1;
        }
    }
    Ok(changed)
}

/// What a call was about, in a word.
pub(super) fn target(call: &Recorded) -> String {
    let known = ["path", "from", "url"].iter().find_map(|name| call.arguments.get(*name)?.as_str());
    if known.is_none() && !call.imports.is_empty() {
        return escape_line(&format!("import {}", call.imports.join(", "))).into_owned();
    }
    let text: String = known.unwrap_or_default().chars().take(80).collect();
    escape_line(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_judged_by_its_length_is_restored_and_what_is_judged_by_its_text_is_lost() {
        let digest = |length: u64| json!({"len": length, "sha256": "ab"});
        let read = |arguments: Value| restored(arguments.as_object().unwrap(), &[]);
        for (recorded, arguments, lost) in [
            (json!({"path": "a/b", "content": digest(3)}), json!({"path": "a/b", "content": "xxx"}), &[][..]),
            (json!({"code": digest(9)}), json!({"code": ""}), &["code"]),
            (json!({"path": digest(9)}), json!({"path": ""}), &["path"]),
            (json!({"edits": [{"old_text": digest(2), "new_text": "b"}]}), json!({"edits": [{"old_text": "xx", "new_text": "b"}]}), &[]),
            // What is put in place of a passage differs from it, however long both are.
            (
                json!({"edits": [{"old_text": digest(2), "new_text": digest(2)}]}),
                json!({"edits": [{"old_text": "xx", "new_text": "yy"}]}),
                &[],
            ),
            (json!({"path": "a/[secret:x 9 bytes hmac:ab]"}), json!({"path": "a/[secret:x 9 bytes hmac:ab]"}), &["path"]),
            (json!({"url": "https://a/?x=[secret:x 9 bytes hmac:ab]"}), json!({"url": "https://a/?x=[secret:x 9 bytes hmac:ab]"}), &[]),
            (json!({"headers": {"authorization": {"hmac": "ab"}}}), json!({"headers": {"authorization": "x"}}), &[]),
            (json!({"api_token": {"hmac": "ab"}}), json!({"api_token": ""}), &["api_token"]),
            (digest(9), json!({}), &["all arguments"]),
        ] {
            let (found, missing) = read(recorded.clone());
            assert_eq!((Value::Object(found), missing), (arguments, lost.iter().map(|name| (*name).to_owned()).collect()), "{recorded}");
        }
    }
}
