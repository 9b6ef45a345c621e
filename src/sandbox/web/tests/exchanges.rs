//! Secrets and the totals of a caller, over real loopback servers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use super::{Server, page, redirect, request};
use crate::manifest::{DomainPattern, HeaderSecret, NetworkRules};
use crate::model::Code;
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
    let unknown = EgressRequest {
        headers: vec![("authorization".to_owned(), "${secret:other}".to_owned())],
        ..request(server.url("/"), rules.clone())
    };
    assert_eq!(fetch(&egress, unknown).await, Err(Code::ArgumentNotAllowed));
    let missing = with_secret(server.rules(), folder.path().join("none"));
    assert_eq!(fetch(&egress, bearer(request(server.url("/"), missing))).await, Err(Code::FetchFailed));
    assert_eq!(server.asked.lock().unwrap().len(), 1, "neither was sent");
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
