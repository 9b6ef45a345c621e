//! What an answer is bound to: the very call, the content of every target as it is when the answer comes, and one repeat that is not counted.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::mcp::automatic_answers::{question, reply};
use crate::mcp::home::{Home, Policy};
use crate::mcp::operator::{OPERATOR, SECRET, approvals, house, the_one};
use crate::mcp::server::{STATELESS, Server, code, repeat, went_well, with_meta, write};
use crate::mcp::taint;

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

/// The person's yes to what was shown, with the code where there is one.
fn yes(message: &str, decision: &str) -> Value {
    let mut content = json!({ "decision": decision });
    if let Some(code) = message.lines().find_map(|line| line.strip_prefix("code: ")) {
        content["confirm"] = json!(code);
    }
    json!({"action": "accept", "content": content})
}

/// The text and the state of a question of 2026-07-28.
fn asked(server: &mut Server, params: &Value) -> (String, Value) {
    let answer = server.stateless("tools/call", params);
    let message = answer["result"]["inputRequests"]["approval"]["params"]["message"].as_str();
    (message.unwrap_or_else(|| panic!("no question: {answer}")).to_owned(), answer["result"]["requestState"].clone())
}

/// A house where so many calls a minute may be made.
fn limited(rate: u32, approvals: &'static str) -> Home {
    let home = if approvals.is_empty() { Home::new(Policy::default()) } else { house(Policy { approvals, ..Policy::default() }) };
    let text = home.read("tools.toml").replace("rate_limit_per_minute = 5000", &format!("rate_limit_per_minute = {rate}"));
    std::fs::write(home.manifest(), text).unwrap();
    home
}

#[test]
fn an_open_question_frees_no_other_call_from_the_rate_limit() {
    let read = call("read_file", &json!({"path": "project/notes.txt"}));
    for answer in [None, Some(yes("", "once"))] {
        let home = limited(3, "");
        let mut server = Server::start(&home);
        let (_, state) = asked(&mut server, &write("new\n"));
        let codes: Vec<String> =
            (0..6).map(|_| code(&server.stateless("tools/call", &repeat(&read, &state, answer.clone()))).to_owned()).collect();
        assert_eq!(codes, ["", "", "rate_limited", "rate_limited", "rate_limited", "rate_limited"]);
        // The same tool with another argument is another call, and so is another tool with the same arguments.
        let others = [write("other\n"), call("delete_file", &write("new\n")["arguments"])];
        for other in others {
            let refused = server.stateless("tools/call", &repeat(&other, &state, Some(yes("", "once"))));
            assert_eq!(code(&refused), "rate_limited", "{refused}");
        }
        let done = server.stateless("tools/call", &repeat(&write("new\n"), &state, Some(yes("", "once"))));
        assert!(went_well(&done), "the exact repeat is free: {done}");
        assert_eq!(home.read("project/notes.txt"), "new\n");
        server.close();
        home.verify();
    }
}

#[test]
fn the_exact_repeat_of_a_call_is_free_once_whatever_it_comes_to() {
    // Polled without an answer.
    let home = limited(3, "");
    let mut server = Server::start(&home);
    let (_, mut state) = asked(&mut server, &write("new\n"));
    let mut turns = Vec::new();
    for _ in 0..5 {
        let answer = server.stateless("tools/call", &repeat(&write("new\n"), &state, None));
        turns.push(if code(&answer).is_empty() { "asked".to_owned() } else { code(&answer).to_owned() });
        if answer["result"]["requestState"].is_string() {
            state = answer["result"]["requestState"].clone();
        }
    }
    assert_eq!(turns, ["asked", "asked", "asked", "rate_limited", "rate_limited"], "one free, two counted");
    // Repeated after it came to nothing.
    let home = limited(2, "");
    let mut server = Server::start(&home);
    let (_, state) = asked(&mut server, &write("new\n"));
    std::fs::write(home.path("project/notes.txt"), "another\n").unwrap();
    let codes: Vec<String> =
        (0..4).map(|_| code(&server.stateless("tools/call", &repeat(&write("new\n"), &state, Some(yes("", "once"))))).to_owned()).collect();
    assert_eq!(codes, ["approval_mismatch", "approval_mismatch", "rate_limited", "rate_limited"], "one free, one counted");
    // Raced.
    let home = limited(4, "");
    let mut server = Server::start(&home);
    let (_, state) = asked(&mut server, &write("new\n"));
    let params = with_meta(&repeat(&write("new\n"), &state, None), STATELESS);
    let ids: Vec<Value> = (0..32).map(|_| server.ask("tools/call", &params)).collect();
    let answers: Vec<Value> = ids.iter().map(|id| server.answer(id)).collect();
    let passed = answers.iter().filter(|answer| code(answer) != "rate_limited").count();
    assert_eq!(passed, 1 + 3, "{}", answers.iter().map(code).collect::<Vec<_>>().join(" "));
}

