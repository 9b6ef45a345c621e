//! Holds a server over HTTP for minutes: 1 000 idle sessions, 64 callers at once with mixed tools in both eras, then `kill -9` and a new start.
//!
//! `cargo run --release --example http_load`, with the binary built beside it. `TOOLGATE_LOAD_MINUTES` (1) sets how long,
//! `TOOLGATE_LOAD_SESSIONS` (1000) and `TOOLGATE_LOAD_CALLERS` (64) how many. It ends with 1 where a call failed or something grew.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a load generator prints, and what does not start ends it"
)]

#[path = "../benches/http/client.rs"]
mod client;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use client::{Caller, Server, house};
use serde_json::{Value, json};

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a scratch folder");
    house(folder.path()).expect("a house");
    let here = std::env::current_exe().expect("a path of our own");
    let binary: PathBuf = here.ancestors().nth(2).expect("the folder of the build").join("toolgate");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let failed = runtime.block_on(run(&binary, folder.path()));
    for fault in &failed {
        println!("FAULT {fault}");
    }
    println!("{}", if failed.is_empty() { "held" } else { "did not hold" });
    ExitCode::from(u8::from(!failed.is_empty()))
}

async fn run(binary: &Path, folder: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let server = Server::start(binary, folder).expect("a server");
    let mut idle = Vec::new();
    for _ in 0..number("TOOLGATE_LOAD_SESSIONS", 1000) {
        idle.push(Caller::greeted(&server.address).await.expect("a session"));
    }
    // What is made once (threads, interpreters) is made before the first look.
    let warm = load(&server.address, Duration::from_secs(5)).await;
    faults.extend(warm.faults);
    settle().await;
    let before = State::of(server.child.id(), folder);
    println!("{} idle sessions; before: {before:?}", idle.len());
    let minutes = number("TOOLGATE_LOAD_MINUTES", 1);
    let done = load(&server.address, Duration::from_secs(60 * minutes as u64)).await;
    settle().await;
    let after = State::of(server.child.id(), folder);
    let mut times = done.times;
    times.sort_unstable();
    let at = |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default();
    println!("after: {after:?}");
    println!("{} calls in {minutes} min, {:.0}/s; p50 {:?}, p99 {:?}, slowest {:?}", times.len(), done.rate, at(50), at(99), times.last());
    faults.extend(done.faults);
    faults.extend(after.grown_since(&before));
    // Every idle session still answers.
    for caller in idle.iter_mut().step_by(97) {
        let known = caller.session.clone();
        let mut fresh = Caller::modern(&server.address).await.expect("a connection");
        fresh.session = known;
        if let Err(fault) = fresh.call("file_info", &json!({"path": "project/small.txt"})).await {
            faults.push(format!("an idle session: {fault}"));
        }
    }
    faults.extend(killed(binary, folder, server).await);
    faults
}

/// Processes end and folders are wiped a moment after their calls.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(2)).await;
}

#[derive(Default)]
struct Done {
    times: Vec<Duration>,
    rate: f64,
    faults: Vec<String>,
}

async fn load(address: &str, time: Duration) -> Done {
    let began = Instant::now();
    let callers = (0..number("TOOLGATE_LOAD_CALLERS", 64)).map(|n| tokio::spawn(one(address.to_owned(), n, began + time)));
    let mut done = Done::default();
    for caller in futures::future::join_all(callers).await {
        let one = caller.expect("a caller that ends");
        done.times.extend(one.times);
        done.faults.extend(one.faults);
    }
    #[expect(clippy::cast_precision_loss, reason = "fewer calls than a float holds")]
    let calls = done.times.len() as f64;
    done.rate = calls / began.elapsed().as_secs_f64();
    done.faults.truncate(10);
    done
}

