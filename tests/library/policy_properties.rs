//! Properties of the judge, over invented manifests, calls and worlds: order never matters; what tightens never loosens.
//!
//! A case is one call in one world under one manifest; a manifest is read once for eight calls. Each property is tried with 2048 cases, or with
//! as many as `PROPTEST_CASES` says, and tells how many they were. A million of each take some minutes:
//! `PROPTEST_CASES=1000000 cargo test --release --test policy_properties -- --nocapture`
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests take cases as they are written, and may stop at what should not be"
)]

use std::cell::Cell;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use toolgate::cli::simulate::{decide_request, judge_case};
use toolgate::manifest::{Manifest, Mode};
use toolgate::model::{Code, Decision, Level, Refusal};
use toolgate::policy::Verdict;
use toolgate::tools;

const PATTERNS: [&str; 10] = ["**", "*", "a/**", "a/*", "**/*.txt", "b/c", "**/k*", "A/**", "?", "[a-b]/**"];
const PATHS: [&str; 10] =
    ["data/a", "data/a/k", "data/a/b/c.txt", "data/b/c", "/srv/data/K", "data", "lib/a", "other/x", "data/../x", "lib/a/k.txt"];
const TOOLS: [&str; 8] = ["*", "read_*", "*_file", "fetch", "run_python", "delete_file", "write_file", "move_file"];
const HOSTS: [&str; 5] = ["a.example.org", "b.example.org", "example.org", "x.a.example.org", "10.0.0.1"];
const MODES: [&str; 5] = ["none", "first", "every", "operator", "deny"];

/// Calls that are judged under one manifest.
const CALLS: usize = 8;
/// Cases of each property, where nobody says otherwise.
const CASES: u32 = 2048;

/// Tries a property with as many cases as are wanted, and tells how many it judged.
fn hold<S: Strategy>(name: &str, strategy: S, property: impl Fn(S::Value, &Cell<u64>) -> Result<(), TestCaseError>)
where
    S::Value: std::fmt::Debug,
{
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let cases = wanted.div_ceil(u32::try_from(CALLS).unwrap());
    // A fault is told with its smallest case; no file of seeds is kept.
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let judged = Cell::new(0);
    if let Err(fault) = TestRunner::new(config).run(&strategy, |value| property(value, &judged)) {
        panic!("{name}: {fault}");
    }
    println!("{name}: {} cases hold", judged.get());
}

/// A manifest, and calls in worlds of their own.
type Cases = (Value, Vec<(Value, Value)>);

/// A manifest as the server would read it; none: it is refused, and with it every call.
struct Read(Option<Arc<Manifest>>);

impl Read {
    fn of(policy: &Value) -> Self {
        let read = toolgate::manifest::parse_json(policy, tools::specs()).ok().and_then(|mut manifest| {
            manifest.resolve_roots("/").ok()?;
            Some(Arc::new(manifest))
        });
        Self(read)
    }

    fn judged(&self, (request, state): &(Value, Value)) -> Verdict {
        match &self.0 {
            Some(manifest) => decide_request(manifest, request, state.as_object().unwrap(), None).verdict,
            None => Verdict::deny(Refusal::new(Code::PolicyInvalid, "no manifest"), None),
        }
    }
}

/// Whether no call is judged laxer by the second manifest than by the first.
fn never_laxer(before: &Value, after: &Value, calls: &[(Value, Value)], judged: &Cell<u64>) -> Result<(), TestCaseError> {
    let (before, after) = (Read::of(before), Read::of(after));
    for call in calls {
        let (one, two) = (before.judged(call), after.judged(call));
        prop_assert!(rank(&two) >= rank(&one), "{call:?}: {one:?} became {two:?}");
        judged.set(judged.get() + 1);
    }
    Ok(())
}

/// How strict a verdict is.
fn rank(verdict: &Verdict) -> u8 {
    match (verdict.decision, verdict.code) {
        (Decision::Allow, _) => 0,
        (Decision::Ask, Code::NeedsFirst) => 1,
        (Decision::Ask, Code::NeedsEvery) => 2,
        (Decision::Ask, _) => 3,
        (Decision::Deny, _) => 4,
    }
}

fn some(words: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(words, 0..=words.len().min(4)).prop_shuffle()
}

fn mostly_all(words: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop_oneof![2 => Just(vec![words[0]]), 1 => some(words)]
}

prop_compose! {
    fn root(path: &'static str)(
        allowed in mostly_all(&PATTERNS), denied in some(&PATTERNS), deny in 0_u8..4, mode in select(vec!["rw", "rw", "ro"]),
    ) -> Value {
        json!({"path": path, "mode": mode, "allowed_paths": allowed, "denied_paths": if deny == 0 { denied } else { Vec::new() }})
    }
}

