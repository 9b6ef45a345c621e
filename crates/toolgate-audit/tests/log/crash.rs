//! Crashes: cut files, killed processes, full disks, several processes at once.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use toolgate_audit::{Event, Fault, Log, Record, Settings, Sync, verify};

use crate::support::{broken, clock, crashed, files, finish, lines, open, records, scratch, start};

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
    }
}

#[test]
fn a_log_cut_in_its_second_file_is_recovered_with_the_calls_of_the_first() {
    let state = scratch();
    let settings = Settings { rotate: 4096, ..Settings::default() };
    let log = Log::open(state.path(), settings, clock()).unwrap();
    start(&log, "early", Sync::Handed);
    while files(state.path()).len() < 3 {
        finish(&log, &format!("c{}", start(&log, "c", Sync::Handed).seq));
        finish(&log, "c");
    }
    let copy = crashed(state.path());
    let last = files(copy.path()).pop().unwrap();
    let whole = fs::read(&last).unwrap();
    fs::write(&last, &whole[..whole.len() - 1]).unwrap();
    open(copy.path()).close().unwrap();
    assert_eq!(broken(copy.path()), None);
    let unknown: Vec<_> = records(&last).into_iter().filter(|record| record["status"] == "unknown").collect();
    assert_eq!(unknown.len(), 1);
    assert_eq!((&unknown[0]["call"], &unknown[0]["session"], &unknown[0]["tool"]), (&json!("early"), &json!("s1"), &json!("write_file")));
}

#[test]
fn a_crash_between_two_files_is_recovered() {
    let state = scratch();
    let settings = Settings { rotate: 2048, ..Settings::default() };
    let log = Log::open(state.path(), settings, clock()).unwrap();
    while files(state.path()).len() < 2 {
        start(&log, "c1", Sync::Handed);
    }
    let copy = crashed(state.path());
    let both = files(copy.path());
    // As if the new file had been made, and the process had died before its first record.
    fs::write(&both[1], "").unwrap();
    open(copy.path()).close().unwrap();
    assert_eq!(broken(copy.path()), None);
    assert_eq!(records(&both[1]).iter().filter(|record| record["status"] == "unknown").count(), 1);
}

#[test]
fn a_hole_that_a_loss_of_power_left_is_cut_off_with_what_follows() {
    let state = scratch();
    let log = open(state.path());
    for number in 0..20 {
        finish(&log, &format!("c{number}"));
    }
    let copy = crashed(state.path());
    let file = files(copy.path()).remove(0);
    let mut bytes = fs::read(&file).unwrap();
    let kept = lines(&bytes[..2048]);
    bytes[2048..3072].fill(0);
    fs::write(&file, &bytes).unwrap();
    open(copy.path()).close().unwrap();
    assert_eq!((broken(copy.path()), records(&file).len()), (None, kept + 2));
    let torn = fs::read(file.with_extension("torn")).unwrap();
    assert!(bytes.ends_with(&torn), "what is cut off is kept beside the file");
}

#[test]
fn a_changed_record_in_the_middle_of_a_dead_process_s_file_is_not_covered_up() {
    let state = scratch();
    let log = open(state.path());
    start(&log, "c1", Sync::Handed);
    finish(&log, "c2");
    let copy = crashed(state.path());
    let file = files(copy.path()).remove(0);
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("write_file", "read_file")).unwrap();
    open(copy.path()).close().unwrap();
    assert_eq!(broken(copy.path()), Some(2));
    let opened = &records(files(copy.path()).iter().find(|other| **other != file).unwrap())[0];
    assert_eq!(opened["broken"][0]["after_seq"], json!(1));
}

#[test]
fn what_was_under_way_when_the_log_closes_is_unknown() {
    let state = scratch();
    let log = open(state.path());
    start(&log, "c1", Sync::Handed);
    start(&log, "c2", Sync::Handed);
    finish(&log, "c1");
    log.close().unwrap();
    assert_eq!(log.close(), Ok(()));
    assert_eq!(log.append(&Record::new(Event::KillOn), Sync::Handed), Err(Fault::Closed));
    let unknown = records(&files(state.path())[0]).into_iter().filter(|record| record["status"] == "unknown");
    assert_eq!(unknown.map(|record| record["call"].clone()).collect::<Vec<_>>(), ["c2"]);
}

#[test]
fn two_logs_in_one_folder_have_their_own_chains_and_leave_each_other_alone() {
    let state = scratch();
    let (one, two) = (open(state.path()), open(state.path()));
    std::thread::scope(|scope| {
        for log in [&one, &two] {
            scope.spawn(move || {
                for number in 0..200 {
                    start(log, &format!("c{number}"), Sync::Handed);
                    finish(log, &format!("c{number}"));
                }
            });
        }
    });
    assert_eq!(broken(state.path()), None);
    let third = open(state.path());
    let recovered = files(state.path()).iter().flat_map(|file| records(file)).filter(|record| record["ev"] == "log.recovered").count();
    assert_eq!(recovered, 0, "a living process's file is not recovered");
    one.close().unwrap();
    two.close().unwrap();
    third.close().unwrap();
    assert_eq!((broken(state.path()), files(state.path()).len()), (None, 3));
}

