//! What a path that leads to nothing was likely meant to be: the nearest entry of the last folder that is there, or a file of that name
//! elsewhere. Only what a listing would show is named.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::look::Guard;
use super::resolve::open;
use super::roots::Roots;
use super::stat::Stat;
use super::stop::Stop;
use super::walk::{Judge, Next, Walk};
use crate::gate::Opened;
use crate::model::{Kind, RelPath, is_alike, nearest};
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
    /// first is not there. Where what follows is found below the nearest folder, that is the answer. At most 2048 entries are looked at.
    pub fn near(&self, session: &str, folder: &Opened, missing: &[String], judge: Judge<'_>) -> Option<Near> {
        let root = self.find(session, &folder.target.root).ok()?;
        let guard = Guard::new(self, &root);
        let (name, rest) = missing.split_first()?;
        let mut shown: Vec<Near> = Vec::new();
        let stop = Stop::new(CancellationToken::new(), Duration::from_secs(1));
        let mut walk = Walk { meets_ignored: true, depth: 1, most: FEW, ..Walk::new(&root, &guard, judge, &stop) };
        let walked = walk.run(folder, |_, path, seen| {
            let is_folder = seen.kind == Kind::Directory;
            if is_reachable(seen) && (is_folder || rest.is_empty()) {
                shown.push(Near { path: path.clone(), is_folder });
            }
            Ok(Next::Enter)
        });
        walked.ok()?;
        let last = |near: &Near| near.path.segments().last().cloned().unwrap_or_default();
        let names: Vec<String> = shown.iter().map(last).collect();
        let meant = nearest(name, names.iter().map(String::as_str))?;
        let near = shown.into_iter().find(|near| last(near) == meant)?;
        let whole = rest.iter().fold(near.path.clone(), |path, name| path.join(name));
        let below = open(&root.folder, &whole)
            .and_then(Stat::of)
            .ok()
            .filter(|seen| is_reachable(seen) && judge(&whole, seen.kind == Kind::Directory) != Visible::No && !guard.holds(&whole, seen));
        Some(below.map_or(near, |seen| Near { path: whole, is_folder: seen.kind == Kind::Directory }))
    }

    /// The files below a folder that have a name but for case, in order of depth and at most 3. `folder`: opened for listing. At most
    /// 4096 entries are looked at, and none in folders that `.gitignore` files name.
    pub fn of_name(&self, session: &str, folder: &Opened, name: &str, judge: Judge<'_>, stop: &Stop) -> Vec<RelPath> {
        let mut found = Vec::new();
        let Ok(root) = self.find(session, &folder.target.root) else { return found };
        let guard = Guard::new(self, &root);
        let mut walk = Walk { most: MOST, ..Walk::new(&root, &guard, judge, stop) };
        let walked = walk.run(folder, |_, path, seen| {
            if seen.kind == Kind::File && is_reachable(seen) && path.segments().last().is_some_and(|entry| is_alike(entry, name)) {
                found.push(path.clone());
            }
            Ok(if found.len() >= SAME { Next::End } else { Next::Enter })
        });
        // A hint is no reason to fail: what was found so far is the answer.
        drop(walked);
        found
    }
}

/// Whether a call could go to the entry: a file with one name, or a folder.
fn is_reachable(seen: &Stat) -> bool {
    seen.kind == Kind::Directory || seen.kind == Kind::File && seen.names == 1
}

/// Entries of one folder that a missing name is compared with.
const FEW: usize = 2048;
/// Entries that are looked at for a file of the same name.
const MOST: usize = 4096;
/// Files of the same name that are given.
const SAME: usize = 3;
