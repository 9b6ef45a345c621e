//! A grant that covers each file of a folder or a root: those that were there when the question was put, and what calls of the session made of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::rates::Millis;
use super::sight::{Object, Sight};
use crate::audit::store::Tick;
use crate::model::Ancestor;
use crate::policy::Scope;

/// How a wide grant recognises files that only calls of its session changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Wide {
    scope: Scope,
    /// Device and inode of the root it was given in.
    root: (u64, u64),
    /// When the question was put.
    since: Tick,
    /// The objects that our own calls left since, by name.
    own: BTreeMap<String, Object>,
    /// Device and inodes of the folders that were there when the question was put, and of those that our own calls made since.
    #[serde(default)]
    folders: BTreeMap<u64, BTreeSet<u64>>,
}

impl Wide {
    /// A grant of this scope on what was seen, which was shown when the question was put. None where nothing tells the root.
    pub(super) fn of(scope: Scope, seen: &[Sight], folders: &[Ancestor], asked: Tick) -> Option<Self> {
        let first = seen.first()?;
        let mut wide = Self { scope, root: first.root?, since: asked, own: BTreeMap::new(), folders: BTreeMap::new() };
        // They are what the person was shown, however lately they were changed.
        for sight in seen {
            wide.remember(sight);
        }
        for step in folders.iter().take(MOST_FOLDERS) {
            if wide.is_old(step.changed) {
                wide.know(*step);
            }
        }
        Some(wide)
    }

    pub(super) const fn scope(&self) -> Scope {
        self.scope
    }

    /// Whether it covers what is seen, given for `target`.
    pub(super) fn holds(&self, target: &str, sight: &Sight) -> bool {
        self.scope.covers(target, &sight.name) && self.holds_root(sight) && self.is_unchanged(sight) && self.holds_way(target, sight)
    }

    /// Takes what a call of the session made of a target as its own. Whether it did.
    pub(super) fn renew(&mut self, target: &str, before: &Sight, after: &Sight) -> bool {
        let is_ours = self.scope.covers(target, &after.name)
            && self.holds_root(after)
            && self.is_unchanged(before)
            && self.holds_way(target, before)
            // The folders that were there are there still; the others are those that the call made.
            && before.folders.iter().zip(&after.folders).all(|(before, after)| before.object == after.object)
            && before.folders.len() <= after.folders.len();
        if is_ours {
            self.remember(after);
        }
        is_ours
    }

    /// Whether the folders from the granted one down are those that were there. A folder may have been moved in since, with files that nobody
    /// changed.
    fn holds_way(&self, target: &str, sight: &Sight) -> bool {
        if sight.object.is_some() && self.own.get(&sight.name) == Some(&sight.object) {
            return true;
        }
        let is_known = |step: &Ancestor| self.folders.get(&step.object.0).is_some_and(|known| known.contains(&step.object.1));
        // The granted folder itself is told by its object alone: a folder that stands above it may have been changed for another.
        let depth = if self.scope == Scope::SessionFolder { target.split('/').count() - 1 } else { 0 };
        let granted = depth.checked_sub(1).and_then(|at| sight.folders.get(at));
        granted.is_none_or(is_known) && sight.folders.iter().skip(depth).all(|step| is_known(step) || self.is_old(step.changed))
    }

    fn know(&mut self, step: Ancestor) {
        self.folders.entry(step.object.0).or_default().insert(step.object.1);
    }

    /// Whether a change was made before the question was put.
    fn is_old(&self, changed: i128) -> bool {
        changed <= i128::from(self.since.wall.saturating_sub(COARSE))
    }

    /// Whether no other program changed what is seen since the question was put. The kernel alone sets the time of a change.
    fn is_unchanged(&self, sight: &Sight) -> bool {
        if sight.object.is_none() || self.own.get(&sight.name).is_some_and(|own| *own == sight.object) {
            return true;
        }
        sight.changed.is_some_and(|changed| self.is_old(changed))
    }

    /// Whether what is seen lies in the root that the grant was given in.
    fn holds_root(&self, sight: &Sight) -> bool {
        sight.root == Some(self.root)
    }

    /// Whether the wall clock ran beside the one that is never set: where it was set since, times of changes tell nothing.
    pub(super) fn is_steady(&self, now: Tick) -> bool {
        let (wall, up) = (now.wall.abs_diff(self.since.wall), now.up.saturating_sub(self.since.up));
        now.wall >= self.since.wall && wall.abs_diff(up) <= DRIFT + up / 500
    }

    fn remember(&mut self, sight: &Sight) {
        for step in &sight.folders {
            self.know(*step);
        }
        if sight.object.is_some() {
            self.own.insert(sight.name.clone(), sight.object.clone());
        } else {
            self.own.remove(&sight.name);
        }
        while self.own.len() > MOST_OWN {
            // That file is asked about again.
            self.own.pop_first();
        }
    }
}

/// Files of our own that a wide grant knows.
const MOST_OWN: usize = 512;
/// Folders that it knows from the question; one that was changed since and is not known is asked about.
const MOST_FOLDERS: usize = 4096;
/// The kernel's times are this coarse at most; what changed so shortly before the question counts as changed since.
const COARSE: Millis = 50;
/// How far the wall clock may run apart from the other, besides two thousandths of the time.
const DRIFT: Millis = 2_000;
