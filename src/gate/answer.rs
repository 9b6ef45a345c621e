//! What becomes of an answer: it is judged with everything it is bound to, used up, and turned into a permit.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::asking::{LATE, channel_name};
use super::grants::GrantKey;
use super::pending::Pending;
use super::rates::Millis;
use super::resolve::{Asked, Case, Repeat, Resolution, Round, grants_of, refusal, subjects};
use super::shared::CallGate;
use crate::audit::Event;
use crate::entry::Entry;
use crate::model::{Code, Decision, Refusal, Target};
use crate::policy::{Answer, AnswerChannel, Moment, Response, Scope, Verdict, offered};
use crate::state::Kept;

impl CallGate {
    /// Judges a client's answer, uses the approval up, and gives the permit.
    pub(super) fn conclude(
        &self,
        case: &Case<'_>,
        mut asked: Asked,
        response: Option<&Value>,
        pending: &Pending,
    ) -> Result<Round, Refusal> {
        // No answer in time is one that came too late.
        let late = response.is_none() || pending.is_over(self.tick());
        let response = response.map(response_of);
        let chosen = response.as_ref().and_then(|response| response.content.get("decision")).cloned();
        let event = if response.is_none() { Event::ApprovalExpired } else { Event::ApprovalAnswered };
        let answer = Answer { response, code: pending.code.clone(), ..self.answer_to(pending, asked.binding, late)? };
        asked.state.answer = Some(answer);
        let verdict = case.judge(&asked.state);
        // The record names the person at the client beside the caller.
        let facts = json!({"decision": chosen, "reason": verdict.code, "channel": channel_name(case), "answerer": answerer(case)});
        note(case.entry, event, &pending.id, facts);
        if verdict.decision != Decision::Allow {
            if matches!(verdict.code, Code::ApprovalRefused | Code::ApprovalNotExplicit) {
                self.close(pending);
            }
            return Err(refusal(&verdict));
        }
        let scope = chosen.as_ref().and_then(Value::as_str).and_then(Scope::parse).unwrap_or(Scope::Once);
        self.consume(case, &verdict, pending, scope)
    }

    /// What the judge compares of any answer; what a person said is to be filled in.
    pub(super) fn answer_to(&self, pending: &Pending, binding_now: String, late: bool) -> Result<Answer, Refusal> {
        let ends = Moment(i64::try_from(pending.expires).unwrap_or(i64::MAX).saturating_mul(1_000_000_000));
        Ok(Answer {
            channel: AnswerChannel::Client,
            response: None,
            approvers: Vec::new(),
            code: None,
            binding: pending.binding.clone(),
            binding_now,
            expires: Some(ends),
            // Which of the clocks says that it is late was decided before.
            at: if late { ends } else { Moment(ends.0.saturating_sub(1)) },
            used: self.shared.state.was_used(&pending.id).map_err(|_| not_kept())?,
            for_principal: pending.principal.clone(),
        })
    }

    /// Refuses a call whose question a person has answered and that is none any more, as what it is about has changed. A no closes it.
    pub(super) fn overtaken(&self, entry: &Entry, Repeat { pending, answer }: &Repeat) -> Refusal {
        let code = Code::ApprovalMismatch;
        note(entry, Event::ApprovalAnswered, &pending.id, json!({"reason": code}));
        if is_no(answer.as_ref()) || pending.operator {
            self.close(pending);
        }
        if pending.operator {
            self.forget(pending);
        }
        Refusal::new(code, "the approval does not fit any more: the call, a file or the manifest changed")
            .rule("approvals")
            .hint("nothing was done; call again, and the person is asked again")
    }

    /// A no is an answer, too: the same question takes no second one, and a code is not guessed by trying.
    pub(super) fn close(&self, pending: &Pending) {
        if let Err(fault) = self.shared.state.use_once(&pending.id, self.kept(pending)) {
            tracing::error!(%fault, "an answered question could not be closed");
        }
    }

