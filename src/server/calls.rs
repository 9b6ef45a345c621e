//! The requests of one connection that are under way.
//!
//! rmcp knows a request by the client's id. A second request with that id, while the first is under way or just after it was cancelled, would
//! get the first one's answer, and the other none. So each request is passed on under a number that is given once, and its answer gets the
//! client's id back.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult,
    SubscriptionsListenResultMeta,
};

use super::message::Fault;

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Calls {
    table: Mutex<Table>,
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
}

impl Calls {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message of the client: a request gets its number, a cancellation that of what it cancels.
    ///
    /// # Errors
    /// What a request is answered with at once: its id is under way, or `most` requests are. A `ping` is taken always.
    pub(super) fn take(&self, message: &mut ClientJsonRpcMessage, most: usize) -> Result<(), Fault> {
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
                table.open.push(Call { number, id });
            }
            JsonRpcMessage::Notification(note) => {
                if let ClientNotification::CancelledNotification(cancelled) = &mut note.notification {
                    let found = table.open.iter().position(|call| Some(&call.id) == cancelled.params.request_id.as_ref());
                    let call = found.map(|at| table.open.swap_remove(at));
                    // A number that is given to no request: what was not found is ignored.
                    cancelled.params.request_id = Some(RequestId::Number(call.map_or(0, |call| call.number)));
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(())
    }

    /// Gives a message to the client its id back, and ends the request that it answers. Whether it is to be sent: the answer to a cancelled request
    /// is not.
    pub(super) fn give(&self, message: &mut ServerJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Response(response) => {
                let Some(call) = self.end(&response.id) else { return false };
                if let ServerResult::SubscriptionsListenResult(result) = &mut response.result {
                    result.meta.extend((*SubscriptionsListenResultMeta::new(call.id.clone())).clone());
                }
                response.id = call.id;
                true
            }
            JsonRpcMessage::Error(error) => {
                let Some(id) = &mut error.id else { return true };
                let Some(call) = self.end(id) else { return false };
                *id = call.id;
                true
            }
            JsonRpcMessage::Notification(note) => {
                // A note of a subscription names the request that asked for it.
                let meta = note.notification.get_meta_mut();
                if let Some(own) = meta.subscription_id() {
                    let table = self.table();
                    let Some(call) = table.open.iter().find(|call| RequestId::Number(call.number) == own) else { return false };
                    meta.set_subscription_id(call.id.clone());
                }
                true
            }
            JsonRpcMessage::Request(_) => true,
        }
    }

    fn end(&self, own: &RequestId) -> Option<Call> {
        let RequestId::Number(number) = own else { return None };
        let mut table = self.table();
        let at = table.open.iter().position(|call| call.number == *number)?;
        Some(table.open.swap_remove(at))
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
        assert!(calls.take(&mut first, 9).is_ok());
        assert!(calls.take(&mut ping(&json!("a"), "tools/list"), 9).is_err());
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}});
        assert!(calls.take(&mut client(&cancel), 9).is_ok());
        let mut second = ping(&json!("a"), "tools/list");
        assert!(calls.take(&mut second, 9).is_ok());
        // The answer to the cancelled request comes late, and is not the answer to the next one with its id.
        let mut late = ServerJsonRpcMessage::response(ServerResult::empty(()), number(&first));
        assert!(!calls.give(&mut late));
        let mut answer = ServerJsonRpcMessage::response(ServerResult::empty(()), number(&second));
        assert!(calls.give(&mut answer));
        assert_eq!(serde_json::to_value(answer).unwrap()["id"], "a");
        assert!(calls.table().open.is_empty());
    }

    #[test]
    fn above_the_bound_only_a_ping_is_taken() {
        let calls = Calls::default();
        for id in 0..3 {
            assert!(calls.take(&mut ping(&json!(id), "tools/list"), 3).is_ok());
        }
        assert!(calls.take(&mut ping(&json!(3), "tools/list"), 3).is_err());
        assert!(calls.take(&mut ping(&json!(4), "ping"), 3).is_ok());
    }
}
