//! What a person allowed for the rest of a session: a tool on one target, as that target was, or every change of a file in a folder or a root.
//! Kept in the state folder, so that every server that serves the session knows it.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::opened::Opened;
use super::rates::Millis;
use crate::model::{Identity, Target};
use crate::policy::Scope;
use crate::state::{Store, Tick};

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

/// Device, inode, and the times of the last change of content and inode, as texts: JSON numbers are not that long.
type Object = Option<(u64, u64, String, String)>;

/// What a grant compares of one target of a call: its name, its object, and the object of its root.
#[derive(Debug, Clone)]
pub struct Subject {
    name: String,
    object: Object,
    /// Device and inode of the root's folder. None where it cannot be read; then no wide grant fits.
    root: Option<(u64, u64)>,
}

impl Subject {
    /// What was opened, as a grant compares it.
    pub fn of(opened: &Opened) -> Self {
        let root = rustix::fs::fstat(&opened.root).ok().map(|stat| (stat.st_dev, stat.st_ino));
        let target = Target { root: opened.target.root.clone(), path: opened.path().clone() };
        Self::new(target.to_string(), opened.fact.identity, root)
    }

    fn new(name: String, identity: Option<Identity>, root: Option<(u64, u64)>) -> Self {
        let object = identity.map(|id| (id.device, id.inode, id.mtime_ns.to_string(), id.ctime_ns.to_string()));
        Self { name, object, root }
    }
}

/// The live grants of a state folder.
#[derive(Debug)]
pub struct Grants(Arc<Store>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    key: GrantKey,
    objects: Vec<Object>,
    /// When it was of use last, since which start of the machine.
    up: Millis,
    boot: u64,
    /// Of a grant that covers more than its target: how far it goes, and device and inode of the root it was given in.
    #[serde(default)]
    wide: Option<(Scope, (u64, u64))>,
}

/// Grants of one session; the one that was of no use for longest goes first.
const MOST: usize = 512;
/// A session that is idle for this many milliseconds counts as ended.
const IDLE: Millis = 3_600_000;

impl Grants {
    /// The grants of this store.
    pub fn new(store: Arc<Store>) -> Self {
        Self(store)
    }

    /// Keeps a grant on objects as they are now.
    pub fn keep(&self, key: GrantKey, seen: &[Subject]) {
        self.put(key, objects(seen), None);
    }

    /// Keeps a grant that covers every file within `scope`, whatever lies there by then. Without a root it is not kept.
    pub fn keep_wide(&self, key: GrantKey, scope: Scope, seen: &[Subject]) {
        if let Some(root) = seen.first().and_then(|one| one.root) {
            self.put(key, Vec::new(), Some((scope, root)));
        }
    }

