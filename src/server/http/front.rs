//! What each request passes first: its sender, its size, and the service it is for.

#![expect(clippy::result_large_err, reason = "the refusal is the answer itself, made once for a request that goes no further")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Frame};
use rmcp::model::{ClientRequest, JsonRpcMessage};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::{RoleServer, ServerHandler, Service};
use tokio_util::sync::CancellationToken;

use super::answers::{challenge, last, later, refused, rpc_error};
use super::identity::{Identity, identify};
use super::keys::Keys;
use super::listen::Connection;
use super::origin::{Foreign, Listening};
use super::session::{Session, TakenId};
use super::sessions::{CURRENT, Sessions};
use super::sse;
use crate::context::ServerContext;
use crate::manifest::{Http, Manifest};
use crate::server::handler::Peer;
use crate::server::message::{self, Fault, Malformed, in_one_line};
use crate::server::metrics::Metrics;
use crate::state::token;

/// Everything the routes share. `S` answers MCP; one is made for each session or request.
pub(super) struct Endpoint<S: Service<RoleServer>> {
    pub(super) server: Arc<ServerContext>,
    pub(super) listening: Listening,
    /// Names the sessions of principals.
    pub(super) session_key: [u8; 32],
    pub(super) keys: Keys,
    pub(super) sessions: Arc<Sessions>,
    pub(super) streams: sse::Streams,
    pub(super) mcp: StreamableHttpService<S, Sessions>,
    pub(super) make: Arc<dyn Fn(Arc<Session>) -> S + Send + Sync>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) begun: Instant,
    /// No new request is taken.
    pub(super) draining: CancellationToken,
    /// Everything ends.
    pub(super) stopping: CancellationToken,
}

/// The header that names a session of the handshake era.
pub(super) const SESSION: &str = "mcp-session-id";

/// The time of a request's body.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

impl<S: ServerHandler + Send + 'static> Endpoint<S> {
    /// The manifest in force, and its settings for HTTP.
    pub(super) fn manifest(&self) -> Arc<Manifest> {
        self.server.gate().manifest()
    }

    /// Host, Origin, identity, in this order: nothing of a foreign page's request is looked at further.
    /// # Errors  The answer to give instead.
    pub(super) async fn admit(&self, manifest: &Manifest, request: &Parts) -> Result<Identity, Response> {
        if self.draining.is_cancelled() {
            return Err(later(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping", 5));
        }
        let host = self.check_place(&manifest.http, request)?;
        let is_local = self.listening.is_from_here(&request.headers);
        identify(manifest, &self.keys, &request.headers, is_local).await.map_err(|unknown| {
            self.metrics.refuse("identity");
            tracing::info!(?unknown, "a request without a valid token was refused");
            challenge(unknown, &self.metadata_url(&manifest.http, &host))
        })
    }

    /// The host of a request whose Host and Origin are ours.
    /// # Errors  403.
    pub(super) fn check_place(&self, http: &Http, request: &Parts) -> Result<String, Response> {
        let local = request.extensions.get::<Connection>().and_then(|connection| connection.local);
        self.listening.check(http, &request.uri, &request.headers, local).map_err(|foreign| {
            let (label, why) = match foreign {
                Foreign::Host => ("host", "the Host of the request is not one of this server's; `[http] allowed_hosts` lists further ones"),
                Foreign::Origin => ("origin", "pages of this origin may not call; `[http] allowed_origins` lists those that may"),
            };
            self.metrics.refuse(label);
            last(StatusCode::FORBIDDEN, why)
        })
    }

    /// Where the metadata of RFC 9728 stands.
    pub(super) fn metadata_url(&self, http: &Http, host: &str) -> String {
        let url = self.listening.url(http, host);
        match url::Url::parse(&url) {
            Ok(url) if url.origin().is_tuple() => {
                let path = url.path().trim_end_matches('/');
                format!("{}{}{path}", url.origin().ascii_serialization(), super::operations::METADATA)
            }
            _ => url,
        }
    }

    /// The body of a request, whole, in time and within its bound.
    /// # Errors  413, 408, 400.
    pub(super) async fn body(&self, body: Body) -> Result<bytes::Bytes, Response> {
        let most = self.server.longest_message();
        let too_large = || {
            self.metrics.refuse("size");
            last(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body is larger than the {most} bytes that are read; send less at once"))
        };
        // Its declared length, where it has one.
        if body.size_hint().lower() > most as u64 {
            return Err(too_large());
        }
        match tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, most).collect()).await {
            Ok(Ok(whole)) => {
                let bytes = whole.to_bytes();
                self.metrics.read(bytes.len());
                Ok(bytes)
            }
            Ok(Err(fault)) if fault.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(_)) => Err(last(StatusCode::BAD_REQUEST, "the body ended before its time")),
            Err(_) => {
                self.metrics.refuse("time");
                Err(last(StatusCode::REQUEST_TIMEOUT, "the body took too long"))
            }
        }
    }

    /// A new session, if there is room for one.
    /// # Errors  503, 429.
    pub(super) fn new_session(&self, http: &Http, caller: Identity) -> Result<Arc<Session>, Response> {
        let (all, own) = self.sessions.count(&caller.principal);
        let (more, more_own) = self.streams.count(&caller.principal);
        if all + more >= http.max_sessions as usize {
            self.metrics.refuse("sessions");
            return Err(later(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions", 30));
        }
        if own + more_own >= http.max_sessions.div_ceil(2) as usize {
            self.metrics.refuse("sessions");
            return Err(later(StatusCode::TOO_MANY_REQUESTS, "this caller has too many sessions; end some with DELETE", 30));
        }
        let session = token(16).map_err(|_| refused(StatusCode::INTERNAL_SERVER_ERROR, "there are no random bytes"))?;
        Ok(Arc::new(Session::new(Peer { principal: caller.principal, session: format!("s_{session}"), profile: Some(caller.profile) })))
    }

    /// The session of a caller from 2026-07-28 on: the same at every process on this state folder, so that any of them can finish what another asked.
    fn principal_session(&self, caller: Identity) -> Arc<Session> {
        self.sessions.session_of(caller, |principal| super::session_of(&self.session_key, principal))
    }
}

/// The route of streamable HTTP.
pub(super) async fn mcp<S: ServerHandler + Send + 'static>(
    State(endpoint): State<Arc<Endpoint<S>>>,
    request: Request,
) -> Result<Response, Response> {
    endpoint.answer(request).await
}

