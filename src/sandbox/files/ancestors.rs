//! The folders from a root down to what a call names: a grant is for these very folders, and not for whatever takes their names later.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use crate::model::{Ancestor, Kind, Opened};

fn seen(folder: impl AsFd) -> Result<Ancestor, Errno> {
    let stat = fstat(folder)?;
    Ok(Ancestor::new((stat.st_dev, stat.st_ino), i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec)))
}

/// The folders that exist on the way to what was opened, the one below the root first and the root left out; what was opened as well, where it is
/// a folder. Read through the handle that the call acts on, where there is one.
pub(super) fn ancestors(opened: &Opened) -> Vec<Ancestor> {
    let parents = opened.path().segments().split_last().map_or(&[][..], |(_, parents)| parents);
    let mut steps = if let Some(folder) = &opened.folder {
        upward(folder, parents.len())
    } else {
        let there = parents.len().saturating_sub(opened.fact.missing_folders);
        downward(&opened.root, parents.iter().take(there).map(String::as_str))
    };
    if let (Kind::Directory, Some(identity)) = (opened.fact.kind, opened.fact.identity) {
        steps.push(Ancestor::new((identity.device, identity.inode), identity.ctime_ns));
    }
    steps
}

fn upward(folder: &OwnedFd, count: usize) -> Vec<Ancestor> {
    let mut steps = Vec::with_capacity(count);
    let mut above: Option<OwnedFd> = None;
    for _ in 0..count {
        let at = above.as_ref().map_or(folder.as_fd(), AsFd::as_fd);
        steps.push(seen(at).unwrap_or(Ancestor::UNKNOWN));
        let Ok(next) = openat(at, c"..", FOLDER, Mode::empty()) else {
            steps.resize(count, Ancestor::UNKNOWN);
            break;
        };
        above = Some(next);
    }
    steps.reverse();
    steps
}

fn downward<'n>(root: &OwnedFd, names: impl Iterator<Item = &'n str>) -> Vec<Ancestor> {
    let mut steps = Vec::new();
    let mut at: Option<OwnedFd> = None;
    for name in names {
        match openat(at.as_ref().map_or(root.as_fd(), AsFd::as_fd), name, FOLDER, Mode::empty()) {
            Ok(next) => {
                steps.push(seen(&next).unwrap_or(Ancestor::UNKNOWN));
                at = Some(next);
            }
            // It is still to be made.
            Err(Errno::NOENT) => break,
            Err(_) => {
                steps.push(Ancestor::UNKNOWN);
                break;
            }
        }
    }
    steps
}

/// A handle on a folder that opens nothing for reading and follows no link.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
