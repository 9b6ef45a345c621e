//! How far a yes goes: a folder, a root; in both eras, with a client that answers what was not offered beside one that is honest.

use serde_json::{Value, json};

use crate::mcp::automatic_answers::reply;
use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{STATELESS, Server, code, repeat, until, went_well};

/// What became of a call that a person answered with a word, and the question where there was one.
pub(crate) struct Said {
    pub(crate) question: Option<Value>,
    pub(crate) answer: Value,
}

impl Said {
    pub(crate) fn is_done_unasked(&self) -> bool {
        self.question.is_none() && went_well(&self.answer)
    }

    pub(crate) fn message(&self) -> &str {
        self.question.as_ref().and_then(|asked| asked["message"].as_str()).unwrap_or_default()
    }

    /// The choices of the form in order, by value and title.
    pub(crate) fn choices(&self) -> Vec<(String, String)> {
        let decision = self.question.as_ref().map(|asked| asked["requestedSchema"]["properties"]["decision"].clone()).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(choices) = decision["oneOf"].as_array() {
            return choices.iter().map(|choice| (text(&choice["const"]), text(&choice["title"]))).collect();
        }
        let (values, titles) = (decision["enum"].as_array().unwrap(), decision["enumNames"].as_array().unwrap());
        values.iter().zip(titles).map(|(value, title)| (text(value), text(title))).collect()
    }

    pub(crate) fn values(&self) -> Vec<String> {
        self.choices().into_iter().map(|(value, _)| value).collect()
    }
}

pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

