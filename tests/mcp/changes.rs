//! Calls that touch several places: edits of many files, copies, and folders made on the way; what is asked, what is bound, what is recorded.

use serde_json::{Value, json};

use crate::home::{Home, Policy};
use crate::packages::open_home;
use crate::scopes::{ERAS, Said, call, edit, filled, make, sources, start, write};
use crate::server::{STATELESS, Server, code, repeat, went_well};

fn edits(edits: &[(&str, &str, &str)]) -> Value {
    let edits: Vec<Value> =
        edits.iter().map(|(path, old, new)| json!({"path": format!("project/lib/{path}"), "old_text": old, "new_text": new})).collect();
    call("edit_files", &json!({ "edits": edits }))
}

fn copy(from: &str, to: &str) -> Value {
    call("copy_file", &json!({"from": from, "to": to}))
}

/// Asks in the era without a handshake, changes something, and only then brings the yes.
fn answered_late(home: &Home, params: &Value, meanwhile: impl FnOnce()) -> Value {
    let mut server = Server::start(home);
    let first = server.stateless("tools/call", params);
    let asked = first["result"]["inputRequests"]["approval"]["params"].clone();
    meanwhile();
    server.stateless("tools/call", &repeat(params, &first["result"]["requestState"], Some(filled(&asked, "once"))))
}

#[test]
fn edits_of_several_files_are_one_question_that_names_and_shows_each() {
    for era in ERAS {
        let home = sources(Policy::default(), "");
        std::fs::write(home.path("project/lib/long.txt"), "old line\n".repeat(200)).unwrap();
        let mut server = start(&home, era);
        let mut long = edits(&[("a.txt", "two", "2"), ("deep/c.txt", "c", "C")]);
        let all = json!({"path": "project/lib/long.txt", "old_text": "old", "new_text": "new", "replace_all": true});
        long["arguments"]["edits"].as_array_mut().unwrap().insert(1, all);
        let said = make(&mut server, era, &long, "once");
        let message = said.message();
        assert!(
            message.starts_with("Change 202 lines of 3 files: project/lib/a.txt, project/lib/long.txt, project/lib/deep/c.txt\nLevel 2."),
            "{message}"
        );
        for part in [
            "\nproject/lib/a.txt:\n1 line(s) added, 1 removed:",
            "\n  - two\n  + 2\n",
            "\nproject/lib/deep/c.txt:",
            "\n  + C",
            "more line(s)",
        ] {
            assert!(message.contains(part), "{part} in {message}");
        }
        assert!(message.lines().filter(|line| line.starts_with("  ")).count() <= 41, "{message}");
        assert!(went_well(&said.answer), "{}", said.answer);
        assert_eq!(home.read("project/lib/long.txt"), "new line\n".repeat(200));
        assert_eq!(home.read("project/lib/deep/c.txt"), "C\n");
        let files = &said.answer["result"]["structuredContent"]["files"];
        assert_eq!((files[1]["path"].as_str(), files[1]["replacements"].as_u64()), (Some("project/lib/long.txt"), Some(200)), "{files}");
        let started = home.told("call.started", "edit_files").pop().unwrap();
        assert_eq!(started["effect"], "edit");
        for path in ["project/lib/a.txt", "project/lib/long.txt", "project/lib/deep/c.txt"] {
            assert!(started["args"].to_string().contains(path), "{started}");
        }
        let no = make(&mut server, era, &edits(&[("a.txt", "one", "1"), ("b.txt", "b", "B")]), "deny");
        assert_eq!((code(&no.answer), home.read("project/lib/b.txt").as_str()), ("approval_refused", "b\n"));
        // What cannot be done is not asked about, and one denied file is a no to all.
        let doomed = make(&mut server, era, &edits(&[("a.txt", "one", "1"), ("b.txt", "nowhere", "B")]), "once");
        assert_eq!((code(&doomed.answer), doomed.question.is_none()), ("edit_mismatch", true));
        let denied = make(&mut server, era, &edits(&[("a.txt", "one", "1"), ("../secrets/key.txt", "hidden", "x")]), "once");
        assert!(denied.question.is_none() && code(&denied.answer) == "path_malformed", "{}", denied.answer);
        assert!(home.read("project/lib/a.txt").starts_with("one\n"));
        drop(server);
        home.verify();
    }
}

