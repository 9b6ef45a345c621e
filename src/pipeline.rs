//! Floor 6: the way of one call, top to bottom. Each stage hands the next a value that only it can make.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use tracing::Instrument;

use crate::call_log;
use crate::context::ServerContext;
use crate::entry::{Entry, Reply, Status};
use crate::filter::{Filtered, scan_arguments};
use crate::gate::{Admitted, Asker, CallGate, Case, Counted, Granted, Opened, Place, Places, Reservation, Resolution};
use crate::model::{Action, Bytes, Code, Facts, Failure, Question, Refusal, RunPython, ToolCall};
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
    place: &Place,
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
    let (span, begun) = (call_log::span(server, &entry, &call), Instant::now());
    let mut counted = Counted::default();
    let way = walk(server, &gate, &mut entry, &call, asker, stage, place, room, &mut counted);
    let end = way.instrument(span.clone()).await;
    place.leave();
    match end {
        Ok(Turn::Answer(filtered, status)) => {
            call_log::answered(&span, &filtered, status, begun.elapsed());
            entry.close(filtered, status)
        }
        Ok(Turn::Ask(question, sealed)) => {
            call_log::asked(&span, begun.elapsed());
            entry.ask(question, sealed)
        }
        Err(End { refusal, status }) => {
            call_log::refused(&span, &refusal, status, begun.elapsed());
            // A rate of the call itself counted nothing. One of questions comes after the names in the call were looked up, and stays counted.
            let is_hosts = refusal.rule.as_deref().is_some_and(|rule| rule.starts_with("network.rate_limit_per_"));
            if refusal.code == Code::RateLimited && is_hosts {
                counted.take_back();
            }
            gate.learn(&entry, &call, &refusal, status);
            entry.refuse(refusal, status)
        }
    }
}

/// How a call's turn ends, when it is not refused.
enum Turn {
    Answer(Filtered, Status),
    Ask(Question, String),
}

/// How a call's turn ends with a no.
struct End {
    refusal: Refusal,
    status: Status,
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, status: Status::Denied }
    }
}

impl From<Failure> for End {
    fn from(Failure(refusal): Failure) -> Self {
        let status = match refusal.code {
            Code::Timeout => Status::Timeout,
            Code::Cancelled | Code::Killed => Status::Killed,
            _ => Status::Error,
        };
        Self { refusal, status }
    }
}

