//! How a server ends and what it leaves: nothing running, a whole log, whole files. And how several begin at once.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Guarded, STATELESS, Server, any_runs, hello, until, went_well, with_meta};

const FREE: Policy = Policy { approvals: "level_2 = \"none\"", limits: "", python: "" };

/// Starts a program that marks its begin and would run for fifty seconds, and waits for the mark.
fn with_running_program(home: &Home) -> (Server, Value, Vec<u32>) {
    let mut server = Server::greeted(home, "2025-11-25");
    let code =
        "import subprocess, sys, time\nopen('/roots/scratch/begun', 'w').write('x')\ntime.sleep(50)\nopen('/roots/scratch/done', 'w')\n";
    let id = server.ask("tools/call", &json!({"name": "run_python", "arguments": {"code": code}}));
    until("the program to begin", || {
        let begun = home.path("scratch/begun").exists();
        if !begun && let Some(early) = server.next_message(Duration::from_millis(5)) {
            panic!("the program did not run: {early}\n{}", server.errors());
        }
        begun
    });
    let children = server.children();
    assert!(!children.is_empty(), "the program runs in no process of its own");
    (server, id, children)
}

fn last(home: &Home, tool: &str) -> Value {
    home.told("call.finished", tool).pop().unwrap_or_default()
}

#[test]
fn an_idle_server_ends_at_once_when_its_input_ends() {
    for greeted in [true, false] {
        let home = Home::new(FREE);
        let server = if greeted { Server::greeted(&home, "2025-11-25") } else { Server::start(&home) };
        let ended = server.close();
        assert_eq!(ended.status.code(), Some(0), "greeted: {greeted}");
        home.verify();
    }
}

#[test]
fn the_end_of_the_input_ends_a_running_program_and_the_server() {
    let home = Home::new(FREE);
    let (server, _, children) = with_running_program(&home);
    let ended = server.close();
    assert_eq!(ended.status.code(), Some(0));
    until("the children to end", || !any_runs(&children));
    assert!(!home.path("scratch/done").exists());
    home.verify();
    assert_eq!(last(&home, "run_python")["status"], "killed");
}

#[test]
fn sigterm_ends_a_running_program_and_the_server() {
    let home = Home::new(FREE);
    let (mut server, _, children) = with_running_program(&home);
    server.signal("-TERM");
    server.wait();
    until("the children to end", || !any_runs(&children));
    assert!(!home.path("scratch/done").exists());
    home.verify();
    assert_eq!(last(&home, "run_python")["status"], "killed");
}

#[test]
fn every_program_that_the_emergency_stop_ends_is_answered_with_its_code() {
    let home = Home::new(Policy { limits: "concurrent_calls = 64", ..FREE });
    let mut server = Server::greeted(&home, "2025-11-25");
    let all: Vec<Value> = (0..10)
        .map(|n| {
            let code = format!("import time\nopen('/roots/scratch/begun-{n}', 'w').close()\ntime.sleep(50)\n");
            server.ask("tools/call", &json!({"name": "run_python", "arguments": {"code": code}}))
        })
        .collect();
    until("the programs to begin", || (0..10).all(|n| home.path(&format!("scratch/begun-{n}")).exists()));
    assert!(home.toolgate(&["kill", "--reason", "test"]).output().unwrap().status.success());
    for id in &all {
        let answer = server.answer(id);
        assert_eq!(answer["result"]["structuredContent"]["code"], "killed", "{answer}");
    }
    server.close();
    home.verify();
}

#[test]
fn a_killed_server_leaves_no_child_and_its_call_is_told_as_unknown() {
    let home = Home::new(FREE);
    let (mut server, _, children) = with_running_program(&home);
    server.signal("-KILL");
    server.wait();
    until("the children to end", || !any_runs(&children));
    assert!(!home.path("scratch/done").exists());
    assert_eq!(home.told("call.started", "run_python").len(), 1);
    assert_eq!(home.told("call.finished", "run_python").len(), 0);
    // The next start recovers what was under way.
    Server::greeted(&home, "2025-11-25").close();
    home.verify();
    assert_eq!(last(&home, "run_python")["status"], "unknown", "{:?}", home.records());
}

#[test]
fn a_call_that_is_taken_back_is_stopped_and_never_answered() {
    let home = Home::new(FREE);
    let (mut server, id, _) = with_running_program(&home);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "test"}}));
    until("the program to end", || last(&home, "run_python")["status"] == "killed");
    assert!(!home.path("scratch/done").exists());
    server.is_alive();
    let ended = server.close();
    assert!(ended.said.iter().all(|message| message["id"] != id), "{:?}", ended.said);
    home.verify();
}

#[test]
fn a_server_killed_while_it_writes_leaves_the_old_file_or_the_new() {
    let home = Home::new(Policy { limits: "write_per_hour = \"10 GiB\"\nconcurrent_calls = 64", ..FREE });
    let size = 900 << 10;
    std::fs::write(home.path("project/whole.txt"), "a".repeat(size)).unwrap();
    for round in 0..12_u64 {
        let mut server = Server::greeted(&home, "2025-11-25");
        for letter in ["b", "c", "d", "e"] {
            server.ask(
                "tools/call",
                &json!({"name": "write_file", "arguments": {"path": "project/whole.txt", "content": letter.repeat(size)}}),
            );
        }
        // Not a wait for a condition: the kill must fall at another moment each time.
        std::thread::sleep(Duration::from_millis(round * 7));
        server.signal("-KILL");
        server.wait();
        let text = home.read("project/whole.txt");
        let first = text.chars().next().unwrap();
        assert_eq!(text.len(), size, "round {round}");
        assert!(text.chars().all(|c| c == first), "round {round}: half a file");
    }
    // What a killed writer left behind goes with the next start, and is until then taken for no file of the project by a listing.
    let mut server = Server::greeted(&home, "2025-11-25");
    let left = || {
        let names = std::fs::read_dir(home.path("project")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".toolgate-")).collect::<Vec<_>>()
    };
    let listed = server.call("list_directory", &json!({"path": "project"}));
    let text = listed["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("whole.txt") && !text.contains(".toolgate"), "{text}\n{:?}", left());
    until("what the killed servers left to be removed", || left().is_empty());
    server.close();
    home.verify();
}

