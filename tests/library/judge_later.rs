//! Files that other programs run later: each way to change one, by each tool, with the ordinary use beside it.
#![expect(clippy::needless_pass_by_value, reason = "helpers of tests take cases as they are written, and may stop at what should not be")]

use serde_json::{Value, json};
use toolgate::cli::simulate::judge_case;
use toolgate::policy::Verdict;

fn judged(files: Value, tool: &str, args: Value, state: Value) -> Verdict {
    let policy = json!({
        "version": 1,
        "roots": {"data": {"path": "/srv/data", "mode": "rw", "allowed_paths": ["**"]}, "work": {"path": "session", "mode": "rw", "allowed_paths": ["**"]}},
        "files": files,
        "network": {"allowed_domains": ["site.example"]},
        "python": {"roots": ["data", "work"]},
        "profiles": {
            "p": {"permissions": ["FULL"], "allowed_tools": ["*"], "rate_limit_per_minute": 1000},
            "reader": {"permissions": ["READ_FILE", "EXECUTE_CODE"], "allowed_tools": ["*"], "rate_limit_per_minute": 1000},
        },
    });
    let profile = state.get("profile").cloned().unwrap_or(json!("p"));
    let case = json!({"policy": policy, "request": {"profile": profile, "tool": tool, "args": args}, "state": state});
    judge_case(&case)
}

/// `verdict code level` under a manifest that says nothing of the key.
fn said(tool: &str, args: Value, state: Value) -> String {
    line(&judged(json!({}), tool, args, state))
}

fn line(verdict: &Verdict) -> String {
    let level = verdict.level.map(|level| format!(" {}", u8::from(level))).unwrap_or_default();
    format!("{} {}{level}", verdict.decision.as_str(), verdict.code)
}

fn create(path: &str) -> String {
    said("write_file", json!({"path": path, "content": "x"}), json!({}))
}

const ASKED: &str = "ask needs_every 3";

#[test]
fn a_new_file_that_runs_later_is_asked_about_as_a_deletion_is() {
    for path in [
        "data/.github/workflows/x.yml",
        "data/sub/.github/workflows/x.yml",
        "data/.claude/settings.json",
        "data/.vscode/tasks.json",
        "data/conftest.py",
        "data/tests/conftest.py",
        "data/.git/hooks/pre-commit",
        "data/.husky/pre-push",
        "data/lib/sitecustomize.py",
        "data/sitecustomize/__init__.py",
        "data/lib/a.pth",
        "data/.bashrc",
        "data/.profile",
        "data/.envrc",
        "data/.gitattributes",
        "data/.npmrc",
        "data/.cargo/config.toml",
        "data/CLAUDE.md",
        "data/AGENTS.md",
        "data/Jenkinsfile",
        "data/.gitlab-ci.yml",
        "data/.mcp.json",
    ] {
        assert_eq!(create(path), ASKED, "{path}");
    }
    for path in
        ["data/src/main.rs", "data/package.json", "data/Makefile", "data/build.rs", "data/.github/ISSUE_TEMPLATE.md", "data/.gitignore"]
    {
        assert_eq!(create(path), "allow ok 1", "{path}");
    }
    assert_eq!(create("work/conftest.py"), "allow ok 1", "a scratch is wiped with its session");
}

#[test]
fn no_spelling_of_a_name_that_runs_later_is_taken_for_another() {
    for path in [
        "data/.GitHub/Workflows/x.yml",
        "data/CONFTEST.PY",
        "data/.V\u{17f}code/tasks.json",
        "data/\u{ff0e}vscode/tasks.json",
        "data/claude.MD",
        "data/.\u{ff56}scode/tasks.json",
    ] {
        assert_eq!(create(path), ASKED, "{path}");
    }
}

#[test]
fn every_tool_that_changes_such_a_file_is_level_3() {
    let there = |path: &str| json!({"fs": {path: "file"}});
    let edit = |dry: bool| json!({"path": "data/.vscode/tasks.json", "edits": [{"old_text": "a", "new_text": "b"}], "dry_run": dry});
    assert_eq!(said("edit_file", edit(false), there("data/.vscode/tasks.json")), ASKED);
    assert_eq!(said("edit_file", edit(true), there("data/.vscode/tasks.json")), "allow ok 0", "it changes nothing");
    let append = json!({"path": "data/.bashrc", "content": "x", "mode": "append"});
    assert_eq!(said("write_file", append, there("data/.bashrc")), ASKED);
    assert_eq!(said("create_directory", json!({"path": "data/.github/workflows"}), json!({})), ASKED);
    assert_eq!(said("create_directory", json!({"path": "data/.github"}), json!({})), "allow ok 1");
    let save = |path: &str| said("fetch", json!({"url": "https://site.example/", "save_to": path}), json!({}));
    assert_eq!(save("data/.git/hooks/pre-commit"), ASKED);
    assert_eq!(save("data/page.html"), "allow ok 1");
    assert_eq!(said("read_file", json!({"path": "data/conftest.py"}), there("data/conftest.py")), "allow ok 0");
    assert_eq!(said("list_directory", json!({"path": "data/.claude"}), json!({"fs": {"data/.claude": "dir"}})), "allow ok 0");
}

