//! Calls that consist of several: each part is judged, counted, asked for and recorded by itself, and none takes the others with it.

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, went_well};
use crate::mcp::taint::{house, site};

/// The facts of the parts.
fn facts(answer: &Value) -> Vec<Value> {
    let meta = &answer["result"]["_meta"];
    let parts = meta.get("toolgate/files").or_else(|| meta.get("toolgate/pages"));
    parts.and_then(Value::as_array).unwrap_or_else(|| panic!("{answer}")).clone()
}

/// The code of each part; `ok` where it has none, `-` where it was not made.
fn codes(answer: &Value) -> Vec<String> {
    let code = |part: &Value| match (part["code"].as_str(), part.get("not_shown")) {
        (Some(code), _) => code.to_owned(),
        (None, Some(_)) => "-".to_owned(),
        (None, None) => "ok".to_owned(),
    };
    facts(answer).iter().map(code).collect()
}

/// All texts of an answer, one after the other.
fn shown(answer: &Value) -> String {
    let blocks = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    blocks.iter().filter_map(|block| block["text"].as_str()).flat_map(|text| [text, "\n"]).collect()
}

fn changed(home: &Home, from: &str, to: &str) {
    let manifest = home.read("tools.toml");
    assert!(manifest.contains(from), "{manifest}");
    std::fs::write(home.manifest(), manifest.replace(from, to)).unwrap();
}

#[test]
fn files_are_read_together_and_a_refused_one_does_not_take_the_others() {
    let home = Home::new(Policy::default());
    std::fs::write(home.path("outside.txt"), "not for you").unwrap();
    std::os::unix::fs::symlink(home.path("outside.txt"), home.path("project/link.txt")).unwrap();
    std::fs::write(home.path("project/keys.env"), "key = AKIAQ7ZT3N5WXK2VPLMR\n").unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let paths =
        ["project/notes.txt", "project/secrets/key.txt", "project/link.txt", "project/none", "project/keys.env", "project/src/apples.csv"];
    let answer = server.call("read_files", &json!({"paths": paths, "line_numbers": true}));
    assert!(went_well(&answer), "{answer}");
    assert_eq!(codes(&answer), ["ok", "path_denied", "symlink", "not_found", "ok", "ok"]);
    let text = shown(&answer);
    assert!(text.contains("==> project/notes.txt <==\n     1\tfirst line\n     2\tsecond line\n     3\tthird line\n"), "{text}");
    assert!(text.contains("     1\tkey = [SECRET:aws-access-key]\n") && text.ends_with("     3\t2,17\n\n"), "{text}");
    assert!(text.contains("==> project/secrets/key.txt <==\n") && text.contains("rule `roots.project.denied_paths[0]`"), "{text}");
    for secret in ["AKIAQ7", "not for you", "hidden"] {
        assert!(!answer.to_string().contains(secret), "{answer}");
    }
    assert_eq!(facts(&answer)[0]["lines"], 3);
    assert!(facts(&answer)[0]["sha256"].is_string() && facts(&answer)[4]["sha256"].is_null(), "{answer}");
    // Where nothing could be read the call has failed.
    let nothing = server.call("read_files", &json!({"paths": ["project/none", "project/secrets/key.txt"]}));
    assert_eq!(nothing["result"]["isError"], true, "{nothing}");
    server.close();
    // A record of the call, and those of each part, which name it.
    let [call] = &home.told("call.started", "read_files")[..1] else { panic!() };
    let parts: Vec<Value> = home.records().into_iter().filter(|record| record["part_of"] == call["call"]).collect();
    let count = |event: &str| parts.iter().filter(|record| record["ev"] == event && record["tool"] == "read_file").count();
    assert_eq!([count("call.started"), count("call.finished"), count("tool.denied")], [4, 4, 2], "{parts:?}");
    assert_eq!(home.told("call.finished", "read_files")[0]["status"], "success");
    home.verify();
    let out = home.toolgate(&["audit", "show", call["call"].as_str().unwrap()]).output().unwrap();
    assert!(String::from_utf8_lossy(&out.stdout).contains("path_denied"), "{out:?}");
}

