//! Approvals over the wire, by a client that cheats: sealed state that was changed, used twice, raced, or sent with other arguments.

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{STATELESS, Server, code, repeat, went_well, with_meta, write};

const NOTES: &str = "first line\nsecond line\nthird line\n";

fn yes() -> Value {
    json!({"action": "accept", "content": {"decision": "once"}})
}

/// Makes a call that must be asked for, and gives the sealed state.
fn asked(server: &mut Server, params: &Value) -> Value {
    let answer = server.stateless("tools/call", params);
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let requests = result["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["approval"], "{answer}");
    assert_eq!(requests["approval"]["method"], "elicitation/create", "{answer}");
    let choices = requests["approval"]["params"]["requestedSchema"]["properties"]["decision"]["oneOf"].as_array().unwrap();
    let values: Vec<&str> = choices.iter().map(|choice| choice["const"].as_str().unwrap()).collect();
    let expected: &[&str] = match params["name"].as_str() {
        Some("write_file" | "edit_file") => &["deny", "once", "session", "session_folder", "session_root"],
        _ => &["deny", "once", "session"],
    };
    assert!(values == expected || values == ["deny", "once"], "{answer}");
    assert!(result["requestState"].is_string(), "{answer}");
    result["requestState"].clone()
}

#[test]
fn a_repeat_with_a_yes_does_what_was_shown_and_only_once() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    assert_eq!(home.read("project/notes.txt"), NOTES);
    let done = server.stateless("tools/call", &repeat(&write("new\n"), &state, Some(yes())));
    assert!(went_well(&done), "{done}");
    assert_eq!(home.read("project/notes.txt"), "new\n");
    std::fs::write(home.path("project/notes.txt"), NOTES).unwrap();
    let again = server.stateless("tools/call", &repeat(&write("new\n"), &state, Some(yes())));
    assert!(["approval_replayed", "approval_mismatch"].contains(&code(&again)), "{again}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
    server.close();
    home.verify();
}

#[test]
fn a_used_yes_stays_used_in_another_process() {
    let home = Home::new(Policy::default());
    let mut first = Server::start(&home);
    let delete = json!({"name": "move_file", "arguments": {"from": "project/notes.txt", "to": "project/moved.txt"}});
    let answer = first.stateless("tools/call", &delete);
    let state = &answer["result"]["requestState"];
    assert!(state.is_string(), "{answer}");
    let done = first.stateless("tools/call", &repeat(&delete, state, Some(yes())));
    assert!(went_well(&done), "{done}");
    first.close();
    std::fs::rename(home.path("project/moved.txt"), home.path("project/notes.txt")).unwrap();
    let mut second = Server::start(&home);
    let again = second.stateless("tools/call", &repeat(&delete, state, Some(yes())));
    assert!(
        again["error"].is_object() || again["result"]["isError"] == true || again["result"]["resultType"] == "input_required",
        "{again}"
    );
    assert!(home.path("project/notes.txt").exists() && !home.path("project/moved.txt").exists());
    second.close();
    home.verify();
}

#[test]
fn a_repeat_with_other_arguments_or_another_tool_does_neither() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    let other = server.stateless("tools/call", &repeat(&write("other\n"), &state, Some(yes())));
    assert_eq!(code(&other), "approval_mismatch", "{other}");
    let state = asked(&mut server, &write("new\n"));
    let delete = json!({"name": "delete_file", "arguments": {"path": "project/notes.txt"}});
    let other = server.stateless("tools/call", &repeat(&delete, &state, Some(yes())));
    assert_eq!(code(&other), "approval_mismatch", "{other}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
    server.close();
    home.verify();
}

#[test]
fn a_file_that_changed_since_it_was_shown_is_not_replaced() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    std::fs::write(home.path("project/notes.txt"), "somebody else was here\n").unwrap();
    let answer = server.stateless("tools/call", &repeat(&write("new\n"), &state, Some(yes())));
    assert_eq!(code(&answer), "approval_mismatch", "{answer}");
    assert_eq!(home.read("project/notes.txt"), "somebody else was here\n");
}

#[test]
fn a_state_that_was_changed_or_made_up_opens_nothing() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    let sealed = state.as_str().unwrap();
    let middle = sealed.len() / 2;
    let flipped: String = sealed.char_indices().map(|(at, c)| if at == middle { if c == 'A' { 'B' } else { 'A' } } else { c }).collect();
    let half = sealed.get(..middle).unwrap();
    for forged in [flipped.as_str(), "", "x", half] {
        let answer = server.stateless("tools/call", &repeat(&write("new\n"), &json!(forged), Some(yes())));
        assert!(answer["error"]["code"] == -32602 || answer["result"]["isError"] == true, "{forged:?}: {answer}");
        assert_eq!(home.read("project/notes.txt"), NOTES, "{forged:?}");
    }
    // A state sealed with another key: another state folder.
    let elsewhere = Home::new(Policy::default());
    let foreign = asked(&mut Server::start(&elsewhere), &write("new\n"));
    let answer = server.stateless("tools/call", &repeat(&write("new\n"), &foreign, Some(yes())));
    assert!(answer["error"]["code"] == -32602 || answer["result"]["isError"] == true, "{answer}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
}

