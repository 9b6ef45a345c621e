//! Who must agree, what is remembered, and what an answer is worth: each rule with its attack and the ordinary use beside it.
#![expect(
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    reason = "helpers of tests take cases as they are written, and may stop at what should not be"
)]

use serde_json::{Value, json};
use toolgate::cli::simulate::judge_case;

fn policy() -> Value {
    json!({
        "version": 1,
        "roots": {"data": {"path": "/srv/data", "mode": "rw", "allowed_paths": ["**"]}},
        "network": {"allowed_domains": ["site.example"]},
        "profiles": {"p": {"permissions": ["FULL"], "allowed_tools": ["*"], "rate_limit_per_minute": 1000}},
    })
}

/// `verdict code`, for a call whose policy has `section` replaced.
fn said(sections: Value, tool: &str, args: Value, state: Value) -> String {
    let mut policy = policy();
    for (name, section) in sections.as_object().unwrap() {
        policy[name] = section.clone();
    }
    let case = json!({"policy": policy, "request": {"profile": "p", "tool": tool, "args": args}, "state": state});
    let verdict = judge_case(&case);
    format!("{} {}", verdict.decision.as_str(), verdict.code)
}

fn delete(sections: Value, approval: Value) -> String {
    said(sections, "delete_file", json!({"path": "data/a"}), json!({"fs": {"data/a": "file"}, "now": 10, "approval": approval}))
}

fn answer(more: Value) -> Value {
    let mut answer = json!({"expires": 130, "binding": "B", "binding_now": "B", "code": "K7Q2",
        "response": {"action": "accept", "content": {"decision": "once", "confirm": "K7Q2"}}});
    for (name, value) in more.as_object().unwrap() {
        answer[name] = value.clone();
    }
    answer
}

fn form(content: Value) -> Value {
    answer(json!({"response": {"action": "accept", "content": content}}))
}

#[test]
fn only_the_explicit_content_with_the_code_is_a_yes() {
    assert_eq!(delete(json!({}), answer(json!({}))), "allow approved");
    for content in [
        json!({}),
        json!({"decision": "once"}),
        json!({"decision": "once", "confirm": ""}),
        json!({"decision": "once", "confirm": "k7q2"}),
        json!({"decision": "once", "confirm": "K7Q2 "}),
        json!({"decision": "once", "confirm": ["K7Q2"]}),
        json!({"confirm": "K7Q2"}),
        json!({"decision": true, "confirm": "K7Q2"}),
        json!({"decision": "yes", "confirm": "K7Q2"}),
        json!({"decision": "always", "confirm": "K7Q2"}),
        json!({"decision": "once", "confirm": "K7Q2", "note": "x"}),
    ] {
        assert_eq!(delete(json!({}), form(content.clone())), "deny approval_not_explicit", "{content}");
    }
    assert_eq!(delete(json!({}), form(json!({"decision": "deny", "confirm": "K7Q2"}))), "deny approval_refused", "the first option");
    for action in ["decline", "cancel", "yes", "", "Accept"] {
        let response = json!({"response": {"action": action, "content": {"decision": "once", "confirm": "K7Q2"}}});
        assert_eq!(delete(json!({}), answer(response)), "deny approval_refused", "{action}");
    }
    assert_eq!(delete(json!({}), answer(json!({"code": null}))), "deny approval_not_explicit", "a code nobody was shown");
}

#[test]
fn below_level_3_no_code_is_asked_for() {
    let write = |content: Value| {
        let state = json!({"fs": {"data/a": "file"}, "now": 10, "approval": form(content)});
        said(json!({}), "write_file", json!({"path": "data/a", "content": "x"}), state)
    };
    assert_eq!(write(json!({"decision": "once"})), "allow approved");
    assert_eq!(write(json!({"decision": "session"})), "allow approved");
    assert_eq!(write(json!({})), "deny approval_not_explicit");
    assert_eq!(write(json!({"decision": "once", "confirm": "XXXX"})), "deny approval_not_explicit");
    // A field that was not asked for, whatever is in it.
    for confirm in [json!("K7Q2"), json!(""), Value::Null] {
        let asked = form(json!({"decision": "once", "confirm": confirm}));
        let approval =
            json!({"fs": {"data/a": "file"}, "now": 10, "approval": answer(json!({"code": null, "response": asked["response"]}))});
        let args = json!({"path": "data/a", "content": "x"});
        assert_eq!(said(json!({}), "write_file", args, approval), "deny approval_not_explicit", "{confirm}");
    }
}

