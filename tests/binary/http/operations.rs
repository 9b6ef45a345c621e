//! What operators and their machines use: probes, numbers, TLS, a Unix socket, trace contexts.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use serde_json::json;

use crate::http::home::{Home, Policy};
use crate::http::server::HttpServer;
use crate::http::wire::{Caller, bytes, connect, hello, message, modern, read, request};
use crate::http::{NOTES, digest, house};

#[test]
fn probes_and_numbers_tell_how_the_server_is() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    caller.call("read_file", &json!({"path": "project/notes.txt"}));
    caller.call("read_file", &json!({"path": "project/secrets/key.txt"}));
    caller.call("format_disk", &json!({}));
    let page = request(&server.address, "GET", "/metrics", &[], b"").body;
    for line in [
        "toolgate_calls_total{tool=\"read_file\",verdict=\"allow\",status=\"success\"} 1",
        "toolgate_calls_total{tool=\"read_file\",verdict=\"deny\",status=\"denied\"} 1",
        "toolgate_calls_total{tool=\"unknown\",verdict=\"deny\",status=\"denied\"} 1",
        "toolgate_calls_running 0",
        "toolgate_audit_healthy 1",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
    assert_eq!(request(&server.address, "GET", "/healthz", &[], b"").status, 200);
    assert_eq!(request(&server.address, "GET", "/readyz", &[], b"").status, 200);
    assert!(home.toolgate(&["kill", "--reason", "test"]).status().unwrap().success());
    let ready = request(&server.address, "GET", "/readyz", &[], b"");
    assert_eq!((ready.status, ready.body.as_str()), (503, "{\"status\":\"killed\"}"));
    let stopped = caller.call("read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(stopped.message()["result"]["structuredContent"]["code"], "killed");
}

#[test]
fn numbers_are_opened_by_their_token_where_there_is_one() {
    let home = house(Policy::default(), &format!("[http]\nmetrics_token_sha256 = \"{}\"\n", digest("watcher")));
    let server = HttpServer::start(&home);
    assert_eq!(request(&server.address, "GET", "/metrics", &[], b"").status, 401);
    assert_eq!(request(&server.address, "GET", "/metrics", &[("authorization", "Bearer wrong")], b"").status, 401);
    assert_eq!(request(&server.address, "GET", "/metrics", &[("authorization", "Bearer watcher")], b"").status, 200);
}

#[test]
fn tls_is_spoken_with_the_certificate_that_was_given() {
    let home = Home::new(Policy::default());
    let authority = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(home.path("cert.pem"), authority.cert.pem()).unwrap();
    std::fs::write(home.path("project/key.pem"), authority.signing_key.serialize_pem()).unwrap();
    let server = HttpServer::start_with(&home, &["--http", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "project/key.pem"]);
    let address = server.address.replace("https://", "http://");
    assert!(server.address.starts_with("https://"), "{}", server.address);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let config = Arc::new(config);
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let post = |more: &[(&str, &str)], body: &serde_json::Value| {
        let client = rustls::ClientConnection::new(Arc::clone(&config), "localhost".try_into().unwrap()).unwrap();
        let mut stream = rustls::StreamOwned::new(client, connect(&address));
        stream.write_all(&bytes("POST", "/mcp", &[&headers[..], more].concat(), body.to_string().as_bytes())).unwrap();
        read(stream).message()
    };
    assert_eq!(post(&[], &hello())["result"]["serverInfo"]["name"], "toolgate");
    // The key lies where calls may read and write: none reaches it.
    for (path, code) in [("project/key.pem", "path_denied"), ("project/notes.txt", "")] {
        let params = json!({"name": "read_file", "arguments": {"path": path}});
        let answer = post(&modern("tools/call", "read_file"), &message("tools/call", &params));
        assert_eq!(answer["result"]["structuredContent"]["code"].as_str().unwrap_or_default(), code, "{answer}");
    }
    // Plain text to a TLS port gets no answer of HTTP.
    let mut plain = connect(&address);
    plain.write_all(&bytes("POST", "/mcp", &headers, hello().to_string().as_bytes())).unwrap();
    let mut said = Vec::new();
    let _ = plain.read_to_end(&mut said);
    assert!(!said.starts_with(b"HTTP"), "{said:?}");
}

#[test]
fn a_unix_socket_is_its_owners_alone_and_is_taken_over_from_a_killed_server() {
    let home = Home::new(Policy::default());
    let path = home.path("gate.sock");
    let listen = format!("unix:{}", path.display());
    let ask = || {
        let mut stream = UnixStream::connect(&path).unwrap();
        let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        stream.write_all(&bytes("POST", "/mcp", &headers, hello().to_string().as_bytes())).unwrap();
        read(stream).message()
    };
    let first = HttpServer::start_with(&home, &["--http", &listen]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(ask()["result"]["serverInfo"]["name"], "toolgate");
    crate::http::signal(&first, "-KILL");
    crate::http::ended(first);
    let second = HttpServer::start_with(&home, &["--http", &listen]);
    assert_eq!(ask()["result"]["serverInfo"]["name"], "toolgate");
    second.stop();
    assert!(!path.exists(), "the socket is removed at the end");
    std::fs::write(&path, "a file of somebody").unwrap();
    let manifest = home.manifest();
    let out = home.toolgate(&["serve", "--manifest", manifest.to_str().unwrap(), "--http", &listen]).output().unwrap();
    assert!(!out.status.success() && std::fs::read(&path).unwrap() == b"a file of somebody", "{out:?}");
}

#[test]
fn the_trace_of_a_caller_stands_in_the_record() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for parent in [trace, "00-zz", "00-00000000000000000000000000000000-b7ad6b7169203331-01"] {
        let mut call = message("tools/call", &json!({"name": "read_file", "arguments": {"path": "project/notes.txt"}}));
        call["params"]["_meta"]["traceparent"] = json!(parent);
        let answer = caller.post(&modern("tools/call", "read_file"), &call.to_string());
        assert_eq!(answer.message()["result"]["content"][0]["text"], NOTES, "{answer:?}");
    }
    let started = home.told("call.started", "read_file");
    assert_eq!(started[0]["traceparent"], trace, "{started:?}");
    assert!(started[1]["traceparent"].is_null() && started[2]["traceparent"].is_null(), "{started:?}");
}
