//! The sending half of the wire: answers wait here for a reader, counted, and go out in as few writes as they fit.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{ContentBlock, JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::calls::Calls;
use super::escape::{escape, in_one_line};
use super::message::Fault;

/// The sending end: answers wait here for the writer.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    lines: mpsc::UnboundedSender<Line>,
    pub(super) state: Arc<OutboxState>,
}

/// What the writer writes, its end of line included.
#[derive(Debug)]
enum Line {
    /// A message as it is.
    Whole(Vec<u8>),
    /// A message with one long text, which is escaped piece by piece while it is written: the message never stands in memory a second time.
    Long {
        /// The message up to the text.
        head: Vec<u8>,
        /// The text, not escaped.
        text: String,
        /// The message after the text.
        tail: Vec<u8>,
    },
}

impl Line {
    fn len(&self) -> usize {
        match self {
            Line::Whole(line) => line.len(),
            Line::Long { head, text, tail } => head.len() + text.len() + tail.len(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct OutboxState {
    pub(super) queued: AtomicUsize,
    /// Requests taken and neither answered nor cancelled.
    pub(super) calls: Calls,
    pub(super) broken: CancellationToken,
    pub(super) drained: Notify,
}

impl Outbox {
    /// An outbox and the task that writes what is put into it.
    pub(super) fn open(writer: impl AsyncWrite + Send + Unpin + 'static) -> (Self, JoinHandle<()>) {
        let (lines, waiting) = mpsc::unbounded_channel();
        let state = Arc::new(OutboxState::default());
        let task = tokio::spawn(write_lines(waiting, writer, Arc::clone(&state)));
        (Self { lines, state }, task)
    }

    /// Lets the writer finish what is queued, and end.
    pub(super) fn close(&mut self) {
        // Dropping the last sender is the writer's end of the queue.
        (self.lines, _) = mpsc::unbounded_channel();
    }

    pub(super) fn message(&self, mut message: ServerJsonRpcMessage) -> io::Result<()> {
        self.state.calls.give(&message);
        if let Some(text) = long_text(&mut message) {
            return self.line(around(&message, text)?);
        }
        let mut line = Vec::with_capacity(512);
        serde_json::to_writer(&mut line, &message)?;
        self.bytes(line)
    }

    /// Answers with an error.
    pub(super) fn fault(&self, fault: &Fault) {
        if let Err(fault) = self.bytes(fault.answer().into_bytes()) {
            tracing::warn!(%fault, "an error could not be answered");
        }
    }

    fn bytes(&self, line: Vec<u8>) -> io::Result<()> {
        let mut line = in_one_line(line);
        line.push(b'\n');
        self.line(Line::Whole(line))
    }

    fn line(&self, line: Line) -> io::Result<()> {
        self.state.queued.fetch_add(line.len(), Ordering::AcqRel);
        self.lines.send(line).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

/// Texts above this are escaped while they are written.
const LONG: usize = 128 << 10;
/// How much of a long text is escaped and written at once: more would only leave the processor's near memory before the kernel copies it.
const PIECE: usize = 128 << 10;
/// Stands for a long text while the rest of its message is made. No text of a message can hold it: JSON escapes U+0000.
const PLACE: &str = "\u{0}long text\u{0}";
/// The same, as it stands in JSON.
const PLACE_IN_JSON: &[u8] = b"\\u0000long text\\u0000";

/// Takes the one long text out of a tool's answer and leaves a mark in its place.
fn long_text(message: &mut ServerJsonRpcMessage) -> Option<String> {
    let JsonRpcMessage::Response(response) = message else { return None };
    let ServerResult::CallToolResult(result) = &mut response.result else { return None };
    let ContentBlock::Text(first) = result.content.first_mut()? else { return None };
    (first.text.len() > LONG).then(|| std::mem::replace(&mut first.text, PLACE.to_owned()))
}

/// An answer around the mark in its result. Only the result is searched, where the mark comes before anything that a caller wrote: the id is
/// the client's.
fn around(message: &ServerJsonRpcMessage, text: String) -> io::Result<Line> {
    let JsonRpcMessage::Response(response) = message else { return Err(io::Error::other("a long text without an answer")) };
    let mut head = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    serde_json::to_writer(&mut head, &response.id)?;
    head.extend_from_slice(br#","result":"#);
    let result = in_one_line(serde_json::to_vec(&response.result)?);
    let at = result.windows(PLACE_IN_JSON.len()).position(|window| window == PLACE_IN_JSON);
    let parts = at.and_then(|at| Some((result.get(..at)?, result.get(at + PLACE_IN_JSON.len()..)?)));
    let Some((before, after)) = parts else { return Err(io::Error::other("a long text lost its place")) };
    head.extend_from_slice(before);
    Ok(Line::Long { head, text, tail: [after, b"}\n"].concat() })
}

/// Writes queued lines, as many at once as wait.
async fn write_lines(mut lines: mpsc::UnboundedReceiver<Line>, mut writer: impl AsyncWrite + Unpin, state: Arc<OutboxState>) {
    let mut waiting = None;
    loop {
        let Some(line) = (match waiting.take() {
            Some(line) => Some(line),
            None => lines.recv().await,
        }) else {
            return;
        };
        let mut length = line.len();
        let written = match line {
            Line::Whole(mut lines_at_once) => {
                // Small lines go out in one write; a big one goes as it is.
                while lines_at_once.len() < 32 << 10 {
                    match lines.try_recv() {
                        Ok(Line::Whole(more)) => {
                            length += more.len();
                            lines_at_once.extend_from_slice(&more);
                        }
                        Ok(long) => {
                            waiting = Some(long);
                            break;
                        }
                        Err(_) => break,
                    }
                }
                writer.write_all(&lines_at_once).await
            }
            Line::Long { head, text, tail } => write_long(&mut writer, &head, &text, &tail).await,
        };
        let written = match written {
            Ok(()) => writer.flush().await,
            Err(fault) => Err(fault),
        };
        state.queued.fetch_sub(length, Ordering::AcqRel);
        state.drained.notify_waiters();
        if let Err(fault) = written {
            tracing::info!(%fault, "the output is closed");
            state.broken.cancel();
            state.drained.notify_waiters();
            return;
        }
    }
}

/// Writes a message with a long text, escaped piece by piece; what is before and after the text goes out with its first and last piece.
async fn write_long(writer: &mut (impl AsyncWrite + Unpin), head: &[u8], text: &str, tail: &[u8]) -> io::Result<()> {
    let mut escaped = Vec::with_capacity(PIECE + PIECE / 8 + head.len() + tail.len());
    escaped.extend_from_slice(head);
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = PIECE.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        // Between the quotation marks that the head ends with and the tail begins with.
        escape(piece, &mut escaped);
        rest = after;
        escaped = in_one_line(escaped);
        if !rest.is_empty() {
            writer.write_all(&escaped).await?;
            escaped.clear();
        }
    }
    escaped.extend_from_slice(tail);
    writer.write_all(&escaped).await
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn a_long_text_arrives_as_it_was_under_any_id() {
        let text: String = ["\u{0}long text\u{0}", "\"quoted\" \\ \n", "\u{1f600}é"].concat().repeat(20_000);
        for id in [json!(7), json!(PLACE), json!("\",\"result\":{\"content\":[{\"text\":\"\u{0}long text\u{0}")] {
            let blocks = vec![ContentBlock::text(text.clone()), ContentBlock::text(PLACE)];
            let result = ServerResult::CallToolResult(rmcp::model::CallToolResult::success(blocks));
            let (near, mut far) = tokio::io::duplex(1 << 10);
            let (mut out, writer) = Outbox::open(near);
            let message = ServerJsonRpcMessage::response(result, serde_json::from_value(id).unwrap());
            let plain = serde_json::to_value(&message).unwrap();
            out.message(message).unwrap();
            let read = tokio::spawn(async move {
                let mut all = Vec::new();
                far.read_to_end(&mut all).await.map(|_| all)
            });
            out.close();
            writer.await.unwrap();
            let all = read.await.unwrap().unwrap();
            assert_eq!(all.last(), Some(&b'\n'));
            assert_eq!(serde_json::from_slice::<Value>(&all).unwrap(), plain);
        }
    }
}
