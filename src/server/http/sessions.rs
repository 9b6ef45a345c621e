//! The sessions of the endpoint: handshake sessions by their protocol id, later callers by their principal.
//!
//! rmcp's own manager ends a session that is silent for long, also one that waits for a person. Here each session is a manager of its own without
//! that clock, and what is idle is told by what is under way.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError, LocalSessionWorker};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

use super::events::Events;
use super::identity::Identity;
use super::session::Session;
use crate::context::ServerContext;
use crate::server::handler::Peer;

tokio::task_local! {
    /// The session of the request that is being answered; rmcp asks for handlers and sessions without saying for whom.
    pub(super) static CURRENT: Arc<Session>;
}

/// All sessions of one endpoint.
#[derive(Debug)]
pub(super) struct Sessions {
    server: Arc<ServerContext>,
    open: Mutex<HashMap<SessionId, Open>>,
    /// From 2026-07-28 a session is the principal, until it is idle.
    principals: Mutex<HashMap<String, Arc<Session>>>,
}

#[derive(Debug, Clone)]
struct Open {
    inner: Arc<LocalSessionManager>,
    session: Arc<Session>,
    /// Whether its version knows events without a message, which tell where a stream began (2025-11-25, basic/transports).
    is_primed: Arc<AtomicBool>,
}

/// After so long a client comes back whose stream broke.
const RETRY: Duration = Duration::from_secs(3);
/// How long the end of a session may take; its worker may be waiting for a client that does not read.
const ENDING: Duration = Duration::from_secs(2);

impl Open {
    /// A stream of the session; while it is read, the session is not idle.
    fn kept(&self, stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static) -> Kept {
        let (is_primed, held) = (self.is_primed.load(Ordering::Relaxed), self.session.hold());
        Box::pin(stream.filter(move |event| {
            let _held = &held;
            std::future::ready(is_primed || event.message.is_some())
        }))
    }
}

type Kept = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

impl Sessions {
    pub(super) fn new(server: Arc<ServerContext>) -> Self {
        Self { server, open: Mutex::default(), principals: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn principals(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.principals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &SessionId) -> Result<Open, LocalSessionManagerError> {
        self.open().get(id).cloned().ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))
    }

    /// The session with this id.
    pub(super) fn session(&self, id: &str) -> Option<Arc<Session>> {
        self.open().get(id).map(|open| Arc::clone(&open.session))
    }

    /// The session of a principal that keeps no protocol session; made when it is first asked for.
    pub(super) fn session_of(&self, caller: Identity, session_of: impl FnOnce(&str) -> String) -> Arc<Session> {
        let mut principals = self.principals();
        // The manifest may give the caller another profile now; grants of the old one end with the manifest they were given under.
        let known = principals.get(&caller.principal).filter(|session| session.peer().profile.as_deref() == Some(&caller.profile)).cloned();
        let session = known.unwrap_or_else(|| {
            let session = session_of(&caller.principal);
            let session = Arc::new(Session::new(Peer { principal: caller.principal.clone(), session, profile: Some(caller.profile) }));
            principals.insert(caller.principal, Arc::clone(&session));
            session
        });
        // Before the lock is let go: what is asked for now must not be found idle.
        session.touch();
        session
    }

    /// How many handshake sessions there are, in all and of this principal.
    pub(super) fn count(&self, principal: &str) -> (usize, usize) {
        let open = self.open();
        (open.len(), open.values().filter(|open| open.session.peer().principal == principal).count())
    }

    /// How many sessions of either kind there are.
    pub(super) fn len(&self) -> usize {
        self.open().len() + self.principals().len()
    }

    /// Ends every session that did nothing for `idle`.
    pub(super) async fn reap(&self, idle: Duration) {
        let idle_ones: Vec<SessionId> =
            self.open().iter().filter(|(_, open)| open.session.is_idle(idle)).map(|(id, _)| Arc::clone(id)).collect();
        for id in idle_ones {
            self.end(&id).await;
        }
        let gone = self.principals().extract_if(|_, session| session.is_idle(idle)).map(|(_, session)| session).collect();
        self.wipe(gone).await;
    }

    /// Ends every session there is.
    pub(super) async fn end_all(&self) {
        let ids: Vec<SessionId> = self.open().keys().cloned().collect();
        futures::future::join_all(ids.iter().map(|id| self.end(id))).await;
        let gone = self.principals().drain().map(|(_, session)| session).collect();
        self.wipe(gone).await;
    }

    async fn end(&self, id: &SessionId) {
        let Some(open) = self.open().remove(id) else { return };
        if tokio::time::timeout(ENDING, open.session.leave()).await.is_err() {
            tracing::warn!("a call of a session that ends did not end in time");
        }
        let closed = tokio::time::timeout(ENDING, open.inner.close_session(id)).await;
        if !matches!(closed, Ok(Ok(()))) {
            tracing::info!("a session's worker did not end at once");
        }
        self.wipe(vec![open.session]).await;
    }

    /// Wiping a folder blocks: a thread for such work does it.
    async fn wipe(&self, sessions: Vec<Arc<Session>>) {
        if sessions.is_empty() {
            return;
        }
        let server = Arc::clone(&self.server);
        let wiped = tokio::task::spawn_blocking(move || sessions.iter().for_each(|session| session.end(&server))).await;
        if let Err(fault) = wiped {
            tracing::error!(%fault, "a session could not be wiped");
        }
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let mut inner = LocalSessionManager::default().with_event_store(Arc::new(Events::default()));
        inner.session_config.keep_alive = None;
        // Else rmcp keeps each answer for a minute as well, whatever its size; a client that comes back is served from our events.
        inner.session_config.completed_cache_ttl = Duration::ZERO;
        let (id, transport) = inner.create_session().await?;
        // Only requests that passed `front` come here; it gives each a session.
        let Ok(session) = CURRENT.try_with(Arc::clone) else { return Err(LocalSessionManagerError::SessionNotFound(id)) };
        session.begin(&self.server);
        self.open().insert(Arc::clone(&id), Open { inner: Arc::new(inner), session, is_primed: Arc::default() });
        Ok((id, transport))
    }

    async fn initialize_session(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<ServerJsonRpcMessage, Self::Error> {
        let open = self.find(id)?;
        let answer = open.inner.initialize_session(id, message).await?;
        if let JsonRpcMessage::Response(response) = &answer
            && let ServerResult::InitializeResult(result) = &response.result
        {
            // ISO dates compare as text.
            let is_primed = result.protocol_version.as_str() >= ProtocolVersion::V_2025_11_25.as_str();
            open.is_primed.store(is_primed, Ordering::Relaxed);
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.open().contains_key(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.end(id).await;
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open = self.find(id)?;
        let stream = open.inner.create_stream(id, message).await?;
        Ok(open.kept(stream))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.find(id)?.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open = self.find(id)?;
        let stream = open.inner.create_standalone_stream(id).await?;
        let first = futures::stream::once(std::future::ready(ServerSseMessage::retry(RETRY)));
        Ok(open.kept(first.chain(stream)))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open = self.find(id)?;
        let stream = open.inner.resume(id, last_event_id).await?;
        Ok(open.kept(stream))
    }
}