#[test]
fn of_sixty_four_racing_repeats_one_acts() {
    let home = Home::new(Policy { limits: "concurrent_calls = 100\nbreaker = { denials = 1000, within = \"1m\" }", ..Policy::default() });
    let mut server = Server::start(&home);
    let append = json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": "+", "mode": "append"}});
    let state = asked(&mut server, &append);
    let ids: Vec<Value> = (0..64).map(|_| server.ask("tools/call", &with_meta(&repeat(&append, &state, Some(yes())), STATELESS))).collect();
    let answers: Vec<Value> = ids.iter().map(|id| server.answer(id)).collect();
    let done = answers.iter().filter(|answer| answer["result"].is_object() && answer["result"]["isError"].as_bool() != Some(true)).count();
    assert_eq!(done, 1, "{}", answers.iter().map(code).collect::<Vec<_>>().join(" "));
    assert_eq!(home.read("project/notes.txt"), format!("{NOTES}+"));
    server.close();
    home.verify();
}

#[test]
fn a_missing_answer_is_asked_for_again_and_an_empty_one_is_a_no() {
    let home = Home::new(Policy { limits: "breaker = { denials = 1000, within = \"1m\" }", ..Policy::default() });
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    let mut params = write("new\n");
    params["requestState"] = state.clone();
    let without = server.stateless("tools/call", &params);
    assert!(without["result"]["resultType"] == "input_required" || without["result"]["isError"] == true, "{without}");
    for (response, expected) in [
        (json!({"action": "accept"}), "approval_not_explicit"),
        (json!({"action": "accept", "content": {"decision": "yes"}}), "approval_not_explicit"),
        (json!({"action": "accept", "content": {"decision": true}}), "approval_not_explicit"),
        (json!({"action": "decline", "content": {"decision": "once"}}), "approval_refused"),
        (json!({"action": "cancel"}), "approval_refused"),
        (json!({"action": "ACCEPT", "content": {"decision": "once"}}), "approval_refused"),
    ] {
        let state = asked(&mut server, &write("new\n"));
        let answer = server.stateless("tools/call", &repeat(&write("new\n"), &state, Some(response.clone())));
        assert_eq!(code(&answer), expected, "{response}: {answer}");
        let again = server.stateless("tools/call", &repeat(&write("new\n"), &state, Some(yes())));
        assert_eq!(code(&again), "approval_replayed", "a no takes no second answer: {again}");
    }
    assert_eq!(home.read("project/notes.txt"), NOTES);
}

#[test]
fn a_client_that_declares_no_forms_is_never_asked_in_either_era() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let mut params = with_meta(&write("new\n"), STATELESS);
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        let answer = server.request("tools/call", &params);
        assert_eq!(code(&answer), "no_approval_channel", "{answer}");
        assert!(answer["result"]["structuredContent"]["hint"].is_string(), "{answer}");
    }
    let mut server = Server::start(&home);
    server
        .request("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}));
    let answer = server.call("write_file", &write("new\n")["arguments"]);
    assert_eq!(code(&answer), "no_approval_channel", "{answer}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
}

#[test]
fn the_program_in_a_question_cannot_write_the_question() {
    let home = Home::new(Policy { approvals: "level_1 = \"every\"", ..Policy::default() });
    let mut server = Server::start(&home);
    let content = "x\u{1b}[2J\u{202e}\r\ncode: AAAA\u{2028}Approved";
    let answer =
        server.stateless("tools/call", &json!({"name": "write_file", "arguments": {"path": "project/new.txt", "content": content}}));
    let message = answer["result"]["inputRequests"]["approval"]["params"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(!message.contains(['\u{1b}', '\u{202e}', '\u{2028}', '\r']), "{message:?}");
    assert!(message.lines().all(|line| !line.starts_with("code: AAAA")), "{message}");
}

#[test]
fn nobody_is_asked_about_what_cannot_be_done() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let notes = "project/notes.txt";
    for (tool, arguments, expected) in [
        ("edit_file", json!({"path": notes, "edits": [{"old_text": "fourth", "new_text": "4"}]}), "edit_mismatch"),
        ("edit_file", json!({"path": "project/none.txt", "edits": [{"old_text": "a", "new_text": "b"}]}), "not_found"),
        ("write_file", json!({"path": notes, "content": "new", "expected_sha256": "0".repeat(64)}), "conflict"),
        ("move_file", json!({"from": "project/none.txt", "to": "project/new.txt"}), "not_found"),
        ("move_file", json!({"from": "project/src", "to": "project/src/inner"}), "argument_invalid"),
        ("move_file", json!({"from": "project/src", "to": notes}), "already_exists"),
        ("delete_file", json!({"path": "project/none.txt"}), "not_found"),
        ("delete_file", json!({"path": "project/src"}), "directory_not_empty"),
    ] {
        let answer = server.stateless("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(code(&answer), expected, "{tool} {arguments}: {answer}");
    }
    asked(&mut server, &json!({"name": "edit_file", "arguments": {"path": notes, "edits": [{"old_text": "first", "new_text": "1"}]}}));
    asked(&mut server, &json!({"name": "delete_file", "arguments": {"path": "project/src", "recursive": true}}));
    assert_eq!(home.read(notes), NOTES);
    server.close();
    home.verify();
}
