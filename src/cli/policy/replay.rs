//! Recorded calls judged again: by two manifests, in the world as it is now.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::super::decide::{Call, Decided, decide};
use super::super::judging::{Names, look};
use super::super::run::Fault;
use super::super::setup::Found;
use crate::audit::{Follower, Stored};
use crate::filter::escape_line;
use crate::manifest::Manifest;
use crate::model::{Caller, Channel, ClientLabel, Facts, PathFact};
use crate::policy::{Channels, State};
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
    principal: String,
}

/// The last calls of the log, oldest first; each once.
pub(super) fn recorded(state: &Path, most: usize) -> Result<Vec<Recorded>, Fault> {
    if !state.join("audit").is_dir() {
        return Ok(Vec::new());
    }
    let is_call = |record: &Stored| matches!(record.text("ev"), "call.started" | "tool.denied");
    let (_, last) = Follower::open(state, most, is_call).map_err(super::super::audit::Failed::from)?;
    let read = |record: Stored| Recorded {
        tool: record.text("tool").to_owned(),
        profile: record.text("profile").to_owned(),
        arguments: record.fields.get("args").and_then(Value::as_object).map(restored).unwrap_or_default(),
        refused: (record.text("ev") == "tool.denied").then(|| record.text("reason").to_owned()),
        principal: record.text("principal").to_owned(),
    };
    Ok(last.into_iter().map(read).collect())
}

/// Arguments that stand in the log by length and digest become a text of that length; a program becomes an empty one.
fn restored(arguments: &Map<String, Value>) -> Map<String, Value> {
    const LONGEST: u64 = 64 << 20;
    let one = |name: &String, value: &Value| {
        let length = value.get("sha256").and_then(|_| value.get("len")?.as_u64());
        match length {
            Some(_) if name == "code" => Value::String(String::new()),
            Some(length) => Value::String("x".repeat(usize::try_from(length.min(LONGEST)).unwrap_or(0))),
            None => value.clone(),
        }
    };
    arguments.iter().map(|(name, value)| (name.clone(), one(name, value))).collect()
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
    let state = State { channels: Channels { client: true, operator: true }, ..State::default() };
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
    by: BTreeMap<String, usize>,
}

impl Changed {
    pub(super) fn count(&self) -> usize {
        self.by.values().sum()
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
    let mut changed = Changed { judged: calls.len(), ..Changed::default() };
    if calls.is_empty() {
        return Ok(changed);
    }
    let ((old, old_roots), (new, new_roots)) = (super::opened(old), super::opened(new));
    for call in &calls {
        let (before, after) = (judged(&old, old_roots.as_ref(), call).verdict, judged(&new, new_roots.as_ref(), call).verdict);
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
    let text: String = known.unwrap_or_default().chars().take(80).collect();
    escape_line(&text).into_owned()
}
