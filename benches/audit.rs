//! What a record costs: `cargo bench --bench audit`. Prints µs per handed record, durable records/s of up to 64 callers, verified records/s.
//!
//! Durable records are the disk's doing: a caller waits for one sync, whoever asked for it. So the same disk's own syncs are measured in between, and
//! the rate is told in parts of what as many callers could have if each of them waited for exactly one. In memory (`BENCH_DIR=/dev/shm`) there is no disk,
//! and the rate is that of the log itself.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement stops at the first surprise and prints what it saw")]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::json;
use toolgate::audit::{Client, Event, Log, Record, Settings, Sync, verify};

fn main() {
    // A folder on a real disk: durable records in memory would measure nothing.
    let parent = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let state = tempfile::tempdir_in(parent).unwrap();
    let begun = Instant::now();
    let log = Arc::new(Log::open(state.path(), Settings::default(), Arc::new(Timestamp::now)).unwrap());
    println!("open, first start:        {:>9.1} µs", micros(begun.elapsed()));

    for round in 0..3 {
        let mut times: Vec<Duration> = (0..20_000).map(|_| timed(|| append(&log, Sync::Handed))).collect();
        let sum: Duration = times.iter().sum();
        times.sort_unstable();
        let at = |part: usize| micros(times.get(times.len() * part / 100).copied().unwrap_or_default());
        println!("handed, round {round}:          mean {:>5.2} µs  p50 {:>5.2}  p99 {:>6.2}", micros(sum) / 20_000.0, at(50), at(99));
    }
    let args = json!({"path": "project/notes/a.txt", "offset": 1});
    let redact = timed(|| (0..10_000).for_each(|_| drop(log.redact(args.as_object().unwrap()))));
    println!("redact:                   {:>9.2} µs", micros(redact) / 10_000.0);

    for callers in [1_u32, 16, 64] {
        let before = append(&log, Sync::Durable);
        let took = timed(|| {
            std::thread::scope(|scope| {
                for _ in 0..callers {
                    scope.spawn(|| {
                        let end = Instant::now() + Duration::from_secs(2);
                        while Instant::now() < end {
                            append(&log, Sync::Durable);
                        }
                    });
                }
            });
        });
        let records = rate(append(&log, Sync::Durable) - before, took);
        let syncs = syncs(state.path(), callers);
        println!(
            "durable, {callers:>2} callers:      {records:>9.0} records/s   {:.2} of {callers} a sync ({syncs:.0} syncs/s)",
            records / (syncs * f64::from(callers))
        );
    }
    log.close().unwrap();
    let begun = Instant::now();
    let report = verify(state.path(), None).unwrap();
    assert_eq!(report.broken(), None);
    println!("verify:                   {:>9.0} records/s over {} records", rate(report.records, begun.elapsed()), report.records);
}

/// How often this disk syncs a file to which as many records were appended, in a second.
fn syncs(folder: &Path, records: u32) -> f64 {
    let path = folder.join("baseline");
    let mut file = File::options().append(true).create(true).open(&path).unwrap();
    let bytes = vec![b'x'; records as usize * 800];
    let mut count = 0;
    let took = timed(|| {
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end {
            file.write_all(&bytes).unwrap();
            file.sync_data().unwrap();
            count += 1;
        }
    });
    std::fs::remove_file(path).unwrap();
    rate(count, took)
}

#[expect(clippy::cast_precision_loss, reason = "a rate for a person")]
fn rate(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

fn append(log: &Log, sync: Sync) -> u64 {
    let args = log.redact(json!({"path": "project/notes/a.txt", "offset": 1}).as_object().unwrap());
    let record = Record {
        call: Some("01JD6Y3V8S5W9QK2T4ZC0N7H2M"),
        session: Some("s_8f2c0d9e"),
        principal: Some("token:ci-bot"),
        profile: Some("standard"),
        client: Some(Client { name: "probe", version: "1.0.0" }),
        tool: Some("read_file"),
        args: Some(&args),
        effect: Some("read"),
        level: Some(0),
        decision: Some("allow"),
        reason: Some("ok"),
        rule: Some("roots.project.allowed_paths[0]"),
        manifest_sha256: Some("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        ..Record::new(Event::CallStarted)
    };
    log.append(&record, sync).unwrap().seq
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let begun = Instant::now();
    let _ = work();
    begun.elapsed()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
