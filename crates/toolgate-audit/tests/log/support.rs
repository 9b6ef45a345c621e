//! What all these tests need: a clock, a state directory, a few records.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolgate_audit::{Client, Clock, Event, Log, Receipt, Record, Settings, Sync, verify};

/// A clock that moves on by a millisecond at each look.
pub(crate) fn clock() -> Clock {
    let ticks = std::sync::atomic::AtomicI64::new(1_795_000_000_000);
    Arc::new(move || Timestamp::from_millisecond(ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed)).unwrap())
}

/// A state directory in memory where there is one: these tests open logs by the thousand.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub(crate) fn open(state: &Path) -> Log {
    Log::open(state, Settings::default(), clock()).unwrap()
}

pub(crate) fn start(log: &Log, call: &str, sync: Sync) -> Receipt {
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

pub(crate) fn finish(log: &Log, call: &str) -> Receipt {
    let extra = json!({"status": "success"}).as_object().unwrap().clone();
    log.append(&Record { call: Some(call), extra, ..Record::new(Event::CallFinished) }, Sync::Handed).unwrap()
}

/// The files of the log, sorted by name.
pub(crate) fn files(state: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(state.join("audit")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    files
}

pub(crate) fn records(file: &Path) -> Vec<Value> {
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The state directory as a crash would leave it now: the files without the locks.
pub(crate) fn crashed(state: &Path) -> tempfile::TempDir {
    let copy = scratch();
    fs::create_dir(copy.path().join("audit")).unwrap();
    for entry in fs::read_dir(state.join("audit")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join("audit").join(entry.file_name())).unwrap();
    }
    copy
}

pub(crate) fn lines(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

pub(crate) fn broken(state: &Path) -> Option<u64> {
    verify(state, None).unwrap().broken().map(|(file, broken)| {
        eprintln!("{file}: {broken:?}");
        broken.seq
    })
}
