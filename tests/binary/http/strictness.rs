//! One reading of a message, with the protocol's own codes.

use serde_json::json;

use crate::http::NOTES;
use crate::http::home::{Home, Policy};
use crate::http::server::HttpServer;
use crate::http::wire::{Caller, modern, request};

#[test]
fn what_parsers_differ_on_is_refused_and_what_is_no_message_gets_its_code() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    for (body, status, code) in [
        ("{\"jsonrpc\":\"2.0\",", 400, -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\\ud800\"}}", 400, -32700),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", 400, -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1}", 400, -32600),
        ("{\"id\":{\"a\":1},\"method\":\"ping\"}", 400, -32600),
    ] {
        let answer = caller.post(&[], body);
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (status, &json!(code)), "{body}: {answer:?}");
    }
    let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{}", "[".repeat(50_000));
    assert_eq!(caller.post(&[], &deep).message()["error"]["code"], -32700);
    assert_eq!(request(&server.address, "POST", "/mcp", &[("content-type", "text/plain")], b"{}").status, 415);
    assert_eq!(request(&server.address, "PUT", "/mcp", &[], b"").status, 405);
}

#[test]
fn a_name_that_occurs_twice_is_refused_in_both_eras() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let session = caller.begin();
    let twice = r#""name":"read_file","arguments":{"path":"project/notes.txt","path":"project/secrets/key.txt"}"#;
    let old =
        caller.post(&[("mcp-session-id", &session)], &format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{{twice}}}}}"#));
    let meta = crate::http::wire::message("x", &json!({}))["params"]["_meta"].clone();
    let new = caller.post(
        &modern("tools/call", "read_file"),
        &format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{{twice},"_meta":{meta}}}}}"#),
    );
    for answer in [old, new] {
        assert_eq!(answer.message()["result"]["structuredContent"]["code"], "argument_invalid", "{answer:?}");
    }
    let plain = caller.call_in(&session, 4, "read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(plain.message()["result"]["content"][0]["text"], NOTES, "{plain:?}");
}

#[test]
fn malformed_params_of_a_known_method_are_invalid_params() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let session = caller.begin();
    let bad = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": 7}}).to_string();
    let answer = caller.post(&[("mcp-session-id", &session)], &bad);
    assert_eq!(answer.message()["error"]["code"], -32602, "{answer:?}");
    let unknown = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/burn"}).to_string();
    let answer = caller.post(&[("mcp-session-id", &session)], &unknown);
    assert_eq!(answer.message()["error"]["code"], -32601, "{answer:?}");
    let unlike = caller
        .post(&modern("tools/call", "write_file"), &crate::http::wire::message("tools/call", &json!({"name": "read_file"})).to_string());
    assert_eq!((unlike.status, &unlike.message()["error"]["code"]), (400, &json!(-32020)), "{unlike:?}");
}

#[test]
fn a_second_call_with_the_id_of_one_under_way_is_refused() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let server = HttpServer::start(&home);
    let address = server.address.clone();
    let caller = Caller { address: &server.address, token: None };
    let session = caller.begin();
    let own = session.clone();
    let code = format!("{}print('first')", crate::http::lifetime::WAITS);
    let first =
        std::thread::spawn(move || Caller { address: &address, token: None }.call_in(&own, 9, "run_python", &json!({"code": code})));
    crate::http::until("the program runs", || home.path("scratch/on").exists());
    let second = caller.call_in(&session, 9, "read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!((second.status, &second.message()["error"]["code"]), (400, &json!(-32600)), "{second:?}");
    std::fs::write(home.path("scratch/go"), "").unwrap();
    let first = first.join().unwrap().message();
    assert_eq!(first["result"]["structuredContent"]["stdout"], "first\n", "{first}");
    let third = caller.call_in(&session, 9, "read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(third.message()["result"]["content"][0]["text"], NOTES, "the id is free again: {third:?}");
}
