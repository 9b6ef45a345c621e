//! `move` and `delete`: names taken from what was judged, and from nothing else.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags, flock, fsync, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::above::Above;
use super::below::{Below, usage, wipe};
use super::carry::Ends;
use super::fault::{changed, fault, missing};
use super::leaks::Leak;
use super::leftovers::temporary_name;
use super::look::Guard;
use super::replace::rename_to_new;
use super::resolve::{open_folder, step};
use super::room::make_room;
use super::roots::Roots;
use super::seen::Seen;
use super::stop::Stop;
use super::write::place;
use crate::gate::Permit;
use crate::model::{Code, DeleteFile, Failure, Kind, MoveFile, Opened, RelPath, Target};
use crate::sandbox::tick;

/// What was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Its old place.
    pub from: Target,
    /// Its new place.
    pub to: Target,
    /// Whether a file was replaced.
    pub replaced: bool,
    /// The folders that were made for its new place, the topmost first.
    pub folders: Vec<Target>,
}

impl Roots {
    /// Moves what the permit names. A file in the new place is replaced only where it stood there when the move was judged, and
    /// only if it is still that file; a folder is moved only with the very entries that were judged. What is moved to another root or file
    /// system is copied there and deleted here. Missing folders above the new place are made, and go again where nothing is moved.
    ///
    /// # Errors
    /// `not_found`, `already_exists`, `conflict`, `argument_invalid` (a folder into itself), `no_space`, `root_itself`, `cancelled`, `masked_content`
    /// (it holds masked secrets, and programs that do not see it would see it at its new place), `timeout` (looking for them).
    pub fn rename(&self, permit: Permit<MoveFile>, stop: &Stop) -> Result<Moved, Failure> {
        let (_, opened, terms) = permit.spend();
        let mut opened = opened.into_iter();
        let (Some(from), Some(to)) = (opened.next(), opened.next()) else {
            return Err(Failure::new(Code::Internal, "the permit holds no two objects"));
        };
        let replaced = is_replacing(&from, &to)?;
        if let Some(leak) = Leak::between(&terms.manifest, &from, &to, &self.known) {
            leak.check(stop)?;
        }
        let (old_folder, old_name) = place(&from)?;
        let (old_root, new_root) = (self.find(&terms.session, &from.target.root)?, self.find(&terms.session, &to.target.root)?);
        let (to, above) = Above::make(self, &new_root, &to)?;
        let (new_folder, new_name) = place(&to)?;
        let way = Way { from: &from, to: &to, old_folder, old_name: &old_name, new_folder, new_name: &new_name };
        let (old_guard, new_guard) = (Guard::new(self, &old_root), Guard::new(self, &new_root));
        way.is_unchanged(&old_guard)?;
        let is_elsewhere = from.target.root != to.target.root;
        if is_elsewhere && new_root.quota.is_some() {
            let (bytes, files) = way.amount();
            make_room(&new_root, &to.target, bytes, files)?;
        } else if to.fact.missing_folders > 0 {
            make_room(&new_root, &to.target, 0, 0)?;
        }
        self.leftovers.clean(&new_root, &to);
        let renamed = match (is_elsewhere, replaced) {
            (true, _) => Err(Stuck::Errno(Errno::XDEV)),
            (false, true) => way.exchange(),
            (false, false) => way.give_name(&new_guard),
        };
        match renamed {
            Ok(()) => {}
            Err(Stuck::Errno(Errno::XDEV)) => {
                let ends = Ends { old_root: &old_root, old_guard: &old_guard, new_root: &new_root, new_guard: &new_guard };
                way.carry(&ends, stop)?;
            }
            Err(Stuck::Errno(Errno::INVAL)) => return Err(into_itself(&from.target)),
            Err(Stuck::Errno(Errno::EXIST) | Stuck::Changed) => return Err(changed(&from.target)),
            Err(Stuck::Errno(errno)) => return Err(fault(errno, &from.target, "moved")),
        }
        tick::touched();
        for (root, folder) in [(&old_root, old_folder), (&new_root, new_folder)] {
            if !root.scratch {
                // The move has happened; that it is not on disk yet is no reason to report it as failed.
                let _ = open_folder(folder).and_then(fsync);
            }
        }
        let folders = above.keep(!new_root.scratch);
        Ok(Moved { from: from.target.clone(), to: to.target.clone(), replaced, folders })
    }

