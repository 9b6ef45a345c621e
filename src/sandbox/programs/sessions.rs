//! Interpreters that stay alive between calls, each in its own jail, under a handle. Between two calls every process of one stands still.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use tokio_util::sync::CancellationToken;
use toolgate_jail::{Backend, End, Layers, Running, Spec, Usage};

use super::call::{self, Ending, Serving, drive};
use super::harvest::Before;
use super::outcome::{NoRun, Outcome};
use super::spec::{JailRoot, JailSpec, Session, SessionBounds};
use super::streams::{Progress, Streams};
use super::verdict::Stop;
use crate::sandbox::below;
use crate::sandbox::files::Stat;

/// The live sessions of a backend.
#[derive(Debug)]
pub(super) struct Sessions {
    bounds: SessionBounds,
    live: Mutex<HashMap<String, Arc<Live>>>,
    this: Weak<Self>,
}

#[derive(Debug)]
struct Live {
    owner: String,
    profile: String,
    /// What is denied in its folders, and which objects that is: the covers stand for as long as it lives.
    covered: String,
    /// The walls it was built with, which stand as long.
    walls: String,
    last_used: Mutex<Instant>,
    // One call at a time; a second one waits.
    state: tokio::sync::Mutex<Option<State>>,
}

#[derive(Debug)]
struct State {
    running: Box<dyn Running>,
    gateway: Option<OwnedFd>,
    /// What its calls have been charged.
    used: Usage,
    written: u64,
}

/// All callers together may have this many times the sessions of one.
const OWNERS: usize = 8;
/// How often it is looked at least whether a session that is in use still is.
const LOOK: Duration = Duration::from_millis(500);
/// The table of sessions holds each of them, and so does the look at it.
const HOLDERS: usize = 2;

impl Sessions {
    /// No sessions yet.
    pub(super) fn new(bounds: SessionBounds) -> Arc<Self> {
        Arc::new_cyclic(|this| Self { bounds, live: Mutex::default(), this: this.clone() })
    }

    /// Ends every session.
    pub(super) fn close(&self) {
        self.live().clear();
    }

    /// The profile of each session.
    pub(super) fn profiles(&self) -> Vec<String> {
        self.live().values().map(|live| live.profile.clone()).collect()
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
        backend: &dyn Backend,
        (session, spec, jail): (&Session, &JailSpec, &Spec),
        cancel: &CancellationToken,
        progress: &Progress,
    ) -> Result<Outcome, NoRun> {
        let (handle, live) = match session {
            Session::New => self.open(spec, jail)?,
            Session::Known(handle) => (handle.clone(), self.known(handle, spec, jail)?),
        };
        let began = Instant::now();
        let ending =
            Ending { began, before: Before::default(), end: End::default(), stop: None, streams: None, backend, layers: Layers::new() };
        let waiting = tokio::select! {
            biased;
            state = live.state.lock() => Ok(state),
            () = cancel.cancelled() => Err(Stop::Cancelled),
            () = tokio::time::sleep(spec.limits.wall) => Err(Stop::Busy(spec.limits.wall)),
        };
        let mut state = match waiting {
            Ok(state) => state,
            Err(stop) => {
                let outcome = Ending { stop: Some(stop), ..ending }.outcome(spec).await?;
                return Ok(Outcome { session: Some(handle), ..outcome });
            }
        };
        if matches!(session, Session::Known(_)) && state.is_none() {
            return Err(gone(&handle, "is not known or has ended"));
        }
        let made = one(ending, &mut state, (spec, jail), cancel, progress).await;
        *live.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        if state.is_none() {
            self.live().remove(&handle);
        }
        let mut outcome = made?;
        if state.is_some() {
            outcome.session = Some(handle);
        } else {
            let why = outcome.evidence.take().map(|why| format!("{why}; ")).unwrap_or_default();
            outcome.evidence = Some(format!("{why}the session has ended and its variables are gone"));
        }
        Ok(outcome)
    }

    /// The live session with this handle.
    fn known(&self, handle: &str, spec: &JailSpec, jail: &Spec) -> Result<Arc<Live>, NoRun> {
        let found = self.live().get(handle).filter(|live| live.owner == spec.owner).cloned();
        let live = found.ok_or_else(|| gone(handle, "is not known or has ended"))?;
        // A cover lies over an object: a new one, or one that was put in its place, would be open to the program.
        let why = if live.covered != covered(spec) {
            "has ended: what is denied in its folders is not what it was when it began"
        } else if live.walls != walls(jail) {
            "has ended: the manifest gives its programs other roots, limits or rights by now, or the folders are others"
        } else {
            return Ok(live);
        };
        self.live().remove(handle);
        Err(gone(handle, why))
    }

