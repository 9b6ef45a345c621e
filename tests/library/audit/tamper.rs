//! Changes after the fact: each is noticed, at the record where it begins.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sha2::{Digest as _, Sha256};
use toolgate::audit::{Event, Fault, Log, Record, Settings, Sync, verify};

use crate::audit::support::{broken, clock, crashed, files, finish, open, scratch, start};

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

#[test]
fn a_whole_chain_written_anew_contradicts_its_signed_head() {
    let (state, file) = closed();
    edit(&file, |lines| {
        lines[2] = lines[2].replace("success", "denied");
        let mut prev = String::new();
        for line in &mut lines[2..] {
            if !prev.is_empty() {
                let (head, tail) = line.split_once("\"prev\":\"").unwrap();
                *line = format!("{head}\"prev\":\"{prev}{}", &tail[64..]);
            }
            *line = rehashed(line);
            prev = line[line.len() - 67..line.len() - 3].to_owned();
        }
    });
    let why = verify(state.path(), None).unwrap().broken().map(|(_, broken)| broken.why.clone());
    assert_eq!(why.as_deref(), Some("it is not the record that a signed head or another chain names"));
}

#[test]
fn a_log_cut_between_records_ends_before_its_signed_head() {
    for kept in 0..10 {
        let (state, file) = closed();
        edit(&file, |lines| lines.truncate(kept));
        let seq = u64::try_from(kept).unwrap() + 1;
        assert_eq!(broken(state.path()), Some(seq));
        // Also where it is made to look like the file of a process that died; and the next start does not cover it up.
        fs::write(file.with_extension("live"), "").unwrap();
        assert_eq!(broken(state.path()), Some(seq));
        open(state.path()).close().unwrap();
        assert_eq!(broken(state.path()), Some(seq), "kept {kept}");
    }
}

#[test]
fn a_chain_that_has_ended_without_a_head_for_its_last_record_is_broken() {
    let (state, file) = closed();
    let head = fs::read_dir(state.path().join("heads")).unwrap().next().unwrap().unwrap().path();
    let forged = |lines: &mut Vec<String>| {
        let last = lines.len() - 1;
        lines[last] = rehashed(&lines[last].replace("\"ts\":\"20", "\"ts\":\"21"));
    };
    // Removed, emptied as by a loss of power, and removed to forge the chain under it.
    fs::remove_file(&head).unwrap();
    assert_eq!(broken(state.path()), Some(1));
    let why = verify(state.path(), None).unwrap().broken().map(|(_, broken)| broken.why.clone()).unwrap();
    assert!(why.contains("taken away, or an older version") && why.ends_with("cannot be told apart"), "{why}");
    fs::write(&head, "").unwrap();
    assert_eq!(broken(state.path()), Some(1));
    fs::remove_file(&head).unwrap();
    edit(&file, forged);
    assert_eq!(broken(state.path()), Some(1));
    // Nor is it a chain that is still written, for nobody holds it.
    fs::write(file.with_extension("live"), "").unwrap();
    assert_eq!(broken(state.path()), Some(1));
    fs::remove_file(file.with_extension("live")).unwrap();
    fs::remove_dir_all(state.path().join("heads")).unwrap();
    assert_eq!(broken(state.path()), Some(1));
}

/// Removes the last record of a file.
fn unclosed(file: &Path) {
    edit(file, |lines| drop(lines.pop()));
    fs::write(file.with_extension("live"), "").unwrap();
}

#[test]
fn an_ended_chain_that_is_made_to_look_alive_is_broken_and_no_later_start_signs_it() {
    let heads = |state: &Path| fs::read_dir(state.join("heads")).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let ways: [Way; 4] = [
        ("removed", |head| fs::remove_file(head).unwrap()),
        ("emptied", |head| fs::write(head, "").unwrap()),
        ("no head", |head| fs::write(head, "{}").unwrap()),
        ("of another key", |head| {
            let (other, _) = closed();
            let foreign = fs::read_dir(other.path().join("heads")).unwrap().next().unwrap().unwrap().path();
            let (ours, theirs) = (head.file_stem().unwrap().to_str().unwrap(), foreign.file_stem().unwrap().to_str().unwrap());
            fs::write(head, fs::read_to_string(&foreign).unwrap().replace(theirs, ours)).unwrap();
        }),
    ];
    for (name, change) in ways {
        let (state, file) = closed();
        unclosed(&file);
        change(&heads(state.path())[0]);
        assert!(broken(state.path()).is_some(), "{name}");
        open(state.path()).close().unwrap();
        assert!(broken(state.path()).is_some(), "{name}: the next start has signed it");
    }
}