prop_compose! {
    fn policy()(
        data in root("/srv/data"), lib in root("/srv/lib"), work in root("session"),
        files in some(&PATTERNS), deny_files in 0_u8..6,
        allowed in mostly_all(&TOOLS), denied in some(&TOOLS), deny_tools in 0_u8..5,
        flags in prop_oneof![3 => Just(vec!["FULL"]), 1 => Just(vec!["STANDARD"]), 1 => Just(vec!["READONLY"])],
        domains in some(&["example.org", "*.example.org", "a.example.org", "localhost"]),
        modes in prop::collection::vec(select(MODES.to_vec()), 5), own_modes in any::<bool>(),
        size in select(vec!["1 KiB", "100", "1 MiB"]), rate in select(vec![0, 3, 1000, 1000]),
        level in prop::option::of(0_u64..5), two in any::<bool>(), symlinks in select(vec!["deny", "inside"]),
        check in select(vec!["strict", "imports", "off"]),
    ) -> Value {
        let mut approvals = Map::new();
        if own_modes {
            approvals.extend(modes.iter().enumerate().map(|(level, mode)| (format!("level_{level}"), json!(mode))));
        }
        if two {
            approvals.insert("two_persons".to_owned(), json!(["delete_file"]));
        }
        let tools = level.map(|level| json!({"write_file": {"level": level}, "read_file": {"level": level}})).unwrap_or(json!({}));
        json!({
            "version": 1,
            "roots": {"data": data, "lib": lib, "work": work},
            "files": {"denied_paths": if deny_files == 0 { files } else { Vec::new() }, "max_file_size": size, "symlinks": symlinks},
            "network": {"allowed_domains": domains},
            "python": {"allowed_imports": ["math"], "roots": ["work"], "check": check},
            "profiles": {"p": {"permissions": flags, "allowed_tools": allowed, "denied_tools": if deny_tools == 0 { denied } else { Vec::new() }, "rate_limit_per_minute": rate}},
            "tools": tools,
            "approvals": approvals,
        })
    }
}

fn request() -> impl Strategy<Value = Value> {
    let path = || select(PATHS.to_vec());
    let call = |tool: &'static str, args: Value| json!({"profile": "p", "tool": tool, "args": args});
    prop_oneof![
        path().prop_map(move |path| call("read_file", json!({"path": path}))),
        path().prop_map(move |path| call("list_directory", json!({"path": path}))),
        (path(), 0_u64..3000).prop_map(move |(path, len)| call("write_file", json!({"path": path, "content": {"len": len}}))),
        (path(), path()).prop_map(move |(from, to)| call("move_file", json!({"from": from, "to": to}))),
        (path(), any::<bool>()).prop_map(move |(path, recursive)| call("delete_file", json!({"path": path, "recursive": recursive}))),
        (select(HOSTS.to_vec()), select(vec!["GET", "POST"]))
            .prop_map(move |(host, method)| call("fetch", json!({"url": format!("https://{host}/x"), "method": method}))),
        select(vec!["1", "import math", "import os"]).prop_map(move |code| call("run_python", json!({"code": code}))),
    ]
}

prop_compose! {
    fn state()(
        kinds in prop::collection::vec(select(vec!["file", "dir", "hardlink", "symlink:/srv/data/a", "symlink:/etc", "fifo"]), 4),
        paths in subsequence(vec!["/srv/data/a", "/srv/data/a/k", "/srv/data/b/c", "/srv/lib/a", "/srv/data/K"], 4),
        size in 0_u64..3000, calls in 0_usize..5, used in 0_u64..200, grant in select(PATHS.to_vec()), granted in any::<bool>(),
        review in prop::option::of(prop::collection::vec(select(vec!["ok", "deny", "error"]), 0..3)),
        answer in prop::option::of((select(vec!["once", "deny", ""]), select(vec!["K7", "", "X"]), any::<bool>())), channels in any::<bool>(),
    ) -> Value {
        let mut state = json!({
            "fs": paths.iter().zip(&kinds).map(|(path, kind)| ((*path).to_owned(), json!(kind))).collect::<Map<_, _>>(),
            "sizes": {"/srv/data/b/c": size},
            "now": 100,
            "calls_at": vec![90; calls],
            "used": {"write": used, "egress": used, "cpu": used, "concurrent_calls": calls},
        });
        if granted {
            state["grants"] = json!([{"principal": "p1", "session": "s1", "tool": "write_file", "target": grant, "policy": "P1"}]);
        }
        if let Some(review) = review {
            state["review"] = json!(review);
        }
        if let Some((decision, confirm, operator)) = answer {
            state["approval"] = if operator {
                json!({"expires": 130, "binding": "B", "binding_now": "B", "channel": "operator", "approvers": ["alice"]})
            } else {
                json!({"expires": 130, "binding": "B", "binding_now": "B", "code": "K7",
                       "response": {"action": "accept", "content": {"decision": decision, "confirm": confirm}}})
            };
        }
        if !channels {
            state["channels"] = json!([]);
        }
        state
    }
}

