//! While a call waits for an operator: the same call again, many calls, the emergency stop, the end of the time, and whoever else reaches for the answer.

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::operator::{OPERATOR, SECRET, approvals, house, said, the_one, waiting};
use crate::mcp::server::{STATELESS, Server, code, repeat, until, went_well, with_meta, write};

fn append() -> Value {
    json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": "+", "mode": "append"}})
}

#[test]
fn of_sixty_four_repeats_that_race_for_an_operators_yes_one_acts() {
    let home = house(OPERATOR);
    let mut server = Server::start(&home);
    let state = server.stateless("tools/call", &append())["result"]["requestState"].clone();
    let ids: Vec<Value> = (0..64).map(|_| server.ask("tools/call", &with_meta(&repeat(&append(), &state, None), STATELESS))).collect();
    // They wait together; the yes falls among them.
    assert!(approvals(&home, &["allow", &the_one(&home)], &[SECRET]).status.success());
    let answers: Vec<Value> = ids.iter().map(|id| server.answer(id)).collect();
    let done = answers.iter().filter(|answer| went_well(answer)).count();
    assert_eq!(done, 1, "{}", answers.iter().map(code).collect::<Vec<_>>().join(" "));
    assert!(home.read("project/notes.txt").ends_with("third line\n+"));
    server.close();
    home.verify();
}

#[test]
fn the_same_call_asks_once_and_a_later_one_finds_the_answer() {
    let home = house(OPERATOR);
    let mut server = Server::greeted(&home, "2025-11-25");
    let first = server.ask("tools/call", &append());
    let id = the_one(&home);
    let second = server.ask("tools/call", &append());
    until("the question to be asked twice", || waiting(&home).first().is_some_and(|question| question["times"] == 2));
    assert_eq!(the_one(&home), id);
    assert!(approvals(&home, &["allow", &id], &[SECRET]).status.success());
    let answers = [server.answer(&first), server.answer(&second)];
    assert_eq!(answers.iter().filter(|answer| went_well(answer)).count(), 1, "{answers:?}");
    assert!(home.read("project/notes.txt").ends_with("third line\n+"), "one yes, one append");
    // A client that gave up and calls anew, after the operator has agreed.
    let given_up = server.ask("tools/call", &write("new\n"));
    let id = the_one(&home);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": given_up}}));
    assert!(approvals(&home, &["allow", &id], &[SECRET]).status.success());
    let done = server.call("write_file", &write("new\n")["arguments"]);
    assert!(went_well(&done) || home.read("project/notes.txt") == "new\n", "{done}");
    server.close();
    let reasons: Vec<Value> = home.told("tool.denied", "write_file").iter().map(|record| record["reason"].clone()).collect();
    assert!(reasons.contains(&json!("cancelled")) && !reasons.contains(&json!("approval_expired")), "{reasons:?}");
    home.verify();
}

/// The same call elsewhere takes the answer and its question away before this one has looked.
#[test]
fn a_call_whose_twin_took_the_operators_yes_waits_no_more() {
    let home = house(OPERATOR);
    let mut server = Server::greeted(&home, "2025-11-25");
    let call = server.ask("tools/call", &append());
    let id = the_one(&home);
    until("the call to look for its answer", || home.state().join("used").is_dir());
    std::fs::write(home.state().join("used").join(&id), "").unwrap();
    let answer = server.answer(&call);
    assert_eq!(code(&answer), "approval_replayed", "{answer}");
    assert!(!home.read("project/notes.txt").ends_with('+'));
    server.close();
    home.verify();
}

#[test]
fn a_flood_of_questions_is_refused_and_says_so() {
    let home = house(OPERATOR);
    let mut server = Server::start(&home);
    let answers: Vec<Value> = (0..20).map(|n| server.stateless("tools/call", &write(&n.to_string()))).collect();
    let waits = answers.iter().filter(|answer| answer["result"]["resultType"] == "input_required").count();
    assert_eq!((waits, waiting(&home).len()), (16, 16));
    let refused = answers.last().unwrap();
    assert_eq!(code(refused), "rate_limited", "{refused}");
    assert!(refused["result"]["structuredContent"]["retry_after_s"].is_u64() && refused.to_string().contains("16 questions"), "{refused}");
    // The client's own person is not flooded either.
    let home = Home::new(Policy { approvals: "", ..OPERATOR });
    let mut server = Server::start(&home);
    let answers: Vec<Value> = (0..20).map(|n| server.stateless("tools/call", &write(&n.to_string()))).collect();
    assert_eq!(answers.iter().filter(|answer| answer["result"]["resultType"] == "input_required").count(), 16);
    assert_eq!(code(answers.last().unwrap()), "rate_limited");
}

#[test]
fn the_emergency_stop_refuses_what_waits_for_a_person_at_once() {
    let home = house(OPERATOR);
    let mut server = Server::greeted(&home, "2025-11-25");
    let by_operator = server.ask("tools/call", &write("new\n"));
    the_one(&home);
    assert!(home.toolgate(&["kill", "--reason", "test"]).output().unwrap().status.success());
    let answer = server.answer(&by_operator);
    assert_eq!(code(&answer), "killed", "{answer}");
    assert_eq!(waiting(&home), Vec::<Value>::new());
    server.close();
    let home = Home::new(Policy { approvals: "", ..OPERATOR });
    let mut server = Server::greeted(&home, "2025-11-25");
    let by_client = server.ask("tools/call", &write("new\n"));
    let question = server.next_message(crate::mcp::server::PATIENCE).unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert!(home.toolgate(&["kill", "--reason", "test"]).output().unwrap().status.success());
    assert_eq!(code(&server.answer(&by_client)), "killed");
    server.close();
    home.verify();
}

