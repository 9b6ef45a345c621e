//! How many questions wait for answers: floods are capped, and the same question is not put twice at one time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::door::lock;
use super::pending::Pending;
use super::rates::Millis;
use crate::model::{Code, Refusal};
use crate::state::Tick;

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
    since: Tick,
    span: Millis,
    kind: Kind,
}

/// How a question ended, for those who ask the same.
#[derive(Debug, Clone, Default)]
pub(super) enum End {
    /// Not yet; or, where its call is over, without an answer or with a yes that lasts.
    #[default]
    Open,
    /// With a no.
    Refused(Refusal),
    /// With a yes for that call alone.
    Once,
}

#[derive(Debug)]
enum Kind {
    /// A call that stays open; who asks the same meanwhile hears how it ended.
    During(watch::Receiver<End>),
    /// A sealed state that may come back.
    Sealed(Pending),
}

/// What somebody who wants to ask finds.
#[derive(Debug)]
pub(super) enum Found {
    /// Room for the question.
    Room(Seat),
    /// The very same question is being answered in another call: this tells its end, or closes with that call.
    Same(watch::Receiver<End>),
    /// The very same question waits in the client.
    Sealed(Pending),
}

/// The place of a question that a call holds open; given up when dropped.
#[derive(Debug)]
pub struct Seat {
    crowd: Arc<Mutex<HashMap<String, Waiting>>>,
    binding: String,
    end: Option<watch::Sender<End>>,
}

impl Seat {
    /// Tells everybody who asks the same that the answer was a no.
    pub(super) fn refused(&self, refusal: &Refusal) {
        self.tell(End::Refused(refusal.clone()));
    }

    /// Tells everybody who asks the same that the answer was a yes for this call alone.
    pub(super) fn allowed_once(&self) {
        self.tell(End::Once);
    }

    fn tell(&self, end: End) {
        if let Some(told) = &self.end {
            told.send_replace(end);
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
    pub(super) fn enter(&self, principal: &str, binding: &str, now: Tick, span: Millis) -> Result<Found, Refusal> {
        let mut crowd = lock(&self.0);
        // A call that stays open gives its place up itself: also while it acts on the answer.
        crowd.retain(|_, waiting| matches!(waiting.kind, Kind::During(_)) || !now.is_past(waiting.since, waiting.span));
        match crowd.get(binding) {
            Some(Waiting { kind: Kind::During(end), .. }) => return Ok(Found::Same(end.clone())),
            // One that is about to end leaves a person no time: a new one takes its place.
            Some(Waiting { kind: Kind::Sealed(pending), since, span: open, .. }) if !now.is_past(*since, *open / 2) => {
                return Ok(Found::Sealed(pending.clone()));
            }
            _ => {}
        }
        let own = crowd.values().filter(|waiting| waiting.principal == principal).count();
        let soonest = crowd.values().map(|waiting| now.left(waiting.since, waiting.span)).min().unwrap_or(span);
        full(own, crowd.len(), soonest.div_ceil(1000))?;
        let (end, told) = watch::channel(End::Open);
        let waiting = Waiting { principal: principal.to_owned(), since: now, span, kind: Kind::During(told) };
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

    const fn at(seconds: u64) -> Tick {
        Tick { wall: seconds * 1000, up: seconds * 1000, boot: 1 }
    }

    const OPEN: Millis = 50_000;

    #[test]
    fn a_flood_of_questions_is_capped_for_each_caller_and_for_all() {
        let crowd = Crowd::default();
        let mut seats = Vec::new();
        for caller in 0..IN_ALL / PER_PRINCIPAL {
            for question in 0..PER_PRINCIPAL {
                seats.push(crowd.enter(&format!("p{caller}"), &format!("{caller}/{question}"), at(50), OPEN).unwrap());
            }
            let refusal = crowd.enter(&format!("p{caller}"), "one more", at(50), OPEN).unwrap_err();
            assert_eq!((refusal.code, refusal.retry_after_s), (Code::RateLimited, Some(50)));
        }
        let refusal = crowd.enter("another", "x", at(50), OPEN).unwrap_err();
        assert!(refusal.message.contains("64 questions wait"), "{refusal}");
        seats.pop();
        assert!(matches!(crowd.enter("another", "x", at(50), OPEN), Ok(Found::Room(_))), "an answer makes room");
    }

    #[test]
    fn sealed_questions_make_room_when_their_time_is_over_and_open_calls_when_they_end() {
        let crowd = Crowd::default();
        let enter = |id: &str, now| crowd.enter("p", id, now, OPEN);
        let Found::Room(open) = enter("open", at(50)).unwrap() else { panic!("room") };
        for question in 1..PER_PRINCIPAL {
            let Found::Room(seat) = enter(&question.to_string(), at(50)).unwrap() else { panic!("room") };
            seat.seal(pending(&format!("ap_{question}")));
        }
        assert!(enter("more", Tick { wall: 0, ..at(99) }).is_err(), "a clock set back changes nothing");
        assert!(matches!(enter("more", Tick { wall: 0, ..at(100) }).unwrap(), Found::Room(_)));
        assert!(matches!(enter("open", at(500)).unwrap(), Found::Same(_)), "its call is still under way");
        drop(open);
        assert!(matches!(enter("open", at(500)).unwrap(), Found::Room(_)));
    }

    #[test]
    fn the_same_question_is_put_once_and_its_no_is_everybodys() {
        let crowd = Crowd::default();
        let Found::Room(seat) = crowd.enter("p", "b", at(50), OPEN).unwrap() else { panic!("room") };
        let Found::Same(told) = crowd.enter("p", "b", at(51), OPEN).unwrap() else { panic!("same") };
        seat.refused(&Refusal::new(Code::ApprovalRefused, "no"));
        drop(seat);
        assert!(matches!(&*told.borrow(), End::Refused(refusal) if refusal.code == Code::ApprovalRefused));
        assert!(matches!(crowd.enter("p", "b", at(52), OPEN).unwrap(), Found::Room(_)));
    }

    #[test]
    fn a_sealed_question_is_given_again_while_it_has_time_left() {
        let crowd = Crowd::default();
        let enter = |now| crowd.enter("p", "b", now, OPEN).unwrap();
        let Found::Room(seat) = enter(at(50)) else { panic!("room") };
        seat.seal(pending("ap_1"));
        assert!(matches!(enter(at(60)), Found::Sealed(same) if same.id == "ap_1"));
        let Found::Room(later) = enter(at(90)) else { panic!("a new one") };
        later.seal(pending("ap_2"));
        crowd.over("ap_2");
        assert!(matches!(enter(at(91)), Found::Room(_)));
    }
}
