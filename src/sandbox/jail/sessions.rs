//! Interpreters that stay alive between calls, each in its own jail, under a handle.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, Interest};
use tokio::net::UnixDatagram;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::arrears::Arrears;
use super::attempt::TRIES;
use super::backend::{Backend, Chunk, Progress, Stream};
use super::collect::sealed;
use super::ending::Ending;
use super::harvest::Seen;
use super::native::{Native, program_file};
use super::order::{self, End, Spent};
use super::outcome::{Isolation, NoRun, Outcome};
use super::report::{self, Reading, Report};
use super::spec::{JailSpec, Layers, Limits, Session, SessionBounds};
use super::standing::{Masked, Walls, masked};
use super::streams::{Pipes, collect};
use super::verdict::Stop;
use super::words::{Flood, Times, Told, Words};
use super::{harvest, link};

/// The live sessions of a backend.
#[derive(Debug)]
pub(super) struct Sessions {
    bounds: SessionBounds,
    live: Mutex<HashMap<String, Arc<Live>>>,
    arrears: Arc<Arrears>,
    this: Weak<Self>,
}

#[derive(Debug)]
struct Live {
    owner: String,
    profile: String,
    /// What was masked when it began; the masks stand for as long as it lives.
    masked: Vec<Masked>,
    /// The walls it was built with, which stand as long.
    walls: Walls,
    last_used: Mutex<Instant>,
    /// Whether it may write in a root: what is written elsewhere is not charged.
    writes: bool,
    // One call at a time; a second one waits. It is there until this is dropped.
    state: tokio::sync::Mutex<Option<State>>,
    arrears: Arc<Arrears>,
}

impl Drop for Live {
    fn drop(&mut self) {
        let (Some(State { words, talk, charged, .. }), owner) = (self.state.get_mut().take(), std::mem::take(&mut self.owner)) else {
            return;
        };
        drop(talk);
        let (arrears, writes) = (Arc::clone(&self.arrears), self.writes);
        let add = move |used: Spent| arrears.add(owner, Spent { written: if writes { used.written } else { 0 }, ..used }, charged);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return add(words.used()) };
        // Its processes are dead when the jail has said its last word, and that tells what they wrote after the last look.
        runtime.spawn(async move { add(words.used_at_last().await) });
    }
}

#[derive(Debug)]
struct State {
    words: Words,
    talk: UnixDatagram,
    layers: Layers,
    /// What its calls have told of.
    charged: Spent,
    /// Whether its processes stand still, as they do between its calls.
    stands: bool,
    /// What was seen of its roots last: what is written in them between two calls is charged to the later one.
    seen: Option<Seen>,
}

/// All callers together may have this many times the sessions of one.
const OWNERS: usize = 8;
/// A session may use this many times the processor time of one call before it ends.
const CALLS_OF_PROCESSOR_TIME: u32 = 20;
/// How often it is looked at least whether a session that is in use still is.
const LOOK: Duration = Duration::from_millis(500);
/// The table of sessions holds each of them, and so does the look at it.
const HOLDERS: usize = 2;
/// The jail's own clock for a session; the server keeps the time of each call.
const LIFE: Duration = Duration::from_hours(24 * 30);
/// How long output that is already written may take to arrive after the program has said that it is done.
const GRACE: Duration = Duration::from_millis(25);

impl Sessions {
    /// No sessions yet.
    pub(super) fn new(bounds: SessionBounds) -> Arc<Self> {
        Arc::new_cyclic(|this| Self { bounds, live: Mutex::default(), arrears: Arc::default(), this: this.clone() })
    }

    /// Ends every session.
    pub(super) fn close(&self) {
        self.live().clear();
    }

    /// The profile of each session.
    pub(super) fn profiles(&self) -> Vec<String> {
        self.live().values().map(|live| live.profile.clone()).collect()
    }

    /// What is still to be charged to a caller for sessions that are over; it is not told again.
    pub(super) fn take_arrears(&self, owner: &str) -> Spent {
        self.arrears.all().remove(owner).unwrap_or_default()
    }