    /// Uses an approval up, keeps a grant where the yes lasts, and gives the permit.
    pub(super) fn consume(&self, case: &Case<'_>, verdict: &Verdict, pending: &Pending, scope: Scope) -> Result<Round, Refusal> {
        // INVARIANT: consumed before the start is recorded. A crash between the two loses the approval and never doubles it.
        match self.shared.state.use_once(&pending.id, self.kept(pending)) {
            Ok(true) => note(case.entry, Event::ApprovalConsumed, &pending.id, json!({})),
            Ok(false) => return Err(replayed()),
            Err(fault) => {
                tracing::error!(%fault, "an approval could not be marked as used");
                return Err(not_kept());
            }
        }
        // What was not offered was not shown, so it is not kept.
        let is_offered = |level| offered(case.capability, case.action, level, verdict.grant.as_deref()).contains(&scope);
        if verdict.level.is_some_and(is_offered)
            && let Some(key) = self.grant_key(case, verdict)
        {
            let seen = subjects(&case.seen.opened);
            match (scope, case.seen.opened.first()) {
                (Scope::Once, _) | (Scope::SessionFolder | Scope::SessionRoot, None) => {}
                (Scope::Session, _) => {
                    for (key, seen) in grants_of(case.action, &key, &seen) {
                        self.shared.grants.keep(key, &seen);
                    }
                }
                (Scope::SessionFolder | Scope::SessionRoot, Some(opened)) => {
                    let target = Target { root: opened.target.root.clone(), path: opened.path().clone() };
                    self.shared.grants.keep_wide(GrantKey { target: scope.names(&target), ..key }, scope, &seen);
                }
            }
        }
        Ok(Round::Over(Resolution::Granted(self.grant(case, verdict, Some(pending.id.clone())))))
    }

    /// For how long the mark of a used approval must stay: no state that names it opens any more after that.
    pub(super) fn kept(&self, pending: &Pending) -> Kept {
        let late = Millis::try_from(LATE.as_millis()).unwrap_or(Millis::MAX);
        Kept { since: self.tick(), span: self.open_for().saturating_mul(3).saturating_add(late * 2).max(pending.span()) }
    }
}

/// Whether what a client sent with its repeat is a no.
pub(super) fn is_no(repeat: Option<&Value>) -> bool {
    repeat.is_some_and(|repeat| {
        let response = response_of(repeat);
        response.action != "accept" || response.content.get("decision").and_then(Value::as_str).and_then(Scope::parse).is_none()
    })
}

/// The raw elicitation result as the judge reads it. Whatever has not its form says nothing.
fn response_of(value: &Value) -> Response {
    let action = value.get("action").and_then(Value::as_str).unwrap_or_default().to_owned();
    let content: BTreeMap<String, Value> = match value.get("content") {
        Some(Value::Object(fields)) => fields.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        _ => BTreeMap::new(),
    };
    Response { action, content }
}

/// Records an event of the approval with this id.
pub(super) fn note(entry: &Entry, event: Event, id: &str, facts: Value) {
    let mut all = Map::from_iter([("approval".to_owned(), json!(id))]);
    if let Value::Object(facts) = facts {
        all.extend(facts.into_iter().filter(|(_, fact)| !fact.as_array().is_some_and(Vec::is_empty)));
    }
    if let Err(fault) = entry.note(event, all) {
        // The start of the call is recorded before it acts; that record decides, not this one.
        tracing::error!(%fault, "an approval event could not be recorded");
    }
}

/// The one who answers a client's question: the person at the client of this caller.
fn answerer(case: &Case<'_>) -> String {
    let caller = &case.call.caller;
    if caller.client.name.is_empty() { caller.principal.clone() } else { format!("{} by {}", caller.principal, caller.client.name) }
}

pub(super) fn not_ours() -> Refusal {
    Refusal::new(Code::ApprovalMismatch, "the request state was not given by this server, was changed, or is too old")
        .hint("nothing was done; call again without it, and the person is asked again")
}

pub(super) fn replayed() -> Refusal {
    Refusal::new(Code::ApprovalReplayed, "this approval was used already; an approval allows one call")
        .hint("nothing was done; call again, and the person is asked again")
}

pub(super) fn not_kept() -> Refusal {
    Refusal::new(Code::NoApprovalChannel, "the question could not be stored, so no person was asked")
        .hint("ask the operator to look at the server's log and state folder")
}
