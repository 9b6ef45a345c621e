//! Moving to another root. What arrives is a copy, a new object: a program that still holds the old file open, or works in the old folder,
//! changes nothing in the root that the move was judged for.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FlockOperation, Mode, Timespec, Timestamps, UTIME_OMIT, fchmod, flock, futimens, mkdirat, readlinkat, symlinkat, syncfs,
    unlinkat,
};
use rustix::io::Errno;

use super::below::wipe;
use super::fault::{changed, fault};
use super::look::Guard;
use super::rename::{remove, unchanged};
use super::replace::{Destination, USUAL, Unplaced, put, rename_to_new, taken};
use super::resolve::{open, open_file, open_folder, step};
use super::stat::Stat;
use super::stop::Stop;
use super::temporary::temporary_name;
use super::write::unplaced;
use crate::gate::Opened;
use crate::model::{Code, Entry, Failure, Kind, PathFact, RelPath, Target};

/// A move of what was judged to a place in another root or file system.
pub(super) struct Transfer<'a> {
    pub from: &'a Opened,
    pub to: &'a Target,
    pub destination: Destination<'a>,
    /// Of the old root.
    pub guard: &'a Guard<'a>,
    pub stop: &'a Stop,
}

impl Transfer<'_> {
    /// Copies what was judged to the new place, whole or not at all, then deletes it in the old one.
    ///
    /// # Errors
    /// `conflict` where the old place changed meanwhile or holds a pipe, socket or device; `cancelled`; `no_space`.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let from = &self.from.target;
        let object = self.from.object.as_ref().ok_or_else(|| changed(from))?;
        match self.from.fact.kind {
            Kind::File => {
                let read = |errno| fault(errno, from, "read");
                let file = open_file(object).map_err(read)?;
                let before = Stat::of(&file).map_err(read)?;
                if !before.is_as_judged(&self.from.fact) {
                    return Err(changed(from));
                }
                put(self.destination, |copy| copy_file(&file, &before, copy, self.stop)).map_err(|why| unplaced(why, self.to))?;
            }
            Kind::Directory => self.copy_folder(object)?,
            Kind::Absent | Kind::Symlink | Kind::Other => return Err(not_copied(from)),
        }
        remove(self.from, self.guard).map(drop).map_err(|failure| match failure.0.code {
            Code::Conflict => Failure::new(
                Code::Conflict,
                format!("`{}` was written, but `{from}` changed meanwhile and stays, whole or in part", self.to),
            ),
            _ => failure,
        })
    }

    fn copy_folder(&self, old: &OwnedFd) -> Result<(), Failure> {
        let from = &self.from.target;
        let written = |errno| fault(errno, self.to, "written");
        let copy = Copy::make(self.destination.folder, old).map_err(written)?;
        for entry in &self.from.fact.below {
            self.stop.check()?;
            copy.entry(old, entry, self.from.path(), self.stop).map_err(|why| match why {
                Unplaced::Changed => changed(from),
                Unplaced::Errno(Errno::OPNOTSUPP) => not_copied(from),
                Unplaced::Errno(errno) => written(errno),
            })?;
        }
        // What came meanwhile was not judged, and is not copied; what was copied and changed meanwhile neither is what was judged.
        unchanged(self.from, self.guard)?;
        if self.destination.durable {
            open_folder(&copy.inner).and_then(syncfs).map_err(written)?;
        }
        copy.place(self.destination.name).map_err(|why| unplaced(why, self.to))
    }
}

/// A folder that is being copied, under a name that no caller is shown. It is deleted when it is dropped before it has its own name.
struct Copy<'a> {
    folder: &'a OwnedFd,
    name: Option<String>,
    inner: OwnedFd,
}

impl<'a> Copy<'a> {
    fn make(folder: &'a OwnedFd, like: &OwnedFd) -> Result<Self, Errno> {
        let name = temporary_name()?;
        mkdirat(folder, name.as_str(), Mode::RWXU)?;
        let copy = Self { inner: open_folder(step(folder, name.as_str())?)?, folder, name: Some(name) };
        // Says to other servers that this one is at work.
        flock(&copy.inner, FlockOperation::NonBlockingLockExclusive)?;
        fchmod(&copy.inner, folder_mode(like)?)?;
        Ok(copy)
    }

    /// Copies one judged entry of `old`, the judged folder at `top`. The entries of a folder come after it.
    fn entry(&self, old: &OwnedFd, entry: &Entry, top: &RelPath, stop: &Stop) -> Result<(), Unplaced> {
        let path = entry.path.rebased(top, &RelPath::ROOT).ok_or(Unplaced::Changed)?;
        let (parent, name) = path.split_last().ok_or(Unplaced::Changed)?;
        let source = open(old, &path).map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Unplaced::Changed,
            errno => Unplaced::Errno(errno),
        })?;
        let seen = Stat::of(&source)?;
        if !seen.is_entry(entry) {
            return Err(Unplaced::Changed);
        }
        let folder = open(&self.inner, &parent)?;
        match entry.kind {
            Kind::Directory => {
                mkdirat(&folder, name, Mode::RWXU)?;
                fchmod(open_folder(step(&folder, name)?)?, folder_mode(&source)?)?;
            }
            Kind::File => {
                let destination = Destination { folder: &folder, name, judged: &PathFact::default(), mode: USUAL, durable: false };
                let file = open_file(&source)?;
                put(destination, |copy| copy_file(&file, &seen, copy, stop))?;
            }
            Kind::Symlink => symlinkat(readlinkat(&source, c"", Vec::new())?, &folder, name)?,
            Kind::Absent | Kind::Other => return Err(Unplaced::Errno(Errno::OPNOTSUPP)),
        }
        Ok(())
    }

    /// Gives the copy its name, where nothing has that name.
    fn place(mut self, name: &str) -> Result<(), Unplaced> {
        let own = self.name.clone().unwrap_or_default();
        rename_to_new(self.folder, &own, self.folder, name).map_err(taken)?;
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
fn copy_file(file: &OwnedFd, before: &Stat, copy: &OwnedFd, stop: &Stop) -> Result<(), Unplaced> {
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
    if Stat::of(file)? != *before {
        return Err(Unplaced::Changed);
    }
    // The rights that the umask leaves, less those that the old file does not give; the right to run it where the old file gives that.
    let left = Stat::of(copy)?.mode;
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
    Ok(Mode::from_raw_mode(Stat::of(like)?.mode & 0o755 | 0o700))
}

fn not_copied(target: &Target) -> Failure {
    Failure::new(Code::Conflict, format!("`{target}` is or holds a link, pipe, socket or device, which is not moved to another root"))
        .hint("move the files one by one")
}

/// A cancelled move ends within this many bytes.
const PART: u64 = 8 * 1024 * 1024;
