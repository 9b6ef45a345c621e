//! What every server does beside its calls, whatever its transport: it hears operators, watches the kill switch, and clears away what is over.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use super::operator::{self, Operators};
use crate::context::ServerContext;

/// Runs until dropped.
#[derive(Debug)]
pub(super) struct Attending {
    tasks: Vec<JoinHandle<()>>,
    _operators: Option<Operators>,
}

impl Drop for Attending {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Begins to attend.
pub(super) fn attend(server: &Arc<ServerContext>) -> Attending {
    let tasks = vec![tokio::spawn(watch_the_switch(Arc::clone(server))), tokio::spawn(sweep(Arc::clone(server)))];
    Attending { tasks, _operators: operator::listen(server) }
}

/// How often a server that nobody calls looks whether its manifest changed.
const LOOK: Duration = Duration::from_secs(1);

/// Takes signals from now on; the future waits for one that ends the server, and acts on the others meanwhile.
pub(super) fn stop_signal(server: Arc<ServerContext>) -> impl Future<Output = ()> {
    let signals =
        [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::user_defined2(), SignalKind::hangup()].map(|kind| signal(kind).ok());
    async move {
        let [Some(mut terminate), Some(mut interrupt), Some(mut kill), Some(mut hangup)] = signals else {
            tracing::warn!("signals cannot be received; the server ends when it is killed or its input ends");
            return std::future::pending().await;
        };
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                _ = terminate.recv() => return,
                _ = interrupt.recv() => return,
                _ = kill.recv() => server.kill("SIGUSR2").await,
                _ = hangup.recv() => server.refresh().await,
                _ = look.tick() => server.refresh().await,
            }
        }
    }
}

/// Ends everything as soon as anybody pulls the switch: also what runs between calls, which no call looks after.
async fn watch_the_switch(server: Arc<ServerContext>) {
    // Not a pipe, and read like one: a descriptor that becomes readable.
    let watch = server.state().watch().and_then(Receiver::from_owned_fd_unchecked);
    let Ok(mut watch) = watch else {
        tracing::warn!("the state folder cannot be watched; running calls look at the kill switch themselves");
        return;
    };
    let mut was_killed = server.state().is_killed();
    // inotify(7) gives whole events only, the longest of which is a name of 255 bytes with its head.
    let mut events = [0; 4096];
    while watch.read(&mut events).await.is_ok_and(|read| read > 0) {
        let is_killed = server.state().is_killed();
        if is_killed && !was_killed {
            server.stop_everything().await;
        }
        was_killed = is_killed;
    }
}

/// Keeps the switch ready for a full disk, and removes questions, marks and keys that nobody can use any more: at the start and every hour.
async fn sweep(server: Arc<ServerContext>) {
    const EVERY: Duration = Duration::from_hours(1);
    loop {
        let server = Arc::clone(&server);
        let swept = tokio::task::spawn_blocking(move || server.sweep());
        if let Ok(Err(fault)) = swept.await {
            tracing::warn!(%fault, "old questions and marks could not be removed");
        }
        tokio::time::sleep(EVERY).await;
    }
}