#[test]
fn a_call_that_waits_for_an_operator_comes_back_uncounted_once_for_each_turn_it_has_waited() {
    let home = limited(1, "level_2 = \"operator\"\ntimeout = \"27s\"");
    let mut server = Server::start(&home);
    let mut states = vec![server.stateless("tools/call", &write("new\n"))["result"]["requestState"].clone()];
    for _ in 0..2 {
        let answer = server.stateless("tools/call", &repeat(&write("new\n"), states.last().unwrap(), None));
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
        states.push(answer["result"]["requestState"].clone());
    }
    for used in &states[..2] {
        let refused = server.stateless("tools/call", &repeat(&write("new\n"), used, None));
        assert_eq!(code(&refused), "rate_limited", "a turn that was taken is not free again: {refused}");
    }
    assert!(approvals(&home, &["allow", &the_one(&home)], &[SECRET]).status.success());
    let done = server.stateless("tools/call", &repeat(&write("new\n"), &states[2], None));
    assert!(went_well(&done), "{done}");
    assert_eq!(home.read("project/notes.txt"), "new\n");
    server.close();
    home.verify();
}

/// When the inode was changed last.
fn changed(file: &std::fs::Metadata) -> (i64, i64) {
    (file.ctime(), file.ctime_nsec())
}

/// Puts another content of equal length into a file, which keeps its inode and its time.
fn swap(path: &Path) {
    let before = std::fs::metadata(path).unwrap();
    let mut content = std::fs::read(path).unwrap();
    content[0] ^= 0x20;
    let written = || {
        std::fs::write(path, &content).unwrap();
        std::fs::File::options().write(true).open(path).unwrap().set_modified(before.modified().unwrap()).unwrap();
        std::fs::metadata(path).unwrap()
    };
    // Some file systems stamp two changes within a few milliseconds alike.
    let after = std::iter::repeat_with(written).find(|after| changed(after) != changed(&before)).unwrap();
    assert_eq!((before.len(), before.modified().unwrap()), (after.len(), after.modified().unwrap()));
}

/// Calls that a person is asked about, each with a file that they act on.
fn calls() -> Vec<(Value, &'static str)> {
    let notes = "project/notes.txt";
    vec![
        (write("new\n"), notes),
        (call("write_file", &json!({"path": notes, "content": "+", "mode": "append"})), notes),
        (
            call("edit_file", &json!({"path": "project/large.txt", "edits": [{"old_text": "THE END", "new_text": "."}]})),
            "project/large.txt",
        ),
        (call("write_file", &json!({"path": "project/large.txt", "content": "new\n"})), "project/large.txt"),
        (call("delete_file", &json!({"path": "project/large.txt"})), "project/large.txt"),
        (call("move_file", &json!({"from": notes, "to": "project/new.txt"})), notes),
        (call("move_file", &json!({"from": notes, "to": "project/src/apples.csv"})), notes),
        (call("move_file", &json!({"from": notes, "to": "project/src/apples.csv"})), "project/src/apples.csv"),
        (call("move_file", &json!({"from": "project/src", "to": "project/dst"})), "project/src/apples.csv"),
        (call("delete_file", &json!({"path": "project/src", "recursive": true})), "project/src/deep/er/f.txt"),
        (call("delete_file", &json!({"path": "project/src", "recursive": true})), "project/src/apples.csv"),
    ]
}

fn with_large_files(policy: Policy, house: fn(Policy) -> Home) -> Home {
    let home = house(policy);
    std::fs::create_dir_all(home.path("project/src/deep/er")).unwrap();
    std::fs::write(home.path("project/src/deep/er/f.txt"), "deep").unwrap();
    std::fs::write(home.path("project/large.txt"), "a line of a large file\n".repeat(185_000) + "THE END\n").unwrap();
    let text = home.read("tools.toml").replace("[files]\n", "[files]\nmax_file_size = \"16MiB\"\n");
    std::fs::write(home.manifest(), text).unwrap();
    home
}

