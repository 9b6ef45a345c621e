//! The connector against real loopback servers and an invented DNS.

mod exchanges;
mod framing;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::manifest::DomainPattern;
use crate::model::Scheme;

pub(super) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A server on loopback that answers each connection by `answer(request head)`; it keeps what it was asked.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) asked: Arc<Mutex<Vec<String>>>,
}

pub(super) type Answer = Arc<dyn Fn(TcpStream, String) -> BoxFuture<'static, ()> + Send + Sync>;

impl Server {
    pub(super) async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
                        let mut piece = [0; 4096];
                        match stream.read(&mut piece).await {
                            Ok(n) if n > 0 => head.extend_from_slice(&piece[..n]),
                            _ => return,
                        }
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    seen.lock().unwrap().push(head.clone());
                    answer(stream, head).await;
                });
            }
        });
        Self { address, asked }
    }

    /// A server of fixed answers by request target; anything else is 404.
    pub(super) async fn pages(pages: Vec<(&str, Vec<u8>)>) -> Self {
        let pages: HashMap<String, Vec<u8>> = pages.into_iter().map(|(path, answer)| (path.to_owned(), answer)).collect();
        Self::start(Arc::new(move |mut stream, head| {
            let target = head.split(' ').nth(1).unwrap_or_default();
            let answer = pages.get(target).cloned().unwrap_or_else(|| page(404, "", b""));
            Box::pin(async move {
                let _ = stream.write_all(&answer).await;
            })
        }))
        .await
    }

    pub(super) fn url(&self, path: &str) -> HttpUrl {
        HttpUrl::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    pub(super) fn rules(&self) -> NetworkRules {
        NetworkRules {
            allowed_schemes: vec![Scheme::Http, Scheme::Https],
            internal: vec![self.address],
            robots: Robots::Ignore,
            ..NetworkRules::default()
        }
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|head| head.split(" HTTP").next().unwrap_or_default().to_owned()).collect()
    }
}

pub(super) fn page(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status} x\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub(super) fn redirect(status: u16, to: &str) -> Vec<u8> {
    page(status, &format!("location: {to}\r\n"), b"")
}

pub(super) fn request(url: HttpUrl, rules: NetworkRules) -> EgressRequest {
    EgressRequest {
        pinned: Vec::new(),
        principal: "p".to_owned(),
        url,
        method: Method::Get,
        headers: Vec::new(),
        body: None,
        rules: Arc::new(rules),
        deadline: Instant::now() + Duration::from_mins(1),
        max_response: Bytes::mib(1),
        overflow: Overflow::Refuse,
        hosts: None,
        upload: Bytes::mib(1),
        sent: Some(Arc::default()),
    }
}

async fn fetched(request: EgressRequest) -> Result<Page, Code> {
    let egress = Egress::new(Settings::default());
    egress.fetch(request, &CancellationToken::new()).await.map_err(|denied| denied.refusal().code)
}

/// A DNS whose names have one answer per lookup, the last repeating.
#[derive(Debug, Default)]
struct Invented {
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    lookups: AtomicUsize,
}

