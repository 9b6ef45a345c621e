//! `toolgate approvals watch`: an operator sees a question as it comes and answers it in place.

use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};

use serde_json::json;

use crate::mcp::home::{Home, Policy};
use crate::mcp::operator::{OPERATOR, SECRET, approvals, house, said, the_one, waiting};
use crate::mcp::server::{Guarded, Server, code, hello, until, went_well, write};

/// A watch whose output goes into a file.
struct Watch<'a> {
    home: &'a Home,
    input: ChildStdin,
    child: Guarded,
}

impl<'a> Watch<'a> {
    fn start(home: &'a Home) -> Self {
        let shown = std::fs::File::create(home.path("shown.txt")).unwrap();
        let mut command = home.toolgate(&["approvals", "watch"]);
        let mut child: Child = command.stdin(Stdio::piped()).stdout(shown).stderr(Stdio::inherit()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        Self { home, input, child: Guarded(child) }
    }

    fn shows(&self, what: &str) {
        until(what, || self.home.read("shown.txt").contains(what));
    }

    fn signal(&self, name: &str) {
        let sent = std::process::Command::new("kill").args(["-s", name, &self.child.0.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    fn types(&mut self, lines: &[&str]) {
        for line in lines {
            writeln!(self.input, "{line}").unwrap();
        }
    }
}

#[test]
fn a_watch_answers_in_place_with_the_whole_difference() {
    let home = house(OPERATOR);
    let mut server = Server::greeted(&home, "2025-11-25");
    let mut watch = Watch::start(&home);
    let long: String = (0..100).fold(String::new(), |text, line| text + &format!("line {line} <b>\n"));
    let call = server.ask("tools/call", &write(&long));
    watch.shows("  y  Yes, this once\n  n  No\n  d  show the whole difference\n");
    let shown = home.read("shown.txt");
    assert!(shown.contains("Change 100 lines of project/notes.txt") && shown.contains("more line(s) of the change"), "{shown}");
    assert!(!shown.contains("line 50"), "{shown}");
    watch.types(&["d"]);
    watch.shows("+ line 50");
    watch.types(&["q", "y", "wrong secret"]);
    watch.shows("refused: the secret is not this operator's");
    assert!(home.read("shown.txt").contains("`q` is no answer to that"));
    assert!(home.read("project/notes.txt").starts_with("first line"));
    watch.types(&["y", SECRET]);
    let done = server.answer(&call);
    assert!(went_well(&done), "{done}");
    watch.shows("allowed, by ann");
    let call = server.ask("tools/call", &write("other\n"));
    let since = |home: &Home| home.read("shown.txt").split_once("allowed, by ann").map(|(_, since)| since.to_owned()).unwrap_or_default();
    until("the second question", || since(&home).contains("Yes, this once"));
    watch.types(&["n"]);
    let refused = server.answer(&call);
    assert_eq!(code(&refused), "approval_refused", "{refused}");
    let hint = refused["result"]["structuredContent"]["hint"].as_str().unwrap();
    assert!(hint.contains("do not make this call again unless the person asks for it"), "{hint}");
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

#[test]
fn what_is_typed_before_a_question_is_shown_answers_nothing() {
    let home = house(OPERATOR);
    let mut server = Server::greeted(&home, "2025-11-25");
    let mut watch = Watch::start(&home);
    let first = server.ask("tools/call", &write("first\n"));
    watch.shows("  y  Yes, this once");
    // While the watch stands still two lines are typed, the first question ends, and another one is put.
    watch.signal("STOP");
    watch.types(&["q", "n"]);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": first, "reason": "test"}}));
    until("the first question to be over", || waiting(&home).is_empty());
    let second = server.ask("tools/call", &write("second\n"));
    until("the second question", || waiting(&home).len() == 1);
    watch.signal("CONT");
    watch.shows("is over");
    let id = the_one(&home);
    watch.shows(&format!("{id}: "));
    watch.types(&["y"]);
    watch.shows(&format!("passphrase for {id}: "));
    watch.types(&[SECRET]);
    let done = server.answer(&second);
    assert!(went_well(&done), "the line that was typed for the first question refused the second: {done}");
    server.close();
    home.verify();
}
