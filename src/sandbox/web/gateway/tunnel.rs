//! `CONNECT`: TLS from end to end, to a judged address, under a name that was judged.

use http::Request;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Gateway, hello};
use crate::model::{Bytes, Code, HttpUrl, Refusal};
use crate::sandbox::web::Denied;
use crate::sandbox::web::connect::failed;
use crate::sandbox::web::connections::{Connection, How};
use crate::sandbox::web::dial::dial;

/// A tunnel that was granted and whose far end stands.
#[derive(Debug)]
pub(super) struct Tunnel {
    url: HttpUrl,
    upgrade: OnUpgrade,
    far: TcpStream,
    connection: Connection,
}

impl Gateway {
    /// Judges a request for a tunnel, and connects.
    ///
    /// # Errors
    /// As [`crate::policy::network::judge_url`] and [`crate::policy::network::judge_addresses`] of `https://host:port/`; `url_malformed`,
    /// `rate_limited`, `fetch_failed`, `timeout`.
    pub(super) async fn tunnel(&self, request: Request<Incoming>) -> Result<Tunnel, Denied> {
        let url = target(&request).map_err(|refusal| self.log.refuse(None, How::Tunnel, refusal.into()))?;
        let (far, connection) = self.reach(&url, How::Tunnel).await?;
        Ok(Tunnel { url, upgrade: hyper::upgrade::on(request), far, connection })
    }

    /// Judges where a URL leads, writes it down, and connects.
    pub(super) async fn reach(&self, url: &HttpUrl, how: How) -> Result<(TcpStream, Connection), Denied> {
        let judged = self.egress.judged(&self.rules, url, &[]).await.and_then(|addresses| self.log.count(url).map(|()| addresses));
        let addresses = judged.map_err(|denied| self.log.refuse(Some(url), how, denied))?;
        let connection = self.log.open(url, how)?;
        let connected = dial(&addresses, url.port(), self.rules.proxy.as_ref(), self.egress.settings.connect).await;
        let (far, _) = connected.map_err(|fault| failed(url, &fault)).inspect_err(|failure| connection.end(failure.0.code))?;
        Ok((far, connection))
    }
}

/// Host and port of the request line (RFC 9110, section 9.3.6: both, and no body).
fn target(request: &Request<Incoming>) -> Result<HttpUrl, Refusal> {
    let malformed = |what: &str| Refusal::new(Code::UrlMalformed, what.to_owned()).hint("ask for a tunnel with `CONNECT host:443`");
    if request.headers().contains_key(CONTENT_LENGTH) || request.headers().contains_key(TRANSFER_ENCODING) {
        return Err(malformed("a request for a tunnel has no body"));
    }
    let authority = request.uri().authority().filter(|authority| authority.port_u16().is_some());
    let authority = authority.ok_or_else(|| malformed("a request for a tunnel names a host and a port"))?;
    HttpUrl::parse(&format!("https://{authority}/"))
}

impl Tunnel {
    /// Carries bytes both ways, once the first of them have shown to be what was granted.
    pub(super) async fn run(self, gateway: &Gateway) {
        let Self { url, upgrade, far, connection } = self;
        let Ok(near) = upgrade.await else { return };
        let mut near = TokioIo::new(near);
        let first = timeout(gateway.egress.settings.headers, hello::read(&mut near, &url)).await;
        let first = match first {
            Ok(Ok(first)) => first,
            Ok(Err(refusal)) => {
                connection.end(refusal.code);
                let _ = near.write_all(&hello::ALERT).await;
                let _ = near.shutdown().await;
                return;
            }
            Err(_) => return connection.end(Code::Timeout),
        };
        let (near_in, near_out) = tokio::io::split(near);
        let (far_in, mut far_out) = far.into_split();
        if connection.send(first.len()).is_err() || far_out.write_all(&first).await.is_err() {
            return;
        }
        // TLS adds up to 22 bytes to each record of 16 KiB, and a few kilobytes of certificates to the whole.
        let most = gateway.rules.max_response;
        let most = Bytes(most.0.saturating_add(most.0 / 64).saturating_add(OVERHEAD));
        // The first direction that is stopped by a bound ends both; one that ends by itself leaves the other open.
        let out = pump(near_in, far_out, |count| connection.send(count));
        let back = pump(far_in, near_out, |count| connection.receive(count, most));
        let _ = tokio::try_join!(out, back);
    }
}

/// Bytes of a handshake.
const OVERHEAD: u64 = 32 * 1024;

/// Copies until the end, or until `count` says no; passes the end on.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    count: impl Fn(usize) -> Result<(), Refusal>,
) -> Result<(), ()> {
    let mut buffer = vec![0_u8; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await.map_err(|_| ())?;
        let piece = buffer.get(..read).unwrap_or_default();
        if piece.is_empty() {
            return to.shutdown().await.map_err(|_| ());
        }
        count(read).map_err(|_| ())?;
        to.write_all(piece).await.map_err(|_| ())?;
    }
}