impl<S: ServerHandler + Send + 'static> Endpoint<S> {
    async fn answer(&self, request: Request) -> Result<Response, Response> {
        let manifest = self.manifest();
        let (mut parts, body) = request.into_parts();
        let caller = self.admit(&manifest, &parts).await?;
        // It has done its work: no part of the stack behind this point, nor a log line of it, can hold it.
        parts.headers.remove(AUTHORIZATION);
        widen_accept(&mut parts.headers);
        if !matches!(parts.method, Method::GET | Method::POST | Method::DELETE) {
            let refusal = refused(StatusCode::METHOD_NOT_ALLOWED, "the endpoint takes GET, POST and DELETE");
            return Err(([(ALLOW, "GET, POST, DELETE")], refusal).into_response());
        }
        let known = self.session_of(&parts.headers, &caller)?;
        if parts.method != Method::POST {
            let session = known.unwrap_or_else(|| self.principal_session(caller));
            let ends = parts.method == Method::DELETE;
            let mut response = self.pass(session, http::Request::from_parts(parts, Full::default()), None).await;
            if ends && response.status() == StatusCode::ACCEPTED {
                // It is done, not only taken; some clients warn of the other.
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            return Ok(response);
        }
        let essence = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()?.split(';').next());
        if !essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json")) {
            return Err(last(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the Content-Type must be application/json"));
        }
        let body = self.body(body).await?;
        let no_form = || Fault::invalid(None, "the message has no form of the protocol");
        let message = message::read(&body).and_then(|message| message.ok_or_else(no_form)).map_err(|fault| rpc_error(&fault))?;
        let (mut id, mut is_initialize, mut text) = (None, false, body);
        match &message {
            JsonRpcMessage::Request(request) => {
                id = Some(request.id.clone()).filter(|_| parts.headers.contains_key(SESSION));
                is_initialize = matches!(request.request, ClientRequest::InitializeRequest(_));
                if let ClientRequest::CallToolRequest(call) = &request.request
                    && let Some(malformed) = call.extensions.get::<Malformed>()
                {
                    parts.extensions.insert(malformed.clone());
                }
            }
            // Not as it was written where it gives a name twice.
            JsonRpcMessage::Error(_) => text = serde_json::to_vec(&message).unwrap_or_default().into(),
            JsonRpcMessage::Response(_) | JsonRpcMessage::Notification(_) => {}
        }
        let session = match known {
            Some(session) => session,
            None if is_initialize => self.new_session(&manifest.http, caller)?,
            None => self.principal_session(caller),
        };
        // rmcp would let the later request of two with one id take the listening of the first, whose answer is lost then.
        let taken = id.map(|id| session.take_id(&id).ok_or_else(|| rpc_error(&Fault::taken(&id)))).transpose()?;
        if let Some(taken) = &taken {
            // Until its handler has ended, be its answer read or not.
            parts.extensions.insert(Arc::clone(taken));
        }
        Ok(self.pass(session, http::Request::from_parts(parts, Full::new(text)), taken).await)
    }

    /// The session that a request names. A session of another caller is not found.
    fn session_of(&self, headers: &HeaderMap, caller: &Identity) -> Result<Option<Arc<Session>>, Response> {
        let Some(id) = headers.get(SESSION) else { return Ok(None) };
        let session = id.to_str().ok().and_then(|id| self.sessions.session(id));
        match session.filter(|session| session.is_of(caller)) {
            Some(session) => {
                session.touch();
                Ok(Some(session))
            }
            None => Err(refused(StatusCode::NOT_FOUND, "there is no such session; begin anew with initialize")),
        }
    }

    /// Hands a request to rmcp. Its id is taken until the last byte of the answer is sent: the body holds it.
    async fn pass(&self, session: Arc<Session>, request: http::Request<Full<bytes::Bytes>>, taken: Option<Arc<TakenId>>) -> Response {
        let line = move |frame: Frame<bytes::Bytes>| {
            let _held = &taken;
            // One frame is one message or one event.
            frame.map_data(|data| bytes::Bytes::from(in_one_line(data.into())))
        };
        CURRENT.scope(session, self.mcp.handle(request)).await.map(|body| Body::new(body.map_frame(line)))
    }
}

