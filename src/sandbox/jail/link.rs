//! The server's end of the spawner: started when it is first needed, and again when it has died.

#![expect(clippy::disallowed_methods, reason = "here our own program is started as the jail process")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use super::inside::JAIL_ARGUMENT;
use super::order::{self, Order};
use super::outcome::NoRun;
use super::tally::{self, Pooled};

/// The way to the spawner.
#[derive(Debug)]
pub(super) struct Link {
    helper: PathBuf,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    socket: UnixDatagram,
    // Closing the socket ends the spawner, which ends and clears away what it started; killing it would cut that short.
    child: Child,
    tally: OwnedFd,
}

impl Link {
    /// A way to a spawner that is not running yet.
    pub(super) fn new(helper: PathBuf) -> Self {
        Self { helper, running: Mutex::new(None) }
    }

    /// Hands one order over; a spawner that is gone is started anew, once.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) async fn send(&self, order: &Order, fds: &[BorrowedFd<'_>]) -> Result<(), NoRun> {
        let mut running = self.running.lock().await;
        let mut last = String::new();
        for _ in 0..2 {
            let link = match running.take() {
                Some(link) => link,
                None => self.start()?,
            };
            let sent = link.socket.async_io(Interest::WRITABLE, || order::send(link.socket.as_fd(), order, fds)).await;
            match sent {
                Ok(()) => {
                    *running = Some(link);
                    return Ok(());
                }
                Err(e) => last = e.to_string(),
            }
        }
        Err(NoRun::fault("handing over the order", last))
    }

    /// What waits in the spawner; nothing where it is not running.
    pub(super) async fn tally(&self) -> Vec<Pooled> {
        self.running.lock().await.as_ref().map_or_else(Vec::new, |running| tally::read(&running.tally))
    }

    /// Ends the spawner with all it started and waits until it is gone: nothing of it outlives the server. Bounded, for a spawner that hangs
    /// dies with us all the same.
    pub(super) async fn close(&self) {
        const PATIENCE: Duration = Duration::from_millis(500);
        let Some(Running { socket, mut child, .. }) = self.running.lock().await.take() else { return };
        drop(socket);
        if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
            tracing::warn!("the spawner did not end in time");
        }
    }

    fn start(&self) -> Result<Running, NoRun> {
        let (ours, theirs) = order::channel().map_err(|e| NoRun::fault("making a channel", e))?;
        let mut command = Command::new(&self.helper);
        command.arg(JAIL_ARGUMENT).env_clear().current_dir("/");
        // It has nothing to print: its standard output is the file of its tally.
        let tally = tally::file().map_err(|e| NoRun::fault("making a file", e))?;
        let copy = tally.try_clone().map_err(|e| NoRun::fault("making a file", e))?;
        command.stdin(Stdio::from(theirs)).stdout(Stdio::from(copy)).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| NoRun::fault("starting the spawner", e))?;
        let socket = asynchronous(ours).map_err(|e| NoRun::fault("talking to the spawner", e))?;
        Ok(Running { socket, child, tally })
    }
}

/// A channel for the runtime.
///
/// # Errors
/// The error of the system.
pub(super) fn asynchronous(channel: OwnedFd) -> std::io::Result<UnixDatagram> {
    let socket = std::os::unix::net::UnixDatagram::from(channel);
    socket.set_nonblocking(true)?;
    UnixDatagram::from_std(socket)
}
