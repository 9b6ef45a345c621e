//! A process that dies while it goes on in a new file: wherever that was, the next start leaves a whole log.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolgate_audit::{Log, Settings, Sync, verify};

use crate::support::{broken, clock, crashed, files, finish, open, records, scratch, start};

/// What stands in `audit`: the name from the state folder, and the bytes.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn read(state: &Path) -> Files {
    let entries = fs::read_dir(state.join("audit")).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.strip_prefix(state).unwrap().to_owned(), fs::read(path).unwrap())).collect()
}

fn write(state: &Path, files: &Files) {
    for name in read(state).keys() {
        fs::remove_file(state.join(name)).unwrap();
    }
    for (name, bytes) in files {
        fs::write(state.join(name), bytes).unwrap();
    }
}

/// The two files of a rotation.
struct Names {
    old: PathBuf,
    new: PathBuf,
}

/// Every state of the files while a log goes on in a new one, in order, byte by byte; one call is under way all the time.
fn rotation() -> (tempfile::TempDir, Names, Vec<Files>) {
    let state = scratch();
    let settings = Settings { rotate: 2048, ..Settings::default() };
    let log = Log::open(state.path(), settings, clock()).unwrap();
    start(&log, "early", Sync::Durable);
    let mut before = read(state.path());
    while files(state.path()).len() < 2 {
        before = read(state.path());
        finish(&log, "c1");
    }
    let after = read(state.path());
    let copy = crashed(state.path());
    drop(log);
    let mut logs = after.keys().filter(|name| name.extension().is_some_and(|end| end == "jsonl")).cloned();
    let names = Names { old: logs.next().unwrap(), new: logs.next().unwrap() };
    let mut states = vec![before];
    let grow = |states: &mut Vec<Files>, name: &Path, bytes: &[u8], from: usize| {
        for length in from..=bytes.len() {
            let mut next = states.last().unwrap().clone();
            next.insert(name.to_owned(), bytes[..length].to_vec());
            states.push(next);
        }
    };
    let kept = states[0][&names.old].len();
    grow(&mut states, &names.old, &after[&names.old], kept);
    grow(&mut states, &names.new, &after[&names.new], 0);
    assert_eq!(*states.last().unwrap(), after);
    (copy, names, states)
}

#[test]
fn a_process_that_dies_at_any_byte_of_a_rotation_leaves_a_log_that_the_next_start_makes_whole() {
    let (copy, names, states) = rotation();
    let state = copy.path();
    for (at, files_then) in states.iter().enumerate() {
        write(state, files_then);
        if let Some((_, broken)) = verify(state, None).unwrap().broken() {
            assert!(broken.why.ends_with("the next start puts it in order"), "state {at}: {broken:?}");
        }
        open(state).close().unwrap();
        assert_eq!(broken(state), None, "state {at}");
        let kept: Vec<_> = [&names.old, &names.new]
            .into_iter()
            .filter(|name| state.join(name).exists())
            .flat_map(|name| records(&state.join(name)))
            .collect();
        let unknown: Vec<_> = kept.iter().filter(|record| record["status"] == "unknown").map(|record| &record["call"]).collect();
        assert_eq!(unknown, [&json!("early")], "state {at}");
        let recovered = kept.iter().find(|record| record["ev"] == "log.recovered").unwrap();
        if recovered["dropped_bytes"] != json!(0) {
            let cut = if files_then.contains_key(&names.new) { &names.new } else { &names.old };
            let torn = fs::read(state.join(cut.with_extension("torn"))).unwrap();
            assert!(
                files_then[cut].ends_with(&torn) && json!(torn.len()) == recovered["dropped_bytes"],
                "state {at}: what is cut off is kept"
            );
        }
    }
}

#[test]
fn a_start_that_dies_while_it_mends_a_rotation_leaves_it_to_the_next() {
    let (copy, names, states) = rotation();
    let state = copy.path();
    let torn = states.iter().rev().find(|files| files.get(&names.new).is_some_and(|bytes| (1..150).contains(&bytes.len()))).unwrap();
    write(state, torn);
    open(state).close().unwrap();
    let mended = read(state);
    for length in 0..=mended[&names.new].len() {
        let mut half = torn.clone();
        half.insert(names.new.clone(), mended[&names.new][..length].to_vec());
        half.insert(names.new.with_extension("torn"), torn[&names.new].clone());
        write(state, &half);
        open(state).close().unwrap();
        assert_eq!(broken(state), None, "the new file has {length} bytes");
    }
}

#[test]
fn a_record_that_is_taken_from_an_ended_log_of_several_files_is_missed_before_and_after_a_start() {
    let (copy, names, states) = rotation();
    let state = copy.path();
    write(state, states.last().unwrap());
    open(state).close().unwrap();
    let whole = read(state);
    for (file, live) in [(&names.old, false), (&names.old, true), (&names.new, false)] {
        let bytes = &whole[file];
        let last = bytes.split_inclusive(|byte| *byte == b'\n').next_back().unwrap().len();
        for taken in [last, 1, bytes.len()] {
            let mut cut = whole.clone();
            cut.get_mut(file).unwrap().truncate(bytes.len() - taken);
            if live {
                cut.insert(names.old.with_extension("live"), Vec::new());
            }
            write(state, &cut);
            assert!(broken(state).is_some(), "{taken} bytes of {file:?}");
            open(state).close().unwrap();
            assert!(broken(state).is_some(), "{taken} bytes of {file:?}, and a server was started");
        }
    }
}
