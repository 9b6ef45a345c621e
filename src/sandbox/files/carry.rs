//! Moving to another root. What arrives is a copy, a new object: a program that still holds the old file open, or works in the old folder,
//! changes nothing in the root that the move was judged for.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, FlockOperation, Mode, Timespec, Timestamps, UTIME_OMIT, fchmod, flock, futimens, mkdirat, readlinkat, symlinkat, syncfs,
    unlinkat,
};
use rustix::io::Errno;

use super::below::{Below, wipe};
use super::fault::{changed, fault};
use super::leftovers::temporary_name;
use super::look::Guard;
use super::rename::Way;
use super::replace::{Unplaced, put_with, rename_to_new};
use super::resolve::{open_file, open_folder, step};
use super::roots::Root;
use super::seen::Seen;
use super::stop::Stop;
use super::write::unplaced;
use crate::model::{Code, Entry, Failure, Kind, PathFact, RelPath, Target};

/// The roots of a move, each with what guards its protected places.
pub(super) struct Ends<'a> {
    pub old_root: &'a Root,
    pub old_guard: &'a Guard<'a>,
    pub new_root: &'a Root,
    pub new_guard: &'a Guard<'a>,
}

impl Way<'_> {
    /// Copies what was judged to the new place, whole or not at all, then deletes it in the old one.
    ///
    /// # Errors
    /// `conflict` where the old place changed meanwhile or holds a pipe, socket or device; `cancelled`; `no_space`.
    pub(super) fn carry(&self, ends: &Ends<'_>, stop: &Stop) -> Result<(), Failure> {
        match self.from.fact.kind {
            Kind::File => self.carry_file(ends, stop),
            Kind::Directory => self.carry_folder(ends, stop),
            Kind::Absent | Kind::Symlink | Kind::Other => Err(not_carried(&self.from.target)),
        }
    }

    fn carry_file(&self, ends: &Ends<'_>, stop: &Stop) -> Result<(), Failure> {
        let (from, to) = (&self.from.target, &self.to.target);
        let read = |errno| fault(errno, from, "read");
        let object = self.from.object.as_ref().ok_or_else(|| changed(from))?;
        let file = open_file(object, self.old_folder, self.old_name).map_err(read)?;
        let before = Seen::of(&file).map_err(read)?;
        if !before.is_as_judged(&self.from.fact) {
            return Err(changed(from));
        }
        put_with(self.new_folder, self.new_name, &self.to.fact, !ends.new_root.scratch, |copy| copy_file(&file, &before, copy, stop))
            .map_err(|why| unplaced(why, to))?;
        if !Seen::at(self.old_folder, self.old_name).is_ok_and(|seen| seen.is_as_judged(&self.from.fact)) {
            return Err(stays(from, to));
        }
        unlinkat(self.old_folder, self.old_name, AtFlags::empty()).map_err(|errno| fault(errno, from, "deleted"))
    }

    fn carry_folder(&self, ends: &Ends<'_>, stop: &Stop) -> Result<(), Failure> {
        let (from, to) = (&self.from.target, &self.to.target);
        let old = step(self.old_folder, self.old_name).map_err(|errno| fault(errno, from, "read"))?;
        let copy = Copy::make(self.new_folder, &old).map_err(|errno| fault(errno, to, "written"))?;
        for entry in &self.from.fact.below {
            stop.check()?;
            copy.entry(&old, entry, self.from.path(), ends, stop).map_err(|why| match why {
                Unplaced::Changed => changed(from),
                Unplaced::Errno(Errno::OPNOTSUPP) => not_carried(from),
                Unplaced::Errno(errno) => fault(errno, to, "written"),
            })?;
        }
        // What came meanwhile was not judged, and is not copied; what was copied and changed meanwhile neither is what was judged.
        if !self.holds_the_judged(self.old_folder, self.old_name, self.from.path(), ends.old_guard) {
            return Err(changed(from));
        }
        let now = Below::of(copy.inner.as_fd(), self.to.path(), ends.new_guard).map_err(|errno| fault(errno, to, "written"))?;
        if now.entries.iter().any(|entry| entry.protected) {
            return Err(changed(to));
        }
        if !ends.new_root.scratch {
            syncfs(open_folder(&copy.inner).map_err(|errno| fault(errno, to, "written"))?).map_err(|errno| fault(errno, to, "written"))?;
        }
        copy.place(self.new_name).map_err(|why| unplaced(why, to))?;
        self.remove_old(ends.old_guard)
    }

    /// Deletes the folder in the old place, if it still holds what was copied.
    fn remove_old(&self, guard: &Guard<'_>) -> Result<(), Failure> {
        let (from, to) = (&self.from.target, &self.to.target);
        let failed = |errno| fault(errno, from, "deleted");
        let hidden = temporary_name().map_err(failed)?;
        rename_to_new(self.old_folder, self.old_name, self.old_folder, &hidden).map_err(failed)?;
        if !self.holds_the_judged(self.old_folder, &hidden, self.from.path(), guard) {
            rename_to_new(self.old_folder, &hidden, self.old_folder, self.old_name).map_err(failed)?;
            return Err(stays(from, to));
        }
        wipe(&step(self.old_folder, hidden.as_str()).map_err(failed)?, None);
        unlinkat(self.old_folder, hidden.as_str(), AtFlags::REMOVEDIR).map_err(failed)
    }
}

