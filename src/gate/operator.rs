//! The way of a call that only an operator may allow: it waits in a queue that all servers of the state folder share, and the server that finds
//! the answer compares everything anew.

use std::time::{Duration, Instant};

use serde_json::json;

use super::answer::{not_kept, note};
use super::asker::Waits;
use super::asking::{note_request, sealed};
use super::choices::choices;
use super::open::full;
use super::pending::Pending;
use super::resolve::{Asked, Case, Repeat, Round, refusal};
use super::shared::CallGate;
use crate::audit::Event;
use crate::model::{Code, Decision, Question, Refusal};
use crate::policy::{Answer, AnswerChannel, Response, Scope, Verdict};
use crate::state::{Answered, Ask, Say, persons};

/// Between two looks for an answer.
const LOOK: Duration = Duration::from_millis(100);
/// Between two signs of life to a client that waits; below the 60 s after which common clients give a silent call up.
const HEARTBEAT: Duration = Duration::from_secs(10);

impl CallGate {
    /// Puts the question into the operators' queue, or takes up the one that is there; waits for an answer as the client can, and gives the
    /// permit when it is a yes.
    /// # Errors  What the answer is refused with; `rate_limited`, `killed`, `cancelled`.
    pub(super) async fn ask_operator(&self, case: &Case<'_>, mut asked: Asked, repeat: Option<Repeat>) -> Result<Round, Refusal> {
        let waits = case.asker.waits();
        let is_repeated = repeat.is_some();
        let pending = match repeat {
            Some(Repeat { answer: Some(_), .. }) => {
                let refusal = Refusal::new(Code::ApprovalWrongChannel, "only an operator can approve this call");
                return Err(refusal.rule("approvals").hint("nothing was done; call again without an answer and wait for the operator"));
            }
            Some(Repeat { pending, .. }) if pending.operator => pending,
            _ => self.queue(case, &asked)?,
        };
        let answers = self.shared.state.answers(&pending.id).map_err(|_| not_kept())?;
        asked.state.answer = Some(self.operators_answer(&pending, &answers, asked.binding.clone())?);
        let verdict = case.judge(&asked.state);
        match verdict.decision {
            Decision::Allow => {
                // Where several operators agree, the narrowest scope counts.
                let scope = answers.iter().filter_map(|answered| scope_of(answered.say)).min().unwrap_or(Scope::Once);
                let granted = self.consume(case, &verdict, &pending, scope)?;
                self.forget(&pending);
                return Ok(granted);
            }
            // The same call elsewhere has used a yes that lasts: a grant may hold for this one now.
            Decision::Deny if verdict.code == Code::ApprovalReplayed => return Ok(Round::Again(Repeat { pending, answer: None })),
            Decision::Deny => return Err(self.refused(case, &pending, &verdict)),
            Decision::Ask if pending.is_over(self.tick()) => {
                self.forget(&pending);
                note(case.entry, Event::ApprovalExpired, &pending.id, json!({"reason": Code::ApprovalExpired}));
                let refusal = Refusal::new(Code::ApprovalExpired, "the operators whose approval is needed did not all answer in time");
                return Err(refusal.rule("approvals").hint("nothing was done; call again, and the operators are asked again"));
            }
            Decision::Ask => {}
        }
        case.place.leave();
        let hold = (waits == Waits::Repeated).then(|| if is_repeated { self.hold() } else { Duration::ZERO });
        if self.has_news(case, &pending, answers.len(), hold).await? {
            // What is there now is what the answer is compared with and what is acted on.
            return Ok(Round::Again(Repeat { pending, answer: None }));
        }
        // A call that comes back and has waited its turn may do so once more.
        let pending = Pending { turn: pending.turn.saturating_add(u32::from(is_repeated)), ..pending };
        let question = Question { choices: Vec::new(), wait: pending.left(self.tick()), ..self.question(case, &asked, &pending) };
        sealed(case, question, &pending)
    }

    /// Waits until there are more than `seen` answers, another call has used one, or the question is over; for no longer than `hold`, where
    /// there is one. False: there is nothing new.
    async fn has_news(&self, case: &Case<'_>, pending: &Pending, seen: usize, hold: Option<Duration>) -> Result<bool, Refusal> {
        let began = Instant::now();
        // The first sign of life at once, then one every few seconds.
        let mut beats = 0;
        loop {
            let count = self.shared.state.answers(&pending.id).map_err(|_| not_kept())?.len();
            // Between two looks the same call elsewhere may take the answer, and the question with it: nothing more comes.
            let is_taken = count == 0 && self.shared.state.was_used(&pending.id).map_err(|_| not_kept())?;
            if count > seen || is_taken || pending.is_over(self.tick()) {
                return Ok(true);
            }
            if hold.is_some_and(|hold| began.elapsed() >= hold) {
                return Ok(false);
            }
            if began.elapsed() >= HEARTBEAT * beats {
                case.asker.beat(began.elapsed());
                beats += 1;
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                // The question stays until its end: the same call, made again, finds the answer. Clients take a call back when a person takes long.
                () = case.asker.gone() => {
                    let code = if case.asker.is_cancelled() { Code::Cancelled } else { Code::ApprovalExpired };
                    return Err(Refusal::new(code, "the client stopped waiting for the operator's answer; the question stays open, and the same call made again gets the answer"));
                }
                () = self.killed() => {
                    self.forget(pending);
                    return Err(Refusal::new(Code::Killed, "the emergency stop was switched on while an operator was being asked"));
                }
            }
        }
    }

