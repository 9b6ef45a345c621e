//! `toolgate approvals watch`: an operator sees a question as it comes; how far an answer may go.

use std::process::Stdio;

use serde_json::json;

use crate::mcp::home::Policy;
use crate::mcp::operator::{OPERATOR, SECRET, approvals, house, said, the_one};
use crate::mcp::server::{Guarded, Server, code, hello, until, went_well, write};

#[test]
fn a_watch_shows_each_question_once_and_show_the_whole_difference() {
    let home = house(OPERATOR);
    let mut server = Server::greeted(&home, "2025-11-25");
    let output = std::fs::File::create(home.path("shown.txt")).unwrap();
    let mut command = home.toolgate(&["approvals", "watch"]);
    let _watch = Guarded(command.stdin(Stdio::null()).stdout(output).stderr(Stdio::inherit()).spawn().unwrap());
    let long: String = (0..100).fold(String::new(), |text, line| text + &format!("line {line} <b>\n"));
    let call = server.ask("tools/call", &write(&long));
    let id = the_one(&home);
    until("the first question", || home.read("shown.txt").contains(&format!("toolgate approvals allow {id}")));
    let shown = home.read("shown.txt");
    assert!(shown.contains("Change 100 lines of project/notes.txt") && shown.contains("more line(s) of the change"), "{shown}");
    assert!(!shown.contains("line 50"), "{shown}");
    let whole = said(&approvals(&home, &["show", &id], &[]));
    assert!(whole.contains("+ line 50"), "{whole}");
    let refused = approvals(&home, &["allow", &id], &["wrong secret"]);
    assert!(!refused.status.success() && said(&refused).contains("refused: the secret is not this operator's"), "{}", said(&refused));
    assert!(home.read("project/notes.txt").starts_with("first line"));
    let allowed = said(&approvals(&home, &["allow", &id], &[SECRET]));
    assert!(allowed.contains("allowed, by ann"), "{allowed}");
    assert!(went_well(&server.answer(&call)));
    let call = server.ask("tools/call", &write("other\n"));
    let second = the_one(&home);
    until("the second question", || home.read("shown.txt").contains(&format!("toolgate approvals allow {second}")));
    assert!(approvals(&home, &["deny", &second], &[]).status.success());
    let refused = server.answer(&call);
    assert_eq!(code(&refused), "approval_refused", "{refused}");
    let hint = refused["result"]["structuredContent"]["hint"].as_str().unwrap();
    assert!(hint.contains("do not make this call again unless the person asks for it"), "{hint}");
    assert_eq!(home.read("shown.txt").matches(&format!("toolgate approvals allow {id}")).count(), 1);
    server.close();
    home.verify();
}

#[test]
fn an_operator_allows_no_more_than_the_question_offers() {
    let home = house(OPERATOR);
    let mut server = Server::greeted(&home, "2025-11-25");
    let call = server.ask("tools/call", &write("one\n"));
    let id = the_one(&home);
    for option in ["--scope=session_folder", "--scope=session_root"] {
        let out = approvals(&home, &["allow", &id, option], &[SECRET]);
        assert!(!out.status.success() && said(&out).contains("does not offer"), "{option}: {}", said(&out));
    }
    assert!(approvals(&home, &["allow", &id], &[SECRET]).status.success());
    assert!(went_well(&server.answer(&call)));
    server.close();
    // Where a person would be asked the first time alone, an operator in their place may say how far it goes.
    let home = house(Policy { approvals: "no_client_channel = \"operator\"\ntimeout = \"20s\"", ..OPERATOR });
    let mut server = Server::start(&home);
    let mut greeting = hello("2025-06-18");
    greeting["capabilities"] = json!({});
    server.request("initialize", &greeting);
    let call = server.ask("tools/call", &write("one\n"));
    let out = approvals(&home, &["allow", &the_one(&home), "--scope", "session_folder"], &[SECRET]);
    assert!(out.status.success(), "{}", said(&out));
    assert!(went_well(&server.answer(&call)));
    let again = server.request("tools/call", &write("two\n"));
    assert!(went_well(&again), "{again}");
    server.close();
    home.verify();
}
