//! Plain HTTP: one request in absolute form, sent on over one connection to a judged address, its answer sent back.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};

use super::Gateway;
use super::answer::Body;
use crate::model::{Bytes as Size, Code, Failure, HttpUrl, Refusal, Scheme};
use crate::sandbox::web::Denied;
use crate::sandbox::web::connect::{Running, exchange};
use crate::sandbox::web::connections::{Connection, How, too_large};
use crate::sandbox::web::request::size;

impl Gateway {
    /// Judges one request, sends it on, and gives the answer's head; its body follows under the same bounds.
    ///
    /// # Errors
    /// As [`Gateway::tunnel`], for `http://host/`; `response_too_large`, `quota`.
    pub(super) async fn forward(&self, request: Request<Incoming>) -> Result<Response<Body>, Denied> {
        let url = target(&request).map_err(|refusal| self.log.refuse(None, How::Plain, refusal.into()))?;
        let (far, connection) = self.reach(&url, How::Plain).await?;
        let connection = Arc::new(connection);
        let request = outgoing(&url, request, &connection)?;
        let answered = exchange(&url, far, request, self.egress.settings.headers).await;
        let (mut response, running) = answered.inspect_err(|failure| connection.end(failure.0.code))?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            connection.end(Code::FetchFailed);
            let message = format!("`{}` changes the protocol, which nobody asked for", url.origin());
            return Err(Failure::new(Code::FetchFailed, message).into());
        }
        let most = self.rules.max_response;
        if response.body().size_hint().lower() > most.0 {
            connection.end(Code::ResponseTooLarge);
            return Err(Denied::Failed(Failure(too_large(most))));
        }
        strip(response.headers_mut());
        response.headers_mut().append(VIA, HeaderValue::from_static("1.1 toolgate"));
        *response.version_mut() = Version::HTTP_11;
        Ok(response.map(|body| Counted { body, bound: Bound::Coming(most), connection, _running: Some(running) }.boxed_unsync()))
    }
}

/// The URL of the request line. `Host` says nothing: what is judged is what is asked for (RFC 9112, section 3.2.2).
fn target(request: &Request<Incoming>) -> Result<HttpUrl, Refusal> {
    let refuse = |what: &str| {
        Refusal::new(Code::UrlMalformed, what.to_owned())
            .hint("this is an HTTP proxy: set http_proxy and https_proxy to it, and ask for whole URLs")
    };
    let uri = request.uri();
    if uri.scheme().is_none() || uri.authority().is_none() {
        return Err(refuse("the request names no host"));
    }
    let url = HttpUrl::parse(&uri.to_string())?;
    if url.scheme() != Scheme::Http {
        return Err(refuse("https goes through a tunnel: `CONNECT host:443`"));
    }
    if !METHODS.contains(request.method()) {
        return Err(Refusal::new(Code::ArgumentInvalid, "this method is not sent on"));
    }
    Ok(url.without_fragment())
}

const METHODS: [Method; 7] = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// The request as it goes on: a new head, made of what was parsed, so that no second reading of the same bytes can find another request in it.
fn outgoing(url: &HttpUrl, request: Request<Incoming>, connection: &Arc<Connection>) -> Result<Request<Counted>, Denied> {
    let (mut head, body) = request.into_parts();
    strip(&mut head.headers);
    head.headers.remove(EXPECT);
    // How long the body is, is what was parsed; hyper says so anew.
    head.headers.remove(CONTENT_LENGTH);
    let fault = |_| Refusal::new(Code::UrlMalformed, "the request cannot be sent on");
    let host = url.as_url().port().map_or_else(|| url.host_str().to_owned(), |port| format!("{}:{port}", url.host_str()));
    head.headers.insert(HOST, HeaderValue::from_str(&host).map_err(|e| fault(e.to_string()))?);
    head.uri = url.target().parse::<Uri>().map_err(|e| fault(e.to_string()))?;
    head.version = Version::HTTP_11;
    head.extensions.clear();
    let request = Request::from_parts(head, Counted { body, bound: Bound::Going, connection: Arc::clone(connection), _running: None });
    connection.send(usize::try_from(size(&request)).unwrap_or(usize::MAX))?;
    Ok(request)
}

/// Takes out what belongs to one connection alone (RFC 9110, section 7.6.1), and what is meant for proxies.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let ours = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")];
    // The length is not the connection's to name: without it the answer's end would be another.
    for name in named.iter().filter(|name| **name != CONTENT_LENGTH).chain(&ours) {
        headers.remove(name);
    }
    let proxies: Vec<HeaderName> = headers.keys().filter(|name| name.as_str().starts_with("proxy-")).cloned().collect();
    for name in proxies {
        headers.remove(name);
    }
}

/// A body whose bytes are counted; trailers stay behind.
#[derive(Debug)]
struct Counted {
    body: Incoming,
    bound: Bound,
    connection: Arc<Connection>,
    /// The connection that an answer's body comes over.
    _running: Option<Running>,
}

/// Bytes around a chunk of a body whose length is not known before: its size in hex and two ends of line (RFC 9112, section 7.1).
const CHUNK: usize = 20;

#[derive(Debug, Clone, Copy)]
enum Bound {
    /// From the program: what the call may send.
    Going,
    /// To the program: so many bytes.
    Coming(Size),
}

impl hyper::body::Body for Counted {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        loop {
            let frame = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(fault))) => return Poll::Ready(Some(Err(fault.into()))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            };
            let Some(data) = frame.data_ref() else { continue };
            let is_chunked = self.body.size_hint().exact().is_none();
            let counted = match self.bound {
                Bound::Going => self.connection.send(data.len() + if is_chunked { CHUNK } else { 0 }),
                Bound::Coming(most) => self.connection.receive(data.len(), most),
            };
            return Poll::Ready(Some(counted.map(|()| frame).map_err(|refusal| refusal.to_string().into())));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
