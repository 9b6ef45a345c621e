//! The server's end of the spawner: started when it is first needed, and again when it has died.

#![expect(clippy::disallowed_methods, reason = "here our own program is started as the jail process")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use super::inside::JAIL_ARGUMENT;
use super::order::{self, Order};
use super::outcome::NoRun;
use super::spec::Settings;
use super::tally::{self, Pooled};

/// The way to the spawner.
#[derive(Debug)]
pub(super) struct Link {
    helper: PathBuf,
    early: Early,
    running: Mutex<Option<Arc<Running>>>,
}

/// A spawner that was started before there is anything to do for it: it starts while the interpreter is looked for. The first way to a spawner that
/// needs one takes it.
#[derive(Debug, Clone, Default)]
pub struct Early(Arc<std::sync::Mutex<Option<Running>>>);

impl Early {
    /// Starts one, in a runtime. Where that fails, the one that is started when it is needed says why.
    pub(super) fn start(helper: &Path) -> Self {
        Self(Arc::new(std::sync::Mutex::new(Running::start(helper).ok())))
    }

    /// Ends it, where nothing has taken it, and waits until it is gone.
    pub(super) async fn end(&self) {
        if let Some(running) = self.take() {
            running.end().await;
        }
    }

    fn take(&self) -> Option<Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A spawner. It ends when nobody holds it any more: closing the socket ends it, and it ends and clears away what it started.
#[derive(Debug)]
struct Running {
    socket: OwnedFd,
    child: Mutex<Child>,
    tally: OwnedFd,
    /// Orders that were handed over.
    sent: AtomicU64,
    /// How many it had taken when that was looked at last, and since when they were no more.
    progress: std::sync::Mutex<(u64, Instant)>,
    /// It did nothing any more, and will not end by itself.
    hung: AtomicBool,
}

impl Running {
    fn start(helper: &Path) -> Result<Self, NoRun> {
        let (ours, theirs) = order::channel().map_err(|e| NoRun::fault("making a channel", e))?;
        let mut command = Command::new(helper);
        command.arg(JAIL_ARGUMENT).env_clear().current_dir("/");
        // It has nothing to print: its standard output is the file of its tally.
        let tally = tally::file().map_err(|e| NoRun::fault("making a file", e))?;
        let copy = tally.try_clone().map_err(|e| NoRun::fault("making a file", e))?;
        command.stdin(Stdio::from(theirs)).stdout(Stdio::from(copy)).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| NoRun::fault("starting the spawner", e))?;
        rustix::io::ioctl_fionbio(&ours, true).map_err(|e| NoRun::fault("talking to the spawner", e))?;
        Ok(Self {
            socket: ours,
            child: Mutex::new(child),
            tally,
            sent: AtomicU64::new(0),
            progress: std::sync::Mutex::new((0, Instant::now())),
            hung: AtomicBool::new(false),
        })
    }

