//! The numbers of `/metrics`, by scraping them while what they count goes on.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::http::exposition;
use crate::http::home::{Home, Policy};
use crate::http::lifetime::{event, open_call};
use crate::http::server::HttpServer;
use crate::http::until;
use crate::http::wire::{Caller, request};

fn scrape(server: &HttpServer) -> BTreeMap<String, String> {
    let answer = request(&server.address, "GET", "/metrics", &[], b"");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; version=0.0.4; charset=utf-8")));
    exposition::read(&answer.body)
}

/// A series by name and labels.
fn number(server: &HttpServer, series: &str) -> Option<u64> {
    scrape(server).get(series).map(|value| value.parse().unwrap())
}

fn caller(server: &HttpServer) -> Caller<'_> {
    Caller { address: &server.address, token: None }
}

#[test]
fn what_was_called_and_turned_away_is_read_by_prometheus_rules() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    for path in ["project/notes.txt", "project/secrets/key.txt", "project/none.txt"] {
        caller(&server).call("read_file", &json!({"path": path}));
    }
    caller(&server).call_in(&caller(&server).begin(), 1, "a\"b\\c\nd{e}", &json!({}));
    assert_eq!(request(&server.address, "POST", "/mcp", &[("origin", "https://evil.example")], b"{}").status, 403);
    let all = scrape(&server);
    let read = |verdict: &str, status: &str| {
        all[&format!("toolgate_calls_total{{tool=\"read_file\",verdict=\"{verdict}\",status=\"{status}\"}}")].as_str()
    };
    assert_eq!([read("allow", "success"), read("deny", "denied"), read("allow", "error")], ["1", "1", "1"]);
    assert_eq!(all["toolgate_call_duration_seconds_count{tool=\"read_file\"}"], "3");
    assert_eq!(all["toolgate_requests_refused_total{reason=\"origin\"}"], "1");
    assert_eq!(["toolgate_audit_healthy", "toolgate_killed", "toolgate_calls_running"].map(|name| all[name].as_str()), ["1", "0", "0"]);
    // Nothing a caller says becomes a label.
    assert_eq!(all["toolgate_calls_total{tool=\"unknown\",verdict=\"deny\",status=\"denied\"}"], "1");
}

#[test]
fn records_that_are_not_on_disk_yet_are_counted_until_they_are() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    caller(&server).call("read_file", &json!({"path": "project/notes.txt"}));
    until("all is on disk", || number(&server, "toolgate_audit_lag_records") == Some(0));
}

#[test]
fn a_question_is_counted_where_it_waits_until_it_is_answered() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let session = caller(&server).begin();
    let asked = || ["client", "operator"].map(|channel| number(&server, &format!("toolgate_approvals_pending{{channel=\"{channel}\"}}")));
    assert_eq!(asked(), [Some(0), Some(0)]);
    let write = json!({"path": "project/notes.txt", "content": "new\n"});
    let mut stream = open_call(&server.address, &session, "write_file", &write);
    let question = event(&mut stream);
    assert_eq!(asked(), [Some(1), Some(0)]);
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    assert_eq!(caller(&server).post(&[("mcp-session-id", &session)], &answer.to_string()).status, 202);
    event(&mut stream);
    assert_eq!(asked(), [Some(0), Some(0)]);
}