/// `room`: what the answer has, where it is a part of another. `taken`: the call as it is counted, as long as it may be taken back.
#[expect(clippy::too_many_arguments, reason = "all that a call is made of, in the one place where it comes together")]
async fn walk(
    server: &ServerContext,
    gate: &CallGate,
    entry: &mut Entry,
    call: &ToolCall,
    asker: &dyn Asker,
    stage: Stage,
    place: &Place,
    room: Option<Bytes>,
    taken: &mut Counted,
) -> Result<Turn, End> {
    // 3, 4. Which tool, and may this caller use it now? The call is counted, whatever it holds, unless it repeats one that was.
    let tool = server.tool(&call.tool);
    let mut repeat = gate.repeat(call, asker);
    let awaited = gate.is_awaited(repeat.as_ref(), call);
    let admitted = gate.admit(call, tool.map(Tool::spec), awaited);
    let admitted = admitted
        .map_err(|refusal| suggest::with_tool(refusal, server.tools(), gate.manifest(), call.caller.profile.as_deref(), &call.tool));
    let Admitted { mut capability, mut reservation, counted } = admitted?;
    *taken = counted;
    capability.max_answer = room.map_or(capability.max_answer, |room| room.min(capability.max_answer));
    let Some(tool) = tool else { return Err(Refusal::new(Code::UnknownTool, "there is no such tool").into()) };

    // 5. Arguments become an action, or a refusal that names the argument. Pure.
    let action = tool.plan(capability.check_arguments(&call.arguments, call.malformed.as_deref(), scan_arguments)?)?;

    // 6. What the text decides; then a look without effect; then the judgement, and a person where it asks for one.
    if !action.touches().iter().any(|touch| touch.access.writes()) {
        place.leave();
    }
    if let Action::RunPython(run) = &action {
        look_for_modules(server, gate, &call.caller.session, run, &mut capability).await;
    }
    let mut screened = capability.screen(&action)?;
    let action = screened.as_judged(action);
    let (definition, definitions) = (server.definition(tool), server.definitions(tool));
    let (mut opened, mut facts) = look_in_turn(server, gate, call, &action, &screened, place, &stage).await?;
    seen(&mut screened, &mut capability, &mut reservation, &action, &facts);
    let mut granted = loop {
        let (opened_now, facts_now) = (&opened, &facts);
        let case = Case {
            call,
            capability: &capability,
            action: &action,
            screened: &screened,
            facts: facts_now,
            opened: opened_now,
            place,
            definition: &definition,
            definitions: &definitions,
        };
        let preview = || server.sandbox().preview(&action, opened_now, gate.manifest(), capability.timeout).boxed();
        match gate.resolve(&case, entry, repeat.take(), &preview, server.sandbox(), asker).await? {
            Resolution::Granted(granted) => break *granted,
            Resolution::Ask(question, sealed) => return Ok(Turn::Ask(question, sealed)),
            Resolution::Doomed(failure) => return Err(hinted(server, gate, call, &action, &opened, failure.into()).await),
            // Each time round, a person has answered, or the same question was ended in another call.
            Resolution::Again(next) => {
                repeat = next;
                (opened, facts) = look_in_turn(server, gate, call, &action, &screened, place, &stage).await?;
            }
        }
    };
    // Given up when this call has ended, whichever way: those who asked the same look then at what it left.
    let _open = granted.open.take();

    // Further calls of the session wait here for their turn, within the time of a call; who waited for a person waited outside it.
    let _slot = turn(gate, &capability, &stage).await?;

    let approved = granted.decision.approval.is_some();
    // A call that waited for nothing was admitted a moment ago by the same manifest and the same look at the switch.
    let looks_again = approved || !gate.is_new();
    if looks_again {
        unchanged(server, gate, approved).await?;
    }

    // 7. The start is in the log before anything happens.
    entry.start(granted.decision.clone(), granted.reach.sync(gate.manifest().audit.durability)).await?;
    if looks_again && gate.is_killed() {
        return Err(End { refusal: Refusal::new(Code::Killed, "the emergency stop was pulled"), status: Status::Killed });
    }
    let (grant, carried) = (granted.grant.clone(), granted.decision.carried.clone());
    gate.contacts(&call.caller.session, screened.url.as_ref());
    let sent = Arc::clone(&granted.permit.terms().sent);
    let session = &call.caller.session;
    let below = facts.paths.first().map_or(&[] as &[_], |fact| &fact.below);
    let places = Places { named: &screened.targets, led: screened.led(&facts), below };
    gate.brings(session, &action, &places);
    reservation.begin();
    let output = match execute(server, gate, tool, &capability, granted, stage).await {
        Ok(output) => output,
        Err(end) => {
            let end = hinted(server, gate, call, &action, &opened, end).await;
            let sent = sent.load(Ordering::Relaxed);
            if sent > 0 {
                // Another host has answered it already.
                *taken = Counted::default();
            }
            if end.status == Status::Error {
                reservation.settle_failed(sent);
            } else {
                reservation.settle_cut(sent);
            }
            return Err(end);
        }
    };
    reservation.settle(output.bytes_written, output.bytes_sent, output.cpu_ms);
    // A folder that the session made is its own, like a file.
    if let (Some(key), true) = (grant, output.bytes_written > 0 || matches!(action, Action::CreateDirectory(_))) {
        // Our own change of a remembered target must not end the grant for it.
        if let Ok((after, _)) = look(server, gate, &call.caller.session, &action, &screened).await {
            gate.renew(&action, &key, &opened, &after);
        }
    }

    // 8. Nothing from outside reaches the model unfiltered.
    let status = if output.is_error { Status::Error } else { Status::Success };
    let provenance = gate.provenance(session, &action, &places, &capability.profile, &output);
    gate.keeps(session, &action, &places, &output, &provenance);
    let filtered = Filtered::of(output, &gate.manifest().filters, entry.id(), provenance)?;
    Ok(Turn::Answer(gate.took_in(session, filtered).with_arguments(&carried), status))
}

/// Which walls a program lacks, and which of its imports are modules of the roots that it sees.
async fn look_for_modules(server: &ServerContext, gate: &CallGate, session: &str, run: &RunPython, capability: &mut Capability) {
    capability.lacking = server.sandbox().lacking_wall(gate.manifest()).await;
    let wanted = policy::program::modules_to_look_for(&gate.manifest().python, capability.lacking.as_deref(), &run.code);
    capability.modules = server.sandbox().roots.modules(session, gate.manifest(), &capability.profile, wanted);
}

/// Looks when no call that arrived before changes the same: this one is judged on what they leave. Each of them ends within the time of a call.
async fn look_in_turn(
    server: &ServerContext,
    gate: &CallGate,
    call: &ToolCall,
    action: &Action,
    screened: &Screened,
    place: &Place,
    stage: &Stage,
) -> Result<(Vec<Opened>, Facts), End> {
    let touches = action.touches();
    let changed = touches.iter().zip(&screened.targets).filter(|(touch, _)| touch.access.writes());
    let targets: Vec<_> = changed.map(|(_, target)| target.clone()).collect();
    if !targets.is_empty() {
        tokio::select! {
            () = place.turn(targets) => {}
            () = stage.cancel.cancelled() => return Err(cancelled()),
        }
    }
    look(server, gate, &call.caller.session, action, screened).await
}

