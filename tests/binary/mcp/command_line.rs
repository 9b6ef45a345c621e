//! The ordinary day at the command line: what a person types, and what the commands answer.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::operator::said;
use crate::mcp::packages::open_home;
use crate::mcp::server::{Server, code, repeat, went_well, write};

pub(crate) fn run(home: &Home, arguments: &[&str]) -> Output {
    home.toolgate(arguments).env("XDG_CONFIG_HOME", home.path("config")).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn exit(home: &Home, arguments: &[&str]) -> i32 {
    run(home, arguments).status.code().unwrap()
}

#[test]
fn a_program_reads_its_input_only_where_some_is_given_and_runs_no_longer_than_the_policy_lets_it() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    std::fs::write(home.manifest(), home.read("tools.toml").replace("check = \"imports\"", "check = \"strict\"")).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let read = server.call("run_python", &json!({"code": "print(input().upper())", "stdin": "ann\n"}));
    assert_eq!(read["result"]["structuredContent"]["stdout"], "ANN\n", "{read}");
    let none = server.call("run_python", &json!({"code": "print(input())"}));
    assert_eq!(code(&none), "code_forbidden", "{none}");
    assert!(none.to_string().contains("give `stdin` with the call"), "{none}");
    let long = server.call("run_python", &json!({"code": "print(1)", "timeout_s": 1000}));
    assert_eq!(code(&long), "argument_invalid", "{long}");
    let facts = &long["result"]["structuredContent"];
    assert!(facts["message"].as_str().unwrap().contains("no program runs longer than 60 s") && facts["rule"] == "python.timeout", "{long}");
    assert!(went_well(&server.call("run_python", &json!({"code": "print(1)", "timeout_s": 60}))));
}

#[test]
fn the_marks_of_a_traceback_stand_below_what_they_mean() {
    let home = open_home("");
    let mut server = Server::greeted(&home, "2025-11-25");
    // Without a line end after the last line, and after a character that ends no line of a program.
    for program in ["x = 0\nprint(1 / x)", "x = '\x0c'\nx = 0\nprint(1 / x)"] {
        let answer = server.call("run_python", &json!({"code": program}));
        let text = answer["result"]["structuredContent"]["stderr"].as_str().unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| line.trim() == "print(1 / x)").unwrap_or_else(|| panic!("{text}"));
        // Pythons before 3.11 have no marks.
        if let Some(marks) = lines.get(at + 1).filter(|line| line.contains('~')) {
            assert_eq!(marks.find('~'), lines[at].find("1 / x"), "{text}");
        }
    }
}

#[test]
fn there_are_colours_on_a_terminal_unless_they_are_not_wanted() {
    use std::io::Read;
    let home = Home::new(Policy::default());
    std::fs::write(home.path("bad.py"), "eval('1')\n").unwrap();
    let shown = |arguments: &[&str], no_color: &str| {
        let terminal = nix::pty::openpty(None, None).unwrap();
        let mut child = home.toolgate(arguments).env("NO_COLOR", no_color).stdout(terminal.slave).stdin(Stdio::null()).spawn().unwrap();
        let mut text = Vec::new();
        // When the last writer has closed its side, Linux ends the reading with EIO.
        let _ = std::fs::File::from(terminal.master).read_to_end(&mut text);
        child.wait().unwrap();
        String::from_utf8_lossy(&text).into_owned()
    };
    assert!(shown(&["lint", "bad.py"], "").contains("\u{1b}[1;31m"));
    assert!(!shown(&["lint", "bad.py"], "1").contains('\u{1b}'));
    let demo = shown(&["demo"], "");
    assert!(demo.contains("\u{1b}[32m") && demo.contains("\u{1b}[31m"), "{demo}");
}