#[test]
fn a_grant_covers_edits_of_several_files_where_it_covers_each() {
    let era = "2025-11-25";
    let unasked = |said: &Said| said.is_done_unasked();
    let home = sources(Policy::default(), "");
    let mut server = start(&home, era);
    let both = make(&mut server, era, &edits(&[("a.txt", "one", "1"), ("b.txt", "b", "B")]), "session");
    assert_eq!(both.values(), ["deny", "once", "session", "session_root"], "{}", both.message());
    assert_eq!(both.choices()[2].1, "Yes, and every change of these files, until the session ends");
    assert!(unasked(&make(&mut server, era, &edit("project/lib/a.txt", "two", "2"), "deny")), "each file by itself");
    assert!(unasked(&make(&mut server, era, &edits(&[("b.txt", "B", "b2"), ("a.txt", "three", "3")]), "deny")), "in another order");
    let more = make(&mut server, era, &edits(&[("a.txt", "1", "x"), ("deep/c.txt", "c", "C")]), "deny");
    assert!(more.question.is_some() && home.read("project/lib/a.txt").starts_with("1\n"), "one of them is not covered");
    // A file that another program changed since is asked about, and with it the call.
    std::fs::write(home.path("project/lib/b.txt"), "theirs\n").unwrap();
    assert!(make(&mut server, era, &edits(&[("a.txt", "1", "x"), ("b.txt", "theirs", "ours")]), "deny").question.is_some());

    let home = sources(Policy::default(), "");
    let mut server = start(&home, era);
    make(&mut server, era, &edit("project/lib/a.txt", "one", "1"), "session_folder");
    assert!(unasked(&make(&mut server, era, &edits(&[("b.txt", "b", "B"), ("deep/c.txt", "c", "C")]), "deny")), "a folder");
    let out = json!({"edits": [{"path": "project/lib/b.txt", "old_text": "B", "new_text": "x"},
                               {"path": "project/notes.txt", "old_text": "first", "new_text": "1st"}]});
    assert!(make(&mut server, era, &call("edit_files", &out), "session_root").question.is_some(), "and nothing beside it");
    assert!(unasked(&make(&mut server, era, &edit("project/notes.txt", "second", "2nd"), "deny")), "the root");
    assert!(make(&mut server, era, &edits(&[("a.txt", "two", "2"), ("conftest.py", "tests", "x")]), "deny").message().contains("Level 3."));
}

#[test]
fn a_yes_is_for_what_was_shown_of_each_file() {
    let home = sources(Policy::default(), "");
    let params = edits(&[("a.txt", "one", "1"), ("b.txt", "b", "B")]);
    let late = answered_late(&home, &params, || std::fs::write(home.path("project/lib/b.txt"), "b changed\n").unwrap());
    assert_eq!((code(&late), home.read("project/lib/a.txt").as_str()), ("approval_mismatch", "one\ntwo\nthree\n"), "{late}");
    // Of a copy its source counts, and what it replaces.
    for changed in ["project/lib/a.txt", "project/lib/b.txt"] {
        let params = copy("project/lib/a.txt", "project/lib/b.txt");
        let late = answered_late(&home, &params, || std::fs::write(home.path(changed), "another\n").unwrap());
        assert_eq!(code(&late), "approval_mismatch", "{late}");
    }
    let params = copy("project/notes.txt", "project/lib/b.txt");
    assert!(went_well(&answered_late(&home, &params, || ())));
    assert_eq!(home.read("project/lib/b.txt"), home.read("project/notes.txt"));
}

#[test]
fn a_copy_is_asked_about_by_what_it_replaces_and_shows_no_program_what_is_masked() {
    let era = "2025-11-25";
    let home = sources(Policy::default(), "untrusted_paths = [\"inbox/**\"]\n");
    std::fs::write(home.path("project/conf.ini"), "id = AKIAQ7ZT3N5WXK2VPLMR\nport = 1\n").unwrap();
    let mut server = start(&home, era);
    let over = make(&mut server, era, &copy("project/lib/a.txt", "project/lib/b.txt"), "once");
    assert!(over.message().starts_with("Copy project/lib/a.txt over project/lib/b.txt (2 B, changed "), "{}", over.message());
    assert!(over.message().contains("\n  - b\n  + one\n"), "{}", over.message());
    assert!(went_well(&over.answer) && home.read("project/lib/b.txt") == home.read("project/lib/a.txt"));
    assert_eq!(home.told("call.started", "copy_file").pop().unwrap()["effect"], "copy");
    assert_eq!(home.told("call.finished", "copy_file").pop().unwrap()["bytes_written"], 14);
    // Programs see `work` and `scratch`, and not `project`.
    for to in ["work/conf.ini", "scratch/conf.ini"] {
        let leak = make(&mut server, era, &copy("project/conf.ini", to), "once");
        assert_eq!((code(&leak.answer), leak.question.is_none()), ("masked_content", true), "{}", leak.answer);
        let moved = call("move_file", &json!({"from": "project/conf.ini", "to": to}));
        let leak = make(&mut server, era, &moved, "once");
        assert_eq!((code(&leak.answer), leak.question.is_none()), ("masked_content", true), "{}", leak.answer);
    }
    std::fs::create_dir(home.path("project/kept")).unwrap();
    std::fs::copy(home.path("project/conf.ini"), home.path("project/kept/conf.ini")).unwrap();
    let leak = make(&mut server, era, &call("move_file", &json!({"from": "project/kept", "to": "work/kept"})), "once");
    assert_eq!((code(&leak.answer), leak.question.is_none()), ("masked_content", true), "{}", leak.answer);
    assert!(home.path("project/kept/conf.ini").exists());
    assert!(make(&mut server, era, &copy("project/conf.ini", "project/conf2.ini"), "deny").is_done_unasked());
    let read = make(&mut server, era, &call("read_file", &json!({"path": "project/conf2.ini"})), "deny");
    assert!(!read.answer.to_string().contains("AKIA") && read.answer.to_string().contains("[SECRET:"), "{}", read.answer);
    // A copy of a file of others is one of others.
    assert!(make(&mut server, era, &copy("project/inbox/mail.txt", "project/mail.txt"), "deny").is_done_unasked());
    let mail = make(&mut server, era, &call("read_file", &json!({"path": "project/mail.txt"})), "deny");
    assert!(mail.answer.to_string().contains("untrusted"), "{}", mail.answer);
    for (from, to, expected) in [
        ("project/secrets/key.txt", "project/free.txt", "path_denied"),
        ("project/notes.txt", "project/secrets/new.txt", "path_denied"),
        ("project/lib", "project/lib2", "not_a_regular_file"),
    ] {
        assert_eq!(code(&make(&mut server, era, &copy(from, to), "once").answer), expected, "{from} {to}");
    }
}

