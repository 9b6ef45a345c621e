//! What the servers of one state folder share of their callers: the grants of sessions, the files that hold content from outside, suspensions.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use rustix::fs::{AtFlags, statat};
use sha2::{Digest as _, Sha256};

use super::files::{Folder, LONGEST};
use super::{Millis, StateDir, Tick, Ticks};

/// A suspension ends by itself.
const SUSPENSION: Millis = 600_000;
/// Grants end after an idle hour, suspensions after ten minutes: a file that was not written for so long says nothing any more.
const STALE: Duration = Duration::from_hours(26);
/// The file of what is known of files that hold content from outside.
const UNTRUSTED: &str = "files";

/// The store of one state folder.
#[derive(Debug)]
pub struct Store {
    grants: Folder,
    suspended: Folder,
    taint: Folder,
    /// The file of untrusted files as it was when it was read last.
    seen: Mutex<Option<Version>>,
    ticks: Ticks,
}

/// Changes with every change of a file: inode, size, and when content and inode were changed last.
type Version = (u64, i64, [(i64, u64); 2]);

/// The key under which a session alone is suspended.
pub fn of_session(session: &str) -> String {
    format!("session {session}")
}

impl Store {
    /// The store of a state folder.
    /// # Errors  When its folders cannot be made or opened.
    pub fn open(state: &StateDir) -> io::Result<Self> {
        Self::with_ticks(state, Ticks::of_this_machine())
    }

    /// The same by another clock.
    /// # Errors  As [`open`](Self::open).
    pub fn with_ticks(state: &StateDir, ticks: Ticks) -> io::Result<Self> {
        let (grants, suspended, taint) = (state.subfolder("grants")?, state.subfolder("suspended")?, state.subfolder("taint")?);
        Ok(Self { grants, suspended, taint, seen: Mutex::default(), ticks })
    }

    /// Removes files that say nothing any more.
    pub fn sweep(&self) {
        sweep(&self.grants);
        sweep(&self.suspended);
    }

    /// Changes the grants of a session, a text of at most 1 MiB; `None` leaves it as it is. What cannot be read is empty.
    /// # Errors  When it can neither be read nor kept.
    pub fn grants<R>(&self, session: &str, change: impl FnOnce(&[u8], Tick) -> (R, Option<Vec<u8>>)) -> io::Result<R> {
        let now = self.ticks.now();
        self::change(&self.grants, &name(session), |text| change(text, now))
    }

    /// Removes the grants of a session.
    pub fn end_session(&self, session: &str) {
        if let Err(fault) = self.grants.remove(&name(session)) {
            tracing::warn!(%fault, "the grants of a session could not be removed");
        }
    }

    /// Changes what is known of files that hold content from outside, a text of at most 1 MiB; `None` leaves it as it is.
    /// # Errors  When it can neither be read nor kept.
    pub fn untrusted_files<R>(&self, change: impl FnOnce(&[u8]) -> (R, Option<Vec<u8>>)) -> io::Result<R> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Another process may write right behind this one.
        *seen = None;
        self::change(&self.taint, UNTRUSTED, change)
    }

    /// Reads what is known of files that hold content from outside, unless it is what was read here last. Costs one look at a file.
    /// # Errors  When it cannot be read.
    pub fn read_untrusted_files(&self, read: impl FnOnce(&[u8])) -> io::Result<()> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the text: what is written in between is read the next time.
        let version = Some(self.version());
        if version != *seen {
            read(checked(&self.taint.read(UNTRUSTED)?.unwrap_or_default()).unwrap_or_default());
            *seen = version;
        }
        Ok(())
    }

    /// All zero: there is no such file.
    fn version(&self) -> Version {
        let seen = statat(&self.taint.fd, UNTRUSTED, AtFlags::SYMLINK_NOFOLLOW).ok();
        let seen = seen.map(|seen| (seen.st_ino, seen.st_size, [(seen.st_mtime, seen.st_mtime_nsec), (seen.st_ctime, seen.st_ctime_nsec)]));
        seen.unwrap_or_default()
    }

    /// Suspends a principal, or a session by its key, for ten minutes.
    /// # Errors  When it cannot be kept.
    pub fn suspend(&self, key: &str) -> io::Result<()> {
        self.suspended.replace(&name(key), &serde_json::to_vec(&self.ticks.now())?)
    }

    /// Whether a principal, or a session by its key, is suspended.
    /// # Errors  When it cannot be read.
    pub fn is_suspended(&self, key: &str) -> io::Result<bool> {
        let Some(since) = self.suspended.read(&name(key))? else { return Ok(false) };
        // One without a time holds until it is lifted or swept.
        let since = serde_json::from_slice(&since).ok();
        Ok(since.is_none_or(|since: Tick| !self.ticks.now().is_past(since, SUSPENSION)))
    }

    /// Ends a suspension. Whether there was one.
    /// # Errors  When its file cannot be read or removed.
    pub fn resume(&self, key: &str) -> io::Result<bool> {
        let was_suspended = self.is_suspended(key)?;
        self.suspended.remove(&name(key))?;
        Ok(was_suspended)
    }
}

/// A key may hold any character; its digest is a file name.
fn name(key: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(key))
}