    /// Deletes what the permit names, with all below it where it says so, and gives the number of entries deleted. What is
    /// deleted is first given a name that nobody knows, and looked at there: what was not judged goes back untouched.
    ///
    /// # Errors
    /// `not_found`, `directory_not_empty`, `conflict`, `root_itself`.
    pub fn delete(&self, permit: Permit<DeleteFile>) -> Result<u64, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
        let target = &opened.target;
        let (folder, name) = place(&opened)?;
        let root = self.find(&terms.session, &target.root)?;
        let is_folder = match opened.fact.kind {
            Kind::Absent => return Err(missing(target)),
            kind => kind == Kind::Directory,
        };
        let failed = |errno| fault(errno, target, "deleted");
        if !Seen::at(folder, name.as_str()).is_ok_and(|seen| seen.is_as_judged(&opened.fact)) {
            return Err(changed(target));
        }
        if is_folder && !action.recursive {
            // The kernel itself refuses one that is not empty, and an empty folder is like every other.
            unlinkat(folder, name.as_str(), AtFlags::REMOVEDIR)
                .map_err(|errno| if errno == Errno::NOTEMPTY { not_empty(target) } else { failed(errno) })?;
            return Ok(1);
        }
        self.leftovers.clean(&root, &opened);
        let hidden = temporary_name().map_err(failed)?;
        // Held while it is deleted, so that a server that cleans up leftovers sees that this one is at work.
        let lock = lock(folder, &name, is_folder);
        rename_to_new(folder, &name, folder, &hidden).map_err(failed)?;
        let back = || rename_to_new(folder, &hidden, folder, &name).map_or_else(failed, |()| changed(target));
        if !Seen::at(folder, hidden.as_str()).is_ok_and(|seen| seen.is_as_judged_renamed(&opened.fact)) {
            return Err(back());
        }
        let mut deleted = 1;
        if is_folder {
            let inner = step(folder, hidden.as_str()).map_err(failed)?;
            let path = opened.path().clone();
            let now = Below::of(inner.as_fd(), &path, &Guard::new(self, &root));
            if !now.is_ok_and(|now| now.is_same(&opened.fact.below, &path, &path) && !now.entries.iter().any(|entry| entry.protected)) {
                return Err(back());
            }
            deleted += wipe(&inner, None);
        }
        unlinkat(folder, hidden.as_str(), if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() }).map_err(|errno| {
            // Something was put in while it was emptied, or could not be removed: what is left is shown again.
            let _ = rename_to_new(folder, &hidden, folder, &name);
            Failure::new(Code::Conflict, format!("`{target}` could not be deleted whole ({errno}); {} entries are gone", deleted - 1))
        })?;
        drop(lock);
        if !root.scratch {
            let _ = open_folder(folder).and_then(fsync);
        }
        Ok(deleted)
    }
}

/// Whether the move replaces a file, by what was judged.
pub(super) fn is_replacing(from: &Opened, to: &Opened) -> Result<bool, Failure> {
    if from.fact.kind == Kind::Absent {
        return Err(missing(&from.target));
    }
    if from.fact.identity.map(|id| (id.device, id.inode)) == to.fact.identity.map(|id| (id.device, id.inode)) {
        return Err(Failure::new(Code::AlreadyExists, format!("`{}` and `{}` are the same", from.target, to.target)));
    }
    let is_below = to.target.path.segments().starts_with(from.target.path.segments());
    if from.fact.kind == Kind::Directory && from.target.root == to.target.root && is_below {
        return Err(into_itself(&from.target));
    }
    match (from.fact.kind, to.fact.kind) {
        (_, Kind::Absent) => Ok(false),
        (Kind::File, Kind::File) => Ok(true),
        _ => Err(Failure::new(Code::AlreadyExists, format!("`{}` exists", to.target))
            .hint("give the whole new path, or delete what stands there first")),
    }
}

fn into_itself(target: &Target) -> Failure {
    Failure::new(Code::ArgumentInvalid, format!("`{target}` cannot be moved into itself"))
}

/// A folder that is only deleted with `recursive`.
pub(super) fn not_empty(target: &Target) -> Failure {
    fault(Errno::NOTEMPTY, target, "deleted").hint("set recursive to delete it with all below it")
}

