//! What was said in a session of the handshake era, kept for a while: a client whose connection broke comes back with the id of the last event it
//! saw and gets the rest, also of a call that ended meanwhile. rmcp alone forgets an answer as soon as it is made.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::stream;
use rmcp::model::{ContentBlock, JsonRpcMessage, ServerResult};
use rmcp::transport::streamable_http_server::session::{EventStore, EventStoreError, EventStream, ServerSseMessage};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;

/// Events that are kept of one session.
const KEPT: usize = 64;
/// Their weight together, in bytes; the newest is kept although it weighs more.
const BYTES: usize = 2 << 20;
/// The weight of all events of all sessions. Beyond it each session keeps its equal share, and of a larger event nothing.
const ALL: usize = 64 << 20;
/// What must have been let go before the heap is trimmed, in bytes.
const WORTH: usize = 4 << 20;
/// How long they are.
const AGE: Duration = Duration::from_mins(1);

/// What the events of all sessions weigh.
#[derive(Debug, Default)]
pub(super) struct Weight {
    bytes: AtomicUsize,
    sessions: AtomicUsize,
    /// The most that was seen since memory was last given back.
    most: AtomicUsize,
}

impl Weight {
    /// Whether so much has been let go since the last time that its memory is worth giving back.
    pub(super) fn has_fallen(&self) -> bool {
        let now = self.bytes.load(Ordering::Acquire);
        let fallen = self.most.load(Ordering::Acquire).saturating_sub(now) >= WORTH;
        if fallen {
            self.most.store(now, Ordering::Release);
        }
        fallen
    }
}

/// The events of one session. Its ids mean nothing in another.
#[derive(Debug)]
pub(super) struct Events {
    log: Mutex<Log>,
    more: Notify,
    all: Arc<Weight>,
}

#[derive(Debug, Default)]
struct Log {
    next: u64,
    bytes: usize,
    kept: VecDeque<Event>,
}

