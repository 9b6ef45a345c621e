//! `serve --http`: an address becomes a listener, files become keys, and the server is served to many.

#![expect(clippy::disallowed_methods, reason = "the command line is where an address becomes a listener and a path a file")]

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, UnixListener};

use super::logs::LogFormat;
use super::run::Fault;
use crate::context::ServerContext;
use crate::manifest::Manifest;
use crate::model::HttpUrl;
use crate::server::http::{Listener, Options, Source};

/// How to serve over HTTP.
#[derive(Debug, Clone, Args)]
pub(super) struct HttpChoice {
    /// Serve MCP over HTTP at /mcp of this address: 127.0.0.1:8011, or unix:PATH.
    #[arg(long, value_name = "ADDR")]
    pub(super) http: Option<Address>,
    /// Serve the HTTP+SSE transport of 2024-11-05 at /sse as well.
    #[arg(long, requires = "http")]
    pub(super) sse: bool,
    /// Speak TLS with this certificate chain (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["http", "tls_key"])]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["http", "tls_cert"])]
    tls_key: Option<PathBuf>,
}

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// An address of this machine and a port; port 0 takes any that is free.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl std::str::FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let numbers = match text.strip_prefix("localhost:") {
            Some(port) => format!("{}:{port}", Ipv4Addr::LOCALHOST),
            None => text.to_owned(),
        };
        let fault = || format!("`{text}` is no address; write 127.0.0.1:8011, [::1]:8011, 0.0.0.0:8011 or unix:/run/toolgate.sock");
        numbers.parse().map(Self::Tcp).map_err(|_| fault())
    }
}

impl Address {
    fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Tcp(address) => address.to_string(),
            Self::Unix(path) => path.display().to_string(),
        }
    }
}

impl HttpChoice {
    /// Makes a manifest, the first or a later one, what the command line asks of it; over standard input nothing is asked.
    /// # Errors  When it must not be served at the address.
    pub(super) fn adjust(&self, manifest: &mut Manifest, profile: Option<&str>) -> Result<(), Fault> {
        let Some(address) = &self.http else { return Ok(()) };
        match (&mut manifest.clients.http, profile) {
            (Some(http), Some(profile)) => profile.clone_into(http),
            (None, Some(_)) => tracing::warn!("`--profile` is for standard input; over HTTP callers get theirs from `[clients]`"),
            _ => {}
        }
        may_listen(manifest, address)
    }

    /// What TLS is spoken with. No call may touch the files.
    pub(super) fn tls(&self) -> Result<Option<Arc<rustls::ServerConfig>>, Fault> {
        // The command line names both or none.
        let Some((certificate, key)) = self.tls_cert.as_deref().zip(self.tls_key.as_deref()) else { return Ok(None) };
        super::guarded::name_files(&[certificate, key]);
        let unusable = |file: &Path, why: &str| Fault::Use(format!("`{}` {why}", file.display()));
        let read = |file: &Path| std::fs::read(file).map_err(|fault| unusable(file, &format!("cannot be read: {fault}")));
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(certificate)?).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| unusable(certificate, "holds no PEM certificate"))?;
        let secret = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|_| unusable(key, "holds no PEM private key"))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|fault| Fault::Use(fault.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(|fault| unusable(certificate, &format!("and its key cannot be used: {fault}")))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Some(Arc::new(config)))
    }
}

/// Serves until the process is told to stop. `base`: the folder of the manifest.
pub(super) async fn serve(
    server: &Arc<ServerContext>,
    address: &Address,
    sse: bool,
    tls: Option<Arc<rustls::ServerConfig>>,
    base: PathBuf,
    form: LogFormat,
) -> io::Result<()> {
    more_descriptors();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let listener = open(address).await?;
    let (at, what) = match &listener {
        Listener::Tcp(listener) => (format!("{scheme}://{}/mcp", listener.local_addr()?), ""),
        Listener::Unix(_) => (address.shown(), ", path /mcp"),
    };
    form.serving(&at, &format!("serving MCP at {at}{what}"))?;
    let options = Options { listener, sse, tls, source: source(Arc::clone(server), base) };
    let outcome = crate::server::serve_http(Arc::clone(server), options).await;
    if let Address::Unix(path) = address {
        let _ = std::fs::remove_file(path);
    }
    outcome
}