#[test]
fn the_exit_codes_are_those_of_the_readme() {
    let home = Home::new(Policy::default());
    std::fs::write(home.path("clean.txt"), "nothing here\n").unwrap();
    std::fs::write(home.path("found.txt"), "mail ann@example.org, key AKIAQ3EGRXW5TL7PZ2NV\n").unwrap();
    std::fs::write(home.path("good.py"), "print(1)\n").unwrap();
    std::fs::write(home.path("bad.py"), "eval('1')\n").unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    server.call("read_file", &json!({"path": "/etc/passwd"}));
    server.close();
    for (arguments, expected) in [
        (&["scan", "clean.txt"][..], 0),
        (&["scan", "found.txt"], 1),
        (&["lint", "good.py"], 0),
        (&["lint", "bad.py"], 1),
        (&["explain", "read_file", "{\"path\":\"project/notes.txt\"}"], 0),
        (&["explain", "write_file", "{\"path\":\"project/notes.txt\",\"content\":\"x\"}"], 0),
        (&["explain", "read_file", "{\"path\":\"project/secrets/key.txt\"}"], 1),
        (&["check", "tools.toml"], 0),
        (&["check", "no-such-file.toml"], 2),
        (&["audit", "verify"], 0),
        (&["audit", "query", "tool=read_file"], 0),
        (&["audit", "query", "args.path~passwd"], 0),
        (&["audit", "query", "bogus=1"], 2),
        (&["audit", "tail", "statsu=denied"], 2),
        (&["audit", "show", "c_none"], 1),
        (&["no-such-command"], 2),
    ] {
        let out = run(&home, arguments);
        assert_eq!(out.status.code(), Some(expected), "{arguments:?}: {}", said(&out));
    }
    assert!(said(&run(&home, &["audit", "query", "statsu=denied"])).contains("did you mean `status`?"));
    assert!(said(&run(&home, &["audit", "query", "bogus=1"])).contains("`bogus` is no field of a record"));
}

#[test]
fn quiet_commands_tell_by_their_exit_code_alone() {
    let home = Home::new(Policy::default());
    std::fs::write(home.path("bad.py"), "eval('1')\n").unwrap();
    for (arguments, expected) in
        [(&["check", "tools.toml", "-q"][..], 0), (&["-q", "lint", "bad.py"], 1), (&["explain", "read_file", "-q"], 1)]
    {
        let out = run(&home, arguments);
        assert_eq!((out.status.code(), out.stdout.len()), (Some(expected), 0), "{arguments:?}: {}", said(&out));
    }
    let told = run(&home, &["check", "--json"]);
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!((&told["valid"], &told["faults"]), (&json!(true), &json!([])), "{told}");
    // The state folder of the command line is the one that is meant, whatever else says another.
    let other = home.path("elsewhere");
    assert_eq!(exit(&home, &["kill", "--state-dir", other.to_str().unwrap()]), 1);
    assert!(other.join("KILL").exists() && !home.state().join("KILL").exists());
    let told = run(&home, &["resume", "--json", "--state-dir", other.to_str().unwrap()]);
    assert_eq!(serde_json::from_slice::<Value>(&told.stdout).unwrap()["was_stopped"], true);
}

#[test]
fn a_reader_that_goes_away_ends_every_command_quietly() {
    let home = Home::new(Policy::default());
    let mut server = Server::greeted(&home, "2025-11-25");
    server.call("read_file", &json!({"path": "project/notes.txt"}));
    server.close();
    std::fs::write(home.path("case.jsonl"), "{}\n{}\n").unwrap();
    for arguments in [
        &["audit", "tail"][..],
        &["audit", "report"],
        &["audit", "verify"],
        &["approvals", "secret", "list"],
        &["check", "tools.toml"],
        &["doctor", "--json"],
        &["explain", "read_file", "{\"path\":\"project/notes.txt\"}"],
        &["install", "cursor"],
        &["schema"],
        &["simulate", "case.jsonl"],
        &["demo"],
        &["trust", "--yes"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let cut = home.toolgate(arguments).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let told = String::from_utf8_lossy(&cut.stderr);
        assert!(cut.status.success() && !told.contains("roken pipe") && !told.contains("cannot be written"), "{arguments:?}: {told}");
    }
}

#[test]
fn the_case_that_the_help_of_simulate_shows_is_judged_as_it_says() {
    let home = Home::new(Policy::default());
    let help = said(&run(&home, &["simulate", "--help"]));
    let case = help.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{help}"));
    std::fs::write(home.path("case.jsonl"), format!("{case}\n")).unwrap();
    let out = run(&home, &["simulate", "case.jsonl"]);
    let answer: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&answer["verdict"], &answer["code"], out.status.code()), (&json!("deny"), &json!("path_denied"), Some(0)), "{answer}");
}

