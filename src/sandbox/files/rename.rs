//! `move` and `delete`: names taken from what was judged, and from nothing else.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, fsync, renameat, unlinkat};
use rustix::io::Errno;

use super::below::{Below, usage, wipe};
use super::fault::{changed, fault, missing};
use super::leaks::Leak;
use super::look::{Guard, pair, single};
use super::quota::check_quota;
use super::replace::{Destination, USUAL, rename_to_new};
use super::resolve::{open_folder, step};
use super::roots::Roots;
use super::stat::Stat;
use super::stop::Stop;
use super::transfer::Transfer;
use super::write::place;
use crate::gate::Opened;
use crate::gate::Permit;
use crate::model::{Code, DeleteFile, Failure, Kind, MoveFile, Target};

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
    /// system is copied there and deleted here. Missing folders above the new place are made, and stay where nothing is moved then.
    ///
    /// # Errors
    /// `not_found`, `already_exists`, `conflict`, `argument_invalid` (a folder into itself), `no_space`, `root_itself`, `cancelled`, `masked_content`
    /// (it holds masked secrets, and programs that do not see it would see it at its new place), `timeout` (looking for them).
    pub fn rename(&self, permit: Permit<MoveFile>, stop: &Stop) -> Result<Moved, Failure> {
        let (_, opened, terms) = permit.spend();
        let [from, to] = pair(opened)?;
        let is_replacing = is_replacing(&from, &to)?;
        if let Some(leak) = Leak::between(&terms.manifest, &from, &to, &self.known) {
            leak.check(stop)?;
        }
        let (old_folder, old_name) = place(&from)?;
        let (old_root, new_root) = (self.find(&terms.session, &from.target.root)?, self.find(&terms.session, &to.target.root)?);
        let old_guard = Guard::new(self, &old_root);
        let is_elsewhere = from.target.root != to.target.root;
        unchanged(&from, &old_guard)?;
        if is_elsewhere || to.fact.missing_folders > 0 {
            let (bytes, files) = if is_elsewhere && new_root.quota.is_some() { amount(&from) } else { (0, 0) };
            check_quota(&new_root, &to.target, bytes, files)?;
        }
        let (new_folder, new_name, folders) = self.new_place(&new_root, &to)?;
        let renamed = if is_elsewhere {
            Err(Errno::XDEV)
        } else if is_replacing {
            if !Stat::at(&new_folder, new_name.as_str()).is_ok_and(|seen| seen.is_as_judged(&to.fact)) {
                return Err(changed(&to.target));
            }
            renameat(old_folder, old_name.as_str(), &new_folder, new_name.as_str())
        } else {
            rename_to_new(old_folder, &old_name, &new_folder, &new_name)
        };
        match renamed {
            Ok(()) => {}
            Err(Errno::XDEV) => {
                let destination =
                    Destination { folder: &new_folder, name: &new_name, judged: &to.fact, mode: USUAL, durable: !new_root.scratch };
                Transfer { from: &from, to: &to.target, destination, guard: &old_guard, stop }.run()?;
            }
            Err(Errno::INVAL) => return Err(into_itself(&from.target)),
            Err(Errno::EXIST) => return Err(changed(&to.target)),
            Err(errno) => return Err(fault(errno, &from.target, "moved")),
        }
        for (root, folder) in [(&old_root, old_folder), (&new_root, &new_folder)] {
            if !root.scratch {
                // The move has happened; that it is not on disk yet is no reason to report it as failed.
                let _ = open_folder(folder).and_then(fsync);
            }
        }
        Ok(Moved { from: from.target, to: to.target, replaced: is_replacing, folders })
    }

    /// Deletes what the permit names, with all below it where it says so, and gives the number of entries deleted.
    ///
    /// # Errors
    /// `not_found`, `directory_not_empty`, `conflict`, `root_itself`.
    pub fn delete(&self, permit: Permit<DeleteFile>) -> Result<u64, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = single(opened)?;
        let target = &opened.target;
        if opened.fact.kind == Kind::Absent {
            return Err(missing(target));
        }
        let (folder, name) = place(&opened)?;
        let root = self.find(&terms.session, &target.root)?;
        let deleted = if opened.fact.kind == Kind::Directory && !action.recursive {
            if !Stat::at(folder, name.as_str()).is_ok_and(|seen| seen.is_as_judged(&opened.fact)) {
                return Err(changed(target));
            }
            // The kernel itself refuses one that is not empty, and an empty folder is like every other.
            let failed = |errno| if errno == Errno::NOTEMPTY { not_empty(target) } else { fault(errno, target, "deleted") };
            unlinkat(folder, name.as_str(), AtFlags::REMOVEDIR).map_err(failed)?;
            1
        } else {
            remove(&opened, &Guard::new(self, &root))?
        };
        if !root.scratch {
            let _ = open_folder(folder).and_then(fsync);
        }
        Ok(deleted)
    }
}

/// Whether what stands at a judged place is still what was judged, with the very entries below it and none that is protected; then its folder.
pub(super) fn unchanged(opened: &Opened, guard: &Guard<'_>) -> Result<Option<OwnedFd>, Failure> {
    let target = &opened.target;
    let (folder, name) = place(opened)?;
    if !Stat::at(folder, name.as_str()).is_ok_and(|seen| seen.is_as_judged(&opened.fact)) {
        return Err(changed(target));
    }
    if opened.fact.kind != Kind::Directory {
        return Ok(None);
    }
    let inner = step(folder, name.as_str()).map_err(|_| changed(target))?;
    let below = Below::of(inner.as_fd(), opened.path(), guard).map_err(|_| changed(target))?;
    let is_judged = below.is_same(&opened.fact.below) && !below.entries.iter().any(|entry| entry.protected);
    if is_judged { Ok(Some(inner)) } else { Err(changed(target)) }
}

/// Deletes what was judged with all below it, and gives the number of entries. What another program puts in meanwhile goes as well.
pub(super) fn remove(opened: &Opened, guard: &Guard<'_>) -> Result<u64, Failure> {
    let (folder, name) = place(opened)?;
    let inner = unchanged(opened, guard)?;
    let deleted = inner.as_ref().map_or(0, |inner| wipe(inner, None));
    unlinkat(folder, name.as_str(), if inner.is_some() { AtFlags::REMOVEDIR } else { AtFlags::empty() }).map_err(|errno| match inner {
        Some(_) => {
            let why = format!("`{}` could not be deleted whole ({errno}); {deleted} entries are gone", opened.target);
            Failure::new(Code::Conflict, why)
        }
        None => fault(errno, &opened.target, "deleted"),
    })?;
    Ok(deleted + 1)
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
            .hint("give the whole new path, or delete the existing entry first")),
    }
}

fn into_itself(target: &Target) -> Failure {
    Failure::new(Code::ArgumentInvalid, format!("`{target}` cannot be moved into itself"))
}

/// A folder that is only deleted with `recursive`.
pub(super) fn not_empty(target: &Target) -> Failure {
    fault(Errno::NOTEMPTY, target, "deleted").hint("set recursive to delete it with all below it")
}

/// Bytes and entries that a move brings along.
fn amount(from: &Opened) -> (u64, u64) {
    match (from.fact.kind, &from.object) {
        (Kind::Directory, Some(folder)) => {
            let (bytes, entries) = usage(folder, u64::MAX);
            (bytes, entries + 1)
        }
        _ => (from.fact.size, 1),
    }
}
