//! The folders from a root down to what a call names: a grant is for these very folders, and not for whatever takes their names later.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, openat};

use super::resolve::open;
use super::stat::Stat;
use crate::model::{Ancestor, Kind, Opened};

/// The folders that exist on the way to what was opened, the one below the root first and the root left out; what was opened as well, where it is
/// a folder. Read upwards from the handle that the call acts on, or from the last folder that is there.
pub(super) fn ancestors(opened: &Opened) -> Vec<Ancestor> {
    let above = opened.path().segments().len().saturating_sub(1);
    let count = if opened.folder.is_some() { above } else { above.saturating_sub(opened.fact.missing_folders) };
    let last = || opened.path().ancestors().nth(count).and_then(|path| open(&opened.root, &path).ok()).map(Arc::new);
    let mut at: Option<Arc<OwnedFd>> = opened.folder.clone().or_else(last);
    let mut steps = Vec::with_capacity(count + 1);
    for _ in 0..count {
        let seen = at.as_ref().and_then(|at| Stat::of(at.as_fd()).ok());
        steps.push(seen.map_or(Ancestor::UNKNOWN, |seen| Ancestor::new(seen.object(), seen.identity.ctime_ns)));
        at = at.and_then(|at| openat(&*at, c"..", FOLDER, Mode::empty()).ok()).map(Arc::new);
    }
    steps.reverse();
    if let (Kind::Directory, Some(identity)) = (opened.fact.kind, opened.fact.identity) {
        steps.push(Ancestor::new((identity.device, identity.inode), identity.ctime_ns));
    }
    steps
}

/// A handle on a folder that opens nothing for reading and follows no link.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
