//! What was said in a session of the handshake era, kept for a while: a client whose connection broke comes back with the id of the last event it
//! saw and gets the rest, also of a call that ended meanwhile. rmcp alone forgets an answer as soon as it is made.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::stream;
use rmcp::model::JsonRpcMessage;
use rmcp::transport::streamable_http_server::session::{EventStore, EventStoreError, EventStream, ServerSseMessage};
use tokio::sync::Notify;

/// Events that are kept of one session.
const KEPT: usize = 64;
/// Their serialised size together, in bytes; the newest is kept although it is larger.
const BYTES: usize = 256 << 10;
/// How long they are kept.
const AGE: Duration = Duration::from_mins(1);

/// The events of one session. Its ids mean nothing in another.
#[derive(Debug, Clone, Default)]
pub(super) struct Events(Arc<Said>);

#[derive(Debug, Default)]
struct Said {
    log: Mutex<Log>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Log {
    next: u64,
    bytes: usize,
    kept: VecDeque<Event>,
}

#[derive(Debug, Clone)]
struct Event {
    number: u64,
    stream: Arc<str>,
    at: Instant,
    size: usize,
    message: ServerSseMessage,
}

impl Event {
    /// Whether nothing comes after it in its stream.
    fn is_last(&self) -> bool {
        self.message.message.as_ref().is_some_and(|message| matches!(**message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)))
    }
}

impl Log {
    /// Lets go what is old, and what is too much.
    fn shorten(&mut self) {
        while let Some(first) = self.kept.front() {
            let is_heavy = self.bytes > BYTES && self.kept.len() > 1;
            if !is_heavy && self.kept.len() <= KEPT && first.at.elapsed() < AGE {
                return;
            }
            self.bytes -= first.size;
            self.kept.pop_front();
        }
    }
}

impl Events {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go what is old.
    pub(super) fn forget(&self) {
        self.log().shorten();
    }

    fn store(&self, stream: &str, message: &ServerSseMessage) -> u64 {
        // A message that cannot be serialised is never sent.
        let size = message.message.as_deref().and_then(|message| serde_json::to_vec(message).ok()).map_or(0, |text| text.len());
        let mut log = self.log();
        log.next += 1;
        let number = log.next;
        let mut message = message.clone();
        message.event_id = Some(number.to_string());
        log.bytes += size;
        log.kept.push_back(Event { number, stream: stream.into(), at: Instant::now(), size, message });
        log.shorten();
        drop(log);
        self.0.more.notify_waiters();
        number
    }

    fn after(&self, stream: &str, number: u64) -> Option<Event> {
        self.log().kept.iter().find(|event| event.number > number && &*event.stream == stream).cloned()
    }

    /// The events of the stream that `number` belongs to, from the one after it to the stream's last, those that are still to come included.
    fn replay(&self, number: u64) -> Option<EventStream> {
        let stream = self.log().kept.iter().find(|event| event.number == number).map(|event| Arc::clone(&event.stream))?;
        let from = (self.clone(), stream, number, false);
        Some(Box::pin(stream::unfold(from, |(events, stream, number, ended)| async move {
            if ended {
                return None;
            }
            let event = loop {
                // Before the look, so that what comes between look and wait is not missed.
                let more = events.0.more.notified();
                match events.after(&stream, number) {
                    Some(event) => break event,
                    None => more.await,
                }
            };
            let ended = event.is_last();
            Some((event.message, (events, stream, event.number, ended)))
        })))
    }
}

type Boxed<'f, T> = Pin<Box<dyn Future<Output = Result<T, EventStoreError>> + Send + 'f>>;

impl EventStore for Events {
    fn store_event<'s, 'i, 'e, 'f>(&'s self, stream: &'i str, event: &'e ServerSseMessage) -> Boxed<'f, String>
    where
        's: 'f,
        'i: 'f,
        'e: 'f,
        Self: 'f,
    {
        let number = self.store(stream, event);
        Box::pin(std::future::ready(Ok(number.to_string())))
    }

    fn replay_events_after<'s, 'i, 'f>(&'s self, last: &'i str) -> Boxed<'f, EventStream>
    where
        's: 'f,
        'i: 'f,
        Self: 'f,
    {
        let found = last.parse().ok().and_then(|number| self.replay(number));
        Box::pin(std::future::ready(found.ok_or_else(|| "there is no such event any more".into())))
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};
    use rmcp::model::{CallToolResult, ContentBlock, RequestId, ServerJsonRpcMessage, ServerResult};

    use super::*;

    fn answer(id: i64) -> ServerSseMessage {
        ServerSseMessage::from_message(ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(id)))
    }

    #[tokio::test]
    async fn a_client_that_comes_back_gets_the_rest_of_its_own_stream() {
        let events = Events::default();
        let first = events.store("a", &ServerSseMessage::retry(Duration::from_secs(3)));
        events.store("b", &answer(2));
        let mut rest = events.replay(first).unwrap();
        assert!(rest.next().now_or_never().is_none(), "its answer is not there yet");
        let waiting = tokio::spawn(async move { rest.map(|event| event.event_id).collect::<Vec<_>>().await });
        tokio::task::yield_now().await;
        events.store("a", &answer(1));
        assert_eq!(waiting.await.unwrap(), [Some("3".to_owned())]);
        // Once more, after the call has ended.
        let again: Vec<_> = events.replay(first).unwrap().map(|event| event.event_id).collect().await;
        assert_eq!(again, [Some("3".to_owned())]);
        assert!(events.replay(99).is_none());
    }

    #[test]
    fn no_more_events_are_kept_than_the_bound() {
        let events = Events::default();
        for n in 0..1000 {
            events.store(&n.to_string(), &answer(n));
        }
        assert_eq!(events.log().kept.len(), KEPT);
        for n in 0..10 {
            let result = CallToolResult::success(vec![ContentBlock::text("x".repeat(BYTES / 2))]);
            let answer = ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), RequestId::Number(n));
            events.store(&n.to_string(), &ServerSseMessage::from_message(answer));
        }
        let log = events.log();
        assert_eq!(log.kept.len(), 1, "two of them are more than is kept");
        assert!(log.bytes >= BYTES / 2 && log.bytes < BYTES);
    }
}