    fn live(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one call in a session, new or known.
    ///
    /// # Errors
    /// [`NoRun::Session`] for a handle that is not the owner's or has ended, or when there are too many; the rest as for any call.
    pub(super) async fn call(
        &self,
        native: &Native,
        session: &Session,
        spec: &JailSpec,
        cancel: &CancellationToken,
        progress: Progress,
    ) -> Result<Outcome, NoRun> {
        let began = Instant::now();
        let mut tries = 0;
        loop {
            tries += 1;
            let (handle, live) = match session {
                Session::New => match self.open(native, spec, cancel).await? {
                    Ok(opened) => opened,
                    Err(stop) => return Ending::unbegun(began, stop, native.name()).await,
                },
                Session::Known(handle) => (handle.clone(), self.known(native, handle, spec)?),
            };
            let waiting = tokio::select! {
                biased;
                state = live.state.lock() => Ok(state),
                () = cancel.cancelled() => Err(Stop::Cancelled),
                () = tokio::time::sleep(spec.limits.wall) => Err(Stop::Busy(spec.limits.wall)),
            };
            let mut state = match waiting {
                Ok(state) => state,
                Err(stop) => {
                    let mut outcome = Ending::unbegun(began, stop, native.name()).await?;
                    outcome.session = Some(handle);
                    return Ok(outcome);
                }
            };
            let made = match state.as_mut() {
                Some(state) => one(native, state, spec, cancel, progress.as_ref()).await,
                None => Ok(Made::Unbegun(None)),
            };
            *live.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            let (mut outcome, alive) = match made {
                Ok(Made::Over(outcome, alive)) => (*outcome, alive),
                Ok(Made::Unbegun(stop)) => {
                    self.live().remove(&handle);
                    if stop.is_none() && tries < TRIES {
                        continue;
                    }
                    (Ending::unbegun(began, stop.unwrap_or(Stop::NeverBegun), native.name()).await?, false)
                }
                Err(no_run) => {
                    self.live().remove(&handle);
                    return Err(no_run);
                }
            };
            if alive {
                outcome.session = Some(handle);
            } else {
                self.live().remove(&handle);
                let why = outcome.evidence.take().map(|why| format!("{why}; ")).unwrap_or_default();
                outcome.evidence = Some(format!("{why}the session has ended and its variables are gone"));
            }
            return Ok(outcome);
        }
    }

    /// The live session with this handle.
    fn known(&self, native: &Native, handle: &str, spec: &JailSpec) -> Result<Arc<Live>, NoRun> {
        let found = self.live().get(handle).filter(|live| live.owner == spec.owner).cloned();
        let Some(live) = found else {
            return Err(gone(handle, "is not known or has ended"));
        };
        // A mask covers the object it was put over: a new one, or one that was put in its place, would be open to the program.
        if live.masked != masked(spec) {
            self.live().remove(handle);
            return Err(gone(handle, "has ended: what is denied in its folders is not what it was when it began"));
        }
        if !live.walls.are(&Walls::of(native, spec)) {
            self.live().remove(handle);
            let why = "has ended: the manifest gives its programs other roots, limits or rights by now, or the folders are others";
            return Err(gone(handle, why));
        }
        Ok(live)
    }

    /// Ends a session that no call has used for so long; else how long it may be until the next look. None where it is over.
    fn look_at(&self, handle: &str, idle: Duration) -> Option<Duration> {
        let live = self.live().get(handle).cloned()?;
        // A call that runs is use; its length is bounded by its own time.
        let is_used = live.state.try_lock().is_err();
        let mut all = self.live();
        let left = idle.saturating_sub(live.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed());
        // Any other holder is a call that waits for its turn.
        if left.is_zero() && !is_used && Arc::strong_count(&live) <= HOLDERS {
            all.remove(handle);
            return None;
        }
        Some(left.max(LOOK))
    }

    /// Why this caller may have no further session.
    fn fullness(&self, all: &HashMap<String, Arc<Live>>, owner: &str) -> Option<String> {
        let (own, idle) = (all.values().filter(|live| live.owner == owner).count(), self.bounds.idle.as_secs());
        if own >= self.bounds.max {
            return Some(format!("cannot be started: {own} are open; go on in one of them, or wait {idle} s"));
        }
        let is_full = all.len() >= self.bounds.max.saturating_mul(OWNERS);
        is_full.then(|| format!("cannot be started: other callers have as many open as there may be; wait, at most {idle} s"))
    }

    /// A new session, or why it was given up while it waited.
    async fn open(&self, native: &Native, spec: &JailSpec, cancel: &CancellationToken) -> Result<Result<(String, Arc<Live>), Stop>, NoRun> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|e| NoRun::fault("making a handle", e))?;
        let handle = format!("py_{:032x}", u128::from_be_bytes(bytes));
        let before = masked(spec);
        let (ours, theirs) = order::channel().map_err(|e| NoRun::fault("making a channel", e))?;
        let cpu = spec.limits.cpu.saturating_mul(CALLS_OF_PROCESSOR_TIME);
        let order = native.order(&JailSpec { limits: Limits { wall: LIFE, cpu, ..spec.limits }, ..spec.clone() })?;
        let (pipes, ends) = Pipes::new()?;
        let nothing = sealed(&[])?;
        let (stop, wall) = (Mutex::new(None), spec.limits.wall);
        let streams = [nothing.as_fd(), ends[0].as_fd(), ends[1].as_fd(), theirs.as_fd(), ends[2].as_fd()];
        let Some(words) = native.start_in_time(spec, &order, streams, cancel, &stop, wall).await? else {
            return Ok(Err(stop.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or(Stop::Waited(wall))));
        };
        drop(pipes);
        let talk = link::asynchronous(ours).map_err(|e| NoRun::fault("making a session", e))?;
        let state = tokio::sync::Mutex::new(Some(State {
            words,
            talk,
            layers: Layers::new(),
            charged: Spent::default(),
            stands: false,
            seen: None,
        }));
        let live = Arc::new(Live {
            owner: spec.owner.clone(),
            profile: spec.profile.clone(),
            masked: before,
            walls: Walls::of(native, spec),
            last_used: Mutex::new(Instant::now()),
            writes: spec.writable().next().is_some(),
            state,
            arrears: Arc::clone(&self.arrears),
        });
        {
            let mut all = self.live();
            if let Some(reason) = self.fullness(&all, &spec.owner) {
                return Err(NoRun::Session { handle: "new".to_owned(), reason });
            }
            all.insert(handle.clone(), Arc::clone(&live));
        }
        tokio::spawn(expire(Weak::clone(&self.this), handle.clone(), self.bounds.idle));
        Ok(Ok((handle, live)))
    }
}