#[test]
fn a_question_of_the_operators_queue_is_counted_by_every_server_until_an_operator_settles_it() {
    let home = Home::new(Policy { approvals: "level_2 = \"operator\"", ..Policy::default() });
    let servers = [HttpServer::start(&home), HttpServer::start(&home)];
    let waiting = || servers.each_ref().map(|server| number(server, "toolgate_approvals_pending{channel=\"operator\"}"));
    let asked = caller(&servers[0]).call("write_file", &json!({"path": "project/notes.txt", "content": "new\n"})).message();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert_eq!(waiting(), [Some(1); 2]);
    let listed = home.toolgate(&["approvals", "list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_else(|fault| panic!("{fault}: {listed:?}"));
    let id = listed["id"].as_str().expect("an id").to_owned();
    assert!(home.toolgate(&["approvals", "deny", &id]).output().unwrap().status.success());
    assert_eq!(waiting(), [Some(0); 2]);
}

#[test]
fn programs_are_counted_by_profile_while_they_run_and_interpreters_while_they_wait() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let server = HttpServer::start(&home);
    let pool = |state: &str| number(&server, &format!("toolgate_python_pool{{profile=\"all\",state=\"{state}\"}}"));
    assert_eq!(pool("running"), None, "no program ran yet");
    let answer = std::thread::scope(|scope| {
        let running = scope.spawn(|| caller(&server).call("run_python", &json!({"code": crate::http::lifetime::WAITS})).message());
        until("the program runs", || home.path("scratch/on").exists());
        assert_eq!(pool("running"), Some(1));
        std::fs::write(home.path("scratch/go"), "").unwrap();
        running.join().unwrap()
    });
    assert_eq!(answer["result"]["structuredContent"]["status"], "ok", "{answer}");
    assert_eq!((pool("running"), pool("kept")), (Some(0), Some(0)));
    let kept = caller(&server).call("run_python", &json!({"code": "pass", "session": "new"})).message();
    assert_eq!(kept["result"]["structuredContent"]["status"], "ok", "{kept}");
    let layers = &kept["result"]["structuredContent"]["isolation"];
    if layers["backend"] == "native" {
        assert_eq!(pool("kept"), Some(1));
        until("interpreters wait for the next program", || pool("ready").is_some_and(|ready| ready > 0));
    } else {
        eprintln!("skipped: waiting interpreters: the backend here is {layers}, which keeps none");
    }
}

#[test]
fn interpreters_are_ready_once_a_client_has_read_the_list() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let server = HttpServer::start(&home);
    let pool = |state: &str| number(&server, &format!("toolgate_python_pool{{profile=\"all\",state=\"{state}\"}}"));
    let session = caller(&server).begin();
    assert_eq!(pool("ready"), None, "nobody has read the list");
    let list = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}});
    let listed = caller(&server).post(&[("mcp-session-id", &session)], &list.to_string());
    assert_eq!(listed.status, 200);
    let probe = home.toolgate(&["doctor", "--json"]).output().unwrap();
    if !String::from_utf8_lossy(&probe.stdout).contains("\"chosen\":\"native\"") {
        eprintln!("skipped: the backend here keeps no interpreters that wait");
        return;
    }
    until("interpreters wait", || pool("ready").is_some_and(|ready| ready > 0));
    assert_eq!(home.told("call.started", "run_python").len(), 0, "no call was made");
    let answer = caller(&server).call("run_python", &json!({"code": "print(1)"})).message();
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "1\n", "{answer}");
}

#[test]
fn interpreters_wait_for_programs_that_may_write_and_open_hardly_anything_as_well() {
    // What runs before each program is longer than the first two, and what a call brings takes the numbers below the third.
    for python in ["file_size = \"1 KiB\"", "file_size = \"4 KiB\"", "open_files = 10"] {
        let home = Home::new(Policy { approvals: "level_2 = \"none\"", python, ..Policy::default() });
        let server = HttpServer::start(&home);
        let answer = caller(&server).call("run_python", &json!({"code": "print(1)"})).message();
        assert_eq!(answer["result"]["structuredContent"]["stdout"], "1\n", "{answer}");
        let layers = &answer["result"]["structuredContent"]["isolation"];
        if layers["backend"] != "native" {
            eprintln!("skipped: waiting interpreters: the backend here is {layers}, which keeps none");
            return;
        }
        until(&format!("with {python} interpreters wait"), || {
            number(&server, "toolgate_python_pool{profile=\"all\",state=\"ready\"}").is_some_and(|ready| ready > 0)
        });
        let answer = caller(&server).call("run_python", &json!({"code": "print(2)"})).message();
        assert_eq!(answer["result"]["structuredContent"]["stdout"], "2\n", "{answer}");
    }
}
