//! MCP over HTTP: both eras at `/mcp`, the transport of 2024-11-05 at `/sse` where asked for, and what operators need beside them.

mod answers;
mod events;
mod front;
mod identity;
mod jwt;
mod keys;
mod listen;
mod operations;
mod origin;
mod session;
mod sessions;
mod sse;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::{any, get};
use hmac::{Hmac, KeyInit, Mac};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::Sha256;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::handler::Handler;
use super::metrics::Metrics;
use super::seal::Seals;
use crate::context::ServerContext;
use front::Endpoint;
use listen::Terms;
use origin::Listening;
use sessions::{CURRENT, Sessions};

pub use keys::{Source, check as check_keys};
pub use listen::Listener;
pub use session::Session;

/// What `serve --http` was told.
pub struct Options {
    /// Where callers come in.
    pub listener: Listener,
    /// Whether the transport of 2024-11-05 is served as well.
    pub sse: bool,
    /// Certificate and key, where TLS is spoken.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Reads the keys of token issuers.
    pub source: Source,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("listener", &self.listener).field("sse", &self.sse).finish_non_exhaustive()
    }
}

/// Serves until the process is told to stop.
/// # Errors  When the keys of the state folder cannot be read.
pub async fn serve(server: Arc<ServerContext>, options: Options) -> io::Result<()> {
    let seals = Seals::of(&server);
    let stopping = CancellationToken::new();
    let metrics = Arc::new(Metrics::default());
    let _attending = super::attend::attend(&server);
    server.discover(server.gate().manifest().profiles.keys().map(String::as_str));
    let make = {
        let (server, metrics, gone) = (Arc::clone(&server), Arc::clone(&metrics), stopping.clone());
        move |session: Arc<Session>| Handler {
            server: Arc::clone(&server),
            peer: session.peer().clone(),
            seals: seals.clone(),
            eof: gone.clone(),
            leaving: session.leaving().clone(),
            session: Some(session),
            metrics: Some(Arc::clone(&metrics)),
        }
    };
    serve_with(server, options, metrics, stopping, make).await
}

/// The same stack around another answerer of MCP: what a conformance suite is run against.
/// # Errors  As [`serve`].
pub async fn serve_other<S: ServerHandler + Send + 'static>(
    server: Arc<ServerContext>,
    options: Options,
    make: impl Fn(Arc<Session>) -> S + Clone + Send + Sync + 'static,
) -> io::Result<()> {
    serve_with(server, options, Arc::default(), CancellationToken::new(), make).await
}

async fn serve_with<S: ServerHandler + Send + 'static>(
    server: Arc<ServerContext>,
    options: Options,
    metrics: Arc<Metrics>,
    stopping: CancellationToken,
    make: impl Fn(Arc<Session>) -> S + Clone + Send + Sync + 'static,
) -> io::Result<()> {
    let http = server.gate().manifest().http.clone();
    let address = match &options.listener {
        Listener::Tcp(listener) => Some(listener.local_addr()?),
        Listener::Unix(_) => None,
    };
    let draining = CancellationToken::new();
    let sessions = Arc::new(Sessions::new(Arc::clone(&server)));
    // `front` checks Host and Origin of every route alike.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_json_response(true)
        // Our sessions know who may be sent one.
        .with_sse_retry(None)
        .with_max_request_body_bytes(server.longest_message())
        .with_cancellation_token(stopping.clone());
    let factory = make.clone();
    let service = move || CURRENT.try_with(|session| factory(Arc::clone(session))).map_err(io::Error::other);
    let endpoint = Arc::new(Endpoint {
        session_key: server.state().key("principal-session")?,
        listening: Listening { address, is_tls: options.tls.is_some() },
        keys: keys::Keys::new(options.source),
        mcp: StreamableHttpService::new(service, Arc::clone(&sessions), config),
        sessions: Arc::clone(&sessions),
        streams: sse::Streams::default(),
        make: Arc::new(make),
        metrics: Arc::clone(&metrics),
        begun: Instant::now(),
        draining: draining.clone(),
        stopping: stopping.clone(),
        server: Arc::clone(&server),
    });
    let terms = Terms {
        router: router(&endpoint, options.sse),
        tls: options.tls.map(TlsAcceptor::from),
        metrics,
        draining: draining.clone(),
        stopping: stopping.clone(),
        http: http.clone(),
    };
    let reaper = tokio::spawn(reap(Arc::clone(&sessions), http.session_idle));
    // Before the first caller can be answered: a signal that comes right after would end the server as it stands.
    let stop = super::attend::stop_signal(Arc::clone(&server));
    let mut listening = tokio::spawn(listen::serve(options.listener, terms));
    stop.await;
    draining.cancel();
    // What runs may finish; streams that only wait end with the bound.
    let finished = async || {
        while endpoint.metrics.running.value() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(http.shutdown, finished()).await.is_err() {
        tracing::warn!("calls are cancelled because the server stops");
    }
    stopping.cancel();
    // A cancelled call ends its program and writes its own end, also one whose connection is gone; the log must still be there.
    let (ended, closed) = tokio::join!(tokio::time::timeout(ENDING, finished()), tokio::time::timeout(ENDING, &mut listening));
    if ended.is_err() {
        tracing::warn!("a cancelled call did not end in time; its record says `unknown`");
    }
    if closed.is_err() {
        listening.abort();
    }
    reaper.abort();
    sessions.end_all().await;
    server.rest().await;
    Ok(())
}

/// How often a stopping server looks whether its calls have ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long cancelled calls and connections may take to end.
const ENDING: Duration = Duration::from_secs(5);

fn router<S: ServerHandler + Send + 'static>(endpoint: &Arc<Endpoint<S>>, sse: bool) -> Router {
    let mut router = Router::new()
        .route("/mcp", any(front::mcp))
        .route("/healthz", get(operations::alive))
        .route("/readyz", get(operations::ready))
        .route("/metrics", get(operations::metrics))
        .route(operations::METADATA, get(operations::metadata))
        .route(&format!("{}/{{*resource}}", operations::METADATA), get(operations::metadata));
    if sse {
        router = router.route("/sse", get(sse::open)).route("/messages", axum::routing::post(sse::post));
    }
    router.layer(axum::middleware::from_fn(with_one_host)).with_state(Arc::clone(endpoint))
}

/// Refuses a request that names two hosts (RFC 9112, section 3.2), on every path: two servers on its way would each read another one.
async fn with_one_host(request: axum::extract::Request, next: axum::middleware::Next) -> axum::response::Response {
    if request.headers().get_all(http::header::HOST).iter().nth(1).is_some() {
        return answers::last(http::StatusCode::BAD_REQUEST, "the request has more than one Host header");
    }
    next.run(request).await
}

async fn reap(sessions: Arc<Sessions>, idle: Duration) {
    let mut look = tokio::time::interval((idle / 4).clamp(Duration::from_millis(100), Duration::from_secs(30)));
    loop {
        look.tick().await;
        sessions.reap(idle).await;
    }
}

/// The session of a principal from 2026-07-28 on: nobody without the state folder's key can tell or forge it, every process with it finds the same.
fn session_of(key: &[u8; 32], principal: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    mac.update(principal.as_bytes());
    let digest = crate::gate::hex(&mac.finalize().into_bytes());
    format!("p_{}", digest.get(..32).unwrap_or_default())
}
