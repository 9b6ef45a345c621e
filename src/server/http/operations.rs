//! What operators and their machines ask: is it alive, is it ready, what does it do, and who issues tokens for it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use rmcp::ServerHandler;
use serde_json::json;

use super::answers::{challenge, json_answer};
use super::front::Endpoint;
use super::identity::{Unknown, brings};
use crate::context::ServerContext;
use crate::server::metrics::{Series, labels};

/// Where RFC 9728 puts the metadata, before the resource's own path.
pub(super) const METADATA: &str = "/.well-known/oauth-protected-resource";

/// The process answers.
pub(super) async fn alive() -> Response {
    json_answer(StatusCode::OK, json!({"status": "ok"}))
}

/// Calls would be made: the log takes records, the emergency stop is off, the server is not stopping.
pub(super) async fn ready<S: ServerHandler + Send + 'static>(State(endpoint): State<Arc<Endpoint<S>>>) -> Response {
    let why = if endpoint.draining.is_cancelled() {
        "stopping"
    } else if !endpoint.server.log().healthy() {
        "audit_unavailable"
    } else if endpoint.server.state().is_killed() {
        "killed"
    } else {
        return json_answer(StatusCode::OK, json!({"status": "ready"}));
    };
    json_answer(StatusCode::SERVICE_UNAVAILABLE, json!({"status": why}))
}

/// The numbers: open on this machine, with the token of `[http] metrics_token_sha256` from elsewhere.
pub(super) async fn metrics<S: ServerHandler + Send + 'static>(
    State(endpoint): State<Arc<Endpoint<S>>>,
    request: Request,
) -> Result<Response, Response> {
    let (request, _) = request.into_parts();
    let http = endpoint.manifest().http.clone();
    let host = endpoint.check_place(&http, &request)?;
    let may = match &http.metrics_token {
        Some(digest) => brings(&request.headers, digest),
        None => endpoint.listening.is_for_here(&host, &request.headers),
    };
    if !may {
        return Err(challenge(Unknown::Missing, &endpoint.metadata_url(&http, &host)));
    }
    let (server, log) = (&endpoint.server, endpoint.server.log());
    let pool = server.sandbox().python.pool().into_iter();
    let pool = pool.map(|((profile, state), count)| (("toolgate_python_pool", labels(&[("profile", &profile), ("state", state)])), count));
    let mut now: Series = pool.collect();
    now.insert(("toolgate_approvals_pending", labels(&[("channel", "operator")])), waiting_for_operators(server).await as u64);
    for (name, value) in [
        ("toolgate_sessions", (endpoint.sessions.len() + endpoint.streams.len()) as u64),
        ("toolgate_audit_lag_records", log.lag()),
        ("toolgate_audit_healthy", u64::from(log.healthy())),
        ("toolgate_killed", u64::from(server.state().is_killed())),
        ("toolgate_uptime_seconds", endpoint.begun.elapsed().as_secs()),
    ] {
        now.insert((name, String::new()), value);
    }
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], endpoint.metrics.text(now)).into_response())
}

/// Questions that wait for an operator, of every server on the state folder. They are files: a thread for such work reads them.
async fn waiting_for_operators(server: &Arc<ServerContext>) -> usize {
    let server = Arc::clone(server);
    let asks = tokio::task::spawn_blocking(move || server.state().unsettled(server.gate().tick()));
    match asks.await.map_err(std::io::Error::other).and_then(|asks| asks) {
        Ok(waiting) => waiting,
        Err(fault) => {
            tracing::warn!(%fault, "the operators' queue could not be read");
            0
        }
    }
}

/// Who issues tokens for this server (RFC 9728 section 2).
pub(super) async fn metadata<S: ServerHandler + Send + 'static>(
    State(endpoint): State<Arc<Endpoint<S>>>,
    request: Request,
) -> Result<Response, Response> {
    let (request, _) = request.into_parts();
    let manifest = endpoint.manifest();
    let host = endpoint.check_place(&manifest.http, &request)?;
    let mut issuers: Vec<&str> = manifest.clients.oauth.iter().map(|rule| rule.issuer.as_str()).collect();
    issuers.sort_unstable();
    issuers.dedup();
    // What tokens must be for, where all rules agree on it.
    let mut audiences: Vec<&str> = manifest.clients.oauth.iter().map(|rule| rule.audience.as_str()).collect();
    audiences.dedup();
    let resource = match (audiences.as_slice(), &manifest.http.public_url) {
        ([one], None) => (*one).to_owned(),
        _ => endpoint.listening.url(&manifest.http, &host),
    };
    let mut metadata = json!({"resource": resource, "bearer_methods_supported": ["header"], "resource_name": "toolgate"});
    // With tokens of the manifest alone there is no issuer to ask; the member is optional then.
    if let (false, Some(members)) = (issuers.is_empty(), metadata.as_object_mut()) {
        members.insert("authorization_servers".to_owned(), json!(issuers));
    }
    Ok(json_answer(StatusCode::OK, metadata))
}
