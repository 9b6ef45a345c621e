//! The way of a call that only an operator may allow: it waits in a queue that all servers of the state folder share, and the server that finds
//! the answer compares everything anew.

use std::time::{Duration, Instant};

use serde_json::json;

use super::answer::{moments, not_kept, note};
use super::asker::{Asker, Waits};
use super::asking::recorded;
use super::choices::choices;
use super::open::full;
use super::pending::Pending;
use super::preview::Preview;
use super::resolve::{Case, Repeat, Resolution, led_to, refusal};
use super::shared::CallGate;
use crate::audit::Event;
use crate::entry::Entry;
use crate::model::{Code, Level, Question, Refusal};
use crate::policy::{Answer, AnswerChannel, Decision, Response, Scope, State, Verdict, judge};
use crate::state::{Answered, Ask, Say, persons};

/// What is asked.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    /// The judgement that asks.
    pub(super) verdict: Verdict,
    /// The level it is asked at.
    pub(super) level: Level,
    /// Digest of everything as it is now.
    pub(super) binding: String,
    /// What can be shown of it.
    pub(super) preview: &'a Preview,
}

/// Between two looks for an answer.
const LOOK: Duration = Duration::from_millis(100);
/// Between two signs of life to a client that waits; below the 60 s after which common clients give a silent call up.
const HEARTBEAT: Duration = Duration::from_secs(10);

impl CallGate {
    /// Waits for the operator's answer as the client can, and gives the permit when it is a yes.
    pub(super) async fn resolve_with_operator(
        &self,
        case: &Case<'_>,
        entry: &Entry,
        repeat: Option<Repeat>,
        wanted: Asked<'_>,
        mut state: State,
        asker: &dyn Asker,
    ) -> Result<Resolution, Refusal> {
        let waits = asker.waits();
        let repeated = repeat.is_some();
        if repeat.as_ref().is_some_and(|repeat| repeat.answer.is_some()) {
            let refusal = Refusal::new(Code::ApprovalWrongChannel, "this call is approved on the operator's channel alone");
            return Err(refusal.rule("approvals").hint("nothing was done; call again without an answer and wait for the operator"));
        }
        let pending = match repeat {
            Some(Repeat { pending, .. }) => pending,
            None => self.queue(case, entry, &wanted, &state, waits)?,
        };
        let began = Instant::now();
        // The first sign of life at once, then one every few seconds.
        let (mut seen, mut beats) = (usize::MAX, 0);
        loop {
            let answers = self.shared.state.answers(&pending.id).map_err(|_| not_kept())?;
            if answers.is_empty() && self.shared.state.was_used(&pending.id).map_err(|_| not_kept())? {
                // Between two looks the same call elsewhere has taken the answer, and the question with it: nothing more comes.
                return Ok(Resolution::Again(Some(Repeat::waiting(pending))));
            }
            if seen != usize::MAX && answers.len() > seen {
                // It came while this call waited: what is there now is what it is compared with and what is acted on.
                return Ok(Resolution::Again(Some(Repeat::waiting(pending))));
            }
            let is_over = pending.is_over(self.tick());
            let over = is_over && answers.is_empty();
            if answers.len() != seen || over {
                seen = answers.len();
                state.answer = Some(self.operators_answer(&pending, &answers, wanted.binding.clone())?);
                let verdict = judge(case.capability, case.action, case.screened, case.facts, &state);
                match verdict.decision {
                    Decision::Allow => {
                        let said = answers.iter().filter_map(|answered| scope_of(answered.say));
                        // Where several operators agree, the narrowest scope counts.
                        let scope = said.min().unwrap_or(Scope::Once);
                        let settled = self.consume(case, entry, &verdict, &pending, scope)?;
                        self.forget(&pending);
                        return Ok(settled);
                    }
                    // The twin of a call whose yes lasts: a grant may hold for it now.
                    Decision::Deny if verdict.code == Code::ApprovalReplayed => {
                        return Ok(Resolution::Again(Some(Repeat::waiting(pending))));
                    }
                    Decision::Deny => return Err(self.refused(entry, &pending, &verdict)),
                    Decision::Ask => {}
                }
            }
            if is_over {
                // One operator agreed and the other never came.
                self.forget(&pending);
                note(entry, Event::ApprovalExpired, &pending.id, json!({"reason": Code::ApprovalExpired}));
                return Err(Refusal::new(Code::ApprovalExpired, "no operator answered in time, or one was still lacking"));
            }
            if waits == Waits::Repeated && (!repeated || began.elapsed() >= self.hold()) {
                // A call that comes back and has waited its turn may do so once more.
                let pending = Pending { turn: pending.turn.saturating_add(u32::from(repeated)), ..pending };
                return self.come_back(case, &wanted, &pending, asker);
            }
            if began.elapsed() >= HEARTBEAT * beats {
                asker.beat(began.elapsed());
                beats += 1;
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                // The question stays until its end: the same call, made again, finds the answer. Clients take a call back when a person takes long.
                () = asker.gone() => {
                    let code = if asker.is_cancelled() { Code::Cancelled } else { Code::ApprovalExpired };
                    return Err(Refusal::new(code, "nobody waited for the operator's answer any more; the question stays, and the same call finds its answer"));
                }
                () = self.killed() => {
                    self.forget(&pending);
                    return Err(Refusal::new(Code::Killed, "the emergency stop was pulled while an operator was being asked"));
                }
            }
        }
    }