/// The refusal of a call in a session that is not there any more, with the way on.
fn gone(handle: &str, reason: &str) -> NoRun {
    NoRun::Session { handle: shown(handle), reason: format!("{reason}; start one with `session: \"new\"`") }
}

/// A handle as it is said back: what has not the form of one may be a text of any length.
fn shown(handle: &str) -> String {
    let is_one = handle.strip_prefix("py_").is_some_and(|rest| rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_one { handle.to_owned() } else { crate::filter::escape_line(&handle.chars().take(40).collect::<String>()).into_owned() }
}

/// Ends a session that no call uses. Dropping its channel ends its jail.
async fn expire(sessions: Weak<Sessions>, handle: String, idle: Duration) {
    while let Some(left) = sessions.upgrade().and_then(|sessions| sessions.look_at(&handle, idle)) {
        tokio::time::sleep(left).await;
    }
}

impl State {
    /// The processor time of a call in milliseconds: what its interpreter said of the call, or the jail at the end of the session's whole life; and
    /// what the jail told meanwhile, which no program has a say in.
    fn charge(&mut self, said: u64, alive: bool) -> u64 {
        let whole = if alive { self.charged.cpu_ms.saturating_add(said) } else { said };
        let used = whole.max(self.words.used().cpu_ms).saturating_sub(self.charged.cpu_ms);
        self.charged.cpu_ms = self.charged.cpu_ms.saturating_add(used);
        used
    }
}

/// What came of a call in a session.
enum Made {
    /// It was made; false when the session is over.
    Over(Box<Outcome>, bool),
    /// The session's interpreter never began.
    Unbegun(Option<Stop>),
}

/// One call in a live session.
async fn one(
    native: &Native,
    state: &mut State,
    spec: &JailSpec,
    cancel: &CancellationToken,
    progress: Option<&mpsc::Sender<Chunk>>,
) -> Result<Made, NoRun> {
    let (began, before) = (Instant::now(), harvest::Before::look(spec.writable(), state.seen.take()));
    if std::mem::take(&mut state.stands) {
        state.words.go_on();
    }
    state.words.doorway().open_again(spec.network.clone());
    let (pipes, ends) = Pipes::new()?;
    let [printed, complained, mut said] = pipes.receivers()?;
    let stdin = sealed(&[&spec.stdin])?;
    let program = program_file(native, spec)?;
    {
        let fds: [BorrowedFd<'_>; 5] = [stdin.as_fd(), ends[0].as_fd(), ends[1].as_fd(), program.as_fd(), ends[2].as_fd()];
        let sent = state.talk.async_io(Interest::WRITABLE, || order::send_bytes(state.talk.as_fd(), b"run", &fds)).await;
        // A session whose process is gone says so itself, below.
        let _ = sent;
    }
    drop((ends, stdin, program));
    let (flood, stop) = (Flood::new(spec.limits.output), Mutex::new(None));
    let (done, ended) = (CancellationToken::new(), Mutex::new(None));
    let listening = async {
        // The time of the call is kept here: the jail's own clock is the session's.
        let times = Times { wait: spec.limits.wall, run: spec.limits.wall, cpu: Some(spec.limits.cpu) };
        let told = tokio::select! {
            // First: what the jail has seen of a failure is said before the program goes on to say that it is done.
            biased;
            told = state.words.listen(&flood, cancel, &stop, times) => told,
            () = done.cancelled() => return,
        };
        *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        done.cancel();
    };
    let late = async {
        done.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    let most = spec.limits.output;
    let (mut output, mut error) = (super::collect::Kept::new(most), super::collect::Kept::new(most));
    let streams = async {
        tokio::join!(
            collect(&printed, Stream::Output, &mut output, &flood, progress),
            collect(&complained, Stream::Error, &mut error, &flood, progress),
        )
    };
    let ((), report, ()) = tokio::join!(listening, read_until_done(&mut said, &flood, &done), async {
        tokio::select! {
            _ = streams => {}
            () = late => {}
        }
    });
    let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Between two calls nothing was allowed, looked at or charged: nothing of the session runs then.
    state.stands = ended.is_none() && state.words.stand().await;
    let alive = state.stands;
    if alive && state.layers.is_empty() {
        state.words.catch_up().await?;
    }
    // Between two calls nobody has allowed anything: what a program goes on doing then reaches nothing.
    state.words.doorway().close().await;
    let mut end = match ended {
        None => End { reached: Box::new(state.words.take_reached()), ..report.done.clone().unwrap_or_default() },
        Some(told) => {
            let (end, layers) = match told? {
                Told::Ended(end, layers) => (end, layers),
                Told::Lost(layers) => (End::default(), layers),
                Told::Silent(layers) => {
                    native.leave(state.words.sent()).await;
                    (End::default(), layers)
                }
                unbegun => {
                    if matches!(unbegun, Told::Untaken) {
                        native.leave(state.words.sent()).await;
                    }
                    return Ok(Made::Unbegun(stop.into_inner().unwrap_or_else(PoisonError::into_inner)));
                }
            };
            if !layers.is_empty() {
                state.layers = layers;
            }
            end
        }
    };
    end.crowd = end.crowd.or_else(|| state.words.crowd());
    if state.layers.is_empty() {
        state.layers = state.words.take_layers();
    }
    end.usage.cpu_ms = state.charge(end.usage.cpu_ms, alive);
    let stop = stop.into_inner().unwrap_or_else(PoisonError::into_inner);
    let isolation = Isolation { backend: native.name().to_owned(), layers: state.layers.clone() };
    let in_all = std::mem::take(&mut end.written);
    let (mut outcome, seen) = Ending { began, before, end, stop, report, output, error, isolation }.outcome_and_seen(spec).await?;
    if spec.writable().next().is_some() {
        let counted = in_all.max(state.words.used().written);
        outcome.bytes_written = state.charged.charge_written(outcome.bytes_written, counted);
    }
    state.seen = Some(seen);
    Ok(Made::Over(Box::new(outcome), alive))
}

/// Reads a report until it says that the program is done, or its writer is gone.
async fn read_until_done(from: &mut Receiver, flood: &Flood, done: &CancellationToken) -> Report {
    let mut reading = Reading::default();
    let mut buffer = vec![0_u8; 16 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            () = done.cancelled() => return reading.end(),
        };
        let Some(new) = read.ok().and_then(|count| buffer.get(..count)).filter(|new| !new.is_empty()) else { return reading.end() };
        if reading.take(new) {
            flood.ran_over(report::FLOOD);
        }
        if reading.is_done() {
            done.cancel();
            return reading.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_a_session_that_is_over_is_told_why_and_the_way_on() {
        let handle = format!("py_{:032x}", 7);
        let told = gone(&handle, "has ended: it went on").to_string();
        assert!(told.contains(&handle) && told.contains("it went on; start one with `session: \"new\"`"), "{told}");
    }
}
