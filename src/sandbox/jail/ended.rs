//! What is remembered of sessions that were ended between their calls, for the call that asks for one next.

use std::collections::VecDeque;

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
