//! The stdio transport: one message a line, with the strictness and the bounds that rmcp's own transport does not have.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, JsonRpcResponse, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder, FramedRead};
use tokio_util::sync::CancellationToken;

use super::calls::Calls;
use super::message::{self, Fault, in_one_line};
use super::strict;
use crate::gate::Queue;

/// Bytes that are read at once.
const AT_ONCE: usize = 64 << 10;
/// Bytes of messages that are read ahead while no message is taken, to see the end of the input.
const AHEAD: usize = 1 << 20;
/// Bytes of answers that may wait for a slow reader before no further message is taken.
const QUEUE: usize = 16 << 20;
/// Requests that may be under way; further ones are refused at once.
const REQUESTS: usize = 256;
/// How long closing waits for a reader that does not read.
const CLOSE: Duration = Duration::from_millis(500);

/// A transport over a byte stream and a byte sink.
#[derive(Debug)]
pub(super) struct Wire<R> {
    input: FramedRead<R, Lines>,
    /// Lines that were read and not yet taken.
    ahead: VecDeque<Line>,
    at_end: bool,
    /// Whether a first request was seen: stray notifications before it would end rmcp's session.
    begun: bool,
    lines: mpsc::UnboundedSender<Vec<u8>>,
    output: Arc<Output>,
    writer: JoinHandle<()>,
    /// Requests taken and neither answered nor cancelled.
    calls: Calls,
    ended: CancellationToken,
    queue: Queue,
}

/// What the transport shares with the task that writes.
#[derive(Debug, Default)]
struct Output {
    /// Bytes of answers that wait to be written.
    queued: watch::Sender<usize>,
    /// Nobody can read answers any more.
    broken: CancellationToken,
}

impl Output {
    /// Waits until few enough answers wait to be written.
    async fn room(&self) {
        // What it gives locks the number.
        drop(self.queued.subscribe().wait_for(|queued| *queued <= QUEUE).await);
    }
}

impl<R: AsyncRead + Send + Unpin> Wire<R> {
    /// A transport over `reader` and `writer`. A line above `longest` bytes is answered with an error and never held in memory. `ended` is
    /// cancelled when the input ends. Tool calls take their places in `queue` as they are read.
    pub(super) fn new(
        reader: R,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        longest: usize,
        ended: CancellationToken,
        queue: Queue,
    ) -> Self {
        let (lines, waiting) = mpsc::unbounded_channel();
        let output = Arc::new(Output::default());
        Self {
            input: FramedRead::with_capacity(reader, Lines::new(longest), AT_ONCE),
            ahead: VecDeque::new(),
            at_end: false,
            begun: false,
            lines,
            writer: tokio::spawn(write_lines(waiting, writer, Arc::clone(&output))),
            output,
            calls: Calls::default(),
            ended,
            queue,
        }
    }

    fn put(&self, line: Vec<u8>) -> io::Result<()> {
        let mut line = in_one_line(line);
        line.push(b'\n');
        self.output.queued.send_modify(|queued| *queued += line.len());
        self.lines.send(line).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Reads a line as a message; whatever is wrong with it is answered here.
    fn take(&mut self, line: Line) -> Option<ClientJsonRpcMessage> {
        let read = match line {
            Ok(line) if line.iter().all(u8::is_ascii_whitespace) => Ok(None),
            Ok(line) => message::read(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line)),
            Err(TooLong(head, longest)) => {
                let why = format!("the message has more than the {longest} bytes that are read; send less at once");
                Err(Fault::invalid(strict::salvage_id(&head), why))
            }
        };
        let taken = read.and_then(|message| {
            let Some(mut message) = message.filter(|message| self.begun || matches!(message, JsonRpcMessage::Request(_))) else {
                return Ok(None);
            };
            self.calls.take(&message, REQUESTS)?;
            self.begun = true;
            if let JsonRpcMessage::Request(request) = &mut message
                && let ClientRequest::CallToolRequest(call) = &mut request.request
            {
                call.extensions.insert(Arc::new(self.queue.enter()));
            }
            Ok(Some(message))
        });
        taken.unwrap_or_else(|fault| {
            if let Err(fault) = self.put(fault.answer().to_string().into_bytes()) {
                tracing::warn!(%fault, "an error could not be answered");
            }
            None
        })
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Wire<R> {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.calls.give(&message);
        // Before the first await: messages go out in the order in which they are sent.
        std::future::ready(line_of(&message).and_then(|line| self.put(line)))
    }

    /// The next message. Cancel-safe: what was read stays in `self`.
    ///
    /// INVARIANT: a client that does not read its answers gets no further message taken. The end of its input is seen all the same.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let output = Arc::clone(&self.output);
        while !(self.at_end && self.ahead.is_empty()) {
            let looks_on = !self.at_end && self.ahead.iter().map(length).sum::<usize>() < AHEAD;
            tokio::select! {
                biased;
                // A client that reads no answers any more may keep the input open.
                () = output.broken.cancelled() => break,
                () = output.room(), if !self.ahead.is_empty() => {
                    let line = self.ahead.pop_front();
                    if let Some(message) = line.and_then(|line| self.take(line)) {
                        return Some(message);
                    }
                }
                read = self.input.next(), if looks_on => match read {
                    Some(Ok(line)) => self.ahead.push_back(line),
                    end => {
                        if let Some(Err(fault)) = end {
                            tracing::warn!(%fault, "the input failed");
                        }
                        self.at_end = true;
                        self.ended.cancel();
                    }
                },
            }
        }
        self.ended.cancel();
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        // Without a sender the writer ends once it has written what is queued.
        (self.lines, _) = mpsc::unbounded_channel();
        if tokio::time::timeout(CLOSE, &mut self.writer).await.is_err() {
            self.writer.abort();
        }
        Ok(())
    }
}

