//! How many questions wait for operators.

use std::io;

use super::StateDir;
use super::Tick;
use super::queue::{Say, persons};

impl StateDir {
    /// Questions that no operator has settled yet, of every server on the folder: neither refused nor agreed to by as many as it takes.
    /// # Errors  When the queue cannot be read.
    pub fn unsettled(&self, now: Tick) -> io::Result<usize> {
        let mut waiting = 0;
        for ask in self.asks()?.iter().filter(|ask| !ask.is_over(now)) {
            let answers = self.answers(&ask.id)?;
            let refused = answers.iter().any(|answered| answered.say == Say::Deny);
            if !refused && persons(&answers).len() < usize::from(ask.needed) {
                waiting += 1;
            }
        }
        Ok(waiting)
    }
}

#[cfg(test)]
mod tests {
    use crate::state::{Answered, Ask, Operator, Say, StateDir, Tick};

    #[test]
    fn a_question_waits_until_it_is_refused_or_all_have_agreed_or_its_time_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        let at = |seconds: u64| Tick { wall: seconds * 1000, up: seconds * 1000, boot: 1 };
        assert_eq!(state.unsettled(at(0)).unwrap(), 0);
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
            since: at(10),
            needed,
            choices: Vec::new(),
            diff: String::new(),
        };
        let operator = |name: &str| Operator { name: name.to_owned(), enrolled_by: None };
        let (one, two) = (ask("a", 1), ask("b", 2));
        state.put_ask(&one).unwrap();
        state.put_ask(&two).unwrap();
        assert_eq!((state.unsettled(at(50)).unwrap(), state.unsettled(at(100)).unwrap()), (2, 0));
        assert!(state.put_answer(&Answered::new(&two, operator("ann"), Say::Once, at(20))).unwrap());
        assert_eq!(state.unsettled(at(50)).unwrap(), 2, "one of two is not enough");
        assert!(state.put_answer(&Answered::new(&two, operator("bob"), Say::Once, at(21))).unwrap());
        assert_eq!(state.unsettled(at(50)).unwrap(), 1);
        assert!(state.put_answer(&Answered::new(&one, operator("ann"), Say::Deny, at(22))).unwrap());
        assert_eq!(state.unsettled(at(50)).unwrap(), 0);
    }
}
