//! JSON-RPC at its edges over HTTP: every message that asks for an answer gets the one of the specification.

use std::io::{BufReader, Write};

use serde_json::{Value, json};

use crate::edges::{no_requests, read, too_many};
use crate::home::{Home, Policy};
use crate::server::HttpServer;
use crate::wire::{Answer, Caller, MODERN, bytes, chunk, connect, head, message};

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

/// The array that answers a batch, be it JSON or the one event of a stream.
fn array(answer: &Answer) -> Vec<Value> {
    let mut data: Vec<&str> = answer.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    if data.is_empty() {
        data.push(&answer.body);
    }
    let [one] = data.as_slice() else { panic!("more than one answer: {answer:?}") };
    serde_json::from_str(one).unwrap_or_else(|fault| panic!("{fault}: {answer:?}"))
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
    assert_eq!(still.message()["result"]["content"][0]["text"], crate::NOTES, "{still:?}");
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
        let answer = crate::wire::request(&server.address, "POST", "/mcp", &headers, body.as_bytes());
        assert_eq!(answer.status, status, "{accept}: {answer:?}");
    }
}

#[test]
fn a_client_of_2025_03_26_gets_one_array_for_a_batch() {
    let home = Home::new(Policy { limits: "rate_limit_per_minute = 2", ..Policy::default() });
    let text = home.read("tools.toml").replace("rate_limit_per_minute = 5000\n", "");
    std::fs::write(home.manifest(), text).unwrap();
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let session = session(&caller, "2025-03-26");
    let within = [("mcp-session-id", session.as_str())];
    let batch = json!([
        {"jsonrpc": "2.0", "id": "p", "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        read("a"), read("b"), read("c"), read("c"),
        7,
        hello("2025-03-26"),
    ]);
    let answer = caller.post(&within, &batch.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    let answers = array(&answer);
    assert_eq!(answers.len(), 7, "{answers:?}");
    let count = |holds: &dyn Fn(&Value) -> bool| answers.iter().filter(|answer| holds(answer)).count();
    assert_eq!(count(&|answer| answer["result"]["content"][0]["text"] == crate::NOTES), 2, "each is counted: {answers:?}");
    assert_eq!(count(&|answer| answer["result"]["structuredContent"]["code"] == "rate_limited"), 1);
    assert_eq!(count(&|answer| answer["id"] == "c" && answer["error"]["code"] == -32600), 1);
    assert_eq!(count(&|answer| answer["id"] == 0 && answer["error"]["code"] == -32600), 1);
    assert_eq!(count(&|answer| answer["id"].is_null() && answer["error"]["code"] == -32600), 1);
    assert_eq!(count(&|answer| answer["id"] == "p" && answer["result"] == json!({})), 1);
    assert_eq!(caller.post(&within, r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#).status, 202);
    for batch in [json!([]), json!(too_many())] {
        let answer = caller.post(&within, &batch.to_string());
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(-32600)), "{answer:?}");
    }
    assert_eq!(array(&caller.post(&within, "[5]")).len(), 1);
}

#[test]
fn a_batch_is_no_message_where_2025_03_26_was_not_agreed_on() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let session = session(&caller, "2025-06-18");
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).to_string();
    for headers in [&[("mcp-session-id", &*session)][..], &[], &[("mcp-protocol-version", "2025-03-26")]] {
        let answer = caller.post(headers, &batch);
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(-32600)), "{answer:?}");
    }
    let first = json!([hello("2025-03-26")]).to_string();
    assert_eq!(caller.post(&[], &first).message()["error"]["code"], -32600);
}

#[test]
fn requests_of_a_batch_take_places_of_their_own() {
    let policy = Policy { approvals: "level_2 = \"none\"", limits: "concurrent_calls = 9", python: "" };
    let home = crate::house(policy, "[http]\nmax_requests_per_client = 2\n");
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let session = session(&caller, "2025-03-26");
    let waits = json!({"name": "run_python", "arguments": {"code": crate::lifetime::WAITS}});
    let batch: Vec<Value> = (0..3).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": waits})).collect();
    let answers = std::thread::scope(|scope| {
        let asked = scope.spawn(|| array(&caller.post(&[("mcp-session-id", &session)], &json!(batch).to_string())));
        crate::until("a program runs", || home.path("scratch/on").exists());
        std::fs::write(home.path("scratch/go"), "").unwrap();
        asked.join().unwrap()
    });
    assert_eq!(answers.iter().filter(|answer| answer["error"]["code"] == -32603).count(), 1, "{answers:?}");
    assert_eq!(array(&caller.post(&[("mcp-session-id", &session)], &json!(batch[..2]).to_string())).len(), 2, "the places are free again");
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
        crate::wire::request(&server.address, "POST", &path, &headers, body.as_bytes())
    };
    assert_eq!(post(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#).message()["error"]["code"], -32600);
    assert_eq!(post(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#).message()["error"]["code"], -32600);
    assert_eq!(post(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#).message()["error"]["code"], -32602);
    assert_eq!(post(&hello("2025-03-26").to_string()).status, 202);
    assert_eq!(serde_json::from_str::<Value>(&next()).unwrap()["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(post(&json!([read("a"), 5, read("b"), {"jsonrpc": "2.0", "method": "notifications/initialized"}]).to_string()).status, 202);
    let answers: Vec<Value> = serde_json::from_str(&next()).unwrap();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer["result"]["content"][0]["text"] == crate::NOTES).count(), 2, "{answers:?}");
}
