//! One TCP connection to judged addresses.

#![expect(clippy::disallowed_methods, reason = "here connections are made, and only to addresses that were judged")]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

/// Connects to one of `addresses` at `port`, and says to which. They are tried in their order, each with an even share of the time that is left.
///
/// # Errors
/// What the system said to the last attempt.
pub(super) async fn dial(addresses: &[IpAddr], port: u16, patience: Duration) -> io::Result<(TcpStream, SocketAddr)> {
    let deadline = Instant::now() + patience;
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for (tried, address) in (0_u32..).zip(addresses) {
        let left = u32::try_from(addresses.len()).unwrap_or(u32::MAX).saturating_sub(tried).max(1);
        let share = Instant::now() + deadline.saturating_duration_since(Instant::now()) / left;
        let target = SocketAddr::new(*address, port);
        match timeout_at(share, straight(target)).await {
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
