//! Everything below a folder, walked through descriptors: to judge it, to count it, to wipe it.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, Mode, fchmod, unlinkat};
use rustix::io::Errno;

use super::look::Guard;
use super::resolve::{open_folder, step};
use super::seen::Seen;
use crate::model::{Entry, Kind, RelPath};

/// The entries below a folder, for the judge.
#[derive(Debug, Default)]
pub(super) struct Below {
    pub entries: Vec<Entry>,
    pub cut: bool,
}

impl Below {
    /// Walks the folder at `path`. At most [`MOST_ENTRIES`] entries and [`DEEPEST`] folders deep; beyond that it is cut.
    pub(super) fn of(folder: BorrowedFd<'_>, path: &RelPath, guard: &Guard<'_>) -> Result<Self, Errno> {
        let mut below = Self::default();
        below.walk(folder, path, guard, 0)?;
        Ok(below)
    }

    fn walk(&mut self, folder: BorrowedFd<'_>, path: &RelPath, guard: &Guard<'_>, depth: usize) -> Result<(), Errno> {
        if depth >= DEEPEST {
            self.cut = true;
        }
        for (name, seen) in entries(folder)? {
            if self.cut || self.entries.len() >= MOST_ENTRIES {
                self.cut = true;
                return Ok(());
            }
            let path = path.join(&name.to_string_lossy());
            let protected = guard.holds(&path, &seen);
            self.entries.push(Entry { path: path.clone(), kind: seen.kind, protected });
            if seen.kind == Kind::Directory && !protected {
                let inner = step(folder, name.as_os_str())?;
                self.walk(inner.as_fd(), &path, guard, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Whether two walks saw the same: nothing came, nothing went, nothing changed its kind.
    pub(super) fn is_same(&self, judged: &[Entry], from: &RelPath, to: &RelPath) -> bool {
        let mut expected: HashMap<RelPath, Kind> =
            judged.iter().map(|entry| (entry.path.rebased(from, to).unwrap_or_else(|| entry.path.clone()), entry.kind)).collect();
        !self.cut && self.entries.iter().all(|entry| expected.remove(&entry.path) == Some(entry.kind)) && expected.is_empty()
    }
}

/// The entries of one folder with what they are, in the folder's own order.
pub(super) fn entries(folder: impl AsFd) -> Result<Vec<(std::ffi::OsString, Seen)>, Errno> {
    use std::os::unix::ffi::OsStrExt as _;
    let readable = open_folder(folder)?;
    let mut found = Vec::new();
    for entry in Dir::read_from(&readable)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match Seen::at(&readable, name) {
            Ok(seen) => found.push((std::ffi::OsStr::from_bytes(name.to_bytes()).to_owned(), seen)),
            // It went away between the two calls.
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(found)
}

/// Bytes of all files and the number of entries below a folder. Stops counting at `most` entries.
pub(super) fn usage(folder: BorrowedFd<'_>, most: u64) -> (u64, u64) {
    let (mut bytes, mut count) = (0u64, 0u64);
    let mut left: Vec<OwnedFd> = Vec::new();
    let mut next = open_folder(folder).ok();
    while let Some(folder) = next {
        for (name, seen) in entries(&folder).unwrap_or_default() {
            count += 1;
            if count > most {
                return (bytes, count);
            }
            match seen.kind {
                Kind::File => bytes = bytes.saturating_add(seen.size),
                Kind::Directory => left.extend(step(&folder, name.as_os_str())),
                _ => {}
            }
        }
        next = left.pop();
    }
    (bytes, count)
}

/// Deletes everything below a folder, following no link. What cannot be deleted stays. Gives the number of entries deleted.
pub(super) fn wipe(folder: impl AsFd) -> u64 {
    let mut deleted = 0;
    // A program may have taken its own right to write from a folder that we own.
    if let Ok(own) = open_folder(&folder) {
        let _ = fchmod(&own, Mode::RWXU);
    }
    for (name, seen) in entries(&folder).unwrap_or_default() {
        let flags = if seen.kind == Kind::Directory {
            if let Ok(inner) = step(&folder, name.as_os_str()) {
                deleted += wipe(&inner);
            }
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        if unlinkat(&folder, name.as_os_str(), flags).is_ok() {
            deleted += 1;
        }
    }
    deleted
}

/// More entries than this below a folder are not judged one by one, and so not moved or deleted at once.
pub(super) const MOST_ENTRIES: usize = 10_000;
/// Folders in folders; each holds a descriptor while it is walked.
const DEEPEST: usize = 100;
