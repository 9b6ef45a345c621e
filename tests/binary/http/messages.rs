//! JSON-RPC at its edges over HTTP: every message that asks for an answer gets the one of the specification.

use std::io::{BufReader, Write};

use serde_json::{Value, json};

use crate::http::edges::{no_requests, read};
use crate::http::home::{Home, Policy};
use crate::http::server::HttpServer;
use crate::http::wire::{Caller, MODERN, bytes, chunk, connect, head, message};

fn hello(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}})
}

/// A session of this version.
fn session(caller: &Caller<'_>, version: &str) -> String {
    let answer = caller.post(&[], &hello(version).to_string());
    assert_eq!(answer.message()["result"]["protocolVersion"], version, "{answer:?}");
    answer.header("mcp-session-id").unwrap().to_owned()
}

#[test]
fn what_is_no_request_is_answered_in_a_session_and_without_one() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let session = session(&caller, "2025-11-25");
    let own = (r#"{"jsonrpc":"2.0","id":64,"method":"tools/list","params":[]}"#, json!(64), -32602);
    for (body, id, code) in no_requests().into_iter().chain([own]) {
        for headers in [&[("mcp-session-id", &*session)][..], &[]] {
            let answer = caller.post(headers, body);
            if headers.is_empty() && answer.status == 400 && serde_json::from_str::<Value>(&answer.body).is_err() {
                // Without a session there is nobody whose message it could be.
                assert_eq!(id, json!(64), "{body}: {answer:?}");
                continue;
            }
            let told = answer.message();
            assert_eq!((answer.status, &told["id"], &told["error"]["code"]), (400, &id, &json!(code)), "{body}: {answer:?}");
        }
    }
    let still = caller.call_in(&session, 9, "read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(still.message()["result"]["content"][0]["text"], crate::http::NOTES, "{still:?}");
}

#[test]
fn a_request_alone_cannot_choose_a_version_of_the_handshake() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let session = session(&caller, "2025-11-25");
    let mut body = message("tools/list", &json!({}));
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2025-11-25");
    for headers in [&[][..], &[("mcp-protocol-version", "2025-11-25")], &[("mcp-session-id", &*session)]] {
        let answer = caller.post(headers, &body.to_string());
        let told = answer.message();
        assert_eq!((answer.status, &told["error"]["code"]), (400, &json!(-32022)), "{answer:?}");
        assert_eq!(told["error"]["data"]["supported"], json!([MODERN]));
        // Nor is an empty one a version.
        let empty = body.to_string().replace("2025-11-25", "");
        let answer = caller.post(headers, &empty);
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(-32022)), "{answer:?}");
    }
}

#[test]
fn a_client_that_takes_anything_is_answered_and_one_that_refuses_a_type_is_not() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let body = hello("2025-11-25").to_string();
    for (accept, status) in
        [("*/*", 200), ("application/*, text/*;q=0.1", 200), ("application/json", 406), ("*/*, text/event-stream;q=0", 406)]
    {
        let headers = [("content-type", "application/json"), ("accept", accept)];
        let answer = crate::http::wire::request(&server.address, "POST", "/mcp", &headers, body.as_bytes());
        assert_eq!(answer.status, status, "{accept}: {answer:?}");
    }
}

#[test]
fn a_batch_is_refused() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let session = session(&caller, "2025-03-26");
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).to_string();
    for headers in [&[("mcp-session-id", &*session)][..], &[], &[("mcp-protocol-version", "2025-03-26")]] {
        let answer = caller.post(headers, &batch);
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(-32600)), "{answer:?}");
    }
}

#[test]
fn the_transport_of_2024_11_05_answers_each_message_too() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let mut stream = connect(&server.address);
    stream.write_all(&bytes("GET", "/sse", &[("connection", "keep-alive")], b"")).unwrap();
    let mut reader = BufReader::new(stream);
    assert_eq!(head(&mut reader).0, 200);
    let mut next = || {
        let text = String::from_utf8(chunk(&mut reader).unwrap()).unwrap();
        text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned()
    };
    let path = next();
    let post = |body: &str| {
        let headers = [("content-type", "application/json")];
        crate::http::wire::request(&server.address, "POST", &path, &headers, body.as_bytes())
    };
    assert_eq!(post(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#).message()["error"]["code"], -32600);
    assert_eq!(post(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#).message()["error"]["code"], -32600);
    assert_eq!(post(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#).message()["error"]["code"], -32602);
    assert_eq!(post(&hello("2025-03-26").to_string()).status, 202);
    assert_eq!(serde_json::from_str::<Value>(&next()).unwrap()["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(post(&json!([read("a"), read("b")]).to_string()).message()["error"]["code"], -32600);
    assert_eq!(post(&read("a").to_string()).status, 202);
    let answer: Value = serde_json::from_str(&next()).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!("a"), &json!(crate::http::NOTES)), "{answer}");
}