/// A message as JSON, in a buffer that is made large enough at once.
fn line_of(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let texts = match message {
        JsonRpcMessage::Response(JsonRpcResponse { result: ServerResult::CallToolResult(result), .. }) => {
            result.content.iter().filter_map(|block| block.as_text()).map(|block| block.text.len()).sum()
        }
        _ => 0,
    };
    // Most texts have few characters that are escaped.
    let mut line = Vec::with_capacity(1024 + texts + texts / 16);
    serde_json::to_writer(&mut line, message)?;
    Ok(line)
}

/// A line, or the beginning of one that is too long.
type Line = Result<Bytes, TooLong>;

/// The first bytes of a line, and how many it may have.
#[derive(Debug)]
struct TooLong(Bytes, usize);

/// What a line that waits takes of [`AHEAD`]: an empty one takes memory as well.
fn length(line: &Line) -> usize {
    64 + line.as_ref().map_or_else(|TooLong(head, _)| head.len(), Bytes::len)
}

/// Cuts the input into lines.
#[derive(Debug)]
struct Lines(AnyDelimiterCodec);

impl Lines {
    fn new(longest: usize) -> Self {
        Self(AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), longest))
    }

    /// A line that is too long is an item and no error: after an error `FramedRead` would wait for more input, whatever it holds already.
    fn item(&self, read: Result<Option<Bytes>, AnyDelimiterCodecError>, input: &BytesMut) -> io::Result<Option<Line>> {
        match read {
            Ok(line) => Ok(line.map(Ok)),
            Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
                let head = Bytes::copy_from_slice(input.get(..input.len().min(4096)).unwrap_or_default());
                Ok(Some(Err(TooLong(head, self.0.max_length()))))
            }
            Err(AnyDelimiterCodecError::Io(fault)) => Err(fault),
        }
    }
}

impl Decoder for Lines {
    type Item = Line;
    type Error = io::Error;

    fn decode(&mut self, input: &mut BytesMut) -> io::Result<Option<Line>> {
        let read = self.0.decode(input);
        self.item(read, input)
    }

    fn decode_eof(&mut self, input: &mut BytesMut) -> io::Result<Option<Line>> {
        let read = self.0.decode_eof(input);
        self.item(read, input)
    }
}

/// Writes queued lines, as many small ones at once as wait.
async fn write_lines(mut lines: mpsc::UnboundedReceiver<Vec<u8>>, writer: impl AsyncWrite + Unpin, output: Arc<Output>) {
    let mut writer = BufWriter::with_capacity(32 << 10, writer);
    while let Some(line) = lines.recv().await {
        let mut written = writer.write_all(&line).await;
        if written.is_ok() && lines.is_empty() {
            written = writer.flush().await;
        }
        output.queued.send_modify(|queued| *queued -= line.len());
        if let Err(fault) = written {
            tracing::info!(%fault, "the output is closed");
            return output.broken.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn feed(input: &[u8], longest: usize) -> (Vec<String>, String) {
        let (mut far, near) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(near);
        let mut wire = Wire::new(reader, writer, longest, CancellationToken::new(), Queue::default());
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
        let (seen, answers) = feed(input.as_bytes(), 10_000).await;
        assert_eq!(seen, [r#"{"jsonrpc":"2.0","id":6,"method":"ping"}"#]);
        assert!(answers.starts_with(r#"{"error":{"code":-32600"#) && answers.contains(r#""id":5"#), "{answers}");
    }

    #[tokio::test]
    async fn a_client_that_closed_the_output_alone_ends_the_wire() {
        let (mut far, reader) = tokio::io::duplex(1 << 10);
        let (answers, writer) = tokio::io::duplex(1 << 10);
        drop(answers);
        let mut wire = Wire::new(reader, writer, 1 << 20, CancellationToken::new(), Queue::default());
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
        let (seen, answers) = feed(input.as_bytes(), 1 << 20).await;
        assert_eq!(seen, [r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#]);
        assert!(answers.contains("-32700"), "{answers}");
    }
}
