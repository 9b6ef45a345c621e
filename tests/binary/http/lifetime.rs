//! How long things live: sessions, questions, calls, and the server.

use std::io::{BufReader, Write};

use serde_json::{Value, json};

use crate::http::home::{Home, Policy};
use crate::http::server::HttpServer;
use crate::http::wire::{Caller, bytes, chunk, connect, head, hello, request};
use crate::http::{NOTES, house, until};

const SLOW: &str = "import time\nfor n in range(1200):\n    with open('/roots/scratch/beat', 'a') as beat:\n        beat.write('x')\n    time.sleep(0.05)\nprint('done')";
/// Says that it began, and waits until it may go on.
pub(crate) const WAITS: &str =
    "import os, time\nopen('/roots/scratch/on', 'w').close()\nwhile not os.path.exists('/roots/scratch/go'):\n    time.sleep(0.01)\n";
const FREE: Policy = Policy { approvals: "level_2 = \"none\"", limits: "", python: "" };

/// The next event with a message of a stream.
pub(crate) fn event(reader: &mut impl std::io::BufRead) -> Value {
    loop {
        let text = String::from_utf8(chunk(reader).expect("the stream goes on")).unwrap();
        if let Some(message) = text.lines().filter_map(|line| line.strip_prefix("data: ")).find_map(|data| serde_json::from_str(data).ok())
        {
            return message;
        }
    }
}

/// Posts a call in a session and gives the stream of its answer.
pub(crate) fn open_call(address: &str, session: &str, tool: &str, arguments: &Value) -> BufReader<std::net::TcpStream> {
    let body = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}).to_string();
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream"), ("mcp-session-id", session)];
    let mut stream = connect(address);
    stream.write_all(&bytes("POST", "/mcp", &headers, body.as_bytes())).unwrap();
    let mut reader = BufReader::new(stream);
    assert_eq!(head(&mut reader).0, 200);
    reader
}

#[test]
fn a_session_that_waits_for_a_person_is_never_idle_and_one_that_does_nothing_ends() {
    let home = house(Policy::default(), "[http]\nsession_idle = \"4s\"\n");
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let (waiting, idle) = (caller.begin(), caller.begin());
    let left = caller.call_in(&idle, 1, "write_file", &json!({"path": "work/left.txt", "content": "x"}));
    assert_eq!(left.message()["result"]["isError"], false, "{left:?}");
    let mut stream = open_call(&server.address, &waiting, "write_file", &json!({"path": "project/notes.txt", "content": "new\n"}));
    let question = event(&mut stream);
    assert_eq!(question["method"], "elicitation/create");
    // Not asked for by its id: that would be using it.
    let sessions = || request(&server.address, "GET", "/metrics", &[], b"").body.lines().any(|line| line == "toolgate_sessions 1");
    until("the idle session ends", sessions);
    assert_eq!(caller.call_in(&idle, 2, "file_info", &json!({"path": "project"})).status, 404);
    // Another session comes and goes meanwhile: well past its time, the question is still open, and its answer counts.
    caller.begin();
    until("a later session ends", sessions);
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"decision": "once"}}});
    assert_eq!(caller.post(&[("mcp-session-id", &waiting)], &answer.to_string()).status, 202);
    let done = event(&mut stream);
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(home.read("project/notes.txt"), "new\n");
    let leftover = walk(&home.state()).into_iter().filter(|path| path.ends_with("left.txt")).count();
    assert_eq!(leftover, 0, "the folder of the idle session was wiped");
}

#[test]
fn an_answer_that_gives_a_name_twice_is_a_no() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let before = home.read("project/notes.txt");
    for content in [r#"{"decision":"deny","decision":"once"}"#, r#"{"decision":"once","decision":"deny"}"#] {
        // The id of a call stands until its stream has ended, and each of these calls has the same.
        let session = caller.begin();
        let mut stream = open_call(&server.address, &session, "write_file", &json!({"path": "project/notes.txt", "content": "new\n"}));
        let question = event(&mut stream);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{content}}}}}"#, question["id"]);
        assert_eq!(caller.post(&[("mcp-session-id", &session)], &answer).status, 202);
        let done = event(&mut stream);
        assert_eq!(done["result"]["structuredContent"]["code"], "approval_not_explicit", "{done}");
        assert_eq!(home.read("project/notes.txt"), before);
    }
}

