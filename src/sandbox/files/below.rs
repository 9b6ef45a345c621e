//! Everything below a folder, walked through descriptors: to judge it, to count it, to wipe it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, Mode, fchmod, renameat, unlinkat};
use rustix::io::Errno;

use super::look::Guard;
use super::resolve::{open_folder, step};
use super::stat::Stat;
use super::temporary::temporary_name;
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
            return Ok(());
        }
        let (inside, more) = entries(folder, MOST_ENTRIES.saturating_sub(self.entries.len()))?;
        self.cut |= more;
        for (name, seen) in inside {
            if self.entries.len() >= MOST_ENTRIES {
                self.cut = true;
                return Ok(());
            }
            let path = path.join(&name.to_string_lossy());
            let protected = guard.holds(&path, &seen);
            self.entries.push(Entry { path: path.clone(), kind: seen.kind, size: seen.size, identity: Some(seen.identity), protected });
            if seen.kind == Kind::Directory && !protected {
                let inner = step(folder, name.as_os_str())?;
                self.walk(inner.as_fd(), &path, guard, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Whether two walks saw the same: nothing came, nothing went, nothing changed.
    pub(super) fn is_same(&self, judged: &[Entry]) -> bool {
        let what = |entry: &Entry| (entry.kind, entry.size, entry.identity);
        let mut expected: HashMap<&RelPath, _> = judged.iter().map(|entry| (&entry.path, what(entry))).collect();
        !self.cut && self.entries.iter().all(|entry| expected.remove(&entry.path) == Some(what(entry))) && expected.is_empty()
    }
}

/// The entries of one folder with what they are, in the folder's own order; at most `most`, and whether there are more.
pub(super) fn entries(folder: impl AsFd, most: usize) -> Result<(Vec<(OsString, Stat)>, bool), Errno> {
    let readable = open_folder(folder)?;
    let mut found = Vec::new();
    for entry in Dir::read_from(&readable)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if found.len() >= most {
            return Ok((found, true));
        }
        match Stat::at(&readable, name) {
            Ok(seen) => found.push((OsStr::from_bytes(name.to_bytes()).to_owned(), seen)),
            // It went away between the two calls.
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok((found, false))
}

/// Bytes of all files, by their size or, where that is far more, by what they take, and the number of entries below a folder of ours. Counting ends at more than `most`
/// entries; what lies too deep or cannot be opened counts as everything. A folder that a program closed is opened for it.
pub(super) fn usage(folder: impl AsFd, most: u64) -> (u64, u64) {
    let (mut bytes, mut count) = (0, 0);
    add_usage(folder.as_fd(), most, 0, &mut bytes, &mut count);
    (bytes, count)
}

fn add_usage(folder: BorrowedFd<'_>, most: u64, depth: usize, bytes: &mut u64, count: &mut u64) {
    if depth > DEEPEST {
        *bytes = u64::MAX;
    }
    let room = usize::try_from(most.saturating_sub(*count).saturating_add(1)).unwrap_or(usize::MAX);
    let Ok((found, _)) =
        entries(folder, room).or_else(|errno| if errno == Errno::ACCESS { open_up(folder, room) } else { Ok((Vec::new(), false)) })
    else {
        *bytes = u64::MAX;
        return;
    };
    for (name, seen) in found {
        *count += 1;
        if *count > most || *bytes == u64::MAX {
            return;
        }
        match seen.kind {
            Kind::File => {
                let is_far_more = seen.taken > seen.size.saturating_mul(2).saturating_add(ROUNDED);
                *bytes = bytes.saturating_add(if is_far_more { seen.taken } else { seen.size });
            }
            Kind::Directory => {
                if let Ok(inner) = step(folder, name.as_os_str()) {
                    add_usage(inner.as_fd(), most, depth + 1, bytes, count);
                }
            }
            _ => {}
        }
    }
}

/// The entries of a folder that was closed, once it is open. The handle is on the folder itself: a link put in its place is not followed.
fn open_up(folder: BorrowedFd<'_>, room: usize) -> Result<(Vec<(OsString, Stat)>, bool), Errno> {
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)?;
    entries(folder, room)
}

/// Deletes everything below a folder, following no link, until that moment. What cannot be deleted stays. Gives the number of entries deleted.
pub(super) fn wipe(folder: impl AsFd, until: Option<Instant>) -> u64 {
    let folder = folder.as_fd();
    let mut wiping = Wiping { until, deleted: 0 };
    // Folders that lie too deep are lifted to the top, one level of depth at a time, so that each pass holds few descriptors.
    for _ in 0..MOST_PASSES {
        let before = wiping.deleted;
        if !wipe_pass(folder, folder, 0, &mut wiping) && wiping.deleted == before || wiping.is_over() {
            break;
        }
    }
    wiping.deleted
}

/// Until when something is wiped, and how far that is.
struct Wiping {
    until: Option<Instant>,
    deleted: u64,
}

impl Wiping {
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Whether something was lifted or left for another pass.
fn wipe_pass(top: BorrowedFd<'_>, folder: BorrowedFd<'_>, depth: usize, wiping: &mut Wiping) -> bool {
    // A program may have taken its own right to write from a folder that we own.
    if let Ok(own) = open_folder(folder) {
        let _ = fchmod(&own, Mode::RWXU);
    }
    let Ok((inside, mut again)) = entries(folder, MOST_AT_ONCE) else { return false };
    for (name, seen) in inside {
        if wiping.is_over() {
            return false;
        }
        let is_folder = seen.kind == Kind::Directory;
        if is_folder && depth >= DEEPEST {
            again |= temporary_name().is_ok_and(|lifted| renameat(folder, name.as_os_str(), top, lifted).is_ok());
            continue;
        }
        if is_folder && let Ok(inner) = step(folder, name.as_os_str()) {
            again |= wipe_pass(top, inner.as_fd(), depth + 1, wiping);
        }
        if unlinkat(folder, name.as_os_str(), if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() }).is_ok() {
            wiping.deleted += 1;
        }
    }
    again
}

/// A file system rounds up, and sets room aside for a file that grows.
const ROUNDED: u64 = 1024 * 1024;
/// More entries than this below a folder are not judged one by one, and so not moved or deleted at once.
pub(super) const MOST_ENTRIES: usize = 10_000;
/// Entries of one folder that are held in memory.
pub(super) const MOST_AT_ONCE: usize = 50_000;
/// Folders in folders; each holds a descriptor while it is walked.
pub(super) const DEEPEST: usize = 64;
/// Each pass takes 50 000 entries of each folder, and 64 folders of depth.
const MOST_PASSES: usize = 10_000;
