//! Pages of other origins, and names that rebind.

use serde_json::json;

use crate::http::home::{Home, Policy};
use crate::http::server::HttpServer;
use crate::http::wire::{Caller, hello, request};
use crate::http::{NOTES, house};

#[test]
fn a_page_of_another_origin_is_turned_away_and_one_of_this_machine_is_served() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    for origin in ["http://evil.example", "null", "https://localhost.evil.example"] {
        let answer = caller.post(&[("origin", origin)], &hello().to_string());
        assert_eq!(answer.status, 403, "{origin}: {answer:?}");
    }
    for path in ["/sse", "/metrics"] {
        let answer = request(&server.address, "GET", path, &[("origin", "http://evil.example")], b"");
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
    }
    for origin in [server.address.as_str(), "http://localhost:3000"] {
        assert_eq!(caller.post(&[("origin", origin)], &hello().to_string()).status, 200, "{origin}");
    }
    assert_eq!(home.told("call.started", "read_file").len(), 0);
}

#[test]
fn a_name_that_rebinds_to_this_machine_is_turned_away() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "0.0.0.0", "10.0.0.1"] {
        let answer = caller.post(&[("host", host)], &hello().to_string());
        assert_eq!(answer.status, 403, "{host}: {answer:?}");
        for path in ["/sse", "/metrics", "/.well-known/oauth-protected-resource"] {
            assert_eq!(request(&server.address, "GET", path, &[("host", host)], b"").status, 403, "{host} {path}");
        }
    }
    for host in ["localhost", "127.0.0.1:8011", "[::1]"] {
        let answer = caller.post(&[("host", host)], &hello().to_string());
        assert_eq!(answer.status, 200, "{host}: {answer:?}");
    }
    let answer = caller.call("read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(answer.message()["result"]["content"][0]["text"], NOTES, "{answer:?}");
}

#[test]
fn hosts_and_origins_of_the_manifest_are_served() {
    let more = "[http]\nallowed_hosts = [\"gate.example\"]\nallowed_origins = [\"https://app.example\"]\n";
    let home = house(Policy::default(), more);
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let answer = caller.post(&[("host", "gate.example:9"), ("origin", "https://app.example")], &hello().to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(caller.post(&[("host", "other.example")], &hello().to_string()).status, 403);
}

#[test]
fn a_request_that_a_proxy_brings_is_none_of_this_machine() {
    let home = house(Policy::default(), "[http]\nallowed_hosts = [\"gate.example\"]\n");
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let numbers = |headers: &[(&str, &str)]| request(&server.address, "GET", "/metrics", headers, b"").status;
    assert_eq!((numbers(&[]), numbers(&[("host", "localhost")])), (200, 200));
    assert_eq!(numbers(&[("host", "gate.example")]), 401);
    for name in ["x-forwarded-for", "forwarded", "x-real-ip", "via"] {
        assert_eq!(numbers(&[("host", "localhost"), (name, "10.0.0.9")]), 401, "{name}");
        assert_eq!(caller.post(&[(name, "10.0.0.9")], &hello().to_string()).status, 401, "{name}");
    }
    assert_eq!(caller.post(&[("host", "gate.example")], &hello().to_string()).status, 200, "a name that the manifest lists");
}

#[test]
fn two_hosts_are_a_bad_request_on_every_path() {
    use std::io::{Read, Write};
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    for path in ["/healthz", "/readyz", "/metrics", "/mcp", "/.well-known/oauth-protected-resource", "/nowhere"] {
        let mut stream = std::net::TcpStream::connect(server.address.trim_start_matches("http://")).unwrap();
        stream.set_read_timeout(Some(crate::http::wire::PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{path}: {answer}");
    }
    assert_eq!(request(&server.address, "GET", "/healthz", &[], b"").status, 200);
}

#[test]
fn an_address_that_others_reach_needs_callers_with_a_proof() {
    let home = Home::new(Policy::default());
    let manifest = home.manifest();
    let out = home.toolgate(&["serve", "--manifest", manifest.to_str().unwrap(), "--http", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("[[clients.token]]"), "{out:?}");

    let home = house(Policy::default(), &crate::http::token("ci", "secret-one"));
    let server = HttpServer::start_with(&home, &["--http", "0.0.0.0:0"]);
    let address = server.address.replace("0.0.0.0", "127.0.0.1");
    let (anonymous, known) = (Caller { address: &address, token: None }, Caller { address: &address, token: Some("secret-one") });
    // `[clients] http` names a profile, and holds on a loopback address alone.
    assert_eq!(anonymous.post(&[("host", "127.0.0.1")], &hello().to_string()).status, 401);
    assert_eq!(known.post(&[("host", "localhost")], &hello().to_string()).status, 403);
    assert_eq!(known.post(&[("host", "127.0.0.1")], &hello().to_string()).status, 200);
    assert_eq!(request(&address, "GET", "/metrics", &[("host", "127.0.0.1")], b"").status, 401);
    assert_eq!(request(&address, "GET", "/healthz", &[("host", "probe")], b"").status, 200);
}
