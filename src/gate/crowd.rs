//! How many questions wait for answers: floods are capped, and the same question is not put twice at one time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::door::lock;
use super::pending::Pending;
use crate::model::{Code, Refusal};

/// Questions of one caller that may wait at one time.
pub(super) const PER_PRINCIPAL: usize = 16;
/// Questions of all callers together.
pub(super) const IN_ALL: usize = 64;

/// The questions of this server that wait for a client's answer.
#[derive(Debug, Default)]
pub(super) struct Crowd(Arc<Mutex<HashMap<String, Waiting>>>);

#[derive(Debug)]
struct Waiting {
    principal: String,
    expires: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A call that stays open; who asks the same meanwhile hears how it ended.
    During(watch::Receiver<Option<Refusal>>),
    /// A sealed state that may come back.
    Sealed(Pending),
}

/// What somebody who wants to ask finds.
#[derive(Debug)]
pub(super) enum Found {
    /// Room for the question.
    Room(Seat),
    /// The very same question is being answered in another call: this resolves to its refusal, or closes when it was allowed.
    Same(watch::Receiver<Option<Refusal>>),
    /// The very same question waits in the client.
    Sealed(Pending),
}

/// The place of a question that a call holds open; given up when dropped.
#[derive(Debug)]
pub(super) struct Seat {
    crowd: Arc<Mutex<HashMap<String, Waiting>>>,
    binding: String,
    end: Option<watch::Sender<Option<Refusal>>>,
}

impl Seat {
    /// Tells everybody who asks the same that the answer was a no.
    pub(super) fn refused(&self, refusal: &Refusal) {
        if let Some(end) = &self.end {
            end.send_replace(Some(refusal.clone()));
        }
    }

    /// Leaves the question to a sealed state, which may come back or not.
    pub(super) fn seal(mut self, pending: Pending) {
        if let Some(waiting) = lock(&self.crowd).get_mut(&self.binding) {
            waiting.kind = Kind::Sealed(pending);
        }
        // Nothing is given up on drop.
        self.end = None;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.end.is_some() {
            lock(&self.crowd).remove(&self.binding);
        }
    }
}

impl Crowd {
    /// Takes a place for a question, unless it waits already.
    /// # Errors  `rate_limited`: too many questions wait.
    pub(super) fn enter(&self, principal: &str, binding: &str, now: u64, expires: u64) -> Result<Found, Refusal> {
        let mut crowd = lock(&self.0);
        crowd.retain(|_, waiting| waiting.expires > now);
        match crowd.get(binding) {
            Some(Waiting { kind: Kind::During(end), .. }) => return Ok(Found::Same(end.clone())),
            // One that is about to end leaves a person no time: a new one takes its place.
            Some(Waiting { kind: Kind::Sealed(pending), expires: end, .. }) if (end - now) * 2 > expires.saturating_sub(now) => {
                return Ok(Found::Sealed(pending.clone()));
            }
            _ => {}
        }
        let own = crowd.values().filter(|waiting| waiting.principal == principal).count();
        let soonest = crowd.values().map(|waiting| waiting.expires).min().unwrap_or(expires);
        full(own, crowd.len(), soonest.saturating_sub(now))?;
        let (end, told) = watch::channel(None);
        let waiting = Waiting { principal: principal.to_owned(), expires, kind: Kind::During(told) };
        crowd.insert(binding.to_owned(), waiting);
        Ok(Found::Room(Seat { crowd: Arc::clone(&self.0), binding: binding.to_owned(), end: Some(end) }))
    }

    /// A sealed question has come back, or is over.
    pub(super) fn over(&self, id: &str) {
        lock(&self.0).retain(|_, waiting| !matches!(&waiting.kind, Kind::Sealed(pending) if pending.id == id));
    }
}

/// Refuses one more question where too many wait: `own` of the same caller, `all` together, the first of which ends in `soonest` seconds.
/// # Errors  `rate_limited`.
pub(super) fn full(own: usize, all: usize, soonest: u64) -> Result<(), Refusal> {
    let what = if own >= PER_PRINCIPAL {
        format!("{own} questions of this caller wait for a person, and no more than {PER_PRINCIPAL} may")
    } else if all >= IN_ALL {
        format!("{all} questions wait for a person, and no more than {IN_ALL} may")
    } else {
        return Ok(());
    };
    Err(Refusal::new(Code::RateLimited, what).rule("approvals").hint("wait until they are answered").retry_after(soonest.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(id: &str) -> Pending {
        Pending { id: id.to_owned(), expires: 100, ..Pending::default() }
    }

    #[test]
    fn a_flood_of_questions_is_capped_for_each_caller_and_for_all() {
        let crowd = Crowd::default();
        let mut seats = Vec::new();
        for caller in 0..IN_ALL / PER_PRINCIPAL {
            for question in 0..PER_PRINCIPAL {
                seats.push(crowd.enter(&format!("p{caller}"), &format!("{caller}/{question}"), 50, 100).unwrap());
            }
            let refusal = crowd.enter(&format!("p{caller}"), "one more", 50, 100).unwrap_err();
            assert_eq!((refusal.code, refusal.retry_after_s), (Code::RateLimited, Some(50)));
        }
        let refusal = crowd.enter("another", "x", 50, 100).unwrap_err();
        assert!(refusal.message.contains("64 questions wait"), "{refusal}");
        seats.pop();
        assert!(matches!(crowd.enter("another", "x", 50, 100), Ok(Found::Room(_))), "an answer makes room");
        assert!(matches!(crowd.enter("another", "y", 100, 150), Ok(Found::Room(_))), "so does time");
    }

    #[test]
    fn the_same_question_is_put_once_and_its_no_is_everybodys() {
        let crowd = Crowd::default();
        let Found::Room(seat) = crowd.enter("p", "b", 50, 100).unwrap() else { panic!("room") };
        let Found::Same(told) = crowd.enter("p", "b", 51, 101).unwrap() else { panic!("same") };
        seat.refused(&Refusal::new(Code::ApprovalRefused, "no"));
        drop(seat);
        assert_eq!(told.borrow().as_ref().map(|refusal| refusal.code), Some(Code::ApprovalRefused));
        assert!(matches!(crowd.enter("p", "b", 52, 102).unwrap(), Found::Room(_)));
    }

    #[test]
    fn a_sealed_question_is_given_again_while_it_has_time_left() {
        let crowd = Crowd::default();
        let Found::Room(seat) = crowd.enter("p", "b", 50, 100).unwrap() else { panic!("room") };
        seat.seal(pending("ap_1"));
        assert!(matches!(crowd.enter("p", "b", 60, 110).unwrap(), Found::Sealed(same) if same.id == "ap_1"));
        let Found::Room(later) = crowd.enter("p", "b", 90, 140).unwrap() else { panic!("a new one") };
        later.seal(pending("ap_2"));
        crowd.over("ap_2");
        assert!(matches!(crowd.enter("p", "b", 91, 141).unwrap(), Found::Room(_)));
    }
}
