//! What sessions used that are over, for the next call of their owner.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::order::Spent;

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
    fn what_a_session_used_beyond_its_charges_is_its_owners_to_pay_once() {
        let (arrears, spent) = (Arrears::default(), |cpu_ms, written| Spent { cpu_ms, written });
        arrears.add("ann".to_owned(), spent(50, 900), spent(20, 1000));
        arrears.add("ann".to_owned(), spent(5, 10), spent(0, 0));
        arrears.add("bob".to_owned(), spent(20, 7), spent(20, 7));
        assert_eq!(arrears.all().remove("ann"), Some(spent(35, 10)));
        assert!(arrears.all().is_empty());
    }
}
