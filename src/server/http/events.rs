//! What was said in a session of the handshake era, kept for a while: a client whose connection broke comes back with the id of the last event it
//! saw and gets the rest, also of a call that ended meanwhile. rmcp alone forgets an answer as soon as it is made.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::stream;
use rmcp::model::{ContentBlock, JsonRpcMessage, ServerResult};
use rmcp::transport::streamable_http_server::session::{EventStore, EventStoreError, EventStream, ServerSseMessage};
use tokio::sync::Notify;

/// Events that are kept of one session.
const KEPT: usize = 64;
/// Their texts and pictures together, in bytes; the newest is kept whatever its size.
const BYTES: usize = 2 << 20;
/// How long they are.
const AGE: Duration = Duration::from_mins(1);

/// The events of one session. Its ids mean nothing in another.
#[derive(Debug, Default)]
pub(super) struct Events {
    log: Mutex<Log>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Log {
    next: u64,
    bytes: usize,
    kept: VecDeque<Event>,
}

impl Log {
    fn pop(&mut self) {
        if let Some(event) = self.kept.pop_front() {
            self.bytes = self.bytes.saturating_sub(event.size);
        }
    }
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

impl Events {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go what is old.
    pub(super) fn forget(&self) {
        let mut log = self.log();
        while log.kept.front().is_some_and(|event| event.at.elapsed() >= AGE) {
            log.pop();
        }
    }

    fn store(&self, stream: &str, message: &ServerSseMessage) -> u64 {
        self.forget();
        let mut log = self.log();
        log.next += 1;
        let number = log.next;
        let mut message = message.clone();
        message.event_id = Some(number.to_string());
        let stream =
            log.kept.iter().rev().find(|event| &*event.stream == stream).map_or_else(|| stream.into(), |event| Arc::clone(&event.stream));
        let size = size(&message);
        log.bytes += size;
        log.kept.push_back(Event { number, stream, at: Instant::now(), size, message });
        while log.kept.len() > KEPT || (log.bytes > BYTES && log.kept.len() > 1) {
            log.pop();
        }
        drop(log);
        self.more.notify_waiters();
        number
    }

    fn after(&self, stream: &str, number: u64) -> Option<Event> {
        self.log().kept.iter().find(|event| event.number > number && &*event.stream == stream).cloned()
    }

    /// The events of the stream that `number` belongs to, from the one after it to the stream's last, those that are still to come included.
    fn replay(self: Arc<Self>, number: u64) -> Option<EventStream> {
        let stream = self.log().kept.iter().find(|event| event.number == number).map(|event| Arc::clone(&event.stream))?;
        let from = (self, stream, number, false);
        Some(Box::pin(stream::unfold(from, |(events, stream, number, ended)| async move {
            if ended {
                return None;
            }
            let event = loop {
                // Before the look, so that what comes between look and wait is not missed.
                let more = events.more.notified();
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

/// What an event weighs: the texts and pictures of a tool's answer, which alone can be large.
fn size(message: &ServerSseMessage) -> usize {
    let Some(JsonRpcMessage::Response(response)) = message.message.as_deref() else { return 0 };
    let ServerResult::CallToolResult(result) = &response.result else { return 0 };
    let blocks = result.content.iter().map(|block| match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        _ => 0,
    });
    blocks.sum()
}

/// The store as rmcp asks for it.
#[derive(Debug)]
pub(super) struct Store(pub(super) Arc<Events>);

type Boxed<'f, T> = Pin<Box<dyn Future<Output = Result<T, EventStoreError>> + Send + 'f>>;

impl EventStore for Store {
    fn store_event<'s, 'i, 'e, 'f>(&'s self, stream: &'i str, event: &'e ServerSseMessage) -> Boxed<'f, String>
    where
        's: 'f,
        'i: 'f,
        'e: 'f,
        Self: 'f,
    {
        let number = self.0.store(stream, event);
        Box::pin(std::future::ready(Ok(number.to_string())))
    }

    fn replay_events_after<'s, 'i, 'f>(&'s self, last: &'i str) -> Boxed<'f, EventStream>
    where
        's: 'f,
        'i: 'f,
        Self: 'f,
    {
        let found = last.parse().ok().and_then(|number| Arc::clone(&self.0).replay(number));
        Box::pin(std::future::ready(found.ok_or_else(|| "there is no such event any more".into())))
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};
    use rmcp::model::{CallToolResult, RequestId, ServerJsonRpcMessage};

    use super::*;

    fn answer(id: i64) -> ServerSseMessage {
        ServerSseMessage::from_message(ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(id)))
    }

    #[tokio::test]
    async fn a_client_that_comes_back_gets_the_rest_of_its_own_stream() {
        let events = Arc::new(Events::default());
        let first = events.store("a", &ServerSseMessage::retry(Duration::from_secs(3)));
        events.store("b", &answer(2));
        let mut rest = Arc::clone(&events).replay(first).unwrap();
        assert!(rest.next().now_or_never().is_none(), "its answer is not there yet");
        let waiting = tokio::spawn(async move { rest.map(|event| event.event_id).collect::<Vec<_>>().await });
        tokio::task::yield_now().await;
        events.store("a", &answer(1));
        assert_eq!(waiting.await.unwrap(), [Some("3".to_owned())]);
        // Once more, after the call has ended.
        let again: Vec<_> = Arc::clone(&events).replay(first).unwrap().map(|event| event.event_id).collect().await;
        assert_eq!(again, [Some("3".to_owned())]);
        assert!(Arc::clone(&events).replay(99).is_none());
    }

    #[test]
    fn no_more_events_are_kept_than_the_bound() {
        let events = Arc::new(Events::default());
        for n in 0..1000 {
            events.store(&n.to_string(), &answer(n));
        }
        assert_eq!(events.log().kept.len(), KEPT);
        for n in 0..10 {
            let large = CallToolResult::success(vec![ContentBlock::text("x".repeat(1 << 20))]);
            let large = ServerJsonRpcMessage::response(ServerResult::CallToolResult(large), RequestId::Number(n));
            events.store(&n.to_string(), &ServerSseMessage::from_message(large));
        }
        let log = events.log();
        assert_eq!((log.kept.len(), log.bytes), (2, 2 << 20));
    }
}