#[test]
fn many_starts_at_once_each_get_a_file_of_their_own() {
    let state = scratch();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let log = open(state.path());
                finish(&log, &start(&log, "c1", Sync::Durable).seq.to_string());
                log.close().unwrap();
            });
        }
    });
    assert_eq!((broken(state.path()), files(state.path()).len()), (None, 16));
}

/// Not a test of its own: the process that the next test kills. It appends until it dies, telling each number once the record was handed over.
#[test]
fn a_process_that_appends_until_it_is_killed() {
    let Some(state) = std::env::var_os(VICTIM).map(PathBuf::from) else { return };
    let log = open(&state);
    let mut out = std::io::stdout();
    loop {
        let started = start(&log, "c1", Sync::Handed).seq;
        let finished = finish(&log, "c1").seq;
        if writeln!(out, "\nhanded {started}\nhanded {finished}").is_err() {
            return;
        }
    }
}

#[test]
fn a_killed_process_loses_no_record_it_handed_over() {
    let rounds = std::env::var("TOOLGATE_TEST_KILLS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(12);
    for round in 0..rounds {
        let state = scratch();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::a_process_that_appends_until_it_is_killed", "--nocapture"])
            .env(VICTIM, state.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = 0;
        let mut heard = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            if let Some(seq) = line.unwrap().strip_prefix("handed ") {
                told = seq.parse().unwrap();
                heard += 1;
            }
            if heard == 1 + round * 37 % 500 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let kept = u64::try_from(fs::read_to_string(&files(state.path())[0]).unwrap().lines().count()).unwrap();
        assert!(kept >= told, "{told} were handed over, {kept} are there");
        open(state.path()).close().unwrap();
        assert_eq!(broken(state.path()), None);
    }
}

#[test]
fn a_process_beside_ours_keeps_its_file_until_it_dies() {
    let state = scratch();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::a_process_that_appends_until_it_is_killed", "--nocapture"])
        .env(VICTIM, state.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let heard = |line: Result<String, std::io::Error>| line.unwrap().starts_with("handed ");
    assert!(lines.by_ref().any(heard));
    let theirs = files(state.path()).remove(0);
    open(state.path()).close().unwrap();
    assert!(lines.by_ref().any(heard), "it goes on beside ours");
    assert_eq!(broken(state.path()), None, "also while it is being written");
    assert!(theirs.with_extension("live").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    open(state.path()).close().unwrap();
    assert!(!theirs.with_extension("live").exists());
    assert_eq!((broken(state.path()), files(state.path()).len()), (None, 3));
}

#[test]
fn on_a_full_disk_nothing_is_recorded_until_there_is_room() {
    // A small disk of another kind may be given by its path.
    if let Some(place) = std::env::var_os("TOOLGATE_TEST_SMALL_DISK") {
        return fill_up(&PathBuf::from(place));
    }
    let place = tempfile::tempdir().unwrap();
    let options = Some("size=16m,mode=0700");
    if let Err(why) = nix::mount::mount(Some("none"), place.path(), Some("tmpfs"), nix::mount::MsFlags::empty(), options) {
        eprintln!("skipped: a small file system cannot be mounted here ({why})");
        return;
    }
    let place_again = place.path().to_owned();
    let done = std::panic::catch_unwind(move || fill_up(&place_again));
    nix::mount::umount(place.path()).unwrap();
    done.unwrap();
}

fn fill_up(place: &Path) {
    let log = open(place);
    let mut filler = fs::File::create(place.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    let mut begun = 0_u64;
    let refused = loop {
        let record = Record { call: Some("c1"), ..Record::new(Event::CallStarted) };
        match log.append(&record, Sync::Handed) {
            Ok(_) => begun += 1,
            Err(fault) => break fault,
        }
    };
    let again = log.append(&Record::new(Event::KillOn), Sync::Durable);
    assert_eq!((refused, again), (Fault::Full, Err(Fault::Full)));
    assert!(
        matches!(Log::open(place, Settings::default(), clock()), Err(fault) if fault == Fault::Full || matches!(fault, Fault::Folder { .. }))
    );
    drop(filler);
    fs::remove_file(place.join("filler")).unwrap();
    finish(&log, "c1");
    log.close().unwrap();
    let report = verify(place, None).unwrap();
    assert_eq!((report.records, report.broken(), files(place).len()), (begun + 3, None, 1));
}

const VICTIM: &str = "TOOLGATE_TEST_AUDIT_VICTIM";
