//! How many files a wide yes covers now: those in a file's folder, and in its root, that a call could change without another question.

use std::os::fd::{AsFd, BorrowedFd};

use super::below::{DEEPEST, entries};
use super::look::Guard;
use super::resolve::step;
use super::roots::Roots;
use super::stop::Stop;
use crate::gate::{Counted, Covered};
use crate::manifest::Manifest;
use crate::model::{Ancestor, Kind, Opened, RelPath};
use crate::policy::later::pattern_of;
use crate::policy::paths::{Visible, visible};

/// Entries that are looked at for one count; beyond that it says "more than".
pub(in crate::sandbox) const MOST: usize = 10_000;
/// Entries that are looked at faster than a thread for them begins.
pub(in crate::sandbox) const FEW: usize = 256;

/// Counts what a yes for the folder, and for the root, of an opened file covers, looking at `most` entries for each. None where nothing can be
/// counted. Where `stop` ends it first, it says "more than" as well.
pub(in crate::sandbox) fn covered(
    roots: &Roots,
    session: &str,
    opened: &Opened,
    manifest: &Manifest,
    most: usize,
    stop: &Stop,
) -> Option<Covered> {
    let root = roots.find(session, &opened.target.root).ok()?;
    let mut folders = Vec::new();
    let mut walk = Walk { folders: &mut folders, guard: &Guard::new(roots, &root), manifest, root: &opened.target.root, most, stop };
    let (_, folder) = opened.path().segments().split_last()?;
    let above = opened.path().ancestors().nth(folder.len())?;
    let folder = match &opened.folder {
        Some(handle) => walk.count(handle.as_fd(), &above),
        // It is still to be made.
        None => Counted::default(),
    };
    let whole = if above.is_root() { folder } else { walk.count(root.folder.as_fd(), &RelPath::ROOT) };
    Some(Covered { folder, root: whole, folders })
}

struct Walk<'a> {
    folders: &'a mut Vec<Ancestor>,
    guard: &'a Guard<'a>,
    manifest: &'a Manifest,
    root: &'a str,
    most: usize,
    stop: &'a Stop,
}

impl Walk<'_> {
    fn count(&mut self, folder: BorrowedFd<'_>, path: &RelPath) -> Counted {
        let (mut counted, mut left) = (Counted::default(), self.most);
        self.add(folder, path, 0, &mut counted, &mut left);
        counted
    }

    fn is_over(&self) -> bool {
        self.stop.is_cancelled() || self.stop.is_late()
    }

    fn add(&mut self, folder: BorrowedFd<'_>, path: &RelPath, depth: usize, counted: &mut Counted, left: &mut usize) {
        if self.is_over() {
            counted.is_more = true;
            return;
        }
        // A folder that cannot be read holds nothing that a call could change.
        let Ok((found, more)) = entries(folder, *left) else { return };
        counted.is_more |= more || depth > DEEPEST;
        *left = left.saturating_sub(found.len());
        for (name, seen) in found {
            if self.is_over() {
                counted.is_more = true;
                return;
            }
            let path = path.join(&name.to_string_lossy());
            let is_folder = seen.kind == Kind::Directory;
            let shown = visible(self.manifest, self.root, &path, is_folder);
            if shown == Visible::No || self.guard.holds(&path, &seen) {
                continue;
            }
            if is_folder && depth <= DEEPEST {
                self.folders.push(Ancestor::new(seen.object(), seen.ctime_ns));
                if let Ok(inner) = step(folder, name.as_os_str()) {
                    self.add(inner.as_fd(), &path, depth + 1, counted, left);
                }
            } else if seen.kind == Kind::File && seen.names == 1 && pattern_of(self.manifest, self.root, &path).is_none() {
                counted.files += 1;
            }
        }
    }
}