pub(crate) fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_client_that_goes_away_cancels_its_call_in_the_later_era_alone() {
    let home = Home::new(FREE);
    let server = HttpServer::start(&home);
    let beat = home.path("scratch/beat");
    let size = || std::fs::metadata(&beat).map_or(0, |found| found.len());
    // 2026-07-28: the end of the connection is the end of the call.
    let call = crate::http::wire::message("tools/call", &json!({"name": "run_python", "arguments": {"code": SLOW}})).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", crate::http::wire::MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", "run_python"),
    ];
    let mut stream = connect(&server.address);
    stream.write_all(&bytes("POST", "/mcp", &headers, call.as_bytes())).unwrap();
    until("the program runs", || size() > 3);
    drop(stream);
    until("the call is recorded as killed", || home.told("call.finished", "run_python").iter().any(|record| record["status"] == "killed"));
    let after = size();
    // Before: it may come back for its answer; only the notification takes the call back.
    let caller = Caller { address: &server.address, token: None };
    let session = caller.begin();
    let other = home.path("scratch/other-beat");
    drop(open_call(&server.address, &session, "run_python", &json!({"code": SLOW.replace("/beat", "/other-beat")})));
    until("the program runs", || std::fs::metadata(&other).is_ok_and(|found| found.len() > 10));
    assert_eq!(size(), after, "the first program went on");
    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    assert_eq!(caller.post(&[("mcp-session-id", &session)], &note.to_string()).status, 202);
    until("the second call is recorded", || home.told("call.finished", "run_python").len() == 2);
}

#[test]
fn a_stopping_server_lets_short_calls_finish_and_cancels_long_ones() {
    let home = house(FREE, "[http]\nshutdown = \"8s\"\n");
    let server = HttpServer::start(&home);
    let address = server.address.clone();
    let quick = std::thread::spawn(move || {
        Caller { address: &address, token: None }.call("run_python", &json!({"code": format!("{WAITS}print('done')")}))
    });
    let caller = Caller { address: &server.address, token: None };
    let session = caller.begin();
    let slow = open_call(&server.address, &session, "run_python", &json!({"code": SLOW}));
    until("both run", || home.path("scratch/on").exists() && home.path("scratch/beat").exists());
    crate::http::signal(&server, "-TERM");
    // No new connection is taken any more: it has heard.
    until("the server stops", || std::net::TcpStream::connect(server.address.trim_start_matches("http://")).is_err());
    std::fs::write(home.path("scratch/go"), "").unwrap();
    let quick = quick.join().unwrap();
    assert_eq!(quick.message()["result"]["structuredContent"]["stdout"], "done\n", "{quick:?}");
    assert!(crate::http::ended(server).success());
    drop(slow);
    let mut ends: Vec<String> =
        home.told("call.finished", "run_python").iter().map(|record| record["status"].as_str().unwrap().to_owned()).collect();
    ends.sort();
    assert_eq!(ends, ["killed", "success"]);
    home.verify();
}

