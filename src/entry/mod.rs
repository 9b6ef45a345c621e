//! Floor 2: one call in the log: opened before anything is decided, closed with the only reply that the server sends.

mod address;
mod error;
mod redact;

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::audit::{Client, Event, Fault, Log, Record, Redacted, Sync};
use crate::filter::{Count, Filtered};
use crate::manifest::Durability;
use crate::model::{Caller, Code, Level, Question, Refusal, ToolCall};
use crate::state::token;

pub use error::CallError;
pub use redact::settings;

/// What the call came to, as its record says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It did what was asked.
    Success,
    /// The tool tried and the world said no, or the program failed.
    Error,
    /// It was refused.
    Denied,
    /// Its time ran out.
    Timeout,
    /// The client, the end of the server, or the kill switch stopped it.
    Killed,
}

impl Status {
    /// Its name in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::Error => "error",
            Status::Denied => "denied",
            Status::Timeout => "timeout",
            Status::Killed => "killed",
        }
    }
}

/// How far a call's effect can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It reads, or changes only its session's own scratch.
    Contained,
    /// It can change or send something beyond that.
    Beyond,
}

impl Reach {
    /// How far the record of a call with this reach must get before the call acts.
    pub const fn sync(self, durability: Durability) -> Sync {
        match (durability, self) {
            (Durability::Every, _) | (Durability::Effects, Self::Beyond) => Sync::Durable,
            (Durability::Relaxed, _) | (Durability::Effects, Self::Contained) => Sync::Handed,
        }
    }
}

/// What was decided, for the record.
#[derive(Debug, Clone, Default)]
pub struct Decision {
    /// What the call would do, in a word.
    pub effect: &'static str,
    /// Its level.
    pub level: Level,
    /// The code of the decision.
    pub reason: Option<Code>,
    /// The rule of the manifest that decided.
    pub rule: Option<String>,
    /// The approval that was used.
    pub approval: Option<String>,
    /// What the static check of a program warned of.
    pub warnings: Vec<String>,
    /// What the paths of the arguments lead to, where links on the way were followed.
    pub leads_to: Vec<String>,
    /// The session had taken in untrusted content before.
    pub untrusted: bool,
    /// What the filters on the way in found in the arguments.
    pub carried: Vec<Count>,
    /// The entries that the call acts on, by their own bytes, where the arguments spell them in another way.
    pub targets: Vec<String>,
    /// The folders that the call makes on its way to a new file.
    pub folders: Vec<String>,
}

/// The third token: an answer that is in the log. Only [`Entry`] makes one, and the server sends nothing else.
///
/// An entry is closed with a filtered answer:
/// ```
/// # use toolgate::{entry::{Entry, Reply, Status}, filter::Filtered};
/// fn close(entry: Entry, answer: Filtered) -> Reply {
///     entry.close(answer, Status::Success)
/// }
/// ```
/// Not with a tool's output:
/// ```compile_fail,E0308
/// # use toolgate::{entry::{Entry, Reply, Status}, model::Output};
/// fn close(entry: Entry, answer: Output) -> Reply {
///     entry.close(answer, Status::Success)
/// }
/// ```
/// An answer that is in no log makes no reply:
/// ```compile_fail,E0423
/// # use toolgate::entry::{Answer, Reply};
/// fn close(answer: Answer) -> Reply {
///     Reply(answer)
/// }
/// ```
#[derive(Debug)]
pub struct Reply(Answer);

/// What a reply says.
#[derive(Debug)]
pub enum Answer {
    /// The tool's answer.
    Done {
        /// The answer, filtered.
        filtered: Filtered,
        /// The call's id in the log.
        call_id: String,
    },
    /// Policy or the world said no.
    Refused {
        /// With what.
        refusal: Refusal,
        /// The call's id in the log.
        call_id: String,
    },
    /// The client is to ask a person and repeat the call.
    Ask {
        /// What to ask.
        question: Question,
        /// The sealed state to bring back.
        state: String,
    },
}

impl Reply {
    /// What it says, to send.
    pub fn into_answer(self) -> Answer {
        self.0
    }
}

/// One call in the log. Dropped unclosed after its start, it is recorded as `unknown`.
#[derive(Debug)]
pub struct Entry {
    log: Arc<Log>,
    id: String,
    tool: String,
    caller: Caller,
    args: Redacted,
    trace: Option<String>,
    manifest_sha256: String,
    begun: Instant,
    decision: Decision,
    /// The call that this one is a part of.
    part_of: Option<String>,
    started: bool,
    closed: bool,
}

/// Characters of a tool's name that are looked at: a longer one is no tool's.
const LONGEST_NAME: usize = 4096;

fn unrecorded() -> Refusal {
    Refusal::new(Code::AuditUnavailable, "the call cannot be recorded, so it is not made")
        .hint("ask the operator to look at the server's log and disk")
}

