//! Putting a content in the place of another, whole or not at all, and only in the place of what was judged.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, flock, fsync, linkat, openat, renameat,
    renameat_with, unlinkat,
};
use rustix::io::{Errno, write};

use super::leftovers::temporary_name;
use super::resolve::open_folder;
use super::seen::Seen;
use crate::model::{Identity, Kind, PathFact};
use crate::sandbox::tick;

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

/// Puts `content` at `name` in the held folder. `judged` is what was seen there: nothing, or the file that
/// is replaced, whose mode and owner are kept. `durable`: it is on disk before this returns.
pub(super) fn put(folder: &OwnedFd, name: &str, judged: &PathFact, content: &[u8], durable: bool) -> Result<Identity, Unplaced> {
    put_with(folder, name, judged, durable, |file| Ok(write_all(file, content)?))
}

/// The same with a content that `fill` writes to a file that is empty and has no name yet. `fill` may be called twice.
pub(super) fn put_with(
    folder: &OwnedFd,
    name: &str,
    judged: &PathFact,
    durable: bool,
    fill: impl Fn(&OwnedFd) -> Result<(), Unplaced>,
) -> Result<Identity, Unplaced> {
    match attempt(folder, name, judged, &fill, durable, Temporary::unnamed(folder, judged)) {
        // No unnamed files on this file system, or no /proc to give them a name by.
        Err(Unplaced::Errno(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT)) => {
            attempt(folder, name, judged, &fill, durable, Temporary::named(folder, judged))
        }
        answer => answer,
    }
}

fn attempt(
    folder: &OwnedFd,
    name: &str,
    judged: &PathFact,
    fill: &impl Fn(&OwnedFd) -> Result<(), Unplaced>,
    durable: bool,
    temporary: Result<Temporary<'_>, Errno>,
) -> Result<Identity, Unplaced> {
    let mut temporary = temporary?;
    // Says to others that this temporary file is alive.
    flock(&temporary.file, FlockOperation::NonBlockingLockExclusive)?;
    fill(&temporary.file)?;
    if judged.kind == Kind::File {
        let before = Seen::at(folder, name).map_err(|_| Unplaced::Changed)?;
        if !before.is_as_judged(judged) {
            return Err(Unplaced::Changed);
        }
        let now = Seen::of(&temporary.file)?;
        if now.owner != before.owner {
            // Without the right to give files away the new file is ours; its mode is what matters then.
            let _ = fchown(&temporary.file, Some(Uid::from_raw(before.owner.0)), Some(Gid::from_raw(before.owner.1)));
        }
        // Never set-user-ID: new content does not inherit a privilege.
        fchmod(&temporary.file, Mode::from_raw_mode(before.mode & 0o777))?;
    }
    if durable {
        fsync(&temporary.file)?;
    }
    if judged.kind == Kind::File {
        temporary.exchange(name, judged)?;
    } else {
        temporary.place(name)?;
    }
    tick::touched();
    if durable {
        fsync(open_folder(folder)?)?;
    }
    Ok(Seen::of(&temporary.file)?.identity)
}

/// A file that is not in its place yet; it goes when it is dropped.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    file: OwnedFd,
    name: Option<String>,
}

impl<'a> Temporary<'a> {
    /// A file without a name: the kernel takes it back when we die.
    fn unnamed(folder: &'a OwnedFd, judged: &PathFact) -> Result<Self, Errno> {
        let file = openat(folder, c".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode(judged))?;
        Ok(Self { folder, file, name: None })
    }

    fn named(folder: &'a OwnedFd, judged: &PathFact) -> Result<Self, Errno> {
        let name = temporary_name()?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(folder, name.as_str(), flags, mode(judged))?;
        Ok(Self { folder, file, name: Some(name) })
    }

    fn link(&self, name: &str) -> Result<(), Errno> {
        linkat(CWD, format!("/proc/self/fd/{}", self.file.as_raw_fd()), self.folder, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Gives the file its name, where nothing has that name.
    fn place(&mut self, name: &str) -> Result<(), Unplaced> {
        let Some(own) = self.name.clone() else { return self.link(name).map_err(taken) };
        match rename_to_new(self.folder, &own, self.folder, name) {
            Ok(()) => {
                self.name = None;
                Ok(())
            }
            Err(errno) => Err(taken(errno)),
        }
    }

    /// Changes places with the file of that name, looks at what came out, and changes back if it is not what was judged.
    fn exchange(&mut self, name: &str, judged: &PathFact) -> Result<(), Unplaced> {
        let own = if let Some(own) = &self.name {
            own.clone()
        } else {
            let own = temporary_name()?;
            self.link(&own)?;
            self.name.insert(own).clone()
        };
        match renameat_with(self.folder, own.as_str(), self.folder, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Unplaced::Changed),
            // A file system without the exchange: looked at just before instead.
            Err(Errno::INVAL | Errno::NOSYS) => {
                if !Seen::at(self.folder, name).is_ok_and(|seen| seen.is_as_judged(judged)) {
                    return Err(Unplaced::Changed);
                }
                renameat(self.folder, own.as_str(), self.folder, name)?;
                self.name = None;
                return Ok(());
            }
            Err(errno) => return Err(errno.into()),
        }
        if Seen::at(self.folder, own.as_str()).is_ok_and(|seen| seen.is_as_judged_renamed(judged)) {
            return Ok(());
        }
        // Until it is back in its place, what came out is not ours to remove.
        self.name = None;
        renameat_with(self.folder, own.as_str(), self.folder, name, RenameFlags::EXCHANGE)?;
        self.name = Some(own);
        Err(Unplaced::Changed)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After an exchange this is what was replaced.
        if let Some(name) = self.name.take() {
            let _ = unlinkat(self.folder, name.as_str(), AtFlags::empty());
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
    if Seen::at(from, old)?.kind == Kind::File {
        linkat(from, old, to, new, AtFlags::empty())?;
        return unlinkat(from, old, AtFlags::empty());
    }
    match Seen::at(to, new) {
        Err(Errno::NOENT) => renameat(from, old, to, new),
        Ok(_) => Err(Errno::EXIST),
        Err(errno) => Err(errno),
    }
}

fn taken(errno: Errno) -> Unplaced {
    if errno == Errno::EXIST { Unplaced::Changed } else { Unplaced::Errno(errno) }
}

fn mode(judged: &PathFact) -> Mode {
    // What will take a private file's place is private from the beginning; a new file follows the umask.
    Mode::from_raw_mode(if judged.kind == Kind::File { 0o600 } else { 0o666 })
}

fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(&file, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, OwnedFd) {
        let dir = tempfile::tempdir().unwrap();
        let folder = openat(CWD, dir.path(), OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        (dir, folder)
    }

    fn fact(folder: &OwnedFd, name: &str) -> PathFact {
        let seen = Seen::at(folder, name).unwrap();
        PathFact { size: seen.size, identity: Some(seen.identity), ..PathFact::of(seen.kind) }
    }

    #[test]
    fn a_file_system_without_unnamed_files_is_served_by_named_ones() {
        let (dir, folder) = folder();
        let by_name = |judged: &PathFact, content: &[u8]| {
            attempt(&folder, "a", judged, &|file: &OwnedFd| Ok(write_all(file, content)?), true, Temporary::named(&folder, judged))
        };
        by_name(&PathFact::ABSENT, b"one").unwrap();
        assert_eq!(by_name(&PathFact::ABSENT, b"two"), Err(Unplaced::Changed));
        by_name(&fact(&folder, "a"), b"three").unwrap();
        assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"three");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
