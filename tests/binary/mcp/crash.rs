//! The real server killed at random instants under load, on a full disk, and without a disk that confirms: no effect without its record, no promise
//! lost, and a log that verifies every time. `TOOLGATE_TEST_CRASHES` sets the number of kills (default 12).

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, hello, until, went_well};

const LOAD: Policy = Policy {
    approvals: "level_2 = \"none\"",
    limits: "concurrent_calls = 64\nwrite_per_hour = \"10 GiB\"\nbreaker = { denials = 100000 }",
    python: "",
};
/// Kills on one state folder before a new one is begun: the log is read whole after each.
const PER_HOME: u64 = 20;

fn rounds() -> u64 {
    std::env::var("TOOLGATE_TEST_CRASHES").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(12)
}

/// What a round left: the files the client was promised.
struct Promised(HashSet<String>);

/// Loads a server with writes of new files and kills it after `delay`.
fn crash(home: &Home, round: u64, delay: Duration) -> Promised {
    let mut server = Server::start(home);
    server.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello("2025-11-25")}));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let name = |n: u64| format!("project/r{round}-{n}.txt");
    for n in 0..60 {
        server.ask("tools/call", &json!({"name": "write_file", "arguments": {"path": name(n), "content": format!("{round}/{n}")}}));
    }
    // Not a wait for a condition: the kill must fall at another moment each time.
    std::thread::sleep(delay);
    server.signal("-KILL");
    let said = server.wait().said;
    let answered = said.iter().filter(|message| went_well(message)).filter_map(|message| message["id"].as_u64());
    Promised(answered.filter(|id| *id > 0).map(|id| name(id - 1)).collect())
}

/// Nothing was done without its record, and nothing promised is missing.
fn account(home: &Home, round: u64, promised: &Promised) {
    let records = home.records();
    let of = |event: &str| -> Vec<&Value> { records.iter().filter(|record| record["ev"] == event).collect() };
    let paths: HashSet<&str> = of("call.started").iter().filter_map(|record| record["args"]["path"].as_str()).collect();
    for entry in std::fs::read_dir(home.path("project")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with('r') {
            assert!(paths.contains(format!("project/{name}").as_str()), "round {round}: {name} has no record");
        }
    }
    let finished: HashSet<&str> =
        of("call.finished").iter().filter(|record| record["status"] == "success").filter_map(|record| record["call"].as_str()).collect();
    for path in &promised.0 {
        assert!(home.path(path).exists(), "round {round}: {path} was promised and is not there");
        let started = of("call.started").into_iter().find(|record| record["args"]["path"] == *path);
        let call = started.unwrap_or_else(|| panic!("round {round}: {path} was promised and not recorded"))["call"].as_str().unwrap();
        assert!(finished.contains(call), "round {round}: the end of {path} was promised and not recorded");
    }
    // Every call that began has an end by now, if only `unknown`.
    let ended: HashSet<&str> = of("call.finished").iter().filter_map(|record| record["call"].as_str()).collect();
    let mut open = of("call.started");
    open.retain(|record| !ended.contains(record["call"].as_str().unwrap()));
    assert!(open.is_empty(), "round {round}: {open:?}");
}

