//! What a person allowed for the rest of a session: a tool on one target, as that target was. Kept in the state folder, so that every server
//! that serves the session knows it.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::rates::Millis;
use crate::audit::counts::{Counts, Tick};
use crate::model::Identity;

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
    /// Which tool.
    pub tool: String,
    /// On what, as [`crate::policy::Verdict::grant`] has it.
    pub target: String,
    /// Under which manifest (SHA-256).
    pub manifest: String,
    /// Under which definition of the tool (SHA-256).
    #[serde(default)]
    pub definition: String,
}

/// The live grants of a state folder.
#[derive(Debug)]
pub struct Grants(Arc<Counts>);

/// Device, inode, and the times of the last change of content and inode, as texts: JSON numbers are not that long.
type Object = Option<(u64, u64, String, String)>;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    key: GrantKey,
    objects: Vec<Object>,
    /// When it was of use last, since which start of the machine.
    up: Millis,
    boot: u64,
}

/// Grants of one session; the one that was of no use for longest goes first.
const MOST: usize = 512;
/// A session that is idle for so long has ended, whoever noticed.
const IDLE: Millis = 3_600_000;

impl Grants {
    /// The grants kept beside these counts.
    pub fn new(counts: Arc<Counts>) -> Self {
        Self(counts)
    }

    /// Keeps a grant on objects as they are now.
    pub fn keep(&self, key: GrantKey, objects: &[Option<Identity>]) {
        let objects = objects.iter().map(Option::as_ref).map(object).collect();
        let done = self.change(&key.session.clone(), |all, now| {
            all.retain(|kept| kept.key != key);
            all.push(Kept { key, objects, up: now.up, boot: now.boot });
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

    /// Whether a live grant fits the objects. One that somebody else's change has overtaken dies here.
    pub fn fits(&self, key: &GrantKey, objects: &[Option<Identity>]) -> bool {
        let objects: Vec<Object> = objects.iter().map(Option::as_ref).map(object).collect();
        let done = self.change(&key.session, |all, now| {
            let Some(at) = all.iter().position(|kept| kept.key == *key) else { return (false, false) };
            let mut kept = all.remove(at);
            let fits = kept.objects == objects;
            if fits {
                kept.up = now.up;
                all.push(kept);
            }
            (fits, true)
        });
        done.unwrap_or_else(|fault| {
            tracing::error!(%fault, "the grants cannot be read, so a person is asked");
            false
        })
    }

    /// Renews the session's grants on a target after our own change, by whichever tool, so that the next call on it still fits. One that
    /// did not fit `before` was overtaken by somebody else and stays as it is.
    pub fn renew(&self, key: &GrantKey, before: &[Option<Identity>], after: &[Option<Identity>]) {
        let (before, after): (Vec<Object>, Vec<Object>) =
            (before.iter().map(Option::as_ref).map(object).collect(), after.iter().map(Option::as_ref).map(object).collect());
        let is_same = |other: &GrantKey| GrantKey { tool: key.tool.clone(), definition: key.definition.clone(), ..other.clone() } == *key;
        let done = self.change(&key.session, |all, _| {
            let mut renewed = false;
            for kept in all.iter_mut().filter(|kept| kept.objects == before && is_same(&kept.key)) {
                kept.objects.clone_from(&after);
                renewed = true;
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

    fn object(mtime_ns: i128) -> Vec<Option<Identity>> {
        vec![Some(Identity { device: 1, inode: 2, mtime_ns, ctime_ns: mtime_ns })]
    }

    #[test]
    fn a_grant_lives_through_our_own_change_and_dies_by_anybody_elses() {
        let (_keep, grants, other) = two_servers();
        grants.keep(key("work/a"), &object(1));
        assert!(grants.fits(&key("work/a"), &object(1)));
        other.renew(&key("work/a"), &object(1), &object(2));
        assert!(grants.fits(&key("work/a"), &object(2)));
        assert!(!grants.fits(&key("work/a"), &object(3)));
        assert!(!grants.fits(&key("work/a"), &object(2)), "it does not come back");
        grants.keep(key("work/a"), &object(3));
        let swapped = vec![Some(Identity { device: 1, inode: 2, mtime_ns: 3, ctime_ns: 4 })];
        assert!(!grants.fits(&key("work/a"), &swapped), "the content was changed and its time set back");
        assert!(!grants.fits(&key("work/ab"), &object(2)));
    }

    #[test]
    fn a_grant_holds_in_every_server_of_the_session_and_in_no_other_session() {
        let (_keep, one, two) = two_servers();
        one.keep(key("work/a"), &object(1));
        assert!(two.fits(&key("work/a"), &object(1)));
        for other in [
            GrantKey { session: "t".to_owned(), ..key("work/a") },
            GrantKey { principal: "q".to_owned(), ..key("work/a") },
            GrantKey { profile: "g".to_owned(), ..key("work/a") },
            GrantKey { manifest: "n".to_owned(), ..key("work/a") },
            GrantKey { definition: "e".to_owned(), ..key("work/a") },
            GrantKey { tool: "delete_file".to_owned(), ..key("work/a") },
        ] {
            assert!(!two.fits(&other, &object(1)), "{other:?}");
        }
        two.end_session("s");
        assert!(!one.fits(&key("work/a"), &object(1)), "a session takes its grants with it, everywhere");
    }

    #[test]
    fn our_own_change_by_another_tool_renews_a_grant_but_not_one_that_was_overtaken() {
        let (_keep, grants, _) = two_servers();
        let edit = GrantKey { tool: "edit_file".to_owned(), ..key("work/a") };
        grants.keep(key("work/a"), &object(1));
        grants.renew(&edit, &object(1), &object(2));
        assert!(grants.fits(&key("work/a"), &object(2)));
        grants.renew(&edit, &object(3), &object(4));
        assert!(!grants.fits(&key("work/a"), &object(4)), "somebody else wrote between");
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
            assert!(!other.fits(&key("work/a"), &object(1)), "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(!other.fits(&key("work/a"), &object(1)), "cut at {at}");
        }
        std::fs::write(&path, &whole).unwrap();
        assert!(other.fits(&key("work/a"), &object(1)));
    }
}
