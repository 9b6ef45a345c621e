//! Floor 6: the way of one call, top to bottom. Each stage hands the next a value that only it can make.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tracing::Instrument;

use crate::call_log;
use crate::context::ServerContext;
use crate::entry::{CallError, Entry, Reply, Status};
use crate::filter::{Filtered, scan_arguments};
use crate::gate::{
    Admitted, Asker, CallGate, Case, Counted, Granted, Opened, Places, Preview, QueueEntry, Repeat, Reservation, Resolution, Seen, World,
};
use crate::manifest::Reviewer;
use crate::model::{Action, Bytes, Code, Facts, Failure, Output, Question, Refusal, RunPython, ToolCall};
use crate::policy::{self, Capability, Screened};
use crate::suggest;
use crate::tool::{Stage, Tool};

/// The call that a call is a part of.
#[derive(Debug, Clone, Copy)]
pub struct Within<'a> {
    /// Its id in the log.
    pub call: &'a str,
    /// What is left of its answer.
    pub room: Bytes,
}

/// Answers one call. `place`: where it waits for calls that change the same. `within`: it is a part of another one.
pub async fn answer(
    server: &ServerContext,
    call: ToolCall,
    asker: &dyn Asker,
    stage: Stage,
    place: &QueueEntry,
    within: Option<Within<'_>>,
) -> Reply {
    // A manifest that was changed holds from here on; the one of this moment holds for the whole call.
    server.refresh().await;
    let gate = server.gate().for_call();

    // 2. The log takes the call, or nothing happens.
    let mut entry = match Entry::open(server.log(), &call, gate.manifest_sha256()) {
        Ok(entry) => entry,
        Err(refusal) => return Entry::impossible(refusal),
    };
    let room = within.map(|within| {
        entry.is_part_of(within.call);
        within.room
    });
    let (span, started) = (call_log::span(server, &entry, &call), Instant::now());
    let mut counted = Counted::default();
    let way = Way { server, gate: &gate, call: &call, asker, stage, place, room };
    let end = way.walk(&mut entry, &mut counted).instrument(span.clone()).await;
    place.leave();
    match end {
        Ok(Turn::Answer(filtered, status)) => {
            call_log::answered(&span, &filtered, status, started.elapsed());
            entry.close(filtered, status)
        }
        Ok(Turn::Ask(question, sealed)) => {
            call_log::asked(&span, started.elapsed());
            entry.ask(question, sealed)
        }
        Err(CallError { refusal, status }) => {
            call_log::refused(&span, &refusal, status, started.elapsed());
            // A rate of the call itself counted nothing. One of questions comes after the names in the call were looked up, and stays counted.
            let is_hosts = refusal.rule.as_deref().is_some_and(|rule| rule.starts_with("network.rate_limit_per_"));
            if refusal.code == Code::RateLimited && is_hosts {
                counted.take_back();
            }
            gate.record_denial(&entry, &call, &refusal, status);
            entry.refuse(refusal, status)
        }
    }
}

/// How a call's turn ends, when it is not refused.
enum Turn {
    Answer(Filtered, Status),
    Ask(Question, String),
}

/// One call on its way.
struct Way<'a> {
    server: &'a ServerContext,
    gate: &'a CallGate,
    call: &'a ToolCall,
    asker: &'a dyn Asker,
    stage: Stage,
    place: &'a QueueEntry,
    /// What the answer has, where it is a part of another.
    room: Option<Bytes>,
}

/// A call that was read and judged by its text.
struct Planned {
    tool: &'static dyn Tool,
    capability: Capability,
    reservation: Reservation,
    action: Action,
    screened: Screened,
}

