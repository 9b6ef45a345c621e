//! A stream that gives a peer up which reads nothing of what waits for it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// A stream whose writes must make progress.
#[derive(Debug)]
pub(super) struct Patient<S> {
    inner: S,
    patience: Duration,
    /// Armed while a write waits.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(super) fn new(inner: S, patience: Duration) -> Self {
        Self { inner, patience, until: None }
    }

    /// Passes what was done on, and ends the wait of what waits too long.
    fn judge<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.until = None;
            return done;
        }
        let until = Instant::now() + self.patience;
        let sleep = self.until.get_or_insert_with(|| Box::pin(sleep_until(until)));
        ready!(sleep.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer reads nothing")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judge(context, done)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, pieces: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.judge(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.inner).poll_flush(context);
        self.judge(context, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.inner).poll_shutdown(context);
        self.judge(context, done)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_peer_that_reads_nothing_is_given_up_and_a_slow_one_is_not() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut near = Patient::new(near, Duration::from_secs(2));
        let sent = tokio::spawn(async move {
            near.write_all(&[1; 64]).await?;
            near.write_all(&[2; 64]).await
        });
        let mut some = [0; 8];
        for _ in 0..10 {
            far.read_exact(&mut some).await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        // From here on nothing is read.
        assert_eq!(sent.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
