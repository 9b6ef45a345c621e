//! One TCP connection to judged addresses, straight or through the proxy that the manifest names.

#![expect(clippy::disallowed_methods, reason = "here connections are made, and only to addresses that were judged")]

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::policy::proxy::UpstreamProxy;

/// Connects to one of `addresses` at `port`, and says to which. They are tried in their order, each with an even share of the time that is left.
///
/// Through a proxy the connection still leads to the judged address: the proxy is asked by number, so that it resolves nothing.
///
/// # Errors
/// What the system or the proxy said to the last attempt.
pub(super) async fn dial(
    addresses: &[IpAddr],
    port: u16,
    proxy: Option<&UpstreamProxy>,
    patience: Duration,
) -> io::Result<(TcpStream, SocketAddr)> {
    let deadline = Instant::now() + patience;
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for (tried, address) in (0_u32..).zip(addresses) {
        let left = u32::try_from(addresses.len()).unwrap_or(u32::MAX).saturating_sub(tried).max(1);
        let share = Instant::now() + deadline.saturating_duration_since(Instant::now()) / left;
        let target = SocketAddr::new(*address, port);
        let attempt = async {
            match proxy {
                None => straight(target).await,
                Some(proxy) => through(proxy, target).await,
            }
        };
        match timeout_at(share, attempt).await {
            Ok(Ok(stream)) => return Ok((stream, target)),
            Ok(Err(fault)) => last = fault,
            Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, "connecting took too long"),
        }
    }
    Err(last)
}

async fn straight(target: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(target).await?;
    let _ = stream.set_nodelay(true);
    // Defence in depth: the address was judged, so the peer is the address.
    if stream.peer_addr()? == target { Ok(stream) } else { Err(io::Error::other("connected to an address that was not judged")) }
}

/// Asks the proxy for a tunnel to `target` (RFC 9110, section 9.3.6).
async fn through(proxy: &UpstreamProxy, target: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect((proxy.host(), proxy.port())).await?;
    let _ = stream.set_nodelay(true);
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    if let Some(value) = proxy.authorization() {
        let _ = write!(request, "Proxy-Authorization: {value}\r\n");
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await?;
    // Byte by byte, for what follows the empty line belongs to the tunnel.
    let mut head = Vec::with_capacity(256);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD {
            return Err(io::Error::other("the proxy answers with too much"));
        }
        head.push(stream.read_u8().await?);
    }
    let status = std::str::from_utf8(&head).ok().and_then(|head| head.strip_prefix("HTTP/1.")).and_then(|rest| rest.get(2..5));
    match status {
        Some("200") => Ok(stream),
        Some("407") => Err(io::Error::other("the proxy of the manifest asks for a user and a password")),
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(io::Error::other(format!("the proxy of the manifest refuses (status {number})")))
        }
        _ => Err(io::Error::other("the proxy of the manifest answers with something that is not HTTP")),
    }
}

/// Bytes of a proxy's answer that are read.
const HEAD: usize = 16 * 1024;
