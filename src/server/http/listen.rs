//! Connections: accepted within bounds, spoken to in HTTP/1.1, with or without TLS, and ended in time.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::manifest::Http;
use crate::server::metrics::Metrics;

/// Where callers come in.
#[derive(Debug)]
pub enum Listener {
    /// A TCP port.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(UnixListener),
}

/// What is known of the connection a request came over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connection {
    /// Our own address, as the caller reached it.
    pub(super) local: Option<IpAddr>,
}

/// What every connection is held to.
pub(super) struct Terms {
    pub(super) http: Http,
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) metrics: Arc<Metrics>,
    /// Connections end when their request has.
    pub(super) draining: CancellationToken,
    /// Connections end.
    pub(super) stopping: CancellationToken,
}

/// Headers of one request; a request of ours has about ten.
const HEADERS: usize = 100;
/// Bytes of one request's head.
const HEAD: usize = 64 << 10;
/// The time of a request's head, of waiting for one, and of a TLS handshake.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// After this time without an acknowledgement, or without a byte read of what waits for it, a peer is taken for gone (tcp(7),
/// `TCP_USER_TIMEOUT`).
const GONE: Duration = Duration::from_mins(1);
/// A pause when no connection can be accepted, e.g. without descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts until draining; resolves when the last connection has ended or `stopping` ended it.
pub(super) async fn serve(listener: Listener, terms: Terms) {
    let terms = Arc::new(terms);
    let places = Arc::new(Semaphore::new((terms.http.max_connections as usize).min(Semaphore::MAX_PERMITS)));
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = terms.draining.cancelled() => break,
        };
        // What has ended is let go.
        while tasks.try_join_next().is_some() {}
        let (stream, local) = match accepted {
            Ok(accepted) => accepted,
            Err(fault) => {
                tracing::warn!(%fault, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            // Dropped at once: whoever waits in a queue of connections costs as much as one that is served.
            terms.metrics.refuse("connections");
            continue;
        };
        let terms = Arc::clone(&terms);
        tasks.spawn(async move {
            let stopping = terms.stopping.clone();
            tokio::select! {
                () = connection(stream, local, &terms, place) => {}
                () = stopping.cancelled() => {}
            }
        });
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn accept(listener: &Listener) -> io::Result<(Box<dyn Stream>, Option<IpAddr>)> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, _) = listener.accept().await?;
            // Answers are small and wanted at once.
            stream.set_nodelay(true)?;
            let timeout = u32::try_from(GONE.as_millis()).unwrap_or(u32::MAX);
            if let Err(fault) = rustix::net::sockopt::set_tcp_user_timeout(&stream, timeout) {
                tracing::debug!(%fault, "the time-out for unreachable peers could not be set");
            }
            let local = stream.local_addr()?.ip();
            Ok((Box::new(stream), Some(local)))
        }
        Listener::Unix(listener) => {
            let (stream, _) = listener.accept().await?;
            Ok((Box::new(stream), None))
        }
    }
}

async fn connection(stream: Box<dyn Stream>, local: Option<IpAddr>, terms: &Terms, _place: OwnedSemaphorePermit) {
    let _counted = terms.metrics.connections.one();
    let Some(tls) = &terms.tls else { return speak(stream, local, terms).await };
    match tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)).await {
        Ok(Ok(stream)) => speak(stream, local, terms).await,
        Ok(Err(fault)) => tracing::debug!(%fault, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn speak(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, local: Option<IpAddr>, terms: &Terms) {
    let service = terms.router.clone().map_request(move |request: http::Request<hyper::body::Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Connection { local });
        request
    });
    let service = TowerToHyperService::new(service.map_err(|never: Infallible| match never {}));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(HEADERS)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = terms.draining.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(fault) = ended {
        tracing::debug!(%fault, "a connection ended");
    }
}
