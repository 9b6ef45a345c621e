//! How many questions wait for answers: floods are capped, and the same question is not put twice at one time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::pending::Pending;
use super::rates::Millis;
use super::shared::lock;
use crate::model::{Code, Refusal};
use crate::state::Tick;

/// Questions of one caller that may wait at one time.
pub(super) const PER_PRINCIPAL: usize = 16;
/// Questions of all callers together.
pub(super) const IN_ALL: usize = 64;

/// The questions of this server that wait for a client's answer.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions(Arc<Mutex<HashMap<String, Waiting>>>);

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

/// What a call that is to ask finds.
#[derive(Debug)]
pub(super) enum Found {
    /// It may ask.
    New(OpenQuestion),
    /// The very same question is being answered in another call: this tells its end, or closes with that call.
    Same(watch::Receiver<End>),
    /// The very same question waits in the client.
    Sealed(Pending),
}

/// A question that a call holds open; over when dropped.
#[derive(Debug)]
pub struct OpenQuestion {
    all: Arc<Mutex<HashMap<String, Waiting>>>,
    binding: String,
    end: Option<watch::Sender<End>>,
}

impl OpenQuestion {
    /// Says how it ended to the calls that ask the same.
    pub(super) fn end_with(&self, end: End) {
        if let Some(sender) = &self.end {
            sender.send_replace(end);
        }
    }

    /// Leaves the question to a sealed state, which may come back or not.
    pub(super) fn seal(mut self, pending: Pending) {
        if let Some(waiting) = lock(&self.all).get_mut(&self.binding) {
            waiting.kind = Kind::Sealed(pending);
        }
        // Nothing is given up on drop.
        self.end = None;
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if self.end.is_some() {
            lock(&self.all).remove(&self.binding);
        }
    }
}

impl OpenQuestions {
    /// Takes a place for a question, unless it waits already.
    /// # Errors  `rate_limited`: too many questions wait.
    pub(super) fn enter(&self, principal: &str, binding: &str, now: Tick, span: Millis) -> Result<Found, Refusal> {
        let mut questions = lock(&self.0);
        // A call that stays open gives its place up itself: also while it acts on the answer.
        questions.retain(|_, waiting| matches!(waiting.kind, Kind::During(_)) || !now.is_past(waiting.since, waiting.span));
        match questions.get(binding) {
            Some(Waiting { kind: Kind::During(end), .. }) => return Ok(Found::Same(end.clone())),
            // One that is about to end leaves a person no time: a new one takes its place.
            Some(Waiting { kind: Kind::Sealed(pending), since, span: open, .. }) if !now.is_past(*since, *open / 2) => {
                return Ok(Found::Sealed(pending.clone()));
            }
            _ => {}
        }
        let own = questions.values().filter(|waiting| waiting.principal == principal).count();
        let soonest = questions.values().map(|waiting| now.left(waiting.since, waiting.span)).min().unwrap_or(span);
        full(own, questions.len(), soonest.div_ceil(1000))?;
        let (end, ends) = watch::channel(End::Open);
        let waiting = Waiting { principal: principal.to_owned(), since: now, span, kind: Kind::During(ends) };
        questions.insert(binding.to_owned(), waiting);
        Ok(Found::New(OpenQuestion { all: Arc::clone(&self.0), binding: binding.to_owned(), end: Some(end) }))
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
        let questions = OpenQuestions::default();
        let mut open = Vec::new();
        for caller in 0..IN_ALL / PER_PRINCIPAL {
            for question in 0..PER_PRINCIPAL {
                open.push(questions.enter(&format!("p{caller}"), &format!("{caller}/{question}"), at(50), OPEN).unwrap());
            }
            let refusal = questions.enter(&format!("p{caller}"), "one more", at(50), OPEN).unwrap_err();
            assert_eq!((refusal.code, refusal.retry_after_s), (Code::RateLimited, Some(50)));
        }
        let refusal = questions.enter("another", "x", at(50), OPEN).unwrap_err();
        assert!(refusal.message.contains("64 questions wait"), "{refusal}");
        open.pop();
        assert!(matches!(questions.enter("another", "x", at(50), OPEN), Ok(Found::New(_))), "an answer makes room");
    }

    #[test]
    fn sealed_questions_make_room_when_their_time_is_over_and_open_calls_when_they_end() {
        let questions = OpenQuestions::default();
        let enter = |id: &str, now| questions.enter("p", id, now, OPEN);
        let Found::New(open) = enter("open", at(50)).unwrap() else { panic!("room") };
        for question in 1..PER_PRINCIPAL {
            let Found::New(one) = enter(&question.to_string(), at(50)).unwrap() else { panic!("room") };
            one.seal(pending(&format!("ap_{question}")));
        }
        assert!(enter("more", Tick { wall: 0, ..at(99) }).is_err(), "a clock set back changes nothing");
        assert!(matches!(enter("more", Tick { wall: 0, ..at(100) }).unwrap(), Found::New(_)));
        assert!(matches!(enter("open", at(500)).unwrap(), Found::Same(_)), "its call is still under way");
        drop(open);
        assert!(matches!(enter("open", at(500)).unwrap(), Found::New(_)));
    }

    #[test]
    fn the_same_question_is_put_once_and_its_no_is_everybodys() {
        let questions = OpenQuestions::default();
        let Found::New(one) = questions.enter("p", "b", at(50), OPEN).unwrap() else { panic!("room") };
        let Found::Same(end) = questions.enter("p", "b", at(51), OPEN).unwrap() else { panic!("same") };
        one.end_with(End::Refused(Refusal::new(Code::ApprovalRefused, "no")));
        drop(one);
        assert!(matches!(&*end.borrow(), End::Refused(refusal) if refusal.code == Code::ApprovalRefused));
        assert!(matches!(questions.enter("p", "b", at(52), OPEN).unwrap(), Found::New(_)));
    }

    #[test]
    fn a_sealed_question_is_given_again_while_it_has_time_left() {
        let questions = OpenQuestions::default();
        let enter = |now| questions.enter("p", "b", now, OPEN).unwrap();
        let Found::New(one) = enter(at(50)) else { panic!("room") };
        one.seal(pending("ap_1"));
        assert!(matches!(enter(at(60)), Found::Sealed(same) if same.id == "ap_1"));
        let Found::New(later) = enter(at(90)) else { panic!("a new one") };
        later.seal(pending("ap_2"));
        questions.over("ap_2");
        assert!(matches!(enter(at(91)), Found::New(_)));
    }
}
