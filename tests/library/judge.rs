//! What the judge says, sentence by sentence: each rule with its attack and the ordinary use beside it.
#![expect(clippy::needless_pass_by_value, reason = "helpers of tests take cases as they are written, and may stop at what should not be")]

use serde_json::{Value, json};
use toolgate::cli::simulate::{judge_case, simulate};
use toolgate::policy::Verdict;

/// A manifest with one root, every flag and every tool, and what `more` says besides.
fn policy(more: Value) -> Value {
    let mut policy = json!({
        "version": 1,
        "roots": {"data": {"path": "/srv/data", "mode": "rw", "allowed_paths": ["**"]}, "work": {"path": "session", "mode": "rw", "allowed_paths": ["**"]}},
        "network": {"allowed_domains": ["site.example"]},
        "profiles": {"p": {"permissions": ["FULL"], "allowed_tools": ["*"], "rate_limit_per_minute": 1000}},
    });
    merge(&mut policy, more);
    policy
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn judged(more: Value, tool: &str, args: Value, state: Value) -> Verdict {
    let case = json!({"policy": policy(more), "request": {"profile": "p", "tool": tool, "args": args}, "state": state});
    judge_case(&case)
}

/// Arguments of `edit_files` that change these files.
fn edits(paths: &[&str]) -> Value {
    let edits: Vec<Value> = paths.iter().map(|path| json!({"path": path, "old_text": "a", "new_text": "b"})).collect();
    json!({ "edits": edits })
}

fn merged(mut into: Value, from: Value) -> Value {
    merge(&mut into, from);
    into
}

/// `verdict code`, and the level where one was reached.
fn said(more: Value, tool: &str, args: Value, state: Value) -> String {
    let verdict = judged(more, tool, args, state);
    let level = verdict.level.map(|level| format!(" {}", u8::from(level))).unwrap_or_default();
    format!("{} {}{level}", verdict.decision.as_str(), verdict.code)
}

fn none() -> Value {
    json!({})
}

#[test]
fn the_level_comes_from_what_the_call_would_do() {
    let file = |path: &str| json!({"fs": {path: "file"}});
    let content = |path: &str| json!({"path": path, "content": "x"});
    for (tool, args, state, expected) in [
        ("read_file", json!({"path": "data/a"}), file("data/a"), "allow ok 0"),
        ("list_directory", json!({"path": "data"}), none(), "allow ok 0"),
        ("create_directory", json!({"path": "data/d"}), none(), "allow ok 1"),
        ("write_file", content("data/a"), none(), "allow ok 1"),
        ("write_file", content("data/a"), file("data/a"), "ask needs_first 2"),
        ("write_file", json!({"path": "data/a", "content": "x", "mode": "append"}), file("data/a"), "ask needs_first 2"),
        ("write_file", json!({"path": "data/a", "content": "x", "mode": "create"}), file("data/a"), "allow ok 1"),
        ("edit_file", json!({"path": "data/a", "edits": [{"old_text": "a", "new_text": "b"}]}), file("data/a"), "ask needs_first 2"),
        (
            "edit_file",
            json!({"path": "data/a", "edits": [{"old_text": "a", "new_text": "b"}], "dry_run": true}),
            file("data/a"),
            "allow ok 0",
        ),
        ("copy_file", json!({"from": "data/a", "to": "data/b"}), file("data/a"), "allow ok 1"),
        ("copy_file", json!({"from": "data/a", "to": "data/b"}), json!({"fs": {"data/a": "file", "data/b": "file"}}), "ask needs_first 2"),
        ("copy_file", json!({"from": "data/a", "to": "work/b"}), file("data/a"), "allow ok 1"),
        ("edit_files", edits(&["data/a", "data/b"]), json!({"fs": {"data/a": "file", "data/b": "file"}}), "ask needs_first 2"),
        ("edit_files", edits(&["work/a"]), file("work/a"), "allow ok 1"),
        ("edit_files", merged(edits(&["data/a"]), json!({"dry_run": true})), file("data/a"), "allow ok 0"),
        ("move_file", json!({"from": "data/a", "to": "data/b"}), file("data/a"), "ask needs_first 2"),
        ("move_file", json!({"from": "data/a", "to": "data/b"}), json!({"fs": {"data/a": "file", "data/b": "file"}}), "ask needs_every 3"),
        ("delete_file", json!({"path": "data/a"}), file("data/a"), "ask needs_every 3"),
        ("write_file", content("work/a"), file("work/a"), "allow ok 1"),
        ("delete_file", json!({"path": "work/a"}), file("work/a"), "allow ok 1"),
        ("move_file", json!({"from": "data/a", "to": "work/a"}), file("data/a"), "ask needs_every 3"),
        ("move_file", json!({"from": "data/a", "to": "work/a"}), json!({"fs": {"data/a/b": "file"}}), "ask needs_every 3"),
        ("move_file", json!({"from": "work/a", "to": "work/b"}), file("work/a"), "allow ok 1"),
        ("move_file", json!({"from": "work/a", "to": "data/b"}), file("work/a"), "allow ok 1"),
        ("move_file", json!({"from": "work/a", "to": "data/a"}), json!({"fs": {"work/a": "file", "data/a": "file"}}), "ask needs_every 3"),
        ("fetch", json!({"url": "https://site.example/"}), none(), "allow ok 0"),
        ("fetch", json!({"url": "https://site.example/", "method": "HEAD"}), none(), "allow ok 0"),
        ("fetch", json!({"url": "https://site.example/", "method": "POST"}), none(), "ask needs_every 3"),
        ("fetch", json!({"url": "https://site.example/", "method": "PUT", "body": "x"}), none(), "ask needs_every 3"),
        ("fetch", json!({"url": "https://site.example/", "save_to": "data/a"}), none(), "allow ok 1"),
        ("fetch", json!({"url": "https://site.example/", "save_to": "data/a"}), file("data/a"), "ask needs_first 2"),
        ("run_python", json!({"code": "1"}), none(), "allow ok 1"),
    ] {
        assert_eq!(said(none(), tool, args.clone(), state), expected, "{tool} {args}");
    }
    let python = |walls: Value| said(json!({"python": walls}), "run_python", json!({"code": "1"}), none());
    assert_eq!(python(json!({"roots": ["work"]})), "allow ok 1");
    assert_eq!(python(json!({"roots": ["work", "data"]})), "ask needs_first 2");
    let named = json!({"python": {"roots": ["work", "data"]}, "files": {"runs_later": ["defaults"]}});
    assert_eq!(said(named, "run_python", json!({"code": "1"}), none()), "ask needs_every 3", "files that run later lie within its reach");
    assert_eq!(python(json!({"network": true})), "ask needs_every 3");
}

#[test]
fn a_folder_is_moved_or_deleted_only_when_every_entry_below_may_be_under_both_names() {
    let denied = json!({"roots": {"data": {"denied_paths": ["a/secrets/**"]}}});
    let tree = json!({"fs": {"data/a": "dir", "data/a/x": "file", "data/a/secrets/k": "file"}});
    let go =
        |more: &Value, from: &str, to: &str, state: &Value| said(more.clone(), "move_file", json!({"from": from, "to": to}), state.clone());
    assert_eq!(go(&denied, "data/a", "data/b", &tree), "deny path_denied");
    let plain = json!({"fs": {"data/a": "dir", "data/a/x": "file"}});
    assert_eq!(go(&denied, "data/a", "data/b", &plain), "ask needs_first 2");
    let arrives = json!({"roots": {"data": {"denied_paths": ["b/x"]}}});
    assert_eq!(go(&arrives, "data/a", "data/b", &plain), "deny path_denied");
    let narrow = json!({"roots": {"data": {"allowed_paths": ["a", "b", "*/*.txt"]}}});
    assert_eq!(go(&narrow, "data/a", "data/b", &plain), "deny path_not_allowed");
    let delete =
        |more: &Value, state: &Value| said(more.clone(), "delete_file", json!({"path": "data/a", "recursive": true}), state.clone());
    assert_eq!(delete(&denied, &tree), "deny path_denied");
    assert_eq!(delete(&denied, &plain), "ask needs_every 3");
}

#[test]
fn what_is_no_plain_file_is_refused() {
    let read = |kind: &str| said(none(), "read_file", json!({"path": "data/a"}), json!({"fs": {"data/a": kind}}));
    assert_eq!(read("file"), "allow ok 0");
    for (kind, code) in [
        ("hardlink", "hardlink"),
        ("fifo", "not_a_regular_file"),
        ("device", "not_a_regular_file"),
        ("socket", "not_a_regular_file"),
        ("dir", "not_a_regular_file"),
        ("symlink:b", "symlink"),
        ("symlink:/etc/passwd", "symlink"),
    ] {
        assert_eq!(read(kind), format!("deny {code}"), "{kind}");
    }
    for tool in ["file_info", "delete_file"] {
        assert_eq!(said(none(), tool, json!({"path": "data/a"}), json!({"fs": {"data/a": "hardlink"}})), "deny hardlink", "{tool}");
    }
    let write = json!({"path": "data/l/new", "content": "x"});
    assert_eq!(said(none(), "write_file", write, json!({"fs": {"data/l": "symlink:/etc"}})), "deny symlink");
    let root = json!({"fs": {"/srv/data": "symlink:/etc"}});
    assert_eq!(said(none(), "read_file", json!({"path": "data/a"}), root), "deny symlink");
}

#[test]
fn a_followed_link_is_judged_by_where_it_leads() {
    let inside =
        json!({"files": {"symlinks": "inside"}, "roots": {"data": {"allowed_paths": ["pub/**", "a"], "denied_paths": ["secret/**"]}}});
    let read = |to: &str| {
        said(
            inside.clone(),
            "read_file",
            json!({"path": "data/pub/l"}),
            json!({"fs": {"data/pub/l": format!("symlink:{to}"), "data/a": "file"}}),
        )
    };
    assert_eq!(read("/srv/data/a"), "allow ok 0");
    assert_eq!(read("../a"), "allow ok 0");
    assert_eq!(read("/srv/data/secret/k"), "deny path_denied");
    assert_eq!(read("/srv/data/other"), "deny path_not_allowed");
    assert_eq!(read("/etc/passwd"), "deny path_outside_roots");
    assert_eq!(read("../../../etc/passwd"), "deny path_outside_roots");
    assert_eq!(read("/srv/database"), "deny path_outside_roots");
    assert_eq!(read("l"), "deny symlink", "a link to itself");
}

#[test]
fn sizes_are_judged_by_the_least_limit_that_says_something() {
    let limits = json!({"files": {"max_file_size": "1 KiB"}, "tools": {"write_file": {"max_file_size": "100"}, "read_file": {"max_file_size": "2 KiB"}}});
    let write = |length: u64, mode: &str, size: u64| {
        said(
            limits.clone(),
            "write_file",
            json!({"path": "data/a", "content": {"len": length}, "mode": mode}),
            json!({"sizes": {"data/a": size}}),
        )
    };
    assert_eq!(write(100, "overwrite", 5000), "ask needs_first 2");
    assert_eq!(write(101, "overwrite", 0), "deny file_too_large");
    assert_eq!(write(50, "append", 50), "ask needs_first 2");
    assert_eq!(write(50, "append", 51), "deny file_too_large");
    assert_eq!(write(5_000_000_000, "overwrite", 0), "deny file_too_large");
    let read = |size: u64| said(limits.clone(), "read_file", json!({"path": "data/a"}), json!({"sizes": {"data/a": size}}));
    assert_eq!([read(1024), read(1025)], ["allow ok 0", "deny file_too_large"], "a tool cannot raise the limit of all");
    let rule = judged(limits, "write_file", json!({"path": "data/a", "content": {"len": 101}}), none()).rule;
    assert_eq!(rule.as_deref(), Some("tools.write_file.max_file_size"));
}

#[test]
fn argument_values_are_compared_whole_and_by_type() {
    let listed = json!({"tools": {"fetch": {"allowed_arguments": {"format": ["text", "markdown"]}}}});
    let fetch = |format: Value| said(listed.clone(), "fetch", json!({"url": "https://site.example/", "format": format}), none());
    assert_eq!(fetch(json!("text")), "allow ok 0");
    for value in [json!("html"), json!("text "), json!("TEXT"), json!(["text"]), json!(null), json!(1), json!("text\n--exec=sh")] {
        assert_eq!(fetch(value.clone()), "deny argument_not_allowed", "{value}");
    }
    let range = json!({"tools": {"search_files": {"allowed_arguments": {"max_results": {"min": 1, "max": 50}}}}});
    let search = |more: &Value, args: Value| {
        let mut all = json!({"path": "data", "query": "x"});
        merge(&mut all, args);
        said(more.clone(), "search_files", all, none())
    };
    for value in [json!(1), json!(50)] {
        assert_eq!(search(&range, json!({"max_results": value})), "allow ok 0");
    }
    for value in [json!(0), json!(51), json!(5.0), json!("5"), json!(true), json!(null), json!(1e30)] {
        assert_eq!(search(&range, json!({"max_results": value})), "deny argument_not_allowed", "{value}");
    }
    // An absent argument is judged as what is then in force; a number without a bound is outside of every range.
    assert_eq!(search(&range, none()), "deny argument_not_allowed", "the default is 100");
    let limit = json!({"tools": {"read_file": {"allowed_arguments": {"limit": {"min": 1, "max": 5}}}}});
    let read = |args: Value| said(limit.clone(), "read_file", args, none());
    assert_eq!(read(json!({"path": "data/a"})), "deny argument_not_allowed");
    assert_eq!(read(json!({"path": "data/a", "limit": 6})), "deny argument_not_allowed");
    assert_eq!(read(json!({"path": "data/a", "limit": 5})), "allow ok 0");
    let time = |timeout: &str, most: u64, args: Value| {
        let range =
            json!({"python": {"timeout": timeout}, "tools": {"run_python": {"allowed_arguments": {"timeout_s": {"min": 1, "max": most}}}}});
        let mut all = json!({"code": "1"});
        merge(&mut all, args);
        said(range, "run_python", all, none()).contains("argument_not_allowed")
    };
    assert!(time("30s", 2, none()) && time("2500ms", 2, none()), "the manifest's time would be in force");
    assert!(!time("2s", 2, none()) && !time("30s", 2, json!({"timeout_s": 2})) && time("30s", 2, json!({"timeout_s": 3})));
    let digest = json!({"tools": {"write_file": {"allowed_arguments": {"expected_sha256": {"min_length": 64}}}}});
    assert_eq!(said(digest, "write_file", json!({"path": "data/a", "content": ""}), none()), "deny argument_not_allowed");
    let length = json!({"tools": {"write_file": {"allowed_arguments": {"content": {"max_length": 3}}}}});
    let write = |content: Value| said(length.clone(), "write_file", json!({"path": "data/a", "content": content}), none());
    assert_eq!(
        [write(json!("abc")), write(json!("abcd")), write(json!("éé"))],
        ["allow ok 1", "deny argument_not_allowed", "deny argument_not_allowed"]
    );
    let only = json!({"tools": {"fetch": {"allowed_arguments": {"url": ["https://site.example/"]}, "only_listed": true}}});
    assert_eq!(said(only.clone(), "fetch", none(), none()), "allow ok 0", "an absent argument takes the first that is listed");
    assert_eq!(said(only, "fetch", json!({"method": "GET"}), none()), "deny argument_not_allowed");
    assert_eq!(said(none(), "read_file", json!({"path": "data/a", "pth": 1}), none()), "deny unknown_argument");
    assert_eq!(said(none(), "read_file", json!({"path": 5}), none()), "deny argument_invalid");
    assert_eq!(said(none(), "read_file", none(), none()), "deny argument_invalid");
    assert_eq!(said(none(), "read_file", json!([]), none()), "deny argument_invalid");
}

#[test]
fn a_name_that_stands_twice_is_refused() {
    let case = json!({"policy": policy(none()), "request": {"profile": "p", "tool": "read_file", "args": {"path": "data/a"}}, "state": {}});
    let with = |before: &str, after: &str| {
        let (text, mut output) = (case.to_string(), Vec::new());
        assert!(text.contains(before), "{text}");
        simulate(text.replacen(before, after, 1).as_bytes(), &mut output).unwrap();
        serde_json::from_slice::<Value>(&output).unwrap()["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(with("\"path\":\"data/a\"", "\"path\":\"data/a\",\"path\":\"data/a\""), "argument_invalid");
    assert_eq!(with("\"version\":1", "\"version\":1,\"version\":1"), "policy_invalid");
    assert_eq!(with("\"state\":{}", "\"state\":{\"now\":1,\"now\":1}"), "ok");
}

#[test]
fn counts_are_exact_and_the_least_limit_counts() {
    let read = |more: Value, state: Value| judged(more, "read_file", json!({"path": "data/a"}), state);
    let limit = |limit: u64| json!({"profiles": {"p": {"rate_limit_per_minute": limit}}});
    let at = |times: &[f64]| json!({"now": 100, "calls_at": times});
    assert_eq!(read(limit(2), at(&[50.0])).code.as_str(), "ok");
    let refused = read(limit(2), at(&[50.0, 70.5]));
    assert_eq!((refused.code.as_str(), refused.retry_after_s), ("rate_limited", Some(10)));
    assert_eq!(read(limit(2), at(&[40.0, 99.0])).code.as_str(), "ok", "exactly a minute ago is out");
    assert_eq!(read(json!({"limits": {"rate_limit_per_minute": 1}}), at(&[99.0])).code.as_str(), "rate_limited");
    let tool = json!({"tools": {"read_file": {"rate_limit_per_minute": 1}}});
    assert_eq!(read(tool.clone(), json!({"now": 100, "tool_calls_at": [99]})).code.as_str(), "rate_limited");
    assert_eq!(read(tool, json!({"now": 100, "tool_calls_at": {"fetch": [99]}})).code.as_str(), "ok");
    assert_eq!(read(json!({"profiles": {"p": {"rate_limit_per_hour": 1}}}), at(&[-3000.0])).code.as_str(), "rate_limited");
    let silent = json!({"policy": {"version": 1, "profiles": {"q": {"permissions": ["FULL"], "allowed_tools": ["*"]}}},
        "request": {"profile": "q", "tool": "read_file", "args": {"path": 1}}, "state": {"now": 100, "calls_at": vec![99; 10]}});
    assert_eq!(judge_case(&silent).code.as_str(), "rate_limited", "ten a minute where nobody says otherwise");
}

#[test]
fn budgets_are_charged_before() {
    let write = |used: u64, cost: u64| {
        let case = json!({"policy": policy(json!({"limits": {"write_per_hour": "1 KiB"}})),
            "request": {"profile": "p", "tool": "write_file", "args": {"path": "data/a", "content": "x"}, "cost": {"write_per_hour": cost}},
            "state": {"used": {"write_per_hour": used}}});
        judge_case(&case).code.as_str()
    };
    assert_eq!([write(1023, 1), write(1024, 1), write(0, 1025), write(u64::MAX, u64::MAX)], ["ok", "quota", "quota", "quota"]);
    let python = |used: Value| {
        said(json!({"limits": {"cpu_per_hour": "1m"}}), "run_python", json!({"code": "1"}), json!({"used": {"cpu_per_hour": used}}))
    };
    assert_eq!([python(json!(59)), python(json!(60)), python(json!("much"))], ["allow ok 1", "deny quota", "deny quota"]);
    let many = said(none(), "read_file", json!({"path": "data/a"}), json!({"used": {"concurrent_calls": 4}}));
    assert_eq!(many, "deny quota");
}

#[test]
fn switches_stop_everything_that_nothing_lifts() {
    for (state, expected) in [
        (json!({"kill": true}), "deny killed"),
        (json!({"kill": true, "audit_ok": false}), "deny killed"),
        (json!({"audit_ok": false}), "deny audit_unavailable"),
        (json!({"suspended": true}), "deny suspended"),
        (json!({"suspended": ["s2"]}), "allow ok 0"),
        (json!({"suspended": ["s1"]}), "deny suspended"),
        (json!({"kill": false}), "allow ok 0"),
    ] {
        assert_eq!(said(none(), "read_file", json!({"path": "data/a"}), state.clone()), expected, "{state}");
    }
}

/// Each end of a copy and each file of several edits is judged as if it were alone.
#[test]
fn a_copy_and_edits_of_several_files_go_no_further_than_their_parts() {
    let fs = || {
        let names = ["a", "b", "secret/k", ".vscode/tasks.json", "only/x"];
        let mut fs: serde_json::Map<String, Value> = names.iter().map(|name| (format!("data/{name}"), json!("file"))).collect();
        fs.insert("data/h".into(), json!("hardlink"));
        fs.insert("data/l".into(), json!("symlink:a"));
        fs.insert("data/d".into(), json!("dir"));
        json!({ "fs": fs })
    };
    let more = || {
        json!({"roots": {"data": {"denied_paths": ["secret/**", "**/.env*"]}, "lib": {"path": "/lib", "mode": "ro", "allowed_paths": ["**"]}},
               "files": {"runs_later": ["defaults"]}})
    };
    for (from, to, expected) in [
        ("data/a", "data/new", "allow ok 1"),
        ("lib/a", "data/new", "allow ok 1"),
        ("data/a", "data/b", "ask needs_first 2"),
        ("data/secret/k", "data/new", "deny path_denied"),
        ("data/a", "data/secret/new", "deny path_denied"),
        ("data/a", "data/x/.env", "deny path_denied"),
        ("data/a", "lib/new", "deny root_read_only"),
        ("data/a", "/etc/new", "deny path_outside_roots"),
        ("data/h", "data/new", "deny hardlink"),
        ("data/a", "data/h", "deny hardlink"),
        ("data/l", "data/new", "deny symlink"),
        ("data/a", "data/l", "deny symlink"),
        ("data/d", "data/new", "deny not_a_regular_file"),
        ("data/a", "data/d", "deny not_a_regular_file"),
        ("data/a", "data/.vscode/tasks.json", "ask needs_every 3"),
        ("data/a", "data/.git/hooks/pre-commit", "ask needs_every 3"),
        ("data/.vscode/tasks.json", "data/new", "allow ok 1"),
    ] {
        assert_eq!(said(more(), "copy_file", json!({"from": from, "to": to}), fs()), expected, "{from} {to}");
    }
    for (paths, expected) in [
        (&["data/a", "data/b", "data/only/x"][..], "ask needs_first 2"),
        (&["data/a", "data/secret/k"], "deny path_denied"),
        (&["data/a", "/etc/passwd"], "deny path_outside_roots"),
        (&["data/a", "lib/b"], "deny root_read_only"),
        (&["data/a", "data/h"], "deny hardlink"),
        (&["data/a", "data/l"], "deny symlink"),
        (&["data/a", "data/.vscode/tasks.json"], "ask needs_every 3"),
    ] {
        assert_eq!(said(more(), "edit_files", edits(paths), fs()), expected, "{paths:?}");
    }
    let files = |count: usize| {
        let names: Vec<String> = (0..count).map(|at| format!("work/f{at}")).collect();
        edits(&names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(said(none(), "edit_files", files(50), none()), "allow ok 1");
    assert_eq!(said(none(), "edit_files", files(51), none()), "deny argument_invalid");
    // Tools that were listed by name before are all that such a profile has.
    let named = json!({"profiles": {"p": {"allowed_tools": ["read_file", "write_file", "edit_file", "move_file"]}}});
    for (tool, args) in [("copy_file", json!({"from": "data/a", "to": "data/new"})), ("edit_files", edits(&["data/a"]))] {
        assert_eq!(said(named.clone(), tool, args.clone(), fs()), "deny tool_not_allowed", "{tool}");
        let flags = json!({"profiles": {"p": {"permissions": ["WRITE_FILE"]}}});
        assert_eq!(said(flags, tool, args, fs()), "deny permission_missing", "{tool}");
    }
}

/// A missing folder is made by what writes into it, under the rules of `create_directory`.
#[test]
fn folders_on_the_way_are_judged_as_create_directory_would_be() {
    let missing = || json!({"fs": {"data/a": "file", "data/new": "missing"}});
    let write = || json!({"path": "data/new/deep/b", "content": "x"});
    let said = |more: Value, tool: &str, args: Value| said(more, tool, args, missing());
    let moved = || json!({"from": "data/a", "to": "data/new/b"});
    assert_eq!(said(none(), "write_file", write()), "allow ok 1");
    assert_eq!(said(none(), "move_file", moved()), "ask needs_first 2");
    assert_eq!(said(none(), "fetch", json!({"url": "https://site.example/", "save_to": "data/new/b"})), "allow ok 1");
    let profile = |rules: Value| json!({"profiles": {"p": rules}});
    let tool = |rules: Value| json!({"tools": {"create_directory": rules}});
    let root = |rules: Value| json!({"roots": {"data": rules}});
    for (more, expected) in [
        (profile(json!({"denied_tools": ["create_*"]})), "deny not_found"),
        (profile(json!({"allowed_tools": ["write_file", "move_file"]})), "deny not_found"),
        (json!({"approvals": {"two_persons": ["create_directory"]}}), "deny not_found"),
        (tool(json!({"rate_limit_per_hour": 5})), "deny not_found"),
        (tool(json!({"allowed_arguments": {"path": ["data/other"]}})), "deny not_found"),
        (tool(json!({"level": 3})), "ask needs_every 3"),
        (root(json!({"denied_paths": ["new"]})), "deny path_denied"),
        (root(json!({"denied_paths": ["**/deep"]})), "deny path_denied"),
        (root(json!({"allowed_paths": ["a", "new/b", "new/deep/*"]})), "deny path_not_allowed"),
    ] {
        for (tool, args) in [("write_file", write()), ("move_file", moved())] {
            let expected = match (tool, &more) {
                ("move_file", more) if more.to_string().contains("deep\"]") => "ask needs_first 2",
                _ => expected,
            };
            assert_eq!(said(more.clone(), tool, args.clone()), expected, "{tool} {more}");
        }
    }
    let there = |more: Value| self::said(more, "write_file", write(), none());
    assert_eq!(there(profile(json!({"denied_tools": ["create_*"]}))), "allow ok 1", "where the folders are there, nothing is made");
    assert_eq!(there(root(json!({"allowed_paths": ["new/deep/*"]}))), "allow ok 1");
    let verdict = judged(profile(json!({"denied_tools": ["create_*"]})), "write_file", write(), missing());
    assert_eq!(verdict.rule.as_deref(), Some("profiles.p.denied_tools[0]"));
    assert_eq!(
        verdict.message,
        "the folder `data/new/deep` does not exist, and this call may not make it: `create_directory` is denied by `create_*`"
    );
}

#[test]
fn flags_are_those_the_call_needs() {
    let with = |flags: Value, tool: &str, args: Value| said(json!({"profiles": {"p": {"permissions": flags}}}), tool, args, none());
    let save = json!({"url": "https://site.example/", "save_to": "data/a"});
    assert_eq!(with(json!(["NETWORK_ACCESS"]), "fetch", save.clone()), "deny permission_missing");
    assert_eq!(with(json!(["NETWORK_ACCESS", "WRITE_FILE"]), "fetch", save), "allow ok 1");
    assert_eq!(with(json!(["STANDARD"]), "run_python", json!({"code": "1"})), "deny permission_missing");
    assert_eq!(with(json!([]), "read_file", json!({"path": "data/a"})), "deny permission_missing");
    assert_eq!(with(json!(["READ_FILE"]), "edit_file", json!({"path": "data/a", "edits": []})), "deny permission_missing");
}

#[test]
fn after_untrusted_content_changes_rise_and_hosts_that_are_new_to_the_session_are_asked_for() {
    let raise = || json!({"approvals": {"after_untrusted": "raise"}});
    let fetch = || json!({"url": "https://site.example/a"});
    let write = || json!({"path": "data/a", "content": "x"});
    let changed = |state: Value| {
        let mut state = state;
        state["fs"] = json!({"data/a": "file"});
        state
    };
    for (more, tool, args, state, expected) in [
        (raise(), "fetch", fetch(), none(), "allow ok 0"),
        (raise(), "fetch", fetch(), json!({"untrusted": true}), "ask needs_first 2"),
        (raise(), "fetch", fetch(), json!({"untrusted": true, "contacted": ["site.example"]}), "allow ok 0"),
        (raise(), "fetch", fetch(), json!({"tainted": true, "contacted": ["www.site.example"]}), "ask needs_first 2"),
        (none(), "fetch", fetch(), json!({"untrusted": true}), "allow ok 0"),
        (raise(), "write_file", write(), changed(none()), "ask needs_first 2"),
        (raise(), "write_file", write(), changed(json!({"untrusted": true})), "ask needs_every 3"),
        (none(), "write_file", write(), changed(json!({"untrusted": true})), "ask needs_first 2"),
        (raise(), "write_file", write(), json!({"untrusted": true}), "allow ok 1"),
        (raise(), "delete_file", json!({"path": "data/a"}), changed(json!({"untrusted": true})), "ask needs_operator 4"),
    ] {
        assert_eq!(said(more.clone(), tool, args.clone(), state.clone()), expected, "{more} {tool} {args} {state}");
    }
}

#[test]
fn what_a_call_may_not_carry_is_refused_before_anything_is_opened() {
    let filters = || json!({"filters": {"input": {"secrets": "deny"}, "rules": {"names": {"words": ["Aurora"], "input": "deny"}}}});
    let write = |content: &str| json!({"path": "work/a", "content": content});
    assert_eq!(said(filters(), "write_file", write("plain"), none()), "allow ok 1");
    for content in ["key AKIAQ7ZT3N5WXK2VPLMR", "about A\u{200b}urora"] {
        assert_eq!(said(filters(), "write_file", write(content), none()), "deny argument_not_allowed", "{content}");
    }
    assert_eq!(said(none(), "write_file", write("key AKIAQ7ZT3N5WXK2VPLMR"), none()), "allow ok 1");
}