impl Way<'_> {
    /// `taken`: the call as it is counted, as long as it may be taken back.
    async fn walk(&self, entry: &mut Entry, taken: &mut Counted) -> Result<Turn, CallError> {
        let Self { server, gate, call, .. } = self;
        // 3 to 6. Who calls what, and what the text decides. Then a look without effect, the judgement, and a person where it asks for one.
        let repeat = CallGate::repeat(call, self.asker);
        let Planned { tool, mut capability, mut reservation, action, mut screened } = self.plan(repeat.as_ref(), taken).await?;
        let seen = self.look(&action, &screened).await?;
        screened.take_spelling(&seen.facts);
        if let (Action::CopyFile(_), Some(from)) = (&action, seen.facts.paths.first()) {
            // How much a copy will write is known now. Other calls may use the rest of the budget from here on, also while a person is asked.
            capability.write_left = Some(reservation.keep(Bytes(from.size)));
        }
        let (definition, definitions) = (server.definition(tool), server.definitions(tool));
        let mut case = Case {
            call,
            entry,
            asker: self.asker,
            world: self,
            capability: &capability,
            action: &action,
            screened: &screened,
            seen,
            place: self.place,
            definition: &definition,
            definitions: &definitions,
        };
        let resolution = gate.resolve(&mut case, repeat).await;
        let Seen { opened, facts } = case.seen;
        let granted = match resolution {
            Ok(Resolution::Granted(granted)) => *granted,
            Ok(Resolution::Ask(question, sealed)) => return Ok(Turn::Ask(question, sealed)),
            Err(error) => return Err(self.hinted(&action, &opened, error).await),
        };

        // Further calls of the session wait here for their turn, within the time of a call; one that waited for a person waited outside it.
        let _slot = self.slot(&capability).await?;

        // 7. The start is in the log before anything happens.
        self.start(entry, &granted).await?;
        let (grant, carried) = (granted.grant.clone(), granted.decision.carried.clone());
        let session = &call.caller.session;
        gate.record_host(session, screened.url.as_ref());
        let below = facts.paths.first().map_or(&[] as &[_], |fact| &fact.below);
        let places = Places { named: &screened.targets, led: screened.led(&facts), below };
        gate.brings(session, &action, &places);
        reservation.begin();
        let sent = Arc::clone(&granted.permit.terms().sent);
        let output = match self.execute(tool, &capability, granted).await {
            Ok(output) => output,
            Err(error) => {
                let sent = sent.load(Ordering::Relaxed);
                if sent > 0 {
                    // Another host has answered it already.
                    *taken = Counted::default();
                }
                match error.status {
                    Status::Error => reservation.settle_failed(sent),
                    _ => reservation.settle_cut(sent),
                }
                return Err(self.hinted(&action, &opened, error).await);
            }
        };
        reservation.settle(output.bytes_written, output.bytes_sent, output.cpu_ms);
        // A folder that the session made is its own, like a file.
        if let (Some(key), true) = (grant, output.bytes_written > 0 || matches!(action, Action::CreateDirectory(_)))
            // Our own change of a remembered target must not end the grant for it.
            && let Ok(after) = self.see(&action, &screened).await
        {
            gate.renew(&action, &key, &opened, &after.opened);
        }

        // 8. Nothing from outside reaches the model unfiltered.
        let status = if output.is_error { Status::Error } else { Status::Success };
        let provenance = gate.provenance(session, &action, &places, &capability.profile, &output);
        gate.record_written(session, &action, &places, &output, &provenance);
        let filtered = Filtered::of(output, &gate.manifest().filters, entry.id(), provenance)?;
        Ok(Turn::Answer(gate.record_source(session, filtered).with_arguments(&carried), status))
    }

    /// Stages 3 to 5: which tool, and may this caller use it now; arguments become an action, whose text is judged.
    async fn plan(&self, repeat: Option<&Repeat>, taken: &mut Counted) -> Result<Planned, Refusal> {
        let Self { server, gate, call, .. } = self;
        // The call is counted, whatever it holds, unless it repeats one that was.
        let tool = server.tool(&call.tool);
        let admitted = gate.admit(call, tool.map(Tool::spec), gate.is_awaited(repeat, call));
        let admitted = admitted
            .map_err(|refusal| suggest::with_tool(refusal, server.tools(), gate.manifest(), call.caller.profile.as_deref(), &call.tool));
        let Admitted { mut capability, reservation, counted } = admitted?;
        *taken = counted;
        capability.max_answer = self.room.map_or(capability.max_answer, |room| room.min(capability.max_answer));
        let Some(tool) = tool else { return Err(Refusal::new(Code::UnknownTool, "there is no such tool")) };

        // Arguments become an action, or a refusal that names the argument. Pure.
        let action = tool.plan(capability.check_arguments(&call.arguments, call.malformed.as_deref(), scan_arguments)?)?;
        let writes = |action: &Action| action.touches().iter().any(|touch| touch.access.writes());
        // Which file a query touches is known once it was judged.
        if !writes(&action) && !matches!(action, Action::QueryDatabase(_)) {
            self.place.leave();
        }
        if let Action::RunPython(run) = &action {
            self.look_for_modules(run, &mut capability).await;
        }
        let screened = capability.screen(&action)?;
        let action = screened.as_judged(action);
        if !writes(&action) {
            self.place.leave();
        }
        Ok(Planned { tool, capability, reservation, action, screened })
    }

    /// Which walls a program lacks, and which of its imports are modules of the roots that it sees.
    async fn look_for_modules(&self, run: &RunPython, capability: &mut Capability) {
        let (sandbox, manifest) = (self.server.sandbox(), self.gate.manifest());
        capability.lacking = sandbox.lacking_wall(manifest).await;
        let wanted = policy::program::modules_to_look_for(&manifest.python, capability.lacking.as_deref(), &run.code);
        capability.modules = sandbox.roots.modules(&self.call.caller.session, manifest, &capability.profile, wanted);
    }

    /// What the action touches, as it is now.
    async fn see(&self, action: &Action, screened: &Screened) -> Result<Seen, Failure> {
        let accesses: Vec<_> = action.touches().into_iter().map(|touch| touch.access).collect();
        let (sandbox, session) = (self.server.sandbox(), &self.call.caller.session);
        let opened = sandbox.look(session, &screened.targets, &accesses, self.gate.manifest().files.symlinks)?;
        let addresses = match &screened.url {
            Some(url) => sandbox.resolve(url).await?,
            None => Vec::new(),
        };
        let facts = Facts { paths: opened.iter().map(|opened| opened.fact.clone()).collect(), addresses, redirects: Vec::new() };
        Ok(Seen { opened, facts })
    }

    /// An error with the path that was likely meant, where nothing was found at one.
    async fn hinted(&self, action: &Action, opened: &[Opened], error: CallError) -> CallError {
        CallError { refusal: suggest::with_path(self.server, self.gate, self.call, action, opened, error.refusal).await, ..error }
    }

    /// One of the session's places for calls under way.
    async fn slot(&self, capability: &Capability) -> Result<tokio::sync::OwnedSemaphorePermit, CallError> {
        let most = policy::concurrent_calls(self.gate.manifest(), &capability.profile);
        tokio::select! {
            slot = tokio::time::timeout(capability.timeout, self.gate.slot(&capability.caller.session, most)) => match slot {
                Ok(Some(slot)) => Ok(slot),
                _ => Err(Refusal::new(Code::Quota, format!("{most} calls are running already, and none of them ended in time"))
                    .rule("limits.concurrent_calls")
                    .retry_after(1)
                    .into()),
            },
            () = self.stage.cancel.cancelled() => Err(cancelled().into()),
        }
    }

    /// Records the start of a call that may act. One that waited is not made where the manifest or the emergency stop changed meanwhile: a person
    /// may have taken a minute to answer.
    async fn start(&self, entry: &mut Entry, granted: &Granted) -> Result<(), CallError> {
        let Self { server, gate, .. } = self;
        let approved = granted.decision.approval.is_some();
        // A call that waited for nothing was admitted a moment ago by the same manifest and the same look at the switch.
        let looks_again = approved || !gate.is_new();
        if looks_again {
            server.refresh().await;
            if !server.gate().is_current(gate) {
                let code = if approved { Code::ApprovalMismatch } else { Code::Conflict };
                let refusal = Refusal::new(code, "the manifest changed while the call was being checked");
                return Err(refusal.hint("make the call again").into());
            }
        }
        entry.start(granted.decision.clone(), granted.reach.sync(gate.manifest().audit.durability)).await?;
        if looks_again && gate.is_killed() { Err(pulled()) } else { Ok(()) }
    }

    async fn execute(&self, tool: &dyn Tool, capability: &Capability, granted: Granted) -> Result<Output, CallError> {
        let time = self.time_of(capability, granted.permit.action());
        let (cancel, stop) = (&self.stage.cancel, self.gate.stop());
        let mut work = std::pin::pin!(tool.execute(granted.permit, self.server.sandbox(), self.stage.clone()));
        let error = tokio::select! {
            biased;
            done = &mut work => return match done {
                Ok(output) if !output.is_error => Ok(output),
                // The tool was ended before this stage saw the stop: the emergency stop ends programs itself.
                _ if stop.is_cancelled() || self.gate.is_killed() => Err(pulled()),
                _ if cancel.is_cancelled() => Err(cancelled().into()),
                done => done.map_err(CallError::from),
            },
            () = tokio::time::sleep(time) => {
                let why = format!("the call ran longer than its {} s", time.as_secs());
                Failure::new(Code::Timeout, why).hint("ask for less at once").into()
            }
            () = self.gate.killed() => pulled(),
            () = cancel.cancelled() => cancelled().into(),
        };
        // The tool ends its own work: when it has, nothing of it is left running.
        cancel.cancel();
        if tokio::time::timeout(ENDING, work).await.is_err() {
            tracing::warn!(tool = tool.spec().name, "a call did not end in time and is dropped");
        }
        Err(error)
    }

    /// How long a call may run. A program has a clock of its own, which names its limit, and waits for a jail no longer than that; ours only backs
    /// it up.
    fn time_of(&self, capability: &Capability, action: &Action) -> Duration {
        const BACKUP: Duration = Duration::from_secs(5);
        match action {
            Action::RunPython(_) => self.gate.manifest().python.timeout.max(capability.timeout) * 2 + BACKUP,
            _ => capability.timeout,
        }
    }
}

