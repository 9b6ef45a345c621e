//! What a person allowed for the rest of a session: a tool on one target, as that target was, or every change of a file in a folder or a root.
//! Kept in the state folder, so that every server that serves the session knows it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::rates::Millis;
use crate::audit::counts::{Counts, Tick};
use crate::model::{Identity, Opened, Target};
use crate::policy::Scope;

/// What a grant is for. Two calls with the same key are the same to a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GrantKey {
    /// Who was allowed.
    pub principal: String,
    /// In which session.
    pub session: String,
    /// Under which profile: the roots and the network of a program are the profile's.
    #[serde(default)]
    pub profile: String,
    /// Which tool; of tools that a grant covers alike, the first.
    pub tool: String,
    /// On what, as [`crate::policy::Verdict::grant`] has it; of a wide grant as [`Scope::names`] has it.
    pub target: String,
    /// Under which manifest (SHA-256).
    pub manifest: String,
    /// Under which definition of the tool, and of those that a grant covers alike.
    #[serde(default)]
    pub definition: String,
}

/// The live grants of a state folder.
#[derive(Debug)]
pub struct Grants(Arc<Counts>);

/// Device, inode, and the times of the last change of content and inode, as texts: JSON numbers are not that long.
type Object = Option<(u64, u64, String, String)>;

/// One target of a call as it was seen: its name, its object, and the object of its root.
#[derive(Debug, Clone)]
pub struct Sight {
    name: String,
    object: Object,
    /// When the kernel changed it last, in milliseconds since 1970.
    changed: Option<i128>,
    /// Device and inode of the root's folder. None where it cannot be told; then no wide grant fits.
    root: Option<(u64, u64)>,
}

impl Sight {
    /// What was opened, as a grant compares it.
    pub fn of(opened: &Opened) -> Self {
        let root = rustix::fs::fstat(&opened.root).ok().map(|stat| (stat.st_dev, stat.st_ino));
        let target = Target { root: opened.target.root.clone(), path: opened.path().clone() };
        Self::new(target.to_string(), opened.fact.identity, root)
    }

    fn new(name: String, identity: Option<Identity>, root: Option<(u64, u64)>) -> Self {
        let changed = identity.map(|identity| identity.ctime_ns.div_euclid(1_000_000));
        Self { name, object: object(identity.as_ref()), changed, root }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    key: GrantKey,
    objects: Vec<Object>,
    /// When it was of use last, since which start of the machine.
    up: Millis,
    boot: u64,
    /// Of a grant that covers more than its target.
    #[serde(default)]
    wide: Option<Wide>,
}

/// How a wide grant recognises files that only calls of its session changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Wide {
    scope: Scope,
    /// Device and inode of the root it was given in.
    root: (u64, u64),
    /// That root's name.
    root_name: String,
    /// When the question was put.
    since: Tick,
    /// The objects that our own calls left since, by name.
    own: BTreeMap<String, Object>,
}

impl Wide {
    /// Whether no other program changed what is seen since the question was put. The kernel alone sets the time of a change.
    fn is_unchanged(&self, sight: &Sight) -> bool {
        if sight.object.is_none() || self.own.get(&sight.name).is_some_and(|own| *own == sight.object) {
            return true;
        }
        let before = i128::from(self.since.wall.saturating_sub(COARSE));
        sight.changed.is_some_and(|changed| changed <= before)
    }

    /// Whether what is seen lies in the root that the grant was given in; one that covers every root, in that one or in another.
    fn holds_root(&self, sight: &Sight) -> bool {
        let elsewhere = self.scope == Scope::AcceptEdits && root_name(&sight.name) != self.root_name;
        if elsewhere { sight.root.is_some() } else { sight.root == Some(self.root) }
    }

    /// Whether the wall clock ran beside the one that is never set: where it was set since, times of changes tell nothing.
    fn is_steady(&self, now: Tick) -> bool {
        let (wall, up) = (now.wall.abs_diff(self.since.wall), now.up.saturating_sub(self.since.up));
        now.wall >= self.since.wall && wall.abs_diff(up) <= DRIFT + up / 500
    }

