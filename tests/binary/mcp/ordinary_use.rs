//! What users and models do on an ordinary day: calls side by side, arguments in other spellings, files that are empty or end their lines otherwise.

use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, code, went_well, with_meta};

const FREE: Policy = Policy { approvals: "level_2 = \"none\"", limits: "concurrent_calls = 100", python: "" };

fn text(answer: &Value) -> String {
    let blocks = answer["result"]["content"].as_array().unwrap();
    assert!(!blocks.is_empty() && blocks.iter().all(|block| block["text"] != ""), "an empty block: {answer}");
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn calls_that_change_one_file_are_all_made_in_the_order_in_which_they_came() {
    let home = Home::new(FREE);
    let lines: Vec<String> = (0..24).map(|n| format!("line {n:02}\n")).collect();
    std::fs::write(home.path("project/many.txt"), lines.concat()).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let mut calls = Vec::new();
    for n in 0..24 {
        calls.push((
            "edit_file",
            json!({"path": "project/many.txt", "edits": [{"old_text": format!("line {n:02}"), "new_text": format!("LINE {n:02}")}]}),
        ));
        calls.push(("write_file", json!({"path": "project/log.txt", "content": format!("{n}\n"), "mode": "append"})));
        calls.push(("write_file", json!({"path": format!("project/new/{n}.txt"), "content": "new\n"})));
        calls.push(("read_file", json!({"path": "project/notes.txt"})));
    }
    calls.push(("move_file", json!({"from": "project/log.txt", "to": "project/moved.txt"})));
    for (id, (tool, arguments)) in calls.iter().enumerate() {
        server.send(&json!({"jsonrpc": "2.0", "id": 1000 + id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}));
    }
    for (id, call) in calls.iter().enumerate() {
        let answer = server.answer(&json!(1000 + id));
        assert!(went_well(&answer), "{call:?}: {answer}");
    }
    assert_eq!(home.read("project/many.txt"), lines.concat().to_uppercase());
    assert_eq!(home.read("project/moved.txt"), (0..24).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat());
    assert_eq!(std::fs::read_dir(home.path("project/new")).unwrap().count(), 24);
    server.close();
    home.verify();
}

#[test]
fn arguments_are_taken_as_they_are_meant_before_they_are_recorded_and_all_faults_are_told() {
    let home = Home::new(FREE);
    let mut server = Server::start(&home);
    let mut call = |tool: &str, arguments: Value| server.stateless("tools/call", &json!({"name": tool, "arguments": arguments}));
    let edits = json!([{"old_text": "one", "new_text": "1", "replace_all": null}]).to_string();
    std::fs::write(home.path("project/a.txt"), "one\ntwo\n").unwrap();
    for (tool, arguments) in [
        ("read_file", json!({"path": "project/a.txt", "offset": "2", "limit": 1.0, "line_numbers": "true", "column": null})),
        ("edit_file", json!({"path": "project/a.txt", "edits": edits, "dry_run": "false"})),
        ("read_files", json!({"paths": "[\"project/a.txt\"]"})),
    ] {
        let answer = call(tool, arguments.clone());
        assert!(went_well(&answer), "{tool} {arguments}: {answer}");
    }
    assert_eq!(home.read("project/a.txt"), "1\ntwo\n");
    assert_eq!(
        home.told("call.started", "read_file")[0]["args"],
        json!({"path": "project/a.txt", "offset": 2, "limit": 1, "line_numbers": true})
    );
    let odd = call("read_file", json!({"path": 7, "offset": 1.5, "limit": "many", "ofset": 1}));
    assert_eq!(code(&odd), "unknown_argument", "{odd}");
    for part in ["4 faults", "`path` must be a text", "`offset` must be a whole number", "`limit` must be", "no argument `ofset`"] {
        assert!(text(&odd).contains(part), "{part}: {odd}");
    }
    let quoted = call("read_file", json!({"path": format!("file://{}", home.path("project/notes.txt").display())}));
    assert!(text(&quoted).contains(&format!("write `{}`", home.path("project/notes.txt").display())), "{quoted}");
}

#[test]
fn requests_of_a_wrong_form_are_told_the_field_and_unknown_methods_in_words() {
    let home = Home::new(FREE);
    let mut server = Server::start(&home);
    let wrong = server.request("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
    assert!(wrong["error"]["message"].as_str().unwrap().contains("clientInfo"), "{wrong}");
    for (params, field) in [(json!({"arguments": {}}), "name"), (json!({"name": "read_file", "arguments": "x"}), "arguments")] {
        let wrong = server.request("tools/call", &with_meta(&params, "2026-07-28"));
        assert!(wrong["error"]["code"] == -32602 && wrong["error"]["message"].as_str().unwrap().contains(field), "{wrong}");
    }
    let unknown = server.stateless("tools/cal", &json!({}));
    assert_eq!(unknown["error"]["message"], "there is no method `tools/cal`");
}

#[test]
fn what_is_empty_or_died_says_so_and_every_listed_name_can_be_opened() {
    let home = Home::new(FREE);
    std::fs::create_dir(home.path("project/empty")).unwrap();
    std::fs::write(home.path("project/empty.txt"), "").unwrap();
    std::fs::write(home.path("project").join(std::ffi::OsStr::from_bytes(b"caf\xe9.txt")), "x").unwrap();
    std::fs::write(home.path("project/marked.txt"), "\u{feff}first\r\nsecond\r\n").unwrap();
    let mut server = Server::start(&home);
    let mut said = |tool: &str, arguments: Value| text(&server.stateless("tools/call", &json!({"name": tool, "arguments": arguments})));
    assert_eq!(said("read_file", json!({"path": "project/empty.txt"})), "[empty file]");
    assert!(said("list_directory", json!({"path": "project/empty"})).starts_with("nothing to show"));
    assert_eq!(said("run_python", json!({"code": "pass"})), "[no output]");
    assert!(said("search_files", json!({"path": "project", "query": "^first$"})).contains("1: first"));
    let listed = said("list_directory", json!({"path": "project"}));
    assert!(!listed.contains("caf") && listed.contains("left out"), "{listed}");
    let died = said("run_python", json!({"code": "import os\nos.abort()"}));
    assert!(died.contains("killed by SIGABRT"), "{died}");
}
