//! A batch over HTTP, as 2025-03-26 has it: its requests are passed on one by one, and their answers come back as one array.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use serde_json::value::RawValue;

use super::front::Endpoint;
use super::seat::{Seat, TakenId};
use crate::server::calls::Batch;
use crate::server::message::{self, Fault};

type Events = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// A session of a caller.
pub(super) struct Within<'a> {
    pub(super) session: SessionId,
    pub(super) seat: &'a Arc<Seat>,
}

/// A request of a batch, until its answer is there.
struct Asked<S> {
    events: S,
    batch: Arc<Batch>,
    answered: bool,
    _taken: Arc<TakenId>,
}

impl<S: ServerHandler + Send + 'static> Endpoint<S> {
    /// Answers a batch.
    pub(super) async fn batch(&self, within: Within<'_>, entries: Vec<&RawValue>) -> Response {
        let batch = Arc::new(Batch::new(entries.len()));
        let mut requests: Vec<Events> = Vec::new();
        let mut whole = None;
        for entry in entries {
            let answer = match message::read_entry(entry) {
                Ok(Some(message)) => self.entry(&within, message, &batch, &mut requests).await,
                Ok(None) => Ok(true),
                Err(fault) => Err(fault),
            };
            match answer {
                // Its answer comes later.
                Ok(false) => {}
                Ok(true) => whole = batch.settle(None),
                Err(fault) => whole = batch.settle(Some(fault.answer().as_bytes())),
            }
        }
        let (body, kind) = match whole {
            Some(array) => (Body::from(array), "application/json"),
            None if requests.is_empty() => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::ACCEPTED;
                return response;
            }
            None => (Body::from_stream(stream::select_all(requests).map(Ok::<_, Infallible>)), "text/event-stream"),
        };
        let mut response = Response::new(body);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    /// Passes one message on. Whether it is dealt with: a request is when it is answered.
    async fn entry(
        &self,
        within: &Within<'_>,
        mut message: ClientJsonRpcMessage,
        batch: &Arc<Batch>,
        requests: &mut Vec<Events>,
    ) -> Result<bool, Fault> {
        let JsonRpcMessage::Request(request) = &mut message else {
            if let Err(fault) = self.sessions.accept_message(&within.session, message).await {
                tracing::debug!(%fault, "a message of a batch was not taken");
            }
            return Ok(true);
        };
        let id = request.id.clone();
        let taken = within.seat.take_id(&id).ok_or_else(|| Fault::taken(&id))?;
        // Until its handler has ended, be its answer read or not.
        message.insert_extension(Arc::clone(&taken));
        let events = self.sessions.create_stream(&within.session, message).await;
        let events = events.map_err(|_| Fault::busy(&id, "the session takes no request now"))?;
        let asked = Asked { events: Box::pin(events), batch: Arc::clone(batch), answered: false, _taken: taken };
        requests.push(Box::pin(stream::unfold(asked, next)));
        Ok(false)
    }
}

/// The next event of a request: what the server says meanwhile as it is, an answer when it is the last of its batch.
async fn next<S: Stream<Item = ServerSseMessage> + Unpin>(mut asked: Asked<S>) -> Option<(Bytes, Asked<S>)> {
    while !asked.answered {
        let said = asked.events.next().await;
        let event = match said.map(|event| event.message) {
            // A stream that ends without an answer: the request was cancelled.
            None => {
                asked.answered = true;
                asked.batch.settle(None)
            }
            Some(None) => None,
            Some(Some(message)) => {
                let text = serde_json::to_vec(&*message).ok();
                if matches!(*message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
                    asked.answered = true;
                    asked.batch.settle(text.as_deref())
                } else {
                    text
                }
            }
        };
        if let Some(event) = event {
            return Some(([b"event: message\ndata: ", &*event, b"\n\n"].concat().into(), asked));
        }
    }
    None
}
