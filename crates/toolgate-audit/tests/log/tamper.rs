//! Changes after the fact: each is noticed, at the record where it begins.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sha2::{Digest as _, Sha256};
use toolgate_audit::{End, Event, Fault, Log, Record, Settings, Sync, head, verify};

use crate::support::{broken, clock, crashed, files, finish, open, scratch, start};

/// A closed log of 11 records in one file.
fn closed() -> (tempfile::TempDir, PathBuf) {
    let state = scratch();
    let log = open(state.path());
    for call in ["c1", "c2", "c3", "c4"] {
        start(&log, call, Sync::Handed);
        finish(&log, call);
    }
    log.close().unwrap();
    let file = files(state.path()).remove(0);
    (state, file)
}

type Change = fn(&mut Vec<String>);
/// A change of a file, and its name.
type Way = (&'static str, fn(&Path));

fn edit(file: &Path, change: impl FnOnce(&mut Vec<String>)) {
    let mut lines: Vec<String> = fs::read_to_string(file).unwrap().lines().map(|line| format!("{line}\n")).collect();
    change(&mut lines);
    fs::write(file, lines.concat()).unwrap();
}

/// The line with its hash made right for its bytes.
fn rehashed(line: &str) -> String {
    let signed = line.rsplit_once(",\"hash\"").unwrap().0;
    let digest: [u8; 32] = Sha256::digest(signed).into();
    let digits = digest.into_iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from_digit(digit.into(), 16).unwrap());
    format!("{signed},\"hash\":\"{}\"}}\n", digits.collect::<String>())
}

#[test]
fn a_removed_doubled_or_moved_line_is_noticed_where_it_is() {
    let changes: [(&str, Change, u64); 5] = [
        ("removed", |lines| drop(lines.remove(3)), 4),
        ("doubled", |lines| lines.insert(3, lines[3].clone()), 5),
        ("swapped", |lines| lines.swap(3, 4), 4),
        ("first removed", |lines| drop(lines.remove(0)), 1),
        ("empty line", |lines| lines.insert(3, "\n".to_owned()), 4),
    ];
    for (name, change, seq) in changes {
        let (state, file) = closed();
        edit(&file, change);
        assert_eq!(broken(state.path()), Some(seq), "{name}");
    }
}

#[test]
fn an_edited_line_is_noticed_and_with_a_new_hash_at_the_line_after_it() {
    let (state, file) = closed();
    edit(&file, |lines| lines[2] = lines[2].replace("success", "denied"));
    assert_eq!(broken(state.path()), Some(3));
    edit(&file, |lines| lines[2] = rehashed(&lines[2]));
    assert_eq!(broken(state.path()), Some(4));
}

/// How a file of the log ends.
fn end(file: &Path) -> End {
    let report = verify(file.ancestors().nth(2).unwrap(), None).unwrap();
    report.files.into_iter().find(|report| Some(report.name.as_ref()) == file.file_name()).unwrap().end
}

/// Writes the chain of a file anew from its third record on, with hashes that fit.
fn rewrite(file: &Path) {
    edit(file, |lines| {
        lines[2] = lines[2].replace("success", "denied");
        let mut prev = String::new();
        for line in &mut lines[2..] {
            if !prev.is_empty() {
                let (head, tail) = line.split_once("\"prev\":\"").unwrap();
                *line = format!("{head}\"prev\":\"{prev}{}", &tail[64..]);
            }
            *line = rehashed(line);
            line[line.len() - 67..line.len() - 3].clone_into(&mut prev);
        }
    });
}