#[test]
fn an_answer_is_good_for_one_call_of_one_caller_while_nothing_changed() {
    for (more, expected) in [
        (json!({"used": true}), "deny approval_replayed"),
        (json!({"for_principal": "p2"}), "deny approval_wrong_principal"),
        (json!({"binding_now": "C"}), "deny approval_mismatch"),
        (json!({"now": 129.9}), "allow approved"),
        (json!({"now": 130}), "deny approval_expired"),
        (json!({"now": 1000}), "deny approval_expired"),
        (json!({"channel": "mail"}), "deny approval_wrong_channel"),
        (json!({"channel": "client"}), "allow approved"),
        (json!({"response": null}), "deny approval_refused"),
    ] {
        assert_eq!(delete(json!({}), answer(more.clone())), expected, "{more}");
    }
}

#[test]
fn the_system_is_changed_by_operators_alone() {
    let four = |approvals: Value, approval: Value| {
        let sections = json!({"tools": {"run_python": {"level": 4}}, "approvals": approvals});
        said(sections, "run_python", json!({"code": "1"}), json!({"now": 10, "approval": approval}))
    };
    let operator = |names: Value| json!({"expires": 130, "binding": "B", "binding_now": "B", "channel": "operator", "approvers": names});
    assert_eq!(four(json!({}), json!(null)), "ask needs_operator");
    assert_eq!(four(json!({}), operator(json!(["alice"]))), "allow approved");
    assert_eq!(four(json!({}), operator(json!(["p1"]))), "ask more_approvers");
    assert_eq!(four(json!({}), operator(json!(["P1 "]))), "ask more_approvers", "the same name in another spelling");
    assert_eq!(four(json!({}), operator(json!([]))), "ask needs_operator");
    assert_eq!(four(json!({}), answer(json!({}))), "deny approval_wrong_channel");
    assert_eq!(four(json!({"level_4": "every"}), answer(json!({}))), "deny approval_wrong_channel", "the client never decides at level 4");
    let two = json!({"two_persons": ["run_python"]});
    assert_eq!(four(two.clone(), operator(json!(["alice"]))), "ask more_approvers");
    assert_eq!(four(two.clone(), operator(json!(["alice", "Alice"]))), "ask more_approvers");
    assert_eq!(four(two.clone(), operator(json!(["alice", "p1"]))), "ask more_approvers");
    assert_eq!(four(two, operator(json!(["alice", "bob"]))), "allow approved");
    let refused = json!({"expires": 130, "channel": "operator", "approvers": ["alice"], "response": {"action": "decline"}});
    assert_eq!(four(json!({}), refused), "deny approval_refused");
}

#[test]
fn two_persons_decide_whatever_the_level() {
    let sections = json!({"approvals": {"two_persons": ["delete_file"]}});
    assert_eq!(delete(sections.clone(), json!(null)), "ask needs_operator");
    assert_eq!(delete(sections.clone(), answer(json!({}))), "deny approval_wrong_channel");
    let both = json!({"expires": 130, "binding": "B", "binding_now": "B", "channel": "operator", "approvers": ["alice", "bob"]});
    assert_eq!(delete(sections, both), "allow approved");
}

#[test]
fn nobody_to_ask_is_a_no_and_never_a_wait() {
    let delete = |sections: Value, channels: Value| {
        said(sections, "delete_file", json!({"path": "data/a"}), json!({"fs": {"data/a": "file"}, "channels": channels}))
    };
    let queue = json!({"approvals": {"no_client_channel": "operator"}});
    assert_eq!(delete(json!({}), json!(["client"])), "ask needs_every");
    assert_eq!(delete(json!({}), json!(["operator"])), "deny no_approval_channel");
    assert_eq!(delete(json!({}), json!([])), "deny no_approval_channel");
    assert_eq!(delete(queue.clone(), json!(["operator"])), "ask needs_every");
    assert_eq!(delete(queue, json!([])), "deny no_approval_channel");
    let four = json!({"tools": {"delete_file": {"level": 4}}});
    assert_eq!(delete(four.clone(), json!(["client"])), "deny no_approval_channel");
    assert_eq!(delete(four, json!(["operator"])), "ask needs_operator");
}