impl World for Way<'_> {
    /// Looks when no call that arrived before changes the same: this one is judged on what they leave. Each of them ends within the time of a call.
    fn look<'a>(&'a self, action: &'a Action, screened: &'a Screened) -> BoxFuture<'a, Result<Seen, Failure>> {
        async move {
            let touches = action.touches();
            let changed = touches.iter().zip(&screened.targets).filter(|(touch, _)| touch.access.writes());
            let targets: Vec<_> = changed.map(|(_, target)| target.clone()).collect();
            if !targets.is_empty() {
                tokio::select! {
                    () = self.place.turn(targets) => {}
                    () = self.stage.cancel.cancelled() => return Err(cancelled()),
                }
            }
            self.see(action, screened).await
        }
        .boxed()
    }

    fn preview<'a>(&'a self, action: &'a Action, seen: &'a Seen, timeout: Duration) -> BoxFuture<'a, Preview> {
        self.server.sandbox().preview(action, &seen.opened, self.gate.manifest(), timeout).boxed()
    }

    fn review<'a>(&'a self, reviewer: &'a Reviewer, input: &'a str) -> BoxFuture<'a, Result<String, String>> {
        self.server.sandbox().review(reviewer, input).boxed()
    }
}

fn pulled() -> CallError {
    CallError { refusal: Refusal::new(Code::Killed, "the emergency stop was switched on"), status: Status::Killed }
}

fn cancelled() -> Failure {
    Failure::new(Code::Cancelled, "the call was cancelled")
}

/// How long a cancelled call may take to end; a program's processes are dead long before.
const ENDING: Duration = Duration::from_secs(2);