#[test]
fn a_digest_that_was_kept_elsewhere_misses_what_was_taken_away_or_written_anew() {
    let cut = |file: &Path| {
        edit(file, |lines| lines.truncate(4));
        fs::write(file.with_extension("live"), "").unwrap();
    };
    let ways: [(Way, u64); 3] = [
        (("written anew", rewrite), 10),
        (("cut, and made to look alive", cut), 10),
        (("removed", |file| fs::remove_file(file).unwrap()), 1),
    ];
    for ((name, change), seq) in ways {
        let (state, file) = closed();
        let log = open(state.path());
        let head = head(&log, &verify(state.path(), None).unwrap()).unwrap();
        start(&log, "later", Sync::Handed);
        log.close().unwrap();
        open(state.path()).close().unwrap();
        let found = |head: &str| verify(state.path(), Some(head)).unwrap().broken().map(|(_, broken)| broken.seq);
        assert_eq!((found(&head), found(&"0".repeat(64))), (None, Some(1)), "{name}");
        change(&file);
        assert_eq!(found(&head), Some(seq), "{name}");
        // Nor does a later start cover it up.
        open(state.path()).close().unwrap();
        assert_eq!(found(&head), Some(seq), "{name}");
    }
}

#[test]
fn a_log_cut_between_records_is_broken_or_named_as_one_that_did_not_end() {
    for kept in 0..10 {
        let (state, file) = closed();
        edit(&file, |lines| lines.truncate(kept));
        let seq = u64::try_from(kept).unwrap() + 1;
        assert_eq!(broken(state.path()), Some(seq));
        open(state.path()).close().unwrap();
        assert_eq!(broken(state.path()), Some(seq), "no start covers it up");
        // Made to look like the file of a process that died, it is named as one, before and after the next start.
        fs::write(file.with_extension("live"), "").unwrap();
        assert_eq!((broken(state.path()), end(&file)), (None, End::Missing));
        open(state.path()).close().unwrap();
        assert_eq!((broken(state.path()), end(&file)), (None, End::Recovered), "kept {kept}");
    }
}

#[test]
fn a_log_of_an_earlier_version_is_verified_and_its_heads_are_passed_over() {
    let state = scratch();
    let id = "20261129T110303Z-27313262bceb4ad1.000001";
    let file = state.path().join("audit").join(format!("{id}.jsonl"));
    for folder in ["audit", "heads", "keys"] {
        fs::create_dir(state.path().join(folder)).unwrap();
    }
    fs::write(state.path().join("heads").join(format!("{id}.head")), "{}").unwrap();
    fs::write(state.path().join("keys/audit.keys"), "").unwrap();
    fs::write(&file, include_str!("earlier.jsonl")).unwrap();
    assert_eq!(broken(state.path()), None);
    // As its process holds it, and as it left it when it died.
    edit(&file, |lines| drop(lines.pop()));
    fs::write(file.with_extension("live"), "").unwrap();
    let held = fs::File::open(&file).unwrap();
    held.lock().unwrap();
    open(state.path()).close().unwrap();
    assert_eq!((broken(state.path()), end(&file)), (None, End::Live));
    held.unlock().unwrap();
    assert_eq!((broken(state.path()), end(&file)), (None, End::Missing));
    open(state.path()).close().unwrap();
    assert_eq!((broken(state.path()), end(&file)), (None, End::Recovered));
}

#[test]
fn a_log_is_whole_while_servers_start_write_and_stop() {
    let state = scratch();
    let state = state.path();
    open(state).close().unwrap();
    let mut faults = Vec::new();
    std::thread::scope(|scope| {
        let server = || {
            for _ in 0..30 {
                let log = open(state);
                start(&log, "c1", Sync::Handed);
                finish(&log, "c1");
                log.close().unwrap();
            }
        };
        let servers = [scope.spawn(server), scope.spawn(server), scope.spawn(server)];
        while !servers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            faults.extend(broken(state));
        }
    });
    faults.extend(broken(state));
    assert_eq!(faults, [0_u64; 0]);
    assert_eq!(verify(state, None).unwrap().files.len(), 91);
}

