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
    let rows = runtime.block_on(async {
        let mut old = caller(&server.address, true).await;
        let mut new = caller(&server.address, false).await;
        let (mut old_times, mut new_times) = (Vec::new(), Vec::new());
        one_by_one(&mut old, WARM_UP).await;
        one_by_one(&mut new, WARM_UP).await;
        // Turn by turn, so that both meet the same noise of the machine.
        for _ in 0..TURNS {
            old_times.extend(one_by_one(&mut old, calls / TURNS).await);
            new_times.extend(one_by_one(&mut new, calls / TURNS).await);
        }
        let (mut old_rates, mut new_rates) = ([0.0; 2], [0.0; 2]);
        for _ in 0..ROUNDS {
            for (which, callers) in CALLERS.into_iter().enumerate() {
                for (rates, greeted) in [(&mut old_rates, true), (&mut new_rates, false)] {
                    let rate = many(&server.address, greeted, callers, calls * 2).await;
                    if let Some(best) = rates.get_mut(which) {
                        *best = rate.max(*best);
                    }
                }
            }
        }
        vec![
            Row { name: "stdio", times: stdio, rates: [None; 2] },
            Row { name: "HTTP 2025-11-25", times: old_times, rates: old_rates.map(Some) },
            Row { name: "HTTP 2026-07-28", times: new_times, rates: new_rates.map(Some) },
        ]
    });
    report(&rows);
}

/// Calls before any is measured.
const WARM_UP: usize = 200;
/// How often the two eras take turns.
const TURNS: usize = 20;
/// How often calls a second are counted; the best is told, for what makes it lower is the machine's other work.
const ROUNDS: usize = 3;
/// How many call at once where calls a second are counted.
const CALLERS: [usize; 2] = [16, 64];

struct Row {
    name: &'static str,
    times: Vec<Duration>,
    rates: [Option<f64>; 2],
}

fn report(rows: &[Row]) {
    let [stdio, old, new] = rows else { return };
    println!(
        "{:<20} {:>8} {:>8} {:>8} {:>7} {:>11} {:>11}",
        "read_file, 960 bytes", "p50 ms", "p90 ms", "p99 ms", "ratio", "16 calls/s", "64 calls/s"
    );
    for row in rows {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| at(&row.times, share) * 1e3);
        let [few, lots] = row.rates.map(|rate| rate.map_or("-".to_owned(), |rate| format!("{rate:.0}")));
        let ratio = p50 / at(&stdio.times, 0.5) / 1e3;
        println!("{:<20} {p50:>8.3} {p90:>8.3} {p99:>8.3} {ratio:>7.2} {few:>11} {lots:>11}", row.name);
    }
    let rate = |row: &Row, which: usize| row.rates.get(which).copied().flatten().unwrap_or_default();
    println!(
        "later era to earlier: {:.2} of its p50, {:.2} and {:.2} of its calls/s",
        at(&new.times, 0.5) / at(&old.times, 0.5),
        rate(new, 0) / rate(old, 0),
        rate(new, 1) / rate(old, 1),
    );
    for (aim, reached) in [
        ("p50 at most 1 ms in both eras", [old, new].iter().all(|row| at(&row.times, 0.5) <= 1e-3)),
        ("5000 calls/s of 64 callers in both eras", [old, new].iter().all(|row| rate(row, 1) >= 5000.0)),
        ("the later era no slower", at(&new.times, 0.5) <= at(&old.times, 0.5) * NOISE && rate(new, 1) * NOISE >= rate(old, 1)),
    ] {
        println!("{} {aim}", if reached { "reached" } else { "MISSED " });
    }
}

/// What two measurements of the same thing differ by on a machine that others use.
const NOISE: f64 = 1.05;

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
    for _ in 0..calls {
        let began = Instant::now();
        caller.call("read_file", &json!({"path": "project/small.txt"})).await.expect("an answer");
        times.push(began.elapsed());
    }
    times
}

/// A caller with a token, as callers of a team have one.
async fn caller(address: &str, greeted: bool) -> Caller {
    let caller = Caller::modern(address).await.expect("a connection").known_by("bench");
    if greeted { caller.greet().await.expect("a session") } else { caller }
}

/// Calls a second of so many callers at once.
async fn many(address: &str, greeted: bool, callers: usize, calls: usize) -> f64 {
    let began = Instant::now();
    let all = (0..callers).map(|_| {
        let address = address.to_owned();
        async move {
            let mut caller = caller(&address, greeted).await;
            for _ in 0..calls / callers {
                caller.call("read_file", &json!({"path": "project/small.txt"})).await.expect("an answer");
            }
            caller.end().await.expect("an end");
        }
    });
    futures::future::join_all(all).await;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand calls")]
    let made = (calls / callers * callers) as f64;
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
    for call in 0..calls + WARM_UP {
        let message = json!({"jsonrpc": "2.0", "id": call + 1, "method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "project/small.txt"}}});
        let began = Instant::now();
        ask(&message, true);
        if call >= WARM_UP {
            times.push(began.elapsed());
        }
    }
    drop(input);
    let _ = child.wait();
    times
}