/// Nobody may come in from elsewhere without saying who they are.
fn may_listen(manifest: &Manifest, address: &Address) -> Result<(), Fault> {
    let clients = &manifest.clients;
    let asks = !clients.tokens.is_empty() || !clients.oauth.is_empty();
    if !address.is_local() && !asks {
        let at = address.shown();
        return Err(Fault::Refused(format!(
            "anybody could call at `{at}`: add [[clients.token]] or [[clients.oauth]], or listen on 127.0.0.1"
        )));
    }
    if !address.is_local() && clients.http.is_some() {
        tracing::warn!("`[clients] http` applies only to a loopback address and is not used here: every caller needs a token");
    }
    if address.is_local() && !asks && clients.http.is_none() {
        tracing::warn!("nobody can call: `[clients]` names no token, no issuer, and `http = \"none\"`");
    }
    Ok(())
}

async fn open(address: &Address) -> io::Result<Listener> {
    let listener = match address {
        Address::Tcp(address) => TcpListener::bind(address).await.map(Listener::Tcp),
        Address::Unix(path) => {
            // A socket at which no server answers is what a killed one left.
            let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
            if is_socket && tokio::net::UnixStream::connect(path).await.is_err() {
                std::fs::remove_file(path)?;
            }
            // Whoever may open the socket may call.
            let before = umask(rustix::fs::Mode::from_raw_mode(0o177));
            let listener = UnixListener::bind(path);
            umask(before);
            listener.map(Listener::Unix)
        }
    };
    listener.map_err(|fault| io::Error::new(fault.kind(), format!("`{}` cannot be listened on: {fault}", address.shown())))
}

/// Reads the keys of an issuer: a file beside the manifest, or a URL through the egress guard.
fn source(server: Arc<ServerContext>, base: PathBuf) -> Source {
    Arc::new(move |place: String| {
        let (server, base) = (Arc::clone(&server), base.clone());
        Box::pin(async move {
            if !place.starts_with("https://") {
                return std::fs::read(base.join(&place)).map_err(|fault| fault.to_string());
            }
            let url = HttpUrl::parse(&place).map_err(|refusal| refusal.to_string())?;
            server.sandbox().fetch_document(&url, &server.gate().manifest().network).await.map_err(|denied| denied.refusal().to_string())
        })
    })
}

/// Each connection is a descriptor; the soft limit of a login shell is often 1024.
fn more_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum.or(Some(1 << 20)), maximum: limit.maximum };
    if let Err(fault) = setrlimit(Resource::Nofile, wanted) {
        tracing::warn!(%fault, "the limit of open descriptors stays as it is");
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn an_address_is_numbers_or_a_socket() {
        assert_eq!("127.0.0.1:8011".parse(), Ok(Address::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8011))));
        assert_eq!("localhost:1".parse(), Ok(Address::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1))));
        assert_eq!("unix:/run/t.sock".parse(), Ok(Address::Unix(PathBuf::from("/run/t.sock"))));
        for text in ["", "8011", "example.com:80", "unix:", "127.0.0.1", "http://127.0.0.1:1"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_that_others_reach_needs_callers_that_say_who_they_are() {
        let open = Manifest { clients: crate::manifest::Clients { http: Some("p".into()), ..Default::default() }, ..Manifest::default() };
        assert!(may_listen(&open, &"127.0.0.1:1".parse().unwrap()).is_ok());
        for address in ["0.0.0.0:1", "192.0.2.1:1", "[::]:1"] {
            assert!(may_listen(&open, &address.parse().unwrap()).is_err(), "{address}");
        }
        let mut closed = open;
        closed.clients.tokens.push(crate::manifest::Token { name: "a".into(), sha256: [0; 32], profile: "p".into() });
        assert!(may_listen(&closed, &"0.0.0.0:1".parse().unwrap()).is_ok());
    }
}
