//! The operator's channel with the built binary, in both eras: what waits, who may answer, and that an answer is for one call alone.

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{STATELESS, Server, code, hello, repeat, until, went_well, with_meta, write};

pub(crate) const OPERATOR: Policy = Policy {
    approvals: "level_2 = \"operator\"\ntimeout = \"20s\"",
    limits: "concurrent_calls = 100\nbreaker = { denials = 1000, within = \"1m\" }",
    python: "",
};
const NOTES: &str = "first line\nsecond line\nthird line\n";
pub(crate) const SECRET: &str = "correct horse";

/// `toolgate approvals …` with these lines on its standard input.
pub(crate) fn approvals(home: &Home, arguments: &[&str], lines: &[&str]) -> Output {
    let mut command = home.toolgate(&["approvals"]);
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that needs no secret may have ended already.
    let _ = child.stdin.take().unwrap().write_all(lines.iter().fold(String::new(), |all, line| all + line + "\n").as_bytes());
    child.wait_with_output().unwrap()
}

pub(crate) fn said(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

/// Everything that waits.
pub(crate) fn waiting(home: &Home) -> Vec<Value> {
    let out = approvals(home, &["list", "--json"], &[]);
    String::from_utf8(out.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The id of the one question that waits.
pub(crate) fn the_one(home: &Home) -> String {
    until("a question to wait", || !waiting(home).is_empty());
    let mut all = waiting(home);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)["id"].as_str().unwrap().to_owned()
}

pub(crate) fn secret(home: &Home, name: &str, passphrase: &str, enroller: Option<&str>) {
    let lines: Vec<&str> = enroller.into_iter().chain([passphrase]).collect();
    let out = approvals(home, &["secret", "set", "--as", name], &lines);
    assert!(out.status.success(), "{}", said(&out));
}

pub(crate) fn house(policy: Policy) -> Home {
    let home = Home::new(policy);
    // Before any server ran: the state folder is made for it.
    secret(&home, "ann", SECRET, None);
    home
}

/// The call, and the state of its answer that only asks to come back.
fn asked(server: &mut Server, params: &Value) -> Value {
    let answer = server.stateless("tools/call", params);
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    assert!(result["inputRequests"].is_null(), "nothing is asked of the client: {answer}");
    assert_eq!(result["_meta"]["toolgate/approval"]["waits_for"], "operator", "{answer}");
    result["requestState"].clone()
}

#[test]
fn a_call_of_2026_07_28_comes_back_and_finds_the_operators_answer() {
    let home = house(OPERATOR);
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    let id = the_one(&home);
    let shown = approvals(&home, &["show", &id], &[]);
    assert!(said(&shown).contains("Change 3 lines of project/notes.txt") && said(&shown).contains("+ new"), "{}", said(&shown));
    let still = server.stateless("tools/call", &repeat(&write("new\n"), &state, None));
    assert_eq!(still["result"]["resultType"], "input_required", "{still}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
    assert!(approvals(&home, &["allow", &id], &[SECRET]).status.success());
    let done = server.stateless("tools/call", &repeat(&write("new\n"), &state, None));
    assert!(went_well(&done), "{done}");
    assert_eq!(home.read("project/notes.txt"), "new\n");
    assert_eq!(waiting(&home), Vec::<Value>::new());
    let replayed = server.stateless("tools/call", &repeat(&write("new\n"), &state, None));
    assert!(["approval_replayed", "approval_mismatch"].contains(&code(&replayed)), "{replayed}");
    server.close();
    home.verify();
    let answered = home.records().into_iter().find(|record| record["ev"] == "approval.answered").unwrap();
    assert_eq!((&answered["operator"], &answered["decision"], &answered["approval"]), (&json!("ann"), &json!("once"), &json!(id)));
    let started = &home.told("call.started", "write_file")[0];
    assert_eq!((&started["approval"], &started["reason"]), (&json!(id), &json!("approved")));
}

#[test]
fn a_call_of_an_older_client_waits_and_says_so() {
    let home = house(OPERATOR);
    let mut server = Server::greeted(&home, "2025-11-25");
    let mut params = write("new\n");
    params["_meta"] = json!({"progressToken": "p"});
    let call = server.ask("tools/call", &params);
    let id = the_one(&home);
    let beat = server.next_message(crate::mcp::server::PATIENCE).unwrap();
    assert_eq!((&beat["method"], &beat["params"]["progressToken"]), (&json!("notifications/progress"), &json!("p")), "{beat}");
    assert!(approvals(&home, &["allow", &id], &[SECRET]).status.success());
    let done = server.answer(&call);
    assert!(went_well(&done), "{done}");
    assert_eq!(home.read("project/notes.txt"), "new\n");
    server.close();
    home.verify();
}

#[test]
fn an_operators_no_ends_the_call_and_needs_no_secret() {
    let home = house(OPERATOR);
    let mut server = Server::greeted(&home, "2025-11-25");
    let call = server.ask("tools/call", &write("new\n"));
    let id = the_one(&home);
    assert!(approvals(&home, &["deny", &id, "--reason", "not now"], &[]).status.success());
    let answer = server.answer(&call);
    assert_eq!(code(&answer), "approval_refused", "{answer}");
    let mut modern = Server::start(&home);
    let state = asked(&mut modern, &write("new\n"));
    assert!(approvals(&home, &["deny", &the_one(&home)], &[]).status.success());
    for expected in ["approval_refused", "approval_replayed"] {
        let answer = modern.stateless("tools/call", &repeat(&write("new\n"), &state, None));
        assert_eq!(code(&answer), expected, "{answer}");
    }
    assert_eq!(home.read("project/notes.txt"), NOTES);
    modern.close();
    server.close();
    home.verify();
}

#[test]
fn nobody_allows_without_an_operators_own_secret() {
    let home = house(OPERATOR);
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    let id = the_one(&home);
    for (arguments, lines) in [
        (vec!["allow", &id], vec!["wrong horse"]),
        (vec!["allow", &id], vec![]),
        (vec!["allow", &id, "--as", "eve"], vec![SECRET]),
        (vec!["allow", "ap_0000000000"], vec![SECRET]),
        (vec!["allow", "../../keys/audit"], vec![SECRET]),
        // A second operator, made by nobody who is one.
        (vec!["secret", "set", "--as", "eve"], vec!["my own secret", "my own secret"]),
        (vec!["secret", "set", "--as", "ann"], vec!["my own secret", "my own secret"]),
        (vec!["secret", "set", "--as", "eve", "--as", "mallory"], vec!["my own secret", "another of mine"]),
        (vec!["secret", "remove", "ann"], vec!["my own secret"]),
        // Without the last operator, the next would need no enroller.
        (vec!["secret", "remove", "ann"], vec![SECRET]),
    ] {
        let out = approvals(&home, &arguments, &lines);
        assert!(!out.status.success(), "{arguments:?}: {}", said(&out));
    }
    let still = server.stateless("tools/call", &repeat(&write("new\n"), &state, None));
    assert_eq!(still["result"]["resultType"], "input_required", "{still}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
    server.close();
    assert!(home.records().iter().any(|record| record["ev"] == "operator.refused"));
    assert!(!home.records().iter().any(|record| record.to_string().contains("wrong horse")));
    home.verify();
}

#[test]
fn a_fifth_wrong_secret_closes_the_name_for_a_while() {
    let home = house(OPERATOR);
    let mut server = Server::start(&home);
    asked(&mut server, &write("new\n"));
    let id = the_one(&home);
    for _ in 0..5 {
        assert!(said(&approvals(&home, &["allow", &id], &["wrong horse"])).contains("not this operator's"));
    }
    let out = approvals(&home, &["allow", &id], &[SECRET]);
    assert!(!out.status.success() && said(&out).contains("too many wrong secrets"), "{}", said(&out));
}

const TWO: Policy = Policy { approvals: "two_persons = [\"write_file\"]\ntimeout = \"20s\"", ..OPERATOR };

#[test]
fn two_persons_means_two_different_operators() {
    let home = Home::new(TWO);
    for (names, lines) in
        [(["ann", "ann"], [SECRET, "battery staple"]), (["ann", "bob"], [SECRET, SECRET]), (["ann", "bob"], [SECRET, "short"])]
    {
        let out = approvals(&home, &["secret", "set", "--as", names[0], "--as", names[1]], &lines);
        assert!(!out.status.success(), "{names:?}: {}", said(&out));
        let listed = approvals(&home, &["secret", "list"], &[]);
        assert_eq!((said(&listed), listed.status.success()), (String::new(), true), "all of the first, or none");
    }
    let out = approvals(&home, &["secret", "set", "--as", "ann", "--as", "bob"], &[SECRET, "battery staple"]);
    assert!(out.status.success(), "{}", said(&out));
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    let id = the_one(&home);
    let first = approvals(&home, &["allow", &id, "--as", "ann"], &[SECRET]);
    assert!(said(&first).contains("1 more operator(s) must agree"), "{}", said(&first));
    let twice = approvals(&home, &["allow", &id, "--as", "ann"], &[SECRET]);
    assert!(!twice.status.success() && said(&twice).contains("already"), "{}", said(&twice));
    let still = server.stateless("tools/call", &repeat(&write("new\n"), &state, None));
    assert_eq!(still["result"]["resultType"], "input_required", "{still}");
    assert!(approvals(&home, &["allow", &id, "--as", "bob"], &["battery staple"]).status.success());
    let done = server.stateless("tools/call", &repeat(&write("new\n"), &state, None));
    assert!(went_well(&done), "{done}");
    server.close();
    home.verify();
}

#[test]
fn nobody_is_seconded_by_an_operator_whom_they_enrolled_alone() {
    let home = Home::new(TWO);
    secret(&home, "ann", SECRET, None);
    secret(&home, "ann2", "ann's second", Some(SECRET));
    let enrol = |lines: &[&str]| approvals(&home, &["secret", "set", "--as", "carl"], lines);
    for one in [&[SECRET, "third of these"][..], &["ann's second", "third of these"], &[SECRET, SECRET, "third of these"]] {
        let out = enrol(one);
        assert!(!out.status.success() && said(&out).contains("it takes two"), "{one:?}: {}", said(&out));
    }
    let out = enrol(&[SECRET, "ann's second", "third of these"]);
    assert!(out.status.success(), "{}", said(&out));
    let listed = said(&approvals(&home, &["secret", "list"], &[]));
    assert_eq!(listed, "ann\nann2  enrolled by ann alone\ncarl\n");
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    let id = the_one(&home);
    for (name, passphrase) in [("ann", SECRET), ("ann2", "ann's second")] {
        let out = approvals(&home, &["allow", &id, "--as", name], &[passphrase]);
        assert!(said(&out).contains("1 more operator(s) must agree"), "{name}: {}", said(&out));
        assert_eq!(said(&out).contains("enrolled the other alone"), name != "ann", "{name}: {}", said(&out));
    }
    assert_eq!(waiting(&home)[0]["agreed"], json!(["ann"]));
    // Also when the one who was enrolled is gone again.
    assert!(approvals(&home, &["secret", "remove", "ann2"], &["ann's second"]).status.success());
    let still = server.stateless("tools/call", &repeat(&write("new\n"), &state, None));
    assert_eq!(still["result"]["resultType"], "input_required", "{still}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
    // One of them is enough to refuse.
    assert!(approvals(&home, &["deny", &id], &[]).status.success());
    let refused = server.stateless("tools/call", &repeat(&write("new\n"), &state, None));
    assert_eq!(code(&refused), "approval_refused", "{refused}");
    server.close();
    home.verify();
}

#[test]
fn nobody_approves_a_call_of_their_own() {
    let home = house(OPERATOR);
    secret(&home, "stdio", "battery staple", Some(SECRET));
    let mut server = Server::start(&home);
    asked(&mut server, &write("new\n"));
    let out = approvals(&home, &["allow", &the_one(&home), "--as", "stdio"], &["battery staple"]);
    assert!(!out.status.success() && said(&out).contains("of their own"), "{}", said(&out));
}

#[test]
fn what_an_operator_allowed_is_compared_anew() {
    let home = house(OPERATOR);
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    assert!(approvals(&home, &["allow", &the_one(&home)], &[SECRET]).status.success());
    let other = server.stateless("tools/call", &repeat(&write("other\n"), &state, None));
    assert_eq!(code(&other), "approval_mismatch", "{other}");
    let state = asked(&mut server, &write("new\n"));
    assert!(approvals(&home, &["allow", &the_one(&home)], &[SECRET]).status.success());
    std::fs::write(home.path("project/notes.txt"), "somebody else was here\n").unwrap();
    let changed = server.stateless("tools/call", &repeat(&write("new\n"), &state, None));
    assert_eq!(code(&changed), "approval_mismatch", "{changed}");
    assert_eq!(home.read("project/notes.txt"), "somebody else was here\n");
    server.close();
    home.verify();
}

#[test]
fn a_client_cannot_answer_what_an_operator_was_asked() {
    let home = house(OPERATOR);
    let mut server = Server::start(&home);
    let state = asked(&mut server, &write("new\n"));
    let mut params = repeat(&write("new\n"), &state, None);
    params["inputResponses"] = json!({"approval": {"action": "accept", "content": {"decision": "once"}}});
    let answer = server.stateless("tools/call", &params);
    assert_eq!(code(&answer), "approval_wrong_channel", "{answer}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
}

#[test]
fn what_a_client_cannot_ask_waits_for_an_operator_where_the_manifest_says_so() {
    let home = house(Policy { approvals: "no_client_channel = \"operator\"\ntimeout = \"20s\"", ..OPERATOR });
    let mut modern = Server::start(&home);
    let mut params = with_meta(&write("modern\n"), STATELESS);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let answer = modern.request("tools/call", &params);
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    assert!(approvals(&home, &["allow", &the_one(&home)], &[SECRET]).status.success());
    params["requestState"] = answer["result"]["requestState"].clone();
    let done = modern.request("tools/call", &params);
    assert!(went_well(&done), "{done}");
    let mut older = Server::start(&home);
    let mut greeting = hello("2025-06-18");
    greeting["capabilities"] = json!({});
    older.request("initialize", &greeting);
    let call = older.ask("tools/call", &write("older\n"));
    assert!(approvals(&home, &["allow", &the_one(&home)], &[SECRET]).status.success());
    assert!(went_well(&older.answer(&call)));
    assert_eq!(home.read("project/notes.txt"), "older\n");
    // A client that can ask is asked, as ever.
    let asked = modern.stateless("tools/call", &write("third\n"));
    assert!(asked["result"]["inputRequests"]["approval"].is_object(), "{asked}");
}
