//! What a path that leads to nothing was likely meant to be: the nearest entry of the last folder that is there, or a file of that name
//! elsewhere. Only what a listing would show is named.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::Arc;

use super::below::entries;
use super::ignored::Ignored;
use super::list::{Judge, directory};
use super::look::Guard;
use super::roots::{Root, Roots};
use super::seen::Seen;
use super::stop::Stop;
use crate::model::name::is_temporary;
use crate::model::{Kind, Opened, RelPath, is_alike, nearest};
use crate::policy::paths::Visible;

/// An entry that was likely meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// Its path below the root.
    pub path: RelPath,
    /// Whether it is a folder.
    pub is_folder: bool,
}

impl Roots {
    /// The entry of a folder whose name is nearest to a missing one. `folder`: opened for listing; `missing`: the names below it, of which the
    /// first is not there. Where what follows is found below the nearest folder, that is the answer. At most [`FEW`] entries are looked at.
    pub fn near(&self, session: &str, folder: &Opened, missing: &[String], judge: Judge<'_>) -> Option<Near> {
        let root = self.find(session, &folder.target.root).ok()?;
        let guard = Guard::new(self, &root);
        let (handle, top) = directory(folder).ok()?;
        let (name, rest) = missing.split_first()?;
        let mut shown: Vec<(String, bool)> = entries(handle, FEW)
            .ok()?
            .0
            .into_iter()
            .filter_map(|(name, seen)| {
                let name = name.into_string().ok()?;
                is_shown(&guard, judge, &top.join(&name), &seen).then_some((name, seen.kind == Kind::Directory))
            })
            .filter(|(_, is_folder)| *is_folder || rest.is_empty())
            .collect();
        shown.sort_unstable();
        let meant = nearest(name, shown.iter().map(|(name, _)| name.as_str()))?;
        let path = top.join(&meant);
        let whole = rest.iter().fold(path.clone(), |path, name| path.join(name));
        if !rest.is_empty()
            && let Some(is_folder) = shown_at(&root, &guard, judge, &whole)
        {
            return Some(Near { path: whole, is_folder });
        }
        let is_folder = shown.iter().any(|(name, is_folder)| *name == meant && *is_folder);
        Some(Near { path, is_folder })
    }

    /// The files below a folder that have a name but for case, in order of depth and at most [`SAME`]. `folder`: opened for listing. At most [`MOST`] entries
    /// are looked at, and none in folders that `.gitignore` files name.
    pub fn of_name(&self, session: &str, folder: &Opened, name: &str, judge: Judge<'_>, stop: &Stop) -> Vec<RelPath> {
        let mut found = Vec::new();
        let (Ok(root), Ok((handle, top))) = (self.find(session, &folder.target.root), directory(folder)) else { return found };
        let guard = Guard::new(self, &root);
        let mut left = MOST;
        let mut waiting = VecDeque::from([(top, Arc::clone(handle), Ignored::default())]);
        while let Some((path, handle, mut ignored)) = waiting.pop_front() {
            if stop.is_late() || stop.is_cancelled() || left == 0 {
                break;
            }
            let Ok((mut inside, _)) = entries(&handle, left) else { continue };
            left -= inside.len();
            inside.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            ignored.enter(&handle, &path, inside.iter().any(|(name, seen)| name == ".gitignore" && seen.kind == Kind::File));
            for (entry, seen) in inside {
                let Some(entry) = entry.to_str() else { continue };
                let (path, is_folder) = (path.join(entry), seen.kind == Kind::Directory);
                if !is_shown(&guard, judge, &path, &seen) || ignored.names(&path, is_folder) {
                    continue;
                }
                if is_folder {
                    if let Ok(handle) = root.resolver.open(root.folder.as_fd(), &path) {
                        waiting.push_back((path, Arc::new(handle), ignored.clone()));
                    }
                } else if is_alike(entry, name) {
                    found.push(path);
                    if found.len() >= SAME {
                        return found;
                    }
                }
            }
        }
        found
    }
}

/// Whether a listing shows the entry, and a call could go to it: a file with one name, or a folder.
fn is_shown(guard: &Guard<'_>, judge: Judge<'_>, path: &RelPath, seen: &Seen) -> bool {
    let is_folder = seen.kind == Kind::Directory;
    let has_one_name = seen.kind == Kind::File && seen.names == 1;
    let is_own = path.segments().last().is_some_and(|name| is_temporary(name.as_bytes()));
    (is_folder || has_one_name) && !is_own && judge(path, is_folder) != Visible::No && !guard.holds(path, seen)
}

/// Whether the entry at a path is a folder; none where nothing is there that is shown.
fn shown_at(root: &Root, guard: &Guard<'_>, judge: Judge<'_>, path: &RelPath) -> Option<bool> {
    let seen = Seen::of(root.resolver.open(root.folder.as_fd(), path).ok()?).ok()?;
    is_shown(guard, judge, path, &seen).then_some(seen.kind == Kind::Directory)
}

/// Entries of one folder that a missing name is compared with.
const FEW: usize = 2048;
/// Entries that are looked at for a file of the same name.
const MOST: usize = 4096;
/// Files of the same name that are given.
const SAME: usize = 3;