#[test]
fn an_answer_of_many_large_files_is_full_in_time_and_says_how_to_go_on() {
    let home = Home::new(Policy::default());
    for number in 0..50 {
        std::fs::write(home.path(&format!("project/{number}.log")), format!("line of {number}\n").repeat(30_000)).unwrap();
    }
    let mut server = Server::greeted(&home, "2025-11-25");
    let mut left: Vec<String> = (0..50).map(|number| format!("project/{number}.log")).collect();
    let answer = server.call("read_files", &json!({"paths": left}));
    let codes = codes(&answer);
    assert!(answer.to_string().len() < (1 << 20) + 64 * 1024 && codes[0] == "ok" && codes[49] == "-", "{codes:?}");
    // The one that was cut says how to go on, and the others are named.
    let cut = facts(&answer).into_iter().rfind(|part| part["truncated"] == true).unwrap();
    assert!(cut["next_offset"].is_number(), "{cut}");
    let text = shown(&answer);
    let last = text.lines().last().unwrap();
    let first = left.iter().position(|path| last.contains(&format!("{path}\""))).unwrap();
    assert!(last.starts_with(&format!("[not shown: {}; the answer is full; call again for: ", 50 - first)), "{last}");
    assert_eq!(codes.iter().position(|code| code == "-"), Some(first));
    left.drain(..first);
    assert!(left.iter().all(|path| last.contains(path.as_str())));
    let rest = server.call("read_files", &json!({"paths": left, "limit": 2}));
    assert!(went_well(&rest) && !shown(&rest).contains("not shown"), "{}", shown(&rest));
    server.close();
    // What was not read is no call.
    assert_eq!(home.told("call.started", "read_file").len(), first + left.len());
}

#[test]
fn reading_many_at_once_escapes_no_rate_and_no_breaker() {
    let home = Home::new(Policy { limits: "breaker = { denials = 3, within = \"1m\" }", ..Policy::default() });
    changed(&home, "rate_limit_per_minute = 5000", "rate_limit_per_minute = 6");
    let mut server = Server::greeted(&home, "2025-11-25");
    let answer = server.call("read_files", &json!({"paths": vec!["project/notes.txt"; 9]}));
    let mut expected = vec!["ok"; 6];
    expected.extend(["rate_limited", "-", "-"]);
    assert_eq!(codes(&answer), expected);
    assert!(facts(&answer)[6]["retry_after_s"].as_u64().is_some_and(|wait| (1..=60).contains(&wait)), "{answer}");
    let refused = server.call("read_files", &json!({"paths": ["project/notes.txt"]}));
    assert_eq!(refused["result"]["structuredContent"]["code"], "rate_limited", "{refused}");
    server.close();

    changed(&home, "rate_limit_per_minute = 6", "rate_limit_per_minute = 6000");
    let mut server = Server::greeted(&home, "2025-11-25");
    let answer = server.call("read_files", &json!({"paths": vec!["project/secrets/key.txt"; 9]}));
    let codes = codes(&answer);
    assert_eq!(
        (&codes[..4], &codes[8]),
        (&["path_denied", "path_denied", "path_denied", "suspended"].map(str::to_owned)[..], &"-".to_owned())
    );
    server.close();
}

