//! Interpreters that stay alive between calls, each in its own jail, under a handle.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, statat};
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::UnixDatagram;
use tokio::net::unix::pipe::Receiver;
use tokio_util::sync::CancellationToken;

use super::backend::{Progress, Stream};
use super::collect::sealed;
use super::ending::Ending;
use super::native::{Native, Pipes, program_file};
use super::order;
use super::outcome::{Isolation, NoRun, Outcome};
use super::report::{self, Reading, Report};
use super::spec::{JailRoot, JailSpec, Layers, Session, SessionBounds};
use super::verdict::Stop;
use super::words::{Flood, Words, collect};
use super::{harvest, link};

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
    /// What was masked when it began; the masks stand for as long as it lives.
    masked: Vec<Masked>,
    last_used: Mutex<Instant>,
    // One call at a time; a second one waits.
    state: tokio::sync::Mutex<State>,
}

#[derive(Debug)]
struct State {
    words: Words,
    talk: UnixDatagram,
    layers: Layers,
}

/// A masked entry of a root: its name, and which object it was.
#[derive(Debug, PartialEq, Eq)]
struct Masked {
    root: String,
    path: String,
    object: Option<(u64, u64)>,
}

/// Looks at what is to be masked now.
fn masked(spec: &JailSpec) -> Vec<Masked> {
    let look = |root: &JailRoot, path: &String| {
        let found = statat(&root.dir, path.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok();
        Masked { root: root.name.clone(), path: path.clone(), object: found.map(|facts| (facts.st_dev, facts.st_ino)) }
    };
    let mut all: Vec<Masked> = spec.roots.iter().flat_map(|root| root.masked.iter().map(move |path| look(root, path))).collect();
    all.sort_by(|a, b| (&a.root, &a.path).cmp(&(&b.root, &b.path)));
    all
}

/// A session may use this many times the processor time of one call before it ends.
const CALLS_OF_PROCESSOR_TIME: u32 = 20;
/// The jail's own clock for a session; the server keeps the time of each call.
const LIFE: Duration = Duration::from_hours(24 * 30);
/// How long output that is already written may take to arrive after the program has said that it is done.
const GRACE: Duration = Duration::from_millis(25);

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
        native: &Native,
        session: &Session,
        spec: &JailSpec,
        cancel: &CancellationToken,
        progress: Progress,
    ) -> Result<Outcome, NoRun> {
        let (handle, live) = match session {
            Session::New => self.open(native, spec).await?,
            Session::Known(handle) => {
                let found = self.live().get(handle).filter(|live| live.owner == spec.owner).cloned();
                let gone = |reason: &str| NoRun::Session {
                    handle: handle.clone(),
                    reason: format!("{reason}; start one with `session: \"new\"`"),
                };
                let live = found.ok_or_else(|| gone("is not known or has ended"))?;
                // A mask covers the object it was put over: a new one, or one that was put in its place, would be open to the program.
                if live.masked != masked(spec) {
                    self.live().remove(handle);
                    return Err(gone("has ended: what is denied in its folders is not what it was when it began"));
                }
                (handle.clone(), live)
            }
        };
        let mut state = live.state.lock().await;
        let made = one(native, &mut state, spec, cancel, progress).await;
        *live.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let (mut outcome, alive) = match made {
            Ok(made) => made,
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
        Ok(outcome)
    }

    async fn open(&self, native: &Native, spec: &JailSpec) -> Result<(String, Arc<Live>), NoRun> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|e| NoRun::fault("making a handle", e))?;
        let handle = format!("py_{:032x}", u128::from_be_bytes(bytes));
        let before = masked(spec);
        let (ours, theirs) = order::channel().map_err(|e| NoRun::fault("making a channel", e))?;
        let mut order = native.order(spec);
        order.limits.wall = LIFE;
        order.limits.cpu = order.limits.cpu.saturating_mul(CALLS_OF_PROCESSOR_TIME);
        let (pipes, ends) = Pipes::new()?;
        let nothing = sealed(&[])?;
        let words = native.start(spec, order, [nothing.as_fd(), ends[0].as_fd(), ends[1].as_fd(), theirs.as_fd(), ends[2].as_fd()]).await?;
        drop(pipes);
        let talk = link::asynchronous(ours).map_err(|e| NoRun::fault("making a session", e))?;
        let state = tokio::sync::Mutex::new(State { words, talk, layers: Layers::new() });
        let live = Arc::new(Live {
            owner: spec.owner.clone(),
            profile: spec.profile.clone(),
            masked: before,
            last_used: Mutex::new(Instant::now()),
            state,
        });
        {
            let mut all = self.live();
            if all.len() >= self.bounds.max {
                let reason =
                    format!("cannot be started: {} are open; go on in one of them, or wait {} s", all.len(), self.bounds.idle.as_secs());
                return Err(NoRun::Session { handle: "new".to_owned(), reason });
            }
            all.insert(handle.clone(), Arc::clone(&live));
        }
        tokio::spawn(expire(Weak::clone(&self.this), handle.clone(), self.bounds.idle));
        Ok((handle, live))
    }
}