/// Names the two types that the protocol wants named, where ranges cover them (RFC 9110, section 12.5.1): `*/*` is what many HTTP libraries send. A
/// header that is missing, or that refuses one of them (`;q=0`), stays as it is.
fn widen_accept(headers: &mut HeaderMap) {
    let written: Vec<String> =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).map(str::to_ascii_lowercase).collect();
    let ranges: Vec<(&str, bool)> = written
        .iter()
        .flat_map(|value| value.split(','))
        .filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next()?;
            let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(1.0, |weight| weight.parse::<f32>().unwrap_or(0.0));
            Some((name, weight > 0.0))
        })
        .collect();
    let takes = |name: &str, range: &str| {
        // The most specific range counts.
        let says = |wanted: &str| ranges.iter().find(|(name, _)| *name == wanted).map(|(_, takes)| *takes);
        says(name).or_else(|| says(range)).or_else(|| says("*/*")).unwrap_or(false)
    };
    if takes("application/json", "application/*") && takes("text/event-stream", "text/*") {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_cover_both_types_are_taken_for_both_and_a_refusal_stays_one() {
        let both = "application/json, text/event-stream";
        for (written, expected) in [
            (&["*/*"][..], both),
            (&["application/*, text/*;q=0.5"], both),
            (&["application/json", "*/*;q=0.1"], both),
            (&["text/event-stream, application/json"], both),
            (&["application/json"], "application/json"),
            (&["*/*, text/event-stream;q=0"], "*/*, text/event-stream;q=0"),
            (&["*/*;q=0"], "*/*;q=0"),
            (&["text/html, application/*"], "text/html, application/*"),
        ] {
            let mut headers = HeaderMap::new();
            for value in written {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            }
            widen_accept(&mut headers);
            let now: Vec<_> = headers.get_all(ACCEPT).iter().map(|value| value.to_str().unwrap()).collect();
            assert_eq!(now.join(", "), expected, "{written:?}");
        }
        let mut none = HeaderMap::new();
        widen_accept(&mut none);
        assert!(none.is_empty());
    }
}
