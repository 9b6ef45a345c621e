//! A bound on what comes before an answer begins: interim answers may be sent without end, and each is cheap to send and dear to read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection of any kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Counts what is read until the head is.
pub(super) struct Guard {
    inner: Box<dyn Stream>,
    read: usize,
    head_is_read: Arc<AtomicBool>,
}

/// Bytes that may come before the head of the answer has been read; interim answers (RFC 9110, section 15.2) are part of them.
const MOST: usize = 256 * 1024;

impl Guard {
    /// A guarded connection, and where to say that the head is read.
    pub(super) fn new(inner: Box<dyn Stream>) -> (Self, Arc<AtomicBool>) {
        let head_is_read = Arc::new(AtomicBool::new(false));
        (Self { inner, read: 0, head_is_read: Arc::clone(&head_is_read) }, head_is_read)
    }
}

impl AsyncRead for Guard {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.read > MOST && !self.head_is_read.load(Ordering::Relaxed) {
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
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
