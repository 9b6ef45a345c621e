//! One connection to judged addresses, and the head of its answer.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::time::timeout;

use super::body::{Decoder, Read};
use super::request::{Hop, Outgoing, Overflow, Page};
use crate::model::{Bytes, Code, Failure, HttpUrl, Scheme};
use crate::policy::request::Method;

/// Makes one client per hop: what a client may resolve is pinned for that hop, and no connection outlives it.
#[derive(Debug)]
pub(super) struct Connector {
    connect: Duration,
    user_agent: String,
    /// The certificate store takes milliseconds and a megabyte, so it is read at the first https.
    tls: OnceLock<ClientConfig>,
}

/// An answer whose body is not read yet.
#[derive(Debug)]
pub(super) struct Sent {
    response: reqwest::Response,
    pub(super) address: SocketAddr,
}

impl Connector {
    pub(super) fn new(connect: Duration, user_agent: String) -> Self {
        Self { connect, user_agent, tls: OnceLock::new() }
    }

    /// Sends to `addresses` and to nothing else; the answer's peer is checked against them once more.
    pub(super) async fn send(
        &self,
        outgoing: &Outgoing,
        headers: &[(String, String)],
        addresses: &[IpAddr],
        patience: Duration,
    ) -> Result<Sent, Failure> {
        let url = &outgoing.url;
        let client = self.client(url, addresses).map_err(|fault| failed(url, &*fault))?;
        let mut request = reqwest::Request::new(method(outgoing.method), url.as_url().clone());
        *request.headers_mut() = self.headers(headers)?;
        if let Some(body) = &outgoing.body {
            *request.body_mut() = Some(body.clone().into());
        }
        let response = timeout(patience, client.execute(request))
            .await
            .map_err(|_| Failure::new(Code::Timeout, format!("`{}` took too long to answer", url.origin())))?
            .map_err(|fault| failed(url, &fault))?;
        let address = response.remote_addr().filter(|peer| addresses.contains(&peer.ip()) && peer.port() == url.port());
        let address = address
            .ok_or_else(|| Failure::new(Code::FetchFailed, format!("`{}` answered from an address that was not judged", url.origin())))?;
        let head: usize = response.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
        if head > HEAD_LIMIT {
            return Err(Failure::new(Code::ResponseTooLarge, format!("`{}` sent more than 64 KiB of headers", url.origin())));
        }
        Ok(Sent { response, address })
    }

    fn client(&self, url: &HttpUrl, addresses: &[IpAddr]) -> Result<reqwest::Client, Box<dyn Error + Send + Sync>> {
        let pins = Pins {
            name: url.host_str().to_owned(),
            addresses: addresses.iter().map(|address| SocketAddr::new(*address, url.port())).collect(),
        };
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls(url.scheme())?)
            .dns_resolver(Arc::new(pins))
            .no_proxy() // environment proxies would connect for us, past every judgement
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .pool_max_idle_per_host(0)
            .http1_only() // one request per connection has nothing to multiplex
            .http1_max_headers(100)
            .connect_timeout(self.connect)
            .build()?;
        Ok(client)
    }

    fn tls(&self, scheme: Scheme) -> Result<ClientConfig, rustls::Error> {
        let provider: Arc<CryptoProvider> = Arc::new(aws_lc_rs::default_provider());
        let builder = || ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        if scheme == Scheme::Http {
            // Never used: the client follows no redirect, so a plain connection stays plain. It trusts nobody.
            return Ok(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
        }
        if let Some(known) = self.tls.get() {
            return Ok(known.clone());
        }
        let verifier = Arc::new(Verifier::new(Arc::clone(&provider))?);
        let mut config = builder()?.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(self.tls.get_or_init(|| config).clone())
    }

    fn headers(&self, given: &[(String, String)]) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            let fault = || Failure::new(Code::ArgumentInvalid, format!("the header `{name}` cannot be sent"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| fault())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| fault())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        if !headers.contains_key(ACCEPT) {
            headers.insert(ACCEPT, HeaderValue::from_static("text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, */*;q=0.8"));
        }
        if !headers.contains_key(USER_AGENT)
            && let Ok(agent) = HeaderValue::from_str(&self.user_agent)
        {
            headers.insert(USER_AGENT, agent);
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate"));
        Ok(headers)
    }
}

