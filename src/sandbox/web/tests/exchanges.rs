//! Secrets, stored answers and the totals of a caller, over real loopback servers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use super::{Server, page, redirect, request};
use crate::model::Code;
use crate::policy::network::{DomainPattern, NetworkRules};
use crate::policy::request::Method;
use crate::policy::secret::HeaderSecret;
use crate::sandbox::web::{Egress, EgressRequest, Page, Settings};

async fn fetch(egress: &Egress, request: EgressRequest) -> Result<Page, Code> {
    egress.fetch(request, &CancellationToken::new()).await.map_err(|denied| denied.refusal().code)
}

fn text(page: Result<Page, Code>) -> Result<String, Code> {
    page.map(|page| String::from_utf8(page.body).unwrap())
}

/// A server that answers with the head it was sent.
async fn echo() -> Server {
    Server::start(Arc::new(|mut stream, head| {
        Box::pin(async move {
            let _ = stream.write_all(&page(200, &format!("etag: \"{}\"\r\n", head.len()), head.as_bytes())).await;
        })
    }))
    .await
}

fn with_secret(rules: NetworkRules, file: PathBuf) -> NetworkRules {
    let secret = HeaderSecret { env: None, file: Some(file), hosts: vec![DomainPattern::parse_denied("127.0.0.1").unwrap()] };
    NetworkRules { secrets: BTreeMap::from([("key".to_owned(), secret)]), ..rules }
}

fn bearer(request: EgressRequest) -> EgressRequest {
    EgressRequest { headers: vec![("authorization".to_owned(), "Bearer ${secret:key}".to_owned())], ..request }
}

#[tokio::test]
async fn a_secret_reaches_its_host_and_never_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "s3cr3t-value\n").unwrap();
    let server = echo().await;
    let egress = Egress::new(Settings::default());
    let rules = with_secret(server.rules(), file);
    let told = text(fetch(&egress, bearer(request(server.url("/"), rules.clone()))).await).unwrap();
    assert!(told.contains("authorization: Bearer [secret key]") && !told.contains("s3cr3t"), "{told}");
    assert!(server.asked.lock().unwrap()[0].contains("authorization: Bearer s3cr3t-value\r\n"));
    // Nothing of it is stored for the next request.
    let plain = fetch(&egress, request(server.url("/"), rules.clone())).await.unwrap();
    assert!(!plain.from_cache && server.asked.lock().unwrap().len() == 2);
    let unknown = EgressRequest {
        headers: vec![("authorization".to_owned(), "${secret:other}".to_owned())],
        ..request(server.url("/"), rules.clone())
    };
    assert_eq!(fetch(&egress, unknown).await, Err(Code::ArgumentNotAllowed));
    let missing = with_secret(server.rules(), folder.path().join("none"));
    assert_eq!(fetch(&egress, bearer(request(server.url("/"), missing))).await, Err(Code::FetchFailed));
    assert_eq!(server.asked.lock().unwrap().len(), 2, "neither was sent");
}

#[tokio::test]
async fn a_redirect_elsewhere_takes_no_secret_along_and_one_that_shows_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "s3cr3t-value").unwrap();
    let other = echo().await;
    let elsewhere = other.url("/seen").to_string();
    let server = Server::pages(vec![("/out", redirect(302, &elsewhere)), ("/show", redirect(302, "/x?k=s3cr3t-value"))]).await;
    let egress = Egress::new(Settings::default());
    let rules = with_secret(NetworkRules { internal: vec![server.address, other.address], ..server.rules() }, file);
    let mut out = bearer(request(server.url("/out"), rules.clone()));
    // A header that would travel does not when it names a secret.
    out.headers.push(("accept".to_owned(), "${secret:key}".to_owned()));
    let seen = text(fetch(&egress, out).await).unwrap();
    assert!(!seen.contains("secret key") && !seen.contains("authorization"), "{seen}");
    assert!(!other.asked.lock().unwrap().concat().contains("s3cr3t"));
    assert_eq!(fetch(&egress, bearer(request(server.url("/show"), rules))).await, Err(Code::FetchFailed));
}