#[test]
fn two_files_that_were_exchanged_are_noticed() {
    let (state, one) = closed();
    let log = open(state.path());
    start(&log, "c1", Sync::Handed);
    log.close().unwrap();
    let two = files(state.path()).into_iter().find(|file| *file != one).unwrap();
    let (first, second) = (fs::read(&one).unwrap(), fs::read(&two).unwrap());
    fs::write(&one, second).unwrap();
    fs::write(&two, first).unwrap();
    assert_eq!(broken(state.path()), Some(1));
}

#[test]
fn a_removed_middle_file_of_a_chain_is_noticed_and_an_expired_one_is_not() {
    let state = scratch();
    let settings = |keep| Settings { rotate: 4096, keep, ..Settings::default() };
    let log = Log::open(state.path(), settings(std::time::Duration::MAX), clock()).unwrap();
    while files(state.path()).len() < 4 {
        start(&log, "c1", Sync::Handed);
    }
    log.close().unwrap();
    let copy = crashed(state.path());
    fs::remove_file(&files(copy.path())[1]).unwrap();
    assert!(broken(copy.path()).is_some());
    let before = files(state.path());
    let later = std::sync::Arc::new(|| "2099-01-01T00:00:00Z".parse().unwrap());
    let log = Log::open(state.path(), settings(std::time::Duration::from_hours(24)), later).unwrap();
    // The first durable record waits for the removal, which the same sync sets off.
    start(&log, "c2", Sync::Durable);
    log.close().unwrap();
    assert_eq!(broken(state.path()), None);
    assert!(before.iter().all(|file| !file.exists()), "what is too old is removed");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_flipped_bit_anywhere_is_noticed(place in any::<prop::sample::Index>(), bit in 0_u8..8) {
        thread_local! { static LOG: (tempfile::TempDir, PathBuf) = closed(); }
        LOG.with(|(state, file)| {
            let whole = fs::read(file).unwrap();
            let mut bent = whole.clone();
            bent[place.index(whole.len())] ^= 1 << bit;
            fs::write(file, bent).unwrap();
            let found = broken(state.path());
            fs::write(file, whole).unwrap();
            assert!(found.is_some());
            assert_eq!(broken(state.path()), None);
        });
    }
}

#[test]
fn a_log_that_is_taken_away_or_changed_while_it_is_written_takes_no_further_call() {
    let ways: [Way; 8] = [
        ("removed", |file| fs::remove_file(file).unwrap()),
        ("renamed", |file| fs::rename(file, file.with_extension("old")).unwrap()),
        ("with its folder", |file| fs::remove_dir_all(file.parent().unwrap()).unwrap()),
        ("moved with its folder", |file| fs::rename(file.parent().unwrap(), file.ancestors().nth(2).unwrap().join("moved")).unwrap()),
        ("moved with its folder, and another in its place", |file| {
            let (audit, state) = (file.parent().unwrap(), file.ancestors().nth(2).unwrap());
            fs::rename(audit, state.join("moved")).unwrap();
            fs::create_dir(audit).unwrap();
            fs::copy(state.join("moved").join(file.file_name().unwrap()), file).unwrap();
        }),
        ("replaced", |file| {
            let text = fs::read(file).unwrap();
            fs::remove_file(file).unwrap();
            fs::write(file, text).unwrap();
        }),
        ("cut", |file| fs::OpenOptions::new().write(true).open(file).unwrap().set_len(100).unwrap()),
        ("written to", |file| {
            let mut text = fs::read(file).unwrap();
            text.extend_from_slice(b"{\"v\":1}\n");
            fs::write(file, text).unwrap();
        }),
    ];
    for (name, change) in ways {
        let state = scratch();
        let log = open(state.path());
        start(&log, "c1", Sync::Durable);
        change(&files(state.path())[0]);
        let event = || Record { call: Some("c2"), ..Record::new(Event::CallStarted) };
        assert_eq!(log.append(&event(), Sync::Durable).unwrap_err(), Fault::Changed, "{name}");
        assert!(!log.healthy(), "{name}");
        assert_eq!(log.append(&event(), Sync::Handed).unwrap_err(), Fault::Changed, "{name}");
    }
}