impl Resolve for Invented {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let nth = self.lookups.fetch_add(1, Ordering::SeqCst);
        let answers = self.answers.get(name).and_then(|answers| answers.get(nth).or(answers.last())).cloned();
        Box::pin(async move { answers.ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }
}

fn world(answers: &[(&str, &[&[IpAddr]])]) -> Egress {
    let answers = answers.iter().map(|(name, list)| ((*name).to_owned(), list.iter().map(|answer| answer.to_vec()).collect())).collect();
    Egress::with_resolver(Settings::default(), Arc::new(Invented { answers, lookups: AtomicUsize::new(0) }))
}

#[tokio::test]
async fn a_page_comes_with_its_facts_and_the_request_says_only_what_it_must() {
    let server = Server::pages(vec![("/a?b", page(200, "content-type: text/plain\r\nset-cookie: a=b\r\netag: \"1\"\r\n", b"text"))]).await;
    let sent = Arc::new(AtomicU64::new(0));
    let asked = EgressRequest { sent: Some(Arc::clone(&sent)), ..request(server.url("/a?b#c"), server.rules()) };
    let found = fetched(asked).await.unwrap();
    let headers = [("content-length", "4"), ("etag", "\"1\"")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let hops = vec![Hop { url: server.url("/a?b"), address: server.address, status: 200 }];
    let content_type = Some("text/plain".to_owned());
    let page = Page {
        final_url: server.url("/a?b"),
        status: 200,
        headers,
        content_type,
        body: b"text".to_vec(),
        truncated: false,
        hops,
        secrets: super::SentSecrets::default(),
    };
    assert_eq!(found, page);
    let head = server.asked.lock().unwrap().concat();
    assert!((head.len() as u64..head.len() as u64 + 40).contains(&sent.load(Ordering::SeqCst)), "{sent:?} for {head:?}");
    let head = server.asked.lock().unwrap().concat().to_ascii_lowercase();
    assert!(!head.contains("cookie") && !head.contains("referer") && head.contains("user-agent: toolgate/"), "{head}");
}

#[tokio::test]
async fn a_redirect_inside_is_refused_before_it_is_followed() {
    let inside = Server::pages(vec![("/secret", page(200, "", b"secret"))]).await;
    let server = Server::pages(vec![
        ("/literal", redirect(302, &inside.url("/secret").to_string())),
        ("/metadata", redirect(301, "http://169.254.169.254/")),
        ("/file", redirect(302, "file:///etc/passwd")),
        ("/user", redirect(302, "//user@example.com/")),
        ("/empty", redirect(302, "")),
        ("/ok", redirect(307, "/end")),
        ("/spaced", redirect(302, " /an%20end?a b ")),
        ("/an%20end?a%20b", page(200, "", b"spaced")),
        ("/host", redirect(302, "http://a b.example/")),
        ("/nowhere", page(302, "", b"moved")),
        ("/end", page(200, "", b"end")),
        ("/loop", redirect(302, "/loop")),
    ])
    .await;
    let to = |path: &str| fetched(request(server.url(path), server.rules()));
    assert_eq!(to("/literal").await, Err(Code::IpLiteral));
    assert_eq!(to("/metadata").await, Err(Code::IpLiteral));
    assert_eq!(to("/file").await, Err(Code::SchemeNotAllowed));
    assert_eq!(to("/user").await, Err(Code::UrlUserinfo));
    assert_eq!(to("/empty").await, Err(Code::UrlMalformed));
    assert_eq!(to("/ok").await.map(|page| (page.body, page.final_url, page.hops.len())), Ok((b"end".to_vec(), server.url("/end"), 2)));
    assert_eq!(to("/spaced").await.map(|page| page.body), Ok(b"spaced".to_vec()));
    assert_eq!(to("/host").await, Err(Code::UrlMalformed));
    assert_eq!(to("/nowhere").await.map(|page| (page.status, page.body)), Ok((302, b"moved".to_vec())));
    assert_eq!(to("/loop").await, Err(Code::TooManyRedirects));
    assert_eq!(server.asked().iter().filter(|asked| *asked == "GET /loop").count(), 6);
    assert_eq!(inside.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_post_becomes_a_get_and_credentials_stay_with_their_origin() {
    let other = Server::pages(vec![("/seen", page(200, "", b"seen"))]).await;
    let elsewhere = other.url("/seen").to_string();
    let server = Server::pages(vec![
        ("/303", redirect(303, "/done")),
        ("/done", page(200, "", b"done")),
        ("/out", redirect(302, &elsewhere)),
        ("/307", redirect(307, &elsewhere)),
    ])
    .await;
    let rules = NetworkRules { internal: vec![server.address, other.address], ..server.rules() };
    let secret = vec![("authorization".to_owned(), "Bearer x".to_owned()), ("accept".to_owned(), "text/plain".to_owned())];
    let post = |path: &str| EgressRequest {
        method: Method::Post,
        body: Some(b"body".to_vec()),
        headers: secret.clone(),
        ..request(server.url(path), rules.clone())
    };
    assert_eq!(fetched(post("/303")).await.map(|page| page.body), Ok(b"done".to_vec()));
    assert_eq!(server.asked(), ["POST /303", "GET /done"]);
    assert_eq!(fetched(post("/307")).await, Err(Code::FetchFailed));
    assert_eq!(other.asked(), Vec::<String>::new());
    let get = EgressRequest { headers: secret.clone(), ..request(server.url("/out"), rules.clone()) };
    assert_eq!(fetched(get).await.map(|page| page.body), Ok(b"seen".to_vec()));
    let head = other.asked.lock().unwrap().concat().to_ascii_lowercase();
    assert!(head.contains("accept: text/plain") && !head.contains("authorization"), "{head}");
}

#[tokio::test]
async fn a_name_that_rebinds_is_connected_to_where_it_was_judged_and_refused_when_it_moves() {
    let server = Server::pages(vec![("/", page(200, "", b"home")), ("/again", redirect(302, "/"))]).await;
    let port = server.address.port();
    let rules = NetworkRules { allowed_domains: vec![DomainPattern::parse("a.example").unwrap()], ..server.rules() };
    let moves: IpAddr = [127, 0, 0, 2].into();
    let fetch = async |egress: &Egress, path: &str| {
        let url = HttpUrl::parse(&format!("http://a.example:{port}{path}")).unwrap();
        egress.fetch(request(url, rules.clone()), &CancellationToken::new()).await.map_err(|denied| denied.refusal().code)
    };
    let egress = world(&[("a.example", &[&[LOOPBACK], &[moves]])]);
    assert_eq!(fetch(&egress, "/").await.map(|page| page.hops[0].address), Ok(server.address));
    assert_eq!(fetch(&egress, "/").await, Err(Code::InternalAddress));
    let egress = world(&[("a.example", &[&[LOOPBACK], &[moves]])]);
    assert_eq!(fetch(&egress, "/again").await, Err(Code::InternalAddress));
    let egress = world(&[("a.example", &[&[LOOPBACK, moves]])]);
    assert_eq!(fetch(&egress, "/").await, Err(Code::InternalAddress));
    assert_eq!(fetch(&world(&[]), "/").await, Err(Code::FetchFailed));
    assert_eq!(server.asked(), ["GET /", "GET /again"]);
}

#[tokio::test]
async fn a_slow_name_and_a_slow_body_end_at_their_deadlines() {
    #[derive(Debug)]
    struct Never;
    impl Resolve for Never {
        fn lookup<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
            Box::pin(std::future::pending())
        }
    }
    let drip = Server::start(Arc::new(|mut stream, _| {
        Box::pin(async move {
            let _ = stream.write_all(b"HTTP/1.1 200 x\r\n\r\n").await;
            while stream.write_all(b"a").await.is_ok() {
                sleep(Duration::from_millis(20)).await;
            }
        })
    }))
    .await;
    let soon = || Instant::now() + Duration::from_millis(300);
    assert_eq!(fetched(EgressRequest { deadline: soon(), ..request(drip.url("/"), drip.rules()) }).await, Err(Code::Timeout));
    let egress = Egress::with_resolver(Settings { lookup: Duration::from_millis(100), ..Settings::default() }, Arc::new(Never));
    let rules = NetworkRules { any_public: true, robots: Robots::Ignore, ..NetworkRules::default() };
    let slow = request(HttpUrl::parse("https://a.example/").unwrap(), rules);
    assert_eq!(egress.fetch(slow, &CancellationToken::new()).await.map_err(|denied| denied.refusal().code), Err(Code::Timeout));
}

#[tokio::test]
async fn a_cancelled_request_closes_its_connection() {
    let (gone, closed) = tokio::sync::oneshot::channel();
    let gone = Mutex::new(Some(gone));
    let (arrived, begun) = tokio::sync::oneshot::channel();
    let arrived = Mutex::new(Some(arrived));
    let server = Server::start(Arc::new(move |mut stream, _| {
        let (gone, arrived) = (gone.lock().unwrap().take(), arrived.lock().unwrap().take());
        Box::pin(async move {
            arrived.unwrap().send(()).unwrap();
            let _ = stream.read(&mut [0; 16]).await;
            gone.unwrap().send(()).unwrap();
        })
    }))
    .await;
    let cancel = CancellationToken::new();
    let egress = Egress::new(Settings::default());
    let stop = async {
        begun.await.unwrap();
        cancel.cancel();
    };
    let (done, ()) = tokio::join!(egress.fetch(request(server.url("/"), server.rules()), &cancel), stop);
    assert_eq!(done.map_err(|denied| denied.refusal().code), Err(Code::Cancelled));
    closed.await.unwrap();
}

#[tokio::test]
async fn bombs_and_endless_answers_cost_one_clear_error() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut encoder, &vec![0; 30 << 20]).unwrap();
    let bomb = encoder.finish().unwrap();
    let big_head =
        format!("HTTP/1.1 200 x\r\n{}\r\n", "x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(30_000)).into_bytes();
    let long_head = page(200, &format!("x-a: {}\r\n", "a".repeat(100_000)), b"");
    let server = Server::pages(vec![
        ("/bomb", page(200, "content-encoding: gzip\r\n", &bomb)),
        ("/layers", page(200, "content-encoding: gzip, gzip\r\n", &bomb)),
        ("/declared", b"HTTP/1.1 200 x\r\ncontent-length: 10000000000\r\n\r\n".to_vec()),
        ("/undeclared", [b"HTTP/1.1 200 x\r\n\r\n".to_vec(), vec![b'a'; 2 << 20]].concat()),
        ("/many-headers", big_head),
        ("/long-header", long_head),
    ])
    .await;
    let to = |path: &str| fetched(EgressRequest { max_response: Bytes::mib(20), ..request(server.url(path), server.rules()) });
    assert_eq!(to("/bomb").await, Err(Code::ResponseTooLarge));
    assert_eq!(to("/layers").await, Err(Code::FetchFailed));
    assert_eq!(to("/declared").await, Err(Code::ResponseTooLarge));
    assert_eq!(to("/many-headers").await, Err(Code::FetchFailed));
    assert_eq!(to("/long-header").await, Err(Code::ResponseTooLarge));
    assert_eq!(fetched(request(server.url("/undeclared"), server.rules())).await, Err(Code::ResponseTooLarge));
    let cut = EgressRequest { overflow: Overflow::Cut, ..request(server.url("/undeclared"), server.rules()) };
    assert_eq!(fetched(cut).await.map(|page| (page.body.len(), page.truncated)), Ok((1 << 20, true)));
}

#[tokio::test]
async fn endless_interim_answers_end_at_the_deadline() {
    let server = Server::start(Arc::new(|mut stream, _| {
        Box::pin(async move { while stream.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n").await.is_ok() {} })
    }))
    .await;
    let soon = EgressRequest { deadline: Instant::now() + Duration::from_millis(300), ..request(server.url("/"), server.rules()) };
    assert!(matches!(fetched(soon).await, Err(Code::Timeout | Code::FetchFailed)));
}

#[tokio::test]
async fn robots_are_asked_once_and_obeyed_by_default() {
    let robots = page(200, "", b"user-agent: *\ndisallow: /private");
    let server = Server::pages(vec![("/robots.txt", robots), ("/", page(200, "", b"home")), ("/private", page(200, "", b"private"))]).await;
    let rules = NetworkRules { robots: Robots::Respect, ..server.rules() };
    let egress = Egress::new(Settings::default());
    let to = async |path: &str| {
        egress.fetch(request(server.url(path), rules.clone()), &CancellationToken::new()).await.map_err(|denied| denied.refusal().code)
    };
    assert_eq!(to("/").await.map(|page| page.body), Ok(b"home".to_vec()));
    assert_eq!(to("/private").await, Err(Code::RobotsDisallowed));
    assert_eq!(server.asked(), ["GET /robots.txt", "GET /"]);

    let broken = Server::pages(vec![("/robots.txt", page(503, "", b"")), ("/", page(200, "", b"home"))]).await;
    let rules = NetworkRules { robots: Robots::Respect, ..broken.rules() };
    assert_eq!(fetched(request(broken.url("/"), rules)).await, Err(Code::RobotsDisallowed));
    let inside =
        Server::pages(vec![("/robots.txt", redirect(302, &server.url("/robots.txt").to_string())), ("/", page(200, "", b"home"))]).await;
    let rules = NetworkRules { robots: Robots::Respect, ..inside.rules() };
    assert_eq!(fetched(request(inside.url("/"), rules)).await, Err(Code::RobotsDisallowed));
    assert_eq!(server.asked(), ["GET /robots.txt", "GET /"]);
}

#[tokio::test]
async fn a_site_that_cannot_be_reached_is_not_told_as_its_robots() {
    let server = Server::pages(vec![]).await;
    let rules = NetworkRules { robots: Robots::Respect, ..server.rules() };
    let closed = Server { address: (LOOPBACK, 1).into(), asked: Arc::default() };
    let rules = NetworkRules { internal: vec![closed.address], ..rules };
    assert_eq!(fetched(request(closed.url("/"), rules)).await, Err(Code::FetchFailed));
}

#[tokio::test]
async fn headers_nobody_may_set_are_refused_before_connecting() {
    let server = Server::pages(vec![]).await;
    for name in ["Host", "Proxy-Authorization", "Metadata-Flavor", "Content-Length"] {
        let odd = EgressRequest { headers: vec![(name.to_owned(), "x".to_owned())], ..request(server.url("/"), server.rules()) };
        assert_eq!(fetched(odd).await, Err(Code::ArgumentNotAllowed), "{name}");
    }
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn the_machine_itself_is_internal_by_any_of_its_addresses() {
    // Any loopback address can be bound, as any address of an interface can; a foreign one cannot.
    let url = HttpUrl::parse("https://a.example/").unwrap();
    let rules = NetworkRules::default();
    let code = |address: [u8; 4]| resolve::refuse_own_addresses(&rules, &url, &[address.into()]).map_err(|refusal| refusal.code);
    assert_eq!(code([127, 0, 0, 9]), Err(Code::InternalAddress));
    assert_eq!(code([93, 184, 216, 34]), Ok(()));
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_never_asked() {
    let proxy = Server::pages(vec![]).await;
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap());
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(name, format!("http://{}", proxy.address));
    }
    let test = "sandbox::web::tests::a_page_comes_with_its_facts_and_the_request_says_only_what_it_must";
    let done = child.env_remove("NO_PROXY").env_remove("no_proxy").args(["--exact", test]).output().await.unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(proxy.asked(), Vec::<String>::new());
}
