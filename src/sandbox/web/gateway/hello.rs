//! The first bytes of a tunnel: a TLS `ClientHello`, and the name it asks for.

use std::io::Cursor;

use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::model::{Code, Host, HttpUrl, Refusal};

/// Reads until the `ClientHello` is whole, and gives every byte that was read.
///
/// # Errors
/// `scheme_not_allowed`: something else than TLS. `domain_not_allowed`: the name it asks for is another than the tunnel's, by which a server
/// with many names would answer for a host that was never judged.
pub(super) async fn read(from: &mut (impl AsyncRead + Unpin), url: &HttpUrl) -> Result<Vec<u8>, Refusal> {
    let no_tls = || {
        Refusal::new(Code::SchemeNotAllowed, format!("what was sent into the tunnel to `{}` is not TLS", url.host_str()))
            .hint("a tunnel is for TLS only; send plain HTTP requests to the proxy without a tunnel")
    };
    let mut acceptor = Acceptor::default();
    let mut read = Vec::new();
    let mut buffer = [0_u8; 4096];
    loop {
        let count = from.read(&mut buffer).await.map_err(|_| no_tls())?;
        let new = buffer.get(..count).unwrap_or_default();
        if new.is_empty() || read.len() + new.len() > LONGEST {
            return Err(no_tls());
        }
        read.extend_from_slice(new);
        let mut new = Cursor::new(new);
        while usize::try_from(new.position()).is_ok_and(|position| position < count) {
            // It stops taking bytes once the message is whole; what follows is early data.
            match acceptor.read_tls(&mut new) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        if let Some(accepted) = acceptor.accept().map_err(|_| no_tls())? {
            let hello = accepted.client_hello();
            return if fits(hello.server_name(), url) { Ok(read) } else { Err(another_name(hello.server_name(), url)) };
        }
    }
}

/// Whether the name of the `ClientHello`, where it has one, is the tunnel's.
fn fits(asked: Option<&str>, url: &HttpUrl) -> bool {
    match (asked, url.host()) {
        (None, _) => true,
        (Some(asked), Host::Name(name)) => asked.strip_suffix('.').unwrap_or(asked).eq_ignore_ascii_case(name),
        // An address is no name (RFC 6066, section 3): a client that asks an address for a name asks for another host.
        (Some(_), Host::Address(_)) => false,
    }
}

fn another_name(asked: Option<&str>, url: &HttpUrl) -> Refusal {
    let asked = crate::filter::escape_line(asked.unwrap_or_default()).into_owned();
    Refusal::new(Code::DomainNotAllowed, format!("the tunnel leads to `{}`, and TLS in it asks for `{asked}`", url.host_str()))
}

/// A fatal alert, `unrecognized_name` (RFC 8446, section 6): clients show it to their users.
pub(super) const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];

/// Bytes within which the message ends; one with keys of the post-quantum kind takes 2 KB.
const LONGEST: usize = 32 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(name: &str) -> Vec<u8> {
        let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let name = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
        let mut client = rustls::ClientConnection::new(std::sync::Arc::new(config), name).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    async fn judged(bytes: &[u8], host: &str) -> Result<usize, Code> {
        let url = HttpUrl::parse(&format!("https://{host}/")).unwrap();
        read(&mut &*bytes, &url).await.map(|read| read.len()).map_err(|refusal| refusal.code)
    }

    #[tokio::test]
    async fn the_name_in_the_first_message_must_be_the_tunnels() {
        let bytes = hello("a.example");
        assert_eq!(judged(&bytes, "a.example").await, Ok(bytes.len()));
        assert_eq!(judged(&bytes, "A.Example.").await, Ok(bytes.len()));
        for other in ["b.example", "x.a.example", "example", "192.0.2.1"] {
            assert_eq!(judged(&bytes, other).await, Err(Code::DomainNotAllowed), "{other}");
        }
        let nameless = hello("192.0.2.1");
        assert_eq!(judged(&nameless, "192.0.2.1").await, Ok(nameless.len()));
        let mut early = hello("a.example");
        early.extend_from_slice(b"early data");
        assert_eq!(judged(&early, "a.example").await, Ok(early.len()));
    }

    #[tokio::test]
    async fn what_is_not_tls_or_never_whole_is_refused() {
        let bytes = hello("a.example");
        let half = bytes.split_at(bytes.len() / 2).0.to_vec();
        let junk = vec![0x16; 100_000];
        for wire in [b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec(), b"SSH-2.0-x\r\n".to_vec(), Vec::new(), half, junk] {
            assert_eq!(judged(&wire, "a.example").await, Err(Code::SchemeNotAllowed));
        }
    }
}
