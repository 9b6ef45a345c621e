//! What is remembered of sessions that are over, for the next call of their owner.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::order::Spent;

/// Sessions that are remembered.
const REMEMBERED: usize = 64;

/// Why sessions were ended between their calls, the newest last: handle, owner, reason.
#[derive(Debug, Default)]
pub(super) struct Ended(VecDeque<(String, String, String)>);

impl Ended {
    /// Remembers one.
    pub(super) fn note(&mut self, handle: &str, owner: &str, why: String) {
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((handle.to_owned(), owner.to_owned(), why));
    }

    /// Why this session of this owner was ended; another caller is told of nothing.
    pub(super) fn why(&self, handle: &str, owner: &str) -> Option<String> {
        self.0.iter().find(|(known, of, _)| known == handle && of == owner).map(|(_, _, why)| why.clone())
    }
}

/// What sessions used and no call was charged for, by whose they were.
#[derive(Debug, Default)]
pub(super) struct Arrears(Mutex<HashMap<String, Spent>>);

impl Arrears {
    /// All of it, by owner.
    pub(super) fn all(&self) -> MutexGuard<'_, HashMap<String, Spent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what was used of a session and not charged.
    pub(super) fn add(&self, owner: String, used: Spent, charged: Spent) {
        let left = Spent { cpu_ms: used.cpu_ms.saturating_sub(charged.cpu_ms), written: used.written.saturating_sub(charged.written) };
        if left != Spent::default() {
            let mut all = self.all();
            let sum = all.entry(owner).or_default();
            (sum.cpu_ms, sum.written) = (sum.cpu_ms.saturating_add(left.cpu_ms), sum.written.saturating_add(left.written));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sessions_are_remembered_for_their_owners() {
        let mut ended = Ended::default();
        for number in 0..=REMEMBERED {
            ended.note(&number.to_string(), "ann", format!("why {number}"));
        }
        assert_eq!((ended.why("1", "ann"), ended.why("1", "bob"), ended.why("0", "ann")), (Some("why 1".to_owned()), None, None));
        assert_eq!(ended.0.len(), REMEMBERED);
    }
}
