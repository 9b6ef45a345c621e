//! What the commands that change something print for scripts: one object on standard output, and nothing else there.

use std::process::Output;

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::operator::{SECRET, approvals, house, said, the_one};
use crate::mcp::server::{Server, code, until, went_well};

/// The one object that a command printed.
fn object(out: &Output) -> Value {
    serde_json::from_slice(&out.stdout).unwrap_or_else(|fault| panic!("{fault}: {}", said(out)))
}

#[test]
fn init_says_what_it_wrote() {
    let home = Home::new(Policy::default());
    let folder = home.path("fresh");
    // Nothing is asked: standard input is closed.
    let out = home.toolgate(&["init", folder.to_str().unwrap(), "--json", "--client", "cursor"]).output().unwrap();
    let told = object(&out);
    let file = folder.canonicalize().unwrap().join("tools.toml");
    assert_eq!((out.status.code(), &told["manifest"], &told["trusted"]), (Some(0), &json!(file), &json!(true)), "{told}");
    assert!(told["snippet"].as_str().unwrap().contains("mcpServers"), "{told}");
    let plain = home.toolgate(&["init", home.path("plain").to_str().unwrap(), "--json"]).output().unwrap();
    assert_eq!(object(&plain)["snippet"], Value::Null);
    let again = home.toolgate(&["init", folder.to_str().unwrap(), "--json"]).output().unwrap();
    assert!(again.status.code() == Some(2) && again.stdout.is_empty(), "{}", said(&again));
}

#[test]
fn an_operators_answer_is_told_as_an_object_and_the_question_stands_beside_it() {
    let home = house(Policy { approvals: "level_2 = \"operator\"", ..Policy::default() });
    let mut server = Server::greeted(&home, "2025-11-25");
    let write = json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": "new\n", "mode": "overwrite"}});
    let call = server.ask("tools/call", &write);
    let id = the_one(&home);
    let wrong = approvals(&home, &["allow", &id, "--json"], &["wrong horse"]);
    let told = object(&wrong);
    assert_eq!((wrong.status.code(), &told["ok"], &told["id"]), (Some(1), &json!(false), &json!(id)), "{told}");
    assert!(told["why"].is_string(), "{told}");
    let out = approvals(&home, &["allow", &id, "--json"], &[SECRET]);
    let expected = json!({"ok": true, "id": id, "operator": "ann", "decision": "once", "lacking": 0});
    assert_eq!((out.status.code(), object(&out)), (Some(0), expected));
    assert!(String::from_utf8_lossy(&out.stderr).contains("project/notes.txt"), "what was allowed is shown: {}", said(&out));
    assert!(went_well(&server.answer(&call)));
    let call = server.ask("tools/call", &write);
    until("the next question", || !crate::mcp::operator::waiting(&home).is_empty());
    let id = the_one(&home);
    let out = approvals(&home, &["deny", &id, "--json", "--reason", "not now"], &[]);
    assert_eq!((out.status.code(), &object(&out)["decision"]), (Some(0), &json!("deny")), "{}", said(&out));
    assert_eq!(code(&server.answer(&call)), "approval_refused");
    server.close();
    home.verify();
}