async fn one(address: String, n: usize, until: Instant) -> Done {
    let mut done = Done::default();
    let greeted = if n.is_multiple_of(2) { Caller::greeted(&address).await } else { Caller::modern(&address).await };
    let mut caller = match greeted {
        Ok(caller) => caller,
        Err(fault) => return Done { faults: vec![format!("caller {n}: {fault}")], ..done },
    };
    let mut turn = n;
    while Instant::now() < until && done.faults.len() < 5 {
        turn += 1;
        let (tool, arguments) = call(n, turn);
        let began = Instant::now();
        match caller.call(tool, &arguments).await {
            Ok(result) if result["isError"] != true => done.times.push(began.elapsed()),
            Ok(result) => done.faults.push(format!("{tool}: {result}")),
            Err(fault) => return Done { faults: vec![format!("{tool}: {fault}")], ..done },
        }
    }
    done
}

/// The mix: mostly reads, some writes to files of the caller's own, now and then a program.
fn call(n: usize, turn: usize) -> (&'static str, Value) {
    match turn % 200 {
        0 => ("run_python", json!({"code": "print(sum(range(1000)))"})),
        at if at % 20 == 1 => ("write_file", json!({"path": format!("project/own{n}.txt"), "content": format!("{turn}\n")})),
        at if at % 20 == 2 => ("search_files", json!({"path": "project/src", "query": "needle 7"})),
        at if at % 10 == 3 => ("list_directory", json!({"path": "project/src"})),
        at if at % 10 == 4 => ("file_info", json!({"path": "project/small.txt"})),
        _ => ("read_file", json!({"path": "project/small.txt"})),
    }
}

/// What must not grow.
#[derive(Debug)]
struct State {
    memory_kib: u64,
    descriptors: usize,
    children: usize,
    folders: usize,
}

impl State {
    fn of(process: u32, folder: &Path) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse().ok());
        let count = |path: String| std::fs::read_dir(path).map_or(0, Iterator::count);
        let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
        let sessions = folder.join("state/sessions");
        Self {
            memory_kib: memory.unwrap_or(0),
            descriptors: count(format!("/proc/{process}/fd")),
            children: children.split_whitespace().count(),
            folders: walk(&sessions),
        }
    }

    fn grown_since(&self, before: &Self) -> Vec<String> {
        let mut faults = Vec::new();
        // Allocators keep some; a leak of a kilobyte a call would be far above this.
        if self.memory_kib > before.memory_kib + before.memory_kib / 4 + 32 * 1024 {
            faults.push(format!("memory grew from {} to {} KiB", before.memory_kib, self.memory_kib));
        }
        for (what, was, is) in [
            ("descriptors", before.descriptors, self.descriptors),
            ("children", before.children, self.children),
            ("session folders", before.folders, self.folders),
        ] {
            // The callers of the first load left sessions of their own; the second's are as many again.
            if is > was + number("TOOLGATE_LOAD_CALLERS", 64) + 8 {
                faults.push(format!("{what} grew from {was} to {is}"));
            }
        }
        faults
    }
}

fn walk(folder: &Path) -> usize {
    std::fs::read_dir(folder)
        .map_or(0, |entries| entries.flatten().filter(|entry| entry.path().is_dir()).map(|entry| 1 + walk(&entry.path())).sum())
}

/// Kills the server under load, starts another, and asks the log for every call that was answered.
async fn killed(binary: &Path, folder: &Path, server: Server) -> Vec<String> {
    let mut faults = Vec::new();
    let address = server.address.clone();
    let killer = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        drop(server);
    });
    let answered = load(&address, Duration::from_secs(4)).await.times.len();
    killer.await.expect("the killer ends");
    let again = Server::start(binary, folder).expect("a server starts again");
    let mut caller = Caller::modern(&again.address).await.expect("a connection");
    if let Err(fault) = caller.call("read_file", &json!({"path": "project/small.txt"})).await {
        faults.push(format!("after the kill: {fault}"));
    }
    drop(again);
    let verify = Command::new(binary)
        .args(["audit", "verify"])
        .env("TOOLGATE_MANIFEST", folder.join("tools.toml"))
        .env("TOOLGATE_STATE_DIR", folder.join("state"))
        .output()
        .expect("verify runs");
    println!("{answered} calls were answered before the kill; {}", String::from_utf8_lossy(&verify.stdout).trim());
    if !verify.status.success() {
        faults.push("the log is broken".to_owned());
    }
    faults
}