    fn put(&self, key: GrantKey, objects: Vec<Object>, wide: Option<(Scope, (u64, u64))>) {
        let scope = |wide: Option<(Scope, (u64, u64))>| wide.map(|(scope, _)| scope);
        let done = self.change(&key.session.clone(), |all, now| {
            all.retain(|kept| kept.key != key || scope(kept.wide) != scope(wide));
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
    /// from outside the session; a wide one stays.
    pub fn fits(&self, key: &GrantKey, seen: &[Subject]) -> Option<(Scope, String)> {
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
            tracing::error!(%fault, "the grants cannot be read; a person is asked instead");
            None
        })
    }

    /// Renews the session's narrow grants on a target after a call of the session changed it, so that the next call on it still fits. One that
    /// did not fit `before` had been changed from outside, and stays as it is.
    pub fn renew(&self, key: &GrantKey, before: &[Subject], after: &[Subject]) {
        let (old, new) = (objects(before), objects(after));
        let done = self.change(&key.session, |all, _| {
            let mut renewed = false;
            for kept in all.iter_mut().filter(|kept| kept.wide.is_none() && kept.key.target == key.target && is_same(&kept.key, key)) {
                if kept.objects == old {
                    kept.objects.clone_from(&new);
                    renewed = true;
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
        self.0.end_session(session);
    }

    fn change<R>(&self, session: &str, change: impl FnOnce(&mut Vec<Kept>, Tick) -> (R, bool)) -> io::Result<R> {
        self.0.grants(session, |text, now| {
            // What cannot be read is no grant.
            let mut all: Vec<Kept> = serde_json::from_slice(text).unwrap_or_default();
            all.retain(|kept| kept.boot == now.boot && now.up.saturating_sub(kept.up) < IDLE);
            let (done, changed) = change(&mut all, now);
            (done, changed.then(|| serde_json::to_vec(&all).unwrap_or_default()))
        })
    }
}

/// The wide grant that covers everything that is seen.
fn fitting(all: &mut [Kept], key: &GrantKey, seen: &[Subject], now: Tick) -> Option<(Scope, String)> {
    all.iter_mut().find_map(|kept| {
        let (scope, root) = kept.wide?;
        let covers = |one: &Subject| one.root == Some(root) && scope.covers(&kept.key.target, &one.name);
        let same = is_same(&kept.key, key) && kept.key.tool == key.tool && kept.key.definition == key.definition;
        if !same || seen.is_empty() || !seen.iter().all(covers) {
            return None;
        }
        kept.up = now.up;
        Some((scope, kept.key.target.clone()))
    })
}

/// Whether two keys are of the same caller, session, profile and manifest.
fn is_same(one: &GrantKey, other: &GrantKey) -> bool {
    let GrantKey { principal, session, profile, tool: _, target: _, manifest, definition: _ } = one;
    (principal, session, profile, manifest) == (&other.principal, &other.session, &other.profile, &other.manifest)
}

fn objects(seen: &[Subject]) -> Vec<Object> {
    seen.iter().map(|one| one.object.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::state::StateDir;

    fn two_servers() -> (tempfile::TempDir, Grants, Grants) {
        let folder = tempfile::tempdir().unwrap();
        let open = || Grants::new(Arc::new(Store::open(&StateDir::open(folder.path()).unwrap()).unwrap()));
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

    fn object(mtime_ns: i128) -> Vec<Subject> {
        vec![one("work/a", Some(Identity { device: 1, inode: 2, mtime_ns, ctime_ns: mtime_ns }))]
    }

    fn one(name: &str, identity: Option<Identity>) -> Subject {
        Subject::new(name.to_owned(), identity, Some((9, 9)))
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
        let swapped = vec![one("work/a", Some(Identity { device: 1, inode: 2, mtime_ns: 3, ctime_ns: 4 }))];
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

    fn file(name: &str, inode: u64) -> Subject {
        one(name, Some(Identity { device: 1, inode, mtime_ns: 1, ctime_ns: 1 }))
    }

    /// A folder grant, and its clock.
    fn wide() -> (tempfile::TempDir, Grants, Arc<AtomicU64>) {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicU64::new(0));
        let read = Arc::clone(&clock);
        let ticks = crate::state::Ticks::new(move || Tick { up: read.load(Ordering::Relaxed), ..Tick::default() });
        let grants = Grants::new(Arc::new(Store::with_ticks(&StateDir::open(folder.path()).unwrap(), ticks).unwrap()));
        grants.keep_wide(key("work/src"), Scope::SessionFolder, &[file("work/src/a", 1)]);
        (folder, grants, clock)
    }

    #[test]
    fn a_folder_grant_covers_what_lies_there_until_the_session_was_idle() {
        let (_keep, grants, clock) = wide();
        let folder = Some((Scope::SessionFolder, "work/src".to_owned()));
        let fits = |one: Subject| grants.fits(&key(&one.name), &[one]);
        for name in ["work/src/b", "work/src/deep/b"] {
            assert_eq!((fits(file(name, 2)), fits(one(name, None))), (folder.clone(), folder.clone()), "{name}");
        }
        let elsewhere = |root| Subject { root, ..file("work/src/b", 2) };
        for one in [file("work/b", 2), file("work/srcs/b", 2), elsewhere(Some((9, 8))), elsewhere(None)] {
            assert_eq!(fits(one.clone()), None, "{one:?}");
        }
        clock.store(IDLE, Ordering::Relaxed);
        assert_eq!(fits(file("work/src/b", 2)), None);
    }

    #[test]
    fn a_folder_grant_is_of_its_caller_session_profile_manifest_and_tools() {
        let (_keep, grants, _) = wide();
        let text = str::to_owned;
        for other in [
            GrantKey { session: text("t"), ..key("work/src/b") },
            GrantKey { principal: text("q"), ..key("work/src/b") },
            GrantKey { profile: text("g"), ..key("work/src/b") },
            GrantKey { manifest: text("n"), ..key("work/src/b") },
            GrantKey { definition: text("e"), ..key("work/src/b") },
            GrantKey { tool: text("delete_file"), ..key("work/src/b") },
        ] {
            assert_eq!(grants.fits(&other, &[file("work/src/b", 2)]), None, "{other:?}");
        }
        let out = [file("work/src/b", 2), file("work/other", 3)];
        assert_eq!(grants.fits(&key("work/src/b"), &out), None, "every target lies within it");
        assert_eq!(grants.fits(&key("work/src/b"), &[]), None);
    }
}
