//! What becomes of a call when a process of its jail is killed or stopped from outside, by an operator or by the kernel for memory: an answer that
//! says so, or another jail where the program had not begun. Nothing hangs, nothing is left, and the next call works.

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, any_runs, descendants, until, went_well};

/// A process below the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Spawner,
    /// Pid 1 of each jail.
    Init,
    /// The interpreter of each jail, with a program or still without.
    Interpreter,
}

fn kind(server: u32, process: u32) -> Option<Kind> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let numbers: Vec<&str> = field("NSpid:")?.split_whitespace().collect();
    let command = std::fs::read_to_string(format!("/proc/{process}/cmdline")).ok()?;
    match numbers.as_slice() {
        [_, .., "1"] => Some(Kind::Init),
        [_, _, ..] => Some(Kind::Interpreter),
        _ if field("PPid:")? == server.to_string() => command.split('\0').any(|word| word == "__jail").then_some(Kind::Spawner),
        _ => None,
    }
}

/// Those of a kind, the spawner that was started last at the end.
fn all(server: &Server, wanted: Kind) -> Vec<u32> {
    descendants(server.id()).into_iter().filter(|process| kind(server.id(), *process) == Some(wanted)).collect()
}

fn send(signal: &str, processes: &[u32]) {
    for process in processes {
        // One may be gone by itself.
        let _ = std::process::Command::new("kill").args([signal, &process.to_string()]).output().unwrap();
    }
}

fn state(process: u32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next()).unwrap_or('X')
}

/// Kills those of a kind, and waits until they and the interpreters, which die with any of them, are dead: until then an interpreter can still be
/// handed a call, which ends with it.
fn kill(server: &Server, struck: Kind) {
    let mut dying = all(server, Kind::Interpreter);
    let killed = all(server, struck);
    assert!(!killed.is_empty(), "{struck:?}");
    send("-KILL", &killed);
    dying.extend(killed);
    until("the killed processes to be dead", || dying.iter().all(|process| matches!(state(*process), 'Z' | 'X')));
}

/// A server in whose jails interpreters wait; none where the backend here keeps no such jails.
fn warm(python: &'static str) -> Option<(Home, Server)> {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", limits: "concurrent_calls = 64", python });
    let mut server = Server::greeted(&home, "2025-11-25");
    let first = run(&mut server, "1");
    if first["isolation"]["backend"] != "native" {
        eprintln!("skipped: the backend here is {}, which keeps no jails that wait", first["isolation"]);
        return None;
    }
    until("interpreters to wait", || {
        assert!(went_well(&server.call("run_python", &json!({"code": "1"}))));
        !all(&server, Kind::Interpreter).is_empty()
    });
    Some((home, server))
}

fn run(server: &mut Server, code: &str) -> Value {
    server.call("run_python", &json!({"code": code}))["result"]["structuredContent"].clone()
}

fn works(server: &mut Server) {
    let answer = run(server, "print(6 * 7)");
    assert_eq!((&answer["status"], &answer["stdout"]), (&json!("ok"), &json!("42\n")), "{answer}\n{}", server.errors());
}

/// Ends the server; nothing of it is left.
fn ends_clean(home: &Home, server: Server) {
    let all = server.children();
    assert!(server.close().status.success());
    until("every process to end", || !any_runs(&all));
    home.verify();
}

const UNTOLD: &str = "the program is dead, and how it ended is not known: its jail was ended from outside";

/// Says that it began, waits until it may go on, and says that it ended.
const WAITS: &str = "import os, time\nopen('/roots/scratch/begun', 'w').close()\nwhile not os.path.exists('/roots/scratch/go'):\n    \
                     time.sleep(0.005)\nprint('over', flush=True)\n";

/// The same under way, with its request.
fn under_way(home: &Home, server: &mut Server, timeout: u64) -> Value {
    let id = server.ask("tools/call", &json!({"name": "run_python", "arguments": {"code": WAITS, "timeout_s": timeout}}));
    begins(home, server);
    id
}

/// Waits until the program says so.
fn begins(home: &Home, server: &mut Server) {
    until("the program to begin", || {
        let begun = home.path("scratch/begun").exists();
        if !begun && let Some(early) = server.next_message(std::time::Duration::from_millis(5)) {
            panic!("the program did not run: {early}\n{}", server.errors());
        }
        begun
    });
}

fn go_on(home: &Home) {
    std::fs::write(home.path("scratch/go"), "").unwrap();
}

fn answer(server: &mut Server, id: &Value) -> Value {
    server.answer(id)["result"]["structuredContent"].clone()
}

#[test]
fn a_jail_that_is_struck_before_its_program_began_is_replaced_by_another() {
    for struck in [Kind::Init, Kind::Interpreter, Kind::Spawner] {
        let Some((home, mut server)) = warm("") else { return };
        kill(&server, struck);
        // More than stand ready.
        let code = "open('/roots/scratch/runs', 'a').write('x')\nprint(1)";
        let ids: Vec<Value> =
            (0..6).map(|_| server.ask("tools/call", &json!({"name": "run_python", "arguments": {"code": code}}))).collect();
        for id in ids {
            let answer = answer(&mut server, &id);
            assert_eq!((&answer["status"], &answer["stdout"]), (&json!("ok"), &json!("1\n")), "{struck:?}: {answer}");
        }
        // Each of them once, and not again in another jail.
        assert_eq!(home.read("scratch/runs"), "xxxxxx", "{struck:?}");
        works(&mut server);
        ends_clean(&home, server);
    }
}