#[test]
fn a_server_killed_at_any_moment_under_load_leaves_no_effect_without_its_record() {
    let seed = u64::from(std::process::id());
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut home = Home::new(LOAD);
    let (mut killed_early, mut killed_late) = (0, 0);
    // Microseconds within which a kill falls: it finds out how long this machine takes for the work.
    let mut span = 120_000;
    for round in 0..rounds() {
        if round > 0 && round % PER_HOME == 0 {
            home = Home::new(LOAD);
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let promised = crash(&home, round, Duration::from_micros(random % span));
        if promised.0.len() < 60 {
            killed_early += 1;
            span = (span * 5 / 4).min(1_000_000);
        } else {
            killed_late += 1;
            span = (span / 2).max(500);
        }
        // The next start recovers what the killed one left.
        Server::start(&home).close();
        home.verify();
        account(&home, round, &promised);
    }
    eprintln!("{} kills (seed {seed}): {killed_early} in the middle of the work, {killed_late} after it; every log whole", rounds());
    assert!(killed_early > 0, "no kill fell into the work");
}

#[test]
fn on_a_full_disk_the_server_refuses_calls_and_the_stop_still_works() {
    let home = Home::new(LOAD);
    std::fs::create_dir(home.state()).unwrap();
    let options = Some("size=16m,mode=0700");
    if let Err(why) = nix::mount::mount(Some("none"), &home.state(), Some("tmpfs"), nix::mount::MsFlags::empty(), options) {
        eprintln!("skipped: a small file system cannot be mounted here ({why})");
        return;
    }
    let done = std::panic::catch_unwind(|| fill(&home));
    nix::mount::umount2(&home.state(), nix::mount::MntFlags::MNT_DETACH).unwrap();
    done.unwrap();
}

fn fill(home: &Home) {
    let mut server = Server::greeted(home, "2025-11-25");
    assert!(went_well(&server.call("write_file", &json!({"path": "project/before.txt", "content": "x"}))));
    let mut filler = std::fs::File::create(home.state().join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    let mut written = 0;
    let refused = loop {
        let answer = server.call("write_file", &json!({"path": format!("project/f{written}.txt"), "content": "x"}));
        if !went_well(&answer) {
            break answer;
        }
        written += 1;
        assert!(written < 20_000, "a full disk refuses nothing");
    };
    assert_eq!(refused["result"]["structuredContent"]["code"], "audit_unavailable", "{refused}");
    assert!(!home.path(&format!("project/f{written}.txt")).exists(), "what is not recorded is not done");
    // A shorter record may still fit behind the last one.
    until("a call that only reads to be refused", || {
        let read = server.call("read_file", &json!({"path": "project/before.txt"}));
        read["result"]["structuredContent"]["code"] == "audit_unavailable"
    });
    // The stop needs no room. Its record does, and so does the one that the stop is lifted.
    let pulled = home.toolgate(&["kill", "--reason", "drill"]).output().unwrap();
    let said = String::from_utf8_lossy(&pulled.stderr).into_owned();
    assert!(pulled.status.success() && said.contains("the stop is on, and could not be recorded"), "{pulled:?}");
    assert!(home.state().join("KILL").exists());
    let killed = server.call("read_file", &json!({"path": "project/before.txt"}));
    assert_eq!(killed["result"]["structuredContent"]["code"], "killed", "{killed}");
    let lifted = home.toolgate(&["resume"]).output().unwrap();
    assert!(!lifted.status.success() && home.state().join("KILL").exists(), "{lifted:?}");
    // Room again: it goes on by itself.
    drop(filler);
    std::fs::remove_file(home.state().join("filler")).unwrap();
    assert!(home.toolgate(&["resume"]).status().unwrap().success());
    assert!(went_well(&server.call("write_file", &json!({"path": "project/notes.txt", "content": "again"}))));
    server.close();
    home.verify();
    let done: HashSet<String> =
        home.told("call.started", "write_file").iter().filter_map(|record| record["args"]["path"].as_str().map(str::to_owned)).collect();
    assert!((0..written).all(|n| done.contains(&format!("project/f{n}.txt"))), "every effect has its record");
}

#[test]
fn a_server_whose_log_the_disk_does_not_confirm_makes_no_further_call() {
    // fsync(2) cannot be made to fail on an ordinary disk; strace(1) injects the failure where it is there.
    let Some(strace) = ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| Path::new(path).exists()) else {
        eprintln!("skipped: no strace to make fdatasync fail (the log's own tests make it fail behind its seam)");
        return;
    };
    let home = Home::new(LOAD);
    let mut child = std::process::Command::new(strace)
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO:when=3+", crate::mcp::home::BINARY, "serve", "--manifest"])
        .arg(home.manifest())
        .env_clear()
        .envs(home.environment())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut answers = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut ask = |message: Value| {
        writeln!(input, "{message}").unwrap();
        answers.next().unwrap()
    };
    let hello = ask(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello("2025-11-25")}));
    if hello["result"].is_null() {
        eprintln!("skipped: nothing can be traced here");
        let _ = child.kill();
        let _ = child.wait();
        return;
    }
    let mut refused = 0;
    for n in 0..20 {
        let path = format!("project/f{n}.txt");
        let call = json!({"name": "write_file", "arguments": {"path": path, "content": "x"}});
        let answer = ask(json!({"jsonrpc": "2.0", "id": n + 1, "method": "tools/call", "params": call}));
        if went_well(&answer) {
            assert_eq!(refused, 0, "after a failed sync nothing begins any more: {answer}");
        } else {
            refused += 1;
            assert!(!home.path(&path).exists(), "{path} was done and refused: {answer}");
        }
    }
    assert!(refused >= 18, "{refused}");
    drop(input);
    let _ = child.wait();
    Server::start(&home).close();
    home.verify();
}