#[test]
fn check_says_no_in_the_words_of_serve_and_looks_at_the_rules_alone_where_it_is_told_to() {
    let home = Home::new(Policy::default());
    let good = home.read("tools.toml");
    let file = home.manifest();
    let file = file.to_str().unwrap();
    let root = Value::from(home.path("project").to_str().unwrap()).to_string();
    let whole = Value::from(home.path("").to_str().unwrap().trim_end_matches('/')).to_string();
    for broken in [
        good.replace(&root, "\"/no/such/folder\""),
        // The manifest would lie in a folder that programs write.
        good.replace(&root, &whole)
            .replace("[roots.scratch]\npath = ", "[roots.scratch]\npath = \"session\" #")
            .replace("roots = [\"work\", \"scratch\"]", "roots = [\"work\", \"project\"]")
            .replace("denied_paths = [\"secrets/**\"]\n", ""),
    ] {
        std::fs::write(home.manifest(), &broken).unwrap();
        let served = home.toolgate(&["serve", "--manifest", file]).stdin(Stdio::null()).output().unwrap();
        let checked = run(&home, &["check", file]);
        assert_eq!((served.status.code(), checked.status.code()), (Some(1), Some(1)), "{}{}", said(&served), said(&checked));
        // What stands after the place is the reason.
        let served = said(&served);
        let reason = served
            .lines()
            .find_map(|line| line.split_once("refused: ").or(line.split_once(".toml:")))
            .unwrap_or_else(|| panic!("{served}"))
            .1;
        let reason = reason.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == ' ');
        assert!(said(&checked).contains(reason.trim()), "{reason}\n{}", said(&checked));
    }
    std::fs::write(home.manifest(), good.replace(&root, "\"/no/such/folder\"")).unwrap();
    let elsewhere = run(&home, &["check", "--policy-only", file]);
    assert!(elsewhere.status.success() && said(&elsewhere).contains("were not looked at"), "{}", said(&elsewhere));
}

#[test]
fn a_call_is_shown_with_the_question_and_with_who_answered() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let asked = server.stateless("tools/call", &write("new\n"));
    let state = asked["result"]["requestState"].clone();
    let yes = json!({"action": "accept", "content": {"decision": "once"}});
    let done = server.stateless("tools/call", &repeat(&write("new\n"), &state, Some(yes)));
    assert!(went_well(&done), "{done}");
    server.close();
    let call = home.told("call.finished", "write_file")[0]["call"].as_str().unwrap().to_owned();
    let shown = said(&run(&home, &["audit", "show", &call]));
    for part in ["approval.requested", "question", "Change 3 lines of project/notes.txt", "approval.answered", "answerer", "channel"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let tail = said(&run(&home, &["audit", "tail", "ev=call.finished"]));
    let mut lines = tail.lines();
    assert!(lines.next().unwrap().starts_with("time ") && lines.next().unwrap().contains("success"), "{tail}");
    // What the arguments hide the question does not tell.
    let home = Home::new(Policy::default());
    std::fs::write(home.manifest(), home.read("tools.toml") + "[audit]\nhash_args = [\"path\"]\n").unwrap();
    let mut server = Server::start(&home);
    server.stateless("tools/call", &write("new\n"));
    server.close();
    let asked = &home.told("approval.requested", "write_file")[0];
    assert!(asked["question"]["sha256"].is_string() && !asked.to_string().contains("notes.txt"), "{asked}");
}
