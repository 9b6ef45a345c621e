//! The server's end of a program's doorway: served while a call runs, and by nobody between calls.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::net::{SocketFlags, accept_with};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::spec::{DOORWAY_PORT, Network};

/// The doorway of one jail.
#[derive(Debug)]
pub(super) struct Doorway {
    network: Option<Arc<dyn Network>>,
    /// It came from the jail before the program started, so it is the one that our own code made there.
    listener: Option<OwnedFd>,
    serving: Option<(DropGuard, JoinHandle<()>)>,
}

impl Doorway {
    /// A doorway whose socket has not come yet.
    pub(super) fn new(network: Option<Arc<dyn Network>>) -> Self {
        Self { network, listener: None, serving: None }
    }

    /// Takes the socket and begins to serve it.
    pub(super) fn open(&mut self, listener: Option<OwnedFd>) {
        self.listener = listener;
        self.serve();
    }

    /// Serves the next call of a session, by the rules of that call.
    pub(super) fn open_again(&mut self, network: Option<Arc<dyn Network>>) {
        self.network = network;
        if let Some(listener) = &self.listener {
            // What came between the calls came without leave.
            while accept_with(listener, SocketFlags::CLOEXEC).is_ok() {}
        }
        self.serve();
    }

    fn serve(&mut self) {
        let Some((network, listener)) =
            self.network.clone().zip(self.listener.as_ref().and_then(|fd| fd.as_fd().try_clone_to_owned().ok()))
        else {
            return;
        };
        let stop = CancellationToken::new();
        let serving = tokio::spawn(network.serve(listener, stop.clone()));
        self.serving = Some((stop.drop_guard(), serving));
    }

    /// Stops serving, and waits until every connection is closed.
    pub(super) async fn close(&mut self) {
        if let Some((stop, serving)) = self.serving.take() {
            drop(stop);
            let _ = serving.await;
        }
    }
}

/// Tells the usual libraries where the gateway is. A convenience, and no wall: without it, nothing is reached at all.
pub(super) fn environment() -> impl Iterator<Item = (String, String)> {
    let gateway = format!("http://127.0.0.1:{DOORWAY_PORT}");
    ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].into_iter().map(move |name| (name.to_owned(), gateway.clone()))
}
