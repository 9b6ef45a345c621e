//! MCP over standard input and output: one process, one session.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rustix::fs::{FileType, fstat};
use rustix::pipe::fcntl_setpipe_size;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixStream, unix::pipe};
use tokio_util::sync::CancellationToken;

use super::attend::{attend, stop_signal};
use super::handler::{Handler, Peer};
use super::seal::Seals;
use super::transport::Wire;
use crate::context::ServerContext;
use crate::model::STDIO;
use crate::state::token;

/// How long calls under way may go on once the input has ended: a script that pipes its requests in gets its answers, a
/// client that went away does not leave work behind.
const GRACE: Duration = Duration::from_secs(1);

/// Serves until the input ends or the process is told to stop.
/// # Errors  When the streams cannot be used or a client speaks something else than MCP.
pub async fn serve(server: Arc<ServerContext>, profile: Option<String>) -> io::Result<()> {
    let eof = CancellationToken::new();
    let stopping = CancellationToken::new();
    let session = format!("s_{}", token(8)?);
    server.session_begins(&session, STDIO, profile.as_deref());
    let handler = Handler {
        server: Arc::clone(&server),
        peer: Peer { principal: STDIO.to_owned(), session: session.clone(), profile: profile.clone() },
        seals: Seals::of(&server),
        eof: eof.clone(),
        leaving: CancellationToken::new(),
        session: None,
        metrics: None,
    };
    let (reader, writer) = (reader(io::stdin().as_fd())?, writer(io::stdout().as_fd())?);
    let wire = Wire::new(reader, writer, server.longest_message(), eof.clone(), server.gate().queue().clone());
    let attending = attend(&server);
    server.discover(profile.as_deref().into_iter());
    let watch = tokio::spawn(watch(stop_signal(Arc::clone(&server)), eof, stopping.clone()));
    let outcome = match handler.serve_with_ct(wire, stopping.clone()).await {
        Ok(running) => running.waiting().await.map(|reason| tracing::debug!(?reason, "the session ended")).map_err(io::Error::other),
        // A client that only looked whether the server starts, or went away before it said anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(fault) => Err(io::Error::other(fault)),
    };
    watch.abort();
    drop(attending);
    server.rest().await;
    server.session_ends(&session);
    outcome
}

/// Turns the end of the input and signals into the end of the work: every running call hangs on `stopping`.
async fn watch(stop: impl Future<Output = ()>, eof: CancellationToken, stopping: CancellationToken) {
    let mut stop = std::pin::pin!(stop);
    tokio::select! {
        () = &mut stop => {}
        () = eof.cancelled() => drop(tokio::time::timeout(GRACE, stop).await),
    }
    stopping.cancel();
}

/// Standard input without a thread of its own where it is a pipe or a socket, as clients give it.
fn reader(stdin: impl AsFd) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    let (kind, fd) = stream(stdin)?;
    Ok(match kind {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(fd)?),
        FileType::Socket => Box::new(socket(fd)?),
        _ => Box::new(tokio::io::stdin()),
    })
}

fn writer(stdout: impl AsFd) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    let (kind, fd) = stream(stdout)?;
    Ok(match kind {
        FileType::Fifo => {
            // A long answer wakes reader and writer less often. Where the kernel refuses (pipe(7), `pipe-user-pages-soft`), the pipe stays as it is.
            let _ = fcntl_setpipe_size(&fd, WIDE);
            Box::new(pipe::Sender::from_owned_fd(fd)?)
        }
        FileType::Socket => Box::new(socket(fd)?),
        _ => Box::new(tokio::io::stdout()),
    })
}

/// Bytes that the pipe of answers may hold: the most that an ordinary user may ask for.
const WIDE: usize = 1 << 20;

fn stream(fd: impl AsFd) -> io::Result<(FileType, OwnedFd)> {
    let kind = FileType::from_raw_mode(fstat(&fd)?.st_mode);
    Ok((kind, rustix::io::fcntl_dupfd_cloexec(fd, 3)?))
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(fd);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
