//! The internet of a test: its names, its servers, its authority, and what was asked of it.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_proto::op::{Message, OpCode, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::Acceptor;
use serde_json::Value;

use crate::network::namespaces::{Place, Wire, plain};

/// What a connection was, as the internet saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Where it was made to.
    pub(crate) address: IpAddr,
    /// What was sent; empty where nothing was.
    pub(crate) request: String,
}

/// One request: its scheme, its host, and all that was sent.
pub(crate) struct Request<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) host: String,
    pub(crate) target: String,
    pub(crate) sent: &'a str,
}

/// Where an answer is written to.
pub(crate) trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

type Pages = Arc<dyn Fn(&Request<'_>, &mut dyn Stream) + Send + Sync>;

/// What the internet is at a moment.
#[derive(Clone)]
pub(crate) struct Scene {
    /// By name: what each lookup is answered with, the last repeating. Addresses, or `{cname}`, `{error}`, `{delay_ms}`. `*` is every other name.
    pub(crate) names: Value,
    pub(crate) pages: Pages,
}

struct State {
    scene: Mutex<Scene>,
    lookups: Mutex<HashMap<(String, RecordType), usize>>,
    asked: Mutex<Vec<Asked>>,
    authority: Authority,
}

/// Signs certificates for any name.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    key: KeyPair,
    made: Mutex<HashMap<String, Arc<rustls::ServerConfig>>>,
}

/// The internet.
pub(crate) struct Internet {
    state: Arc<State>,
    pub(crate) wire: Wire,
    pub(crate) folder: tempfile::TempDir,
}

impl Internet {
    /// Builds it, with servers on these ports of every address, or prints why this machine has none.
    pub(crate) fn new(ports: &[u16]) -> Option<Self> {
        let folder = tempfile::Builder::new().prefix("toolgate-net-").tempdir().unwrap();
        let wire = match Wire::new(folder.path()) {
            Ok(wire) => wire,
            Err(why) => {
                println!("skipped: no network of its own can be built here (it takes root and iproute2): {why}");
                return None;
            }
        };
        let (authority, certificate) = Authority::new();
        std::fs::write(folder.path().join("authority.pem"), certificate).unwrap();
        let scene = Scene { names: Value::Null, pages: Arc::new(|_, stream| answer(stream, "200 OK", "", b"ok")) };
        let state = Arc::new(State { scene: Mutex::new(scene), lookups: Mutex::default(), asked: Mutex::default(), authority });
        let resolver = Arc::new(wire.resolver());
        let names = Arc::clone(&state);
        std::thread::spawn(move || serve_names(&resolver, &names));
        let mut everywhere = ports.to_vec();
        everywhere.sort_unstable();
        everywhere.dedup();
        for place in [&wire.internet, &wire.server] {
            Self::serve(place, &everywhere, &state);
        }
        Some(Self { state, wire, folder })
    }

    fn serve(place: &Place, ports: &[u16], state: &Arc<State>) {
        for listener in Wire::listen(place, ports) {
            let state = Arc::clone(state);
            std::thread::spawn(move || serve_pages(&listener, &state));
        }
    }

    /// Changes the scene; names are looked up for the first time again.
    pub(crate) fn set(&self, scene: Scene) {
        *self.state.scene.lock().unwrap() = scene;
        self.state.lookups.lock().unwrap().clear();
    }

    /// Names and one way to answer everything.
    pub(crate) fn stage(&self, names: Value, pages: impl Fn(&Request<'_>, &mut dyn Stream) + Send + Sync + 'static) {
        self.set(Scene { names, pages: Arc::new(pages) });
    }

    /// What was asked since the last look.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.state.asked.lock().unwrap())
    }

    /// The certificate that a client of this internet trusts.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::new(self.folder.path()).join(name)
    }
}

impl Authority {
    fn new() -> (Self, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().pem();
        (Self { issuer: Issuer::new(params, key), key: KeyPair::generate().unwrap(), made: Mutex::default() }, certificate)
    }

    fn config(&self, name: &str) -> Arc<rustls::ServerConfig> {
        let mut made = self.made.lock().unwrap();
        let config = made.entry(name.to_owned()).or_insert_with(|| {
            let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&self.key, &self.issuer).unwrap();
            let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
            Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key.into()).unwrap())
        });
        Arc::clone(config)
    }
}

/// An answer with its length.
pub(crate) fn answer(stream: &mut dyn Stream, status: &str, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).and_then(|()| stream.flush());
}

fn serve_pages(listener: &TcpListener, state: &Arc<State>) {
    while let Ok((stream, _)) = listener.accept() {
        let state = Arc::clone(state);
        std::thread::spawn(move || {
            let _ = serve_one(stream, &state);
        });
    }
}

