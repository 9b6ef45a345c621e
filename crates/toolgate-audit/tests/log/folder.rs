//! Where the log lies: private folders, no links, nobody else's.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use toolgate_audit::{Fault, Log, Settings, Sync};

use crate::support::{clock, open, scratch, start};

#[test]
fn folders_are_private_and_files_too_whatever_was_there() {
    let parent = scratch();
    let state = parent.path().join("new/state");
    fs::create_dir_all(state.join("audit")).unwrap();
    fs::set_permissions(state.join("audit"), fs::Permissions::from_mode(0o755)).unwrap();
    let log = open(&state);
    start(&log, "c1", Sync::Durable);
    log.close().unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&state.join("audit")), 0o700);
    for entry in fs::read_dir(state.join("audit")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{path:?}");
    }
}

#[test]
fn a_linked_folder_is_not_followed_and_one_others_may_write_to_is_refused() {
    let state = scratch();
    let elsewhere = scratch();
    symlink(elsewhere.path(), state.path().join("audit")).unwrap();
    assert!(matches!(Log::open(state.path(), Settings::default(), clock()), Err(Fault::Folder { .. })));
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    let open_to_all = scratch();
    fs::set_permissions(open_to_all.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(Log::open(open_to_all.path(), Settings::default(), clock()).err(), Some(Fault::Foreign { name: ".".to_owned() }));
}

#[test]
fn without_a_redactor_no_argument_is_recorded() {
    let state = scratch();
    start(&open(state.path()), "c1", Sync::Durable);
    let record = &crate::support::records(&crate::support::files(state.path())[0])[1];
    assert_eq!(record["args"], serde_json::json!({}));
}

#[test]
fn a_pipe_laid_under_a_name_does_not_hang_the_reader() {
    let state = scratch();
    open(state.path()).close().unwrap();
    nix::unistd::mkfifo(&state.path().join("audit/00000000T000000Z-0.000001.jsonl"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(crate::support::broken(state.path()).is_some());
}
