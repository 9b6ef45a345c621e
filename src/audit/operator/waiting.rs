//! How many questions wait for operators.

use std::io;

use super::queue::Say;
use crate::audit::StateDir;

impl StateDir {
    /// Questions that no operator has settled at `now` (seconds since 1970), of every server on the folder: neither refused nor agreed to by as many
    /// as it takes.
    /// # Errors  When the queue cannot be read.
    pub fn unsettled(&self, now: u64) -> io::Result<usize> {
        let mut waiting = 0;
        for ask in self.asks()?.iter().filter(|ask| ask.expires > now) {
            let answers = self.answers(&ask.id)?;
            let refused = answers.iter().any(|answered| answered.say == Say::Deny);
            if !refused && answers.len() < usize::from(ask.needed) {
                waiting += 1;
            }
        }
        Ok(waiting)
    }
}

#[cfg(test)]
mod tests {
    use crate::audit::{Answered, Ask, Say, StateDir};

    #[test]
    fn a_question_waits_until_it_is_refused_or_all_have_agreed_or_its_time_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        assert_eq!(state.unsettled(0).unwrap(), 0);
        let ask = |id: &str, needed| Ask {
            id: format!("ap_{}", id.repeat(16)),
            binding: "b".into(),
            call: "c_1".into(),
            tool: "delete_file".into(),
            principal: "p".into(),
            session: "s".into(),
            profile: "standard".into(),
            level: 4,
            code: "needs_operator".into(),
            text: "delete it?".into(),
            asked: 10,
            expires: 100,
            needed,
        };
        let (one, two) = (ask("a", 1), ask("b", 2));
        state.put_ask(&one).unwrap();
        state.put_ask(&two).unwrap();
        assert_eq!((state.unsettled(50).unwrap(), state.unsettled(100).unwrap()), (2, 0));
        assert!(state.put_answer(&Answered::new(&two, "ann", Say::Once, 20)).unwrap());
        assert_eq!(state.unsettled(50).unwrap(), 2, "one of two is not enough");
        assert!(state.put_answer(&Answered::new(&two, "bob", Say::Once, 21)).unwrap());
        assert_eq!(state.unsettled(50).unwrap(), 1);
        assert!(state.put_answer(&Answered::new(&one, "ann", Say::Deny, 22)).unwrap());
        assert_eq!(state.unsettled(50).unwrap(), 0);
    }
}