impl Entry {
    /// Opens the entry of a call. Nothing is written yet; what is written later holds the arguments in their redacted form.
    /// # Errors  When the log cannot take records: then nothing may run.
    pub fn open(log: &Arc<Log>, call: &ToolCall, manifest_sha256: &str) -> Result<Self, Refusal> {
        if !log.healthy() {
            return Err(unrecorded());
        }
        let id = token(10).map_err(|_| unrecorded())?;
        Ok(Self {
            log: Arc::clone(log),
            id: format!("c_{id}"),
            // A name no tool has is the caller's text: enough of it to recognise.
            tool: log.without_secrets(&call.tool.chars().take(LONGEST_NAME).collect::<String>()).chars().take(128).collect(),
            caller: call.caller.clone(),
            args: log.redact(&call.arguments),
            trace: call.trace.clone(),
            manifest_sha256: manifest_sha256.to_owned(),
            begun: Instant::now(),
            decision: Decision::default(),
            part_of: None,
            started: false,
            closed: false,
        })
    }

    /// The call's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Says in every record of the call that it is a part of another one.
    pub fn is_part_of(&mut self, call: &str) {
        self.part_of = Some(call.to_owned());
    }

    /// Whether the record shows this argument as it is, and not by a digest or a mask.
    pub fn shows(&self, argument: &str) -> bool {
        self.args.json().contains(&Value::from(argument).to_string())
    }

    /// Writes what was decided and that the call is about to act.
    /// # Errors  `audit_unavailable`: then it must not act.
    pub async fn start(&mut self, decision: Decision, sync: Sync) -> Result<(), Refusal> {
        self.decision = decision;
        let mut record = self.record(Event::CallStarted);
        record.decision = Some("allow");
        record.args = Some(&self.args);
        let Decision { warnings, leads_to, targets, folders, .. } = &self.decision;
        for (name, fact) in [("warnings", warnings), ("leads_to", leads_to), ("targets", targets), ("folders", folders)] {
            if !fact.is_empty() {
                record.extra.insert(name.to_owned(), self.shown(&json!(fact)));
            }
        }
        if self.decision.untrusted {
            record.extra.insert("untrusted".to_owned(), json!(true));
        }
        if !self.decision.carried.is_empty() {
            record.extra.insert("carried".to_owned(), json!(self.decision.carried));
        }
        if let Some(trace) = &self.trace {
            record.extra.insert("traceparent".to_owned(), json!(trace));
        }
        let handed = self.log.append(&record, Sync::Handed);
        drop(record);
        self.started = handed.is_ok();
        // Waiting for the disk keeps no thread: other calls go on, and their records share the same sync.
        let recorded = match (handed, sync) {
            (Ok(receipt), Sync::Durable) => self.log.durable(receipt).await,
            (handed, _) => handed.map(drop),
        };
        match recorded {
            Ok(()) => Ok(()),
            Err(fault) => {
                tracing::error!(%fault, call_id = self.id, "the start of a call could not be recorded");
                Err(unrecorded())
            }
        }
    }

    /// Notes an event of this call: a question, an answer, a limit.
    /// # Errors  When it cannot be recorded.
    pub fn note(&self, event: Event, mut facts: Map<String, Value>) -> Result<(), Fault> {
        let mut take = |name: &str| facts.remove(name).and_then(|value| value.as_str().map(str::to_owned));
        let [approval, decision, reason] = ["approval", "decision", "reason"].map(&mut take);
        let mut record = self.record(event);
        (record.approval, record.decision, record.reason) = (approval.as_deref(), decision.as_deref(), reason.as_deref());
        record.level = facts.remove("level").and_then(|level| u8::try_from(level.as_u64()?).ok());
        for name in ["leads_to", "question"] {
            if let Some(fact) = facts.get_mut(name) {
                *fact = self.shown(fact);
            }
        }
        record.extra.extend(facts);
        self.log.append(&record, Sync::Handed).map(drop)
    }

    /// What was decided on a call that is refused, for its record.
    pub fn decided(&mut self, decision: Decision) {
        self.decision = decision;
    }

    /// Ends a call that answered.
    #[must_use]
    pub fn close(mut self, filtered: Filtered, status: Status) -> Reply {
        let parts = filtered.parts();
        let mut facts = Map::new();
        if let Some(code) = parts.code {
            facts.insert("error_code".to_owned(), json!(code));
        }
        for (name, amount) in [("bytes_written", parts.bytes_written), ("bytes_sent", parts.bytes_sent)] {
            if amount > 0 {
                facts.insert(name.to_owned(), json!(amount));
            }
        }
        if let Some(status) = parts.meta.get("toolgate/page").and_then(|page| page.get("status")) {
            facts.insert("http_status".to_owned(), status.clone());
        }
        if let Some(source) = &parts.untrusted {
            // From here on the session is marked; the record says by what.
            facts.insert("untrusted_from".to_owned(), self.shown(&json!(source)));
        }
        if let Some(found) = parts.meta.get("toolgate/filter").and_then(|filter| filter.get("found")) {
            facts.insert("filtered".to_owned(), found.clone());
        }
        if !parts.notes.is_empty() {
            facts.insert("events".to_owned(), self.shown(&json!(parts.notes)));
        }
        let shape = json!({"blocks": parts.blocks.len(), "bytes": parts.size()});
        self.finish(status, facts, Some(&shape));
        let call_id = std::mem::take(&mut self.id);
        Reply(Answer::Done { filtered, call_id })
    }

