//! One session of a caller over HTTP, whatever protocol version it uses.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::RequestId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::identity::Identity;
use crate::context::ServerContext;
use crate::server::handler::Peer;

/// A session, its calls in progress and when it was last used.
#[derive(Debug)]
pub struct Session {
    peer: Peer,
    opened: Instant,
    /// Milliseconds after `opened` at which it was last used.
    used: AtomicU64,
    /// Calls in progress, those that wait for a person included, and open streams.
    busy: AtomicUsize,
    calls: Mutex<HashSet<RequestId>>,
    started: AtomicBool,
    ended: AtomicBool,
    /// Cancelled when the session is to end: its calls end with it.
    leaving: CancellationToken,
    /// Notified each time a call has ended.
    freed: Notify,
}

impl Session {
    pub(super) fn new(peer: Peer) -> Self {
        Self {
            peer,
            opened: Instant::now(),
            used: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            calls: Mutex::default(),
            started: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            leaving: CancellationToken::new(),
            freed: Notify::new(),
        }
    }

    /// Who has this session.
    pub(in crate::server) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Whether the session is of this caller, under the profile the caller has now.
    pub(super) fn is_of(&self, caller: &Identity) -> bool {
        self.peer.principal == caller.principal && self.peer.profile.as_deref() == Some(&caller.profile)
    }

    /// Whether the session has had no call or open stream for at least `idle`.
    pub(super) fn is_idle(&self, idle: Duration) -> bool {
        let used = Duration::from_millis(self.used.load(Ordering::Acquire));
        self.busy.load(Ordering::Acquire) == 0 && self.opened.elapsed().saturating_sub(used) >= idle
    }

    /// Notes that it is used now.
    pub(super) fn touch(&self) {
        self.used.store(u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Keeps the session until what is returned is dropped.
    pub(in crate::server) fn hold(self: &Arc<Self>) -> Held {
        self.busy.fetch_add(1, Ordering::AcqRel);
        self.touch();
        Held(Arc::clone(self))
    }

    /// Takes the id of a request until what is returned is dropped; `None` where another request in progress has it.
    pub(super) fn take_id(self: &Arc<Self>, id: &RequestId) -> Option<Arc<TakenId>> {
        let is_free = self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        is_free.then(|| Arc::new(TakenId { session: Arc::clone(self), id: id.clone() }))
    }

    /// Cancelled when the session is to end.
    pub(in crate::server) fn leaving(&self) -> &CancellationToken {
        &self.leaving
    }

    /// Ends the calls of this session, and waits until each has written its end.
    pub(super) async fn leave(&self) {
        self.leaving.cancel();
        loop {
            let freed = self.freed.notified();
            if self.calls.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
            freed.await;
        }
    }

    /// Records the session's begin, once.
    pub(in crate::server) fn begin(&self, server: &Arc<ServerContext>) {
        if !self.started.swap(true, Ordering::AcqRel) {
            server.session_begins(&self.peer.session, &self.peer.principal, self.peer.profile.as_deref());
        }
    }

    /// Ends the session, once: its grants, its folder, its record.
    pub(super) fn end(&self, server: &ServerContext) {
        if self.started.load(Ordering::Acquire) && !self.ended.swap(true, Ordering::AcqRel) {
            server.session_ends(&self.peer.session);
        }
    }
}

/// The id of a request under way.
#[derive(Debug)]
pub(in crate::server) struct TakenId {
    session: Arc<Session>,
    id: RequestId,
}

impl Drop for TakenId {
    fn drop(&mut self) {
        self.session.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.session.freed.notify_waiters();
    }
}

/// Keeps a session from being taken for idle.
#[derive(Debug)]
pub(in crate::server) struct Held(Arc<Session>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.touch();
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_with_a_call_under_way_is_never_idle() {
        let peer = Peer { principal: "p".into(), session: "s".into(), profile: None };
        let session = Arc::new(Session::new(peer));
        assert!(session.is_idle(Duration::ZERO));
        let held = session.hold();
        assert!(!session.is_idle(Duration::ZERO));
        drop(held);
        assert!(session.is_idle(Duration::ZERO) && !session.is_idle(Duration::from_hours(1)));
    }

    #[test]
    fn an_id_is_taken_by_one_request_at_a_time() {
        let session = Arc::new(Session::new(Peer { principal: "p".into(), session: "s".into(), profile: None }));
        let id = RequestId::Number(1);
        let taken = session.take_id(&id);
        assert!(taken.is_some() && session.take_id(&id).is_none());
        drop(taken);
        assert!(session.take_id(&id).is_some());
    }
}
