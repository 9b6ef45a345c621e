//! One TCP connection to judged addresses, straight or through the proxy that the manifest names.

#![expect(clippy::disallowed_methods, reason = "here connections are made, and only to addresses that were judged")]

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::manifest::UpstreamProxy;

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
    let status = std::str::from_utf8(&head).ok().filter(|head| head.starts_with("HTTP/1.")).and_then(|head| head.split([' ', '\r']).nth(1));
    match status {
        Some("200") => Ok(stream),
        Some("407") => Err(io::Error::other("the proxy of the manifest asks for a user and a password")),
        Some(number) if number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(io::Error::other(format!("the proxy of the manifest refuses (status {number})")))
        }
        _ => Err(io::Error::other("the proxy of the manifest answers with something that is not HTTP")),
    }
}

/// Bytes of a proxy's answer that are read.
const HEAD: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::net::Ipv4Addr;
    use std::sync::{Arc, Mutex};

    use futures::future::BoxFuture;
    use tokio::net::TcpListener;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::manifest::{DomainPattern, NetworkRules, Robots};
    use crate::model::{Bytes, Code, HttpUrl, Scheme};
    use crate::policy::request::Method;
    use crate::sandbox::web::{Egress, EgressRequest, Overflow, Resolve, Settings};

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// A listener that reads a head, keeps it, says `answer`, and where that is a yes, joins the connection to where it asked for.
    async fn listening(answer: &'static str) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
        let (address, heads) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
        let kept = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = near.read_u8().await else { return };
                        head.push(byte);
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let target = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()).map(str::to_owned);
                    kept.lock().unwrap().push(head);
                    let _ = near.write_all(answer.as_bytes()).await;
                    if let Some(target) = target.filter(|_| answer.starts_with("HTTP/1.1 200"))
                        && let Ok(mut far) = TcpStream::connect(target).await
                    {
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        (address, heads)
    }

    const PAGE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ntext";
    const YES: &str = "HTTP/1.1 200 Connection established\r\nvia: x\r\n\r\n";

    fn proxy(address: SocketAddr) -> UpstreamProxy {
        UpstreamProxy::parse(&format!("http://me:secret@{address}")).unwrap()
    }

    #[derive(Debug)]
    struct Invented(HashMap<&'static str, IpAddr>);

    impl Resolve for Invented {
        fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
            let answer = self.0.get(name).map(|address| vec![*address]);
            Box::pin(async move { answer.ok_or_else(|| io::ErrorKind::NotFound.into()) })
        }
    }

    async fn fetched(rules: NetworkRules, url: String) -> Result<String, Code> {
        let inside = "10.1.2.3".parse().unwrap();
        let egress =
            Egress::with_resolver(Settings::default(), Arc::new(Invented([("a.example", LOOPBACK), ("inside.example", inside)].into())));
        let request = EgressRequest {
            url: HttpUrl::parse(&url).unwrap(),
            method: Method::Get,
            headers: Vec::new(),
            body: None,
            pinned: Vec::new(),
            rules: Arc::new(rules),
            deadline: Instant::now() + Duration::from_mins(1),
            max_response: Bytes::mib(1),
            overflow: Overflow::Refuse,
            hosts: None,
            upload: Bytes::mib(1),
            sent: Some(Arc::default()),
            principal: String::new(),
        };
        let page = egress.fetch(request, &CancellationToken::new()).await;
        page.map(|page| String::from_utf8(page.body).unwrap()).map_err(|denied| denied.refusal().code)
    }

    #[tokio::test]
    async fn a_named_proxy_is_asked_for_the_judged_address_by_number_and_what_is_inside_stays_refused() {
        let (server, asked) = listening(PAGE).await;
        let (relay, heads) = listening(YES).await;
        let rules = NetworkRules {
            allowed_domains: ["a.example", "inside.example"].map(|name| DomainPattern::parse(name).unwrap()).to_vec(),
            allowed_schemes: vec![Scheme::Http],
            internal: vec![server],
            robots: Robots::Ignore,
            proxy: Some(proxy(relay)),
            ..NetworkRules::default()
        };
        let port = server.port();
        assert_eq!(fetched(rules.clone(), format!("http://a.example:{port}/x")).await.as_deref(), Ok("text"));
        let wanted =
            format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n");
        assert_eq!(*heads.lock().unwrap(), [wanted]);
        let head = asked.lock().unwrap().concat();
        assert!(head.starts_with("GET /x HTTP/1.1\r\n") && head.contains(&format!("host: a.example:{port}\r\n")), "{head}");
        assert!(!head.contains("Proxy-Authorization"), "the server is told nothing of the proxy: {head}");
        // The proxy could reach them; the judgement is ours.
        for url in ["http://inside.example:{port}/", "http://127.0.0.2:{port}/", "http://c.example:{port}/"] {
            assert!(fetched(rules.clone(), url.replace("{port}", &port.to_string())).await.is_err(), "{url}");
        }
        assert_eq!(heads.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_proxy_that_says_no_or_nonsense_is_no_way() {
        for (answer, told) in [
            ("HTTP/1.1 403 Forbidden\r\n\r\n", "refuses (status 403)"),
            ("HTTP/1.1 407 Authentication\r\n\r\n", "asks for a user"),
            ("HTTP/1.1 2000 OK\r\n\r\n", ""),
            ("SSH-2.0-x\r\n\r\n", "not HTTP"),
        ] {
            let (relay, _) = listening(answer).await;
            let dialled = dial(&[LOOPBACK], 1, Some(&proxy(relay)), Duration::from_secs(10)).await;
            let fault = dialled.unwrap_err().to_string();
            assert!(fault.contains(told) && !fault.contains("secret"), "{answer:?}: {fault}");
        }
    }

    #[tokio::test]
    async fn addresses_are_tried_in_their_order_until_one_answers() {
        let (server, _) = listening(PAGE).await;
        // Nothing listens at the first of them.
        let addresses = ["127.0.0.2".parse().unwrap(), LOOPBACK];
        let (_, address) = dial(&addresses, server.port(), None, Duration::from_secs(10)).await.unwrap();
        assert_eq!(address, server);
        assert!(dial(&[], server.port(), None, Duration::from_secs(10)).await.is_err());
    }
}