#[test]
fn a_grant_is_for_one_tool_target_session_principal_and_manifest() {
    let grant = |more: Value| {
        let mut grant = json!({"principal": "p1", "session": "s1", "tool": "write_file", "target": "data/a", "policy": "P1"});
        for (name, value) in more.as_object().unwrap() {
            grant[name] = value.clone();
        }
        let state = json!({"fs": {"data/a": "file"}, "now": 100, "grants": [grant]});
        said(json!({}), "write_file", json!({"path": "data/a", "content": "x"}), state)
    };
    assert_eq!(grant(json!({})), "allow remembered");
    assert_eq!(grant(json!({"expires": 100.1})), "allow remembered");
    assert_eq!(grant(json!({"level": 2})), "allow remembered");
    assert_eq!(grant(json!({"tool": "edit_file"})), "allow remembered", "write and edit of a target are one");
    for more in [
        json!({"principal": "p2"}),
        json!({"session": "s2"}),
        json!({"tool": "delete_file"}),
        json!({"target": "data/ab"}),
        json!({"target": "data"}),
        json!({"target": "data/*"}),
        json!({"policy": "P0"}),
        json!({"expires": 100}),
        json!({"expires": "never"}),
        json!({"level": 1}),
    ] {
        assert_eq!(grant(more.clone()), "ask needs_first", "{more}");
    }
}

#[test]
fn what_is_remembered_is_what_the_manifest_says() {
    let python = |tools: Value, target: &str| {
        let sections = json!({"tools": tools, "python": {"roots": ["data"]}, "files": {"runs_later": []}});
        let state = json!({"grants": [{"tool": "run_python", "target": target}]});
        said(sections, "run_python", json!({"code": "print(1)"}), state)
    };
    let envelope = json!({"run_python": {"remember": "envelope"}});
    assert_eq!(python(json!({}), "print(1)"), "allow remembered");
    assert_eq!(python(json!({}), "envelope"), "ask needs_first");
    assert_eq!(python(envelope.clone(), "envelope"), "allow remembered");
    assert_eq!(python(envelope, "print(1)"), "ask needs_first");
    assert_eq!(python(json!({"run_python": {"remember": "off"}}), "print(1)"), "ask needs_first");
    let fetch = |target: &str| {
        let state = json!({"grants": [{"tool": "fetch", "target": target}]});
        said(json!({"approvals": {"level_0": "first"}}), "fetch", json!({"url": "https://site.example"}), state)
    };
    assert_eq!([fetch("https://site.example/"), fetch("https://site.example")], ["allow remembered", "allow remembered"]);
    assert_eq!(fetch("https://site.example/x"), "ask needs_first");
}

/// The judge's answer to a call, where a person allowed `target` of its tool for the session.
fn granted(tool: &str, args: &Value, target: &str) -> String {
    let state = json!({"fs": {"data/a": "file"}, "grants": [{"tool": tool, "target": target}]});
    let sections = json!({
        "python": {"roots": ["data"]}, "files": {"runs_later": []}, "approvals": {"level_0": "first", "level_3": "first"},
    });
    said(sections, tool, args.clone(), state)
}

#[test]
fn a_grant_of_a_program_or_a_request_covers_nothing_that_was_not_shown_with_it() {
    for (tool, plain, target, more) in [
        (
            "run_python",
            json!({"code": "print(1)"}),
            "print(1)",
            vec![
                (json!({"stdin": "x"}), "ask needs_first"),
                (json!({"session": "new"}), "ask needs_first"),
                (json!({"session": "py_1"}), "ask needs_first"),
                (json!({"fresh": true}), "ask needs_first"),
                (json!({"timeout_s": 9}), "ask needs_first"),
            ],
        ),
        (
            "fetch",
            json!({"url": "https://site.example/"}),
            "https://site.example/",
            // A request that changes something elsewhere is of level 3, of which nothing is remembered.
            vec![
                (json!({"method": "HEAD"}), "ask needs_first"),
                (json!({"method": "POST"}), "ask needs_every"),
                (json!({"method": "POST", "body": "x"}), "ask needs_every"),
                (json!({"headers": {"accept": "text/html"}}), "ask needs_first"),
                (json!({"save_to": "data/a"}), "ask needs_first"),
            ],
        ),
    ] {
        assert_eq!(granted(tool, &plain, target), "allow remembered", "{tool}");
        for (more, asked) in more {
            let mut args = plain.clone();
            args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(granted(tool, &args, target), asked, "{args}");
        }
    }
    for form in [json!({"format": "html"}), json!({"max_length": 10}), json!({"start_index": 10})] {
        let mut args = json!({"url": "https://site.example/"});
        args.as_object_mut().unwrap().extend(form.as_object().unwrap().clone());
        assert_eq!(granted("fetch", &args, "https://site.example/"), "allow remembered", "the form of the answer alone: {args}");
    }
}