    /// How long a repeated call of 2026-07-28 stays open before it is sent round once more: clients give up after ten rounds.
    fn hold(&self) -> Duration {
        (self.manifest.approvals.timeout / 9).clamp(Duration::from_millis(500), Duration::from_secs(20))
    }

    /// The question of this very call in the queue: the one that waits already, or a new one.
    fn queue(&self, case: &Case<'_>, asked: &Asked) -> Result<Pending, Refusal> {
        let now = self.tick();
        let queue = &self.shared.state;
        let mut waiting = queue.asks().map_err(|_| not_kept())?;
        waiting.retain(|ask| !ask.is_over(now) || queue.answers(&ask.id).is_ok_and(|answers| !answers.is_empty()));
        let principal = &case.call.caller.principal;
        let pending = Pending { operator: true, code: None, ..self.new_pending(case, asked)? };
        // A used one is on its way out of the queue: what it was given for has begun.
        let is_open = |ask: &&Ask| !queue.was_used(&ask.id).unwrap_or(true);
        if let Some(same) = waiting.iter().filter(|ask| ask.binding == asked.binding && ask.principal == *principal).find(is_open) {
            queue.ask_again(&same.id);
            return Ok(Pending { id: same.id.clone(), expires: same.expires, asked: same.since, ..pending });
        }
        waiting.retain(|ask| !ask.is_over(now));
        let own = waiting.iter().filter(|ask| ask.principal == *principal).count();
        let soonest = waiting.iter().map(|ask| ask.left(now)).min().unwrap_or(0);
        full(own, waiting.len(), soonest.div_ceil(1000))?;
        self.count_question(principal)?;
        let needed = self.manifest.approvals.two_persons.iter().any(|tool| tool == case.capability.spec.name);
        let ask = Ask {
            id: pending.id.clone(),
            binding: asked.binding.clone(),
            call: case.entry.id().to_owned(),
            tool: case.capability.spec.name.to_owned(),
            principal: principal.clone(),
            session: case.call.caller.session.clone(),
            profile: case.capability.profile.clone(),
            level: asked.level.into(),
            code: asked.code.as_str().to_owned(),
            text: self.text(case, &asked.preview, asked.level, None),
            asked: pending.asked.seconds(),
            expires: pending.expires,
            since: pending.asked,
            needed: 1 + u8::from(needed),
            choices: choices(case, asked.level).into_iter().map(|choice| (choice.value, choice.title)).collect(),
            diff: self.whole_diff(case, &asked.preview),
        };
        note_request(case, asked, &pending, "operator", &ask.text);
        queue.put_ask(&ask).map_err(|fault| {
            tracing::error!(%fault, "a question could not be put into the operator's queue");
            not_kept()
        })?;
        tracing::warn!("a call waits for an operator; to see and answer it, run `toolgate approvals show {}`", pending.id);
        Ok(pending)
    }

    /// The operators' answers as the judge takes them.
    fn operators_answer(&self, pending: &Pending, answers: &[Answered], binding_now: String) -> Result<Answer, Refusal> {
        let now = self.tick();
        let is_refused = answers.iter().any(|answered| answered.say == Say::Deny);
        let last = answers.iter().map(|answered| answered.when).max_by_key(|when| (when.wall, when.up));
        // A yes is good for as long as a question is, from when it was given.
        let fresh = last.filter(|when| !now.is_past(*when, self.open_for()));
        let answer = self.answer_to(pending, binding_now, pending.is_over(fresh.unwrap_or(now)))?;
        // What an operator was shown is what they agreed to: one answer to another text spoils the question.
        let other = answers.iter().map(|answered| &answered.binding).find(|binding| **binding != pending.binding);
        // Two operators of whom one enrolled the other alone are one person.
        let agreed = persons(answers).into_iter().filter(|answered| answered.say != Say::Deny);
        Ok(Answer {
            channel: AnswerChannel::Operator,
            response: is_refused.then(|| Response { action: "decline".to_owned(), ..Response::default() }),
            approvers: agreed.map(|answered| answered.operator.clone()).collect(),
            binding: other.cloned().unwrap_or(answer.binding),
            ..answer
        })
    }

    /// A no, on the record; the question is closed by it.
    fn refused(&self, case: &Case<'_>, pending: &Pending, verdict: &Verdict) -> Refusal {
        match verdict.code {
            // Somebody else's: it stays theirs.
            Code::ApprovalWrongPrincipal => return refusal(verdict),
            Code::ApprovalExpired => note(case.entry, Event::ApprovalExpired, &pending.id, json!({"reason": verdict.code})),
            _ => self.close(pending),
        }
        self.forget(pending);
        refusal(verdict)
    }

    /// Takes a question out of the queue.
    pub(super) fn forget(&self, pending: &Pending) {
        if let Err(fault) = self.shared.state.drop_ask(&pending.id) {
            tracing::warn!(%fault, "a question could not be taken out of the operator's queue");
        }
    }
}

/// How far an operator's yes goes; none for a no.
const fn scope_of(say: Say) -> Option<Scope> {
    match say {
        Say::Deny => None,
        Say::Once => Some(Scope::Once),
        Say::Session => Some(Scope::Session),
        Say::SessionFolder => Some(Scope::SessionFolder),
        Say::SessionRoot => Some(Scope::SessionRoot),
    }
}