impl Sent {
    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The headers as they came.
    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Where a redirect leads; `None` for an answer that is none.
    pub(super) fn location(&self) -> Result<Option<String>, Failure> {
        if !matches!(self.status(), 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let Some(location) = self.response.headers().get(LOCATION) else { return Ok(None) };
        // Some sites send UTF-8 unencoded; anything else has no one reading.
        std::str::from_utf8(location.as_bytes())
            .map(|text| Some(text.to_owned()))
            .map_err(|_| Failure::new(Code::FetchFailed, "the redirect's target is not UTF-8"))
    }

    /// Reads the body under its caps.
    pub(super) async fn into_page(
        mut self,
        final_url: HttpUrl,
        hops: Vec<Hop>,
        limit: Bytes,
        overflow: Overflow,
        head: bool,
    ) -> Result<Page, Failure> {
        let status = self.status();
        let headers = told(self.response.headers());
        let content_type = self.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let declared = self.response.content_length();
        if overflow == Overflow::Refuse && !head && declared.is_some_and(|length| length > limit.0) {
            return Err(too_large(&final_url, limit, declared));
        }
        let codings: Vec<&str> =
            self.response.headers().get_all(CONTENT_ENCODING).iter().map(|value| value.to_str().unwrap_or("?")).collect();
        let mut decoder = Decoder::for_coding(&codings.join(","), limit)?;
        while !head && !decoder.is_full() {
            let chunk = self.response.chunk().await.map_err(|fault| failed(&final_url, &fault))?;
            let Some(chunk) = chunk else { break };
            decoder.feed(&chunk)?;
        }
        let read = if head { Read::default() } else { decoder.finish()? };
        if read.truncated && overflow == Overflow::Refuse {
            return Err(too_large(&final_url, limit, None));
        }
        Ok(Page {
            final_url,
            status,
            headers,
            content_type,
            body: read.bytes,
            truncated: read.truncated,
            from_cache: false,
            wire_bytes: read.wire,
            hops,
        })
    }
}

/// Answers for one name with the addresses that were judged, and for no other.
#[derive(Debug)]
struct Pins {
    name: String,
    addresses: Vec<SocketAddr>,
}

impl reqwest::dns::Resolve for Pins {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let answer = (name.as_str() == self.name).then(|| self.addresses.clone());
        Box::pin(async move {
            let addresses = answer.ok_or("this name was not judged")?;
            Ok(Box::new(addresses.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

fn method(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Head => reqwest::Method::HEAD,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
    }
}

fn told(headers: &HeaderMap) -> BTreeMap<String, String> {
    TOLD.iter()
        .filter_map(|name| {
            headers.get(*name).and_then(|value| value.to_str().ok()).map(|value| ((*name).to_owned(), value.chars().take(1024).collect()))
        })
        .collect()
}

fn too_large(url: &HttpUrl, limit: Bytes, declared: Option<u64>) -> Failure {
    let size = declared.map_or_else(|| format!("more than {limit}"), |length| Bytes(length).to_string());
    Failure::new(Code::ResponseTooLarge, format!("`{}` answers with {size}; the limit is {limit}", url.origin()))
        .hint("ask for a smaller resource, or a part of it with a `range` header")
}

/// The innermost cause, without addresses or paths of this machine.
fn failed(url: &HttpUrl, fault: &(dyn Error + 'static)) -> Failure {
    let mut innermost: &dyn Error = fault;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let cause: String = innermost.to_string().chars().filter(|c| !c.is_control()).take(160).collect();
    Failure::new(Code::FetchFailed, format!("no answer from `{}`: {cause}", url.origin()))
}

/// Response headers that are handed on.
const TOLD: [&str; 9] = [
    "cache-control",
    "content-disposition",
    "content-language",
    "content-length",
    "content-range",
    "etag",
    "last-modified",
    "link",
    "retry-after",
];

/// Bytes of response headers that are accepted.
const HEAD_LIMIT: usize = 64 * 1024;