#[test]
fn a_log_whose_files_are_gone_is_broken_as_long_as_anything_tells_of_it() {
    let empty = |folder: PathBuf| fs::read_dir(folder).unwrap().for_each(|entry| fs::remove_file(entry.unwrap().path()).unwrap());
    let (state, _) = closed();
    let state = state.path();
    let keys = fs::read(state.join("keys/audit.keys")).unwrap();
    fs::remove_dir_all(state.join("audit")).unwrap();
    assert_eq!(broken(state), Some(1), "the heads tell of it");
    fs::remove_dir_all(state.join("keys")).unwrap();
    assert_eq!(broken(state), Some(1), "the heads tell of it, without keys too");
    fs::create_dir(state.join("keys")).unwrap();
    fs::write(state.join("keys/audit.keys"), keys).unwrap();
    fs::write(state.join("keys/audit.begun"), "").unwrap();
    empty(state.join("heads"));
    assert_eq!(broken(state), Some(1), "the keys tell of it");
    fs::create_dir(state.join("audit")).unwrap();
    assert_eq!(broken(state), Some(1), "the keys tell of it, whatever folders are laid beside them");
    fs::remove_dir_all(state.join("heads")).unwrap();
    assert_eq!(broken(state), Some(1));
    // A start does not hide it, nor do those after it.
    for _ in 0..2 {
        open(state).close().unwrap();
        assert_eq!(broken(state), Some(1), "the next log tells of it");
    }
    fs::remove_dir_all(state.join("audit")).unwrap();
    fs::remove_dir_all(state.join("heads")).unwrap();
    open(state).close().unwrap();
    assert_eq!(broken(state), Some(1), "a second removal is told as well");
    // Beside it, one that died before its first record was on disk has lost nothing, and what is put away whole begins anew.
    for folder in ["audit", "heads", "keys"] {
        fs::remove_dir_all(state.join(folder)).unwrap();
    }
    open(state).close().unwrap();
    assert_eq!(broken(state), None);
    let (young, _) = closed();
    let young = young.path();
    empty(young.join("audit"));
    empty(young.join("heads"));
    fs::remove_file(young.join("keys/audit.begun")).unwrap();
    fs::write(young.join("audit/20260101T000000Z-00000000.000001.jsonl"), "").unwrap();
    fs::write(young.join("audit/20260101T000000Z-00000000.000001.live"), "").unwrap();
    open(young).close().unwrap();
    assert_eq!(broken(young), None);
    // Where nothing tells of a log, there was none.
    let bare = scratch();
    assert_eq!(verify(bare.path(), None), Err(Fault::Absent));
    fs::create_dir(bare.path().join("counts")).unwrap();
    assert_eq!(verify(bare.path(), None), Err(Fault::Absent));
}

