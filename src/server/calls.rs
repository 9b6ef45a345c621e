//! The requests of one connection that are under way, and the batches that some of them came in.
//!
//! rmcp knows a request by the client's id. A second request with that id, while the first is under way or just after it was cancelled, would
//! get the first one's answer, and the other none. So each request is passed on under a number that is given once, and its answer gets the
//! client's id back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult,
    SubscriptionsListenResultMeta,
};

use super::message::{Fault, has_batches};

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Calls {
    table: Mutex<Table>,
    takes_batches: AtomicBool,
}

#[derive(Debug, Default)]
struct Table {
    last: i64,
    open: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    number: i64,
    id: RequestId,
    batch: Option<Arc<Batch>>,
}

/// Where an answer goes.
#[derive(Debug)]
pub(super) enum Way {
    /// To the client, as it is.
    Alone,
    /// Into the answer of its batch.
    Batch(Arc<Batch>),
    /// Nowhere: nobody waits for it any more.
    Nowhere,
}

impl Calls {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the client has agreed on a version with batches.
    pub(super) fn takes_batches(&self) -> bool {
        self.takes_batches.load(Ordering::Acquire)
    }

    /// Takes a message of the client: a request gets its number, a cancellation that of what it cancels. Gives the batch of a request that was
    /// cancelled, which waits for one answer less.
    ///
    /// # Errors
    /// What a request is answered with at once: its id is under way, or `most` requests are. A `ping` is taken always.
    pub(super) fn take(
        &self,
        message: &mut ClientJsonRpcMessage,
        most: usize,
        batch: Option<&Arc<Batch>>,
    ) -> Result<Option<Arc<Batch>>, Fault> {
        let mut table = self.table();
        match message {
            JsonRpcMessage::Request(request) => {
                if table.open.iter().any(|call| call.id == request.id) {
                    return Err(Fault::taken(&request.id));
                }
                if table.open.len() >= most && !matches!(request.request, ClientRequest::PingRequest(_)) {
                    return Err(Fault::busy(&request.id, format!("{most} requests are under way already; wait for one of them to end")));
                }
                table.last += 1;
                let number = table.last;
                let id = std::mem::replace(&mut request.id, RequestId::Number(number));
                table.open.push(Call { number, id, batch: batch.cloned() });
            }
            JsonRpcMessage::Notification(note) => {
                if let ClientNotification::CancelledNotification(cancelled) = &mut note.notification {
                    let found = table.open.iter().position(|call| Some(&call.id) == cancelled.params.request_id.as_ref());
                    let call = found.map(|at| table.open.swap_remove(at));
                    // A number that is given to no request: what was not found is ignored.
                    cancelled.params.request_id = Some(RequestId::Number(call.as_ref().map_or(0, |call| call.number)));
                    // rmcp sends no answer to a cancelled request.
                    return Ok(call.and_then(|call| call.batch));
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(None)
    }

    /// Gives a message to the client its id back, and ends the request that it answers.
    pub(super) fn give(&self, message: &mut ServerJsonRpcMessage) -> Way {
        match message {
            JsonRpcMessage::Response(response) => {
                let Some(call) = self.end(&response.id) else { return Way::Nowhere };
                match &mut response.result {
                    ServerResult::InitializeResult(result) => {
                        self.takes_batches.store(has_batches(&result.protocol_version), Ordering::Release);
                    }
                    ServerResult::SubscriptionsListenResult(result) => {
                        result.meta.extend((*SubscriptionsListenResultMeta::new(call.id.clone())).clone());
                    }
                    _ => {}
                }
                response.id = call.id;
                call.batch.map_or(Way::Alone, Way::Batch)
            }
            JsonRpcMessage::Error(error) => {
                let Some(id) = &mut error.id else { return Way::Alone };
                let Some(call) = self.end(id) else { return Way::Nowhere };
                *id = call.id;
                call.batch.map_or(Way::Alone, Way::Batch)
            }
            JsonRpcMessage::Notification(note) => {
                // A note of a subscription names the request that asked for it.
                let meta = note.notification.get_meta_mut();
                if let Some(own) = meta.subscription_id() {
                    let table = self.table();
                    let Some(call) = table.open.iter().find(|call| RequestId::Number(call.number) == own) else { return Way::Nowhere };
                    meta.set_subscription_id(call.id.clone());
                }
                Way::Alone
            }
            JsonRpcMessage::Request(_) => Way::Alone,
        }
    }

    fn end(&self, own: &RequestId) -> Option<Call> {
        let RequestId::Number(number) = own else { return None };
        let mut table = self.table();
        let at = table.open.iter().position(|call| call.number == *number)?;
        Some(table.open.swap_remove(at))
    }
}

/// The answers to one batch, which are sent as one array when the last is there.
#[derive(Debug)]
pub(super) struct Batch(Mutex<Answers>);

#[derive(Debug)]
struct Answers {
    /// Messages that are not dealt with yet.
    left: usize,
    array: Vec<u8>,
}

impl Batch {
    /// A batch of so many messages.
    pub(super) const fn new(messages: usize) -> Self {
        Self(Mutex::new(Answers { left: messages, array: Vec::new() }))
    }

    /// One message is dealt with, with an answer where it gets one. Gives the array after the last; nothing where it would be empty (JSON-RPC
    /// 2.0, section 6).
    pub(super) fn settle(&self, answer: Option<&[u8]>) -> Option<Vec<u8>> {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = answer {
            let before = if answers.array.is_empty() { b'[' } else { b',' };
            answers.array.push(before);
            answers.array.extend_from_slice(answer);
        }
        answers.left = answers.left.saturating_sub(1);
        if answers.left > 0 || answers.array.is_empty() {
            return None;
        }
        let mut array = std::mem::take(&mut answers.array);
        array.push(b']');
        Some(array)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn client(message: &serde_json::Value) -> ClientJsonRpcMessage {
        serde_json::from_value(message.clone()).unwrap()
    }

    fn ping(id: &serde_json::Value, method: &str) -> ClientJsonRpcMessage {
        client(&json!({"jsonrpc": "2.0", "id": id, "method": method}))
    }

    fn number(message: &ClientJsonRpcMessage) -> RequestId {
        let JsonRpcMessage::Request(request) = message else { panic!("a request") };
        request.id.clone()
    }

    #[test]
    fn an_id_is_taken_once_at_a_time_and_an_answer_finds_its_own_request() {
        let calls = Calls::default();
        let mut first = ping(&json!("a"), "tools/list");
        assert!(calls.take(&mut first, 9, None).is_ok());
        assert!(calls.take(&mut ping(&json!("a"), "tools/list"), 9, None).is_err());
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}});
        assert!(calls.take(&mut client(&cancel), 9, None).is_ok());
        let mut second = ping(&json!("a"), "tools/list");
        assert!(calls.take(&mut second, 9, None).is_ok());
        // The answer to the cancelled request comes late, and is not the answer to the next one with its id.
        let mut late = ServerJsonRpcMessage::response(ServerResult::empty(()), number(&first));
        assert!(matches!(calls.give(&mut late), Way::Nowhere));
        let mut answer = ServerJsonRpcMessage::response(ServerResult::empty(()), number(&second));
        assert!(matches!(calls.give(&mut answer), Way::Alone));
        assert_eq!(serde_json::to_value(answer).unwrap()["id"], "a");
        assert!(calls.table().open.is_empty());
    }

    #[test]
    fn above_the_bound_only_a_ping_is_taken() {
        let calls = Calls::default();
        for id in 0..3 {
            assert!(calls.take(&mut ping(&json!(id), "tools/list"), 3, None).is_ok());
        }
        assert!(calls.take(&mut ping(&json!(3), "tools/list"), 3, None).is_err());
        assert!(calls.take(&mut ping(&json!(4), "ping"), 3, None).is_ok());
    }

    #[test]
    fn a_batch_is_answered_once_and_not_at_all_where_nothing_is_answered() {
        let batch = Batch::new(3);
        assert_eq!(batch.settle(Some(b"1")), None);
        assert_eq!(batch.settle(None), None);
        assert_eq!(batch.settle(Some(b"2")), Some(b"[1,2]".to_vec()));
        assert_eq!(Batch::new(1).settle(None), None);
    }
}