#[test]
fn many_servers_start_at_once_over_one_state_folder() {
    let home = Home::new(FREE);
    let mut servers: Vec<Server> = (0..8).map(|_| Server::start(&home)).collect();
    for (n, server) in servers.iter_mut().enumerate() {
        let hello = server.request("initialize", &hello("2025-11-25"));
        assert_eq!(hello["result"]["serverInfo"]["name"], "toolgate", "{n}: {hello}");
    }
    for (n, server) in servers.iter_mut().enumerate() {
        let answer = server.call("write_file", &json!({"path": format!("project/from-{n}.txt"), "content": "x"}));
        assert!(went_well(&answer), "{answer}");
    }
    for server in servers {
        assert!(server.close().status.success());
    }
    home.verify();
    assert_eq!(home.told("call.finished", "write_file").len(), 8);
}

#[test]
fn a_probe_that_only_discovers_leaves_nothing_behind_it() {
    let home = Home::new(FREE);
    let mut server = Server::start(&home);
    let found = server.request("server/discover", &with_meta(&json!({}), STATELESS));
    assert!(found["result"]["supportedVersions"].is_array(), "{found}");
    let ended = server.close();
    assert!(ended.status.success());
    home.verify();
}

#[test]
fn a_session_folder_is_private_and_wiped_at_the_end() {
    let home = Home::new(FREE);
    let mut one = Server::greeted(&home, "2025-11-25");
    let mut other = Server::greeted(&home, "2025-11-25");
    let wrote = one.call("write_file", &json!({"path": "work/mine.txt", "content": "mine"}));
    assert!(went_well(&wrote), "{wrote}");
    assert_eq!(one.call("read_file", &json!({"path": "work/mine.txt"}))["result"]["content"][0]["text"], "mine");
    assert_eq!(other.call("read_file", &json!({"path": "work/mine.txt"}))["result"]["structuredContent"]["code"], "not_found");
    let holds_mine = || {
        let mut left = vec![home.state()];
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name() == "mine.txt" {
                    return true;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    left.push(entry.path());
                }
            }
        }
        false
    };
    assert!(one.close().status.success());
    assert!(!holds_mine(), "the session's folder is still there");
}

#[test]
fn a_manifest_with_faults_is_refused_with_all_of_them_and_no_word_on_standard_output() {
    let home = Home::new(FREE);
    let text = std::fs::read_to_string(home.manifest()).unwrap();
    std::fs::write(home.manifest(), text + "\n[fies]\nx = 1\n[profiles.p]\npermissions = [\"READ\"]\nallowed_tools = [\"read_fil\"]\n")
        .unwrap();
    let out = home.toolgate(&["serve", "--manifest", home.manifest().to_str().unwrap()]).output().unwrap();
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success() && out.stdout.is_empty());
    for word in ["fies", "files", "READ", "read_fil", "read_file"] {
        assert!(told.contains(word), "`{word}` is not in: {told}");
    }
}

/// A server that was asked for more than its client will ever read, and the streams it was given.
fn flooded(home: &Home) -> Guarded {
    std::fs::write(home.path("project/big.txt"), "0123456789abcde\n".repeat(4000)).unwrap();
    let manifest = home.manifest();
    let command = &mut home.toolgate(&["serve", "--manifest", manifest.to_str().unwrap()]);
    let mut server = Guarded(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let input = server.0.stdin.as_mut().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello("2025-11-25")});
    writeln!(input, "{hello}\n{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    for n in 1..900 {
        let params = json!({"name": "read_file", "arguments": {"path": "project/big.txt"}});
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params})).unwrap();
    }
    // It has taken what it takes once it stands still.
    let busy = || std::fs::read_to_string(format!("/proc/{}/stat", server.0.id())).unwrap().split(' ').nth(13).map(str::to_owned);
    let (mut last, mut since) = (busy(), Instant::now());
    until("the server to stand still", || {
        if busy() != last {
            (last, since) = (busy(), Instant::now());
        }
        since.elapsed() > Duration::from_millis(500)
    });
    server
}

fn ends(server: &mut Guarded) {
    until("the server to end", || server.0.try_wait().unwrap().is_some());
}

#[test]
fn a_server_whose_answers_nobody_reads_ends_with_its_input() {
    let home = Home::new(Policy { limits: "concurrent_calls = 64", ..FREE });
    let mut server = flooded(&home);
    drop(server.0.stdin.take());
    ends(&mut server);
    home.verify();
}

#[test]
fn a_server_ends_when_nobody_can_read_its_answers() {
    let home = Home::new(Policy { limits: "concurrent_calls = 64", ..FREE });
    let mut server = flooded(&home);
    drop(server.0.stdout.take());
    // Waiting for a process closes its input, unless somebody else holds it.
    let input = server.0.stdin.take();
    ends(&mut server);
    drop(input);
    home.verify();
}
