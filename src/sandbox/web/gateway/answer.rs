//! What the gateway itself says: a refusal that a person at the other end of a traceback can read.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::ext::ReasonPhrase;

use crate::model::{Code, Refusal};
use crate::sandbox::web::Denied;

/// A body of an answer.
pub(super) type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// No body.
pub(super) fn empty() -> Body {
    Empty::new().map_err(never).boxed_unsync()
}

fn never(never: Infallible) -> Box<dyn std::error::Error + Send + Sync> {
    match never {}
}

/// The refusal as an answer. Its code stands in the reason of the status line, which is all that Python shows of a refused tunnel, and with
/// the whole sentence in the body.
///
/// # Source
/// RFC 9209 for `Proxy-Status`.
pub(super) fn refuse(denied: &Denied) -> Response<Body> {
    let refusal = denied.refusal();
    let mut text = format!("toolgate: {} ({})", refusal.message, refusal.code);
    if let Some(hint) = &refusal.hint {
        text.push_str("\nhint: ");
        text.push_str(hint);
    }
    text.push('\n');
    let mut response = Response::new(Full::new(Bytes::from(text)).map_err(never).boxed_unsync());
    *response.status_mut() = status(denied);
    if let Ok(reason) = ReasonPhrase::try_from(reason(refusal)) {
        response.extensions_mut().insert(reason);
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    let error = if matches!(denied, Denied::Refused(_)) { "http_request_denied" } else { "destination_unavailable" };
    if let Ok(value) = HeaderValue::from_str(&format!("toolgate; error={error}; details=\"{}\"", refusal.code)) {
        headers.insert("proxy-status", value);
    }
    if let Some(seconds) = refusal.retry_after_s {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn status(denied: &Denied) -> StatusCode {
    match (denied, denied.refusal().code) {
        (_, Code::RateLimited | Code::Quota) => StatusCode::TOO_MANY_REQUESTS,
        (Denied::Refused(_), Code::UrlMalformed | Code::ArgumentInvalid) => StatusCode::BAD_REQUEST,
        (Denied::Refused(_), _) => StatusCode::FORBIDDEN,
        (Denied::Failed(_), Code::Timeout) => StatusCode::GATEWAY_TIMEOUT,
        (Denied::Failed(_), _) => StatusCode::BAD_GATEWAY,
    }
}

/// One line of plain ASCII.
fn reason(refusal: &Refusal) -> String {
    const LONGEST: usize = 200;
    let text = format!("{}: {}", refusal.code, refusal.message);
    text.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Failure;

    #[test]
    fn a_refusal_tells_its_code_in_the_status_line_and_keeps_to_one_line() {
        let refusal = Refusal::new(Code::DomainNotAllowed, "the host `b\r\nx: y ü` is not listed");
        let response = refuse(&Denied::Refused(refusal));
        let reason = response.extensions().get::<ReasonPhrase>().map(|reason| String::from_utf8_lossy(reason.as_bytes()).into_owned());
        assert_eq!(reason.as_deref(), Some("domain_not_allowed: the host `b??x: y ?` is not listed"));
        assert_eq!(response.status(), StatusCode::FORBIDDEN);
        assert_eq!(response.headers()["proxy-status"], "toolgate; error=http_request_denied; details=\"domain_not_allowed\"");
    }

    #[test]
    fn what_the_world_said_no_with_is_another_status() {
        for (code, number) in [(Code::Timeout, 504), (Code::FetchFailed, 502)] {
            assert_eq!(refuse(&Denied::Failed(Failure::new(code, "x"))).status(), number);
        }
    }
}