    /// A new session, whose interpreter is not there yet.
    fn open(&self, spec: &JailSpec, jail: &Spec) -> Result<(String, Arc<Live>), NoRun> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|e| NoRun::fault("making a handle", e))?;
        let handle = format!("py_{:032x}", u128::from_be_bytes(bytes));
        let live = Arc::new(Live {
            owner: spec.owner.clone(),
            profile: spec.profile.clone(),
            covered: covered(spec),
            walls: walls(jail),
            last_used: Mutex::new(Instant::now()),
            state: tokio::sync::Mutex::default(),
        });
        let mut all = self.live();
        let (own, idle) = (all.values().filter(|live| live.owner == spec.owner).count(), self.bounds.idle.as_secs());
        let full = if own >= self.bounds.max {
            Some(format!("cannot be started: {own} are open; go on in one of them, or wait {idle} s"))
        } else {
            let is_full = all.len() >= self.bounds.max.saturating_mul(OWNERS);
            is_full.then(|| format!("cannot be started: other callers have as many open as there may be; wait, at most {idle} s"))
        };
        if let Some(reason) = full {
            return Err(NoRun::Session { handle: "new".to_owned(), reason });
        }
        all.insert(handle.clone(), Arc::clone(&live));
        drop(all);
        tokio::spawn(expire(Weak::clone(&self.this), handle.clone(), self.bounds.idle));
        Ok((handle, live))
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
}

/// Ends a session that no call uses.
async fn expire(sessions: Weak<Sessions>, handle: String, idle: Duration) {
    while let Some(left) = sessions.upgrade().and_then(|sessions| sessions.look_at(&handle, idle)) {
        tokio::time::sleep(left).await;
    }
}

/// The refusal of a call in a session that is not there any more, with the way on. A text that has not the form of a handle may be of any length.
fn gone(handle: &str, reason: &str) -> NoRun {
    let is_one = handle.strip_prefix("py_").is_some_and(|rest| rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let handle =
        if is_one { handle.to_owned() } else { crate::filter::escape_line(&handle.chars().take(40).collect::<String>()).into_owned() };
    NoRun::Session { handle, reason: format!("{reason}; start one with `session: \"new\"`") }
}

/// What is denied in the folders of a call, and which objects that is now.
fn covered(spec: &JailSpec) -> String {
    let look = |root: &JailRoot, path: &str| below::open(&root.dir, path, OFlags::PATH).and_then(Stat::of).ok().map(|seen| seen.object());
    let mut all: Vec<_> = spec
        .roots
        .iter()
        .flat_map(|root| root.masked.iter().map(move |cover| (&root.name, &cover.path, look(root, &cover.path))))
        .collect();
    all.sort();
    format!("{all:?}")
}

/// The walls that a call asks for, and which folders its roots are. Its time and what is left of an hour's processor time differ from call to call.
fn walls(jail: &Spec) -> String {
    let folders = jail.folders.iter().map(|folder| {
        let object = Stat::of(&folder.dir).ok().map(|seen| seen.object());
        (&folder.name, folder.writable, folder.unnamed, object)
    });
    let folders: Vec<_> = folders.collect();
    let limits = toolgate_jail::Limits { wall: Duration::ZERO, cpu: Duration::ZERO, ..jail.limits };
    // The last argument names what is imported ahead, which is no wall.
    let arguments = jail.arguments.split_last().map(|(_, others)| others);
    format!("{:?}", (arguments, &jail.environment, &jail.shown, &jail.links, folders, limits, &jail.require, jail.network))
}

/// One call in a session. `state` is none before the first, and when the session is over.
async fn one(
    mut ending: Ending<'_>,
    state: &mut Option<State>,
    (spec, jail): (&JailSpec, &Spec),
    cancel: &CancellationToken,
    progress: &Progress,
) -> Result<Outcome, NoRun> {
    ending.before = Before::look(spec.writable());
    let (streams, io) = call::streams(spec)?;
    let mut live = match state.take() {
        Some(mut live) => {
            // One that is gone says so itself, below.
            let _ = live.running.feed(jail, io).await;
            live
        }
        None => match call::start(ending.backend, spec, jail, io, cancel).await? {
            Ok(mut running) => State { gateway: running.gateway(), running, used: Usage::default(), written: 0 },
            Err(stop) => {
                ending.stop = Some(stop);
                return ending.outcome(spec).await;
            }
        },
    };
    let serving = Serving::begin(spec.network.as_ref(), live.gateway.as_ref());
    let seen = drive(&mut *live.running, streams, spec, cancel, progress).await;
    // Between two calls nothing is allowed, looked at or charged: nothing of the session runs then.
    let paused = if seen.end.is_none() { live.running.pause().await } else { None };
    serving.end().await;
    let (mut usage, mut written) = (Usage::default(), 0);
    match (paused, &seen.end) {
        (Some(paused), _) => (usage, written) = paused,
        (None, Some(end)) => (usage, written) = (end.usage, end.written),
        (None, None) => {}
    }
    ending.layers = live.running.layers().clone();
    (ending.stop, ending.streams) = (seen.stop, Some(seen.streams));
    ending.end = seen.end.unwrap_or_default();
    // What all its processes used since the last call was charged.
    ending.end.usage = Usage { cpu_ms: usage.cpu_ms.saturating_sub(live.used.cpu_ms), ..usage };
    ending.end.written = written.saturating_sub(live.written);
    if paused.is_some() {
        (live.used, live.written) = (usage, written);
        *state = Some(live);
    }
    if state.is_some() {
        ending.end.exit = ending.streams.as_ref().and_then(Streams::done);
    }
    ending.outcome(spec).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_a_session_that_is_over_is_refused_with_why_and_the_way_on() {
        let handle = format!("py_{:032x}", 7);
        let said = gone(&handle, "has ended: it went on").to_string();
        assert!(said.contains(&handle) && said.contains("it went on; start one with `session: \"new\"`"), "{said}");
    }
}
