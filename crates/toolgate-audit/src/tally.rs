//! What happened, in numbers: the counts behind `audit report`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

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
    /// Calls whose outcome nobody knows.
    pub unknown: Vec<String>,
    /// Pulls of the emergency stop.
    pub kills: u64,
    #[serde(skip)]
    seen: BTreeMap<String, u64>,
    #[serde(skip)]
    asked: BTreeMap<String, Timestamp>,
}

/// Questions to a person and how they ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Approvals {
    /// Questions asked.
    pub requested: u64,
    /// Answers by decision.
    pub answers: BTreeMap<String, u64>,
    /// Questions nobody answered in time.
    pub expired: u64,
    /// Milliseconds from question to answer: the median and the longest.
    pub median_ms: Option<i64>,
    /// See `median_ms`.
    pub longest_ms: Option<i64>,
    #[serde(skip)]
    waits: Vec<i64>,
}

impl Tally {
    /// Counts the records.
    pub fn of(records: impl Iterator<Item = Stored>) -> Self {
        let mut tally = Self::default();
        records.for_each(|record| tally.add(&record));
        tally.end();
        tally
    }

    fn add(&mut self, record: &Stored) {
        let time = record.time();
        if !record.text("ts").is_empty() {
            self.from.get_or_insert_with(|| record.text("ts").to_owned());
            self.to = Some(record.text("ts").to_owned());
        }
        self.records = self.records.saturating_add(1);
        match record.text("ev") {
            "call.started" => self.started(record),
            "call.finished" => {
                bump(&mut self.statuses, record.text("status"));
                if record.text("status") == "denied" {
                    bump(&mut self.denials, record.text("reason"));
                }
                if record.text("status") == "unknown" {
                    self.unknown.push(record.text("call").to_owned());
                }
            }
            "tool.denied" => bump(&mut self.denials, record.text("reason")),
            "approval.requested" => {
                self.approvals.requested = self.approvals.requested.saturating_add(1);
                self.asked.extend(time.map(|time| (record.text("approval").to_owned(), time)));
            }
            "approval.answered" => {
                bump(&mut self.approvals.answers, record.text("decision"));
                if let (Some(asked), Some(time)) = (self.asked.remove(record.text("approval")), time) {
                    self.approvals.waits.push(time.as_millisecond().saturating_sub(asked.as_millisecond()));
                }
            }
            "approval.expired" => self.approvals.expired = self.approvals.expired.saturating_add(1),
            "kill.on" => self.kills = self.kills.saturating_add(1),
            _ => {}
        }
    }

    fn started(&mut self, record: &Stored) {
        self.calls = self.calls.saturating_add(1);
        bump(&mut self.tools, record.text("tool"));
        bump(&mut self.principals, record.text("principal"));
        if let Some(level) = record.fields.get("level") {
            bump(&mut self.levels, &level.to_string());
        }
        let args = record.fields.get("args");
        for name in ["path", "from", "to", "url"] {
            if let Some(target) = args.and_then(|args| args.get(name)).and_then(serde_json::Value::as_str) {
                bump(&mut self.seen, target);
            }
        }
        // Each file of a call that changes several, once.
        let edits = args.and_then(|args| args.get("edits")).and_then(serde_json::Value::as_array).into_iter().flatten();
        let files: std::collections::BTreeSet<&str> = edits.filter_map(|edit| edit.get("path")?.as_str()).collect();
        for file in files {
            bump(&mut self.seen, file);
        }
    }

    fn end(&mut self) {
        let mut targets: Vec<_> = std::mem::take(&mut self.seen).into_iter().collect();
        targets.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        targets.truncate(TARGETS);
        self.targets = targets;
        self.asked.clear();
        let mut waits = std::mem::take(&mut self.approvals.waits);
        waits.sort_unstable();
        self.approvals.median_ms = waits.get(waits.len() / 2).copied();
        self.approvals.longest_ms = waits.last().copied();
    }
}

fn bump(counts: &mut BTreeMap<String, u64>, name: &str) {
    let name = if name.is_empty() { "-" } else { name };
    // Counting by borrowed name first: most names were seen before.
    if let Some(count) = counts.get_mut(name) {
        *count = count.saturating_add(1);
    } else {
        counts.insert(name.to_owned(), 1);
    }
}

const TARGETS: usize = 10;
