//! Putting a content in the place of another, whole or not at all, and only in the place of what was judged.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, flock, fsync, linkat, openat, renameat, renameat_with,
    unlinkat,
};
use rustix::io::{Errno, write};

use super::resolve::open_folder;
use super::stat::Stat;
use super::temporary::temporary_name;
use crate::model::{Identity, Kind, PathFact};

/// Why a content was not put in place. Nothing was changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unplaced {
    /// What stands there is not what was judged.
    Changed,
    /// What the kernel said.
    Errno(Errno),
}

impl From<Errno> for Unplaced {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// The permission bits of a new file, less what the umask takes.
pub(super) const USUAL: u32 = 0o666;

/// Where a content goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Destination<'a> {
    pub folder: &'a OwnedFd,
    pub name: &'a str,
    /// What was seen there: nothing, or the file that is replaced, whose mode and owner are kept.
    pub judged: &'a PathFact,
    /// The permission bits of a new file, less what the umask takes.
    pub mode: u32,
    /// The content is on disk before its writer returns.
    pub durable: bool,
}

/// Puts what `write` writes into an empty file in its place.
pub(super) fn put(destination: Destination<'_>, write: impl FnOnce(&OwnedFd) -> Result<(), Unplaced>) -> Result<Identity, Unplaced> {
    let identity = Prepared::new(destination, write)?.place()?;
    if destination.durable {
        fsync(open_folder(destination.folder)?)?;
    }
    Ok(identity)
}

/// A content that is written beside its place, under a temporary name. It goes when it is dropped before it has its place.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    destination: Destination<'a>,
    file: OwnedFd,
    temporary: Option<String>,
}

impl<'a> Prepared<'a> {
    /// Writes the content; what stands in its place is untouched.
    pub(super) fn new(destination: Destination<'a>, write: impl FnOnce(&OwnedFd) -> Result<(), Unplaced>) -> Result<Self, Unplaced> {
        let is_replacing = destination.judged.kind == Kind::File;
        let temporary = temporary_name()?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // What will take a private file's place is private from the beginning; a new file follows the umask.
        let mode = Mode::from_raw_mode(if is_replacing { 0o600 } else { destination.mode });
        let file = openat(destination.folder, temporary.as_str(), flags, mode)?;
        let prepared = Self { destination, file, temporary: Some(temporary) };
        // Says to others that this temporary file is alive.
        flock(&prepared.file, FlockOperation::NonBlockingLockExclusive)?;
        write(&prepared.file)?;
        if is_replacing {
            let before = prepared.judged()?;
            if Stat::of(&prepared.file)?.owner != before.owner {
                // Without the right to give files away the new file is ours; its mode is what matters then.
                let _ = fchown(&prepared.file, Some(Uid::from_raw(before.owner.0)), Some(Gid::from_raw(before.owner.1)));
            }
            // Never set-user-ID: new content does not inherit a privilege.
            fchmod(&prepared.file, Mode::from_raw_mode(before.mode & 0o777))?;
        }
        if destination.durable {
            fsync(&prepared.file)?;
        }
        Ok(prepared)
    }

    /// The file that is replaced, where it is still what was judged.
    pub(super) fn judged(&self) -> Result<Stat, Unplaced> {
        let seen = Stat::at(self.destination.folder, self.destination.name);
        seen.ok().filter(|seen| seen.is_as_judged(self.destination.judged)).ok_or(Unplaced::Changed)
    }

    /// Gives the content its name.
    pub(super) fn place(mut self) -> Result<Identity, Unplaced> {
        let Some(own) = self.temporary.clone() else { return Err(Unplaced::Changed) };
        let Destination { folder, name, judged, .. } = self.destination;
        if judged.kind == Kind::File {
            self.judged()?;
            renameat(folder, own.as_str(), folder, name)?;
        } else {
            rename_to_new(folder, &own, folder, name).map_err(taken)?;
        }
        self.temporary = None;
        Ok(Stat::of(&self.file)?.identity)
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.temporary.take() {
            let _ = unlinkat(self.destination.folder, name.as_str(), AtFlags::empty());
        }
    }
}

/// Renames where nothing has the new name. On file systems without `RENAME_NOREPLACE`: a file by a second name, which fails
/// where one is, and a folder after a look, for a folder can only take the place of an empty one.
pub(super) fn rename_to_new(from: &OwnedFd, old: &str, to: &OwnedFd, new: &str) -> Result<(), Errno> {
    match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {}
        answer => return answer,
    }
    if Stat::at(from, old)?.kind == Kind::File {
        linkat(from, old, to, new, AtFlags::empty())?;
        return unlinkat(from, old, AtFlags::empty());
    }
    match Stat::at(to, new) {
        Err(Errno::NOENT) => renameat(from, old, to, new),
        Ok(_) => Err(Errno::EXIST),
        Err(errno) => Err(errno),
    }
}

/// What a rename says to a name that is given already.
pub(super) fn taken(errno: Errno) -> Unplaced {
    if errno == Errno::EXIST { Unplaced::Changed } else { Unplaced::Errno(errno) }
}

/// Writes all bytes.
pub(super) fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<(), Unplaced> {
    while !bytes.is_empty() {
        match write(&file, bytes) {
            Ok(0) => return Err(Errno::IO.into()),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
