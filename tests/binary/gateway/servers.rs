//! A web server in plain text, one with TLS under an authority of its own, and a proxy; all on loopback, gone with the test.

use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

pub(crate) struct Servers {
    _runtime: tokio::runtime::Runtime,
    pub(crate) plain: u16,
    pub(crate) tls: u16,
    pub(crate) proxy: u16,
    /// The certificate of the authority, PEM.
    pub(crate) authority: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Servers {
    pub(crate) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (config, authority) = authority();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let listen = || {
            let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
            let port = listener.local_addr().unwrap().port();
            (listener, port)
        };
        let ((http, plain), (https, tls), (proxies, proxy)) = (listen(), listen(), listen());
        runtime.spawn(async move {
            while let Ok((stream, _)) = http.accept().await {
                tokio::spawn(serve(stream, "http"));
            }
        });
        runtime.spawn(async move {
            while let Ok((stream, _)) = https.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, "tls").await;
                    }
                });
            }
        });
        let log = Arc::clone(&asked);
        runtime.spawn(async move {
            while let Ok((stream, _)) = proxies.accept().await {
                tokio::spawn(relay(stream, Arc::clone(&log)));
            }
        });
        Self { _runtime: runtime, plain, tls, proxy, authority, asked }
    }

    /// What the proxy was asked for.
    pub(crate) fn asked_proxy(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// What a server shows, and the authority that stands for it.
pub(crate) fn authority() -> (ServerConfig, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    // Of the same name as its issuer it would count as signed by itself.
    params.distinguished_name.push(DnType::CommonName, "localhost");
    let leaf = params.signed_by(&key, &issuer).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    (config, root)
}

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Requests one after the other, as long as the client likes.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, kind: &str) {
    while let Some(head) = head(&mut stream).await {
        let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        if stream.read_exact(&mut body).await.is_err() {
            return;
        }
        let (status, headers, body) = match head.split(' ').nth(1).unwrap_or_default() {
            "/" => ("200 OK", "", format!("hello over {kind}").into_bytes()),
            "/away" => ("302 Found", "Location: http://169.254.169.254/latest/meta-data/\r\n", Vec::new()),
            "/echo" => ("200 OK", "", body),
            "/simple/tiny/" => {
                ("200 OK", "Content-Type: text/html\r\n", b"<a href=\"/tiny-1.0-py3-none-any.whl\">tiny-1.0-py3-none-any.whl</a>".to_vec())
            }
            "/tiny-1.0-py3-none-any.whl" => ("200 OK", "", wheel()),
            _ => ("404 Not Found", "", Vec::new()),
        };
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        if stream.write_all(head.as_bytes()).await.is_err() || stream.write_all(&body).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

/// An ordinary proxy, which wants a user and a password.
async fn relay(mut near: TcpStream, asked: Arc<Mutex<Vec<String>>>) {
    let Some(head) = head(&mut near).await else { return };
    // `me:secret`
    if !head.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n") {
        let _ = near.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n").await;
        return;
    }
    let line = head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let target = line.strip_prefix("CONNECT ").unwrap_or_default().to_owned();
    asked.lock().unwrap().push(line);
    if let Ok(mut far) = TcpStream::connect(&target).await {
        let _ = near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await;
        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
    }
}

/// A package with nothing in it: an archive of stored files (APPNOTE.TXT, sections 4.3.7 and 4.3.12).
fn wheel() -> Vec<u8> {
    let files = [
        ("tiny.py", ""),
        ("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"),
        ("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
        (
            "tiny-1.0.dist-info/RECORD",
            "tiny.py,,\ntiny-1.0.dist-info/METADATA,,\ntiny-1.0.dist-info/WHEEL,,\ntiny-1.0.dist-info/RECORD,,\n",
        ),
    ];
    let (mut body, mut index) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let mut sum = flate2::Crc::new();
        sum.update(text.as_bytes());
        let (length, named) = (u32::try_from(text.len()).unwrap(), u16::try_from(name.len()).unwrap());
        let mut facts = Vec::new();
        for half in [20_u16, 0, 0, 0, 33] {
            facts.extend(half.to_le_bytes());
        }
        for word in [sum.sum(), length, length] {
            facts.extend(word.to_le_bytes());
        }
        facts.extend(named.to_le_bytes());
        facts.extend([0; 2]);
        let offset = u32::try_from(body.len()).unwrap();
        body.extend(b"PK\x03\x04");
        body.extend(&facts);
        body.extend(name.as_bytes());
        body.extend(text.as_bytes());
        index.extend(b"PK\x01\x02\x14\x00");
        index.extend(&facts);
        index.extend([0; 10]);
        index.extend(offset.to_le_bytes());
        index.extend(name.as_bytes());
    }
    let (count, at, size) = (u16::try_from(files.len()).unwrap(), u32::try_from(body.len()).unwrap(), u32::try_from(index.len()).unwrap());
    body.extend(index);
    body.extend(b"PK\x05\x06\0\0\0\0");
    body.extend(count.to_le_bytes());
    body.extend(count.to_le_bytes());
    body.extend(size.to_le_bytes());
    body.extend(at.to_le_bytes());
    body.extend([0; 2]);
    body
}
