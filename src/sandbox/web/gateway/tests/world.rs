//! An egress proxy, servers behind the gateway, and a program before it.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::manifest::{DomainPattern, NetworkRules};
use crate::model::{Bytes, Code, Scheme};
use crate::sandbox::programs::Network;
use crate::sandbox::web::{ConnectionRecorder, Contact, Egress, Gateway, Resolve, Settings};

pub(super) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A DNS whose names have one answer per lookup, the last repeating.
#[derive(Debug, Default)]
pub(super) struct Invented(pub(super) Mutex<HashMap<String, Vec<Vec<IpAddr>>>>);

impl Resolve for Invented {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let answer =
            self.0.lock().unwrap().get_mut(name).map(|answers| if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() });
        Box::pin(async move { answer.ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }
}

/// A server that keeps what it was sent, and answers each connection with the same bytes.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer: Arc<[u8]> = answer.into().into();
        let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
        let (address, heard) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
        let log = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                tokio::spawn(async move {
                    let place = {
                        let mut log = log.lock().unwrap();
                        log.push(String::new());
                        log.len() - 1
                    };
                    let mut piece = [0; 4096];
                    let mut answered = false;
                    while let Ok(count) = stream.read(&mut piece).await {
                        if count == 0 {
                            break;
                        }
                        log.lock().unwrap()[place].push_str(&String::from_utf8_lossy(&piece[..count]));
                        if !answered {
                            answered = true;
                            let _ = stream.write_all(&answer).await;
                        }
                    }
                });
            }
        });
        Self { address, heard }
    }

    /// What came over each connection.
    pub(super) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

pub(super) const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";

/// A gateway that serves a listener of loopback.
pub(super) struct World {
    pub(super) gateway: Arc<Gateway>,
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

pub(super) fn rules(server: &Server) -> NetworkRules {
    NetworkRules {
        allowed_domains: ["a.example", "b.example"].map(|name| DomainPattern::parse(name).unwrap()).to_vec(),
        denied_domains: vec![DomainPattern::parse_denied("evil.a.example").unwrap()],
        allowed_schemes: vec![Scheme::Http, Scheme::Https],
        internal: vec![server.address],
        ..NetworkRules::default()
    }
}

/// `a.example` and `b.example` lead to loopback, where the rules open the server's port alone.
pub(super) fn names() -> HashMap<String, Vec<Vec<IpAddr>>> {
    ["a.example", "b.example"].map(|name| (name.to_owned(), vec![vec![LOOPBACK]])).into()
}

impl World {
    pub(super) async fn new(rules: NetworkRules) -> Self {
        Self::with(rules, names(), Settings { headers: Duration::from_secs(2), ..Settings::default() }, Bytes::mib(1)).await
    }

    pub(super) async fn recorded(rules: NetworkRules, recorder: Box<dyn ConnectionRecorder>) -> Self {
        Self::made(rules, names(), Settings::default(), Bytes::mib(1), Some(recorder)).await
    }

    pub(super) async fn with(rules: NetworkRules, names: HashMap<String, Vec<Vec<IpAddr>>>, settings: Settings, upload: Bytes) -> Self {
        Self::made(rules, names, settings, upload, None).await
    }

    async fn made(
        rules: NetworkRules,
        names: HashMap<String, Vec<Vec<IpAddr>>>,
        settings: Settings,
        upload: Bytes,
        recorder: Option<Box<dyn ConnectionRecorder>>,
    ) -> Self {
        let egress = Arc::new(Egress::with_resolver(settings, Arc::new(Invented(Mutex::new(names)))));
        let gateway = Arc::new(Gateway::new(egress, Arc::new(rules), upload, recorder));
        let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let listener = listener.into_std().unwrap().into();
        let serving = tokio::spawn(Arc::clone(&gateway).serve(listener, stop.clone()));
        Self { gateway, address, stop, serving }
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes over a connection of its own, and reads until its end.
    pub(super) async fn say(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        // What was refused early is not read to its end.
        let _ = stream.write_all(bytes.as_ref()).await;
        read_all(&mut stream).await
    }

    /// The status line's number and code, of an answer to `bytes`.
    pub(super) async fn refused(&self, bytes: impl AsRef<[u8]>) -> (u16, Option<Code>) {
        let answer = self.say(bytes).await;
        let mut words = answer.split(' ').skip(1);
        let status = words.next().and_then(|number| number.parse().ok()).unwrap_or(0);
        (status, words.next().and_then(|word| Code::parse(word.trim_end_matches(':'))))
    }

    /// Ends the call, and says what was written down.
    pub(super) async fn end(self) -> Vec<Contact> {
        self.stop.cancel();
        self.serving.await.unwrap();
        self.gateway.contacts()
    }
}

pub(super) async fn read_all(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Reads the head of an answer.
pub(super) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { break };
        head.push(byte);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// The first message of TLS, asking for `name`.
pub(super) fn client_hello(name: &str) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}
