//! The server's end of the spawner: started when it is first needed, and again when it has died.

#![expect(clippy::disallowed_methods, reason = "here our own program is started as the spawner")]

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use crate::backend::NotStarted;
use crate::message::{self, Order};
use crate::{raw, spawner};

/// The hidden first argument that makes our program the spawner.
const ARGUMENT: &str = "__jail";
/// How long a spawner may take to take an order; it has nothing to do that takes a tenth of that.
const HUNG: Duration = Duration::from_secs(2);
/// Between two looks at a channel that is full.
const PAUSE: Duration = Duration::from_millis(1);
/// How long a spawner may take to end its jails.
const ENDING: Duration = Duration::from_millis(3500);

/// Becomes the spawner when the first argument asks for it, and returns only when that is over.
///
/// Call it before anything else in `main`: the spawner forks, which is sound only while it has one thread. `None` means that this is an
/// ordinary start.
#[must_use]
pub fn enter_if_asked() -> Option<ExitCode> {
    // If SIGCHLD were ignored, waitpid(2) would lose exit statuses.
    raw::reset_ignored_signal(nix::libc::SIGCHLD);
    (std::env::args_os().nth(1)? == ARGUMENT).then(spawner::serve)
}

/// The way to the spawner, shared by the backends that use it.
#[derive(Debug)]
pub struct Client {
    helper: PathBuf,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    /// Closing it ends the spawner with all that it started.
    socket: OwnedFd,
    child: Child,
}

impl Client {
    /// A way to a spawner that is not running yet. `helper`: our own program, which calls [`enter_if_asked`] first.
    pub fn new(helper: PathBuf) -> Self {
        Self { helper, running: Mutex::new(None) }
    }

    /// Our own program.
    pub fn helper(&self) -> &Path {
        &self.helper
    }

    /// Starts the spawner ahead. Where that fails, the first order says why.
    pub async fn prepare(&self) {
        let mut running = self.running.lock().await;
        if running.is_none() {
            *running = self.start().ok();
        }
    }

    fn start(&self) -> std::io::Result<Running> {
        let (socket, theirs) = message::channel()?;
        let mut command = Command::new(&self.helper);
        command.arg(ARGUMENT).env_clear().current_dir("/");
        command.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Running { socket, child })
    }

    /// Hands one order over. A spawner that is gone is started anew, once; one that takes nothing any more is ended.
    ///
    /// # Errors
    /// [`NotStarted::Fault`].
    pub(crate) async fn send(&self, order: &Order, fds: &[BorrowedFd<'_>]) -> Result<(), NotStarted> {
        let mut running = self.running.lock().await;
        let mut last = String::new();
        for _ in 0..2 {
            let spawner = match &*running {
                Some(spawner) => spawner,
                None => running.insert(self.start().map_err(|e| NotStarted::fault("starting the spawner", e))?),
            };
            let sending = async {
                loop {
                    match message::send(spawner.socket.as_fd(), order, fds) {
                        Err(full) if full.kind() == ErrorKind::WouldBlock => tokio::time::sleep(PAUSE).await,
                        done => return done,
                    }
                }
            };
            match tokio::time::timeout(HUNG, sending).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(e)) => last = e.to_string(),
                Err(_) => "the spawner takes no orders".clone_into(&mut last),
            }
            if let Some(mut lost) = running.take() {
                tracing::warn!(why = last, "the spawner ended unexpectedly; another is started");
                let _ = lost.child.kill().await;
            }
        }
        Err(NotStarted::fault("handing over an order", last))
    }

    /// Ends the spawner with all that it started, and waits until it is gone.
    pub async fn close(&self) {
        let Some(Running { socket, mut child }) = self.running.lock().await.take() else { return };
        drop(socket);
        if tokio::time::timeout(ENDING, child.wait()).await.is_err() {
            tracing::warn!("the spawner did not end in time and is killed");
            let _ = child.kill().await;
        }
    }
}