fn cases() -> impl Strategy<Value = Cases> {
    (policy(), prop::collection::vec((request(), state()), CALLS))
}

/// Turns every list and table of a policy around; lists whose order has a meaning are none of it.
fn turned(value: &Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.iter().rev().map(turned).collect()),
        Value::Object(members) => Value::Object(members.iter().rev().map(|(name, value)| (name.clone(), turned(value))).collect()),
        other => other.clone(),
    }
}

/// Every way of making a policy tighter by one line.
fn tightened(policy: &Value, how: usize, pattern: &str, tool: &str) -> Value {
    let mut policy = policy.clone();
    let push = |list: &mut Value, word: &str| match list {
        Value::Array(values) => values.push(json!(word)),
        other => *other = json!([word]),
    };
    match how {
        0 => push(&mut policy["files"]["denied_paths"], pattern),
        1 => push(&mut policy["roots"]["data"]["denied_paths"], pattern),
        2 => push(&mut policy["profiles"]["p"]["denied_tools"], tool),
        3 => push(&mut policy["network"]["denied_domains"], "a.example.org"),
        4 => policy["network"]["denied_ports"] = json!([443]),
        5 => policy["roots"]["data"]["mode"] = json!("ro"),
        6 => policy["files"]["max_file_size"] = json!("50"),
        // What was 0 stays 0: 2 would be more.
        7 => {
            policy["profiles"]["p"]["rate_limit_per_minute"] =
                json!(policy["profiles"]["p"]["rate_limit_per_minute"].as_u64().unwrap_or(10).min(2));
        }
        8 => policy["profiles"]["p"]["roots"] = json!(["lib"]),
        9 => policy["profiles"]["p"]["permissions"] = json!(["READ_FILE"]),
        10 => policy["limits"] = json!({"rate_limit_per_minute": 1}),
        11 => policy["approvals"]["two_persons"] = json!(["delete_file", "write_file", "read_file", "fetch"]),
        12 => policy["roots"]["data"]["allowed_paths"] = json!([]),
        13 => policy["network"]["allowed_domains"] = json!([]),
        14 => policy["python"]["allowed_imports"] = json!([]),
        15 => policy["tools"]["fetch"] = json!({"allowed_arguments": {"method": ["GET"]}}),
        16 => policy["tools"]["write_file"]["max_file_size"] = json!("10"),
        20 => policy["limits"] = json!({"write_per_hour": "100", "concurrent_calls": 1}),
        21 => policy["limits"] = json!({"egress_per_hour": "10", "cpu_per_hour": "1s", "rate_limit_per_hour": 3}),
        22 => {
            policy["tools"]["write_file"]["only_listed"] = json!(true);
            policy["tools"]["write_file"]["allowed_arguments"] = json!({"path": ["data/a", "data/b/c"]});
        }
        23 => policy["tools"]["read_file"]["rate_limit_per_minute"] = json!(1),
        24 => policy["python"]["check"] = json!("strict"),
        17 => policy["review"] = json!({"from_level": 0}),
        18 => policy["files"]["symlinks"] = json!("deny"),
        _ => policy["profiles"]["p"]["allowed_tools"] = json!([]),
    }
    policy
}

fn a_line() -> impl Strategy<Value = (usize, &'static str, &'static str)> {
    (0_usize..25, select(PATTERNS.to_vec()), select(TOOLS.to_vec()))
}

#[test]
fn the_order_of_lists_and_tables_never_matters() {
    hold("the order of lists and tables never matters", cases(), |(policy, calls), judged| {
        let other = turned(&policy);
        let (one, two) = (Read::of(&policy), Read::of(&other));
        for call in &calls {
            let (one, two) = (one.judged(call), two.judged(call));
            prop_assert_eq!((one.decision, one.code, one.level), (two.decision, two.code, two.level));
            judged.set(judged.get() + 1);
        }
        // What is judged here is what `simulate` says of the whole case.
        let (request, state) = &calls[0];
        let whole = judge_case(&json!({"id": "x", "policy": policy, "request": request, "state": state}));
        let read = one.judged(&calls[0]);
        prop_assert_eq!((whole.decision, whole.code, whole.level), (read.decision, read.code, read.level));
        Ok(())
    });
}

#[test]
fn a_tighter_line_never_loosens() {
    hold("a tighter line never loosens", (cases(), a_line()), |((policy, calls), (how, pattern, tool)), judged| {
        never_laxer(&policy, &tightened(&policy, how, pattern, tool), &calls, judged)
    });
}