#[test]
fn a_jail_that_is_killed_while_its_program_runs_is_answered_with_what_is_known() {
    for (struck, expected) in [
        (Kind::Init, json!(["sandbox_error", UNTOLD, null, null, ""])),
        (Kind::Interpreter, json!(["killed", "signal 9", 9, null, ""])),
        (Kind::Spawner, json!(["sandbox_error", UNTOLD, null, null, ""])),
    ] {
        let Some((home, mut server)) = warm("") else { return };
        let id = under_way(&home, &mut server, 60);
        kill(&server, struck);
        let answer = answer(&mut server, &id);
        let told = json!([answer["status"], answer["evidence"], answer["signal"], answer["exit_code"], answer["stdout"]]);
        assert_eq!(told, expected, "{struck:?}: {answer}");
        works(&mut server);
        ends_clean(&home, server);
    }
}

fn stop_spawner(server: &Server) -> Vec<u32> {
    let spawner = all(server, Kind::Spawner);
    send("-STOP", &spawner);
    until("the spawner to stop", || state(spawner[0]) == 'T');
    spawner
}

#[test]
fn a_call_that_waits_for_a_jail_ends_with_its_time_and_its_program_never_begins() {
    let Some((home, mut server)) = warm("") else { return };
    let spawner = stop_spawner(&server);
    let waiting = server.call("run_python", &json!({"code": "open('/roots/scratch/ran', 'w')", "timeout_s": 1}));
    let answer = &waiting["result"]["structuredContent"];
    let told = json!([answer["status"], answer["limit"], answer["evidence"]]);
    assert_eq!(told, json!(["limit", "wall", "no jail was ready within 1000 ms; the program did not begin"]), "{waiting}");
    // Its order is still there to be taken, and jails wait.
    send("-CONT", &spawner);
    works(&mut server);
    works(&mut server);
    ends_clean(&home, server);
    assert!(!home.path("scratch/ran").exists());
}

