//! What no call may read or change wherever it lies: the manifest and the state folder, known by place and by inode.

use std::collections::HashSet;
use std::ffi::{CStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::below::{DEEPEST, entries};
use super::resolve::step;
use super::stat::Stat;
use crate::model::{Kind, RelPath};

/// The protected paths. They need not exist: a manifest that is made later is protected as well.
#[derive(Debug, Default)]
pub(super) struct Protected {
    paths: Vec<ProtectedPath>,
}

#[derive(Debug)]
struct ProtectedPath {
    /// The canonical path, as text: only compared, never opened again.
    path: PathBuf,
    /// The folder that holds it and its name there, while that folder exists.
    folder: Option<(OwnedFd, OsString)>,
    /// Which object it was at the start; a manifest replaced by an editor keeps both inodes protected.
    first: Option<(u64, u64)>,
}

/// How a path of a root relates to what is protected, by its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nearness {
    /// It has nothing to do with it.
    Apart,
    /// A protected place lies below it: what moves or deletes it carries that along.
    Above,
    /// It is a protected place or lies in one.
    Within,
}

impl Protected {
    /// The protected paths, by their canonical paths (the last names may be missing).
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, Errno> {
        let paths = paths.iter().map(|path| {
            let folder = match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => match open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
                    Ok(folder) => Some((folder, name.to_owned())),
                    Err(Errno::NOENT) => None,
                    Err(errno) => return Err(errno),
                },
                _ => None,
            };
            let mut place = ProtectedPath { path: path.clone(), folder, first: None };
            place.first = place.seen().map(|seen| seen.object());
            Ok(place)
        });
        Ok(Self { paths: paths.collect::<Result<_, _>>()? })
    }

    /// Whether it was a protected object at the start. Costs no look at the disk.
    pub(super) fn was(&self, object: (u64, u64)) -> bool {
        self.paths.iter().any(|place| place.first == Some(object))
    }

    /// The protected objects as they are now.
    pub(super) fn objects(&self) -> Objects {
        let ids = self.paths.iter().flat_map(|place| [place.first, place.seen().map(|seen| seen.object())]).flatten().collect();
        Objects { ids }
    }

    /// The protected paths that lie in the root at `root`, relative to it and folded.
    pub(super) fn inside(&self, root: &Path) -> Vec<Vec<String>> {
        let below = self.paths.iter().filter_map(|place| place.path.strip_prefix(root).ok());
        below.map(|rest| rest.iter().map(|name| fold(&name.to_string_lossy())).collect()).collect()
    }

    /// Whether a protected file has more names than one.
    pub(super) fn is_linked(&self) -> bool {
        self.paths.iter().filter_map(ProtectedPath::seen).any(|seen| seen.kind == Kind::File && seen.names > 1)
    }

    /// Whether a protected folder lies in the root at `root`, so that what lies below it has to be looked for on the way.
    pub(super) fn has_folder_inside(&self, root: &Path) -> bool {
        let is_folder = |place: &&ProtectedPath| place.seen().is_some_and(|seen| seen.kind == Kind::Directory);
        self.paths.iter().filter(is_folder).any(|place| place.path.starts_with(root))
    }

    /// Whether a folder is a protected place or lies in one, so that it can be no root.
    pub(super) fn holds_folder(&self, folder: &Path) -> bool {
        self.paths.iter().any(|place| folder.starts_with(&place.path))
    }

    /// Every object in the protected folders, for what is reached over another mount. Bounded; nothing when there is too much.
    pub(super) fn everything(&self, except: &[&str]) -> Option<HashSet<(u64, u64)>> {
        let mut found: HashSet<(u64, u64)> = self.objects().ids.into_iter().collect();
        for (folder, name) in self.paths.iter().filter_map(|place| place.folder.as_ref()) {
            if let Ok(handle) = step(folder, name.as_os_str()) {
                collect(handle.as_fd(), except, 0, &mut found)?;
            }
        }
        Some(found)
    }
}

impl ProtectedPath {
    /// What stands there now.
    fn seen(&self) -> Option<Stat> {
        let (folder, name) = self.folder.as_ref()?;
        Stat::at(folder, name.as_os_str()).ok()
    }
}

/// What of one root a program must not see, wherever the manifest's patterns stand.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Hidden {
    pub(super) paths: Vec<Vec<String>>,
    pub(super) objects: Objects,
    /// Whether a protected file has a second name, which may lie anywhere in the root.
    pub(super) is_linked: bool,
}

impl Hidden {
    /// Whether a protected place lies in the root.
    pub(in crate::sandbox) fn is_inside(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Whether the whole root has to be looked through for it.
    pub(in crate::sandbox) const fn is_anywhere(&self) -> bool {
        self.is_linked
    }

    /// Whether it lies below this folder, by its text.
    pub(in crate::sandbox) fn is_below(&self, path: &RelPath) -> bool {
        nearness(&self.paths, path) == Nearness::Above
    }

    /// Whether a path is protected by its text.
    pub(in crate::sandbox) fn holds(&self, path: &RelPath) -> bool {
        nearness(&self.paths, path) == Nearness::Within
    }

    /// Whether it is a protected object.
    pub(super) fn is_object(&self, object: (u64, u64)) -> bool {
        self.objects.hold(object)
    }

    /// Whether the entry `name` of `folder` is a protected object, whatever it is called.
    pub(in crate::sandbox) fn is(&self, folder: impl AsFd, name: &CStr, inode: u64) -> bool {
        let is_object = self.objects.ids.iter().any(|(_, known)| *known == inode);
        is_object && Stat::at(folder, name).is_ok_and(|seen| self.objects.hold(seen.object()))
    }
}

/// Device and inode of each protected object.
#[derive(Debug, Default)]
pub(super) struct Objects {
    ids: Vec<(u64, u64)>,
}

impl Objects {
    pub(super) fn hold(&self, object: (u64, u64)) -> bool {
        self.ids.contains(&object)
    }
}

/// How a path stands to these paths, which come from [`Protected::inside`]. Compared without upper and lower case, so that
/// it holds on a folder that folds case.
pub(super) fn nearness(paths: &[Vec<String>], path: &RelPath) -> Nearness {
    if paths.is_empty() {
        return Nearness::Apart;
    }
    let path: Vec<String> = path.segments().iter().map(|name| fold(name)).collect();
    paths.iter().fold(Nearness::Apart, |nearest, place| match nearest {
        Nearness::Within => nearest,
        _ if path.starts_with(place) => Nearness::Within,
        _ if place.starts_with(&path) => Nearness::Above,
        _ => nearest,
    })
}

fn fold(name: &str) -> String {
    name.to_lowercase()
}

fn collect(folder: BorrowedFd<'_>, except: &[&str], depth: usize, found: &mut HashSet<(u64, u64)>) -> Option<()> {
    // What is no folder, or cannot be read, shows nothing.
    let Ok((inside, more)) = entries(folder, MOST_OBJECTS.saturating_sub(found.len())) else { return Some(()) };
    if more || depth > DEEPEST {
        return None;
    }
    for (name, seen) in inside {
        if depth == 0 && except.iter().any(|except| name == *except) {
            continue;
        }
        found.insert(seen.object());
        if seen.kind == Kind::Directory
            && let Ok(handle) = step(folder, name.as_os_str())
        {
            collect(handle.as_fd(), except, depth + 1, found)?;
        }
    }
    Some(())
}

const MOST_OBJECTS: usize = 100_000;