    /// How long a repeated call of 2026-07-28 stays open before it is sent round once more: clients give up after ten rounds.
    fn hold(&self) -> Duration {
        (self.manifest.approvals.timeout / 9).clamp(Duration::from_millis(500), Duration::from_secs(20))
    }

    /// The question of this very call in the queue: the one that waits already, or a new one.
    fn queue(&self, case: &Case<'_>, entry: &Entry, wanted: &Asked<'_>, state: &State, waits: Waits) -> Result<Pending, Refusal> {
        let now = self.tick();
        let queue = &self.shared.state;
        let mut waiting = queue.asks().map_err(|_| not_kept())?;
        waiting.retain(|ask| !ask.is_over(now) || queue.answers(&ask.id).is_ok_and(|answers| !answers.is_empty()));
        let principal = &case.call.caller.principal;
        let mut pending = Pending { operator: true, code: None, ..self.new_pending(case, wanted.binding.clone(), wanted.level)? };
        pending.reviews.clone_from(&state.reviews);
        // A used one is on its way out of the queue: what it was given for has begun.
        let is_open = |ask: &&Ask| !queue.was_used(&ask.id).unwrap_or(true);
        if let Some(same) = waiting.iter().filter(|ask| ask.binding == wanted.binding && ask.principal == *principal).find(is_open) {
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
            binding: wanted.binding.clone(),
            call: entry.id().to_owned(),
            tool: case.capability.spec.name.to_owned(),
            principal: principal.clone(),
            session: case.call.caller.session.clone(),
            profile: case.capability.profile.clone(),
            level: wanted.level.into(),
            code: wanted.verdict.code.as_str().to_owned(),
            text: self.text(case, wanted.preview, wanted.level, None),
            asked: pending.asked.seconds(),
            expires: pending.expires,
            since: pending.asked,
            needed: 1 + u8::from(needed),
            choices: choices(case, wanted.level).into_iter().map(|choice| (choice.value, choice.title)).collect(),
            diff: self.whole_diff(case, wanted.preview),
        };
        note(
            entry,
            Event::ApprovalRequested,
            &pending.id,
            json!({
                "level": wanted.level, "channel": "operator", "reason": wanted.verdict.code, "leads_to": led_to(case),
                "question": recorded(case, entry, &ask.text)
            }),
        );
        queue.put_ask(&ask).map_err(|fault| {
            tracing::error!(%fault, "a question could not be put into the operator's queue");
            not_kept()
        })?;
        tracing::warn!(id = pending.id, ?waits, "a call waits for an operator: toolgate approvals show {}", pending.id);
        Ok(pending)
    }

    /// The operators' answers as the judge takes them.
    fn operators_answer(&self, pending: &Pending, answers: &[Answered], binding_now: String) -> Result<Answer, Refusal> {
        let used = self.shared.state.was_used(&pending.id).map_err(|_| not_kept())?;
        let now = self.tick();
        let refused = answers.iter().any(|answered| answered.say == Say::Deny);
        let last = answers.iter().map(|answered| answered.when).max_by_key(|when| (when.wall, when.up));
        // A yes is good for as long as a question is, from when it was given.
        let fresh = last.filter(|when| !now.is_past(*when, self.open_for()));
        let (at, expires) = moments(pending, pending.is_over(fresh.unwrap_or(now)));
        // What an operator was shown is what they agreed to: one answer to another text spoils the question.
        let shown = answers.iter().find(|answered| answered.binding != pending.binding).map_or(&pending.binding, |other| &other.binding);
        Ok(Answer {
            channel: AnswerChannel::Operator,
            response: refused.then(|| Response { action: "decline".to_owned(), ..Response::default() }),
            // Two operators of whom one enrolled the other alone are one person.
            approvers: persons(answers)
                .into_iter()
                .filter(|answered| answered.say != Say::Deny)
                .map(|answered| answered.operator.clone())
                .collect(),
            code: None,
            binding: shown.clone(),
            binding_now,
            expires: Some(expires),
            at,
            used,
            for_principal: pending.principal.clone(),
        })
    }

    /// A no, on the record; the question is closed by it.
    fn refused(&self, entry: &Entry, pending: &Pending, verdict: &Verdict) -> Refusal {
        match verdict.code {
            // Somebody else's: it stays theirs.
            Code::ApprovalWrongPrincipal => return refusal(verdict),
            Code::ApprovalExpired => note(entry, Event::ApprovalExpired, &pending.id, json!({"reason": verdict.code})),
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

    fn come_back(&self, case: &Case<'_>, wanted: &Asked<'_>, pending: &Pending, asker: &dyn Asker) -> Result<Resolution, Refusal> {
        let text = self.text(case, wanted.preview, wanted.level, None);
        let (wait, choices) = (pending.left(self.tick()), Vec::new());
        let question = Question { id: pending.id.clone(), text, code: None, choices, wait, by_operator: true };
        Self::sealed(question, pending, asker)
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