#[test]
fn a_raised_level_never_loosens() {
    hold("a raised level never loosens", (cases(), 0_u64..5, 0_u64..5), |((policy, calls), low, more), judged| {
        let at = |level: u64| {
            let mut policy = policy.clone();
            for (request, _) in &calls {
                policy["tools"][request["tool"].as_str().unwrap()]["level"] = json!(level.min(4));
            }
            policy
        };
        let (before, after) = (at(low), at(low + more));
        never_laxer(&before, &after, &calls, judged)?;
        let (before, after) = (Read::of(&before), Read::of(&after));
        for call in &calls {
            let (before, after) = (before.judged(call), after.judged(call));
            prop_assert!(after.level >= before.level || after.decision == Decision::Deny);
        }
        Ok(())
    });
}

#[test]
fn a_stricter_mode_never_loosens() {
    let strategy = (cases(), 0_usize..5, 0_usize..5, 0_usize..5);
    hold("a stricter mode never loosens", strategy, |((policy, calls), level, low, more), judged| {
        let with = |mode: usize| {
            let mut policy = policy.clone();
            policy["approvals"][format!("level_{level}")] = json!(MODES[mode.min(4)]);
            policy
        };
        never_laxer(&with(low), &with(low + more), &calls, judged)
    });
}

#[test]
fn more_reviewers_never_loosen() {
    let strategy = (cases(), select(vec!["ok", "deny", "error"]));
    hold("more reviewers never loosen", strategy, |((mut policy, calls), word), judged| {
        policy["review"] = json!({"from_level": 0});
        let read = Read::of(&policy);
        for (request, state) in &calls {
            let with = |said: Value| {
                let mut state = state.clone();
                state["review"] = said;
                read.judged(&(request.clone(), state))
            };
            prop_assert!(rank(&with(json!(["ok", word]))) >= rank(&with(json!(["ok"]))));
            judged.set(judged.get() + 1);
        }
        Ok(())
    });
}

#[test]
fn a_bigger_input_is_never_judged_laxer() {
    // Around the limits of these manifests, and once far beyond all of them.
    let lengths = prop::collection::vec((select(PATHS.to_vec()), 0_u64..2000, 0_u64..2000), CALLS);
    hold("a bigger input is never judged laxer", (cases(), lengths, 0_u64..3_000_000), |((policy, calls), lengths, most), judged| {
        let read = Read::of(&policy);
        for (at, ((_, state), (path, small, more))) in calls.iter().zip(lengths).enumerate() {
            let with = |length: u64| {
                let args = json!({"path": path, "content": {"len": length}});
                read.judged(&(json!({"profile": "p", "tool": "write_file", "args": args}), state.clone()))
            };
            let more = if at == 0 { most } else { more };
            prop_assert!(rank(&with(small + more)) >= rank(&with(small)));
            judged.set(judged.get() + 1);
        }
        Ok(())
    });
}

#[test]
fn a_repeated_path_segment_never_escapes() {
    let words = select(vec!["..", ".", "a", "etc", "", "data", "%2e%2e", "\u{2024}\u{2024}"]);
    let paths = prop::collection::vec((prop::collection::vec(words, 1..6), any::<bool>()), CALLS);
    let policy = json!({"version": 1, "roots": {"data": {"path": "/srv/data", "mode": "rw", "allowed_paths": ["**"]}},
        "profiles": {"p": {"permissions": ["FULL"], "allowed_tools": ["*"]}}});
    let read = Read::of(&policy);
    hold("a repeated path segment never escapes", paths, |paths, judged| {
        for (parts, absolute) in paths {
            let path = format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"));
            let verdict = read.judged(&(json!({"profile": "p", "tool": "read_file", "args": {"path": path}}), json!({})));
            let plain = !absolute && parts[0] == "data" && parts.iter().all(|part| !matches!(*part, "." | ".."));
            prop_assert!(verdict.decision == Decision::Deny || plain, "{} {:?}", path, verdict);
            judged.set(judged.get() + 1);
        }
        Ok(())
    });
}

#[test]
fn a_higher_level_is_never_laxer_than_a_lower() {
    let mut manifest = Manifest::builtin();
    let modes = [Mode::None, Mode::First, Mode::Every, Mode::Operator, Mode::Deny];
    for number in 0..5_usize.pow(5) {
        for (mode, level) in manifest.approvals.modes_mut().into_iter().zip(0..) {
            *mode = modes[number / 5_usize.pow(level) % 5];
        }
        let strict = Level::ALL.map(|level| manifest.approvals.mode(level));
        assert!(strict.is_sorted(), "{:?}", manifest.approvals.modes());
    }
}