#[test]
fn nothing_of_level_3_is_remembered_whatever_the_manifest_says() {
    let state = |tool: &str, target: &str| json!({"fs": {"data/a": "file"}, "grants": [{"tool": tool, "target": target}]});
    for level_3 in ["first", "every"] {
        let approvals = json!({"approvals": {"level_2": "first", "level_3": level_3}});
        let delete = said(approvals.clone(), "delete_file", json!({"path": "data/a"}), state("delete_file", "data/a"));
        assert_eq!(delete, "ask needs_every", "{level_3}");
        let change = json!({"path": "data/a", "content": "x"});
        let change = said(approvals, "write_file", change, state("write_file", "data/a"));
        assert_eq!(change, "allow remembered", "what is below is remembered as before");
    }
}

#[test]
fn nobody_counts_for_a_call_of_their_own_under_whatever_name_it_comes() {
    let approved = |principal: &str, operator: &str| {
        let case = json!({
            "policy": policy(),
            "request": {"profile": "p", "principal": principal, "tool": "delete_file", "args": {"path": "data/a"}},
            "state": {"fs": {"data/a": "file"}, "approval": {"channel": "operator", "approvers": [operator], "binding": "B", "binding_now": "B", "for_principal": principal}},
        });
        judge_case(&case).code.as_str().to_owned()
    };
    for (principal, operator) in [
        ("ann", "ann"),
        ("ann", "Ann"),
        ("token:ann", "ann"),
        ("token:Ann", "ann"),
        ("token:ann@work", "ann@work"),
        ("token:token:ann", "token:ann"),
        ("oauth:ann@https://id.example", "ann"),
        ("oauth:ann@mail.example@https://id.example", "ann@mail.example"),
        ("oauth:ann@mail.example@https://id.example", "ann"),
        ("oauth:ann@mail.example@https://id.example", "Ann"),
    ] {
        assert_eq!(approved(principal, operator), "more_approvers", "{operator} for {principal}");
    }
    for (principal, operator) in [
        ("token:ann", "bob"),
        ("token:annabel", "ann"),
        ("token:ann", "token"),
        ("oauth:ann@https://id.example", "bob"),
        ("oauth:bob@ann.example@https://id.example", "ann"),
        ("stdio", "ann"),
    ] {
        assert_eq!(approved(principal, operator), "approved", "{operator} for {principal}");
    }
}

#[test]
fn reviewers_can_only_tighten() {
    let read = |reviews: Value, from: u64| {
        said(json!({"review": {"from_level": from}}), "read_file", json!({"path": "data/a"}), json!({"review": reviews}))
    };
    assert_eq!(read(json!(["ok", "allow"]), 0), "allow ok");
    assert_eq!(read(json!(["ok", "deny"]), 0), "deny review_denied");
    assert_eq!(read(json!(["deny"]), 1), "allow ok", "below its level nobody is shown the call");
    for doubt in ["error", "timeout", "unsure", "", "OK"] {
        assert_eq!(read(json!([doubt]), 0), "ask needs_every", "{doubt}");
    }
    assert_eq!(read(json!([{"level": 4}]), 0), "ask needs_operator");
    assert_eq!(read(json!([{"level": 1}]), 0), "allow ok");
    let decided = delete(json!({}), answer(json!({})));
    assert_eq!(decided, "allow approved");
}

#[test]
fn an_approval_never_beats_a_deny() {
    let roots = json!({"data": {"path": "/srv/data", "mode": "rw", "allowed_paths": ["**"], "denied_paths": ["A"]}});
    assert_eq!(delete(json!({"roots": roots}), answer(json!({}))), "deny path_denied");
    assert_eq!(delete(json!({"approvals": {"level_2": "deny"}}), answer(json!({}))), "deny level_denied");
}

