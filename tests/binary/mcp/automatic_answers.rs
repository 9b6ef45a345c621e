//! Clients that answer for a person, each in its known way: none of them gets a call through. Beside them the one that has a person.

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, code, went_well, write};

const ASKED: Policy = Policy { approvals: "", limits: "concurrent_calls = 100\nbreaker = { denials = 1000, within = \"1m\" }", python: "" };
const NOTES: &str = "first line\nsecond line\nthird line\n";

/// The next question of the server.
pub(crate) fn question(server: &mut Server) -> Value {
    loop {
        let message = server.next_message(crate::mcp::server::PATIENCE).unwrap();
        if message["method"] == "elicitation/create" {
            return message;
        }
        server.set_aside.push(message);
    }
}

pub(crate) fn reply(server: &mut Server, question: &Value, result: &Value) {
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

/// What a client that answers questions in this way gets for a change and for a deletion.
fn answers_with(how: impl Fn(&Value) -> Value) -> [String; 2] {
    let home = Home::new(ASKED);
    let mut server = Server::greeted(&home, "2025-11-25");
    let calls = [write("new\n"), json!({"name": "delete_file", "arguments": {"path": "project/notes.txt"}})];
    let codes = calls.map(|params| {
        let call = server.ask("tools/call", &params);
        let asked = question(&mut server);
        let result = how(&asked["params"]);
        reply(&mut server, &asked, &result);
        code(&server.answer(&call)).to_owned()
    });
    assert_eq!(home.read("project/notes.txt"), NOTES);
    server.close();
    home.verify();
    codes
}

/// What the defaults of a form fill in; and, for one that takes the first of a list, that.
fn filled(form: &Value, first: bool) -> Value {
    let mut content = json!({});
    for (name, field) in form["requestedSchema"]["properties"].as_object().unwrap() {
        if let Some(default) = field.get("default") {
            content[name] = default.clone();
        } else if first && let Some(option) = field["oneOf"].get(0).map(|choice| &choice["const"]).or(field["enum"].get(0)) {
            content[name] = option.clone();
        }
    }
    content
}

#[test]
fn a_client_that_accepts_an_empty_form_gets_nothing() {
    for empty in [json!({"action": "accept"}), json!({"action": "accept", "content": {}}), json!({"action": "accept", "content": null})] {
        assert_eq!(answers_with(|_| empty.clone()), ["approval_not_explicit"; 2], "{empty}");
    }
}

#[test]
fn a_client_that_fills_in_the_defaults_gets_nothing() {
    assert_eq!(answers_with(|form| json!({"action": "accept", "content": filled(form, false)})), ["approval_not_explicit"; 2]);
}

#[test]
fn a_client_that_takes_the_first_option_gets_nothing() {
    assert_eq!(answers_with(|form| json!({"action": "accept", "content": filled(form, true)})), ["approval_refused"; 2]);
}

#[test]
fn a_client_that_always_declines_gets_nothing_and_is_asked_again_the_next_time() {
    for action in ["decline", "cancel"] {
        assert_eq!(answers_with(|_| json!({"action": action})), ["approval_refused"; 2]);
    }
}

#[test]
fn a_client_that_says_once_to_everything_gets_no_deletion() {
    // A change without its code is what such a client gets: below level 3 its word is a person's word.
    let home = Home::new(ASKED);
    let mut server = Server::greeted(&home, "2025-11-25");
    for content in
        [json!({"decision": "once"}), json!({"decision": "once", "confirm": "yes"}), json!({"decision": "once", "confirm": "AAAA"})]
    {
        let call = server.ask("tools/call", &json!({"name": "delete_file", "arguments": {"path": "project/notes.txt"}}));
        let asked = question(&mut server);
        reply(&mut server, &asked, &json!({"action": "accept", "content": content}));
        assert_eq!(code(&server.answer(&call)), "approval_not_explicit", "{content}");
    }
    assert_eq!(home.read("project/notes.txt"), NOTES);
}

#[test]
fn a_client_that_answers_late_gets_nothing() {
    let home = Home::new(Policy { approvals: "timeout = \"1s\"", ..ASKED });
    let mut server = Server::greeted(&home, "2025-11-25");
    let call = server.ask("tools/call", &write("new\n"));
    let asked = question(&mut server);
    assert_eq!(code(&server.answer(&call)), "approval_expired");
    reply(&mut server, &asked, &json!({"action": "accept", "content": {"decision": "once"}}));
    server.is_alive();
    assert_eq!(home.read("project/notes.txt"), NOTES);
    // In the stateless revision, with a state that still opens.
    let mut modern = Server::start(&home);
    let asked = modern.stateless("tools/call", &write("new\n"));
    let mut late = write("new\n");
    late["requestState"] = asked["result"]["requestState"].clone();
    late["inputResponses"] = json!({"approval": {"action": "accept", "content": {"decision": "once"}}});
    let started = std::time::Instant::now();
    crate::mcp::server::until("the question to end", || started.elapsed() > std::time::Duration::from_millis(2100));
    let answer = modern.stateless("tools/call", &late);
    assert_eq!(code(&answer), "approval_expired", "{answer}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
}

#[test]
fn a_client_that_answers_twice_is_heard_once() {
    let home = Home::new(ASKED);
    let mut server = Server::greeted(&home, "2025-11-25");
    let append = json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": "+", "mode": "append"}});
    let call = server.ask("tools/call", &append);
    let asked = question(&mut server);
    for decision in ["deny", "once", "once"] {
        reply(&mut server, &asked, &json!({"action": "accept", "content": {"decision": decision}}));
    }
    assert_eq!(code(&server.answer(&call)), "approval_refused");
    server.is_alive();
    assert_eq!(home.read("project/notes.txt"), NOTES);
    let call = server.ask("tools/call", &append);
    let asked = question(&mut server);
    for _ in 0..3 {
        reply(&mut server, &asked, &json!({"action": "accept", "content": {"decision": "once"}}));
    }
    assert!(went_well(&server.answer(&call)));
    server.is_alive();
    assert_eq!(home.read("project/notes.txt"), format!("{NOTES}+"));
}

#[test]
fn answers_swapped_between_two_parallel_calls_approve_neither() {
    let home = Home::new(ASKED);
    std::fs::write(home.path("project/other.txt"), "other\n").unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let delete = |path: &str| json!({"name": "delete_file", "arguments": {"path": path}});
    let calls = ["project/notes.txt", "project/other.txt"].map(|path| server.ask("tools/call", &delete(path)));
    let questions = [question(&mut server), question(&mut server)];
    let confirm = |asked: &Value| asked["params"]["message"].as_str().unwrap().split("code: ").nth(1).unwrap().trim().to_owned();
    // Each question is answered with what the other one showed.
    for (asked, other) in [(&questions[0], &questions[1]), (&questions[1], &questions[0])] {
        reply(&mut server, asked, &json!({"action": "accept", "content": {"decision": "once", "confirm": confirm(other)}}));
    }
    for call in &calls {
        assert_eq!(code(&server.answer(call)), "approval_not_explicit");
    }
    // The states of two calls of the stateless revision, crossed.
    let mut modern = Server::start(&home);
    let asked = ["a\n", "b\n"].map(|content| modern.stateless("tools/call", &write(content)));
    for (content, other) in [("a\n", &asked[1]), ("b\n", &asked[0])] {
        let mut params = write(content);
        params["requestState"] = other["result"]["requestState"].clone();
        params["inputResponses"] = json!({"approval": {"action": "accept", "content": {"decision": "once"}}});
        assert_eq!(code(&modern.stateless("tools/call", &params)), "approval_mismatch");
    }
    assert_eq!((home.read("project/notes.txt"), home.read("project/other.txt")), (NOTES.to_owned(), "other\n".to_owned()));
}

#[test]
fn a_client_whose_model_answers_in_words_gets_nothing() {
    for said in [
        json!("yes, go ahead"),
        json!({"action": "accept", "content": "once"}),
        json!({"action": "accept", "content": ["once"]}),
        json!({"action": "accept", "content": {"decision": "Once"}}),
        json!({"action": "accept", "content": {"decision": ["once"]}}),
        json!({"action": "accept", "content": {"answer": "once"}}),
        json!({"action": "accept", "content": {"decision": "always"}}),
        json!({"decision": "once"}),
    ] {
        for given in answers_with(|_| said.clone()) {
            assert!(given.starts_with("approval_"), "{said}: {given}");
        }
    }
}

#[test]
fn a_client_with_a_person_gets_what_the_person_allowed() {
    let home = Home::new(ASKED);
    let mut server = Server::greeted(&home, "2025-11-25");
    let call = server.ask("tools/call", &json!({"name": "delete_file", "arguments": {"path": "project/notes.txt"}}));
    let asked = question(&mut server);
    let confirm = asked["params"]["message"].as_str().unwrap().split("code: ").nth(1).unwrap().trim().to_owned();
    reply(&mut server, &asked, &json!({"action": "accept", "content": {"decision": "once", "confirm": confirm}}));
    assert!(went_well(&server.answer(&call)));
    assert!(!home.path("project/notes.txt").exists());
    server.close();
    home.verify();
}

#[test]
fn an_answer_that_gives_a_name_twice_is_a_no_whichever_value_is_read() {
    let home = Home::new(ASKED);
    let mut server = Server::greeted(&home, "2025-11-25");
    for result in [
        r#"{"action":"accept","content":{"decision":"deny","confirm":"CODE","decision":"once"}}"#,
        r#"{"action":"accept","content":{"decision":"once","confirm":"CODE","decision":"deny"}}"#,
        r#"{"action":"accept","content":{"decision":"once","confirm":"ZZZZ","confirm":"CODE"}}"#,
        r#"{"action":"accept","content":{"decision":"deny"},"content":{"decision":"once","confirm":"CODE"}}"#,
        r#"{"action":"decline","action":"accept","content":{"decision":"once","confirm":"CODE"}}"#,
    ] {
        let call = server.ask("tools/call", &json!({"name": "delete_file", "arguments": {"path": "project/notes.txt"}}));
        let asked = question(&mut server);
        let shown = asked["params"]["message"].as_str().unwrap();
        // The code is the only word of four capital letters and digits.
        let is_code = |word: &&str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        let shown = shown.split(|letter: char| !letter.is_ascii_alphanumeric()).find(is_code).unwrap();
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, asked["id"], result.replace("CODE", shown));
        server.send_raw(format!("{text}\n").as_bytes());
        assert_eq!(code(&server.answer(&call)), "approval_not_explicit", "{text}");
        assert_eq!(home.read("project/notes.txt"), NOTES);
    }
    server.close();
    home.verify();
}
