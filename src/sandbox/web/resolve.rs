//! From a name to addresses, once per hop.

#![expect(clippy::disallowed_methods, reason = "here names are resolved, once, and every address goes to the judge")]

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use futures::future::BoxFuture;

use crate::manifest::NetworkRules;
use crate::model::{Code, HttpUrl, Refusal};

/// Turns a name into every address it has.
pub trait Resolve: Debug + Send + Sync {
    /// One lookup of `name` (ASCII form, no trailing dot). The caller sets the deadline.
    ///
    /// # Errors
    /// Whatever the resolver says; it is never shown to the model.
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The machine's own resolver.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            // RFC 6761 section 6.3: loopback, whatever a name server says.
            if name == "localhost" || name.ends_with(".localhost") {
                return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
            }
            // The root dot keeps search domains of resolv.conf(5) out: `name` must mean the name that was judged.
            let found = tokio::net::lookup_host((format!("{name}."), 0)).await?;
            let mut addresses: Vec<IpAddr> = Vec::new();
            for address in found.map(|socket| socket.ip()) {
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
            Ok(addresses)
        })
    }
}

/// Refuses the machine's own addresses: a public one is as internal as loopback to what runs on it.
///
/// An address is ours when a socket can be bound to it; nothing is sent.
pub(super) fn refuse_own_addresses(rules: &NetworkRules, url: &HttpUrl, addresses: &[IpAddr]) -> Result<(), Refusal> {
    let port = url.port();
    let opened = |address: IpAddr| rules.internal.contains(&SocketAddr::new(address, port));
    if addresses.iter().any(|address| !opened(*address) && UdpSocket::bind((*address, 0)).is_ok()) {
        let message = format!("the host `{}` leads to this machine itself", url.host_str());
        return Err(Refusal::new(Code::InternalAddress, message).rule("network.internal"));
    }
    Ok(())
}