/// Ends a session that nobody uses. Dropping its channel ends its jail.
async fn expire(sessions: Weak<Sessions>, handle: String, idle: Duration) {
    loop {
        let Some(left) = sessions.upgrade().and_then(|sessions| {
            let mut all = sessions.live();
            let live = all.get(&handle)?;
            let used = *live.last_used.lock().unwrap_or_else(PoisonError::into_inner);
            // A call that runs is use; its length is bounded by its own time.
            let busy = live.state.try_lock().is_err();
            let left = idle.saturating_sub(used.elapsed());
            if left.is_zero() && !busy {
                all.remove(&handle);
                return None;
            }
            Some(left.max(Duration::from_millis(100)))
        }) else {
            return;
        };
        tokio::time::sleep(left).await;
    }
}

/// One call in a live session; false when the session is over.
async fn one(
    native: &Native,
    state: &mut State,
    spec: &JailSpec,
    cancel: &CancellationToken,
    progress: Progress,
) -> Result<(Outcome, bool), NoRun> {
    let (began, before) = (Instant::now(), harvest::Before::look(spec.first_writable()));
    state.words.doorway().open_again(spec.network.clone());
    let (mut pipes, ends) = Pipes::new()?;
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
        let told = tokio::select! {
            told = state.words.listen(&flood, cancel, &stop) => told,
            () = tokio::time::sleep(spec.limits.wall) => {
                // INVARIANT: the reason is noted before the kill.
                stop.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(Stop::Wall(spec.limits.wall));
                let _ = state.words.socket.shutdown(std::net::Shutdown::Write);
                state.words.listen(&flood, &CancellationToken::new(), &stop).await
            }
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
            collect(&mut pipes.output, Stream::Output, &mut output, &flood, progress.as_ref()),
            collect(&mut pipes.error, Stream::Error, &mut error, &flood, progress.as_ref()),
        )
    };
    let ((), report, ()) = tokio::join!(listening, read_until_done(&mut pipes.report, &flood, &done), async {
        tokio::select! {
            _ = streams => {}
            () = late => {}
        }
    });
    let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    let alive = ended.is_none();
    if alive && state.layers.is_empty() {
        state.words.catch_up().await?;
    }
    // Between two calls nobody has allowed anything: what a program goes on doing then reaches nothing.
    state.words.doorway().close().await;
    let end = match ended {
        None => report.done.clone().unwrap_or_default(),
        Some(told) => {
            let (end, layers) = told?;
            if !layers.is_empty() {
                state.layers = layers;
            }
            end
        }
    };
    if state.layers.is_empty() {
        state.layers = state.words.take_layers();
    }
    let stop = stop.into_inner().unwrap_or_else(PoisonError::into_inner);
    let isolation = Isolation { backend: super::backend::Backend::name(native).to_owned(), layers: state.layers.clone() };
    let outcome = Ending { began, before, end, stop, report, output, error, isolation }.outcome(spec).await?;
    Ok((outcome, alive))
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