#[test]
fn the_rules_of_the_tool_that_reads_hold_for_every_part() {
    for (rules, code) in [("denied_tools = [\"read_file\"]\n", "tool_denied"), ("denied_tools = [\"read_files\"]\n", "tool_denied")] {
        let home = Home::new(Policy::default());
        changed(&home, "allowed_tools = [\"*\"]\n", &format!("allowed_tools = [\"*\"]\n{rules}"));
        let mut server = Server::greeted(&home, "2025-11-25");
        let listed = server.request("tools/list", &json!({})).to_string();
        assert!(!listed.contains("\"read_files\""), "{rules}");
        let answer = server.call("read_files", &json!({"paths": ["project/notes.txt"]}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(answer.to_string().contains(code) && !answer.to_string().contains("first line"), "{answer}");
    }
    // One that is named alone opens the other no more than it opens itself.
    let home = Home::new(Policy::default());
    changed(&home, "allowed_tools = [\"*\"]\n", "allowed_tools = [\"read_files\"]\n");
    let mut server = Server::greeted(&home, "2025-11-25");
    let answer = server.call("read_files", &json!({"paths": ["project/notes.txt"]}));
    assert_eq!(codes(&answer), ["tool_not_allowed"], "{answer}");
    // A limit of the single tool holds for parts, and one of the tool for calls.
    let home = Home::new(Policy::default());
    let more = "[tools.read_file]\nmax_file_size = \"30B\"\n[tools.read_files]\nrate_limit_per_minute = 1\n";
    changed(&home, "[approvals]", &format!("{more}[approvals]"));
    let mut server = Server::greeted(&home, "2025-11-25");
    let answer = server.call("read_files", &json!({"paths": ["project/notes.txt", "project/src/apples.csv"]}));
    assert_eq!(codes(&answer), ["file_too_large", "ok"], "{answer}");
    let again = server.call("read_files", &json!({"paths": ["project/src/apples.csv"]}));
    assert_eq!(again["result"]["structuredContent"]["rule"], "tools.read_files.rate_limit_per_minute", "{again}");
    for (arguments, says) in [
        (json!({"paths": []}), "a list of 1 to 50 entries"),
        (json!({"paths": vec!["project/notes.txt"; 51]}), "it is a list of 51"),
        (json!({"paths": ["project/notes.txt"], "encoding": "base64"}), "there is no argument `encoding`"),
    ] {
        let home = Home::new(Policy::default());
        let mut server = Server::greeted(&home, "2025-11-25");
        let answer = server.call("read_files", &arguments);
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains(says), "{answer}");
    }
}

#[test]
fn one_file_from_outside_marks_the_session_and_stands_in_its_own_marks() {
    let home = Home::new(Policy::default());
    changed(&home, "[files]\n", "[files]\nuntrusted_paths = [\"**/*.csv\"]\n");
    let mut server = Server::greeted(&home, "2025-11-25");
    let answer = server.call("read_files", &json!({"paths": ["project/notes.txt", "project/src/apples.csv"]}));
    assert_eq!(answer["result"]["_meta"]["toolgate/session"]["untrusted"], true, "{answer}");
    let next = server.call("read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(next["result"]["_meta"]["toolgate/session"]["untrusted"], true, "{next}");
    server.close();
    assert_eq!(home.told("call.finished", "read_files")[0]["untrusted_from"], "project/src/apples.csv");
}

#[test]
fn pages_are_fetched_together_and_each_is_judged_by_itself() {
    let port = site();
    let home = house(port, "", "");
    let mut server = Server::greeted(&home, "2025-11-25");
    let at = |host: &str, path: &str| format!("http://{host}:{port}{path}");
    let urls =
        [at("127.0.0.1", "/"), at("169.254.169.254", "/latest/meta-data/"), at("127.0.0.3", "/"), "ftp://nowhere.invalid/".to_owned()];
    let answer = server.call("fetch_many", &json!({"urls": urls}));
    assert!(went_well(&answer), "{answer}");
    let codes = codes(&answer);
    assert_eq!((codes[0].as_str(), codes[3].as_str()), ("ok", "scheme_not_allowed"), "{answer}");
    assert!(codes[1..3].iter().all(|code| ["internal_address", "ip_literal"].contains(&code.as_str())), "{codes:?}");
    let text = shown(&answer);
    assert!(text.contains("Boil the potatoes") && text.contains(&format!("==> {} <==", urls[0])), "{text}");
    assert_eq!(answer["result"]["_meta"]["toolgate/session"]["untrusted"], true, "{answer}");
    server.close();
    let call = &home.told("call.started", "fetch_many")[0]["call"];
    assert_eq!(home.records().iter().filter(|record| record["part_of"] == *call && record["ev"] == "tool.denied").count(), 3);
    home.verify();
}

#[test]
fn a_redirect_of_one_page_to_an_internal_address_is_refused_and_the_others_come() {
    let port = site();
    let home = house(port, "", "");
    // The second host is opened to nobody.
    changed(&home, &format!(", \"127.0.0.2:{port}\""), "");
    let mut server = Server::greeted(&home, "2025-11-25");
    let urls = ["/away", "/"].map(|path| format!("http://127.0.0.1:{port}{path}"));
    let answer = server.call("fetch_many", &json!({"urls": urls}));
    let codes = codes(&answer);
    assert!(["internal_address", "ip_literal"].contains(&codes[0].as_str()) && codes[1] == "ok", "{answer}");
}

#[test]
fn a_page_that_must_be_asked_for_is_asked_for_alone() {
    let port = site();
    let home = house(port, "after_untrusted = \"raise\"", "");
    let urls = ["127.0.0.1", "127.0.0.2"].map(|host| format!("http://{host}:{port}/"));
    // Before 2026-07-28 during the call.
    let mut server = Server::greeted(&home, "2025-11-25");
    assert!(went_well(&server.call("fetch", &json!({"url": urls[0]}))));
    let id = server.ask("tools/call", &json!({"name": "fetch_many", "arguments": {"urls": urls}}));
    let question = loop {
        let message = server.next_message(crate::mcp::server::PATIENCE).expect("a question");
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    assert!(question["params"]["message"].as_str().unwrap().contains("127.0.0.2"), "{question}");
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"decision": "deny"}}}));
    assert_eq!(codes(&server.answer(&id)), ["ok", "approval_refused"]);
    server.close();
    // From then on it is refused in its place, with the way to be asked.
    let home = house(port, "after_untrusted = \"raise\"", "");
    let mut server = Server::start(&home);
    assert!(went_well(&server.stateless("tools/call", &json!({"name": "fetch", "arguments": {"url": urls[0]}}))));
    let answer = server.stateless("tools/call", &json!({"name": "fetch_many", "arguments": {"urls": urls}}));
    assert_eq!(codes(&answer), ["ok", "no_approval_channel"], "{answer}");
    assert!(shown(&answer).contains("call fetch for this item alone; then a person is asked"), "{answer}");
    let alone = server.stateless("tools/call", &json!({"name": "fetch", "arguments": {"url": urls[1]}}));
    assert_eq!(alone["result"]["resultType"], "input_required", "{alone}");
}
