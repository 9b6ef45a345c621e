//! What happened, in numbers: the counts behind `audit report`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::read::Stored;

/// Counts over records.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tally {
    /// The first and the last record's time.
    pub from: Option<String>,
    /// See `from`.
    pub to: Option<String>,
    /// All records.
    pub records: u64,
    /// Calls that started.
    pub calls: u64,
    /// Finished calls by their status.
    pub statuses: BTreeMap<String, u64>,
    /// Started calls by tool.
    pub tools: BTreeMap<String, u64>,
    /// Denials by their reason.
    pub denials: BTreeMap<String, u64>,
    /// Started calls by principal.
    pub principals: BTreeMap<String, u64>,
    /// Started calls by level.
    pub levels: BTreeMap<String, u64>,
    /// The paths and addresses that were named most often.
    pub targets: Vec<(String, u64)>,
    /// Questions to a person.
    pub approvals: Approvals,
    /// Calls whose outcome is unknown.
    pub unknown: Vec<String>,
    /// Pulls of the emergency stop.
    pub kills: u64,
}

/// Questions to a person and how they ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Approvals {
    /// Questions asked.
    pub requested: u64,
    /// Answers by decision.
    pub answers: BTreeMap<String, u64>,
    /// Questions that expired without an answer.
    pub expired: u64,
    /// Milliseconds from question to answer: the median and the longest.
    pub median_ms: Option<i64>,
    /// See `median_ms`.
    pub longest_ms: Option<i64>,
}

impl Tally {
    /// Counts the records.
    pub fn of(records: impl Iterator<Item = Stored>) -> Self {
        let mut tally = Self::default();
        let (mut seen, mut asked, mut waits) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for record in records {
            tally.records = tally.records.saturating_add(1);
            let ts = record.text("ts");
            if !ts.is_empty() {
                tally.from.get_or_insert_with(|| ts.to_owned());
                tally.to = Some(ts.to_owned());
            }
            match record.text("ev") {
                "call.started" => tally.started(&record, &mut seen),
                "call.finished" => {
                    bump(&mut tally.statuses, record.text("status"));
                    match record.text("status") {
                        "denied" => bump(&mut tally.denials, record.text("reason")),
                        "unknown" => tally.unknown.push(record.text("call").to_owned()),
                        _ => {}
                    }
                }
                "tool.denied" => bump(&mut tally.denials, record.text("reason")),
                "approval.requested" => {
                    tally.approvals.requested = tally.approvals.requested.saturating_add(1);
                    asked.extend(record.time().map(|time| (record.text("approval").to_owned(), time)));
                }
                "approval.answered" => {
                    bump(&mut tally.approvals.answers, record.text("decision"));
                    let asked = asked.remove(record.text("approval")).zip(record.time());
                    waits.extend(asked.map(|(asked, time)| time.as_millisecond().saturating_sub(asked.as_millisecond())));
                }
                "approval.expired" => tally.approvals.expired = tally.approvals.expired.saturating_add(1),
                "kill.on" => tally.kills = tally.kills.saturating_add(1),
                _ => {}
            }
        }
        tally.targets = seen.into_iter().collect();
        tally.targets.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        tally.targets.truncate(TARGETS);
        waits.sort_unstable();
        tally.approvals.median_ms = waits.get(waits.len() / 2).copied();
        tally.approvals.longest_ms = waits.last().copied();
        tally
    }

    fn started(&mut self, record: &Stored, seen: &mut BTreeMap<String, u64>) {
        self.calls = self.calls.saturating_add(1);
        bump(&mut self.tools, record.text("tool"));
        bump(&mut self.principals, record.text("principal"));
        if let Some(level) = record.fields.get("level") {
            bump(&mut self.levels, &level.to_string());
        }
        let Some(args) = record.fields.get("args") else { return };
        let named = ["path", "from", "to", "url"].into_iter().filter_map(|name| args.get(name)?.as_str());
        // Each file of a call that changes several, once.
        let edits = args.get("edits").and_then(Value::as_array).into_iter().flatten();
        let files: BTreeSet<&str> = edits.filter_map(|edit| edit.get("path")?.as_str()).collect();
        named.chain(files).for_each(|target| bump(seen, target));
    }
}

pub(crate) fn bump(counts: &mut BTreeMap<String, u64>, name: &str) {
    let name = if name.is_empty() { "-" } else { name };
    *counts.entry(name.to_owned()).or_default() += 1;
}

const TARGETS: usize = 10;
