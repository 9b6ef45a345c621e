//! `read_file` over HTTP in both eras against standard input and output, in one run: what the way costs, as ratios. It asserts nothing.

#![expect(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints, and a server that does not start ends it")]

mod client;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use client::{Caller, Server, house};
use serde_json::json;

const BINARY: &str = env!("CARGO_BIN_EXE_toolgate");

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let calls: usize = std::env::var("TOOLGATE_BENCH_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3000);
    let folder = tempfile::tempdir().expect("a scratch folder");
    house(folder.path()).expect("a house");
    let stdio = over_stdio(folder.path(), calls);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let server = Server::start(Path::new(BINARY), folder.path()).expect("a server");
    let (old, old_rate, new, new_rate) = runtime.block_on(async {
        let mut old = Caller::greeted(&server.address).await.expect("a session");
        let mut new = Caller::modern(&server.address).await.expect("a connection");
        let (old, new) = (one_by_one(&mut old, calls).await, one_by_one(&mut new, calls).await);
        (old, many(&server.address, true, calls).await, new, many(&server.address, false, calls).await)
    });
    let row = |name: &str, times: &[Duration], rate: Option<f64>| {
        let (p50, p99) = (at(times, 0.5), at(times, 0.99));
        let rate = rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
        println!("{name:<24} {:>9.3} {:>9.3} {:>7.2} {rate:>9}", p50 * 1e3, p99 * 1e3, p50 / at(&stdio, 0.5));
    };
    println!("{:<24} {:>9} {:>9} {:>7} {:>9}", "read_file, 1 KiB", "p50 ms", "p99 ms", "ratio", "calls/s");
    row("stdio", &stdio, None);
    row("HTTP 2025-11-25", &old, Some(old_rate));
    row("HTTP 2026-07-28", &new, Some(new_rate));
    println!(
        "later era to earlier: {:.2} of its p50, {:.2} of its calls/s (16 callers)",
        at(&new, 0.5) / at(&old, 0.5),
        new_rate / old_rate
    );
}

/// A quantile in seconds.
fn at(times: &[Duration], share: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of a few thousand")]
    let index = ((sorted.len() - 1) as f64 * share) as usize;
    sorted.get(index).map_or(0.0, Duration::as_secs_f64)
}

async fn one_by_one(caller: &mut Caller, calls: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(calls);
    for call in 0..calls + 200 {
        let began = Instant::now();
        caller.call("read_file", &json!({"path": "project/small.txt"})).await.expect("an answer");
        // The first are the warming up.
        if call >= 200 {
            times.push(began.elapsed());
        }
    }
    times
}

/// Calls a second of sixteen callers at once.
async fn many(address: &str, greeted: bool, calls: usize) -> f64 {
    let began = Instant::now();
    let callers = (0..16).map(|_| {
        let address = address.to_owned();
        async move {
            let mut caller = if greeted { Caller::greeted(&address).await } else { Caller::modern(&address).await }.expect("a caller");
            for _ in 0..calls / 4 {
                caller.call("read_file", &json!({"path": "project/small.txt"})).await.expect("an answer");
            }
        }
    });
    futures::future::join_all(callers).await;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand calls")]
    let made = (calls / 4 * 16) as f64;
    made / began.elapsed().as_secs_f64()
}

fn over_stdio(folder: &Path, calls: usize) -> Vec<Duration> {
    let mut child = Command::new(BINARY)
        .args(["serve", "--manifest"])
        .arg(folder.join("tools.toml"))
        .env("TOOLGATE_STATE_DIR", folder.join("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let (mut input, output) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
    let mut output = BufReader::new(output);
    let mut ask = |message: &serde_json::Value, answered: bool| {
        input.write_all(format!("{message}\n").as_bytes()).expect("it reads");
        let mut line = String::new();
        if answered {
            output.read_line(&mut line).expect("it answers");
        }
    };
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
    ask(&hello, true);
    ask(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), false);
    let mut times = Vec::with_capacity(calls);
    for call in 0..calls + 200 {
        let message = json!({"jsonrpc": "2.0", "id": call + 1, "method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "project/small.txt"}}});
        let began = Instant::now();
        ask(&message, true);
        if call >= 200 {
            times.push(began.elapsed());
        }
    }
    drop(input);
    let _ = child.wait();
    times
}