/// The judge's answer to a call on a file that is there, where a person gave a grant of this scope that names `target`.
fn within(sections: Value, tool: &str, args: Value, scope: &str, target: &str) -> String {
    let grant = json!({"tool": "write_file", "scope": scope, "target": target});
    let fs = json!({"data/src/a": "file", "data/src/deep/b": "file", "data/c": "file", "data/src/.envrc": "file", "data/srcs/a": "file"});
    said(sections, tool, args, json!({"fs": fs, "grants": [grant]}))
}

fn change(path: &str) -> Value {
    json!({"path": path, "content": "x"})
}

#[test]
fn a_grant_of_a_folder_or_a_root_covers_changes_of_files_below_it_alone() {
    let folder = |path: &str| within(json!({}), "write_file", change(path), "session_folder", "data/src");
    assert_eq!([folder("data/src/a"), folder("data/src/deep/b")], ["allow remembered", "allow remembered"]);
    assert_eq!([folder("data/c"), folder("data/srcs/a")], ["ask needs_first", "ask needs_first"]);
    assert_eq!(folder("data/src/.envrc"), "ask needs_every", "it runs later");
    let root = |tool: &str, args: Value| within(json!({}), tool, args, "session_root", "data");
    let edit = json!({"path": "data/c", "edits": [{"old_text": "a", "new_text": "b"}]});
    assert_eq!([root("write_file", change("data/c")), root("edit_file", edit)], ["allow remembered", "allow remembered"]);
    assert_eq!(root("delete_file", json!({"path": "data/c"})), "ask needs_every");
    assert_eq!(root("move_file", json!({"from": "data/c", "to": "data/d"})), "ask needs_first");
    for (scope, target) in
        [("session_folder", ""), ("session_root", "dat"), ("once", "data/c"), ("always", "data/c"), ("session_root", "data/")]
    {
        assert_eq!(within(json!({}), "write_file", change("data/c"), scope, target), "ask needs_first", "{scope} {target}");
    }
}

#[test]
fn a_wide_grant_loosens_no_rule_that_is_stricter_than_asking_once() {
    for (scope, target) in [("session_root", "data"), ("session_folder", "data/src")] {
        let go = |sections: Value| within(sections, "write_file", change("data/src/a"), scope, target);
        let with = |approvals: Value| json!({ "approvals": approvals });
        assert_eq!(go(with(json!({}))), "allow remembered", "{scope}");
        assert_eq!(go(with(json!({"level_2": "every"}))), "ask needs_every", "{scope}");
        assert_eq!(go(with(json!({"level_2": "operator"}))), "ask needs_operator", "{scope}");
        assert_eq!(go(with(json!({"level_2": "deny"}))), "deny level_denied", "{scope}");
        assert_eq!(go(with(json!({"two_persons": ["write_file"]}))), "ask needs_operator", "{scope}");
        assert_eq!(go(with(json!({"remember": "off"}))), "ask needs_first", "{scope}");
        let mut raised = with(json!({}));
        raised["tools"] = json!({"write_file": {"level": 3}});
        assert_eq!(go(raised.clone()), "ask needs_every", "{scope}");
        raised["tools"]["write_file"]["level"] = json!(4);
        assert_eq!(go(raised), "ask needs_operator", "{scope}");
    }
}

#[test]
fn an_answer_says_no_more_than_was_offered() {
    let write = |approvals: Value, decision: &str| {
        let state = json!({"fs": {"data/a": "file"}, "now": 10, "approval": form(json!({"decision": decision}))});
        said(json!({ "approvals": approvals }), "write_file", change("data/a"), state)
    };
    for scope in ["once", "session", "session_folder", "session_root"] {
        assert_eq!(write(json!({}), scope), "allow approved", "{scope}");
    }
    assert_eq!(write(json!({}), "session_all"), "deny approval_not_explicit");
    assert_eq!(write(json!({"level_2": "every"}), "session"), "allow approved", "for this call alone");
    for scope in ["session", "session_folder", "session_root"] {
        if scope != "session" {
            assert_eq!(write(json!({"level_2": "every"}), scope), "deny approval_not_explicit", "nothing lasts: {scope}");
            assert_eq!(write(json!({"remember": "off"}), scope), "deny approval_not_explicit", "nothing lasts: {scope}");
        }
        let content = json!({"decision": scope, "confirm": "K7Q2"});
        assert_eq!(delete(json!({}), form(content)), "deny approval_not_explicit", "level 3: {scope}");
    }
}