#[test]
fn folders_made_on_the_way_are_asked_about_told_and_recorded() {
    for era in ERAS {
        let home = sources(Policy { approvals: "level_1 = \"first\"", ..Policy::default() }, "");
        let mut server = start(&home, era);
        let no = make(&mut server, era, &write("project/new/deep/a.txt", "x\n"), "deny");
        let asked = "Create project/new/deep/a.txt (2 bytes), making the folders project/new, project/new/deep\n";
        assert!(no.message().starts_with(asked), "{}", no.message());
        assert!(!home.path("project/new").exists());
        let yes = make(&mut server, era, &write("project/new/deep/a.txt", "x\n"), "once");
        assert_eq!(yes.answer["result"]["structuredContent"]["folders"], json!(["project/new", "project/new/deep"]), "{}", yes.answer);
        let started = home.told("call.started", "write_file").pop().unwrap();
        assert_eq!(started["folders"], json!(["project/new", "project/new/deep"]));
        let moved = call("move_file", &json!({"from": "project/new/deep/a.txt", "to": "project/other/a.txt"}));
        let moved = make(&mut server, era, &moved, "once");
        assert!(moved.message().starts_with("Move project/new/deep/a.txt to project/other/a.txt, making the folder project/other\n"));
        assert!(went_well(&moved.answer), "{}", moved.answer);
        // Made by another program meanwhile, it is another question.
        let params = write("project/late/a.txt", "x\n");
        let late = answered_late(&home, &params, || std::fs::create_dir(home.path("project/late")).unwrap());
        assert_eq!((era, code(&late)), (era, "approval_mismatch"));
        assert_eq!(code(&make(&mut server, era, &write("project/notes.txt/a", "x"), "once").answer), "not_a_directory");
        drop(server);
        home.verify();
    }
    assert_eq!(ERAS[0], STATELESS);
}

#[test]
fn a_program_that_still_holds_what_left_its_scratch_changes_it_no_more() {
    let home = open_home("");
    let mut server = Server::greeted(&home, "2025-11-25");
    let begun = server.call(
        "run_python",
        &json!({"session": "new", "code": "import os\nos.mkdir('/roots/work/d')\nf = open('/roots/work/a.txt', 'w+')\ng = open('/roots/work/d/b.txt', 'w+')\n\
                for file in (f, g):\n    file.write('judged')\n    file.flush()\nd = os.open('/roots/work/d', os.O_RDONLY)"}),
    );
    assert!(went_well(&begun), "{begun}");
    for (from, to) in [("work/a.txt", "project/a.txt"), ("work/d", "project/d")] {
        let moved = server.call("move_file", &json!({"from": from, "to": to}));
        assert!(went_well(&moved), "{moved}");
    }
    let later = server.call(
        "run_python",
        &json!({"session": begun["result"]["structuredContent"]["session"], "code": "for file in (f, g):\n    file.seek(0)\n    file.write('unasked')\n    file.flush()\n\
                try:\n    os.close(os.open('c.txt', os.O_CREAT | os.O_WRONLY, dir_fd=d))\nexcept OSError:\n    print('gone')"}),
    );
    assert_eq!(later["result"]["structuredContent"]["stdout"], "gone\n", "{later}");
    assert_eq!((home.read("project/a.txt").as_str(), home.read("project/d/b.txt").as_str()), ("judged", "judged"));
    assert!(!home.path("project/d/c.txt").exists());
}