fn serve_one(mut stream: TcpStream, state: &State) -> std::io::Result<()> {
    let address = plain(stream.local_addr()?);
    // Told before anything is read: to connect is what must not happen.
    let place = {
        let mut asked = state.asked.lock().unwrap();
        asked.push(Asked { address, request: String::new() });
        asked.len() - 1
    };
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut first = [0];
    if stream.peek(&mut first)? == 0 {
        return Ok(());
    }
    if first[0] != 0x16 {
        return exchange(&mut stream, "http", state, address, place);
    }
    let mut acceptor = Acceptor::default();
    let accepted = loop {
        acceptor.read_tls(&mut stream)?;
        match acceptor.accept() {
            Ok(Some(accepted)) => break accepted,
            Ok(None) => {}
            Err(_) => return Ok(()),
        }
    };
    let name = accepted.client_hello().server_name().map_or_else(|| address.to_string(), str::to_owned);
    // One host of every internet shows the certificate of another.
    let name = if name == "wrong.example" { "right.example".to_owned() } else { name };
    let Ok(connection) = accepted.into_connection(state.authority.config(&name)) else { return Ok(()) };
    let mut tls = rustls::StreamOwned::new(connection, stream);
    exchange(&mut tls, "https", state, address, place)?;
    tls.conn.send_close_notify();
    tls.flush()
}

fn exchange(stream: &mut dyn Stream, scheme: &str, state: &State, address: IpAddr, place: usize) -> std::io::Result<()> {
    let mut sent = Vec::new();
    let mut piece = [0; 4096];
    let whole = |sent: &[u8]| {
        let head = sent.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&sent[..head]).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:")).and_then(|length| length.trim().parse().ok());
        Some(sent.len() >= head + length.unwrap_or(0))
    };
    while whole(&sent) != Some(true) {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        sent.extend_from_slice(&piece[..read]);
    }
    let sent = String::from_utf8_lossy(&sent).into_owned();
    {
        let mut asked = state.asked.lock().unwrap();
        match asked.get_mut(place).filter(|asked| asked.address == address && asked.request.is_empty()) {
            Some(asked) => asked.request.clone_from(&sent),
            None => asked.push(Asked { address, request: sent.clone() }),
        }
    }
    let target = sent.split(' ').nth(1).unwrap_or_default().to_owned();
    let host = sent.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned)).unwrap_or_default();
    let pages = Arc::clone(&state.scene.lock().unwrap().pages);
    pages(&Request { scheme, host, target, sent: &sent }, stream);
    Ok(())
}

fn serve_names(socket: &Arc<UdpSocket>, state: &Arc<State>) {
    let mut piece = [0; 4096];
    while let Ok((length, client)) = socket.recv_from(&mut piece) {
        let Ok(question) = Message::from_vec(&piece[..length]) else { continue };
        let (answer, delay) = name_answer(&question, state);
        let socket = Arc::clone(socket);
        std::thread::spawn(move || {
            std::thread::sleep(delay);
            let _ = socket.send_to(&answer, client);
        });
    }
}

fn name_answer(question: &Message, state: &State) -> (Vec<u8>, Duration) {
    let mut answer = Message::response(question.metadata.id, OpCode::Query);
    answer.metadata.recursion_desired = true;
    answer.metadata.recursion_available = true;
    answer.queries.clone_from(&question.queries);
    let mut delay = Duration::ZERO;
    if let Some(query) = question.queries.first() {
        let names = state.scene.lock().unwrap().names.clone();
        let mut name = query.name().clone();
        for _ in 0..4 {
            let text = name.to_ascii().trim_end_matches('.').to_ascii_lowercase();
            let known = names.get(&text).or_else(|| names.get("*")).and_then(Value::as_array);
            let Some(known) = known else {
                answer.metadata.response_code = ResponseCode::NXDomain;
                break;
            };
            let nth = {
                let mut lookups = state.lookups.lock().unwrap();
                let count = lookups.entry((text, query.query_type())).or_default();
                *count += 1;
                *count - 1
            };
            let Some(found) = known.get(nth).or(known.last()) else { break };
            if let Some(alias) = found["cname"].as_str() {
                let alias = Name::from_ascii(alias).unwrap();
                answer.answers.push(Record::from_rdata(name, 0, RData::CNAME(CNAME(alias.clone()))));
                name = alias;
                continue;
            }
            if found["error"].is_string() {
                answer.metadata.response_code = ResponseCode::NXDomain;
            }
            delay = Duration::from_millis(found["delay_ms"].as_u64().unwrap_or(0));
            for address in found.as_array().or(found["answer"].as_array()).into_iter().flatten().filter_map(Value::as_str) {
                let data = match (address.parse().unwrap(), query.query_type()) {
                    (IpAddr::V4(address), RecordType::A) => RData::A(A(address)),
                    (IpAddr::V6(address), RecordType::AAAA) => RData::AAAA(AAAA(address)),
                    _ => continue,
                };
                // Nothing may be remembered: the next answer may be another.
                answer.answers.push(Record::from_rdata(name.clone(), 0, data));
            }
            break;
        }
    }
    (answer.to_vec().unwrap_or_default(), delay)
}