#[test]
fn a_log_without_the_keys_of_its_heads_is_whole_for_none() {
    for text in [None, Some(""), Some("sign 00\nhash 00\n"), Some("\u{0}\u{1}")] {
        let (state, _) = closed();
        let public = fs::read_dir(state.path().join("heads")).unwrap().next().unwrap().unwrap().path();
        let head: serde_json::Value = serde_json::from_str(&fs::read_to_string(public).unwrap()).unwrap();
        let keys = state.path().join("keys/audit.keys");
        match text {
            None => fs::remove_file(&keys).unwrap(),
            Some(text) => fs::write(&keys, text).unwrap(),
        }
        assert_eq!(broken(state.path()), Some(1), "{text:?}");
        // A key that is named takes their place.
        let named = verify(state.path(), head["key"].as_str()).unwrap();
        assert_eq!(named.broken(), None, "{text:?}");
        if text.is_some() {
            assert_eq!(Log::open(state.path(), Settings::default(), clock()).err(), Some(Fault::Key { name: "audit.keys" }));
        }
    }
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
fn a_removed_file_is_missed_by_the_chain_after_it() {
    let (state, one) = closed();
    open(state.path()).close().unwrap();
    assert_eq!(broken(state.path()), None);
    fs::remove_file(&one).unwrap();
    fs::remove_file(state.path().join("heads").join(one.with_extension("head").file_name().unwrap())).unwrap();
    let report = verify(state.path(), None).unwrap();
    let name = one.file_name().unwrap().to_str().unwrap();
    assert_eq!(report.broken().map(|(file, broken)| (file, broken.seq)), Some((name, 1)));
}

#[test]
fn no_chain_of_servers_that_start_in_one_second_can_be_taken_away_unseen() {
    for starts in [5, 20] {
        // One second for all of them: their names tell no order.
        let ticks = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(0));
        let clock: toolgate::audit::Clock = std::sync::Arc::new(move || {
            let micros = ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            jiff::Timestamp::from_microsecond(1_795_000_000_000_000 + micros).unwrap()
        });
        let state = scratch();
        let mut order: Vec<PathBuf> = Vec::new();
        for call in 0..starts {
            let log = Log::open(state.path(), Settings::default(), std::sync::Arc::clone(&clock)).unwrap();
            start(&log, &format!("c{call}"), Sync::Handed);
            log.close().unwrap();
            let new: Vec<PathBuf> = files(state.path()).into_iter().filter(|file| !order.contains(file)).collect();
            order.extend(new);
        }
        assert_eq!((order.len(), broken(state.path())), (starts, None));
        // The last one is named by none of the others.
        for file in &order[..starts - 1] {
            let copy = crashed(state.path());
            let name = file.file_name().unwrap();
            fs::remove_file(copy.path().join("audit").join(name)).unwrap();
            fs::remove_file(copy.path().join("heads").join(name).with_extension("head")).unwrap();
            assert!(broken(copy.path()).is_some(), "{}", file.display());
        }
    }
}

#[test]
fn a_forged_link_does_not_keep_the_head_from_being_checked() {
    let (state, file) = closed();
    edit(&file, |lines| lines.truncate(5));
    fs::write(file.with_extension("live"), "").unwrap();
    let id = file.file_stem().unwrap().to_str().unwrap();
    let forged = format!("{{\"v\":1,\"links\":[{{\"file\":\"{id}\",\"seq\":0,\"hash\":\"\"}}]}}\n");
    fs::write(file.with_file_name("0.jsonl"), forged).unwrap();
    let report = verify(state.path(), None).unwrap();
    assert!(report.files.iter().all(|file| file.broken.is_some()), "{report:?}");
}

#[test]
fn a_head_of_another_key_or_another_file_is_refused() {
    let (state, _) = closed();
    let (other, _) = closed();
    let head = |state: &Path| fs::read_dir(state.join("heads")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(head(state.path())).unwrap();
    fs::write(head(state.path()), fs::read(head(other.path())).unwrap()).unwrap();
    assert!(broken(state.path()).is_some());
    fs::write(head(state.path()), text.replace("\"seq\":10", "\"seq\":9")).unwrap();
    assert!(broken(state.path()).is_some());
    fs::write(head(state.path()), &text).unwrap();
    assert_eq!(broken(state.path()), None);
    assert!(verify(state.path(), Some(&"0".repeat(64))).unwrap().broken().is_some());
}

#[test]
fn a_removed_middle_file_of_a_chain_is_noticed_and_an_expired_one_is_not() {
    let state = scratch();
    let settings = |keep| Settings { rotate: toolgate::model::Bytes::kib(4), keep, ..Settings::default() };
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
fn a_file_that_was_removed_is_missed_by_its_signed_head() {
    let (state, file) = closed();
    fs::remove_file(file).unwrap();
    assert_eq!(broken(state.path()), Some(1));
}

#[test]
fn a_log_that_is_taken_away_or_changed_while_it_is_written_takes_no_further_call() {
    let ways: [Way; 9] = [
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
        ("its heads moved", |file| fs::rename(file.ancestors().nth(2).unwrap().join("heads"), file.with_extension("moved")).unwrap()),
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
