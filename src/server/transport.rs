//! The stdio wire: lines in, lines out, with the strictness and the bounds rmcp's own transport does not have.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::message::{self, Fault};
use super::outbox::Outbox;
use super::strict;
use crate::gate::Queue;

/// Bytes that are read at once.
const AT_ONCE: usize = 64 << 10;
/// Bytes that are read ahead while no message is taken, to see the end of the input.
const AHEAD: usize = 1 << 20;

/// Bounds of the wire.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Longest line in bytes; longer ones are answered with an error and never held in memory.
    pub(super) line: usize,
    /// Bytes of answers that may wait for a slow reader before no further message is taken.
    pub(super) queue: usize,
    /// Requests that may be under way; further ones are refused at once.
    pub(super) requests: usize,
    /// How long closing waits for a reader that does not read.
    pub(super) close: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { line: 16 << 20, queue: 16 << 20, requests: 256, close: Duration::from_millis(500) }
    }
}

/// A transport over a byte stream and a byte sink.
#[derive(Debug)]
pub(super) struct Wire<R> {
    reader: R,
    /// What was read and not yet taken, from `read` on.
    input: Vec<u8>,
    read: usize,
    at_end: bool,
    line: Vec<u8>,
    /// Bytes of an over-long line seen so far, while the rest of it is thrown away.
    overlong: Option<usize>,
    /// Whether a first request was seen: stray notifications before it would end rmcp's session.
    begun: bool,
    out: Outbox,
    writer: Option<JoinHandle<()>>,
    bounds: Bounds,
    ended: CancellationToken,
    queue: Queue,
}

impl<R: AsyncRead + Send + Unpin> Wire<R> {
    /// A wire over `reader` and `writer`; `ended` is cancelled when the input ends. Tool calls take their places in `queue` as they are read.
    pub(super) fn new(
        reader: R,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        bounds: Bounds,
        ended: CancellationToken,
        queue: Queue,
    ) -> Self {
        let (out, task) = Outbox::open(writer);
        Self {
            reader,
            input: Vec::new(),
            read: 0,
            at_end: false,
            line: Vec::new(),
            overlong: None,
            begun: false,
            out,
            writer: Some(task),
            bounds,
            ended,
            queue,
        }
    }

    /// Reads more of the input; whether there was more. Cancel-safe: what was read stays in `self`.
    async fn more(&mut self) -> bool {
        if self.at_end {
            return false;
        }
        self.input.drain(..self.read.min(self.input.len()));
        self.read = 0;
        self.input.reserve(AT_ONCE);
        let more = self.reader.read_buf(&mut self.input).await.unwrap_or_else(|fault| {
            tracing::warn!(%fault, "the input failed");
            0
        });
        self.at_end = more == 0;
        if self.at_end {
            self.ended.cancel();
        }
        !self.at_end
    }

    /// One line without its end, or nothing at the end of the input. Cancel-safe: what was read stays in `self`.
    async fn next_line(&mut self) -> bool {
        loop {
            let chunk = self.input.get(self.read..).unwrap_or_default();
            if chunk.is_empty() {
                if self.more().await {
                    continue;
                }
                return false;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |at| at + 1);
            let body = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            if let Some(seen) = &mut self.overlong {
                *seen += body.len();
            } else if self.line.len() + body.len() > self.bounds.line {
                self.overlong = Some(self.line.len() + body.len());
                self.line.truncate(4096);
                if self.line.is_empty() {
                    self.line.extend_from_slice(body.get(..body.len().min(4096)).unwrap_or_default());
                }
            } else {
                self.line.extend_from_slice(body);
            }
            self.read += taken;
            if end.is_some() {
                return true;
            }
        }
    }

    /// Waits until answers have gone out, while looking on for the end of the input. Whether anybody reads answers.
    ///
    /// INVARIANT: a client that does not read its answers gets no further message taken.
    async fn room(&mut self) -> bool {
        let state = Arc::clone(&self.out.state);
        loop {
            let drained = state.drained.notified();
            if state.broken.is_cancelled() {
                return false;
            }
            if state.queued.load(Ordering::Acquire) <= self.bounds.queue {
                return true;
            }
            let looks_on = !self.at_end && self.input.len() - self.read.min(self.input.len()) < AHEAD;
            tokio::select! {
                () = drained => {}
                _ = self.more(), if looks_on => {}
            }
        }
    }

