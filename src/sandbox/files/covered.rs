//! How many files a wide yes covers now: those in a file's folder, and in its root, that a call could change without another question.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::look::Guard;
use super::roots::Roots;
use super::stop::Stop;
use super::walk::{Next, Walk};
use crate::gate::Opened;
use crate::gate::{Covered, FileCount};
use crate::manifest::Manifest;
use crate::model::{Code, Kind, PathFact, RelPath, Target};
use crate::policy::later::pattern_of;
use crate::policy::paths::visible;

/// Entries that are looked at for one count; beyond that it says "more than".
const MOST: usize = 10_000;

/// Counts what a yes for the folder, and for the root, of an opened file covers, looking at [`MOST`] entries for each. None where nothing can be
/// counted. Where `stop` ends it first, it says "more than" as well.
pub(in crate::sandbox) fn covered(roots: &Roots, session: &str, opened: &Opened, manifest: &Manifest, stop: &Stop) -> Option<Covered> {
    let name = &opened.target.root;
    let root = roots.find(session, name).ok()?;
    let guard = Guard::new(roots, &root);
    let judge = |path: &RelPath, is_folder| visible(manifest, name, path, is_folder);
    let count = |handle: &Arc<OwnedFd>, path: &RelPath| {
        let mut counted = FileCount::default();
        let mut walk = Walk { meets_ignored: true, most: MOST, ..Walk::new(&root, &guard, &judge, stop) };
        let folder = Opened {
            target: Target { root: name.clone(), path: path.clone() },
            fact: PathFact::of(Kind::Directory),
            object: Some(Arc::clone(handle)),
            ..opened.clone()
        };
        let walked = walk.run(&folder, |_, path, seen| {
            if seen.kind == Kind::File && seen.names == 1 && pattern_of(manifest, name, path).is_none() {
                counted.files += 1;
            }
            Ok(Next::Enter)
        });
        // A folder that cannot be read holds nothing that a call could change.
        counted.is_more = walk.is_cut || walk.is_late || walked.is_err_and(|failure| failure.0.code == Code::Cancelled);
        counted
    };
    let (above, _) = opened.path().split_last()?;
    // A folder that is still to be made holds nothing.
    let folder = opened.folder.as_ref().map(|handle| count(handle, &above)).unwrap_or_default();
    let whole = if above.is_root() { folder } else { count(&root.folder, &RelPath::ROOT) };
    Some(Covered { folder, root: whole })
}