    /// Has it end with all it started, and waits until it is gone. Calls that are still under way may hold it; their end is heard by their inits.
    async fn end(&self) {
        const PATIENCE: Duration = Duration::from_millis(500);
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
        let mut child = self.child.lock().await;
        if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
            tracing::warn!("the spawner did not end in time, and is killed");
            let _ = child.kill().await;
        }
    }

    /// Whether orders lie there that it does not take.
    fn takes_nothing(&self) -> bool {
        let (taken, now) = (tally::taken(&self.tally), Instant::now());
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.0 != taken || taken >= self.sent.load(Ordering::Relaxed) {
            *progress = (taken, now);
        }
        now.duration_since(progress.1) > HUNG
    }

    async fn hand_over(&self, order: &Order, fds: &[BorrowedFd<'_>]) -> std::io::Result<()> {
        let send = |socket: &OwnedFd| order::send_order(socket.as_fd(), order, fds);
        match send(&self.socket) {
            Err(full) if full.kind() == std::io::ErrorKind::WouldBlock => {}
            done => return done,
        }
        // Watched only where there is no room: who watches is woken whenever an order is taken.
        loop {
            match self.socket.try_clone().and_then(asynchronous) {
                Ok(socket) => return socket.async_io(Interest::WRITABLE, || send(&self.socket)).await,
                // No descriptor is left for that, which is no fault of the spawner's.
                Err(_) => tokio::time::sleep(UNWATCHED).await,
            }
            match send(&self.socket) {
                Err(full) if full.kind() == std::io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    fn is_hung(&self) {
        tracing::warn!("the spawner takes no orders; another is started");
        self.hung.store(true, Ordering::Relaxed);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.hung.load(Ordering::Relaxed) {
            // What it started dies with it.
            let _ = self.child.get_mut().start_kill();
        }
    }
}

/// An order that was handed over. It keeps its spawner.
#[derive(Debug)]
pub(super) struct Sent {
    to: Arc<Running>,
    number: u64,
}

impl Sent {
    /// Whether the spawner has taken it.
    pub(super) fn is_taken(&self) -> bool {
        tally::taken(&self.to.tally) >= self.number
    }
}

impl Link {
    /// A way to a spawner, which is the one that was started early or will be started with the first order.
    pub(super) fn new(settings: &Settings) -> Self {
        Self { helper: settings.helper.clone(), early: settings.early.clone(), running: Mutex::new(None) }
    }

    /// Hands one order over; a spawner that is gone, or takes nothing any more, is started anew, once. Nothing is lost where this is given up.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) async fn send(&self, order: &Order, fds: &[BorrowedFd<'_>]) -> Result<Sent, NoRun> {
        let mut running = self.running.lock().await;
        let mut last = String::new();
        for _ in 0..2 {
            let link = match &*running {
                Some(link) if !link.takes_nothing() => Arc::clone(link),
                old => {
                    if let Some(old) = old {
                        old.is_hung();
                    }
                    let started = match self.early.take() {
                        Some(early) => early,
                        None => Running::start(&self.helper)?,
                    };
                    Arc::clone(running.insert(Arc::new(started)))
                }
            };
            match tokio::time::timeout(HUNG, link.hand_over(order, fds)).await {
                Ok(Ok(())) => {
                    let number = link.sent.fetch_add(1, Ordering::Relaxed) + 1;
                    return Ok(Sent { to: link, number });
                }
                Ok(Err(e)) => last = e.to_string(),
                Err(_) => {
                    link.is_hung();
                    "it takes no orders".clone_into(&mut last);
                }
            }
            *running = None;
        }
        Err(NoRun::fault("handing over the order", last))
    }

    /// Does without the spawner that did not take this order in all that time; the next order starts another. Programs that the old one started
    /// run on, for their inits keep the time, and it is killed after the last of them.
    pub(super) async fn leave(&self, sent: &Sent) {
        let mut running = self.running.lock().await;
        if running.as_ref().is_some_and(|running| Arc::ptr_eq(running, &sent.to)) {
            sent.to.is_hung();
            *running = None;
        }
    }

    /// What waits in the spawner; nothing where it is not running.
    pub(super) async fn tally(&self) -> Vec<Pooled> {
        self.running.lock().await.as_ref().map_or_else(Vec::new, |running| tally::read(&running.tally))
    }

    /// Ends the spawner with all it started and waits until it is gone: nothing of it outlives the server.
    pub(super) async fn close(&self) {
        let running = self.running.lock().await.take();
        if let Some(running) = running {
            running.end().await;
        }
        self.early.end().await;
    }
}

/// So long a spawner may take to take an order; it has nothing to do that takes a tenth of that.
pub(super) const HUNG: Duration = Duration::from_secs(2);
/// Between two looks at a socket that cannot be watched.
const UNWATCHED: Duration = Duration::from_millis(1);

/// A channel for the runtime.
///
/// # Errors
/// The error of the system.
pub(super) fn asynchronous(channel: OwnedFd) -> std::io::Result<UnixDatagram> {
    let socket = std::os::unix::net::UnixDatagram::from(channel);
    socket.set_nonblocking(true)?;
    UnixDatagram::from_std(socket)
}