/// The end of a call that found nothing, with what it was likely to mean.
async fn hinted(server: &ServerContext, gate: &CallGate, call: &ToolCall, action: &Action, opened: &[Opened], end: End) -> End {
    End { refusal: suggest::with_path(server, gate, call, action, opened, end.refusal).await, ..end }
}

async fn look(
    server: &ServerContext,
    gate: &CallGate,
    session: &str,
    action: &Action,
    screened: &Screened,
) -> Result<(Vec<Opened>, Facts), End> {
    let accesses: Vec<_> = action.touches().into_iter().map(|touch| touch.access).collect();
    let opened = server.sandbox().look(session, &screened.targets, &accesses, gate.manifest().files.symlinks)?;
    let addresses = match &screened.url {
        Some(url) => server.sandbox().resolve(url).await?,
        None => Vec::new(),
    };
    let facts = Facts { paths: opened.iter().map(|opened| opened.fact.clone()).collect(), addresses, redirects: Vec::new() };
    Ok((opened, facts))
}

/// Takes over what the look told: how paths are spelled, and how much a copy will write. Other calls may use the rest of the budget from here on,
/// also while a person is asked.
fn seen(screened: &mut Screened, capability: &mut Capability, reservation: &mut Reservation, action: &Action, facts: &Facts) {
    screened.take_spelling(facts);
    if let (Action::CopyFile(_), Some(from)) = (action, facts.paths.first()) {
        capability.write_left = Some(reservation.keep(Bytes(from.size)));
    }
}

/// A call that was judged by a manifest which no longer holds is not made: a person may have taken a minute to answer.
async fn unchanged(server: &ServerContext, gate: &CallGate, approved: bool) -> Result<(), Refusal> {
    server.refresh().await;
    if server.gate().is_current(gate) {
        return Ok(());
    }
    let code = if approved { Code::ApprovalMismatch } else { Code::Conflict };
    Err(Refusal::new(code, "the manifest changed while the call was being decided").hint("make the call again; it is judged anew"))
}

/// One of the session's places for calls under way.
async fn turn(gate: &CallGate, capability: &Capability, stage: &Stage) -> Result<tokio::sync::OwnedSemaphorePermit, End> {
    let most = policy::concurrent_calls(gate.manifest(), &capability.profile);
    tokio::select! {
        slot = tokio::time::timeout(capability.timeout, gate.slot(&capability.caller.session, most)) => match slot {
            Ok(Some(slot)) => Ok(slot),
            _ => Err(Refusal::new(Code::Quota, format!("{most} calls are under way already, and none of them ended in time"))
                .rule("limits.concurrent_calls")
                .retry_after(1)
                .into()),
        },
        () = stage.cancel.cancelled() => Err(cancelled()),
    }
}

async fn execute(
    server: &ServerContext,
    gate: &CallGate,
    tool: &dyn Tool,
    capability: &Capability,
    granted: Granted,
    stage: Stage,
) -> Result<crate::model::Output, End> {
    let time = time_of(gate, capability, granted.permit.action());
    let (cancel, stop) = (stage.cancel.clone(), gate.stop());
    let mut work = std::pin::pin!(tool.execute(granted.permit, server.sandbox(), stage));
    let end = tokio::select! {
        biased;
        done = &mut work => return match done {
            Ok(output) if !output.is_error => Ok(output),
            // The tool was ended before this stage saw the stop: the emergency stop ends programs itself.
            _ if stop.is_cancelled() || gate.is_killed() => Err(pulled()),
            _ if cancel.is_cancelled() => Err(cancelled()),
            done => done.map_err(End::from),
        },
        () = tokio::time::sleep(time) => {
            let why = format!("the call ran longer than its {} s", time.as_secs());
            End::from(Failure::new(Code::Timeout, why).hint("ask for less at once"))
        }
        () = gate.killed() => pulled(),
        () = cancel.cancelled() => cancelled(),
    };
    // The tool ends its own work: when it has, nothing of it is left running.
    cancel.cancel();
    if tokio::time::timeout(ENDING, work).await.is_err() {
        tracing::warn!(tool = tool.spec().name, "a call did not end in time and is dropped");
    }
    Err(end)
}

fn pulled() -> End {
    End { refusal: Refusal::new(Code::Killed, "the emergency stop was pulled"), status: Status::Killed }
}

fn cancelled() -> End {
    Failure::new(Code::Cancelled, "the call was cancelled").into()
}

/// How long a cancelled call may take to end; a program's processes are dead long before.
const ENDING: Duration = Duration::from_secs(2);

/// How long a call may run. A program has a clock of its own, which names its limit, and waits for a jail no longer than that; ours only backs
/// it up.
fn time_of(gate: &CallGate, capability: &Capability, action: &Action) -> Duration {
    const BACKUP: Duration = Duration::from_secs(5);
    match action {
        Action::RunPython(_) => gate.manifest().python.timeout.max(capability.timeout) * 2 + BACKUP,
        _ => capability.timeout,
    }
}
