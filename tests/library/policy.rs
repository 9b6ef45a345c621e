//! The judge against the shared cases, and its properties.
#![expect(
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    reason = "helpers of tests take cases as they are written, and may stop at what should not be"
)]

use std::path::PathBuf;

use serde_json::{Value, json};
use toolgate::cli::simulate::simulate;
use toolgate::tools;

/// The folder of the shared cases: `$TOOLGATE_CASES`, or beside the repository.
fn cases(name: &str) -> Option<String> {
    let folder =
        std::env::var_os("TOOLGATE_CASES").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/cases"), PathBuf::from);
    let text = std::fs::read_to_string(folder.join(name)).ok();
    if text.is_none() {
        eprintln!("skipped: there is no {name} in {}; set TOOLGATE_CASES", folder.display());
    }
    text
}

#[test]
fn the_shared_cases_agree_on_verdict_code_and_level() {
    let Some(text) = cases("policy.jsonl") else { return };
    let lines = |text: &str| text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    let mut output = Vec::new();
    assert_eq!(simulate(text.as_bytes(), &mut output).unwrap(), 0, "lines that are no case");
    let answers = String::from_utf8(output).unwrap();
    let (cases, answers) = (lines(&text), lines(&answers));
    assert_eq!(cases.len(), answers.len());
    let mut wrong = Vec::new();
    for (case, answer) in cases.iter().zip(&answers) {
        let level_fits = case.get("level").is_none_or(|level| answer.get("level") == Some(level));
        if case["id"] != answer["id"] || case["expect"] != answer["verdict"] || case["reason"] != answer["code"] || !level_fits {
            wrong.push(format!(
                "{} ({}): expected {} {} {:?}, found {answer}",
                case["id"],
                case["why"],
                case["expect"],
                case["reason"],
                case.get("level")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn in_a_described_world_an_entry_vouches_for_a_spelling_and_nothing_else_does() {
    let judged = |tool: &str, args: Value, fs: Value| {
        let policy = json!({"version": 1, "roots": {"w": {"path": "/w", "mode": "rw", "allowed_paths": ["caf\u{e9}/**", "*\u{200d}*", "\u{2764}*"],
            "denied_paths": ["secret*"]}}, "profiles": {"p": {"permissions": ["STANDARD"], "allowed_tools": ["*"]}},
            "approvals": {"level_2": "none"}});
        let case = json!({"id": 1, "policy": policy, "request": {"profile": "p", "tool": tool, "args": args}, "state": {"fs": fs}});
        let mut output = Vec::new();
        simulate(case.to_string().as_bytes(), &mut output).unwrap();
        serde_json::from_slice::<Value>(&output).unwrap()["code"].as_str().unwrap().to_owned()
    };
    let read = |path: &str, entries: &[&str]| {
        let fs = entries.iter().map(|entry| ((*entry).to_owned(), json!("file"))).collect::<serde_json::Map<_, _>>();
        judged("read_file", json!({"path": path}), Value::Object(fs))
    };
    // As before: without an entry the spelling is malformed, whatever the rules would say of the path.
    for path in ["w/cafe\u{301}/a", "w/a\u{200d}b", "w/\u{2764}\u{fe0f}", "w/sec\u{200d}ret", "nowhere/a\u{200d}b", "w/x\u{200b}y"] {
        assert_eq!(read(path, &["w/other"]), "path_malformed", "{path:?}");
    }
    assert_eq!(read("w/cafe\u{301}/a", &["w/cafe\u{301}/a"]), "ok");
    assert_eq!(read("w/caf\u{e9}/a", &["w/cafe\u{301}/a"]), "ok");
    assert_eq!(read("w/cafe\u{301}/a", &["w/caf\u{e9}/a"]), "ok");
    assert_eq!(read("w/a\u{200d}b", &["w/a\u{200d}b"]), "ok");
    assert_eq!(read("w/\u{2764}\u{fe0f}", &["/w/\u{2764}\u{fe0f}"]), "ok");
    assert_eq!(read("w/sec\u{200d}ret", &["w/sec\u{200d}ret"]), "path_denied");
    assert_eq!(read("w/zo\u{308}", &["w/zo\u{308}"]), "path_not_allowed");
    assert_eq!(read("w/\u{212b}\u{200d}x", &["w/\u{c5}\u{200d}x", "w/A\u{30a}\u{200d}x"]), "path_malformed");
    let write = |path: &str| judged("write_file", json!({"path": path, "content": "x"}), json!({"w/cafe\u{301}": "dir"}));
    assert_eq!(
        (write("w/caf\u{e9}/new"), write("w/cafe\u{301}/new"), write("w/caf\u{e9}/cafe\u{301}")),
        ("ok".into(), "ok".into(), "path_malformed".into())
    );
}

#[test]
fn no_call_leaves_anything_under_the_name_of_a_temporary_file() {
    let judged = |tool: &str, args: Value| {
        let policy = json!({"version": 1, "roots": {"w": {"path": "/w", "mode": "rw", "allowed_paths": ["**"]}},
            "files": {"symlinks": "inside"},
            "profiles": {"p": {"permissions": ["STANDARD"], "allowed_tools": ["*"]}}, "approvals": {"level_2": "none", "level_3": "none"}});
        let fs = json!({"w/.toolgate-0123456789abcdef0123456789ABCDEF.tmp": "file", "w/a": "file", "w/d": "dir",
            "w/d/.toolgate-0123456789abcdef0123456789abcdef.tmp": "file", "w/l": "symlink:.toolgate-0123456789abcdef0123456789ABCDEF.tmp"});
        let case = json!({"id": 1, "policy": policy, "request": {"profile": "p", "tool": tool, "args": args}, "state": {"fs": fs}});
        let mut output = Vec::new();
        simulate(case.to_string().as_bytes(), &mut output).unwrap();
        serde_json::from_slice::<Value>(&output).unwrap()["code"].as_str().unwrap().to_owned()
    };
    let name = "w/.toolgate-0123456789abcdef0123456789ABCDEF.tmp";
    for (tool, args) in [
        ("write_file", json!({"path": name, "content": "x"})),
        ("write_file", json!({"path": "w/.toolgate-00000000000000000000000000000000.tmp", "content": "x", "mode": "create"})),
        ("write_file", json!({"path": format!("{name}/x"), "content": "x"})),
        ("write_file", json!({"path": "w/l", "content": "x"})),
        ("edit_file", json!({"path": name, "edits": [{"old_text": "a", "new_text": "b"}]})),
        ("create_directory", json!({"path": "w/.toolgate-00000000000000000000000000000000.tmp"})),
        ("move_file", json!({"from": "w/a", "to": "w/.toolgate-00000000000000000000000000000000.tmp"})),
    ] {
        assert_eq!(judged(tool, args.clone()), "path_denied", "{tool} {args}");
    }
    // What a program left under such a name can be read, moved and deleted, and a folder that holds one is a folder as any other.
    for (tool, args) in [
        ("read_file", json!({"path": name})),
        ("move_file", json!({"from": name, "to": "w/kept"})),
        ("move_file", json!({"from": "w/d", "to": "w/e"})),
        ("delete_file", json!({"path": name})),
        ("write_file", json!({"path": "w/.toolgate-1.tmp", "content": "x"})),
    ] {
        assert_eq!(judged(tool, args.clone()), "ok", "{tool} {args}");
    }
}

mod explain {
    use std::sync::Arc;

    use serde_json::{Map, Value, json};
    use toolgate::cli::decide::Call;
    use toolgate::cli::explain::{Explanation, explain};
    use toolgate::cli::world::World;
    use toolgate::manifest;
    use toolgate::model::{Caller, Channel, ClientLabel};
    use toolgate::policy::{Channels, State};
    use toolgate::tools;

    const TEXT: &str = r#"version = 1
[roots.data]
path = "/srv/data"
allowed_paths = ["notes/*", "**/*.txt"]
denied_paths = ["**/secret*"]
[files]
denied_paths = ["**/.env*"]
[network]
allowed_domains = ["*.example.org"]
[python]
allowed_imports = ["math"]
[profiles.reader]
permissions = ["READ_FILE", "NETWORK_ACCESS", "EXECUTE_CODE"]
allowed_tools = ["read_file", "fetch", "delete_file", "run_python"]
denied_tools = ["delete_*"]
"#;

    fn explained(tool: &str, arguments: Value, world: Value) -> Explanation {
        let mut manifest = manifest::parse(TEXT, tools::specs()).unwrap();
        manifest.resolve_roots("/srv").unwrap();
        let manifest = Arc::new(manifest);
        let caller = Caller {
            principal: "stdio".to_owned(),
            session: "s".to_owned(),
            profile: Some("reader".to_owned()),
            client: ClientLabel::default(),
            channel: Channel::During,
        };
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = Call { caller, tool, arguments, malformed: None };
        let state = State { channels: Channels { client: true, operator: true }, ..State::default() };
        let world = World::read(world.as_object().unwrap_or(&Map::new()), &manifest);
        explain(&manifest, &call, &state, &|action, screened| Ok(world.look(&manifest, action, screened)))
    }

    #[test]
    fn every_step_its_rule_and_its_place_are_told() {
        let told = explained("read_file", json!({"path": "data/notes/2026/a.md"}), json!({}));
        insta::assert_snapshot!("explain_nearest", told.to_text("tools.toml"));
        let told = explained("read_file", json!({"path": "data/notes/a.md"}), json!({"fs": {"data/notes/a.md": "file"}}));
        insta::assert_snapshot!("explain_allowed", told.to_text("tools.toml"));
        let told = explained("delete_file", json!({"path": "/srv/data/SECRETS/k"}), json!({}));
        insta::assert_snapshot!("explain_several_changes", told.to_text("tools.toml"));
    }

    #[test]
    fn the_smallest_change_is_one_that_helps() {
        let changes = |tool: &str, arguments: Value, world: Value| {
            let told = explained(tool, arguments, world);
            let then = told.then.as_ref().map(|then| then.code.as_str());
            (told.changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "), then)
        };
        for (tool, arguments, world, expected) in [
            (
                "read_file",
                json!({"path": "data/notes/.env"}),
                json!({}),
                ("files.denied_paths[0]: take \"**/.env*\" out, or make it narrower", Some("ok")),
            ),
            ("read_file", json!({"path": "data/x[1].md"}), json!({}), ("roots.data.allowed_paths: add \"*.md\"", Some("ok"))),
            (
                "read_file",
                json!({"path": "data/a.txt"}),
                json!({"sizes": {"data/a.txt": 2_000_000}}),
                ("files.max_file_size: raise it", Some("ok")),
            ),
            ("fetch", json!({"url": "https://example.org/"}), json!({}), ("network.allowed_domains: add \"example.org\"", Some("ok"))),
            (
                "fetch",
                json!({"url": "https://a.example.org:8443/"}),
                json!({"dns": {"a.example.org": ["10.0.0.1"]}}),
                ("network.allowed_ports: add 8443; network.internal: add \"10.0.0.1:8443\"", Some("ok")),
            ),
            (
                "run_python",
                json!({"code": "import json.decoder, csv\nfrom numpy import linalg\nimport csv, math"}),
                json!({}),
                ("python.allowed_imports: add \"json.decoder\", \"csv\", \"numpy\"", Some("ok")),
            ),
            // What the check refuses beside it is opened by no import.
            ("run_python", json!({"code": "import csv\nexec('1')"}), json!({}), ("", None)),
            ("read_file", json!({"path": "/etc/passwd"}), json!({}), ("", None)),
            ("read_file", json!({"path": "data/../x"}), json!({}), ("", None)),
        ] {
            let (found, then) = changes(tool, arguments.clone(), world);
            assert_eq!((found.as_str(), then), expected, "{tool} {arguments}");
        }
    }

    #[test]
    fn the_nearest_pattern_says_why_it_does_not_match() {
        for (path, reason) in [
            ("data/notes/2026/a.md", "`*` stops at a folder"),
            ("data/notes", "not the folder itself"),
            ("data/x/A.TXT", "upper and lower case"),
            ("data/x/notes/a", "patterns begin at the root"),
        ] {
            let nearest = explained("read_file", json!({"path": path}), json!({})).nearest.unwrap();
            assert!(nearest.contains(reason), "{path}: {nearest}");
        }
    }
}

#[test]
fn check_shows_each_fault_under_its_line() {
    let text = "version = 1\n[roots.data]\npath = \"/srv/data\"\nmod = \"rw\"\nallowed_paths = [\"ok/**\", \"/etc/**\"]\n";
    let faults = toolgate::manifest::parse(text, tools::specs()).unwrap_err();
    insta::assert_snapshot!("check_pretty", toolgate::cli::check::pretty("tools.toml", text, &faults));
}

#[test]
fn the_manifests_own_tests_are_judged_and_the_failed_ones_told() {
    let text = "version = 1\n[roots.data]\npath = \"/srv/data\"\nallowed_paths = [\"**\"]\n[profiles.p]\npermissions = [\"READ_FILE\"]\nallowed_tools = [\"*\"]\n\
        [[test]]\nprofile = \"p\"\ncall = { tool = \"read_file\", args = { path = \"/etc/passwd\" } }\nexpect = \"deny\"\nreason = \"path_outside_roots\"\n\
        [[test]]\nprofile = \"p\"\ncall = { tool = \"read_file\", args = { path = \"data/a\" } }\nexpect = \"deny\"\n\
        [[test]]\nprofile = \"p\"\ncall = { tool = \"read_file\", args = { paht = \"data/a\" } }\nexpect = \"deny\"\n\
        [[test]]\nprofile = \"p\"\ncall = { tool = \"read_file\", args = { path = \"data/../a\" } }\nexpect = \"deny\"\nreason = \"path_malformed\"\n\
        [[test]]\nprofile = \"p\"\ncall = { tool = \"read_file\", args = { path = 7 } }\nexpect = \"deny\"\n";
    let manifest = toolgate::manifest::parse(text, tools::specs()).unwrap();
    let failed: Vec<String> = toolgate::cli::check::failed_tests(&manifest).iter().map(ToString::to_string).collect();
    assert_eq!(
        failed,
        [
            "16:10: test[1].expect: (read_file {\"path\":\"data/a\"}): expected deny, found allow ok: a call that reads (level 0) needs no approval",
            "19:30: test[2].call.args: (read_file {\"paht\":\"data/a\"}): no rule was asked, for the call itself is refused: the arguments \
             have 2 faults: (1) argument `path` is missing; it must be a text; (2) there is no argument `paht` (did you mean `path`?); correct it, or write `reason = \"unknown_argument\"`",
            "28:30: test[4].call.args: (read_file {\"path\":7}): no rule was asked, for the call itself is refused: argument `path` must be a \
             text; it is the number 7; correct it, or write `reason = \"argument_invalid\"`",
        ]
    );
    let case = serde_json::json!({"policy": {"version": 1, "profiles": {"p": {}},
        "test": [{"profile": "p", "call": {"tool": "read_file"}, "expect": "allow"}]}});
    assert_eq!(toolgate::cli::simulate::judge_case(&case).code.as_str(), "policy_invalid");
}

#[test]
fn a_test_whose_call_no_rule_is_asked_about_must_name_that_reason() {
    let found = |tool: &str, args: serde_json::Value, reason: Option<&str>| {
        let mut test = serde_json::json!({"profile": "p", "call": {"tool": tool, "args": args}, "expect": "deny"});
        if let Some(reason) = reason {
            test["reason"] = reason.into();
        }
        let manifest = serde_json::json!({
            "version": 1,
            "roots": {"data": {"path": "/srv/data", "mode": "rw", "allowed_paths": ["**"], "denied_paths": ["secret"]}},
            "network": {"allowed_domains": ["site.example"]},
            "python": {"allowed_imports": ["math"]},
            "profiles": {"p": {"permissions": ["FULL"], "allowed_tools": ["*"]}},
            "test": [test],
        });
        let manifest = toolgate::manifest::parse_json(&manifest, tools::specs()).unwrap();
        toolgate::cli::check::failed_tests(&manifest).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for (tool, args, code) in [
        ("fetch", serde_json::json!({"url": "https:/\\/evil example/"}), "url_malformed"),
        ("fetch", serde_json::json!({"url": "https://"}), "url_malformed"),
        ("run_python", serde_json::json!({"code": "import (os"}), "syntax_error"),
        ("run_python", serde_json::json!({"code": "impart os"}), "syntax_error"),
        ("read_file", serde_json::json!({"path": "data/../secret"}), "path_malformed"),
        ("read_file", serde_json::json!({"path": "data/secre\u{200b}t"}), "path_malformed"),
        ("move_file", serde_json::json!({"from": "data/a", "to": "data//b"}), "path_malformed"),
    ] {
        let told = found(tool, args.clone(), None);
        assert!(told.iter().any(|fault| fault.contains("no rule was asked") && fault.contains(code)), "{tool} {args}: {told:?}");
        assert_eq!(found(tool, args.clone(), Some(code)), [""; 0], "{tool} {args}");
    }
    for (tool, args) in [
        ("fetch", serde_json::json!({"url": "https://evil.example/"})),
        ("fetch", serde_json::json!({"url": "https://ann:x@site.example/"})),
        ("run_python", serde_json::json!({"code": "import os"})),
        ("read_file", serde_json::json!({"path": "data/secret"})),
        ("read_file", serde_json::json!({"path": "/etc/passwd"})),
    ] {
        assert_eq!(found(tool, args.clone(), None), [""; 0], "{tool} {args}");
    }
}

#[test]
fn a_line_that_is_no_case_is_told_and_the_rest_is_judged() {
    let mut output = Vec::new();
    let input = "{\"id\":1}\n\nnot json\n[]\n{\"id\":\"x\",\"policy\":{\"version\":1},\"request\":{\"tool\":\"read_file\"}}\n";
    assert_eq!(simulate(input.as_bytes(), &mut output).unwrap(), 2);
    let lines: Vec<Value> = String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<&str> = lines.iter().map(|line| line["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["policy_invalid", "argument_invalid", "argument_invalid", "no_profile"]);
}

/// The tools that a profile with these further lines could use.
fn listed(rest: &str) -> Vec<&'static str> {
    let text = format!("version = 1\n[profiles.p]\npermissions = [\"STANDARD\", \"EXECUTE_CODE\"]\nallowed_tools = [\"*\"]\n{rest}");
    let manifest = toolgate::manifest::parse(&text, tools::specs()).unwrap();
    tools::specs().iter().filter(|spec| toolgate::policy::could_use(&manifest, "p", spec)).map(|spec| spec.name).collect()
}

#[test]
fn a_tool_without_anything_to_act_on_is_not_listed() {
    assert_eq!(listed(""), ["run_python"]);
    let readers = ["file_info", "list_directory", "read_file", "read_files", "run_python", "search_files"];
    assert_eq!(listed("[roots.r]\npath = \"/r\"\nmode = \"ro\"\nallowed_paths = [\"**\"]"), readers);
    assert_eq!(listed("[network]\nallowed_domains = [\"example.com\"]"), ["fetch", "fetch_many", "run_python"]);
    let open = "[roots.r]\npath = \"session\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n[network]\nany_public = true";
    let database = "\n[databases.d]\nurl = \"sqlite:r/d.db\"";
    let all = listed(&format!("{open}{database}"));
    assert_eq!(all.len() + 1, tools::specs().len(), "mail needs a permission of its own");
}

#[test]
fn a_tool_that_does_what_a_restricted_one_does_is_closed_until_the_manifest_speaks_of_it() {
    let with = |rules: &str, profile: &str| {
        let root = "[roots.r]\npath = \"session\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n";
        let open = listed(&format!("{profile}\n{root}{rules}"));
        (open.contains(&"edit_files"), open.contains(&"copy_file"))
    };
    assert_eq!(with("", ""), (true, true));
    assert_eq!(with("[tools.edit_file]\nlevel = 3", ""), (false, true));
    assert_eq!(with("[tools.edit_file]\nlevel = 3\n[tools.edit_files]\nlevel = 3", ""), (true, true));
    assert_eq!(with("[tools.write_file]\nallowed_arguments = { mode = [\"create\"] }", ""), (true, false));
    assert_eq!(with("[approvals]\ntwo_persons = [\"edit_file\"]", ""), (false, true));
    assert_eq!(with("", "denied_tools = [\"edit_file\"]"), (false, true));
    assert_eq!(with("", "denied_tools = [\"read_file\"]"), (true, false));
}
