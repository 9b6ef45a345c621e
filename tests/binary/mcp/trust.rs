//! Manifests that were found and not named: what they may do before and after their user trusts them.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::mcp::command_line::{exit, run};
use crate::mcp::home::{Home, Policy, repository};
use crate::mcp::operator::said;
use crate::mcp::server::{Server, code, went_well};

#[test]
fn a_manifest_that_was_found_serves_only_once_it_is_trusted() {
    let home = Home::new(Policy::default());
    let below = home.path("project/src");
    std::fs::create_dir_all(home.path(".git")).unwrap();
    let serve = |more: &[&str]| {
        let mut command = home.toolgate(&["serve"]);
        command.args(more).current_dir(&below).stdin(Stdio::null()).output().unwrap()
    };
    let check = |more: &[&str]| home.toolgate(&["check"]).args(more).current_dir(&below).stdin(Stdio::null()).output().unwrap();
    // A check says of a manifest what a start does.
    let wants = |sentence: &str| {
        for out in [serve(&[]), check(&[])] {
            assert!(out.status.code() == Some(1) && said(&out).contains(sentence), "{}", said(&out));
        }
    };
    wants("valid, but you have not trusted it yet: run `toolgate trust`, or name the file with `--manifest`");
    assert!(check(&["--policy-only"]).status.success() && check(&[home.manifest().to_str().unwrap()]).status.success());
    assert!(serve(&["--manifest", home.manifest().to_str().unwrap()]).status.success(), "a named one needs no trust");
    // It is judged by without trust: nothing is started, nothing is served.
    let trust = |arguments: &[&str]| home.toolgate(&["trust"]).args(arguments).current_dir(&below).stdin(Stdio::null()).output().unwrap();
    let shown = trust(&[]);
    assert!(
        shown.status.code() == Some(1) && said(&shown).contains("sha256") && said(&shown).contains("root project: read and write"),
        "{}",
        said(&shown)
    );
    assert!(!serve(&[]).status.success(), "to be shown is not to be trusted");
    assert!(trust(&["--yes"]).status.success());
    assert!(serve(&[]).status.success() && check(&[]).status.success(), "{}{}", said(&serve(&[])), said(&check(&[])));
    // Another text is another manifest, until an operator's word or a new look.
    std::fs::write(home.manifest(), home.read("tools.toml") + "\n# changed\n").unwrap();
    wants("valid, but changed since you trusted it: run `toolgate trust`");
    let told: Value = serde_json::from_slice(&check(&["--json"]).stdout).unwrap();
    assert_eq!([&told["valid"], &told["trusted"], &told["changed_since_trusted"]], [&json!(true), &json!(false), &json!(true)], "{told}");
    // Named, it serves; its change would not count for a server that runs, for it lies in a repository.
    let named = check(&[home.manifest().to_str().unwrap()]);
    assert!(named.status.code() == Some(1) && said(&named).contains("tools.toml`\n"), "{}", said(&named));
    assert!(trust(&["--yes"]).status.success() && serve(&[]).status.success());
    assert!(trust(&["--remove"]).status.success() && !serve(&[]).status.success());
    // Others may not write it.
    assert!(trust(&["--yes"]).status.success());
    std::fs::set_permissions(home.manifest(), std::fs::Permissions::from_mode(0o666)).unwrap();
    let open = serve(&[]);
    assert!(!open.status.success() && said(&open).contains("may be written by others"), "{}", said(&open));
}

#[test]
fn a_repository_cannot_bring_its_own_trust_and_starts_nothing_without_it() {
    let home = Home::new(Policy::default());
    // A repository with a manifest that keeps its state inside, and an interpreter of its own.
    let repository = home.path("cloned");
    std::fs::create_dir_all(repository.join(".git")).unwrap();
    std::fs::create_dir_all(repository.join("state")).unwrap();
    std::fs::write(repository.join("evil"), format!("#!/bin/sh\ntouch '{}'\n", home.path("ran").display())).unwrap();
    std::fs::set_permissions(repository.join("evil"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = home.read("tools.toml").replace("[python]", "[state]\ndir = \"state\"\n[python]\ninterpreter = \"./evil\"");
    std::fs::write(repository.join("tools.toml"), &text).unwrap();
    let within = |arguments: &[&str]| {
        let out = home.toolgate(arguments).current_dir(&repository).stdin(Stdio::null()).output().unwrap();
        (out.status.code(), said(&out))
    };
    // The trust that a user gives, copied to where the manifest puts its state.
    assert_eq!(within(&["trust", "--yes"]).0, Some(0));
    let trusted = home.state().join("trusted");
    std::fs::create_dir_all(repository.join("state/trusted")).unwrap();
    for entry in std::fs::read_dir(&trusted).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), repository.join("state/trusted").join(entry.file_name())).unwrap();
    }
    assert_eq!(within(&["trust", "--remove"]).0, Some(0));
    assert_eq!(within(&["serve"]).0, Some(1));
    std::fs::write(home.path("good.py"), "print(1)\n").unwrap();
    for arguments in [
        &["doctor"][..],
        &["check"],
        &["python", "../good.py"],
        &["packages", "sync"],
        &["trust"],
        &["explain", "run_python", "{\"code\":\"print(1)\"}"],
        &["install", "claude-code"],
        &["install", "claude-code", "--write"],
    ] {
        let (_, words) = within(arguments);
        assert!(!home.path("ran").exists(), "{arguments:?} started what the repository brought");
        assert_eq!(within(&["serve"]).0, Some(1), "{arguments:?} trusts what the repository brought: {words}");
    }
    // What a user is shown before they trust it holds what is laxer than usual.
    let (_, shown) = within(&["trust"]);
    for line in ["python: ./evil", "state: the log, the grants and the emergency stop are kept in state"] {
        assert!(shown.contains(line), "{shown}");
    }
}

