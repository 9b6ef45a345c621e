//! One connection to judged addresses, and the head of its answer.
//!
//! No pool, no redirects, no proxy of the environment, no second attempt: a connection is made for one exchange and dies with it.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes as Buffer, Incoming};
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls_platform_verifier::Verifier;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use super::Settings;
use super::body::Coding;
use super::dial::dial;
use super::request::{Hop, Outgoing, Overflow, Page};
use super::secrets::Sent as SentSecrets;
use crate::manifest::UpstreamProxy;
use crate::model::{Bytes, Code, Failure, Host, HttpUrl, Scheme};

/// Makes one connection per hop.
#[derive(Debug)]
pub(super) struct Connector {
    connect: Duration,
    headers: Duration,
    user_agent: String,
    /// The certificate store takes milliseconds and a megabyte, so it is read at the first https.
    tls: OnceLock<Arc<ClientConfig>>,
}

/// A request as it goes out.
type Request = hyper::Request<Full<Buffer>>;

/// An answer whose body is not read yet.
#[derive(Debug)]
pub(super) struct Sent {
    response: hyper::Response<Incoming>,
    pub(super) address: SocketAddr,
    _connection: Running,
}

/// The task that moves the bytes of a connection; it ends with what it is for.
#[derive(Debug)]
pub(super) struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One exchange over a connection to a URL's host: the head of its answer within `patience`, and the task that brings the body.
///
/// # Errors
/// `fetch_failed`, `timeout`, `response_too_large` for a head over 64 KiB.
pub(super) async fn exchange<B>(
    url: &HttpUrl,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: hyper::Request<B>,
    patience: Duration,
) -> Result<(hyper::Response<Incoming>, Running), Failure>
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let answering = async {
        let (mut sender, connection) = http1::Builder::new().max_headers(100).max_buf_size(BUFFER).handshake(TokioIo::new(stream)).await?;
        // The reader of the answer sees what goes wrong.
        let running = Running(tokio::spawn(async move { drop(connection.await) }));
        Ok::<_, hyper::Error>((sender.send_request(request).await?, running))
    };
    let answered = timeout(patience, answering).await.map_err(|_| slow(url, "answer"))?;
    let (response, running) = answered.map_err(|fault| failed(url, &fault))?;
    let head: usize = response.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if head > HEAD_LIMIT {
        return Err(Failure::new(Code::ResponseTooLarge, format!("`{}` sent more than 64 KiB of headers", url.origin())));
    }
    Ok((response, running))
}

impl Connector {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { connect: settings.connect, headers: settings.headers, user_agent: settings.user_agent.clone(), tls: OnceLock::new() }
    }

    /// Sends to `addresses` and to nothing else, through the proxy of the manifest where it names one.
    pub(super) async fn send(
        &self,
        url: &HttpUrl,
        request: Request,
        addresses: &[IpAddr],
        proxy: Option<&UpstreamProxy>,
    ) -> Result<Sent, Failure> {
        let opened = timeout(self.connect, self.open(url, addresses, proxy)).await;
        let (stream, address) = opened.map_err(|_| slow(url, "connect"))?.map_err(|fault| failed(url, &fault))?;
        let (response, running) = exchange(url, stream, request, self.headers).await?;
        Ok(Sent { response, address, _connection: running })
    }

    /// A connection to one of the addresses, TLS included, and to which.
    async fn open(
        &self,
        url: &HttpUrl,
        addresses: &[IpAddr],
        proxy: Option<&UpstreamProxy>,
    ) -> io::Result<(Either<TcpStream, TlsStream<TcpStream>>, SocketAddr)> {
        let (stream, address) = dial(addresses, url.port(), proxy, self.connect).await?;
        if url.scheme() == Scheme::Http {
            return Ok((Either::Left(stream), address));
        }
        let name = match url.host() {
            Host::Address(address) => ServerName::from(address),
            Host::Name(name) => ServerName::try_from(name.to_owned()).map_err(io::Error::other)?,
        };
        let tls = self.tls().map_err(io::Error::other)?;
        Ok((Either::Right(TlsConnector::from(tls).connect(name, stream).await?), address))
    }

    /// Makes the one TLS configuration there is; where that fails, the first connection says so.
    pub(super) fn prepare(&self) {
        let _ = self.tls();
    }

    pub(super) fn tls(&self) -> Result<Arc<ClientConfig>, rustls::Error> {
        if let Some(known) = self.tls.get() {
            return Ok(Arc::clone(known));
        }
        let provider: Arc<CryptoProvider> = Arc::new(aws_lc_rs::default_provider());
        let verifier = Arc::new(Verifier::new(Arc::clone(&provider))?);
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::clone(self.tls.get_or_init(|| Arc::new(config))))
    }

    /// The request of one exchange, as it goes out.
    pub(super) fn request(&self, outgoing: &Outgoing, given: &[(String, String)]) -> Result<Request, Failure> {
        let url = &outgoing.url;
        let body = outgoing.body.clone().map(Buffer::from).unwrap_or_default();
        let fault = |what: &str| Failure::new(Code::ArgumentInvalid, format!("{what} cannot be sent"));
        let mut request = hyper::Request::builder()
            .method(outgoing.method.as_str())
            .uri(url.target())
            .body(Full::new(body))
            .map_err(|_| fault("the request"))?;
        let headers = request.headers_mut();
        let authority = url.origin().split_once("://").map(|(_, authority)| authority.to_owned()).unwrap_or_default();
        headers.insert(HOST, HeaderValue::from_str(&authority).map_err(|_| fault("the host"))?);
        for (name, value) in given {
            let fault = || fault(&format!("the header `{name}`"));
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
        Ok(request)
    }
}