/// Every file of the project with its content.
fn contents(home: &Home) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![home.path("project")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { all.push((path.clone(), std::fs::read(path).unwrap())) }
        }
    }
    all.sort();
    all
}

const QUIET: &str = "breaker = { denials = 1000, within = \"1m\" }";

#[test]
fn what_was_swapped_while_the_question_was_open_is_not_acted_on_in_either_era() {
    for (params, file) in calls() {
        let home = with_large_files(Policy { limits: QUIET, ..Policy::default() }, Home::new);
        let mut modern = Server::start(&home);
        let (message, state) = asked(&mut modern, &params);
        swap(&home.path(file));
        let before = contents(&home);
        let refused = modern.stateless("tools/call", &repeat(&params, &state, Some(yes(&message, "once"))));
        assert_eq!(code(&refused), "approval_mismatch", "{params} {file}: {refused}");
        assert!(contents(&home) == before, "{params} {file}");
        let mut older = Server::greeted(&home, "2025-11-25");
        for (swapped, decision) in [(true, "session"), (false, "once")] {
            let id = older.ask("tools/call", &params);
            let asked = question(&mut older);
            if swapped {
                swap(&home.path(file));
            }
            let before = contents(&home);
            reply(&mut older, &asked, &yes(asked["params"]["message"].as_str().unwrap(), decision));
            let answer = older.answer(&id);
            if swapped {
                assert_eq!(code(&answer), "approval_mismatch", "{params} {file}: {answer}");
                assert!(contents(&home) == before, "{params} {file}");
            }
            assert!(swapped || went_well(&answer), "{params} {file}: {answer}");
        }
        older.close();
        home.verify();
    }
}

#[test]
fn a_page_is_not_saved_over_a_file_that_was_swapped_while_the_question_was_open() {
    let port = taint::site();
    let home = taint::house(port, "", "");
    let fetch = call("fetch", &json!({"url": format!("http://127.0.0.1:{port}/"), "save_to": "project/notes.txt"}));
    let mut server = Server::greeted(&home, "2025-11-25");
    for swapped in [true, false] {
        let id = server.ask("tools/call", &fetch);
        let asked = question(&mut server);
        if swapped {
            swap(&home.path("project/notes.txt"));
        }
        reply(&mut server, &asked, &yes(asked["params"]["message"].as_str().unwrap(), "once"));
        let answer = server.answer(&id);
        assert_eq!((code(&answer) == "approval_mismatch", went_well(&answer)), (swapped, !swapped), "{answer}");
        assert_eq!(home.read("project/notes.txt").starts_with("First line\n"), swapped);
    }
    server.close();
    home.verify();
}

#[test]
fn what_was_swapped_before_the_operator_agreed_is_not_acted_on() {
    // One of each kind: the way of all of them is the same.
    for (params, file) in calls().into_iter().skip(1).step_by(3) {
        let home = with_large_files(OPERATOR, house);
        let mut server = Server::greeted(&home, "2025-11-25");
        let id = server.ask("tools/call", &params);
        let waits = the_one(&home);
        swap(&home.path(file));
        let before = contents(&home);
        assert!(approvals(&home, &["allow", &waits], &[SECRET]).status.success());
        let refused = server.answer(&id);
        assert_eq!(code(&refused), "approval_mismatch", "{params} {file}: {refused}");
        assert!(contents(&home) == before, "{params} {file}");
        let id = server.ask("tools/call", &params);
        assert!(approvals(&home, &["allow", &the_one(&home)], &[SECRET]).status.success());
        let done = server.answer(&id);
        assert!(went_well(&done), "{params} {file}: {done}");
        server.close();
        home.verify();
    }
}

#[test]
fn a_yes_that_lasts_ends_when_a_content_is_swapped_at_equal_size_and_time() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let (message, state) = asked(&mut server, &write("new\n"));
    assert!(went_well(&server.stateless("tools/call", &repeat(&write("new\n"), &state, Some(yes(&message, "session"))))));
    assert!(went_well(&server.stateless("tools/call", &write("newer\n"))), "our own change ends nothing");
    swap(&home.path("project/notes.txt"));
    asked(&mut server, &write("newest\n"));
    assert_eq!(home.read("project/notes.txt"), "Newer\n");
}