#[tokio::test]
async fn a_fresh_answer_is_not_fetched_again_and_a_stale_one_is_asked_about() {
    let server = Server::start(Arc::new(|mut stream, head| {
        Box::pin(async move {
            let answer = match (head.split(' ').nth(1), head.contains("if-none-match: \"1\"")) {
                (Some("/fresh"), _) => page(200, "cache-control: max-age=60\r\n", b"fresh"),
                (Some("/stale"), true) => b"HTTP/1.1 304 x\r\netag: \"1\"\r\nconnection: close\r\n\r\n".to_vec(),
                (Some("/stale"), false) => page(200, "etag: \"1\"\r\ncache-control: no-cache\r\n", b"stale"),
                // Servers that repeat no validator, and one that stands by what nobody has.
                (Some("/bare"), true) => b"HTTP/1.1 304 x\r\nconnection: close\r\n\r\n".to_vec(),
                (Some("/bare"), false) => page(200, "etag: \"1\"\r\ncache-control: no-cache\r\n", b"bare"),
                (Some("/moved"), true) => b"HTTP/1.1 304 x\r\netag: \"2\"\r\nconnection: close\r\n\r\n".to_vec(),
                (Some("/moved"), false) => page(200, "etag: \"1\"\r\ncache-control: no-cache\r\n", b"moved"),
                _ => page(200, "", b"other"),
            };
            let _ = stream.write_all(&answer).await;
        })
    }))
    .await;
    let egress = Egress::new(Settings::default());
    let get = async |path: &str, principal: &str| {
        let request = EgressRequest { principal: principal.to_owned(), ..request(server.url(path), server.rules()) };
        fetch(&egress, request).await.map(|page| (String::from_utf8(page.body).unwrap(), page.status, page.from_cache)).unwrap()
    };
    for cached in [false, true, true] {
        assert_eq!(get("/fresh", "p").await, ("fresh".to_owned(), 200, cached));
        assert_eq!(get("/stale", "p").await, ("stale".to_owned(), 200, cached));
        assert_eq!(get("/bare", "p").await, ("bare".to_owned(), 200, cached));
        assert_eq!(get("/moved", "p").await, ("moved".to_owned(), 200, false));
        assert_eq!(get("/none", "p").await, ("other".to_owned(), 200, false));
    }
    assert_eq!(get("/fresh", "q").await, ("fresh".to_owned(), 200, false), "stored for one caller alone");
    assert_eq!(server.asked().iter().filter(|asked| *asked == "GET /fresh").count(), 2);
    // What is stored is given only where a request may go.
    let closed = NetworkRules { internal: Vec::new(), ..server.rules() };
    assert_eq!(fetch(&egress, request(server.url("/fresh"), closed)).await, Err(Code::IpLiteral));
    // Whoever sends something to a URL reads it anew.
    let post = EgressRequest { method: Method::Post, body: Some(b"x".to_vec()), ..request(server.url("/fresh"), server.rules()) };
    assert_eq!(text(fetch(&egress, post).await), Ok("fresh".to_owned()));
    assert_eq!(get("/fresh", "p").await, ("fresh".to_owned(), 200, false));
}

#[tokio::test]
async fn every_request_is_counted_for_its_caller() {
    let server = Server::pages(vec![("/a?token=x", page(200, "", b"a"))]).await;
    let egress = Egress::new(Settings::default());
    let ask = async |path: &str, rules: NetworkRules| fetch(&egress, request(server.url(path), rules)).await;
    let _ = (ask("/a?token=x", server.rules()).await, ask("/b", server.rules()).await);
    let _ = ask("/a", NetworkRules::default()).await;
    let counted = egress.requests_of("p");
    assert_eq!(counted.total, 3);
    assert_eq!(counted.by_status, [("200", 1), ("404", 1), ("scheme_not_allowed", 1)].map(|(name, n)| (name.to_owned(), n)).into());
    assert_eq!(counted.by_host, BTreeMap::from([(server.address.to_string(), 3)]));
    assert_eq!(counted.last[0].url, format!("http://{}/a", server.address));
    assert_eq!(egress.requests_of("q").total, 0);
}
