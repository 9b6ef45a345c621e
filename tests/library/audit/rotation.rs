//! A process that dies while it goes on in a new file: wherever that was, the next start leaves a whole log.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolgate::audit::{Log, Settings, Sync, verify};
use toolgate::model::Bytes;

use crate::audit::support::{broken, clock, crashed, files, finish, open, records, scratch, start};

/// What stands in `audit` and `heads`: the name from the state folder, and the bytes.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn read(state: &Path) -> Files {
    let entries = ["audit", "heads"].map(|folder| fs::read_dir(state.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    let kept = entries.into_iter().flatten().filter(|path| path.file_name().unwrap() != "spare");
    kept.map(|path| (path.strip_prefix(state).unwrap().to_owned(), fs::read(path).unwrap())).collect()
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

impl Names {
    fn head(file: &Path) -> PathBuf {
        Path::new("heads").join(file.with_extension("head").file_name().unwrap())
    }

    fn draft(file: &Path) -> PathBuf {
        Path::new("heads").join(format!(".{}", file.with_extension("head").file_name().unwrap().to_str().unwrap()))
    }
}

/// Every state of the files while a log goes on in a new one, in order, byte by byte; one call is under way all the time.
fn rotation() -> (tempfile::TempDir, Names, Vec<Files>) {
    let state = scratch();
    let settings = Settings { rotate: Bytes::kib(2), ..Settings::default() };
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
    let head = |states: &mut Vec<Files>, file: &Path| {
        grow(states, &Names::draft(file), &after[&Names::head(file)], 0);
        let mut next = states.last().unwrap().clone();
        let whole = next.remove(&Names::draft(file)).unwrap();
        next.insert(Names::head(file), whole);
        states.push(next);
    };
    grow(&mut states, &names.new.with_extension("live"), b"", 0);
    grow(&mut states, &names.new, b"", 0);
    head(&mut states, &names.new);
    let kept = states[0][&names.old].len();
    grow(&mut states, &names.old, &after[&names.old], kept);
    grow(&mut states, &names.new, &after[&names.new], 1);
    head(&mut states, &names.old);
    let mut last = states.last().unwrap().clone();
    last.remove(&names.old.with_extension("live")).unwrap();
    assert_eq!(last, after);
    states.push(last);
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
        let kept: Vec<_> = files(state)
            .iter()
            .filter(|file| state.join(&names.old) == **file || state.join(&names.new) == **file)
            .flat_map(|file| records(file))
            .collect();
        let unknown: Vec<_> = kept.iter().filter(|record| record["status"] == "unknown").map(|record| &record["call"]).collect();
        assert_eq!(unknown, [&json!("early")], "state {at}");
        let (then, torn) = (&files_then.get(&names.new), state.join(names.new.with_extension("torn")));
        let Some(then) = then.filter(|bytes| !bytes.is_empty() && !bytes.contains(&b'\n')).filter(|_| !state.join(&names.new).exists())
        else {
            continue;
        };
        assert_eq!(fs::read(torn).unwrap(), *then, "state {at}: what is cut off is kept");
        let recovered = kept.iter().find(|record| record["ev"] == "log.recovered").unwrap();
        assert_eq!(recovered["dropped_next"]["bytes"], json!(then.len()), "state {at}");
    }
}

#[test]
fn a_start_that_dies_while_it_mends_a_rotation_leaves_it_to_the_next() {
    let (copy, names, states) = rotation();
    let state = copy.path();
    let torn = states.iter().rev().find(|files| files.get(&names.new).is_some_and(|bytes| (1..200).contains(&bytes.len()))).unwrap();
    write(state, torn);
    open(state).close().unwrap();
    let mended = read(state);
    let ended = &mended[&names.old];
    for length in torn[&names.old].len()..=ended.len() {
        let mut half = torn.clone();
        half.insert(names.old.clone(), ended[..length].to_vec());
        write(state, &half);
        open(state).close().unwrap();
        assert_eq!(broken(state), None, "the old file has {length} bytes");
    }
    // The old file is ended, and the new one is on its way out.
    let mut half = torn.clone();
    half.insert(names.old.clone(), ended.clone());
    half.insert(Names::head(&names.old), mended[&Names::head(&names.old)].clone());
    half.remove(&names.old.with_extension("live"));
    half.insert(names.new.with_extension("torn"), torn[&names.new].clone());
    let steps: [fn(&mut Files, &Names); 4] = [
        |_, _| {},
        |files, names| files.get_mut(&names.new).unwrap().clear(),
        |files, names| drop(files.remove(&Names::head(&names.new))),
        |files, names| drop(files.remove(&names.new)),
    ];
    for (at, step) in steps.into_iter().enumerate() {
        step(&mut half, &names);
        write(state, &half);
        open(state).close().unwrap();
        assert_eq!(broken(state), None, "step {at}");
    }
}

#[test]
fn a_first_record_that_is_taken_from_the_file_after_an_ended_one_is_missed_before_and_after_a_start() {
    let (copy, names, states) = rotation();
    let state = copy.path();
    let whole = states.last().unwrap();
    let opened = whole[&names.new].iter().position(|byte| *byte == b'\n').unwrap();
    for length in 0..opened {
        let mut cut = whole.clone();
        cut.get_mut(&names.new).unwrap().truncate(length);
        write(state, &cut);
        assert!(broken(state).is_some(), "{length} bytes are left");
        open(state).close().unwrap();
        assert!(broken(state).is_some(), "{length} bytes are left, and a server was started");
    }
}

#[test]
fn a_last_record_that_is_taken_from_a_log_of_several_files_is_missed_whatever_marks_are_laid_beside_it() {
    let (copy, names, states) = rotation();
    let state = copy.path();
    write(state, states.last().unwrap());
    open(state).close().unwrap();
    let whole = read(state);
    for (file, live) in [(&names.old, false), (&names.old, true), (&names.new, false), (&names.new, true)] {
        let bytes = &whole[file];
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).collect::<Vec<_>>();
        let last = lines.last().unwrap();
        for taken in [*last, 1, bytes.len()] {
            let mut cut = whole.clone();
            cut.get_mut(file).unwrap().truncate(bytes.len() - taken);
            if live {
                cut.insert(file.with_extension("live"), Vec::new());
            }
            write(state, &cut);
            assert!(broken(state).is_some(), "{taken} bytes of {file:?}");
            open(state).close().unwrap();
            // The line end alone is no part of what the head vouches for.
            assert_eq!(broken(state).is_some(), !(live && taken == 1), "{taken} bytes of {file:?}, and a server was started");
        }
    }
}