#[test]
fn a_question_that_nobody_answers_is_a_no() {
    let home = house(Policy { approvals: "level_2 = \"operator\"\ntimeout = \"1s\"", ..OPERATOR });
    let mut server = Server::greeted(&home, "2025-11-25");
    let answer = server.call("write_file", &write("new\n")["arguments"]);
    assert_eq!(code(&answer), "approval_expired", "{answer}");
    assert_eq!(waiting(&home), Vec::<Value>::new());
    server.close();
    assert!(home.records().iter().any(|record| record["ev"] == "approval.expired"));
    home.verify();
}

#[test]
fn the_queue_is_shared_and_the_state_opens_for_no_other_installation() {
    let home = house(OPERATOR);
    let mut one = Server::start(&home);
    let mut other = Server::start(&home);
    let state = one.stateless("tools/call", &write("one\n"))["result"]["requestState"].clone();
    other.stateless("tools/call", &write("other\n"));
    assert_eq!(waiting(&home).len(), 2, "one list for both servers");
    let id = waiting(&home).into_iter().find(|question| question["text"].as_str().unwrap().contains("+ one")).unwrap();
    assert!(approvals(&home, &["allow", id["id"].as_str().unwrap()], &[SECRET]).status.success());
    assert!(went_well(&one.stateless("tools/call", &repeat(&write("one\n"), &state, None))));
    let elsewhere = house(OPERATOR);
    let mut foreign = Server::start(&elsewhere);
    let answer = foreign.stateless("tools/call", &repeat(&write("one\n"), &state, None));
    assert_eq!(code(&answer), "approval_mismatch", "{answer}");
    // A server that was killed leaves a dead socket, and the rest go on.
    one.signal("-KILL");
    one.wait();
    assert_eq!(waiting(&home).len(), 1);
}

#[test]
fn nothing_below_the_gate_reaches_the_operators_socket_or_queue() {
    let home = house(OPERATOR);
    // The state folder lies in a root, as when a person serves a whole folder.
    let root = Value::from(home.state().parent().unwrap().to_str().unwrap()).to_string();
    let manifest = format!(
        "version = 1\n[clients]\nstdio = \"all\"\n[roots.whole]\npath = {root}\nmode = \"rw\"\nallowed_paths = [\"**\"]\n\
         [python]\ncheck = \"off\"\n[profiles.all]\npermissions = [\"FULL\"]\nallowed_tools = [\"*\"]\n\
         [approvals]\nlevel_2 = \"operator\"\n[limits]\nrate_limit_per_minute = 100\n"
    );
    std::fs::write(home.manifest(), manifest).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let pending = server.ask("tools/call", &json!({"name": "delete_file", "arguments": {"path": "whole/project/notes.txt"}}));
    let id = the_one(&home);
    let answer = format!("whole/state/approvals/{id}.by.0000000000000000");
    for (tool, arguments) in [
        ("read_file", json!({"path": format!("whole/state/approvals/{id}.json")})),
        ("list_directory", json!({"path": "whole/state/operator"})),
        ("write_file", json!({"path": answer, "content": "{}"})),
        ("write_file", json!({"path": "whole/state/operators/x.json", "content": "{}"})),
        ("create_directory", json!({"path": "whole/state/used/ap_0000"})),
        ("read_file", json!({"path": "whole/state/keys/operator-answers"})),
        ("move_file", json!({"from": "whole/state", "to": "whole/elsewhere"})),
        ("delete_file", json!({"path": "whole/state", "recursive": true})),
        ("delete_file", json!({"path": "whole/state/KILL"})),
    ] {
        let answer = server.call(tool, &arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
    }
    let socket = std::fs::read_dir(home.state().join("operator")).unwrap().next().unwrap().unwrap().path();
    let program = format!(
        "import socket\nfor place in [{0}, '/proc/1/root' + {0}]:\n    try:\n        socket.socket(socket.AF_UNIX).connect(place)\n        \
         print('rea' + 'ched')\n    except OSError:\n        print('closed')\n",
        Value::from(socket.to_str().unwrap())
    );
    let ran = server.call("run_python", &json!({"code": program}));
    assert!(!ran.to_string().contains("reached"), "{ran}");
    assert!(
        ran["result"]["structuredContent"]["stdout"] == "closed\nclosed\n"
            || ran["result"]["structuredContent"]["code"] == "sandbox_unavailable",
        "{ran}"
    );
    assert!(approvals(&home, &["deny", &id], &[]).status.success());
    assert_eq!(code(&server.answer(&pending)), "approval_refused");
    server.close();
    home.verify();
}

#[test]
fn without_a_server_nothing_can_be_answered() {
    let home = house(OPERATOR);
    let out = approvals(&home, &["list"], &[]);
    assert!(out.status.code() == Some(1) && said(&out).contains("no server is running"), "{}", said(&out));
    let mut server = Server::start(&home);
    server.stateless("tools/call", &write("new\n"));
    assert!(said(&approvals(&home, &["list"], &[])).contains("Change 3 lines of project/notes.txt"));
    server.close();
    assert_eq!(approvals(&home, &["list"], &[]).status.code(), Some(1));
}
