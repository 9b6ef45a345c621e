//! What was sent in a session of the handshake era, kept for a client whose connection broke: it comes back with the id of the last event it saw
//! and gets the rest, also of a call that ended meanwhile. rmcp alone forgets an answer as soon as it is made.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use futures::stream;
use rmcp::model::JsonRpcMessage;
use rmcp::transport::streamable_http_server::session::{EventStore, EventStoreError, EventStream, ServerSseMessage};
use tokio::sync::watch;

/// Events that are kept of one session.
const KEPT: usize = 64;
/// Their serialised size together, in bytes; the newest is kept although it is larger.
const BYTES: usize = 256 << 10;

/// The events of one session. Its ids mean nothing in another.
#[derive(Debug, Clone, Default)]
pub(super) struct Events(Arc<watch::Sender<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    last: u64,
    events: VecDeque<Event>,
}

#[derive(Debug, Clone)]
struct Event {
    number: u64,
    stream: Arc<str>,
    size: usize,
    message: ServerSseMessage,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.events.iter().map(|event| event.size).sum()
    }

    fn after(&self, stream: &str, number: u64) -> Option<&Event> {
        self.events.iter().find(|event| event.number > number && &*event.stream == stream)
    }
}

impl Events {
    fn store(&self, stream: &str, message: &ServerSseMessage) -> u64 {
        // A message that cannot be serialised is never sent.
        let size = message.message.as_deref().and_then(|message| serde_json::to_vec(message).ok()).map_or(0, |text| text.len());
        let mut message = message.clone();
        let mut number = 0;
        self.0.send_modify(|kept| {
            kept.last += 1;
            number = kept.last;
            message.event_id = Some(number.to_string());
            kept.events.push_back(Event { number, stream: stream.into(), size, message });
            while kept.events.len() > KEPT || kept.events.len() > 1 && kept.bytes() > BYTES {
                kept.events.pop_front();
            }
        });
        number
    }

    /// The events of the stream that `number` belongs to, from the one after it to the stream's last, those that are still to come included.
    fn replay(&self, number: u64) -> Option<EventStream> {
        let kept = self.0.subscribe();
        let stream = kept.borrow().events.iter().find(|event| event.number == number).map(|event| Arc::clone(&event.stream))?;
        Some(Box::pin(stream::unfold(Some((kept, stream, number)), |rest| async {
            let (mut kept, stream, number) = rest?;
            let event = kept.wait_for(|kept| kept.after(&stream, number).is_some()).await.ok()?.after(&stream, number)?.clone();
            // Nothing comes after an answer in its stream.
            let is_last = matches!(event.message.message.as_deref(), Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)));
            Some((event.message, (!is_last).then_some((kept, stream, event.number))))
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
    use std::time::Duration;

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
        assert_eq!(events.0.borrow().events.len(), KEPT);
        for n in 0..10 {
            let result = CallToolResult::success(vec![ContentBlock::text("x".repeat(BYTES / 2))]);
            let answer = ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), RequestId::Number(n));
            events.store(&n.to_string(), &ServerSseMessage::from_message(answer));
        }
        let kept = events.0.borrow();
        assert_eq!(kept.events.len(), 1, "two of them are more than is kept");
        assert!(kept.bytes() >= BYTES / 2 && kept.bytes() < BYTES);
    }
}