    fn remember(&mut self, sight: &Sight) {
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

/// Grants of one session; the one that was of no use for longest goes first.
const MOST: usize = 512;
/// Files of our own that a wide grant knows.
const MOST_OWN: usize = 512;
/// A session that is idle for this many milliseconds counts as ended.
const IDLE: Millis = 3_600_000;
/// The kernel's times are this coarse at most; what changed so shortly before the question counts as changed since.
const COARSE: Millis = 50;
/// How far the wall clock may run apart from the other, besides two thousandths of the time.
const DRIFT: Millis = 2_000;

impl Grants {
    /// The grants kept beside these counts.
    pub fn new(counts: Arc<Counts>) -> Self {
        Self(counts)
    }

    /// Keeps a grant on objects as they are now.
    pub fn keep(&self, key: GrantKey, seen: &[Sight]) {
        self.put(key, seen, |_| None);
    }

    /// Keeps a grant that covers every file within `scope`, which was shown when the question was put. Without a root it is not kept.
    pub fn keep_wide(&self, key: GrantKey, scope: Scope, seen: &[Sight], asked: Tick) {
        let Some((root, name)) = seen.first().and_then(|sight| Some((sight.root?, root_name(&sight.name).to_owned()))) else { return };
        self.put(key, seen, |seen| {
            let mut wide = Wide { scope, root, root_name: name, since: asked, own: BTreeMap::new() };
            // They are what the person was shown, however lately they were changed.
            for sight in seen {
                wide.remember(sight);
            }
            Some(wide)
        });
    }

    fn put(&self, key: GrantKey, seen: &[Sight], wide: impl FnOnce(&[Sight]) -> Option<Wide>) {
        let wide = wide(seen);
        // Which objects a wide one is on is known by name.
        let objects = if wide.is_some() { Vec::new() } else { objects(seen) };
        let scope = wide.as_ref().map(|wide| wide.scope);
        let done = self.change(&key.session.clone(), |all, now| {
            all.retain(|kept| kept.key != key || kept.wide.as_ref().map(|wide| wide.scope) != scope);
            all.push(Kept { key, objects, up: now.up, boot: now.boot, wide });
            while all.len() > MOST {
                all.remove(0);
            }
            ((), true)
        });
        if let Err(fault) = done {
            // The call itself was allowed; the next one asks again.
            tracing::error!(%fault, "a grant could not be kept");
        }
    }

    /// How far the live grant goes that fits what is seen, and what it names. A narrow one dies here where its target was changed
    /// from outside the session; a wide one stays, and does not fit that file.
    pub fn fits(&self, key: &GrantKey, seen: &[Sight]) -> Option<(Scope, String)> {
        let now_objects = objects(seen);
        let done = self.change(&key.session, |all, now| {
            if let Some(at) = all.iter().position(|kept| kept.wide.is_none() && kept.key == *key) {
                let mut kept = all.remove(at);
                let fits = kept.objects == now_objects;
                if fits {
                    kept.up = now.up;
                    all.push(kept);
                    return (Some((Scope::Session, key.target.clone())), true);
                }
                return (fitting(all, key, seen, now), true);
            }
            let found = fitting(all, key, seen, now);
            let is_found = found.is_some();
            (found, is_found)
        });
        done.unwrap_or_else(|fault| {
            tracing::error!(%fault, "the grants cannot be read, so a person is asked");
            None
        })
    }

    /// Renews the session's grants on a target after a call of the session changed it, so that the next call on it still fits. One that
    /// did not fit `before` had been changed from outside, and stays as it is.
    pub fn renew(&self, key: &GrantKey, before: &[Sight], after: &[Sight]) {
        let (old, new) = (objects(before), objects(after));
        let done = self.change(&key.session, |all, now| {
            let mut renewed = false;
            for kept in all.iter_mut() {
                match &mut kept.wide {
                    None if kept.objects == old && is_same(&kept.key, key) && kept.key.target == key.target => {
                        kept.objects.clone_from(&new);
                        renewed = true;
                    }
                    Some(wide) if is_same(&kept.key, key) && wide.is_steady(now) => {
                        for (before, after) in before.iter().zip(after) {
                            let own = wide.scope.covers(&kept.key.target, &after.name) && wide.holds_root(after);
                            if own && wide.is_unchanged(before) {
                                wide.remember(after);
                                renewed = true;
                            }
                        }
                    }
                    _ => {}
                }
            }
            ((), renewed)
        });
        if let Err(fault) = done {
            tracing::error!(%fault, "a grant could not be renewed, so it ends");
        }
    }

    /// Forgets everything of a session.
    pub fn end_session(&self, session: &str) {
        self.0.forget(session);
    }

    fn change<R>(&self, session: &str, change: impl FnOnce(&mut Vec<Kept>, Tick) -> (R, bool)) -> io::Result<R> {
        self.0.kept(session, |text, now| {
            // What cannot be read is no grant.
            let mut all: Vec<Kept> = serde_json::from_slice(text).unwrap_or_default();
            all.retain(|kept| kept.boot == now.boot && now.up.saturating_sub(kept.up) < IDLE);
            let (done, changed) = change(&mut all, now);
            (done, changed.then(|| serde_json::to_vec(&all).unwrap_or_default()))
        })
    }
}

/// The wide grant that covers everything that is seen, as it was when it was given.
fn fitting(all: &mut [Kept], key: &GrantKey, seen: &[Sight], now: Tick) -> Option<(Scope, String)> {
    let kept = all.iter_mut().find(|kept| {
        let Some(wide) = &kept.wide else { return false };
        let within = |sight: &Sight| wide.scope.covers(&kept.key.target, &sight.name) && wide.holds_root(sight) && wide.is_unchanged(sight);
        let same = is_same(&kept.key, key) && kept.key.tool == key.tool && kept.key.definition == key.definition;
        same && wide.is_steady(now) && !seen.is_empty() && seen.iter().all(within)
    })?;
    kept.up = now.up;
    Some((kept.wide.as_ref()?.scope, kept.key.target.clone()))
}

/// Whether two keys are of the same caller, session, profile and manifest.
fn is_same(one: &GrantKey, other: &GrantKey) -> bool {
    let GrantKey { principal, session, profile, tool: _, target: _, manifest, definition: _ } = one;
    (principal, session, profile, manifest) == (&other.principal, &other.session, &other.profile, &other.manifest)
}

/// The root of a target that is written `ROOT/rest`.
fn root_name(target: &str) -> &str {
    target.split('/').next().unwrap_or(target)
}

fn objects(seen: &[Sight]) -> Vec<Object> {
    seen.iter().map(|sight| sight.object.clone()).collect()
}

fn object(identity: Option<&Identity>) -> Object {
    identity.map(|identity| (identity.device, identity.inode, identity.mtime_ns.to_string(), identity.ctime_ns.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::StateDir;

    fn two_servers() -> (tempfile::TempDir, Grants, Grants) {
        let folder = tempfile::tempdir().unwrap();
        let open = || Grants::new(Arc::new(Counts::open(&StateDir::open(folder.path()).unwrap()).unwrap()));
        let (one, two) = (open(), open());
        (folder, one, two)
    }

    fn key(target: &str) -> GrantKey {
        let text = str::to_owned;
        GrantKey {
            principal: text("p"),
            session: text("s"),
            profile: text("f"),
            tool: text("write_file"),
            target: text(target),
            manifest: text("m"),
            definition: text("d"),
        }
    }

    fn object(mtime_ns: i128) -> Vec<Sight> {
        vec![sight("work/a", Some(Identity { device: 1, inode: 2, mtime_ns, ctime_ns: mtime_ns }))]
    }

    fn sight(name: &str, identity: Option<Identity>) -> Sight {
        Sight::new(name.to_owned(), identity, Some((9, 9)))
    }

    #[test]
    fn a_grant_lives_through_our_own_change_and_dies_by_anybody_elses() {
        let (_keep, grants, other) = two_servers();
        grants.keep(key("work/a"), &object(1));
        assert!(grants.fits(&key("work/a"), &object(1)).is_some());
        other.renew(&key("work/a"), &object(1), &object(2));
        assert!(grants.fits(&key("work/a"), &object(2)).is_some());
        assert!(grants.fits(&key("work/a"), &object(3)).is_none());
        assert!(grants.fits(&key("work/a"), &object(2)).is_none(), "it does not come back");
        grants.keep(key("work/a"), &object(3));
        let swapped = vec![sight("work/a", Some(Identity { device: 1, inode: 2, mtime_ns: 3, ctime_ns: 4 }))];
        assert!(grants.fits(&key("work/a"), &swapped).is_none(), "the content was changed and its time set back");
        assert!(grants.fits(&key("work/ab"), &object(2)).is_none());
    }

    #[test]
    fn a_grant_holds_in_every_server_of_the_session_and_in_no_other_session() {
        let (_keep, one, two) = two_servers();
        one.keep(key("work/a"), &object(1));
        assert!(two.fits(&key("work/a"), &object(1)).is_some());
        for other in [
            GrantKey { session: "t".to_owned(), ..key("work/a") },
            GrantKey { principal: "q".to_owned(), ..key("work/a") },
            GrantKey { profile: "g".to_owned(), ..key("work/a") },
            GrantKey { manifest: "n".to_owned(), ..key("work/a") },
            GrantKey { definition: "e".to_owned(), ..key("work/a") },
            GrantKey { tool: "delete_file".to_owned(), ..key("work/a") },
        ] {
            assert!(two.fits(&other, &object(1)).is_none(), "{other:?}");
        }
        two.end_session("s");
        assert!(one.fits(&key("work/a"), &object(1)).is_none(), "a session takes its grants with it, everywhere");
    }

    #[test]
    fn our_own_change_by_another_tool_renews_a_grant_but_not_one_that_was_overtaken() {
        let (_keep, grants, _) = two_servers();
        let edit = GrantKey { tool: "edit_file".to_owned(), ..key("work/a") };
        grants.keep(key("work/a"), &object(1));
        grants.renew(&edit, &object(1), &object(2));
        assert!(grants.fits(&key("work/a"), &object(2)).is_some());
        grants.renew(&edit, &object(3), &object(4));
        assert!(grants.fits(&key("work/a"), &object(4)).is_none(), "somebody else wrote between");
    }

    #[test]
    fn grants_cut_or_damaged_at_any_byte_are_none() {
        let (folder, grants, other) = two_servers();
        grants.keep(key("work/a"), &object(1));
        let path = std::fs::read_dir(folder.path().join("grants")).unwrap().next().unwrap().unwrap().path();
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert!(other.fits(&key("work/a"), &object(1)).is_none(), "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(other.fits(&key("work/a"), &object(1)).is_none(), "cut at {at}");
        }
        std::fs::write(&path, &whole).unwrap();
        assert!(other.fits(&key("work/a"), &object(1)).is_some());
    }

    /// A file that was last changed so many seconds before or after the question of [`asked`].
    fn file(name: &str, inode: u64, seconds: i128) -> Sight {
        let at = (i128::from(asked().wall) + seconds * 1000) * 1_000_000;
        sight(name, Some(Identity { device: 1, inode, mtime_ns: at, ctime_ns: at }))
    }

    const fn asked() -> Tick {
        Tick { wall: 1_000_000_000, up: 50_000, boot: 7 }
    }

    /// Grants by a clock that stands so many seconds after the question; the wall clock so many more.
    fn at(folder: &tempfile::TempDir, seconds: u64, set: u64) -> Grants {
        let ticks = crate::audit::counts::Ticks::new(move || Tick {
            wall: asked().wall + (seconds + set) * 1000,
            up: asked().up + seconds * 1000,
            boot: 7,
        });
        Grants::new(Arc::new(Counts::with_ticks(&StateDir::open(folder.path()).unwrap(), ticks).unwrap()))
    }

    fn wide() -> (tempfile::TempDir, Grants) {
        let folder = tempfile::tempdir().unwrap();
        let grants = at(&folder, 10, 0);
        grants.keep_wide(key("work/src"), Scope::SessionFolder, &[file("work/src/a", 1, -1)], asked());
        (folder, grants)
    }

    #[test]
    fn a_folder_grant_covers_the_files_that_were_there_and_what_we_made_of_them() {
        let (_keep, grants) = wide();
        let folder = Some((Scope::SessionFolder, "work/src".to_owned()));
        let fits = |name: &str, sight: Sight| grants.fits(&key(name), &[sight]);
        assert_eq!(fits("work/src/b", file("work/src/b", 2, -100)), folder);
        assert_eq!(fits("work/src/deep/b", file("work/src/deep/b", 3, -100)), folder);
        assert_eq!(fits("work/src/new", sight("work/src/new", None)), folder, "nothing is there yet");
        for (name, sight) in [
            ("work/b", file("work/b", 2, -100)),
            ("work/srcs/b", file("work/srcs/b", 2, -100)),
            ("work/src/b", file("work/src/b", 2, 5)),
            ("work/src/b", Sight { root: Some((9, 8)), ..file("work/src/b", 2, -100) }),
            ("work/src/b", Sight { root: None, ..file("work/src/b", 2, -100) }),
        ] {
            assert_eq!(fits(name, sight.clone()), None, "{sight:?}");
        }
        let before = file("work/src/b", 2, -100);
        let after = file("work/src/b", 4, 6);
        grants.renew(&key("work/src/b"), &[before], std::slice::from_ref(&after));
        assert_eq!(fits("work/src/b", after), folder, "our own change");
        assert_eq!(fits("work/src/b", file("work/src/b", 4, 8)), None, "and another one's after it");
        // What was overtaken stays so, whoever writes next.
        grants.renew(&key("work/src/b"), &[file("work/src/b", 4, 8)], &[file("work/src/b", 5, 9)]);
        assert_eq!(fits("work/src/b", file("work/src/b", 5, 9)), None);
        assert_eq!(fits("work/src/c", file("work/src/c", 6, -100)), folder, "the grant lives on for the others");
    }

    #[test]
    fn a_folder_grant_is_of_its_caller_session_profile_manifest_and_tools() {
        let (_keep, grants) = wide();
        let text = str::to_owned;
        for other in [
            GrantKey { session: text("t"), ..key("work/src/b") },
            GrantKey { principal: text("q"), ..key("work/src/b") },
            GrantKey { profile: text("g"), ..key("work/src/b") },
            GrantKey { manifest: text("n"), ..key("work/src/b") },
            GrantKey { definition: text("e"), ..key("work/src/b") },
            GrantKey { tool: text("delete_file"), ..key("work/src/b") },
        ] {
            assert_eq!(grants.fits(&other, &[file("work/src/b", 2, -100)]), None, "{other:?}");
        }
        let out = [file("work/src/b", 2, -100), file("work/other", 3, -100)];
        assert_eq!(grants.fits(&key("work/src/b"), &out), None, "every target lies within it");
        assert_eq!(grants.fits(&key("work/src/b"), &[]), None);
    }

    #[test]
    fn a_clock_that_was_set_ends_a_wide_grant() {
        let (folder, _) = wide();
        let fits = |grants: &Grants| grants.fits(&key("work/src/b"), &[file("work/src/b", 2, -100)]).is_some();
        assert!(fits(&at(&folder, 600, 1)), "it drifts");
        assert!(!fits(&at(&folder, 600, 60)), "it was set forward");
        assert!(!fits(&at(&folder, 5000, 0)), "the session was idle");
    }
}
