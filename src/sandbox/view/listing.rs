//! Listings of folders that are kept from one look to the next: a folder whose stamps are the same has the same entries.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{Dir, FileType};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::{Look, Unshown};
use crate::manifest::Manifest;
use crate::model::{Identity, Kind, RelPath};
use crate::policy::paths::{Visible, visible};
use crate::sandbox::files::{Stat, kind_of};

/// What is remembered of one root.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The manifest whose patterns judged the entries.
    of: Option<Arc<Manifest>>,
    /// Listings by the folder's path.
    listings: HashMap<String, Arc<Listing>>,
}

impl Kept {
    /// Takes the listings out, where they are of this manifest.
    pub(super) fn take(&mut self, manifest: &Arc<Manifest>) -> HashMap<String, Arc<Listing>> {
        let same = self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, manifest));
        let listings = std::mem::take(&mut self.listings);
        if same { listings } else { HashMap::new() }
    }

    /// Keeps the listings of a look for the next one.
    pub(super) fn keep(&mut self, manifest: &Arc<Manifest>, listings: HashMap<String, Arc<Listing>>) {
        (self.of, self.listings) = (Some(Arc::clone(manifest)), listings);
    }

    /// Whether nothing was kept yet.
    pub(super) fn is_empty(&self) -> bool {
        self.listings.is_empty()
    }
}

/// The entries of one folder as they were.
#[derive(Debug)]
pub(super) struct Listing {
    /// Which folder it is, and when it was changed.
    stamp: Identity,
    /// Whether the folder had not changed for a while, so that a later change bears another stamp.
    settled: bool,
    /// Whether an entry has a name that is not UTF-8: no pattern can judge it and no mask can name it. The entries are none then.
    pub(super) is_unnamed: bool,
    pub(super) entries: Vec<Entry>,
}

/// One entry.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: CString,
    pub(super) inode: u64,
    pub(super) kind: Kind,
    /// Whether the patterns show it, and it is not the server's own by its path.
    pub(super) is_shown: bool,
}

/// Whether the clock that stamps files has gone on since: two changes within one of its ticks bear the same stamp.
fn is_settled(stamp: Identity, now: i64) -> bool {
    // A second is more than any file system's tick but that of FAT, whose stamps are even seconds.
    const SETTLED: i128 = 3_000_000_000;
    let now = i128::from(now) * 1_000_000_000;
    now - stamp.ctime_ns >= SETTLED && now - stamp.mtime_ns >= SETTLED
}

/// Seconds since 1970, by the clock that stamps files.
pub(super) fn clock() -> i64 {
    rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse).tv_sec
}

/// How far a look may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound<'b> {
    /// The most entries of all folders together, which the refusal names.
    pub(super) most: usize,
    /// How many of them are left.
    pub(super) left: usize,
    /// Ends the look.
    pub(super) stop: &'b CancellationToken,
}

/// After so many entries of one folder it is asked whether the look is still wanted.
const ASK_EVERY: usize = 1024;

#[cfg(test)]
thread_local! {
    /// Entries that this thread has read.
    pub(super) static READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The entries of an opened folder: those that are kept, where its stamps say that they still hold. `now`: from [`clock`].
///
/// # Errors
/// [`Unshown::TooMany`] at the first entry beyond the bound, [`Unshown::Cancelled`], [`Unshown::Unreadable`].
pub(super) fn list(
    look: &Look,
    path: &RelPath,
    folder: &OwnedFd,
    kept: Option<Arc<Listing>>,
    now: i64,
    bound: Bound<'_>,
) -> Result<Arc<Listing>, Unshown> {
    let stamp = Stat::of(folder).map_err(Unshown::Unreadable)?.identity;
    if let Some(kept) = kept.filter(|kept| kept.settled && kept.stamp == stamp) {
        return Ok(kept);
    }
    // Asked before the entries are read: what changes meanwhile is not settled.
    let settled = is_settled(stamp, now);
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder).map_err(Unshown::Unreadable)? {
        let entry = entry.map_err(Unshown::Unreadable)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        #[cfg(test)]
        READ.set(READ.get() + 1);
        if entries.len() >= bound.left {
            return Err(Unshown::TooMany(bound.most));
        }
        if entries.len() % ASK_EVERY == ASK_EVERY - 1 && bound.stop.is_cancelled() {
            return Err(Unshown::Cancelled);
        }
        let Some(kind) = kind_at(folder, name, entry.file_type())? else { continue };
        let Ok(text) = name.to_str() else {
            return Ok(Arc::new(Listing { stamp, settled, is_unnamed: true, entries: Vec::new() }));
        };
        let below = path.join(text);
        let is_shown = visible(&look.manifest, &look.name, &below, kind == Kind::Directory) != Visible::No && !look.hidden.holds(&below);
        entries.push(Entry { name: name.to_owned(), inode: entry.ino(), kind, is_shown });
    }
    Ok(Arc::new(Listing { stamp, settled, is_unnamed: false, entries }))
}

/// What an entry is; none where it has gone meanwhile.
fn kind_at(folder: &OwnedFd, name: &CStr, file_type: FileType) -> Result<Option<Kind>, Unshown> {
    if file_type != FileType::Unknown {
        return Ok(Some(kind_of(file_type)));
    }
    // Some file systems do not tell in the listing.
    match Stat::at(folder, name) {
        Ok(seen) => Ok(Some(seen.kind)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(Unshown::Unreadable(errno)),
    }
}
