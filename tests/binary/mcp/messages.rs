//! JSON-RPC at its edges: every message that asks for an answer gets the one of the specification, and no message takes another's.

use serde_json::{Value, json};

use crate::mcp::edges::{no_requests, read};
use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{PATIENCE, STATELESS, Server, hello, until, went_well, with_meta};

fn home() -> Home {
    Home::new(Policy::default())
}

/// What a line is answered with: the id and the code of the error.
fn refused(server: &mut Server, line: &str) -> (Value, Value) {
    server.send_raw(format!("{line}\n").as_bytes());
    let answer = server.next_message(PATIENCE).unwrap_or_else(|| panic!("no answer to {line}"));
    (answer["id"].clone(), answer["error"]["code"].clone())
}

#[test]
fn what_is_no_request_is_answered_and_not_dropped() {
    let home = home();
    let mut server = Server::greeted(&home, "2025-11-25");
    let own = [
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":61,"method":5}"#, json!(61), -32600),
        (r#"{"jsonrpc":"2.0","id":62}"#, json!(62), -32600),
    ];
    for (line, id, code) in no_requests().into_iter().chain(own) {
        assert_eq!(refused(&mut server, line), (id, json!(code)), "{line}");
    }
    // Two to the power of 64, which is more than most readers of JSON hold.
    server.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":18446744073709551616,\"method\":\"ping\"}\n");
    assert_eq!(server.next_message(PATIENCE).unwrap()["error"]["code"], -32600);
    // Nobody waits for an answer to these.
    for line in [r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, r#"{"jsonrpc":"2.0","method":"notifications/progress","params":1}"#] {
        server.send_raw(format!("{line}\n").as_bytes());
    }
    assert_eq!(server.request("ping", &json!({}))["result"], json!({}));
    assert!(server.set_aside.is_empty(), "{:?}", server.set_aside);
}

#[test]
fn a_malformed_handshake_is_answered_and_a_right_one_still_served() {
    let home = home();
    let mut server = Server::start(&home);
    for params in [json!({}), json!({"protocolVersion": 5}), json!([]), json!("x")] {
        let answer = server.request("initialize", &params);
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("params"), "{answer}");
    }
    assert_eq!(server.request("initialize", &hello("2025-11-25"))["result"]["protocolVersion"], "2025-11-25");
    server.is_alive();
}

#[test]
fn a_request_alone_cannot_choose_a_version_of_the_handshake() {
    let home = home();
    let mut server = Server::start(&home);
    let read = json!({"name": "read_file", "arguments": {"path": "project/notes.txt"}});
    for version in ["", "2024-11-05", "2025-06-18", "2025-11-25"] {
        for (method, params) in [("tools/call", &read), ("tools/list", &json!({})), ("server/discover", &json!({}))] {
            let answer = server.request(method, &with_meta(params, version));
            assert_eq!(answer["error"]["code"], -32022, "{answer}");
            assert_eq!(answer["error"]["data"], json!({"supported": [STATELESS], "requested": version}));
        }
    }
    assert!(went_well(&server.stateless("tools/call", &read)));
    assert_eq!(home.told("call.started", "read_file").len(), 1);
}

/// A call that waits for a person; the id of the question.
fn question(server: &mut Server, id: &Value) -> Value {
    let params = json!({"name": "delete_file", "arguments": {"path": "project/notes.txt"}});
    server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    loop {
        let message = server.next_message(PATIENCE).unwrap_or_else(|| panic!("no question\n{}", server.errors()));
        if message["method"] == "elicitation/create" {
            return message["id"].clone();
        }
    }
}

#[test]
fn an_id_in_flight_again_is_refused_and_takes_no_answer() {
    let home = home();
    let mut server = Server::greeted(&home, "2025-11-25");
    for id in [json!(800), json!("800")] {
        let asked = question(&mut server, &id);
        for method in ["ping", "tools/list"] {
            server.send(&json!({"jsonrpc": "2.0", "id": id, "method": method}));
            let again = server.next_message(PATIENCE).unwrap();
            assert_eq!((&again["id"], &again["error"]["code"]), (&id, &json!(-32600)), "{again}");
        }
        server.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {"action": "decline"}}));
        let first = server.answer(&id);
        assert_eq!(first["result"]["structuredContent"]["code"], "approval_refused", "{first}");
        // Ended, it is free again.
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        assert_eq!(server.answer(&id)["result"], json!({}));
    }
}

#[test]
fn a_cancelled_request_gives_its_answer_to_no_later_one_with_its_id() {
    let home = home();
    let mut server = Server::greeted(&home, "2025-11-25");
    for id in 100..150 {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": "read_file", "arguments": {"path": "project/notes.txt"}}}));
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "resources/read", "params": {"uri": "toolgate://nothing"}}));
        let mut answer = server.answer(&json!(id));
        if answer["result"]["content"].is_array() {
            // The first was answered before it was cancelled.
            answer = server.answer(&json!(id));
        }
        assert!(answer["error"].is_object(), "{answer}");
    }
}

#[test]
fn a_batch_is_refused_in_every_version() {
    let home = home();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut server = Server::greeted(&home, version);
        server.send(&json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]));
        let answer = server.next_message(PATIENCE).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{version}: {answer}");
    }
    let mut server = Server::start(&home);
    server.send(&json!([{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello("2025-03-26")}]));
    assert_eq!(server.next_message(PATIENCE).unwrap()["error"]["code"], -32600);
    server.is_alive();
}

#[test]
fn requests_without_end_are_refused_at_once_and_the_rest_is_read() {
    let home = Home::new(Policy { limits: "concurrent_calls = 1", approvals: "level_2 = \"none\"", ..Policy::default() });
    let mut server = Server::greeted(&home, "2025-11-25");
    let asked = question(&mut server, &json!("q"));
    let program =
        json!({"name": "run_python", "arguments": {"code": "import time\nopen('/roots/scratch/on', 'w').close()\ntime.sleep(60)"}});
    server.send(&json!({"jsonrpc": "2.0", "id": "s", "method": "tools/call", "params": program}));
    until("the program to run", || home.path("scratch/on").exists());
    // Each of these waits for the program to end.
    for n in 0..300 {
        server.send(&read(&format!("w{n}")));
    }
    assert_eq!(server.request("ping", &json!({}))["result"], json!({}));
    let over = server.set_aside.iter().filter(|message| message["error"]["code"] == -32603).count();
    assert_eq!(over, 46, "254 of 300 found room beside the two");
    // An answer and a cancellation are read as well.
    server.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {"action": "decline"}}));
    assert_eq!(server.answer(&json!("q"))["result"]["structuredContent"]["code"], "approval_refused");
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "s"}}));
    for n in 0..254 {
        assert!(went_well(&server.answer(&json!(format!("w{n}")))), "{n}");
    }
}