#[test]
fn a_move_is_judged_by_both_names_and_by_all_that_lies_below() {
    let moved = |from: &str, to: &str, fs: Value| said("move_file", json!({"from": from, "to": to}), json!({"fs": fs}));
    assert_eq!(moved("data/a", "data/.claude/settings.json", json!({"data/a": "file"})), ASKED);
    assert_eq!(moved("data/conftest.py", "data/b", json!({"data/conftest.py": "file"})), ASKED, "a test run without it is another one");
    assert_eq!(moved("work/a", "data/.envrc", json!({"work/a": "file"})), ASKED, "out of the scratch");
    assert_eq!(moved("work/x", "data/x", json!({"work/x/.vscode/tasks.json": "file"})), ASKED, "inside a folder");
    assert_eq!(moved("work/x", "data/.github", json!({"work/x/workflows/ci.yml": "file"})), ASKED, "by the new name alone");
    assert_eq!(moved("data/.github", "data/old", json!({"data/.github/workflows/ci.yml": "file"})), ASKED, "by the old name alone");
    assert_eq!(moved("data/a", "data/b", json!({"data/a": "file"})), "ask needs_first 2");
    assert_eq!(moved("work/conftest.py", "work/b", json!({"work/conftest.py": "file"})), "allow ok 1");
    assert_eq!(moved("work/conftest.py", "data/tests.py", json!({"work/conftest.py": "file"})), "allow ok 1");
}

#[test]
fn a_link_that_leads_to_such_a_file_is_no_way_around() {
    let files = json!({"symlinks": "inside"});
    let fs = json!({"data/notes": "symlink:.vscode", "data/.vscode/tasks.json": "file"});
    let verdict = judged(files.clone(), "write_file", json!({"path": "data/notes/tasks.json", "content": "x"}), json!({"fs": fs}));
    assert_eq!(line(&verdict), ASKED);
    let fs = json!({"data/notes": "symlink:src", "data/src/a.txt": "file"});
    let verdict = judged(files, "write_file", json!({"path": "data/notes/a.txt", "content": "x"}), json!({"fs": fs}));
    assert_eq!(line(&verdict), "ask needs_first 2");
}

#[test]
fn moving_out_of_the_scratch_asks_no_more_than_creating_would() {
    let moved = |fs: Value| said("move_file", json!({"from": "work/a", "to": "data/b"}), json!({"fs": fs}));
    assert_eq!(moved(json!({"work/a": "file"})), "allow ok 1");
    assert_eq!(moved(json!({"work/a/x.txt": "file"})), "allow ok 1");
    assert_eq!(moved(json!({"work/a": "file", "data/b": "file"})), ASKED, "what is there is lost");
    assert_eq!(moved(json!({"work/a/x": "symlink:y"})), "ask needs_first 2", "no tool creates a link");
}

#[test]
fn the_set_is_the_manifests_and_a_missing_key_is_the_defaults() {
    let write = |files: Value, path: &str| line(&judged(files, "write_file", json!({"path": path, "content": "x"}), json!({})));
    for files in [json!({}), json!({"runs_later": ["defaults"]}), json!({"max_answer": "1 KiB"})] {
        assert_eq!(write(files.clone(), "data/conftest.py"), ASKED, "{files}");
        assert_eq!(write(files, "data/Makefile"), "allow ok 1");
    }
    assert_eq!(write(json!({"runs_later": []}), "data/conftest.py"), "allow ok 1");
    let both = json!({"runs_later": ["defaults", "builds", "deploy/**"]});
    for path in ["data/conftest.py", "data/Makefile", "data/package.json", "data/Deploy/now.sh", "data/deploy"] {
        assert_eq!(write(both.clone(), path), ASKED, "{path}");
    }
    let own = json!({"runs_later": ["deploy/**"]});
    assert_eq!(write(own, "data/conftest.py"), "allow ok 1", "what is written stands for itself");
    let fault = judged(json!({"runs_later": ["default"]}), "read_file", json!({"path": "data/a"}), json!({}));
    assert!(fault.code == toolgate::model::Code::PolicyInvalid && fault.message.contains("write `defaults`"), "{}", fault.message);
}

#[test]
fn a_program_that_writes_to_a_root_that_stays_is_level_3_while_something_runs_later() {
    let run = |files: Value, state: Value| line(&judged(files, "run_python", json!({"code": "print(1)"}), state));
    let named = json!({"runs_later": ["defaults"]});
    assert_eq!(run(named.clone(), json!({})), ASKED);
    assert_eq!(run(json!({"runs_later": []}), json!({})), "ask needs_first 2");
    assert_eq!(run(json!({}), json!({})), "ask needs_first 2", "a manifest without the key asks for a program as it did");
    assert_eq!(run(named.clone(), json!({"profile": "reader"})), "allow ok 1", "a view is no change");
    let verdict = judged(named, "run_python", json!({"code": "print(1)"}), json!({}));
    assert!(verdict.message.contains("can change what runs later in `data`"), "{}", verdict.message);
}

#[test]
fn the_verdict_says_what_runs_the_file() {
    let message = |path: &str| judged(json!({}), "write_file", json!({"path": path, "content": "x"}), json!({})).message;
    for (path, by) in [
        ("data/.github/workflows/x.yml", "is run later by CI"),
        ("data/.vscode/tasks.json", "is run later by your editor"),
        ("data/.git/hooks/pre-commit", "is run later by git"),
    ] {
        let told = message(path);
        assert!(told.contains(by) && told.contains(path) && told.contains("`files.runs_later`"), "{told}");
    }
}
