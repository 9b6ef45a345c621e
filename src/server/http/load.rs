//! How much one caller may have under way, so that one cannot take the places of all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Requests under way, by principal.
#[derive(Debug, Default, Clone)]
pub(super) struct Load(Arc<Mutex<HashMap<String, u32>>>);

impl Load {
    /// A place for one more request of this principal, if it has fewer than `most`.
    pub(super) fn enter(&self, principal: &str, most: u32) -> Option<Slot> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(principal.to_owned()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        drop(all);
        Some(Slot { load: self.clone(), principal: principal.to_owned() })
    }
}

/// A place that is given back when it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    load: Load,
    principal: String,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut all = self.load.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_cannot_take_the_places_of_another() {
        let load = Load::default();
        let held: Vec<_> = (0..3).filter_map(|_| load.enter("a", 2)).collect();
        assert_eq!(held.len(), 2);
        assert!(load.enter("b", 2).is_some());
        drop(held);
        assert!(load.enter("a", 2).is_some());
        assert!(load.0.lock().unwrap().is_empty(), "nothing is kept of callers that have nothing under way");
    }
}