    /// Ends a call that was refused, or whose tool failed.
    #[must_use]
    pub fn refuse(mut self, refusal: Refusal, status: Status) -> Reply {
        if self.started {
            let mut facts = Map::new();
            facts.insert("error_code".to_owned(), json!(refusal.code));
            self.finish(status, facts, None);
        } else {
            let mut record = self.record(Event::ToolDenied);
            record.args = Some(&self.args);
            record.decision = Some("deny");
            record.reason = Some(refusal.code.as_str());
            record.rule = refusal.rule.as_deref();
            record.extra.insert("status".to_owned(), json!(Status::Denied.as_str()));
            if !refusal.imports.is_empty() {
                record.extra.insert("imports".to_owned(), json!(refusal.imports));
            }
            if let Some(trace) = &self.trace {
                record.extra.insert("traceparent".to_owned(), json!(trace));
            }
            if let Err(fault) = self.log.append(&record, Sync::Handed) {
                tracing::error!(%fault, call_id = self.id, "a denial could not be recorded");
            }
            self.closed = true;
        }
        let call_id = std::mem::take(&mut self.id);
        Reply(Answer::Refused { refusal, call_id })
    }

    /// Ends this turn of a call that waits for its repetition with a person's answer.
    #[must_use]
    pub fn ask(mut self, question: Question, state: String) -> Reply {
        self.closed = true;
        Reply(Answer::Ask { question, state })
    }

    /// The refusal of a call for which no entry could be opened.
    #[must_use]
    pub fn impossible(refusal: Refusal) -> Reply {
        tracing::error!(code = %refusal.code, "a call was refused without a record");
        Reply(Answer::Refused { refusal, call_id: String::new() })
    }

    fn finish(&mut self, status: Status, mut facts: Map<String, Value>, result: Option<&Value>) {
        self.closed = true;
        facts.insert("status".to_owned(), json!(status.as_str()));
        let mut record = self.record(Event::CallFinished);
        record.duration = Some(self.begun.elapsed());
        record.result = result;
        record.extra.extend(facts);
        if let Err(fault) = self.log.append(&record, Sync::Handed) {
            // The effect has happened and its start is recorded; the next start of the log marks it `unknown`.
            tracing::error!(%fault, call_id = self.id, "the end of a call could not be recorded");
        }
    }

    /// A fact that names files, addresses or lines of a program, without the secrets in it.
    fn shown(&self, fact: &Value) -> Value {
        match fact {
            Value::String(text) => self.log.without_secrets(text).into(),
            Value::Array(items) => items.iter().map(|item| self.shown(item)).collect(),
            Value::Object(map) => map.iter().map(|(name, item)| (name.clone(), self.shown(item))).collect::<Map<_, _>>().into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => fact.clone(),
        }
    }

    fn record(&self, event: Event) -> Record<'_> {
        let client = &self.caller.client;
        let mut record = Record::new(event);
        record.call = Some(&self.id);
        record.session = Some(&self.caller.session);
        record.principal = Some(&self.caller.principal);
        record.profile = self.caller.profile.as_deref();
        record.client = (!client.name.is_empty()).then_some(Client { name: &client.name, version: &client.version });
        record.tool = Some(&self.tool);
        record.effect = (!self.decision.effect.is_empty()).then_some(self.decision.effect);
        record.level = self.decision.reason.map(|_| self.decision.level.into());
        record.reason = self.decision.reason.map(Code::as_str);
        record.rule = self.decision.rule.as_deref();
        record.approval = self.decision.approval.as_deref();
        record.manifest_sha256 = Some(&self.manifest_sha256);
        if let Some(call) = &self.part_of {
            record.extra.insert("part_of".to_owned(), json!(call));
        }
        record
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.started && !self.closed {
            self.closed = true;
            let mut record = self.record(Event::CallFinished);
            record.duration = Some(self.begun.elapsed());
            record.extra.insert("status".to_owned(), json!("unknown"));
            if let Err(fault) = self.log.append(&record, Sync::Handed) {
                tracing::error!(%fault, call_id = self.id, "an abandoned call could not be recorded");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_names_what_waits_for_the_disk() {
        let table = [Durability::Effects, Durability::Every, Durability::Relaxed]
            .map(|mode| [Reach::Contained, Reach::Beyond].map(|reach| reach.sync(mode)));
        assert_eq!(table, [[Sync::Handed, Sync::Durable], [Sync::Durable, Sync::Durable], [Sync::Handed, Sync::Handed]]);
    }
}