    /// Reads the line as a message; whatever is wrong with it is answered here.
    fn read_line(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut taken = None;
        let line = std::mem::take(&mut self.line);
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        if let Some(length) = self.overlong.take() {
            let limit = self.bounds.line;
            let why = format!("the message has {length} bytes, more than the {limit} that are read; send less at once");
            self.out.fault(&Fault::invalid(strict::salvage_id(text).as_ref(), why));
        } else if !text.iter().all(u8::is_ascii_whitespace) {
            taken = self.take(message::read(text));
        }
        self.line = line;
        self.line.clear();
        // One huge message must not hold its memory for the rest of the session.
        self.line.shrink_to(1 << 20);
        taken
    }

    fn take(&mut self, read: Result<Option<ClientJsonRpcMessage>, Fault>) -> Option<ClientJsonRpcMessage> {
        let taken = read.and_then(|message| {
            let Some(mut message) = message.filter(|message| self.begun || matches!(message, JsonRpcMessage::Request(_))) else {
                return Ok(None);
            };
            self.out.state.calls.take(&message, self.bounds.requests)?;
            self.begun = true;
            if let JsonRpcMessage::Request(request) = &mut message
                && let ClientRequest::CallToolRequest(call) = &mut request.request
            {
                call.extensions.insert(Arc::new(self.queue.enter()));
            }
            Ok(Some(message))
        });
        taken.unwrap_or_else(|fault| {
            self.out.fault(&fault);
            None
        })
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Wire<R> {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let sent = self.out.message(message);
        std::future::ready(sent)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let broken = self.out.state.broken.clone();
            // A client that reads no answers any more may keep the input open.
            let more = self.room().await
                && tokio::select! {
                    biased;
                    () = broken.cancelled() => false,
                    more = self.next_line() => more,
                };
            if !more && (self.line.is_empty() || broken.is_cancelled()) {
                self.ended.cancel();
                return None;
            }
            if let Some(message) = self.read_line() {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.out.close();
        if let Some(mut writer) = self.writer.take()
            && tokio::time::timeout(self.bounds.close, &mut writer).await.is_err()
        {
            writer.abort();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    async fn feed(input: &[u8], bounds: Bounds) -> (Vec<String>, String) {
        let (mut far, near) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(near);
        let mut wire = Wire::new(reader, writer, bounds, CancellationToken::new(), Queue::default());
        far.write_all(input).await.unwrap();
        let (mut answers, sink) = tokio::io::split(far);
        // Half of a split stream does not close alone; the newline-terminated lines below are all that is read.
        drop(sink);
        let mut seen = Vec::new();
        let lines = input.split(|b| *b == b'\n').count() - 1;
        while let Ok(Some(message)) = tokio::time::timeout(Duration::from_secs(2), wire.receive()).await {
            seen.push(serde_json::to_string(&message).unwrap());
            if seen.len() == lines {
                break;
            }
        }
        wire.close().await.unwrap();
        drop(wire);
        let mut text = String::new();
        answers.read_to_string(&mut text).await.unwrap();
        (seen, text)
    }

    #[tokio::test]
    async fn an_over_long_line_is_answered_and_the_next_one_is_served() {
        let long = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(100_000));
        let input = format!("{long}\n{}\n", r#"{"jsonrpc":"2.0","id":6,"method":"ping"}"#);
        let (seen, answers) = feed(input.as_bytes(), Bounds { line: 10_000, ..Bounds::default() }).await;
        assert_eq!(seen, [r#"{"jsonrpc":"2.0","id":6,"method":"ping"}"#]);
        assert!(answers.starts_with(r#"{"error":{"code":-32600"#) && answers.contains(r#""id":5"#), "{answers}");
    }

    #[tokio::test]
    async fn a_client_that_closed_the_output_alone_ends_the_wire() {
        let (mut far, reader) = tokio::io::duplex(1 << 10);
        let (answers, writer) = tokio::io::duplex(1 << 10);
        drop(answers);
        let mut wire = Wire::new(reader, writer, Bounds::default(), CancellationToken::new(), Queue::default());
        // Its answer cannot be written; the input stays open.
        far.write_all(b"not json\n").await.unwrap();
        let ended = tokio::time::timeout(Duration::from_mins(1), wire.receive()).await;
        assert!(ended.unwrap().is_none());
        drop(far);
    }

    #[tokio::test]
    async fn what_is_no_json_is_answered_and_a_stray_notification_is_dropped() {
        let input = concat!(
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
            "not json\n\n",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
        );
        let (seen, answers) = feed(input.as_bytes(), Bounds::default()).await;
        assert_eq!(seen, [r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#]);
        assert!(answers.contains("-32700"), "{answers}");
    }
}
