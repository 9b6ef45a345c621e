//! Keys of an issuer over https, under an authority of the test: what opens, and every way in which an issuer, or somebody in its place, can misbehave.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;

use crate::http::home::{Home, Policy};
use crate::http::identity::{AUDIENCE, ISSUER, Issuer, claims};
use crate::http::server::HttpServer;
use crate::http::wire::{Caller, hello};
use crate::http::{house, token};

/// How an issuer behaves at each path.
type Behaviour = Arc<dyn Fn(&str, &mut dyn Write) -> std::io::Result<()> + Send + Sync>;

/// An https server on loopback with a certificate for one name.
struct Site {
    port: u16,
    /// The authority's certificate, PEM.
    authority: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn start(name: &str, behaviour: Behaviour) -> Self {
        let (config, authority) = certificate(name);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (config, log, behaviour) = (Arc::clone(&config), Arc::clone(&log), Arc::clone(&behaviour));
                // A peer that leaves ends its thread with an error, which is what is tested.
                std::thread::spawn(move || serve(stream, config, &log, &behaviour));
            }
        });
        Self { port, authority, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// A house whose callers have tokens of this issuer, and a server of it that trusts its authority.
    fn house(&self, host: &str) -> (Home, HttpServer) {
        let rule = format!(
            "[[clients.oauth]]\nissuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\njwks = \"https://{host}:{}/keys\"\nalgorithms = [\"ES256\"]\nclaims = {{ \
             groups = \"developers\" }}\nprofile = \"all\"\n",
            self.port
        );
        let home = house(Policy::default(), &[rule, token("ci", "secret-one")].concat());
        let text = std::fs::read_to_string(home.manifest()).unwrap();
        let text = text.replace("[network]\n", &format!("[network]\ninternal = [\"127.0.0.1:{0}\", \"[::1]:{0}\"]\n", self.port));
        std::fs::write(home.manifest(), text).unwrap();
        std::fs::write(home.path("ca.pem"), &self.authority).unwrap();
        let trusted = home.path("ca.pem");
        let server = HttpServer::start_in(&home, &["--http", "127.0.0.1:0"], &[("SSL_CERT_FILE", trusted.to_str().unwrap())]);
        (home, server)
    }
}

fn certificate(name: &str) -> (Arc<rustls::ServerConfig>, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = params.self_signed(&key).unwrap().pem();
    let issuer = rcgen::Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    // Of the same name as its issuer it would count as signed by itself.
    params.distinguished_name.push(DnType::CommonName, name);
    let leaf = params.signed_by(&key, &issuer).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    (Arc::new(config), root)
}

fn serve(stream: TcpStream, config: Arc<rustls::ServerConfig>, log: &Mutex<Vec<String>>, behaviour: &Behaviour) -> std::io::Result<()> {
    let session = rustls::ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut reader = BufReader::new(rustls::StreamOwned::new(session, stream));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    log.lock().unwrap().push(path.clone());
    let stream = reader.get_mut();
    behaviour(&path, stream)?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn answer(out: &mut dyn Write, status: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
    write!(out, "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len())?;
    out.write_all(body)?;
    out.flush()
}

/// Whether a token opens the server.
fn opens(server: &HttpServer, token: &str) -> bool {
    let answer = Caller { address: &server.address, token: Some(token) }.post(&[], &hello().to_string());
    assert!([200, 401].contains(&answer.status), "{answer:?}");
    answer.status == 200
}

/// A server whose issuer does this opens to none of its tokens, says why to its operator, and goes on for everybody else.
fn closed(name: &str, why: &str, behaviour: Behaviour) -> Site {
    let site = Site::start(name, behaviour);
    let issuer = Issuer::new();
    let (_home, server) = site.house("localhost");
    let good = issuer.sign("k1", &claims(&json!({})));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| opens(&server, &good));
        assert!(opens(&server, "secret-one"), "others do not wait for an issuer");
        assert!(!waiting.join().unwrap());
    });
    assert!(!opens(&server, &good) && opens(&server, "secret-one"));
    let errors = server.stop();
    // A set without a key of use was read well.
    assert_eq!(errors.contains("the keys of an issuer could not be read"), !why.is_empty(), "{errors}");
    assert!(errors.contains(why), "{errors}");
    site
}

