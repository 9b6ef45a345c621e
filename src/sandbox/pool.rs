//! What operators watch of the programs: how many run, and how many interpreters wait, by profile.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Programs under way, by profile.
#[derive(Debug, Default)]
pub(super) struct UnderWay(Mutex<BTreeMap<String, u64>>);

impl UnderWay {
    /// One more, until what is returned is dropped.
    pub(super) fn one(&self, profile: &str) -> One<'_> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(profile.to_owned()).or_default() += 1;
        One { all: self, profile: profile.to_owned() }
    }

    /// How many there are. A profile stays named after its first: a series that comes and goes cannot be watched.
    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One program under way.
#[derive(Debug)]
pub(super) struct One<'a> {
    all: &'a UnderWay,
    profile: String,
}

impl Drop for One<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.all.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&self.profile) {
            *count = count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_counted_while_its_program_runs_and_stays_named() {
        let all = UnderWay::default();
        let (first, second) = (all.one("a"), all.one("a"));
        assert_eq!(all.counts(), BTreeMap::from([("a".to_owned(), 2)]));
        drop((first, second));
        assert_eq!(all.counts(), BTreeMap::from([("a".to_owned(), 0)]));
    }
}
