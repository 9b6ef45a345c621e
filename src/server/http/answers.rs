//! What the endpoint says by itself, outside the protocol's own answers.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::identity::Unknown;
use crate::server::message::Fault;

/// An answer in JSON.
pub(super) fn json_answer(status: StatusCode, body: Value) -> Response {
    (status, Json(body)).into_response()
}

/// A refusal in one sentence.
pub(super) fn refused(status: StatusCode, why: &str) -> Response {
    json_answer(status, json!({"error": why}))
}

/// A refusal that may pass.
pub(super) fn later(status: StatusCode, why: &str, seconds: u32) -> Response {
    ([(RETRY_AFTER, seconds.to_string())], refused(status, why)).into_response()
}

/// A refusal after which the connection is of no use: its body was not read.
pub(super) fn last(status: StatusCode, why: &str) -> Response {
    ([(CONNECTION, "close")], refused(status, why)).into_response()
}

/// An error of JSON-RPC.
pub(super) fn rpc_error(fault: &Fault) -> Response {
    json_answer(StatusCode::BAD_REQUEST, fault.answer())
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