/// A folder that is being copied, under a name that no caller is shown. It is deleted when it is dropped before it has its own name.
struct Copy<'a> {
    folder: &'a OwnedFd,
    name: Option<String>,
    inner: OwnedFd,
    /// Says to other servers that this one is at work.
    lock: OwnedFd,
}

impl<'a> Copy<'a> {
    fn make(folder: &'a OwnedFd, like: &OwnedFd) -> Result<Self, Errno> {
        let name = temporary_name()?;
        mkdirat(folder, name.as_str(), Mode::RWXU)?;
        let inner = step(folder, name.as_str())?;
        let lock = open_folder(&inner)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let copy = Self { folder, name: Some(name), inner, lock };
        fchmod(&copy.lock, folder_mode(like)?)?;
        Ok(copy)
    }

    /// Copies one judged entry of `old`, the judged folder at `top`. The entries of a folder come after it.
    fn entry(&self, old: &OwnedFd, entry: &Entry, top: &RelPath, ends: &Ends<'_>, stop: &Stop) -> Result<(), Unplaced> {
        let path = entry.path.rebased(top, &RelPath::ROOT).ok_or(Unplaced::Changed)?;
        let (parent, name) = path.split_last().ok_or(Unplaced::Changed)?;
        let source = ends.old_root.resolver.open(old.as_fd(), &path).map_err(gone)?;
        let seen = Seen::of(&source)?;
        let is_judged = |seen: Seen| seen.kind == entry.kind && seen.size == entry.size && Some(seen.identity) == entry.identity;
        if !is_judged(seen) {
            return Err(Unplaced::Changed);
        }
        let folder = ends.new_root.resolver.open(self.inner.as_fd(), &parent)?;
        match entry.kind {
            Kind::Directory => {
                mkdirat(&folder, name, Mode::RWXU)?;
                fchmod(open_folder(step(&folder, name)?)?, folder_mode(&source)?)?;
            }
            Kind::File => {
                let file = open_file(&source, ends.old_root.resolver.open(old.as_fd(), &parent)?, name)?;
                put_with(&folder, name, &PathFact::ABSENT, false, |copy| copy_file(&file, &seen, copy, stop))?;
            }
            Kind::Symlink => symlinkat(readlinkat(&source, c"", Vec::new())?, &folder, name)?,
            Kind::Absent | Kind::Other => return Err(Unplaced::Errno(Errno::OPNOTSUPP)),
        }
        Ok(())
    }

    /// Gives the copy its name, where nothing has that name.
    fn place(mut self, name: &str) -> Result<(), Unplaced> {
        let own = self.name.clone().unwrap_or_default();
        rename_to_new(self.folder, &own, self.folder, name)
            .map_err(|errno| if errno == Errno::EXIST { Unplaced::Changed } else { Unplaced::Errno(errno) })?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            wipe(&self.inner, None);
            let _ = unlinkat(self.folder, name.as_str(), AtFlags::REMOVEDIR);
        }
    }
}

/// Copies content, mode and time of the last change. A file that changes meanwhile is not what was judged.
fn copy_file(file: &OwnedFd, before: &Seen, copy: &OwnedFd, stop: &Stop) -> Result<(), Unplaced> {
    let broken = |fault: io::Error| Unplaced::Errno(Errno::from_io_error(&fault).unwrap_or(Errno::IO));
    let (mut source, mut target) = (File::from(file.try_clone().map_err(broken)?), File::from(copy.try_clone().map_err(broken)?));
    loop {
        if stop.is_cancelled() {
            return Err(Unplaced::Errno(Errno::CANCELED));
        }
        if io::copy(&mut source.by_ref().take(PART), &mut target).map_err(broken)? == 0 {
            break;
        }
    }
    if Seen::of(file)? != *before {
        return Err(Unplaced::Changed);
    }
    // The rights that the umask leaves, less those that the old file does not give; the right to run it where the old file gives that.
    let left = Seen::of(copy)?.mode;
    fchmod(copy, Mode::from_raw_mode((left | (left & 0o444) >> 2) & before.mode & 0o777))?;
    let changed = Timespec {
        tv_sec: i64::try_from(before.identity.mtime_ns.div_euclid(1_000_000_000)).unwrap_or_default(),
        tv_nsec: i64::try_from(before.identity.mtime_ns.rem_euclid(1_000_000_000)).unwrap_or_default(),
    };
    futimens(copy, &Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, last_modification: changed })?;
    Ok(())
}

/// The mode of a folder's copy. Its owner may work in it.
fn folder_mode(like: &OwnedFd) -> Result<Mode, Errno> {
    Ok(Mode::from_raw_mode(Seen::of(like)?.mode & 0o755 | 0o700))
}

fn gone(errno: Errno) -> Unplaced {
    if matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) { Unplaced::Changed } else { Unplaced::Errno(errno) }
}

fn stays(from: &Target, to: &Target) -> Failure {
    Failure::new(Code::Conflict, format!("`{to}` was written, but `{from}` changed meanwhile and stays"))
}

fn not_carried(target: &Target) -> Failure {
    Failure::new(Code::Conflict, format!("`{target}` is or holds a link, pipe, socket or device, which is not moved to another root"))
        .hint("move the files one by one")
}

/// A cancelled move ends within this many bytes.
const PART: u64 = 8 * 1024 * 1024;