#[test]
fn a_manifest_that_is_shown_before_it_is_trusted_names_what_is_laxer_than_usual() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"\nlevel_3 = \"none\"", ..Policy::default() });
    let text = home.read("tools.toml").replace("check = \"imports\"", "check = \"off\"");
    std::fs::write(home.manifest(), text + "[filters]\nsecrets = \"off\"\n").unwrap();
    let shown = said(&run(&home, &["trust"]));
    for words in [
        "what changes what exists (level 2) is `none`, where it is `first` by default",
        "is `none`, where it is `every` by default",
        "programs are not checked",
        "secrets in files, pages and output are shown",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn a_repository_does_not_lead_the_emergency_stop_away_from_the_servers_that_run() {
    let home = Home::new(Policy::default());
    let mut server = Server::greeted(&home, "2025-11-25");
    let clone = home.path("project/clone");
    std::fs::create_dir_all(clone.join(".git")).unwrap();
    for text in ["version = 1\n[state]\ndir = \"diverted\"\n", "[state]\ndir = \"diverted\"\n] broken"] {
        std::fs::write(clone.join("tools.toml"), text).unwrap();
        let within = |command: &str| home.toolgate(&[command]).current_dir(&clone).stdin(Stdio::null()).output().unwrap();
        let out = within("kill");
        assert!(out.status.success(), "{}", said(&out));
        assert!(!clone.join("diverted").exists());
        assert_eq!(code(&server.call("list_directory", &json!({"path": "project"}))), "killed");
        assert!(within("resume").status.success());
        assert!(went_well(&server.call("list_directory", &json!({"path": "project"}))));
    }
}

#[test]
fn no_call_reaches_the_trust_of_a_user_whose_manifest_keeps_its_state_elsewhere() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let root = Value::from(home.path("project").to_str().unwrap()).to_string();
    let whole = Value::from(home.path("").to_str().unwrap().trim_end_matches('/')).to_string();
    let text = home.read("tools.toml").replace(&root, &whole).replace("[roots.scratch]\npath = ", "[roots.scratch]\npath = \"session\" #");
    std::fs::write(home.manifest(), text + "[state]\ndir = \"elsewhere\"\n").unwrap();
    assert_eq!(exit(&home, &["trust", "--yes"]), 0);
    let mut server = Server::greeted(&home, "2025-11-25");
    let note = std::fs::read_dir(home.state().join("trusted")).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
    for path in [format!("project/state/trusted/{note}"), "project/state/trusted/other".to_owned()] {
        for (tool, arguments) in [("read_file", json!({"path": path})), ("write_file", json!({"path": path, "content": "{}"}))] {
            let answer = server.call(tool, &arguments);
            assert!(!went_well(&answer), "{tool} {path}: {answer}");
        }
    }
    let moved = server.call("move_file", &json!({"from": "project/state", "to": "project/state2"}));
    assert!(!went_well(&moved), "{moved}");
    assert!(
        went_well(&server.call("write_file", &json!({"path": "project/state/other.txt", "content": "x"}))),
        "what lies beside is not touched by it"
    );
}

#[test]
fn what_init_and_install_write_serves_without_another_word_and_goes_away_again() {
    let home = Home::new(Policy::default());
    let folder = home.path("fresh");
    let written = run(&home, &["init", folder.to_str().unwrap(), "--yes"]);
    assert!(
        written.status.success() && said(&written).ends_with("it is trusted as it is now; run `toolgate trust` after each edit\n"),
        "{written:?}"
    );
    let within = |arguments: &[&str]| home.toolgate(arguments).current_dir(&folder).stdin(Stdio::null()).output().unwrap();
    assert!(within(&["serve"]).status.success(), "{}", said(&within(&["serve"])));
    for client in ["claude-code", "vscode"] {
        assert!(within(&["install", client, "--write"]).status.success());
    }
    // Shared files name no folder of this machine, and what they say serves here.
    for (file, key) in [(".mcp.json", "mcpServers"), (".vscode/mcp.json", "servers")] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read[key]["toolgate"]["args"], json!(["serve"]), "{text}");
        assert!(!text.contains(folder.to_str().unwrap()), "{text}");
    }
    for client in ["claude-code", "vscode"] {
        assert!(within(&["uninstall", client, "--write"]).status.success());
    }
    assert!(!std::fs::read_to_string(folder.join(".mcp.json")).unwrap().contains("toolgate"));
    // Without a manifest it is said what would be in force.
    let empty = home.path("project/src");
    let bare = home
        .toolgate(&["install", "cursor"])
        .current_dir(&empty)
        .env("HOME", home.path("project"))
        .env("XDG_CONFIG_HOME", "/none")
        .output()
        .unwrap();
    assert!(said(&bare).contains("the built-in one would be in force") && said(&bare).contains("toolgate init"), "{}", said(&bare));
    assert!(repository().join("examples/clients/windsurf.json").exists());
}
