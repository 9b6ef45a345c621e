//! What decides on the calls of one server, and its view for one call: the manifest of that moment with the counts, grants and switches all calls share.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::counts::Counts;
use super::grants::Grants;
use super::open::OpenQuestions;
use super::pending::hex;
use super::queue::Queue;
use super::rates::{Meter, Millis};
use super::taint::Taint;
use crate::manifest::Manifest;
use crate::model::{Code, Refusal};
use crate::state::{StateDir, Store, Tick, Ticks};

/// What decides on the calls of one server.
#[derive(Debug)]
pub struct Gate {
    manifest: RwLock<Arc<Manifest>>,
    shared: Arc<Shared>,
}

/// What all calls share, whatever manifest they began under.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) state: Arc<StateDir>,
    pub(super) counts: Arc<Counts>,
    pub(super) store: Arc<Store>,
    ticks: Ticks,
    pub(super) grants: Grants,
    pub(super) open: OpenQuestions,
    pub(super) taint: Mutex<Taint>,
    queue: Queue,
    slots: Mutex<HashMap<String, Arc<Semaphore>>>,
    stop: Mutex<CancellationToken>,
    begun: Instant,
    /// Whether a refusal was counted for a session of its own, so that it has to be looked at.
    pub(super) has_refused_sessions: AtomicBool,
}

/// How often the emergency stop is looked at while something waits or runs.
const LOOK: Duration = Duration::from_millis(20);

/// The way of one call through the gate.
#[derive(Debug)]
pub struct CallGate {
    pub(super) manifest: Arc<Manifest>,
    pub(super) manifest_sha256: String,
    pub(super) shared: Arc<Shared>,
    made: Instant,
}

impl Gate {
    /// A gate that judges by this manifest and keeps its marks in this state folder.
    /// # Errors  When what the folder's servers share cannot be opened.
    pub fn new(manifest: Manifest, state: Arc<StateDir>) -> std::io::Result<Self> {
        Self::with_ticks(manifest, state, Ticks::of_this_machine())
    }

    /// The same by another clock.
    /// # Errors  As [`new`](Self::new).
    pub fn with_ticks(manifest: Manifest, state: Arc<StateDir>, ticks: Ticks) -> std::io::Result<Self> {
        let store = Arc::new(Store::with_ticks(&state, ticks.clone())?);
        let shared = Shared {
            grants: Grants::new(Arc::clone(&store)),
            counts: Arc::new(Counts::new(ticks.clone())),
            store,
            ticks,
            state,
            open: OpenQuestions::default(),
            taint: Mutex::default(),
            queue: Queue::default(),
            slots: Mutex::default(),
            stop: Mutex::default(),
            begun: Instant::now(),
            has_refused_sessions: AtomicBool::new(false),
        };
        Ok(Self { manifest: RwLock::new(Arc::new(manifest)), shared: Arc::new(shared) })
    }

    /// Where calls that change the same wait for each other.
    pub fn queue(&self) -> &Queue {
        &self.shared.queue
    }

    /// What counts requests below the gate.
    pub fn meter(&self) -> Meter {
        Meter(Arc::clone(&self.shared.counts))
    }

    /// The state folder.
    pub fn state(&self) -> &StateDir {
        &self.shared.state
    }

    /// What time it is.
    pub fn tick(&self) -> Tick {
        self.shared.ticks.now()
    }

    /// Removes questions, marks, grants and suspensions that nobody can use any more.
    /// # Errors  When a folder cannot be listed.
    pub fn sweep(&self) -> std::io::Result<()> {
        self.shared.store.sweep();
        self.shared.state.sweep(self.tick())
    }

    /// The manifest in force.
    pub fn manifest(&self) -> Arc<Manifest> {
        Arc::clone(&self.manifest.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another manifest in force.
    pub fn put(&self, manifest: Manifest) {
        *self.manifest.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(manifest);
    }

    /// Whether the manifest of this call is still the one in force.
    pub fn is_current(&self, gate: &CallGate) -> bool {
        self.manifest().sha256 == gate.manifest.sha256
    }

    /// The gate for one call: the manifest of this moment holds for the whole of it.
    pub fn for_call(&self) -> CallGate {
        let manifest = self.manifest();
        CallGate { manifest_sha256: hex(&manifest.sha256), manifest, shared: Arc::clone(&self.shared), made: Instant::now() }
    }

    /// Forgets what hangs on a session.
    pub fn end_session(&self, session: &str) {
        self.shared.grants.end_session(session);
        lock(&self.shared.taint).end_session(session);
        lock(&self.shared.slots).retain(|key, _| key.split_once('\0').is_none_or(|(_, owner)| owner != session));
    }

    /// Ends every running call at once; later calls get a new token and are refused by the kill switch.
    pub fn stop_everything(&self) {
        let mut stop = lock(&self.shared.stop);
        stop.cancel();
        *stop = CancellationToken::new();
    }
}

impl Shared {
    /// Milliseconds on the server's own clock.
    pub(super) fn now(&self) -> Millis {
        Millis::try_from(self.begun.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }
}

impl CallGate {
    /// The manifest that holds for this call.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// Whether it was made a moment ago: what was looked at for it then (the manifest, the emergency stop) is as fresh as another look.
    pub fn is_new(&self) -> bool {
        self.made.elapsed() < LOOK / 2
    }

    /// Its digest in hex.
    pub fn manifest_sha256(&self) -> &str {
        &self.manifest_sha256
    }

    /// What time it is.
    pub(super) fn tick(&self) -> Tick {
        self.shared.ticks.now()
    }

    /// Cancelled when the kill switch is pulled.
    pub fn stop(&self) -> CancellationToken {
        lock(&self.shared.stop).clone()
    }

    /// Whether the kill switch is on.
    pub fn is_killed(&self) -> bool {
        self.shared.state.is_killed()
    }

    /// Resolves when the kill switch is pulled: in this process, or by whoever shares the state folder.
    pub async fn killed(&self) {
        let stop = self.stop();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK) => if self.is_killed() { return },
            }
        }
    }

    /// Waits for something, unless the kill switch is pulled meanwhile.
    /// # Errors  `killed`.
    pub(super) async fn until_killed<T>(&self, work: impl Future<Output = T>) -> Result<T, Refusal> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.killed() => Err(Refusal::new(Code::Killed, "the emergency stop was switched on while a person was being asked")),
        }
    }

    /// One of the session's places for running calls; waits for one. None where there can never be one.
    pub async fn slot(&self, session: &str, most: u64) -> Option<OwnedSemaphorePermit> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        // Another number of places, after the manifest changed, is another key: those under way keep the places they have.
        let key = format!("{most}\0{session}");
        let slots = Arc::clone(lock(&self.shared.slots).entry(key).or_insert_with(|| Arc::new(Semaphore::new(most))));
        if most == 0 { None } else { slots.acquire_owned().await.ok() }
    }
}

/// A lock whose holder panicked still guards plain counts: they are used as they are.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
