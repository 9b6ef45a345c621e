//! What goes out and what comes back, as values.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hyper::body::Body;
use tokio::time::Instant;

use super::Denied;
use super::secrets::Sent as SentSecrets;
use crate::manifest::NetworkRules;
use crate::model::{Bytes, Code, Failure, HttpUrl};
use crate::policy::request::Method;
use crate::policy::secret::names_secret;

/// One request, before it is judged.
#[derive(Debug, Clone)]
pub struct EgressRequest {
    /// Where to.
    pub url: HttpUrl,
    /// The method.
    pub method: Method,
    /// Headers of the caller; only listed names pass.
    pub headers: Vec<(String, String)>,
    /// The body to send.
    pub body: Option<Vec<u8>>,
    /// What the first URL's name was already resolved to and judged on; it is not resolved again. Empty: resolve it.
    pub pinned: Vec<IpAddr>,
    /// Whose request it is; empty: the server's own.
    pub principal: String,
    /// What the manifest allows.
    pub rules: Arc<NetworkRules>,
    /// When the whole request, redirects and body included, must be over.
    pub deadline: Instant,
    /// The largest body, decoded.
    pub max_response: Bytes,
    /// What happens to a larger one.
    pub overflow: Overflow,
    /// The only hosts a redirect may lead to, where another would have to be asked for.
    pub hosts: Option<Arc<[String]>>,
    /// Takes the bytes of the first exchange, head and body, when it is sent: the call has reserved them. None: no call asks for this URL itself;
    /// it is charged like a redirect.
    pub sent: Option<Arc<AtomicU64>>,
    /// Bytes that the caller may send in any hour. Where a redirect leads is charged as it is sent.
    pub upload: Bytes,
}

/// What happens to a body over `max_response`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// `response_too_large`, before reading where the length is declared.
    Refuse,
    /// The first `max_response` bytes are kept and the page says that it is cut.
    Cut,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The URL that answered, after redirects.
    pub final_url: HttpUrl,
    /// The status, 100 to 599.
    pub status: u16,
    /// The headers that say something about the content; lower-case names.
    pub headers: BTreeMap<String, String>,
    /// `Content-Type` as sent.
    pub content_type: Option<String>,
    /// The decoded body.
    pub body: Vec<u8>,
    /// The body was longer.
    pub truncated: bool,
    /// Every exchange of the way, the last one included.
    pub hops: Vec<Hop>,
    /// The secrets that were sent. They are masked in the body; what is made of the body is masked again.
    pub secrets: SentSecrets,
}

/// One exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// What was asked for.
    pub url: HttpUrl,
    /// The address that was connected to.
    pub address: SocketAddr,
    /// The answer's status.
    pub status: u16,
}

/// The next exchange of a walk.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) url: HttpUrl,
    pub(super) pinned: Vec<IpAddr>,
    pub(super) method: Method,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Vec<u8>>,
}

impl Outgoing {
    pub(super) fn new(request: &EgressRequest) -> Self {
        Self {
            url: request.url.without_fragment(),
            pinned: request.pinned.clone(),
            method: request.method,
            headers: request.headers.clone(),
            body: request.body.clone(),
        }
    }

    /// The exchange that a redirect asks for.
    ///
    /// A body goes nowhere but where it was approved for: 307 and 308 to another origin are refused for methods that send.
    ///
    /// # Source
    /// Fetch standard, section 4.4 (HTTP-redirect fetch), steps 11 to 14: POST becomes GET, credentials stay with their origin.
    pub(super) fn redirected(mut self, next: &HttpUrl, status: u16) -> Result<Self, Denied> {
        if (status == 303 && !self.method.is_read()) || (matches!(status, 301 | 302) && self.method == Method::Post) {
            self.method = Method::Get;
            self.body = None;
            self.headers.retain(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
        }
        if !self.url.same_origin(next) {
            if !self.method.is_read() {
                let message = format!("`{}` redirects a {} to another site, `{}`", self.url.origin(), self.method.as_str(), next.origin());
                return Err(Failure::new(Code::FetchFailed, message).hint("send it there directly, as a request of its own").into());
            }
            self.headers.retain(|(name, value)| TRAVELS.iter().any(|travels| name.eq_ignore_ascii_case(travels)) && !names_secret(value));
        }
        self.pinned.clear();
        self.url = next.without_fragment();
        Ok(self)
    }
}

/// The caller's headers that go along to another origin: none that could carry a credential.
const TRAVELS: [&str; 4] = ["accept", "accept-language", "cache-control", "user-agent"];

/// Bytes of a request as it is written (RFC 9112, sections 3 and 5): its head with the longest header that says how long its body is, and the
/// body where its length is known.
pub(super) fn size<B: Body>(request: &http::Request<B>) -> u64 {
    let line = request.method().as_str().len() + request.uri().to_string().len() + "  HTTP/1.1\r\n\r\n".len();
    let headers: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum();
    (line + headers + FRAMING) as u64 + request.body().size_hint().exact().unwrap_or(0)
}

/// `Content-Length` of 20 digits.
const FRAMING: usize = 38;

#[cfg(test)]
mod tests {
    use crate::model::HttpUrl;
    use crate::policy::request;

    #[test]
    fn what_a_caller_says_is_no_less_than_what_is_sent() {
        for (url, headers, body) in [
            ("https://a.example/", vec![], ""),
            ("https://a.example/é/%20/\u{4e2d}?q=\u{1f600}", vec![("accept", "x".repeat(8000)), ("x-api-key", "k".to_owned())], "body"),
        ] {
            let parsed = HttpUrl::parse(url).unwrap();
            let mut built = http::Request::builder().method("DELETE").uri(parsed.target()).header("host", parsed.host_str());
            for (name, value) in &headers {
                built = built.header(*name, value);
            }
            let built = built.header("user-agent", concat!("toolgate/", env!("CARGO_PKG_VERSION"))).body(body.to_owned()).unwrap();
            let said = request::size(url, headers.iter().map(|(name, value)| (*name, &**value)), body);
            assert!(said >= super::size(&built), "{url}");
        }
    }
}
