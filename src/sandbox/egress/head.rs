//! What the head of a request weighs, and a bound on what comes before an answer begins: interim answers may be sent without end, and each is
//! cheap to send and dear to read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of a request's head as it is written (RFC 9112, sections 3 and 5), with the longest header that says how long its body is.
pub(super) fn size<B>(request: &http::Request<B>) -> u64 {
    let line = request.method().as_str().len() + request.uri().to_string().len() + "  HTTP/1.1\r\n\r\n".len();
    let headers: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum();
    (line + headers + FRAMING) as u64
}

/// `Content-Length` of 20 digits.
const FRAMING: usize = 38;

/// A connection of any kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Counts what is sent, and what is read until the head is.
pub(super) struct Guard {
    inner: Box<dyn Stream>,
    read: usize,
    progress: Arc<Progress>,
}

/// How far an exchange has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The head of the answer has been read.
    pub(super) head_is_read: AtomicBool,
    /// Bytes of the request that have left.
    pub(super) sent: AtomicU64,
}

/// Bytes that may come before the head of the answer has been read; interim answers (RFC 9110, section 15.2) are part of them.
const MOST: usize = 256 * 1024;

impl Guard {
    /// A guarded connection, and how far it has come.
    pub(super) fn new(inner: Box<dyn Stream>) -> (Self, Arc<Progress>) {
        let progress = Arc::<Progress>::default();
        (Self { inner, read: 0, progress: Arc::clone(&progress) }, progress)
    }
}

impl AsyncRead for Guard {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.read > MOST && !self.progress.head_is_read.load(Ordering::Relaxed) {
            return Poll::Ready(Err(io::Error::other("its answer does not begin")));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.read = self.read.saturating_add(buffer.filled().len().saturating_sub(before));
        polled
    }
}

impl AsyncWrite for Guard {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = &polled {
            self.progress.sent.fetch_add(*written as u64, Ordering::Relaxed);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::HttpUrl;
    use crate::policy::request;

    #[test]
    fn what_a_caller_says_is_no_less_than_what_is_sent() {
        for (url, headers, body) in [
            ("https://a.example/", vec![], ""),
            ("https://a.example/é/%20/\u{4e2d}?q=\u{1f600}", vec![("accept", "x".repeat(8000)), ("x-api-key", "k".to_owned())], "body"),
        ] {
            let parsed = HttpUrl::parse(url).unwrap();
            let mut built = http::Request::builder().method("DELETE").uri(parsed.target()).header("host", parsed.host_str());
            for (name, value) in &headers {
                built = built.header(*name, value);
            }
            let built = built.header("user-agent", concat!("toolgate/", env!("CARGO_PKG_VERSION"))).body(()).unwrap();
            let said = request::size(url, headers.iter().map(|(name, value)| (*name, &**value)), body);
            assert!(said >= super::size(&built) + body.len() as u64, "{url}");
        }
    }
}
