//! The requests of one connection that are under way.
//!
//! rmcp knows a request by the client's id. A second request with that id, while the first is under way or just after it was cancelled, would
//! get the first one's answer, and the other none. So such an id is refused; the protocol allows each id once in a session.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage};

use super::message::Fault;

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    open: HashSet<RequestId>,
    /// The last ones that were cancelled: the work of each may still be ending, and rmcp does not tell when it has.
    cancelled: VecDeque<RequestId>,
}

impl Calls {
    /// Takes a message of the client.
    ///
    /// # Errors
    /// What a request is answered with at once: its id is under way or was cancelled, or `most` requests are under way. Of cancelled ones the
    /// last `most` are known. A `ping` is taken always.
    pub(super) fn take(&self, message: &ClientJsonRpcMessage, most: usize) -> Result<(), Fault> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            JsonRpcMessage::Request(request) => {
                if table.open.contains(&request.id) || table.cancelled.contains(&request.id) {
                    return Err(Fault::taken(&request.id));
                }
                if table.open.len() >= most && !matches!(request.request, ClientRequest::PingRequest(_)) {
                    return Err(Fault::busy(&request.id, format!("{most} requests are under way already; wait for one of them to end")));
                }
                table.open.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(note) => {
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = cancelled.params.request_id.as_ref().and_then(|id| table.open.take(id))
                {
                    if table.cancelled.len() >= most {
                        table.cancelled.pop_front();
                    }
                    table.cancelled.push_back(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(())
    }

    /// Ends the request that a message to the client answers.
    pub(super) fn give(&self, message: &ServerJsonRpcMessage) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = id {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).open.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ServerResult;
    use serde_json::json;

    use super::*;

    fn client(message: &serde_json::Value) -> ClientJsonRpcMessage {
        serde_json::from_value(message.clone()).unwrap()
    }

    fn request(id: &serde_json::Value, method: &str) -> ClientJsonRpcMessage {
        client(&json!({"jsonrpc": "2.0", "id": id, "method": method}))
    }

    #[test]
    fn an_id_is_taken_once_at_a_time_and_not_again_once_it_is_cancelled() {
        let calls = Calls::default();
        let (first, second) = (request(&json!("a"), "tools/list"), request(&json!("b"), "tools/list"));
        assert!(calls.take(&first, 9).is_ok());
        assert!(calls.take(&first, 9).is_err());
        calls.give(&ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::String("a".into())));
        assert!(calls.take(&first, 9).is_ok());
        let cancel = client(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}}));
        assert!(calls.take(&cancel, 9).is_ok());
        assert!(calls.take(&first, 9).is_err());
        assert!(calls.take(&second, 1).is_ok(), "a cancelled request is not under way");
    }

    #[test]
    fn above_the_bound_only_a_ping_is_taken() {
        let calls = Calls::default();
        for id in 0..3 {
            assert!(calls.take(&request(&json!(id), "tools/list"), 3).is_ok());
        }
        assert!(calls.take(&request(&json!(3), "tools/list"), 3).is_err());
        assert!(calls.take(&request(&json!(4), "ping"), 3).is_ok());
    }
}
