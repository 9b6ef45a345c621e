//! What the servers of one state folder share of their callers: the grants of sessions, the files that hold content from outside, suspensions.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use rustix::fs::{self, AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::shared_file::SharedFile;
use super::{Millis, StateDir, Tick, Ticks};

/// A suspension ends by itself.
const SUSPENSION: Millis = 600_000;
/// Grants end after an idle hour, suspensions after ten minutes: a file that was not written for so long says nothing any more.
const STALE: Duration = Duration::from_hours(26);
/// Files of grants that are kept open; beyond that all are closed, and opened again as they are needed.
const MOST_OPEN: usize = 256;

/// The store of one state folder.
#[derive(Debug)]
pub struct Store {
    grants: OwnedFd,
    suspended: OwnedFd,
    untrusted: SharedFile,
    ticks: Ticks,
    open: Mutex<HashMap<String, Arc<SharedFile>>>,
}

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
        let untrusted = SharedFile::open(&state.subfolder("taint")?, "files")?;
        let (grants, suspended) = (state.subfolder("grants")?, state.subfolder("suspended")?);
        Ok(Self { grants, suspended, untrusted, ticks, open: Mutex::default() })
    }

    /// Removes files that say nothing any more.
    pub fn sweep(&self) {
        sweep(&self.grants);
        sweep(&self.suspended);
    }

    /// Changes the grants of a session, a text of at most 1 MiB; `None` leaves it as it is. What cannot be read is empty.
    /// # Errors  When it can neither be read nor kept.
    pub fn grants<R>(&self, session: &str, change: impl FnOnce(&[u8], Tick) -> (R, Option<Vec<u8>>)) -> io::Result<R> {
        let file = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.len() >= MOST_OPEN {
                open.clear();
            }
            if !open.contains_key(session) {
                open.insert(session.to_owned(), Arc::new(SharedFile::open(&self.grants, &name(session))?));
            }
            open.get(session).map(Arc::clone).ok_or(io::ErrorKind::NotFound)?
        };
        let now = self.ticks.now();
        file.change(|text| change(text, now))
    }

    /// Removes the grants of a session.
    pub fn end_session(&self, session: &str) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
        if let Err(fault) = remove(&self.grants, &name(session)) {
            tracing::warn!(%fault, "the grants of a session could not be removed");
        }
    }

    /// Changes what is known of files that hold content from outside, a text of at most 1 MiB; `None` leaves it as it is.
    /// # Errors  When it can neither be read nor kept.
    pub fn untrusted_files<R>(&self, change: impl FnOnce(&[u8]) -> (R, Option<Vec<u8>>)) -> io::Result<R> {
        self.untrusted.change(change)
    }

    /// Reads what is known of files that hold content from outside, unless it is what was read or changed here last. Costs one look at a file.
    /// # Errors  When it cannot be read.
    pub fn read_untrusted_files(&self, read: impl FnOnce(&[u8])) -> io::Result<()> {
        self.untrusted.read_if_changed(read)
    }

    /// Suspends a principal, or a session by its key, for ten minutes.
    /// # Errors  When it cannot be kept.
    pub fn suspend(&self, key: &str) -> io::Result<()> {
        let since = serde_json::to_vec(&self.ticks.now())?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(&self.suspended, name(key), flags, Mode::RUSR | Mode::WUSR)?;
        rustix::io::write(&file, &since)?;
        Ok(())
    }

    /// Whether a principal, or a session by its key, is suspended.
    /// # Errors  When it cannot be read.
    pub fn is_suspended(&self, key: &str) -> io::Result<bool> {
        let file = match fs::openat(&self.suspended, name(key), OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(false),
            Err(fault) => return Err(fault.into()),
        };
        let mut since = [0; 256];
        let read = rustix::io::read(&file, &mut since)?;
        // A file without a time was being written when its process died. It holds until it is lifted or swept.
        let since = serde_json::from_slice(since.get(..read).unwrap_or_default()).ok();
        Ok(since.is_none_or(|since: Tick| !self.ticks.now().is_past(since, SUSPENSION)))
    }

    /// Ends a suspension. Whether there was one.
    /// # Errors  When its file cannot be read or removed.
    pub fn resume(&self, key: &str) -> io::Result<bool> {
        let was_suspended = self.is_suspended(key)?;
        remove(&self.suspended, &name(key))?;
        Ok(was_suspended)
    }
}

/// A key may hold any character; its digest is a file name.
fn name(key: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(key))
}

fn remove(folder: &OwnedFd, name: &str) -> io::Result<()> {
    match fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(fault) => Err(fault.into()),
    }
}

/// Removes files that were not written for a day. A wall clock that was set forward makes files look old, hence the long time.
fn sweep(folder: &OwnedFd) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    for entry in Dir::read_from(folder).into_iter().flatten().flatten() {
        let written =
            fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok().and_then(|seen| u64::try_from(seen.st_mtime).ok());
        if written.is_some_and(|written| now.saturating_sub(written) > STALE.as_secs()) {
            // `.` and `..` are folders and stay.
            let _ = fs::unlinkat(folder, entry.file_name(), AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
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
