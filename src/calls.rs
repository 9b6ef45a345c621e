//! Floor 6: a call as it comes in: one call, or one that consists of several. Each part of those goes the whole way of a call by itself, and its
//! answer stands in its own place beside the others'.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use serde_json::Value;

use crate::call_log;
use crate::context::ServerContext;
use crate::entry::{Answer, Decision, Entry, Reach, Reply, Status};
use crate::filter::{Filtered, Part, Shown, scan_arguments};
use crate::gate::{Admitted, Asker, CallGate, QueueEntry, Waits};
use crate::model::{Bytes, Channel, Code, Level, Question, Refusal, ToolCall};
use crate::pipeline::{self, Within};
use crate::policy::Capability;
use crate::tool::{Parts, Piece, Stage, Tool};

/// Answers one call. `place`: where it waits for calls that change the same.
pub async fn answer(server: &ServerContext, call: ToolCall, asker: &dyn Asker, stage: Stage, place: &QueueEntry) -> Reply {
    match server.tool(&call.tool).and_then(|tool| Some((tool, tool.parts()?))) {
        // Boxed: most calls are one call, and each holds the place for it.
        Some((tool, parts)) => {
            place.leave();
            Box::pin(several(server, tool, &parts, call, asker, stage)).await
        }
        None => pipeline::answer(server, call, asker, stage, place, None).await,
    }
}

/// Answers a call that consists of several calls of another tool. It is judged as far as its tool goes and counted under that tool; each part is
/// judged, counted and recorded as a call of the other tool.
async fn several(server: &ServerContext, tool: &dyn Tool, parts: &Parts, call: ToolCall, asker: &dyn Asker, stage: Stage) -> Reply {
    server.refresh().await;
    let gate = server.gate().for_call();
    let mut entry = match Entry::open(server.log(), &call, gate.manifest_sha256()) {
        Ok(entry) => entry,
        Err(refusal) => return Entry::impossible(refusal),
    };
    let (span, begun) = (call_log::span(server, &entry, &call), Instant::now());
    let split = split(&gate, tool, parts, &call);
    let started = match split {
        Ok(split) => {
            let decision = Decision { effect: parts.effect, level: Level::Read, reason: Some(Code::Ok), ..Decision::default() };
            entry.start(decision, Reach::Contained.sync(gate.manifest().audit.durability)).await.map(|()| split)
        }
        Err(refusal) => Err(refusal),
    };
    let (capability, pieces) = match started {
        Ok(started) => started,
        Err(refusal) => {
            call_log::refused(&span, &refusal, Status::Denied, begun.elapsed());
            gate.record_denial(&entry, &call, &refusal, Status::Denied);
            return entry.refuse(refusal, Status::Denied);
        }
    };
    let run =
        Run { server, parts, call: &call, asker: PartAsker { inner: asker, waited: AtomicU64::new(0) }, stage: &stage, id: entry.id() };
    let shown = if parts.at_once {
        run.together(pieces, capability.max_answer).await
    } else {
        run.in_turn(pieces, capability.max_answer, capability.timeout).await
    };
    let filtered = gate.record_source(&call.caller.session, Filtered::joined(parts.key, parts.named, shown));
    let status = if filtered.parts().is_error { Status::Error } else { Status::Success };
    call_log::answered(&span, &filtered, status, begun.elapsed());
    entry.close(filtered, status)
}

/// Admits the call, reads its arguments and names its parts. From then on its parts are counted in its place.
fn split(gate: &CallGate, tool: &dyn Tool, parts: &Parts, call: &ToolCall) -> Result<(Capability, Vec<Piece>), Refusal> {
    let Admitted { capability, counted, .. } = gate.admit(call, Some(tool.spec()), false)?;
    let pieces = (parts.split)(capability.check_arguments(&call.arguments, call.malformed.as_deref(), scan_arguments)?)?;
    counted.hand_over();
    Ok((capability, pieces))
}

/// The parts of one call under way.
struct Run<'a> {
    server: &'a ServerContext,
    parts: &'a Parts,
    call: &'a ToolCall,
    asker: PartAsker<'a>,
    stage: &'a Stage,
    /// The call they are parts of.
    id: &'a str,
}

