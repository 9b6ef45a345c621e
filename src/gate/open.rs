//! How many questions wait for a client's person: floods are capped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::pending::Pending;
use super::shared::lock;
use crate::model::{Code, Refusal};
use crate::state::Tick;

/// Questions of one caller that may wait at one time.
pub(super) const PER_PRINCIPAL: usize = 16;
/// Questions of all callers together.
pub(super) const IN_ALL: usize = 64;

/// The questions of this server that wait for a client's answer, by their ids.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenQuestions(Arc<Mutex<HashMap<String, Pending>>>);

/// A question that waits; over when dropped, unless it is left to a sealed state.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    all: OpenQuestions,
    id: String,
}

impl OpenQuestion {
    /// Leaves the question to a sealed state, which may come back or not.
    pub(super) fn seal(mut self) {
        self.id.clear();
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.all.over(&self.id);
    }
}

impl OpenQuestions {
    /// Takes a place for a question.
    /// # Errors  `rate_limited`: too many questions wait.
    pub(super) fn enter(&self, pending: &Pending, now: Tick) -> Result<OpenQuestion, Refusal> {
        let mut questions = lock(&self.0);
        questions.retain(|_, waiting| !waiting.is_over(now));
        let own = questions.values().filter(|waiting| waiting.principal == pending.principal).count();
        let soonest = questions.values().map(|waiting| now.left(waiting.asked, waiting.span()).div_ceil(1000)).min().unwrap_or(0);
        full(own, questions.len(), soonest)?;
        questions.insert(pending.id.clone(), pending.clone());
        Ok(OpenQuestion { all: self.clone(), id: pending.id.clone() })
    }

    /// A question was answered.
    pub(super) fn over(&self, id: &str) {
        lock(&self.0).remove(id);
    }
}

/// Refuses one more question where too many wait: `own` of the same caller, `all` together, the first of which ends in `soonest` seconds.
/// # Errors  `rate_limited`.
pub(super) fn full(own: usize, all: usize, soonest: u64) -> Result<(), Refusal> {
    let what = if own >= PER_PRINCIPAL {
        format!("{own} questions of this caller wait for a person; the most is {PER_PRINCIPAL}")
    } else if all >= IN_ALL {
        format!("{all} questions wait for a person; the most is {IN_ALL}")
    } else {
        return Ok(());
    };
    Err(Refusal::new(Code::RateLimited, what).rule("approvals").hint("wait until they are answered").retry_after(soonest.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(principal: &str, id: usize) -> Pending {
        Pending { id: id.to_string(), principal: principal.to_owned(), expires: 100, asked: at(50), ..Pending::default() }
    }

    const fn at(seconds: u64) -> Tick {
        Tick { wall: seconds * 1000, up: seconds * 1000, boot: 1 }
    }

    #[test]
    fn a_flood_of_questions_is_capped_for_each_caller_and_for_all() {
        let questions = OpenQuestions::default();
        let mut open = Vec::new();
        for caller in 0..IN_ALL / PER_PRINCIPAL {
            let principal = format!("p{caller}");
            for question in 0..PER_PRINCIPAL {
                open.push(questions.enter(&pending(&principal, caller * IN_ALL + question), at(50)).unwrap());
            }
            let refusal = questions.enter(&pending(&principal, 1_000), at(50)).unwrap_err();
            assert_eq!((refusal.code, refusal.retry_after_s), (Code::RateLimited, Some(50)));
        }
        let refusal = questions.enter(&pending("another", 1_000), at(50)).unwrap_err();
        assert!(refusal.message.contains("64 questions wait"), "{refusal}");
        open.pop();
        assert!(questions.enter(&pending("another", 1_000), at(50)).is_ok(), "an answer makes room");
    }

    #[test]
    fn sealed_questions_make_room_when_they_are_answered_or_their_time_is_over() {
        let questions = OpenQuestions::default();
        let enter = |id, now| questions.enter(&Pending { asked: at(50), ..pending("p", id) }, now);
        for id in 0..PER_PRINCIPAL {
            enter(id, at(50)).unwrap().seal();
        }
        assert!(enter(100, Tick { wall: 0, ..at(99) }).is_err(), "a clock set back changes nothing");
        questions.over("0");
        enter(101, at(99)).unwrap().seal();
        assert!(enter(102, at(99)).is_err());
        assert!(enter(102, Tick { wall: 0, ..at(100) }).is_ok());
    }
}
