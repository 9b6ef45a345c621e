//! The folders from a root down to what a call names: a grant is for these very folders, and not for whatever takes their names later.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use crate::model::{Kind, Opened};

/// One folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Device and inode.
    pub object: (u64, u64),
    /// When its entries or its own name changed last, in milliseconds since 1970. Only the kernel sets it.
    pub changed: i128,
}

impl Step {
    /// A folder that no grant knows: what stands for one that cannot be looked at.
    const UNKNOWN: Self = Self { object: (0, 0), changed: i128::MAX };

    /// A folder of this identity.
    pub const fn new(object: (u64, u64), ctime_ns: i128) -> Self {
        Self { object, changed: ctime_ns.div_euclid(1_000_000) }
    }

    fn of(folder: impl AsFd) -> Result<Self, Errno> {
        let stat = fstat(folder)?;
        Ok(Self::new((stat.st_dev, stat.st_ino), i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec)))
    }
}

/// The folders that exist on the way to what was opened, the one below the root first and the root left out; what was opened as well, where it is
/// a folder. Read through the handle that the call acts on, where there is one.
pub(super) fn way(opened: &Opened) -> Vec<Step> {
    let parents = opened.path().segments().split_last().map_or(&[][..], |(_, parents)| parents);
    let mut steps = match &opened.folder {
        Some(folder) => upward(folder, parents.len()),
        None => {
            let there = parents.len().saturating_sub(opened.fact.missing_folders);
            downward(&opened.root, parents.iter().take(there).map(|name| name.as_str()))
        }
    };
    if let (Kind::Directory, Some(identity)) = (opened.fact.kind, opened.fact.identity) {
        steps.push(Step::new((identity.device, identity.inode), identity.ctime_ns));
    }
    steps
}

fn upward(folder: &OwnedFd, count: usize) -> Vec<Step> {
    let mut steps = Vec::with_capacity(count);
    let mut above: Option<OwnedFd> = None;
    for _ in 0..count {
        let at = above.as_ref().map_or(folder.as_fd(), AsFd::as_fd);
        steps.push(Step::of(at).unwrap_or(Step::UNKNOWN));
        match openat(at, c"..", FOLDER, Mode::empty()) {
            Ok(next) => above = Some(next),
            Err(_) => {
                steps.resize(count, Step::UNKNOWN);
                break;
            }
        }
    }
    steps.reverse();
    steps
}

fn downward<'n>(root: &OwnedFd, names: impl Iterator<Item = &'n str>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at: Option<OwnedFd> = None;
    for name in names {
        match openat(at.as_ref().map_or(root.as_fd(), AsFd::as_fd), name, FOLDER, Mode::empty()) {
            Ok(next) => {
                steps.push(Step::of(&next).unwrap_or(Step::UNKNOWN));
                at = Some(next);
            }
            // It is still to be made.
            Err(Errno::NOENT) => break,
            Err(_) => {
                steps.push(Step::UNKNOWN);
                break;
            }
        }
    }
    steps
}

/// A handle on a folder that opens nothing for reading and follows no link.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