#[test]
fn a_yes_for_a_program_holds_for_its_input_its_interpreter_and_its_time_alone() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let code = "import sys\nopen('/roots/scratch/' + sys.stdin.readline().strip(), 'w').write(sys.stdin.read())";
    let run = |more: &Value| {
        let mut arguments = json!({ "code": code, "stdin": "new.txt\nfine\n" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call("run_python", &arguments)
    };
    let (message, state) = asked(&mut server, &run(&json!({})));
    for part in ["new.txt", "fine", "It may change files in work, scratch"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    let done = server.stateless("tools/call", &repeat(&run(&json!({})), &state, Some(yes(&message, "session"))));
    assert!(went_well(&done), "{done}");
    assert!(went_well(&server.stateless("tools/call", &run(&json!({})))), "the very same is not asked for again");
    for (more, shown) in [
        (json!({"stdin": "seen.txt\nlost\n"}), "seen.txt"),
        (json!({"stdin": ""}), "Run a Python program of 2 lines"),
        (json!({"session": "new"}), "It starts an interpreter session"),
        (json!({"fresh": true}), "It runs in a new interpreter"),
        (json!({"timeout_s": 59}), "59 s"),
    ] {
        let (message, _) = asked(&mut server, &run(&more));
        assert!(message.contains(shown), "{shown} in {message}");
    }
    assert_eq!(home.read("scratch/seen.txt"), "seen\n");
    server.close();
    home.verify();
}

#[test]
fn a_move_into_scratch_says_that_the_file_goes_with_the_session() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let away = call("move_file", &json!({"from": "project/notes.txt", "to": "work/notes.txt"}));
    let (message, state) = asked(&mut server, &away);
    assert!(message.starts_with("Move project/notes.txt to work/notes.txt. What is moved is deleted when the session ends\n"), "{message}");
    assert!(message.contains("\nThis cannot be undone.") && message.contains("\ncode: "), "{message}");
    let refused = server.stateless("tools/call", &repeat(&away, &state, Some(yes("", "once"))));
    assert_eq!(code(&refused), "approval_not_explicit", "{refused}");
    // Within the project and within scratch nothing is lost.
    let (message, _) = asked(&mut server, &call("move_file", &json!({"from": "project/notes.txt", "to": "project/other.txt"})));
    assert!(message.contains("\nThis changes what exists.") && !message.contains("session ends"), "{message}");
    assert!(went_well(&server.stateless("tools/call", &call("write_file", &json!({"path": "work/a", "content": "a"})))));
    assert!(went_well(&server.stateless("tools/call", &call("move_file", &json!({"from": "work/a", "to": "work/b"})))));
    // The other judge agrees.
    let out = home.toolgate(&["explain", "move_file", &away["arguments"].to_string(), "--manifest", "tools.toml"]).output().unwrap();
    let told = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(told.starts_with("ask  needs_every  level 3\n"), "{told}");
}

#[test]
fn the_question_and_the_record_name_what_a_followed_link_leads_to() {
    let home = Home::new(Policy::default());
    std::fs::write(home.manifest(), home.read("tools.toml").replace("[files]\n", "[files]\nsymlinks = \"inside\"\n")).unwrap();
    std::os::unix::fs::symlink("notes.txt", home.path("project/harmless.txt")).unwrap();
    std::os::unix::fs::symlink("src", home.path("project/docs")).unwrap();
    let mut server = Server::start(&home);
    let write = call("write_file", &json!({"path": "project/harmless.txt", "content": "new\n"}));
    let (message, state) = asked(&mut server, &write);
    assert!(message.starts_with("Change 3 lines of project/harmless.txt (by a link: project/notes.txt) ("), "{message}");
    assert!(went_well(&server.stateless("tools/call", &repeat(&write, &state, Some(yes(&message, "once"))))));
    let delete = call("delete_file", &json!({"path": "project/docs/apples.csv"}));
    let (message, state) = asked(&mut server, &delete);
    assert!(message.starts_with("Delete project/docs/apples.csv (by a link: project/src/apples.csv) ("), "{message}");
    assert!(went_well(&server.stateless("tools/call", &repeat(&delete, &state, Some(yes(&message, "once"))))));
    assert!(went_well(&server.stateless("tools/call", &call("read_file", &json!({"path": "project/notes.txt"})))));
    server.close();
    home.verify();
    let led = |tool: &str| home.told("call.started", tool).iter().map(|record| record["leads_to"].clone()).collect::<Vec<_>>();
    assert_eq!(led("write_file"), [json!(["project/notes.txt"])]);
    assert_eq!(led("delete_file"), [json!(["project/src/apples.csv"])]);
    assert_eq!(led("read_file"), [Value::Null], "where no link was followed nothing is said");
    assert_eq!(home.read("project/notes.txt"), "new\n");
}