#[test]
fn a_token_opens_by_a_key_that_its_issuer_shows_over_https_and_many_callers_read_it_once() {
    let issuer = Arc::new(Issuer::new());
    let shown = issuer.keys("k1").to_string();
    let site =
        Site::start("localhost", Arc::new(move |_, out| answer(out, "200 OK", "content-type: application/json\r\n", shown.as_bytes())));
    let (_home, server) = site.house("localhost");
    let good = issuer.sign("k1", &claims(&json!({})));
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..16).map(|_| scope.spawn(|| opens(&server, &good))).collect();
        assert!(callers.into_iter().all(|caller| caller.join().unwrap()));
    });
    let stranger = Issuer::new();
    // Neither a key nobody showed nor one of a stranger under a known name; and asking does not make the server ask again.
    for bad in [issuer.sign("k2", &claims(&json!({}))), stranger.sign("k1", &claims(&json!({}))), stranger.sign("k3", &claims(&json!({})))]
    {
        assert!(!opens(&server, &bad));
    }
    assert_eq!(site.asked(), ["/keys"]);
}

#[test]
fn an_issuer_with_a_certificate_for_another_name_is_asked_nothing() {
    let site = closed("elsewhere.example", "not valid for name", Arc::new(|_, out| answer(out, "200 OK", "", b"{\"keys\": []}")));
    assert_eq!(site.asked(), Vec::<String>::new());
}

#[test]
fn a_redirect_of_an_issuer_is_not_followed() {
    let shown = Issuer::new().keys("k1").to_string();
    let site = closed(
        "localhost",
        "too_many_redirects",
        Arc::new(move |path, out| match path {
            "/keys" => answer(out, "302 Found", "location: /others\r\n", b""),
            _ => answer(out, "200 OK", "", shown.as_bytes()),
        }),
    );
    assert_eq!(site.asked(), ["/keys"]);
}

#[test]
fn a_body_of_an_issuer_that_does_not_end_is_read_no_further_than_its_bound() {
    let wrote = Arc::new(Mutex::new(0_usize));
    let count = Arc::clone(&wrote);
    let site = closed(
        "localhost",
        "response_too_large",
        Arc::new(move |_, out| {
            write!(out, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n")?;
            loop {
                write!(out, "10000\r\n{}\r\n", " ".repeat(0x10000))?;
                *count.lock().unwrap() += 0x10000;
            }
        }),
    );
    assert_eq!(site.asked(), ["/keys"]);
    // What lies in the buffers between the two is a few megabytes at most.
    assert!(*wrote.lock().unwrap() < 64 << 20, "{}", wrote.lock().unwrap());
}

#[test]
fn an_issuer_that_says_little_and_slowly_is_given_up_and_nobody_else_waits() {
    let site = closed(
        "localhost",
        "(timeout)",
        Arc::new(|_, out| {
            write!(out, "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")?;
            loop {
                // Slower than anybody would wait for, faster than a silence that is noticed.
                write!(out, " ")?;
                out.flush()?;
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
        }),
    );
    assert_eq!(site.asked(), ["/keys"]);
}

#[test]
fn an_issuer_that_shows_no_keys_an_error_or_nothing_at_all_opens_nothing() {
    closed("localhost", "it is no JSON Web Key Set", Arc::new(|_, out| answer(out, "200 OK", "", b"<html>sign in</html>")));
    let shared = b"{\"keys\": [{\"kty\": \"oct\", \"kid\": \"k1\", \"k\": \"c2VjcmV0\"}]}";
    closed("localhost", "", Arc::new(move |_, out| answer(out, "200 OK", "", shared)));
    let shown = Issuer::new().keys("k1").to_string();
    closed("localhost", "the answer was 500", Arc::new(move |_, out| answer(out, "500 Internal Server Error", "", shown.as_bytes())));
    // It takes the connection and leaves.
    closed("localhost", "fetch_failed", Arc::new(|_, _| Ok(())));
}