/// Changes the text of a file, one process at a time; `None` leaves it as it is. One that is missing or broken is empty.
fn change<R>(folder: &Folder, name: &str, change: impl FnOnce(&[u8]) -> (R, Option<Vec<u8>>)) -> io::Result<R> {
    let _alone = folder.lock()?;
    let text = folder.read(name)?.unwrap_or_default();
    let (done, new) = change(checked(&text).unwrap_or_default());
    match new.map(|new| with_checksum(&new)).filter(|new| new.len() as u64 <= LONGEST) {
        Some(new) => folder.replace(name, &new).map(|()| done),
        None => Ok(done),
    }
}

/// A text behind so many hexadecimal digits of its SHA-256: it is not on disk when it is written, and a loss of power may leave anything.
pub(super) fn with_checksum(text: &[u8]) -> Vec<u8> {
    let digest = HEXLOWER.encode(&Sha256::digest(text));
    [digest.as_bytes().get(..CHECKSUM).unwrap_or_default(), text].concat()
}

/// The text behind its checksum.
pub(super) fn checked(whole: &[u8]) -> Option<&[u8]> {
    let (_, text) = whole.split_at_checked(CHECKSUM)?;
    (with_checksum(text) == whole).then_some(text)
}

const CHECKSUM: usize = 16;

/// Removes files that were not written for a day. A wall clock that was set forward makes files look old, hence the long time.
fn sweep(folder: &Folder) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    for name in folder.names().unwrap_or_default() {
        let written = statat(&folder.fd, &*name, AtFlags::SYMLINK_NOFOLLOW).ok().and_then(|seen| u64::try_from(seen.st_mtime).ok());
        if written.is_some_and(|written| now.saturating_sub(written) > STALE.as_secs()) {
            let _ = folder.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_suspension_holds_for_all_servers_of_the_folder_until_it_is_lifted_or_ten_minutes_passed() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let clock = Arc::new(AtomicU64::new(0));
        let open = || {
            let clock = Arc::clone(&clock);
            let read = move || Tick { wall: 1_000_000, up: clock.load(Ordering::Relaxed), boot: 1 };
            Store::with_ticks(&state, Ticks::new(read)).unwrap()
        };
        let (one, two) = (open(), open());
        assert!(!two.is_suspended("p").unwrap() && !two.resume("p").unwrap());
        one.suspend("p").unwrap();
        assert!(one.is_suspended("p").unwrap() && two.is_suspended("p").unwrap() && !two.is_suspended("q").unwrap());
        assert!(two.resume("p").unwrap() && !one.is_suspended("p").unwrap());
        one.suspend("p").unwrap();
        clock.store(SUSPENSION - 1, Ordering::Relaxed);
        assert!(two.is_suspended("p").unwrap());
        clock.store(SUSPENSION, Ordering::Relaxed);
        assert!(!two.is_suspended("p").unwrap());
        std::fs::write(folder.path().join("suspended").join(name("p")), "").unwrap();
        assert!(two.is_suspended("p").unwrap(), "a file that was cut off");
    }

    #[test]
    fn a_text_is_read_by_every_process_and_one_that_is_torn_or_gone_reads_as_empty() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let (one, two) = (Store::open(&state).unwrap(), Store::open(&state).unwrap());
        let text = |store: &Store| store.grants("s", |text, _| (text.to_vec(), None)).unwrap();
        let write = |store: &Store, text: &[u8]| store.grants("s", |_, _| ((), Some(text.to_vec()))).unwrap();
        assert_eq!(text(&one), b"");
        write(&one, b"a longer text");
        write(&two, b"a text");
        assert_eq!(text(&one), b"a text");
        let file = folder.path().join("grants").join(name("s"));
        let whole = std::fs::read(&file).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&file, &whole[..cut]).unwrap();
            assert_eq!(text(&one), b"", "cut at {cut}");
        }
        std::fs::remove_file(&file).unwrap();
        assert_eq!(text(&one), b"");
        write(&one, b"another");
        assert_eq!(text(&two), b"another");
    }

    #[test]
    fn what_another_process_marks_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let (one, two) = (Store::open(&state).unwrap(), Store::open(&state).unwrap());
        let read = || {
            let mut found = None;
            one.read_untrusted_files(|text| found = Some(text.to_vec())).unwrap();
            found
        };
        assert_eq!((read(), read()), (Some(Vec::new()), None));
        two.untrusted_files(|_| ((), Some(b"another".to_vec()))).unwrap();
        assert_eq!((read(), read()), (Some(b"another".to_vec()), None));
        one.untrusted_files(|_| ((), Some(b"own".to_vec()))).unwrap();
        assert_eq!((read(), read()), (Some(b"own".to_vec()), None));
    }

    #[test]
    fn files_of_yesterday_are_swept_and_those_of_today_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StateDir::open(folder.path()).unwrap()).unwrap();
        store.suspend("today").unwrap();
        store.suspend("yesterday").unwrap();
        let file = std::fs::File::options().write(true).open(folder.path().join("suspended").join(name("yesterday"))).unwrap();
        file.set_modified(SystemTime::now() - STALE - Duration::from_mins(1)).unwrap();
        store.sweep();
        assert!(store.is_suspended("today").unwrap() && !store.is_suspended("yesterday").unwrap());
    }
}