impl Run<'_> {
    /// One after the other, as long as there is room in the answer and time.
    async fn in_turn(&self, pieces: Vec<Piece>, room: Bytes, timeout: Duration) -> Vec<Part> {
        let (mut left, begun) = (room.0, Instant::now());
        let mut shown = Vec::with_capacity(pieces.len());
        let mut over: Option<String> = None;
        for piece in pieces {
            let late = begun.elapsed().saturating_sub(Duration::from_millis(self.asker.waited.load(Ordering::Relaxed))) >= timeout;
            if over.is_none() && left < LEAST {
                over = Some("the answer is full".to_owned());
            } else if over.is_none() && late {
                over = Some(format!("the call ran longer than its {} s", timeout.as_secs()));
            } else if over.is_none() && self.stage.cancel.is_cancelled() {
                over = Some("the call was cancelled".to_owned());
            }
            if let Some(why) = &over {
                shown.push(Part { name: piece.name, call: String::new(), shown: Shown::Not(why.clone()) });
                continue;
            }
            let part = self.one(piece, Bytes(left)).await;
            left = left.saturating_sub(part.size() as u64);
            over = ends_all(&part);
            shown.push(part);
        }
        shown
    }

    /// All at once, each with its share of the answer.
    async fn together(&self, pieces: Vec<Piece>, room: Bytes) -> Vec<Part> {
        let share = Bytes((room.0 / pieces.len().max(1) as u64).max(LEAST));
        join_all(pieces.into_iter().map(|piece| self.one(piece, share).boxed())).await
    }

    async fn one(&self, piece: Piece, room: Bytes) -> Part {
        let mut caller = self.call.caller.clone();
        let repeats = self.asker.inner.waits() == Waits::Repeated;
        if repeats {
            // The answer of one part cannot wait for its repetition without holding up the others'.
            caller.channel = Channel::None;
        }
        let call = ToolCall {
            tool: self.parts.tool.to_owned(),
            arguments: piece.arguments,
            malformed: None,
            trace: self.call.trace.clone(),
            caller,
            repeat: None,
        };
        // A part ends its own work by its own token.
        let stage = Stage { cancel: self.stage.cancel.child_token(), progress: self.stage.progress.clone() };
        let within = Within { call: self.id, room };
        let place = self.server.gate().queue().enter();
        let answered = pipeline::answer(self.server, call, &self.asker, stage, &place, Some(within)).await.into_answer();
        let (call, shown) = match answered {
            Answer::Done { filtered, call_id } => (call_id, Shown::Answer(Box::new(filtered))),
            Answer::Refused { refusal, call_id } if refusal.code == Code::NoApprovalChannel && repeats => {
                let why = format!("`{}` needs a person's approval, and a call for several items cannot wait for it", piece.name);
                let alone = format!("call {} for this item alone; then a person is asked", self.parts.tool);
                (call_id, Shown::Refusal(Refusal { rule: refusal.rule, ..Refusal::new(refusal.code, why).hint(alone) }))
            }
            Answer::Refused { refusal, call_id } => (call_id, Shown::Refusal(refusal)),
            // Only a channel that repeats is asked so, and parts have none.
            Answer::Ask { question, .. } => {
                let refusal = Refusal::new(Code::NoApprovalChannel, question.text).hint(format!("call {} for it alone", self.parts.tool));
                (String::new(), Shown::Refusal(refusal))
            }
        };
        Part { name: piece.name, call, shown }
    }
}

/// Why no part after this one would fare better.
fn ends_all(part: &Part) -> Option<String> {
    let Shown::Refusal(refusal) = &part.shown else { return None };
    let of_all = match refusal.code {
        Code::RateLimited => !refusal.rule.as_deref().is_some_and(|rule| rule.starts_with("network.")),
        Code::Killed
        | Code::AuditUnavailable
        | Code::PolicyInvalid
        | Code::NoProfile
        | Code::Suspended
        | Code::Quota
        | Code::ToolDenied
        | Code::ToolNotAllowed
        | Code::PermissionMissing
        | Code::Cancelled => true,
        _ => false,
    };
    of_all.then(|| format!("`{}` was refused for a reason that holds for it as well", part.name))
}

/// Bytes of an answer that must be left for a further part.
const LEAST: u64 = 1024;

/// The client of a part: the client of the call, which is asked about this part alone. How long it is waited for is counted.
struct PartAsker<'a> {
    inner: &'a dyn Asker,
    /// Milliseconds.
    waited: AtomicU64,
}

impl Asker for PartAsker<'_> {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Value>> {
        async move {
            let begun = Instant::now();
            let answer = self.inner.ask(question).await;
            self.waited.fetch_add(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
            answer
        }
        .boxed()
    }

    fn seal(&self, state: &[u8], ttl: Duration) -> Option<String> {
        self.inner.seal(state, ttl)
    }

    fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        self.inner.open(sealed)
    }

    fn waits(&self) -> Waits {
        match self.inner.waits() {
            Waits::Repeated | Waits::Not => Waits::Not,
            Waits::During => Waits::During,
        }
    }

    fn beat(&self, waited: Duration) {
        self.inner.beat(waited);
    }

    fn gone(&self) -> BoxFuture<'_, ()> {
        self.inner.gone()
    }

    fn is_cancelled(&self) -> bool {
        self.inner.is_cancelled()
    }

    fn sample<'a>(&'a self, instructions: &'a str, text: &'a str, wait: Duration) -> BoxFuture<'a, Option<String>> {
        self.inner.sample(instructions, text, wait)
    }
}
