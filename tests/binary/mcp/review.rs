//! Reviewers with the built binary: a program in a jail, and the client's own model. They tighten; nothing they say or fail to say lets a call through.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::operator::{SECRET, approvals, secret, the_one};
use crate::mcp::server::{Server, code, hello, went_well};

const FREE: Policy =
    Policy { approvals: "level_2 = \"none\"\nlevel_3 = \"every\"", limits: "breaker = { denials = 1000, within = \"1m\" }", python: "" };
const NOTES: &str = "first line\nsecond line\nthird line\n";

/// A house whose reviewer is this shell script; none where no jail can be had.
fn reviewed(script: &str, more: &str) -> Home {
    let home = Home::new(FREE);
    let program = home.path("review.sh");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = Value::from(program.to_str().unwrap());
    let reviewers = format!("[review]\nfrom_level = 2\nreviewers = [{{ command = [{command}], timeout = \"20s\" }}{more}]\n");
    let manifest = std::fs::read_to_string(home.manifest()).unwrap();
    std::fs::write(home.manifest(), manifest + &reviewers).unwrap();
    home
}

fn write(server: &mut Server, content: &str) -> Value {
    server.stateless("tools/call", &json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": content}}))
}

fn verdicts(home: &Home) -> Vec<Value> {
    home.records().into_iter().filter(|record| record["ev"] == "review.verdict").collect()
}

/// Whether reviewers' programs can be held here; says why where they cannot.
fn can_be_held() -> bool {
    let home = reviewed("echo allow", "");
    let mut server = Server::start(&home);
    let held = went_well(&write(&mut server, "x\n"));
    server.close();
    if !held {
        eprintln!("skipped: no program can be jailed here: {:?}", verdicts(&home));
    }
    held
}

#[test]
fn a_reviewer_that_allows_changes_nothing_and_one_that_denies_ends_the_call() {
    if !can_be_held() {
        return;
    }
    let home = reviewed(
        "input=$(cat)\ncase \"$input\" in *wicked*) echo '{\"verdict\":\"deny\",\"reason\":\"wicked\"}';; *) echo '{\"verdict\":\"allow\"}';; esac",
        "",
    );
    let mut server = Server::start(&home);
    let done = write(&mut server, "kind\n");
    assert!(went_well(&done), "{done}");
    let denied = write(&mut server, "something wicked\n");
    assert_eq!(code(&denied), "review_denied", "{denied}");
    assert!(!denied.to_string().contains("wicked\""), "the reviewer's words are the operator's: {denied}");
    assert_eq!(home.read("project/notes.txt"), "kind\n");
    // Below its level nobody is asked.
    assert!(went_well(&server.stateless("tools/call", &json!({"name": "read_file", "arguments": {"path": "project/notes.txt"}}))));
    server.close();
    home.verify();
    let said: Vec<Value> = verdicts(&home).iter().map(|record| json!([record["decision"], record["why"]])).collect();
    assert_eq!(said, [json!(["allow", ""]), json!(["deny", "wicked"])]);
}

#[test]
fn a_reviewer_that_fails_doubts_or_says_something_else_asks_a_person() {
    if !can_be_held() {
        return;
    }
    for script in [
        "exit 3",
        "echo allow; exit 1",
        "echo perhaps",
        "echo '{\"verdict\":\"allow\"'",
        "echo '{\"verdict\":\"ask\"}'",
        "kill -9 $$",
        "while :; do :; done",
        "yes allow",
        ":",
    ] {
        let home = reviewed(script, "");
        let mut server = Server::start(&home);
        let answer = write(&mut server, "new\n");
        let form = &answer["result"]["inputRequests"]["approval"]["params"]["requestedSchema"]["required"];
        assert_eq!(*form, json!(["decision", "confirm"]), "level 3 asks with a code: {script}: {answer}");
        assert_eq!(home.read("project/notes.txt"), NOTES, "{script}");
        server.close();
        assert_ne!(verdicts(&home)[0]["decision"], "allow", "{script}");
        home.verify();
    }
}

#[test]
fn the_state_of_a_call_that_was_reviewed_spares_no_other_call_its_review() {
    if !can_be_held() {
        return;
    }
    let home = reviewed("input=$(cat)\ncase \"$input\" in *wicked*) echo deny;; *) echo allow;; esac", "");
    let mut server = Server::start(&home);
    let delete = json!({"name": "delete_file", "arguments": {"path": "project/src/apples.csv"}});
    let asked = server.stateless("tools/call", &delete);
    let state = asked["result"]["requestState"].clone();
    assert!(state.is_string(), "{asked}");
    // A change needs no person here, and the state says that its reviewers agreed: to something else.
    let wicked = json!({
        "name": "write_file",
        "arguments": {"path": "project/notes.txt", "content": "something wicked\n"},
        "requestState": state,
        "inputResponses": {"approval": {"action": "accept", "content": {"decision": "once"}}},
    });
    let answer = server.stateless("tools/call", &wicked);
    assert_eq!(code(&answer), "review_denied", "{answer}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
    server.close();
    home.verify();
}

#[test]
fn what_a_person_was_asked_after_a_review_is_done_without_another() {
    if !can_be_held() {
        return;
    }
    let home = reviewed("echo ask", "");
    let mut server = Server::start(&home);
    let params = json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": "new\n"}});
    let asked = server.stateless("tools/call", &params);
    let text = asked["result"]["inputRequests"]["approval"]["params"]["message"].as_str().unwrap();
    let confirm = text.split("code: ").nth(1).unwrap().trim();
    let mut again = params.clone();
    again["requestState"] = asked["result"]["requestState"].clone();
    again["inputResponses"] = json!({"approval": {"action": "accept", "content": {"decision": "once", "confirm": confirm}}});
    let done = server.stateless("tools/call", &again);
    assert!(went_well(&done), "{done}");
    server.close();
    assert_eq!(verdicts(&home).len(), 1);
    home.verify();
}

#[test]
fn a_reviewer_is_behind_walls_of_its_own() {
    if !can_be_held() {
        return;
    }
    // It says `deny` as soon as anything of the host is in its reach.
    let home = reviewed("x", "");
    let (secret_file, state) = (home.path("project/notes.txt"), home.state());
    let script = format!(
        "#!/bin/sh\ncat > /tmp/input\nfor place in '{0}' '{1}/keys' /root /home /etc/shadow; do\n  if ls \"$place\" >/dev/null 2>&1; then echo deny; exit; fi\ndone\n\
         if [ -n \"$TOOLGATE_STATE_DIR$CANARY\" ]; then echo deny; exit; fi\nif (: > '{0}') 2>/dev/null; then echo deny; exit; fi\n\
         if [ \"$(ls /proc | grep -c '^[0-9]')\" -gt 12 ]; then echo deny; exit; fi\necho allow\n",
        secret_file.display(),
        state.display()
    );
    std::fs::write(home.path("review.sh"), script).unwrap();
    let mut server = Server::start_with(&home, &[], &[("CANARY", "x")]);
    let done = write(&mut server, "kind\n");
    assert!(went_well(&done), "{done}: {:?}", verdicts(&home));
}

/// The clients' own models, as older clients offer them.
fn with_model(answer: &Value) -> (Home, Value, Option<Value>) {
    let home = Home::new(FREE);
    let manifest = std::fs::read_to_string(home.manifest()).unwrap();
    let review = "[review]\nfrom_level = 2\nreviewers = [{ client_model = true, timeout = \"60s\" }]\n";
    std::fs::write(home.manifest(), manifest + review).unwrap();
    let mut server = Server::start(&home);
    let mut greeting = hello("2025-06-18");
    greeting["capabilities"] = json!({"sampling": {}});
    server.request("initialize", &greeting);
    let params = json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": "new\n"}});
    let call = server.ask("tools/call", &params);
    let asked = server.next_message(crate::mcp::server::PATIENCE).unwrap();
    if asked["method"] == "sampling/createMessage" {
        let content = json!({"type": "text", "text": answer});
        let result = json!({"role": "assistant", "model": "m", "content": content});
        server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
        let answer = server.answer(&call);
        return (home, answer, Some(asked));
    }
    (home, asked, None)
}

#[test]
fn the_clients_own_model_may_deny_and_its_yes_is_no_approval() {
    let (home, answer, asked) = with_model(&json!("{\"verdict\":\"allow\"}"));
    let asked = asked.unwrap();
    assert!(asked["params"]["systemPrompt"].as_str().unwrap().contains("You review"), "{asked}");
    assert!(asked["params"]["messages"][0]["content"]["text"].as_str().unwrap().contains("\"tool\":\"write_file\""), "{asked}");
    assert!(went_well(&answer), "level 2 needs nobody here: {answer}");
    assert_eq!(home.read("project/notes.txt"), "new\n");
    let (home, answer, _) = with_model(&json!("{\"verdict\":\"deny\",\"reason\":\"no\"}"));
    assert_eq!(code(&answer), "review_denied", "{answer}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
    // It has no form to show, so that a doubt ends the call.
    let (home, answer, _) = with_model(&json!("Sure, go ahead"));
    assert_eq!(code(&answer), "no_approval_channel", "{answer}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
}

#[test]
fn one_no_among_reviewers_is_a_no_and_an_operator_is_asked_what_they_raise_to_level_four() {
    if !can_be_held() {
        return;
    }
    let home = reviewed("echo '{\"verdict\":\"ask\",\"level\":4}'", "");
    std::fs::create_dir(home.state()).unwrap();
    secret(&home, "ann", SECRET, None);
    let mut server = Server::greeted(&home, "2025-11-25");
    let call = server.ask("tools/call", &json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": "new\n"}}));
    assert!(approvals(&home, &["allow", &the_one(&home)], &[SECRET]).status.success());
    assert!(went_well(&server.answer(&call)));
    server.close();
    let two = reviewed("echo allow", ", { command = [\"/bin/sh\", \"-c\", \"echo deny\"] }");
    let mut server = Server::start(&two);
    assert_eq!(code(&write(&mut server, "new\n")), "review_denied");
    server.close();
    two.verify();
}