impl Sent {
    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Where a redirect leads; `None` for an answer that is none, or that names no place. White space around the address is passed over and a
    /// space in it is written `%20`, as browsers do (WHATWG URL standard, section 4.4).
    pub(super) fn location(&self) -> Result<Option<String>, Failure> {
        if !matches!(self.status(), 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let Some(location) = self.response.headers().get(LOCATION) else { return Ok(None) };
        // Some sites send UTF-8 unencoded; anything else has no one reading.
        std::str::from_utf8(location.as_bytes())
            .map(|text| Some(text.trim_matches(['\t', ' ']).replace(' ', "%20")))
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
        let headers = content_headers(self.response.headers());
        let content_type = self.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let declared = self.response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.trim().parse::<u64>().ok());
        if overflow == Overflow::Refuse && !head && declared.is_some_and(|length| length > limit.0) {
            return Err(too_large(&final_url, limit, declared));
        }
        let codings: Vec<&str> =
            self.response.headers().get_all(CONTENT_ENCODING).iter().map(|value| value.to_str().unwrap_or("?")).collect();
        let coding = Coding::parse(&codings.join(","))?;
        let mut wire = Vec::new();
        let mut is_whole = true;
        while !head && is_whole {
            let Some(frame) = self.response.body_mut().frame().await else { break };
            let frame = frame.map_err(|fault| failed(&final_url, &fault))?;
            wire.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
            is_whole = wire.len() as u64 <= coding.wire_limit(limit);
        }
        let (body, truncated) = coding.decode(wire, is_whole, limit)?;
        if truncated && overflow == Overflow::Refuse {
            return Err(too_large(&final_url, limit, None));
        }
        Ok(Page { final_url, status, headers, content_type, body, truncated, hops, secrets: SentSecrets::default() })
    }
}

fn content_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let known = CONTENT_HEADERS.split(' ').filter_map(|name| Some((name, headers.get(name)?.to_str().ok()?)));
    known.map(|(name, value)| (name.to_owned(), value.chars().take(1024).collect())).collect()
}

fn too_large(url: &HttpUrl, limit: Bytes, declared: Option<u64>) -> Failure {
    let size = declared.map_or_else(|| format!("more than {limit}"), |length| Bytes(length).to_string());
    Failure::new(Code::ResponseTooLarge, format!("`{}` answers with {size}; the limit is {limit}", url.origin()))
        .hint("ask for a smaller resource, or a part of it with a `range` header")
}

fn slow(url: &HttpUrl, what: &str) -> Failure {
    Failure::new(Code::Timeout, format!("`{}` took too long to {what}", url.origin()))
}

/// What went wrong on the way to a host: the innermost cause, without addresses or paths of this machine.
pub(super) fn failed(url: &HttpUrl, fault: &(dyn Error + 'static)) -> Failure {
    let mut innermost: &dyn Error = fault;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    if innermost.downcast_ref::<io::Error>().is_some_and(|fault| fault.kind() == io::ErrorKind::TimedOut) {
        return slow(url, "connect");
    }
    let cause: String = innermost.to_string().chars().filter(|c| !c.is_control()).take(160).collect();
    Failure::new(Code::FetchFailed, format!("no answer from `{}`: {cause}", url.origin()))
}

/// Response headers that are handed on.
const CONTENT_HEADERS: &str =
    "cache-control content-disposition content-language content-length content-range etag last-modified link retry-after";

/// Bytes of response headers that are accepted.
const HEAD_LIMIT: usize = 64 * 1024;

/// Bytes of an answer that are held while its head is read; a head needs fewer.
const BUFFER: usize = 128 * 1024;