#[test]
fn an_approval_is_finished_by_any_process_on_the_state_folder_and_by_no_other() {
    let home = Home::new(Policy::default());
    let (first, second) = (HttpServer::start(&home), HttpServer::start(&home));
    let write = json!({"path": "project/notes.txt", "content": "new\n"});
    let asked = Caller { address: &first.address, token: None }.call("write_file", &write).message();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let repeat = json!({
        "name": "write_file", "arguments": write, "requestState": asked["result"]["requestState"],
        "inputResponses": {"approval": {"action": "accept", "content": {"decision": "once"}}},
    });
    // The same files, another state folder: the seal is not its own.
    let other = Home::new(Policy::default());
    std::fs::copy(home.manifest(), other.manifest()).unwrap();
    let stranger = HttpServer::start(&other);
    let refused = Caller { address: &stranger.address, token: None }.call_with("write_file", &repeat).message();
    assert_eq!(refused["result"]["structuredContent"]["code"], "approval_mismatch", "{refused}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
    let done = Caller { address: &second.address, token: None }.call_with("write_file", &repeat).message();
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(home.read("project/notes.txt"), "new\n");
    for server in [&first, &second] {
        let again = Caller { address: &server.address, token: None }.call_with("write_file", &repeat).message();
        assert_eq!(again["result"]["isError"], true, "{again}");
    }
    first.stop();
    second.stop();
    home.verify();
}

#[test]
fn an_approval_of_one_caller_is_not_anothers() {
    let home = house(Policy::default(), &[crate::http::token("ada", "secret-ada"), crate::http::token("bob", "secret-bob")].concat());
    let server = HttpServer::start(&home);
    let (ada, bob) =
        (Caller { address: &server.address, token: Some("secret-ada") }, Caller { address: &server.address, token: Some("secret-bob") });
    let write = json!({"path": "project/notes.txt", "content": "new\n"});
    let asked = ada.call("write_file", &write).message();
    let repeat = json!({
        "name": "write_file", "arguments": write, "requestState": asked["result"]["requestState"],
        "inputResponses": {"approval": {"action": "accept", "content": {"decision": "once"}}},
    });
    let stolen = bob.call_with("write_file", &repeat).message();
    assert_eq!(stolen["result"]["isError"], true, "{stolen}");
    assert_eq!(home.read("project/notes.txt"), NOTES);
    assert_eq!(ada.call_with("write_file", &repeat).message()["result"]["isError"], false);
}

#[test]
fn a_killed_server_loses_no_promised_record() {
    let home = Home::new(FREE);
    let server = HttpServer::start(&home);
    let callers: Vec<_> = (0..4)
        .map(|caller| {
            let address = server.address.clone();
            std::thread::spawn(move || {
                let mut answered = 0;
                for n in 0..500 {
                    let write = json!({"path": format!("project/k{caller}-{n}.txt"), "content": "x"});
                    // The server dies in the middle of it.
                    let call = || Caller { address: &address, token: None }.call("write_file", &write).message();
                    let Ok(answer) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)) else { break };
                    assert_eq!(answer["result"]["isError"], false, "{answer}");
                    answered += 1;
                }
                answered
            })
        })
        .collect();
    until("some files are written", || std::fs::read_dir(home.path("project")).unwrap().count() > 40);
    crate::http::signal(&server, "-KILL");
    let answered: usize = callers.into_iter().map(|caller| caller.join().unwrap()).sum();
    crate::http::ended(server);
    let again = HttpServer::start(&home);
    let answer = Caller { address: &again.address, token: None }.call("read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(answer.message()["result"]["content"][0]["text"], NOTES);
    again.stop();
    home.verify();
    let written = std::fs::read_dir(home.path("project"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('k'))
        .count();
    let started = home.told("call.started", "write_file").len();
    let finished = home.told("call.finished", "write_file");
    assert!(
        answered > 0 && started >= written && finished.len() == started,
        "{answered} answered, {written} written, {started} started, {} finished",
        finished.len()
    );
    assert!(finished.iter().filter(|record| record["status"] == "success").count() >= answered);
}

#[test]
fn a_client_whose_connection_broke_comes_back_for_its_answer() {
    let home = Home::new(FREE);
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let (session, other) = (caller.begin(), caller.begin());
    let mut stream = open_call(&server.address, &session, "run_python", &json!({"code": format!("{WAITS}print('late')")}));
    let priming = String::from_utf8(chunk(&mut stream).unwrap()).unwrap();
    let id = priming.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    until("the program runs", || home.path("scratch/on").exists());
    drop(stream);
    std::fs::write(home.path("scratch/go"), "").unwrap();
    until("the call has ended", || !home.told("call.finished", "run_python").is_empty());
    let resume = |session: &str| {
        let headers = [("accept", "text/event-stream"), ("mcp-session-id", session), ("last-event-id", id.as_str())];
        request(&server.address, "GET", "/mcp", &headers, b"")
    };
    assert_eq!(resume(&session).message()["result"]["structuredContent"]["stdout"], "late\n");
    // The id of an event means nothing in another session.
    assert!(!resume(&other).body.contains("late"));
}

#[test]
fn only_sessions_that_know_them_get_events_without_a_message() {
    let home = Home::new(FREE);
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    for (version, is_primed) in [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)] {
        let mut hello = hello();
        hello["params"]["protocolVersion"] = json!(version);
        let begun = caller.post(&[], &hello.to_string());
        let session = begun.header("mcp-session-id").unwrap().to_owned();
        let answer = caller.call_in(&session, 1, "read_file", &json!({"path": "project/notes.txt"}));
        assert_eq!(answer.body.contains("retry:"), is_primed, "{version}: {answer:?}");
        assert!(answer.message()["result"].is_object(), "{version}: {answer:?}");
    }
}

#[test]
fn a_session_is_ended_by_its_caller() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let session = caller.begin();
    assert_eq!(request(&server.address, "DELETE", "/mcp", &[("mcp-session-id", &session)], b"").status, 204);
    assert_eq!(caller.call_in(&session, 1, "read_file", &json!({"path": "project/notes.txt"})).status, 404);
    assert_eq!(home.records().iter().filter(|record| record["ev"] == "session.ended").count(), 1);
}

#[test]
fn the_end_of_a_session_ends_its_calls_first() {
    let home = Home::new(FREE);
    let server = HttpServer::start(&home);
    let caller = Caller { address: &server.address, token: None };
    let (session, other) = (caller.begin(), caller.begin());
    let slow = open_call(&server.address, &session, "run_python", &json!({"code": SLOW}));
    let mut kept = open_call(&server.address, &other, "run_python", &json!({"code": format!("{WAITS}print('done')")}));
    until("both run", || home.path("scratch/beat").exists() && home.path("scratch/on").exists());
    assert_eq!(request(&server.address, "DELETE", "/mcp", &[("mcp-session-id", &session)], b"").status, 204);
    // Answered only when all of it is over: the call, then the session.
    let told: Vec<(String, String)> = home
        .records()
        .iter()
        .filter(|record| matches!(record["ev"].as_str(), Some("call.finished" | "session.ended")))
        .map(|record| (record["ev"].as_str().unwrap().to_owned(), record["status"].as_str().unwrap_or_default().to_owned()))
        .collect();
    assert_eq!(told, [("call.finished".to_owned(), "killed".to_owned()), ("session.ended".to_owned(), String::new())]);
    drop(slow);
    // Another session's call goes on.
    std::fs::write(home.path("scratch/go"), "").unwrap();
    assert_eq!(event(&mut kept)["result"]["structuredContent"]["stdout"], "done\n");
}