impl Drop for Events {
    fn drop(&mut self) {
        let log = self.log.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.all.bytes.fetch_sub(log.bytes, Ordering::AcqRel);
        self.all.sessions.fetch_sub(1, Ordering::AcqRel);
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
    /// The events of a new session, among those of all.
    pub(super) fn new(all: &Arc<Weight>) -> Self {
        all.sessions.fetch_add(1, Ordering::AcqRel);
        Self { log: Mutex::default(), more: Notify::new(), all: Arc::clone(all) }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go what is old.
    pub(super) fn forget(&self) {
        self.shorten(&mut self.log());
    }

    /// Lets go what is old, and what is too much.
    fn shorten(&self, log: &mut Log) {
        loop {
            let all = self.all.bytes.load(Ordering::Acquire);
            let is_old = log.kept.front().is_some_and(|event| event.at.elapsed() >= AGE);
            let is_heavy = log.bytes > BYTES && log.kept.len() > 1;
            let is_over_share = all > ALL && log.bytes > ALL / self.all.sessions.load(Ordering::Acquire).max(1);
            if !(is_old || is_heavy || is_over_share || log.kept.len() > KEPT) {
                return;
            }
            let Some(event) = log.kept.pop_front() else { return };
            log.bytes = log.bytes.saturating_sub(event.size);
            self.all.bytes.fetch_sub(event.size, Ordering::AcqRel);
        }
    }

    fn store(&self, stream: &str, message: &ServerSseMessage) -> u64 {
        let mut log = self.log();
        log.next += 1;
        let number = log.next;
        let mut message = message.clone();
        message.event_id = Some(number.to_string());
        let stream =
            log.kept.iter().rev().find(|event| &*event.stream == stream).map_or_else(|| stream.into(), |event| Arc::clone(&event.stream));
        let size = size(&message);
        log.bytes += size;
        let all = self.all.bytes.fetch_add(size, Ordering::AcqRel) + size;
        self.all.most.fetch_max(all, Ordering::AcqRel);
        log.kept.push_back(Event { number, stream, at: Instant::now(), size, message });
        self.shorten(&mut log);
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

/// What an event takes in memory, which is no less than its serialised size but for escapes.
fn size(message: &ServerSseMessage) -> usize {
    let Some(message) = message.message.as_deref() else { return NODE };
    if let JsonRpcMessage::Response(response) = message
        && let ServerResult::CallToolResult(result) = &response.result
    {
        // The most frequent one, and the only one that is large, is not serialised once more.
        let blocks = result.content.iter().map(|block| match block {
            ContentBlock::Text(text) => NODE + text.text.len(),
            ContentBlock::Image(image) => NODE + image.data.len(),
            other => serialised(other),
        });
        let meta = result.meta.iter().flat_map(|meta| meta.0.iter()).map(|(key, value)| entry(key, value));
        return NODE + blocks.sum::<usize>() + result.structured_content.as_ref().map_or(0, weight) + meta.sum::<usize>();
    }
    serialised(message)
}

/// Bytes of a value beside its text.
const NODE: usize = 64;
/// Entries of an object that are allocated together, and what they take (a leaf of `BTreeMap<String, Value>`).
const LEAF: (usize, usize) = (11, 640);

/// What a value takes in memory; an object of a few short entries takes many times its serialised size.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => NODE,
        Value::String(text) => NODE + text.len(),
        Value::Array(items) => NODE + items.iter().map(weight).sum::<usize>(),
        Value::Object(entries) => {
            let leaves = entries.len().div_ceil(LEAF.0) * LEAF.1;
            leaves + entries.iter().map(|(key, value)| entry(key, value)).sum::<usize>()
        }
    }
}

fn entry(key: &str, value: &Value) -> usize {
    key.len() + weight(value)
}

/// The serialised size, of what is rarely large.
fn serialised(message: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(NODE);
    // A message that cannot be serialised is never sent.
    let _ = serde_json::to_writer(&mut count, message);
    count.0
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
    use serde_json::json;

    use super::*;

    fn answer(id: i64) -> ServerSseMessage {
        ServerSseMessage::from_message(ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(id)))
    }

    #[tokio::test]
    async fn a_client_that_comes_back_gets_the_rest_of_its_own_stream() {
        let events = Arc::new(Events::new(&Arc::default()));
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
        let events = Arc::new(Events::new(&Arc::default()));
        for n in 0..1000 {
            events.store(&n.to_string(), &answer(n));
        }
        assert_eq!(events.log().kept.len(), KEPT);
        for n in 0..10 {
            events.store(&n.to_string(), &call(n, 1 << 20, &json!(null)));
        }
        let log = events.log();
        assert_eq!(log.kept.len(), 1, "two of them weigh more than is kept");
        assert!(log.bytes >= 1 << 20 && log.bytes < 2 << 20);
    }

    /// The answer to a call, with a text of so many bytes.
    fn call(id: i64, text: usize, structured: &Value) -> ServerSseMessage {
        let mut result = CallToolResult::success(vec![ContentBlock::text("x".repeat(text))]);
        result.structured_content = Some(structured.clone());
        ServerSseMessage::from_message(ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), RequestId::Number(id)))
    }

    #[test]
    fn every_part_of_a_message_has_its_weight() {
        let entry = json!({"name": "a file", "size": 5, "type": "file"});
        for message in [
            call(1, 100_000, &json!(null)),
            call(1, 0, &json!({"entries": vec![entry; 2000]})),
            call(1, 0, &json!("x".repeat(100_000))),
            ServerSseMessage::from_message(ServerJsonRpcMessage::error(
                rmcp::model::ErrorData::invalid_params("x".repeat(100_000), None),
                Some(RequestId::Number(1)),
            )),
        ] {
            let serialised = serde_json::to_string(message.message.as_deref().unwrap()).unwrap().len();
            assert!(serialised >= 80_000 && size(&message) + 100 >= serialised, "{} for {serialised}", size(&message));
        }
    }

    #[test]
    fn all_sessions_together_keep_no_more_than_the_bound_and_give_it_back() {
        let all = Arc::new(Weight::default());
        let sessions: Vec<_> = (0..100).map(|_| Events::new(&all)).collect();
        for round in 0..8 {
            for (n, events) in sessions.iter().enumerate() {
                events.store(&format!("{n} {round}"), &call(round, 300_000, &json!({"more": "y".repeat(100_000)})));
                assert!(all.bytes.load(Ordering::Relaxed) <= ALL + (1 << 20), "{round} {n}");
            }
        }
        let kept = all.bytes.load(Ordering::Relaxed);
        assert!(kept > ALL / 4, "{kept}");
        // A small event finds its place beside the large ones of others.
        sessions[0].store("small", &answer(1));
        assert!(sessions[0].log().kept.iter().any(|event| &*event.stream == "small"));
        drop(sessions);
        assert_eq!((all.bytes.load(Ordering::Relaxed), all.sessions.load(Ordering::Relaxed)), (0, 0));
    }
}
