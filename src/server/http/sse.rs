//! The transport of 2024-11-05: one stream that is held open for what the server says, and posts for what the client says.
//!
//! The protocol calls it deprecated; it is off unless `--sse` asks for it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Query, Request, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, StreamExt as _};
use http::StatusCode;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde::Deserialize;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::sync::CancellationToken;

use super::answers::{later, refused, rpc_error};
use super::front::Endpoint;
use super::session::Session;
use crate::server::calls::Calls;
use crate::server::message::{self, in_one_line};
use crate::state::token;

/// Messages that may wait for a reader; a client with more waiting is not reading.
const WAITING: usize = 256;
/// A comment this often tells the client that we are there, and us that the client is.
const BEAT: Duration = Duration::from_secs(15);
/// How long the end of a stream waits for the calls of its session.
const ENDING: Duration = Duration::from_secs(3);

/// The open streams, by the id that their posts carry.
#[derive(Debug, Default, Clone)]
pub(super) struct Streams(Arc<Mutex<HashMap<String, Open>>>);

#[derive(Debug, Clone)]
struct Open {
    session: Arc<Session>,
    inbox: mpsc::Sender<ClientJsonRpcMessage>,
    calls: Arc<Calls>,
}

impl Streams {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.open().len()
    }

    /// How many there are, in all and of this principal.
    pub(super) fn count(&self, principal: &str) -> (usize, usize) {
        let open = self.open();
        (open.len(), open.values().filter(|open| open.session.peer().principal == principal).count())
    }
}

/// `GET /sse`: opens a session and its stream. The end of the stream is the end of the session.
pub(super) async fn open<S: ServerHandler + Send + 'static>(
    State(endpoint): State<Arc<Endpoint<S>>>,
    request: Request,
) -> Result<Response, Response> {
    let manifest = endpoint.manifest();
    let caller = endpoint.admit(&manifest, &request.into_parts().0).await?;
    let session = endpoint.new_session(&manifest.http, caller)?;
    let id = token(16).map_err(|_| refused(StatusCode::INTERNAL_SERVER_ERROR, "there are no random bytes"))?;
    let (inbox, messages) = mpsc::channel(WAITING);
    let (answers, outbox) = mpsc::channel(WAITING);
    // Cancelled when the stream is dropped, by either side.
    let gone = endpoint.stopping.child_token();
    let calls = Arc::new(Calls::default());
    let wire = Wire { messages, answers, calls: Arc::clone(&calls), gone: gone.clone() };
    let handler = (endpoint.make)(Arc::clone(&session));
    endpoint.streams.open().insert(id.clone(), Open { session: Arc::clone(&session), inbox, calls });
    session.begin(&endpoint.server);
    tokio::spawn(serve(handler, wire, Arc::clone(&endpoint), id.clone(), session));
    let first = Event::default().event("endpoint").data(format!("/messages?sessionId={id}"));
    let answers = stream::unfold(outbox, |mut outbox| async { Some((outbox.recv().await?, outbox)) });
    let kept = (gone.drop_guard(), endpoint.metrics.streams.one());
    let events = stream::iter([first]).chain(answers).map(move |event| {
        let _kept = &kept;
        Ok::<_, Infallible>(event)
    });
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(BEAT).text("here"));
    Ok(([("x-accel-buffering", "no")], events).into_response())
}

async fn serve<S: ServerHandler + Send + 'static>(handler: S, wire: Wire, endpoint: Arc<Endpoint<S>>, id: String, session: Arc<Session>) {
    let gone = wire.gone.clone();
    let service = async {
        match handler.serve_with_ct(wire, gone.clone()).await {
            Ok(running) => drop(running.waiting().await),
            Err(fault) => tracing::debug!(%fault, "a stream's session did not begin"),
        }
    };
    let mut service = std::pin::pin!(service);
    tokio::select! {
        () = &mut service => {}
        () = gone.cancelled() => drop(tokio::time::timeout(ENDING, service).await),
    }
    gone.cancel();
    endpoint.streams.open().remove(&id);
    let server = Arc::clone(&endpoint.server);
    // Wiping a folder blocks.
    if let Err(fault) = tokio::task::spawn_blocking(move || session.end(&server)).await {
        tracing::error!(%fault, "a session could not be wiped");
    }
}

/// What a post carries.
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    #[serde(rename = "sessionId")]
    session: String,
}

/// `POST /messages?sessionId=…`: one message of a client.
pub(super) async fn post<S: ServerHandler + Send + 'static>(
    State(endpoint): State<Arc<Endpoint<S>>>,
    Query(named): Query<Named>,
    request: Request,
) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let caller = endpoint.admit(&endpoint.manifest(), &parts).await?;
    let found = endpoint.streams.open().get(&named.session).cloned();
    let gone = || refused(StatusCode::NOT_FOUND, "there is no such session; open a stream at /sse");
    let open = found.filter(|open| open.session.is_of(&caller)).ok_or_else(gone)?;
    let text = endpoint.body(body).await?;
    if let Some(message) = message::read(&text).map_err(|fault| rpc_error(&fault))? {
        // Before the request is known to be under way: one that finds no room must not stay so.
        let room = open.inbox.try_reserve().map_err(|fault| match fault {
            TrySendError::Closed(()) => gone(),
            TrySendError::Full(()) => later(StatusCode::TOO_MANY_REQUESTS, "too many messages wait in this session", 1),
        })?;
        open.calls.take(&message, WAITING).map_err(|fault| rpc_error(&fault))?;
        room.send(message);
    }
    open.session.touch();
    Ok((StatusCode::ACCEPTED, "Accepted").into_response())
}

/// rmcp's side of a stream.
struct Wire {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    answers: mpsc::Sender<Event>,
    calls: Arc<Calls>,
    gone: CancellationToken,
}

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answers = self.answers.clone();
        let gone = self.gone.clone();
        self.calls.give(&message);
        async move {
            let line = String::from_utf8(in_one_line(serde_json::to_vec(&message)?)).map_err(io::Error::other)?;
            tokio::select! {
                sent = answers.send(Event::default().event("message").data(line)) => sent.map_err(|_| io::ErrorKind::BrokenPipe.into()),
                () = gone.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            message = self.messages.recv() => message,
            () = self.gone.cancelled() => None,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.gone.cancel();
        Ok(())
    }
}
