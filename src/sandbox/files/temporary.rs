//! Temporary files and folders: under names that no caller is shown, beside the place they are to take. A server that is killed leaves them; the
//! next one that changes something in the folder removes them.

use std::collections::HashSet;
use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, openat, unlinkat};
use rustix::io::Errno;

use super::below::wipe;
use super::resolve::open_folder;
use super::session::random_name;
use super::stat::Stat;
use crate::model::Kind;
use crate::model::name::{TEMPORARY, is_temporary};

/// The folders that this server has freed from what dead servers left in them.
#[derive(Debug, Default)]
pub(super) struct Cleaned(Mutex<HashSet<(u64, u64)>>);

impl Cleaned {
    /// Removes the temporary files of a folder whose lock no server holds; once for each folder. Every call does this before it creates
    /// its own temporary file, and the mutex is held to the end: no file of this server is seen between its creation and its lock.
    pub(super) fn clean(&self, folder: &OwnedFd) {
        let Ok(seen) = Stat::of(folder) else { return };
        let mut cleaned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cleaned.len() > 10_000 {
            cleaned.clear();
        }
        if !cleaned.insert(seen.object()) {
            return;
        }
        let Ok(readable) = open_folder(folder) else { return };
        for entry in Dir::read_from(&readable).into_iter().flatten().flatten() {
            if is_temporary(entry.file_name().to_bytes()) {
                remove_dead(&readable, entry.file_name());
            }
        }
    }
}

/// Removes a regular file, or a folder with all below it, whose lock nobody holds.
fn remove_dead(folder: &OwnedFd, name: &CStr) {
    let kind = Stat::at(folder, name).map(|seen| seen.kind);
    if !matches!(kind, Ok(Kind::File | Kind::Directory)) {
        return;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(dead) = openat(folder, name, flags, Mode::empty()) else { return };
    if flock(&dead, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    let is_folder = kind == Ok(Kind::Directory);
    if is_folder {
        wipe(&dead, None);
    }
    let _ = unlinkat(folder, name, if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() });
}

/// A name that no caller is shown and that a later server knows for a leftover.
pub(super) fn temporary_name() -> Result<String, Errno> {
    let (before, after) = TEMPORARY;
    Ok(format!("{before}{}{after}", random_name()?))
}
