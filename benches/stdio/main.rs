//! toolgate beside its peers over raw stdio, in one run: cold start, `tools/list`, reads, writes, throughput, memory, exit.
//!
//! Peers that are not installed are named and left out. Every number is a wall time of this run on this machine; the ratios beside them are what the
//! run is for. `TOOLGATE_BENCH_CALLS` sets the calls of the latency loops (default 2000).

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a benchmark that cannot measure has nothing to say; its numbers are rounded for people"
)]

mod client;
mod peers;

use std::time::{Duration, Instant};

use client::Server;
use peers::Peer;

/// One measured value and how it is compared.
struct Row {
    name: &'static str,
    unit: &'static str,
    values: Vec<Option<f64>>,
    /// Whether more is better.
    more: bool,
}

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let calls: usize = std::env::var("TOOLGATE_BENCH_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(2000);
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let peers = peers::installed(scratch.path());
    for missing in peers::NAMES.iter().filter(|name| !peers.iter().any(|peer| peer.name == **name)) {
        println!("{missing}: not installed, left out (see benches/stdio/peers.rs)");
    }
    let mut rows: Vec<Row> = Vec::new();
    for (at, peer) in peers.iter().enumerate() {
        eprintln!("measuring {} …", peer.name);
        for (name, unit, more, value) in measure(peer, calls) {
            match rows.iter_mut().find(|row| row.name == name) {
                Some(row) => row.values.push(value),
                None => rows.push(Row { name, unit, more, values: std::iter::repeat_n(None, at).chain([value]).collect() }),
            }
        }
    }
    print(&peers, &rows);
}

type Measured = Vec<(&'static str, &'static str, bool, Option<f64>)>;

fn measure(peer: &Peer, calls: usize) -> Measured {
    let mut all: Measured = Vec::new();
    let mut colds: Vec<f64> = (0..10).map(|_| Server::start(peer).expect("the peer starts").started.as_secs_f64() * 1e3).collect();
    all.push(("cold start to the answer of initialize", "ms", false, median(&mut colds)));
    let mut server = Server::start(peer).expect("the peer starts");
    std::thread::sleep(Duration::from_millis(300));
    all.push(("resident memory after initialize, the process", "MB", false, Some(server.own_mb())));
    all.push(("resident memory, idle, with its children", "MB", false, Some(server.resident_mb())));
    let list = server.request("tools/list", "{}");
    all.push(("tools/list", "KB", false, Some(list.len() as f64 / 1024.0)));
    // What a server remembers of a content (its digest, that it holds no secret) helps from the second read on.
    for (first_of, p50, p99, file, count) in [
        ("read 1 KB, first", "read 1 KB, p50", Some("read 1 KB, p99"), "1k.txt", calls),
        ("read 1 MB, first", "read 1 MB, p50", None, "1m.txt", (calls / 20).max(5)),
        ("read 10 MB, first", "read 10 MB, p50", None, "10m.txt", (calls / 100).max(5)),
    ] {
        let call = peer.read(file);
        let begun = Instant::now();
        let first = server.request("tools/call", &call);
        let first_time = begun.elapsed().as_secs_f64() * 1e6;
        let whole = !first.contains("\"isError\":true") && first.len() >= peers::size(file);
        if !whole {
            println!("{}: {file} is not read whole, so its times say nothing: {}", peer.name, first.get(..160).unwrap_or(&first));
        }
        all.push((first_of, "µs", false, whole.then_some(first_time)));
        let mut times: Vec<f64> = (0..count).map(|_| server.timed(&call).as_secs_f64() * 1e6).collect();
        times.sort_by(f64::total_cmp);
        all.push((p50, "µs", false, whole.then(|| times[times.len() / 2])));
        if let Some(p99) = p99 {
            all.push((p99, "µs", false, whole.then(|| times[times.len() * 99 / 100])));
        }
        if file == "10m.txt" {
            all.push(("read 10 MB, bytes of the answer", "MB", false, whole.then(|| first.len() as f64 / 1e6)));
        }
    }
    let mut times: Vec<f64> = (0..calls).map(|at| server.timed(&peer.write(at % 50)).as_secs_f64() * 1e6).collect();
    times.sort_by(f64::total_cmp);
    all.push(("write 1 KB, p50", "µs", false, Some(times[times.len() / 2])));
    all.push(("write 1 KB, p99", "µs", false, Some(times[times.len() * 99 / 100])));
    for (name, flight) in [("calls/s, 1 in flight", 1), ("calls/s, 16 in flight", 16), ("calls/s, 64 in flight", 64)] {
        all.push((name, "/s", true, Some(server.throughput(&peer.read("1k.txt"), flight, calls * 5))));
    }
    all.push(("resident memory, peak, with its children", "MB", false, Some(server.peak_mb())));
    all.push(("exit after the input ends", "ms", false, server.stop(Duration::from_secs(3)).map(|time| time.as_secs_f64() * 1e3)));
    all
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn print(peers: &[Peer], rows: &[Row]) {
    print!("{:<52}", "");
    for peer in peers {
        print!("{:>28}", peer.name);
    }
    println!();
    for row in rows {
        print!("{:<52}", format!("{} ({})", row.name, row.unit));
        let ours = row.values.first().copied().flatten();
        for (at, value) in row.values.iter().enumerate() {
            let shown = match (value, ours) {
                (None, _) => "failed".to_owned(),
                (Some(value), Some(ours)) if at > 0 => {
                    // How much better we are: 2.0x is twice as good, 0.5x half as good.
                    let ratio = if row.more { ours / value } else { value / ours };
                    format!("{value:.1} (us {ratio:.2}x)")
                }
                (Some(value), _) => format!("{value:.1}"),
            };
            print!("{shown:>28}");
        }
        println!();
    }
}