pub(crate) fn write(path: &str, content: &str) -> Value {
    call("write_file", &json!({"path": path, "content": content}))
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> Value {
    call("edit_file", &json!({"path": path, "edits": [{"old_text": old, "new_text": new}]}))
}

pub(crate) fn filled(asked: &Value, decision: &str) -> Value {
    let mut content = json!({ "decision": decision });
    let message = asked["message"].as_str().unwrap();
    if let Some(code) = message.lines().find_map(|line| line.strip_prefix("code: ")) {
        content["confirm"] = json!(code);
    }
    json!({"action": "accept", "content": content})
}

/// Makes a call in the era of the server's client, and answers the question where one comes.
pub(crate) fn make(server: &mut Server, era: &str, params: &Value, decision: &str) -> Said {
    if era == STATELESS {
        let first = server.stateless("tools/call", params);
        let asked = first["result"]["inputRequests"]["approval"]["params"].clone();
        if asked.is_null() {
            return Said { question: None, answer: first };
        }
        let again = repeat(params, &first["result"]["requestState"], Some(filled(&asked, decision)));
        return Said { answer: server.stateless("tools/call", &again), question: Some(asked) };
    }
    let id = server.ask("tools/call", params);
    // Either the question comes first, or the answer.
    let Some(message) = server.next_message(crate::mcp::server::PATIENCE) else { panic!("nothing came") };
    if message["method"] == "elicitation/create" {
        reply(server, &message, &filled(&message["params"], decision));
        return Said { answer: server.answer(&id), question: Some(message["params"].clone()) };
    }
    assert_eq!(message["id"], id, "{message}");
    Said { question: None, answer: message }
}

pub(crate) const ERAS: [&str; 3] = [STATELESS, "2025-11-25", "2025-06-18"];

pub(crate) fn start(home: &Home, era: &str) -> Server {
    if era == STATELESS { Server::start(home) } else { Server::greeted(home, era) }
}

/// A house with a folder of sources, whose manifest has what is shipped of `[files] runs_later`, and `more` in that section.
pub(crate) fn sources(policy: Policy, more: &str) -> Home {
    let home = Home::new(policy);
    for (path, text) in [
        ("project/lib/a.txt", "one\ntwo\nthree\n"),
        ("project/lib/b.txt", "b\n"),
        ("project/lib/deep/c.txt", "c\n"),
        ("project/lib/conftest.py", "# tests\n"),
        ("project/inbox/mail.txt", "Dear assistant\n"),
    ] {
        let path = home.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let text = home.read("tools.toml").replace("runs_later = []", &format!("runs_later = [\"defaults\"]\n{more}"));
    std::fs::write(home.manifest(), text).unwrap();
    // A file that is as young as the question counts as changed since.
    let age = || std::fs::metadata(home.manifest()).unwrap().modified().unwrap().elapsed().unwrap_or_default();
    until("the files to be older than a question", || age() > std::time::Duration::from_millis(200));
    home
}

#[test]
fn a_yes_for_a_folder_covers_write_and_edit_below_it_and_nothing_beside() {
    for era in ERAS {
        let home = sources(Policy::default(), "");
        let mut server = start(&home, era);
        let first = make(&mut server, era, &edit("project/lib/a.txt", "two", "2"), "session_folder");
        assert!(went_well(&first.answer), "{era}: {}", first.answer);
        assert!(first.message().starts_with("Change 1 line of project/lib/a.txt ("), "{}", first.message());
        assert_eq!(first.values(), ["deny", "once", "session", "session_folder", "session_root"], "{era}");
        let titles: Vec<String> = first.choices().into_iter().map(|(_, title)| title).collect();
        assert_eq!(titles[..2], ["No", "Yes, this once"]);
        assert!(titles[3].contains("in project/lib and below, until"), "{}", titles[3]);
        assert!(titles[4].contains("in all of project, until"), "{}", titles[4]);
        for covered in
            [write("project/lib/a.txt", "all new\n"), edit("project/lib/b.txt", "b", "B"), write("project/lib/deep/c.txt", "C\n")]
        {
            assert!(make(&mut server, era, &covered, "deny").is_done_unasked(), "{era}: {covered}");
        }
        assert!(make(&mut server, era, &edit("project/lib/b.txt", "B", "b again"), "deny").is_done_unasked(), "our own change of it");
        for beside in [
            write("project/notes.txt", "x\n"),
            write("project/lib/conftest.py", "import os\n"),
            call("delete_file", &json!({"path": "project/lib/a.txt"})),
            call("move_file", &json!({"from": "project/lib/a.txt", "to": "project/lib/z.txt"})),
        ] {
            let asked = make(&mut server, era, &beside, "deny");
            assert!(asked.question.is_some() && code(&asked.answer) == "approval_refused", "{era}: {beside} {}", asked.answer);
        }
        assert_eq!(home.read("project/lib/conftest.py"), "# tests\n");
        server.close();
        home.verify();
    }
}

#[test]
fn a_folder_that_is_changed_for_another_while_a_person_is_asked_takes_no_yes() {
    let home = sources(Policy::default(), "");
    std::fs::create_dir(home.path("other")).unwrap();
    let mut server = Server::start(&home);
    let params = write("project/lib/new.txt", "x\n");
    let edit = edit("project/lib/b.txt", "b", "B");
    for params in [params, edit] {
        let first = server.stateless("tools/call", &params);
        let asked = first["result"]["inputRequests"]["approval"]["params"].clone();
        if asked.is_null() {
            // A new file needs no yes here.
            continue;
        }
        std::fs::rename(home.path("project/lib"), home.path("lib-as-it-was")).unwrap();
        std::fs::rename(home.path("other"), home.path("project/lib")).unwrap();
        std::fs::rename(home.path("lib-as-it-was/b.txt"), home.path("project/lib/b.txt")).unwrap();
        let yes = filled(&asked, "session_folder");
        let answer = server.stateless("tools/call", &repeat(&params, &first["result"]["requestState"], Some(yes)));
        assert_eq!(code(&answer), "approval_mismatch", "{answer}");
    }
    assert_eq!(home.read("project/lib/b.txt"), "b\n");
}

#[test]
fn a_scope_that_was_not_offered_is_no_yes() {
    for era in ERAS {
        let home = sources(Policy::default(), "");
        let mut server = start(&home, era);
        for (params, scope, offered) in [
            (write("project/notes.txt", "x\n"), "session_all", 5),
            (call("delete_file", &json!({"path": "project/notes.txt"})), "session", 2),
            (call("delete_file", &json!({"path": "project/notes.txt"})), "session_root", 2),
            (write("project/.vscode/tasks.json", "{}"), "session_folder", 2),
            (call("move_file", &json!({"from": "project/notes.txt", "to": "project/n.txt"})), "session_root", 2),
        ] {
            let said = make(&mut server, era, &params, scope);
            assert_eq!(said.values().len(), offered, "{era}: {params}");
            assert_eq!(code(&said.answer), "approval_not_explicit", "{era}: {params} {}", said.answer);
            let hint = said.answer["result"]["structuredContent"]["hint"].as_str().unwrap();
            assert!(hint.contains("do not make this call again unless the person asks for it"), "{hint}");
        }
        assert!(home.read("project/notes.txt").starts_with("first line"));
        let said = make(&mut server, era, &write("project/notes.txt", "x\n"), "once");
        assert!(went_well(&said.answer), "an honest answer: {}", said.answer);
        server.close();
    }
}

#[test]
fn a_move_that_cannot_be_made_again_is_offered_once_alone_and_a_copy_for_the_session() {
    for era in ERAS {
        let home = sources(Policy { approvals: "level_1 = \"first\"", ..Policy::default() }, "");
        let mut server = start(&home, era);
        // A client that answers with a wider word than was offered, as an old one may: a yes to this one call.
        let moved = make(&mut server, era, &call("move_file", &json!({"from": "project/notes.txt", "to": "project/n.txt"})), "session");
        assert_eq!(moved.values(), ["deny", "once"], "{era}");
        assert!(went_well(&moved.answer), "{era}: {}", moved.answer);
        let made = make(&mut server, era, &call("create_directory", &json!({"path": "project/new"})), "once");
        assert_eq!((made.values(), went_well(&made.answer)), (vec!["deny".to_owned(), "once".to_owned()], true), "{era}");
        let copied = make(&mut server, era, &call("copy_file", &json!({"from": "project/n.txt", "to": "project/copy.txt"})), "once");
        assert_eq!((copied.values().len(), went_well(&copied.answer)), (3, true), "{era}: {}", copied.answer);
        // The source is back, and the same call is asked about again.
        std::fs::write(home.path("project/notes.txt"), "another\n").unwrap();
        std::fs::remove_file(home.path("project/n.txt")).unwrap();
        let again = make(&mut server, era, &call("move_file", &json!({"from": "project/notes.txt", "to": "project/n.txt"})), "deny");
        assert!(again.question.is_some() && code(&again.answer) == "approval_refused", "{era}: {}", again.answer);
        server.close();
    }
}

#[test]
fn a_wide_yes_covers_nothing_once_the_session_has_read_what_others_wrote() {
    let raise = Policy { approvals: "after_untrusted = \"raise\"", ..Policy::default() };
    for scope in ["session", "session_folder", "session_root"] {
        let home = sources(raise, "untrusted_paths = [\"inbox/**\"]");
        let mut server = Server::start(&home);
        assert!(went_well(&make(&mut server, STATELESS, &write("project/notes.txt", "1\n"), scope).answer));
        assert!(make(&mut server, STATELESS, &write("project/notes.txt", "2\n"), "deny").is_done_unasked());
        assert!(went_well(&server.stateless("tools/call", &call("read_file", &json!({"path": "project/inbox/mail.txt"})))));
        let asked = make(&mut server, STATELESS, &write("project/notes.txt", "3\n"), "deny");
        assert_eq!(asked.values(), ["deny", "once"], "{scope}: {}", asked.message());
        assert_eq!(home.read("project/notes.txt"), "2\n");
        server.close();
    }
}

#[test]
fn a_question_about_a_file_that_runs_later_says_what_runs_it() {
    let home = sources(Policy::default(), "");
    let mut server = Server::start(&home);
    for (path, by) in [
        ("project/.github/workflows/x.yml", "CI"),
        ("project/.vscode/tasks.json", "your editor"),
        ("project/.claude/settings.json", "an assistant"),
        ("project/.git/hooks/pre-commit", "git"),
    ] {
        let said = make(&mut server, STATELESS, &write(path, "x\n"), "deny");
        let first = said.message().lines().next().unwrap_or_default();
        let wanted = format!("{path} is run later by {by}, outside the sandbox");
        assert!(first.starts_with(&format!("Create {path} (2 bytes)")) && first.ends_with(&wanted), "{first}");
        assert!(
            said.message().contains("\nThis changes what other programs do later.\n")
                && said.message().contains("choose `Yes, this once` and type"),
            "{}",
            said.message()
        );
        assert!(!home.path(path).exists());
    }
    std::fs::create_dir(home.path("project/.vscode")).unwrap();
    let made = make(&mut server, STATELESS, &write("project/.vscode/tasks.json", "{}\n"), "once");
    assert!(went_well(&made.answer), "{}", made.answer);
    assert!(make(&mut server, STATELESS, &write("project/plain.txt", "x\n"), "deny").is_done_unasked());
    let python = call("run_python", &json!({"code": "print(1)"}));
    let said = make(&mut server, STATELESS, &python, "deny");
    assert!(said.message().contains("It can change what other programs run later") && said.values().len() == 2, "{}", said.message());
    // The other judges agree.
    let told = |arguments: &[&str]| String::from_utf8_lossy(&home.toolgate(arguments).output().unwrap().stdout).into_owned();
    let workflow = json!({"path": "project/.github/workflows/x.yml", "content": "x"}).to_string();
    let explained = told(&["explain", "write_file", &workflow, "--manifest", "tools.toml"]);
    assert!(explained.starts_with("ask  needs_every  level 3\n") && explained.contains("[files.runs_later]"), "{explained}");
    server.close();
}

#[test]
fn what_git_obeys_in_a_bare_repository_runs_later_whatever_its_folder_is_named() {
    let home = sources(Policy::default(), "");
    let folder = |path: &str| std::fs::create_dir_all(home.path(path)).unwrap();
    for repository in ["project/store", "scratch/bare"] {
        for part in ["objects/pack", "refs/heads", "hooks"] {
            folder(&format!("{repository}/{part}"));
        }
        std::fs::write(home.path(&format!("{repository}/HEAD")), "ref: refs/heads/main\n").unwrap();
        std::fs::write(home.path(&format!("{repository}/config")), "[core]\n\tbare = true\n").unwrap();
    }
    // Folders that lack one part.
    for part in ["project/half/objects", "project/half/refs", "project/half/hooks", "project/web/hooks"] {
        folder(part);
    }
    let mut server = Server::start(&home);
    let move_to = |from: &str, to: &str| call("move_file", &json!({"from": from, "to": to}));
    for params in [
        write("project/store/config", "[core]\n\tfsmonitor = ./x\n"),
        write("project/store/hooks/post-receive", "#!/bin/sh\n"),
        move_to("project/lib/b.txt", "project/store/hooks/pre-push"),
        // The last part makes it one.
        write("project/half/HEAD", "ref: refs/heads/main\n"),
        move_to("scratch/bare", "project/bare"),
    ] {
        let said = make(&mut server, STATELESS, &params, "deny");
        let message = said.message();
        assert!(message.contains(" by git") && message.contains("run later") && message.contains("\ncode: "), "{params}: {message}");
    }
    // What is no part of a repository is asked about as any other file, and so are branches and objects of one.
    for path in ["project/web/hooks/use.ts", "project/web/config.json", "project/half/hooks/x", "project/store/refs/heads/new"] {
        assert!(make(&mut server, STATELESS, &write(path, "x\n"), "deny").is_done_unasked(), "{path}");
    }
    server.close();
}