#[test]
fn a_call_that_waits_for_a_jail_is_taken_back_at_once_and_its_program_never_begins() {
    let Some((home, mut server)) = warm("") else { return };
    let spawner = stop_spawner(&server);
    let started = home.told("call.started", "run_python").len();
    let code = "import time\nopen('/roots/scratch/ran', 'a').write('x')\ntime.sleep(600)";
    let calls: Vec<Value> = (0..8).map(|_| server.ask("tools/call", &json!({"name": "run_python", "arguments": {"code": code}}))).collect();
    until("the calls to be under way", || home.told("call.started", "run_python").len() == started + calls.len());
    for id in &calls {
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    until("them to end", || {
        let finished = home.told("call.finished", "run_python");
        finished.iter().filter(|record| record["status"] == "killed").count() == calls.len()
    });
    // Each ended by itself, and none was dropped after a wait.
    assert!(!server.errors().contains("did not end in time"), "{}", server.errors());
    send("-CONT", &spawner);
    works(&mut server);
    works(&mut server);
    ends_clean(&home, server);
    assert!(!home.path("scratch/ran").exists());
}

#[test]
fn a_call_that_waits_for_its_session_ends_with_its_time_and_the_session_goes_on() {
    let Some((home, mut server)) = warm("") else { return };
    let first = server.call("run_python", &json!({"code": "kept = 41", "session": "new"}));
    let handle = first["result"]["structuredContent"]["session"].clone();
    let busy = server.ask("tools/call", &json!({"name": "run_python", "arguments": {"code": WAITS, "session": handle}}));
    begins(&home, &mut server);
    let waiting = server.call("run_python", &json!({"code": "kept = 0", "session": handle, "timeout_s": 1}));
    let answered = &waiting["result"]["structuredContent"];
    let told = json!([answered["status"], answered["limit"], answered["evidence"], answered["session"]]);
    assert_eq!(told, json!(["limit", "wall", "the session was busy for 1000 ms; the program did not begin", handle]), "{waiting}");
    // One that is taken back while it waits.
    let started = home.told("call.started", "run_python").len();
    let given_up = server.ask("tools/call", &json!({"name": "run_python", "arguments": {"code": "kept = 1", "session": handle}}));
    until("the call to be under way", || home.told("call.started", "run_python").len() > started);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": given_up}}));
    until("it to end", || home.told("call.finished", "run_python").iter().any(|record| record["status"] == "killed"));
    assert!(!server.errors().contains("did not end in time"), "{}", server.errors());
    go_on(&home);
    assert_eq!(answer(&mut server, &busy)["stdout"], "over\n");
    let last = server.call("run_python", &json!({"code": "print(kept + 1)", "session": handle}));
    assert_eq!(last["result"]["structuredContent"]["stdout"], "42\n", "{last}");
    ends_clean(&home, server);
}

#[test]
fn a_watch_that_cannot_look_ends_the_program_and_says_so() {
    use std::os::unix::{fs::MetadataExt, process::CommandExt};

    let Some((home, mut server)) = warm("") else { return };
    let id = under_way(&home, &mut server, 60);
    let of = |process: u32| std::fs::read_link(format!("/proc/{process}/ns/pid")).ok();
    let starts = |process: &u32| std::fs::read_link(format!("/proc/{process}/cwd")).is_ok_and(|folder| folder != std::path::Path::new("/"));
    let program = all(&server, Kind::Interpreter).into_iter().find(starts).unwrap();
    let init = all(&server, Kind::Init).into_iter().find(|init| of(*init) == of(program)).unwrap();
    // It can open nothing any more. No program may ask for that; a process of the same user outside may.
    let user = std::fs::metadata(format!("/proc/{program}")).unwrap();
    let mut bounded = std::process::Command::new("prlimit");
    bounded.args(["--pid", &init.to_string(), "--nofile=0:0"]);
    let bounded =
        if user.uid() == rustix::process::getuid().as_raw() { bounded.output() } else { bounded.uid(user.uid()).gid(user.gid()).output() };
    let bounded = bounded.unwrap();
    assert!(bounded.status.success(), "{bounded:?}");
    let answer = answer(&mut server, &id);
    assert_eq!(answer["status"], "sandbox_error", "{answer}");
    until("the program to end", || !any_runs(&[program]));
    assert!(server.errors().contains("since its limits could not be held"), "{}", server.errors());
    works(&mut server);
    ends_clean(&home, server);
}

/// What init alone can have done, for the spawner is stopped.
mod without_a_spawner {
    use super::*;

    #[test]
    fn init_keeps_the_time_of_its_program() {
        let Some((home, mut server)) = warm("") else { return };
        let id = under_way(&home, &mut server, 8);
        stop_spawner(&server);
        let answer = answer(&mut server, &id);
        let told = json!([answer["status"], answer["limit"], answer["evidence"], answer["usage"]["pids_peak"]]);
        // Only init counts processes.
        assert_eq!(told, json!(["limit", "wall", "still running after 8000 ms", 1]), "{answer}");
        ends_clean(&home, server);
    }

    #[test]
    fn init_ends_a_program_whose_server_takes_it_back_or_is_dead() {
        for killed in [false, true] {
            let Some((home, mut server)) = warm("") else { return };
            let id = under_way(&home, &mut server, 60);
            let everything = server.children();
            let spawner = stop_spawner(&server);
            if killed {
                server.signal("-KILL");
            } else {
                server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
            }
            // Its init is taken by nobody.
            until("the jail to end", || everything.iter().any(|process| state(*process) == 'Z'));
            assert_eq!(state(spawner[0]), 'T');
            if killed {
                send("-CONT", &spawner);
                until("every process to end", || !any_runs(&everything));
            } else {
                ends_clean(&home, server);
            }
        }
    }

    #[test]
    fn init_adds_up_what_all_processes_of_its_program_use() {
        let Some((home, mut server)) = warm("cpu = \"2s\"") else { return };
        // None of them alone comes to the bound.
        let relay = "import os, time\nopen('/roots/scratch/begun', 'w').close()\nwhile True:\n    child = os.fork()\n    if child == 0:\n        \
                     while time.process_time() < 0.3:\n            pass\n        os.kill(os.getpid(), 9)\n    os.waitpid(child, 0)\n";
        let id = server.ask("tools/call", &json!({"name": "run_python", "arguments": {"code": relay}}));
        begins(&home, &mut server);
        stop_spawner(&server);
        let answer = answer(&mut server, &id);
        assert_eq!((&answer["status"], &answer["limit"]), (&json!("limit"), &json!("cpu")), "{answer}");
        assert!(answer["evidence"].as_str().unwrap().ends_with("of processor time over all processes"), "{answer}");
        ends_clean(&home, server);
    }

    #[test]
    fn init_ends_what_a_program_left_behind_before_it_answers() {
        let Some((home, mut server)) = warm("") else { return };
        // The daemon lives when its parent is dead, and that is waited for before the program says that it began.
        let leaves = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(600)\n    \
                      os.kill(os.getpid(), 9)\nos.wait()\nopen('/roots/scratch/begun', 'w').close()\nwhile not \
                      os.path.exists('/roots/scratch/go'):\n    time.sleep(0.005)\n";
        let id = server.ask("tools/call", &json!({"name": "run_python", "arguments": {"code": leaves}}));
        begins(&home, &mut server);
        let before = all(&server, Kind::Interpreter);
        stop_spawner(&server);
        go_on(&home);
        answer(&mut server, &id);
        // Those that wait for calls live on; nobody ends them while the spawner is stopped.
        let dead = before.iter().filter(|process| matches!(state(**process), 'Z' | 'X')).count();
        assert_eq!(dead, 2, "the program and its daemon");
        ends_clean(&home, server);
    }
}