fn lock(folder: &OwnedFd, name: &str, is_folder: bool) -> Option<OwnedFd> {
    if !is_folder {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = openat(folder, name, flags, Mode::empty()).ok()?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).ok().map(|()| lock)
}

/// Why a name was not given. Everything is as it was.
enum Stuck {
    Changed,
    Errno(Errno),
}

impl From<Errno> for Stuck {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// A move from one held place to another.
pub(super) struct Way<'a> {
    pub from: &'a Opened,
    pub to: &'a Opened,
    pub old_folder: &'a OwnedFd,
    pub old_name: &'a str,
    pub new_folder: &'a OwnedFd,
    pub new_name: &'a str,
}

impl Way<'_> {
    /// Both ends are still what was judged.
    fn is_unchanged(&self, guard: &Guard<'_>) -> Result<(), Failure> {
        if !Seen::at(self.old_folder, self.old_name).is_ok_and(|seen| seen.is_as_judged(&self.from.fact)) {
            return Err(changed(&self.from.target));
        }
        let path = self.from.path();
        if self.from.fact.kind == Kind::Directory && !self.holds_the_judged(self.old_folder, self.old_name, path, guard) {
            return Err(changed(&self.from.target));
        }
        let there = Seen::at(self.new_folder, self.new_name);
        let same = match self.to.fact.kind {
            Kind::Absent => there == Err(Errno::NOENT),
            _ => there.is_ok_and(|seen| seen.is_as_judged(&self.to.fact)),
        };
        if same { Ok(()) } else { Err(changed(&self.to.target)) }
    }

    /// Whether the folder of this name holds what was judged, and nothing protected.
    pub(super) fn holds_the_judged(&self, folder: &OwnedFd, name: &str, path: &RelPath, guard: &Guard<'_>) -> bool {
        let now = step(folder, name).and_then(|inner| Below::of(inner.as_fd(), path, guard));
        now.is_ok_and(|now| now.is_same(&self.from.fact.below, self.from.path(), path) && !now.entries.iter().any(|entry| entry.protected))
    }

    /// Renames to a name that nothing has, looks at what came along, and goes back if it was not judged.
    fn give_name(&self, guard: &Guard<'_>) -> Result<(), Stuck> {
        rename_to_new(self.old_folder, self.old_name, self.new_folder, self.new_name)?;
        let is_judged = Seen::at(self.new_folder, self.new_name).is_ok_and(|seen| seen.is_as_judged_renamed(&self.from.fact))
            && (self.from.fact.kind != Kind::Directory || self.holds_the_judged(self.new_folder, self.new_name, self.to.path(), guard));
        if is_judged {
            return Ok(());
        }
        rename_to_new(self.new_folder, self.new_name, self.old_folder, self.old_name)?;
        Err(Stuck::Changed)
    }

    /// Changes places with the file that is to be replaced, and removes that under the old name.
    fn exchange(&self) -> Result<(), Stuck> {
        let swap = || renameat_with(self.old_folder, self.old_name, self.new_folder, self.new_name, RenameFlags::EXCHANGE);
        match swap() {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Stuck::Changed),
            // A file system without the exchange: both were looked at just before.
            Err(Errno::INVAL | Errno::NOSYS) => return Ok(renameat(self.old_folder, self.old_name, self.new_folder, self.new_name)?),
            Err(errno) => return Err(errno.into()),
        }
        let judged = Seen::at(self.new_folder, self.new_name).is_ok_and(|seen| seen.is_as_judged_renamed(&self.from.fact))
            && Seen::at(self.old_folder, self.old_name).is_ok_and(|seen| seen.is_as_judged_renamed(&self.to.fact));
        if !judged {
            swap()?;
            return Err(Stuck::Changed);
        }
        unlinkat(self.old_folder, self.old_name, AtFlags::empty())?;
        Ok(())
    }

    /// Bytes and entries that the move brings along.
    fn amount(&self) -> (u64, u64) {
        match (self.from.fact.kind, &self.from.object) {
            (Kind::Directory, Some(folder)) => {
                let (bytes, entries) = usage(folder, u64::MAX);
                (bytes, entries + 1)
            }
            _ => (self.from.fact.size, 1),
        }
    }
}
