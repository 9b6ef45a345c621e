//! The log from outside: what it writes, what it survives, what it notices.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolgate::audit::{Client, Clock, Event, Log, Receipt, Record, Settings, Sync, verify};

/// A clock that moves on by a millisecond at each look.
fn clock() -> Clock {
    let ticks = std::sync::atomic::AtomicI64::new(1_795_000_000_000);
    Arc::new(move || Timestamp::from_millisecond(ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed)).unwrap())
}

/// A state directory in memory where there is one: these tests open logs by the thousand.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn open(state: &Path) -> Log {
    Log::open(state, Settings::default(), clock()).unwrap()
}

fn start(log: &Log, call: &str, sync: Sync) -> Receipt {
    let args = log.redact(json!({"path": "project/a.txt", "content": "text", "token": "s3cret"}).as_object().unwrap());
    let record = Record {
        call: Some(call),
        session: Some("s1"),
        principal: Some("stdio"),
        profile: Some("standard"),
        client: Some(Client { name: "probe", version: "1" }),
        tool: Some("write_file"),
        args: Some(&args),
        effect: Some("create"),
        level: Some(1),
        decision: Some("allow"),
        reason: Some("ok"),
        ..Record::new(Event::CallStarted)
    };
    log.append(&record, sync).unwrap()
}

fn finish(log: &Log, call: &str) -> Receipt {
    let extra = json!({"status": "success"}).as_object().unwrap().clone();
    log.append(&Record { call: Some(call), extra, ..Record::new(Event::CallFinished) }, Sync::Handed).unwrap()
}

/// The files of the log, sorted by name.
fn files(state: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(state.join("audit")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    files
}

fn records(file: &Path) -> Vec<Value> {
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The state directory as a crash would leave it now: the files without the locks.
fn crashed(state: &Path) -> tempfile::TempDir {
    let copy = scratch();
    for folder in ["audit", "heads", "keys"] {
        fs::create_dir(copy.path().join(folder)).unwrap();
        for entry in fs::read_dir(state.join(folder)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), copy.path().join(folder).join(entry.file_name())).unwrap();
        }
    }
    copy
}

fn lines(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

fn broken(state: &Path) -> Option<u64> {
    verify(state, None).unwrap().broken().map(|(_, broken)| broken.seq)
}

#[test]
fn a_closed_log_is_whole_and_every_record_follows_from_the_one_before() {
    let state = scratch();
    let log = open(state.path());
    start(&log, "c1", Sync::Durable);
    finish(&log, "c1");
    log.close().unwrap();
    let report = verify(state.path(), None).unwrap();
    assert_eq!((report.records, report.broken()), (4, None));
    let events: Vec<String> = records(&files(state.path())[0]).iter().map(|record| record["ev"].as_str().unwrap().to_owned()).collect();
    assert_eq!(events, ["log.opened", "call.started", "call.finished", "log.closed"]);
}

#[test]
fn a_log_cut_at_any_byte_is_recovered_and_loses_no_whole_record() {
    let state = scratch();
    let log = open(state.path());
    start(&log, "c1", Sync::Handed);
    finish(&log, "c1");
    start(&log, "c2", Sync::Handed);
    let copy = crashed(state.path());
    let file = files(copy.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    let marker = file.with_extension("live");
    for cut in 0..=whole.len() {
        fs::write(&file, &whole[..cut]).unwrap();
        fs::write(&marker, "").unwrap();
        let kept = lines(&whole[..cut]) + usize::from(whole.get(cut) == Some(&b'\n'));
        let at_boundary = cut == 0 || whole[cut - 1] == b'\n';
        assert_eq!(broken(copy.path()).is_none(), at_boundary, "cut at {cut}");
        open(copy.path()).close().unwrap();
        assert_eq!(broken(copy.path()), None, "cut at {cut}");
        if cut > 1 && kept > 0 {
            let records = records(&file);
            let unknown = records.iter().filter(|record| record["status"] == "unknown").count();
            assert_eq!(records.len(), kept + 2 + unknown, "cut at {cut}");
            assert_eq!(unknown, usize::from(kept == 2 || kept == 4), "cut at {cut}");
        }
        for other in files(copy.path()).into_iter().filter(|other| *other != file) {
            fs::remove_file(other).unwrap();
        }
        fs::remove_dir_all(copy.path().join("heads")).unwrap();
    }
}
