//! Limits over the wire: one count for every server on a state folder, whatever session asks.

use serde_json::{Value, json};

use crate::home::{Home, Policy};
use crate::server::{STATELESS, Server, went_well, with_meta};

fn code(answer: &Value) -> &str {
    answer["result"]["structuredContent"]["code"].as_str().unwrap_or_default()
}

fn read() -> Value {
    json!({"name": "read_file", "arguments": {"path": "project/notes.txt"}})
}

fn home(limits: &'static str) -> Home {
    let home = Home::new(Policy { limits, ..Policy::default() });
    let text = home.read("tools.toml").replace("rate_limit_per_minute = 5000\n", "");
    std::fs::write(home.manifest(), text).unwrap();
    home
}

#[test]
fn two_servers_on_one_state_folder_and_a_new_session_share_one_count() {
    let home = home("rate_limit_per_minute = 6");
    let (mut one, mut two) = (Server::start(&home), Server::start(&home));
    for _ in 0..3 {
        assert!(went_well(&one.stateless("tools/call", &read())));
        assert!(went_well(&two.stateless("tools/call", &read())));
    }
    for server in [&mut one, &mut two] {
        let refused = server.stateless("tools/call", &read());
        assert_eq!(code(&refused), "rate_limited", "{refused}");
        let wait = refused["result"]["structuredContent"]["retry_after_s"].as_u64().unwrap();
        assert!((1..=60).contains(&wait), "{refused}");
    }
    one.close();
    two.close();
    let refused = Server::start(&home).stateless("tools/call", &read());
    assert_eq!(code(&refused), "rate_limited", "a reconnect resets nothing: {refused}");
    home.verify();
}

#[test]
fn a_malformed_call_and_an_unknown_tool_are_counted_too() {
    let home = home("rate_limit_per_minute = 2");
    let mut server = Server::start(&home);
    server.stateless("tools/call", &json!({"name": "read_file", "arguments": {"nonsense": 1}}));
    server.stateless("tools/call", &json!({"name": "no_such_tool", "arguments": {}}));
    assert_eq!(code(&server.stateless("tools/call", &read())), "rate_limited");
}

#[test]
fn parallel_writes_do_not_pass_a_budget_together() {
    let home = home("rate_limit_per_minute = 500\nwrite_per_hour = \"1000\"\nconcurrent_calls = 20");
    let mut servers = [Server::start(&home), Server::start(&home)];
    let write = |n: usize| json!({"name": "write_file", "arguments": {"path": format!("project/new-{n}.txt"), "content": "x".repeat(300)}});
    let asked: Vec<(usize, Value)> = (0..12).map(|n| (n % 2, servers[n % 2].ask("tools/call", &with_meta(&write(n), STATELESS)))).collect();
    let answers: Vec<Value> = asked.iter().map(|(at, id)| servers[*at].answer(id)).collect();
    assert_eq!(answers.iter().filter(|answer| went_well(answer)).count(), 3, "{answers:?}");
    assert!(answers.iter().filter(|answer| !went_well(answer)).all(|answer| code(answer) == "quota"), "{answers:?}");
    let written: u64 =
        (0..12).filter_map(|n| std::fs::metadata(home.path(&format!("project/new-{n}.txt"))).ok()).map(|file| file.len()).sum();
    assert_eq!(written, 900);
    // What was reserved for a write that came to nothing is given back.
    let small = json!({"name": "write_file", "arguments": {"path": "project/secrets/x", "content": "x".repeat(100)}});
    assert_eq!(code(&servers[0].stateless("tools/call", &small)), "path_denied");
    let small = json!({"name": "write_file", "arguments": {"path": "project/small.txt", "content": "x".repeat(100)}});
    assert!(went_well(&servers[1].stateless("tools/call", &small)));
    home.verify();
}

#[test]
fn an_edit_may_write_what_is_left_of_the_budget_and_no_more() {
    let home = Home::new(Policy { limits: "write_per_hour = \"100\"", approvals: "level_2 = \"none\"", ..Policy::default() });
    let mut server = Server::start(&home);
    let edit = |old: &str, new: &str| json!({"name": "edit_file", "arguments": {"path": "project/notes.txt", "edits": [{"old_text": old, "new_text": new}]}});
    assert!(went_well(&server.stateless("tools/call", &edit("first", "1st"))));
    let refused = server.stateless("tools/call", &edit("second", &"x".repeat(90)));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(went_well(&server.stateless("tools/call", &edit("second", "2nd"))));
    assert_eq!(home.read("project/notes.txt"), "1st line\n2nd line\nthird line\n");
}

#[test]
fn a_suspension_holds_in_every_session_and_process_until_the_operator_resumes_it() {
    let home = home("rate_limit_per_minute = 500\nbreaker = { denials = 3, within = \"1m\", then = \"suspend\" }");
    let (mut one, mut two) = (Server::start(&home), Server::start(&home));
    let forbidden = json!({"name": "read_file", "arguments": {"path": "project/secrets/key.txt"}});
    for _ in 0..3 {
        assert_eq!(code(&one.stateless("tools/call", &forbidden)), "path_denied");
    }
    for server in [&mut one, &mut two] {
        assert_eq!(code(&server.stateless("tools/call", &read())), "suspended");
    }
    one.close();
    assert_eq!(code(&Server::start(&home).stateless("tools/call", &read())), "suspended", "a new session is no way out");
    let resumed = home.toolgate(&["resume", "--principal", "stdio"]).output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
    assert!(went_well(&two.stateless("tools/call", &read())));
    home.verify();
}

#[test]
fn more_calls_than_may_run_at_once_wait_for_their_turn() {
    let home = home("rate_limit_per_minute = 500\nconcurrent_calls = 1");
    let mut server = Server::start(&home);
    let asked: Vec<Value> = (0..20).map(|_| server.ask("tools/call", &with_meta(&read(), STATELESS))).collect();
    for id in asked {
        let answer = server.answer(&id);
        assert!(went_well(&answer), "{answer}");
    }
}

#[test]
fn a_call_that_never_gets_its_turn_is_refused_and_was_never_begun() {
    let home = home("rate_limit_per_minute = 500\nconcurrent_calls = 0");
    let mut server = Server::start(&home);
    assert_eq!(code(&server.stateless("tools/call", &read())), "quota");
    assert!(home.told("call.started", "read_file").is_empty());
}
