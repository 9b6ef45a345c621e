//! What a person allowed for the rest of a session: a tool on one target, as that target was.

use std::collections::HashMap;

use crate::model::Identity;

/// What a grant is for. Two calls with the same key are the same to a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GrantKey {
    /// Who was allowed.
    pub principal: String,
    /// In which session.
    pub session: String,
    /// Which tool.
    pub tool: String,
    /// On what: `ROOT/rest`, the URL, the digest of the code, or `envelope`.
    pub target: String,
    /// Under which manifest (SHA-256).
    pub manifest: String,
}

/// The live grants of one server.
#[derive(Debug, Default)]
pub struct Grants(HashMap<GrantKey, Vec<Option<Identity>>>);

impl Grants {
    /// Keeps a grant on objects as they are now.
    pub fn keep(&mut self, key: GrantKey, objects: Vec<Option<Identity>>) {
        self.0.insert(key, objects);
    }

    /// Whether a live grant fits the objects. One that somebody else's change has overtaken dies here.
    pub fn fits(&mut self, key: &GrantKey, objects: &[Option<Identity>]) -> bool {
        match self.0.get(key) {
            Some(kept) if kept.as_slice() == objects => true,
            Some(_) => {
                self.0.remove(key);
                false
            }
            None => false,
        }
    }

    /// Renews the session's grants on a target after our own change, by whichever tool, so that the next call on it still fits. One that
    /// did not fit `before` was overtaken by somebody else and stays as it is.
    pub fn renew(&mut self, key: &GrantKey, before: &[Option<Identity>], after: &[Option<Identity>]) {
        let is_same = |other: &GrantKey| GrantKey { tool: key.tool.clone(), ..other.clone() } == *key;
        for (_, kept) in self.0.iter_mut().filter(|(other, kept)| kept.as_slice() == before && is_same(other)) {
            *kept = after.to_vec();
        }
    }

    /// Forgets everything of a session.
    pub fn end_session(&mut self, session: &str) {
        self.0.retain(|key, _| key.session != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(target: &str) -> GrantKey {
        let text = str::to_owned;
        GrantKey { principal: text("p"), session: text("s"), tool: text("write_file"), target: text(target), manifest: text("m") }
    }

    fn object(mtime_ns: i128) -> Vec<Option<Identity>> {
        vec![Some(Identity { device: 1, inode: 2, mtime_ns })]
    }

    #[test]
    fn a_grant_lives_through_our_own_change_and_dies_by_anybody_elses() {
        let mut grants = Grants::default();
        grants.keep(key("work/a"), object(1));
        assert!(grants.fits(&key("work/a"), &object(1)));
        grants.renew(&key("work/a"), &object(1), &object(2));
        assert!(grants.fits(&key("work/a"), &object(2)));
        assert!(!grants.fits(&key("work/a"), &object(3)));
        assert!(!grants.fits(&key("work/a"), &object(2)), "it does not come back");
        assert!(!grants.fits(&key("work/ab"), &object(2)));
    }

    #[test]
    fn our_own_change_by_another_tool_renews_a_grant_but_not_one_that_was_overtaken() {
        let mut grants = Grants::default();
        let edit = GrantKey { tool: "edit_file".to_owned(), ..key("work/a") };
        grants.keep(key("work/a"), object(1));
        grants.renew(&edit, &object(1), &object(2));
        assert!(grants.fits(&key("work/a"), &object(2)));
        grants.renew(&edit, &object(3), &object(4));
        assert!(!grants.fits(&key("work/a"), &object(4)), "somebody else wrote between");
    }

    #[test]
    fn a_session_takes_its_grants_with_it() {
        let mut grants = Grants::default();
        grants.keep(key("work/a"), object(1));
        grants.end_session("s");
        assert!(!grants.fits(&key("work/a"), &object(1)));
    }
}
