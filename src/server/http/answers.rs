//! What the endpoint says by itself, outside the protocol's own answers.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::identity::Unknown;
use crate::server::message::Fault;

/// An answer in JSON.
pub(super) fn json_answer(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A refusal in one sentence.
pub(super) fn refused(status: StatusCode, why: &str) -> Response {
    json_answer(status, &json!({"error": why}))
}

/// A refusal that may pass.
pub(super) fn later(status: StatusCode, why: &str, seconds: u32) -> Response {
    let mut response = refused(status, why);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// A refusal after which the connection is of no use: its body was not read.
pub(super) fn last(status: StatusCode, why: &str) -> Response {
    let mut response = refused(status, why);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// An error of JSON-RPC.
pub(super) fn rpc_error(fault: &Fault) -> Response {
    let mut response = Response::new(Body::from(fault.answer()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// 401 or 403 with the challenge of RFC 6750 section 3 and RFC 9728 section 5.1. Nothing of the token is told.
pub(super) fn challenge(unknown: Unknown, metadata: &str) -> Response {
    let place = format!("Bearer realm=\"toolgate\", resource_metadata=\"{metadata}\"");
    let (status, challenge, why) = match unknown {
        Unknown::Missing => (StatusCode::UNAUTHORIZED, place, "a bearer token is needed"),
        Unknown::Invalid(why) => (StatusCode::UNAUTHORIZED, format!("{place}, error=\"invalid_token\", error_description=\"{why}\""), why),
        Unknown::Forbidden => (
            StatusCode::FORBIDDEN,
            format!("{place}, error=\"insufficient_scope\", error_description=\"the token opens no profile here\""),
            "the token is valid and opens no profile here",
        ),
    };
    let mut response = refused(status, why);
    if let Ok(challenge) = HeaderValue::from_str(&challenge) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}
