//! What a server says on standard error where a collector of logs reads it: one JSON object a line, a line for each call, and no secret ever.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::http::home::Policy;
use crate::http::server::HttpServer;
use crate::http::wire::{Caller, message, modern, request};
use crate::http::{house, token};

const JSON: [&str; 4] = ["--http", "127.0.0.1:0", "--log-format", "json"];
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The lines, each of which must be an object with a time and a level, in ASCII.
fn lines(errors: &str) -> Vec<Value> {
    let read = |line: &str| -> Value {
        assert!(line.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{line}");
        let object: Value = serde_json::from_str(line).unwrap_or_else(|fault| panic!("{fault}: {line}"));
        let time = object["ts"].as_str().unwrap_or_else(|| panic!("{line}"));
        assert!(time.parse::<jiff::Timestamp>().is_ok() && object["level"].is_string() && object["message"].is_string(), "{line}");
        object
    };
    errors.lines().map(read).collect()
}

fn calls(errors: &str) -> Vec<Value> {
    lines(errors).into_iter().filter(|line| line["message"] == "call").collect()
}

#[test]
fn each_call_is_one_line_with_its_id_tool_caller_outcome_and_trace() {
    let home = house(Policy::default(), &token("ci", "secret-one"));
    let server = HttpServer::start_with(&home, &JSON);
    let caller = Caller { address: &server.address, token: Some("secret-one") };
    let mut call = message("tools/call", &json!({"name": "read_file", "arguments": {"path": "project/notes.txt"}}));
    call["params"]["_meta"]["traceparent"] = json!(TRACE);
    assert_eq!(caller.post(&modern("tools/call", "read_file"), &call.to_string()).status, 200);
    let refused = caller.call("read_file", &json!({"path": "project/secrets/key.txt"})).message();
    let asked = caller.call("write_file", &json!({"path": "project/notes.txt", "content": "x"})).message();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    caller.call_in(&caller.begin(), 1, "\u{202e}rm\n{\"level\":\"forged\"}", &json!({}));
    let told = calls(&server.stop());
    let of = |line: &Value, names: &[&str]| names.iter().map(|name| line[*name].clone()).collect::<Vec<_>>();
    let names = ["tool", "principal", "profile", "outcome", "code", "trace_id"];
    let trace = "0af7651916cd43dd8448eb211c80319c";
    assert_eq!(
        told.iter().map(|line| of(line, &names)).collect::<Vec<_>>(),
        [
            vec![json!("read_file"), json!("token:ci"), json!("all"), json!("success"), json!(null), json!(trace)],
            vec![json!("read_file"), json!("token:ci"), json!("all"), json!("denied"), json!("path_denied"), json!(null)],
            vec![json!("write_file"), json!("token:ci"), json!("all"), json!("asked"), json!(null), json!(null)],
            // The name of a tool that is none is the caller's text.
            vec![json!("unknown"), json!("token:ci"), json!("all"), json!("denied"), json!("unknown_tool"), json!(null)],
        ]
    );
    assert_eq!(told[1]["call_id"], refused["result"]["structuredContent"]["call_id"]);
    let ids: BTreeSet<&str> = told.iter().map(|line| line["call_id"].as_str().unwrap()).collect();
    let recorded = home.records();
    assert!(ids.len() == 4 && ids.iter().all(|id| recorded.iter().any(|record| record["call"] == *id)), "{ids:?}");
    assert!(told.iter().all(|line| line["elapsed_ms"].as_f64().is_some_and(|time| time >= 0.0) && line["session"].is_string()));
}

#[test]
fn no_line_holds_a_token_an_argument_a_content_or_a_session_whatever_is_asked_to_be_logged() {
    let home = house(
        Policy::default(),
        &format!("{}[http]\nmetrics_token_sha256 = \"{}\"\n", token("ci", "secret-good"), crate::http::digest("secret-watcher")),
    );
    std::fs::write(home.path("project/notes.txt"), "secret-content\n").unwrap();
    for variables in [[("TOOLGATE_LOG", "trace")], [("TOOLGATE_LOG", "rmcp=trace,hyper=trace,axum=trace,tower=trace,toolgate=trace")]] {
        let server = HttpServer::start_in(&home, &[&JSON[..], &["--sse"]].concat(), &variables);
        let caller = |token| Caller { address: &server.address, token: Some(token) };
        let jwt = "eyJhbGciOiJFUzI1NiJ9.c2VjcmV0LWNsYWltcw.c2VjcmV0LXNpZ25hdHVyZQ";
        for bad in ["secret-bad", jwt] {
            assert_eq!(caller(bad).call("read_file", &json!({"path": "project/notes.txt"})).status, 401);
            let bearer = format!("Bearer {bad}");
            assert_eq!(request(&server.address, "GET", "/metrics", &[("authorization", &bearer)], b"").status, 401);
        }
        assert_eq!(request(&server.address, "GET", "/metrics", &[("authorization", "Bearer secret-watcher")], b"").status, 200);
        let cookies = [("cookie", "id=secret-cookie"), ("proxy-authorization", "Basic secret-proxy")];
        let read = message("tools/call", &json!({"name": "read_file", "arguments": {"path": "project/notes.txt"}})).to_string();
        let answer = caller("secret-good").post(&[&modern("tools/call", "read_file")[..], &cookies].concat(), &read);
        assert!(answer.body.contains("secret-content"), "{answer:?}");
        let session = caller("secret-good").begin();
        let written =
            caller("secret-good").call_in(&session, 1, "write_file", &json!({"path": "work/secret-name", "content": "secret-argument"}));
        assert_eq!(written.status, 200, "{written:?}");
        let asked = caller("secret-good").call("write_file", &json!({"path": "project/notes.txt", "content": "secret-argument"})).message();
        let state = asked["result"]["requestState"].as_str().unwrap().to_owned();
        // What is no message, and what is sent to where nothing is.
        caller("secret-good").post(&[], "{\"secret-broken\":");
        caller("secret-good").post(&[], "{\"method\":\"secret-method\",\"params\":7}");
        request(&server.address, "GET", "/secret-path?secret-query", &[("authorization", "Bearer secret-good")], b"");
        request(&server.address, "POST", "/messages?sessionId=secret-stream", &[("authorization", "Bearer secret-good")], b"{}");
        let errors = server.stop();
        assert!(calls(&errors).len() >= 3, "{errors}");
        for hidden in ["secret-", jwt, &session, &state, "c2VjcmV0"] {
            assert!(!errors.contains(hidden), "`{hidden}` stands in\n{errors}");
        }
    }
}

#[test]
fn lines_are_text_unless_json_is_asked_for_and_a_start_that_fails_says_so_in_the_form_asked_for() {
    let home = house(Policy::default(), "");
    let server = HttpServer::start_in(&home, &["--http", "127.0.0.1:0"], &[("TOOLGATE_LOG_FORMAT", "json")]);
    Caller { address: &server.address, token: None }.call("read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(calls(&server.stop()).len(), 1);
    let server = HttpServer::start_in(&home, &["--http", "127.0.0.1:0", "--log-format", "text"], &[("TOOLGATE_LOG_FORMAT", "json")]);
    Caller { address: &server.address, token: None }.call("read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(server.stop(), "");
    std::fs::write(home.manifest(), "version = 1\n[nonsense]\n").unwrap();
    let manifest = home.manifest();
    let serve = ["serve", "--manifest", manifest.to_str().unwrap()];
    let failed = home.toolgate(&[&serve[..], &["--log-format", "json"]].concat()).output().unwrap();
    let told = lines(&String::from_utf8(failed.stderr).unwrap());
    assert!(failed.status.code() == Some(1) && told.len() == 1 && told[0]["message"].as_str().unwrap().contains("nonsense"), "{told:?}");
    let failed = home.toolgate(&serve).env("TOOLGATE_LOG_FORMAT", "yaml").output().unwrap();
    assert_eq!(failed.status.code(), Some(2));
}
