//! Stage 6: the judgement, a person where it asks for one, and the permit.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::asker::{Asker, Waits};
use super::crowd::Found;
use super::door::{Door, wall_seconds};
use super::grants::GrantKey;
use super::operator::Asked;
use super::pending::{Bound, Pending, code};
use super::permit::{Permit, Terms};
use super::question::{self, Preview};
use super::review::Reviewers;
use crate::audit::{self, Entry, Event, Reach, token};
use crate::model::{Action, Caller, Channel, Code, Facts, Failure, Identity, Level, Opened, Question, Refusal, ToolCall};
use crate::policy::{
    Answer, AnswerChannel, Capability, Channels, Decision, Grant, Moment, Response, Screened, State, Verdict, effect, judge,
};

/// How long a sealed state opens after its question has ended.
const LATE: Duration = Duration::from_hours(1);

/// What a call came to at the gate, when it was not refused.
#[derive(Debug)]
pub enum Settled {
    /// It may act, once.
    Granted(Box<Granted>),
    /// The client is to ask a person and repeat the call with this sealed state.
    Ask(Question, String),
    /// It would need a person's yes, and could not be done with it.
    Doomed(Failure),
}

/// A yes with all that goes with it.
#[derive(Debug)]
pub struct Granted {
    /// The right to act.
    pub permit: Permit<Action>,
    /// For the record.
    pub decision: audit::Decision,
    /// How far its effect goes.
    pub reach: Reach,
    /// The grant that our own change renews, where one is kept.
    pub grant: Option<GrantKey>,
}

/// One call as it stands before the judge.
#[derive(Debug)]
pub struct Case<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// What the caller may do.
    pub capability: &'a Capability,
    /// What the call would do.
    pub action: &'a Action,
    /// What its text means.
    pub screened: &'a Screened,
    /// What was seen of the world.
    pub facts: &'a Facts,
    /// The same, with the handles it was seen through.
    pub opened: &'a [Opened],
}

impl Door {
    /// What a repeated call brought back, if it was sealed here.
    pub fn pending(&self, call: &ToolCall, asker: &dyn Asker) -> Option<Pending> {
        let sealed = call.repeat.as_ref()?;
        serde_json::from_slice(&asker.open(&sealed.state)?).ok()
    }

    /// Whether a repeated call belongs to a question that still waits for it.
    pub fn is_awaited(&self, pending: Option<&Pending>, caller: &Caller) -> bool {
        pending.is_some_and(|pending| {
            pending.principal == caller.principal
                && wall_seconds() < pending.expires
                && !self.shared.state.was_used(&pending.id).unwrap_or(true)
        })
    }

    /// Judges the case, asks where the judgement asks, and gives the permit.
    /// # Errors  Whatever the judge refuses with, before or after the answer.
    pub async fn settle(
        &self,
        case: &Case<'_>,
        entry: &Entry,
        pending: Option<Pending>,
        preview: &(dyn Fn() -> Preview + std::marker::Sync),
        reviewers: &dyn Reviewers,
        asker: &dyn Asker,
    ) -> Result<Settled, Refusal> {
        let mut state = self.state(case, asker);
        // What the reviewers said of a call goes with its question; a binding that does not fit is refused all the same.
        state.reviews = pending.as_ref().and_then(|pending| pending.reviews.clone());
        let mut verdict = self.judge(case, &mut state, pending.is_some());
        let mut shown = None;
        if verdict.review_due {
            let level = verdict.level.unwrap_or(Level::System);
            let seen = preview();
            let text = self.text(case, &seen, level, None);
            state.reviews = Some(self.until_killed(self.review(case, level, &text, entry, reviewers, asker)).await?);
            shown = Some(seen);
            verdict = self.judge(case, &mut state, pending.is_some());
        }
        match verdict.decision {
            Decision::Allow => return Ok(self.grant(case, entry, &verdict, None)),
            Decision::Deny => return Err(refusal(&verdict)),
            Decision::Ask if case.call.repeat.is_some() && pending.is_none() => return Err(not_ours()),
            Decision::Ask => {}
        }
        let mut preview = shown.unwrap_or_else(preview);
        let level = verdict.level.unwrap_or(Level::System);
        let binding = self.binding(case, &preview, level);
        if verdict.code == Code::NeedsOperator || case.call.caller.channel == Channel::None || pending.as_ref().is_some_and(|p| p.operator)
        {
            if pending.is_none()
                && let Some(failure) = preview.doomed.take()
            {
                return Ok(Settled::Doomed(failure));
            }
            let wanted = Asked { verdict, level, binding, preview: &preview };
            return self.settle_with_operator(case, entry, pending, wanted, state, asker).await;
        }
        let brought = case.call.repeat.as_ref().and_then(|repeat| repeat.answer.as_ref());
        if let (Some(pending), Some(response)) = (&pending, brought) {
            self.shared.crowd.over(&pending.id);
            let answer = self.answer_of(pending, Some(response), binding)?;
            return self.conclude(case, entry, state, answer, pending);
        }
        if let Some(failure) = preview.doomed.take() {
            return Ok(Settled::Doomed(failure));
        }
        let until = self.until();
        let seat = match self.shared.crowd.enter(&case.call.caller.principal, &binding, wall_seconds(), until)? {
            Found::Room(seat) => seat,
            // The very same is being asked: its no is ours as well, and its yes was for that call alone.
            Found::Same(told) => return Err(self.follow(told).await),
            Found::Sealed(pending) => {
                let wait = Duration::from_secs(pending.expires.saturating_sub(wall_seconds()));
                let question = Question { wait, ..self.question(case, &preview, level, &pending) };
                return Self::sealed(question, &pending, asker);
            }
        };
        let mut pending = self.new_pending(case, binding.clone(), level)?;
        pending.reviews.clone_from(&state.reviews);
        let question = self.question(case, &preview, level, &pending);
        note(entry, Event::ApprovalRequested, &pending, json!({"level": level, "channel": channel_name(case)}));
        if case.call.caller.channel == Channel::Repeat {
            let settled = Self::sealed(question, &pending, asker)?;
            seat.seal(pending);
            return Ok(settled);
        }
        let response = self.until_killed(asker.ask(&question)).await?;
        let answer = self.answer_of(&pending, response.as_ref(), binding)?;
        let concluded = self.conclude(case, entry, state, answer, &pending);
        if let Err(refusal) = &concluded {
            seat.refused(refusal);
        }
        concluded
    }

    /// Waits for the end of the same question in another call: its no is this call's as well, and its yes was for that call alone.
    async fn follow(&self, mut told: tokio::sync::watch::Receiver<Option<Refusal>>) -> Refusal {
        let said = match self.until_killed(told.wait_for(Option::is_some)).await {
            Ok(said) => said.ok().and_then(|said| said.clone()),
            Err(killed) => Some(killed),
        };
        said.unwrap_or_else(|| {
            Refusal::new(Code::ApprovalReplayed, "the same call was being asked about, and the approval was used for that one")
                .hint("call again if it is to be done a second time")
        })
    }

    pub(super) fn sealed(question: Question, pending: &Pending, asker: &dyn Asker) -> Result<Settled, Refusal> {
        let state = serde_json::to_vec(pending).unwrap_or_default();
        // The state outlives the question, so that a late answer is told as late and not as foreign.
        let sealed = asker.seal(&state, question.wait + LATE).ok_or_else(nobody)?;
        Ok(Settled::Ask(question, sealed))
    }

    /// Judges a client's answer, uses the approval up, and gives the permit.
    fn conclude(&self, case: &Case<'_>, entry: &Entry, mut state: State, answer: Answer, pending: &Pending) -> Result<Settled, Refusal> {
        let id = &pending.id;
        let unanswered = answer.response.is_none();
        let chosen = answer.response.as_ref().and_then(|response| response.content.get("decision")).cloned();
        state.answer = Some(answer);
        let verdict = judge(case.capability, case.action, case.screened, case.facts, &state);
        let event = if unanswered { Event::ApprovalExpired } else { Event::ApprovalAnswered };
        note_id(entry, event, id, json!({"decision": chosen, "reason": verdict.code}));
        if verdict.decision != Decision::Allow {
            if matches!(verdict.code, Code::ApprovalRefused | Code::ApprovalNotExplicit)
                && let Err(fault) = self.shared.state.use_once(id, self.used_until(pending))
            {
                // A no is an answer, too: the same question takes no second one, and a code is not guessed by trying.
                tracing::error!(%fault, "a refused question could not be closed");
            }
            return Err(refusal(&verdict));
        }
        let lasting = chosen.as_ref().and_then(Value::as_str) == Some("session");
        self.consume(case, entry, &verdict, pending, lasting)
    }

    /// Uses an approval up, and gives the permit.
    pub(super) fn consume(
        &self,
        case: &Case<'_>,
        entry: &Entry,
        verdict: &Verdict,
        pending: &Pending,
        lasting: bool,
    ) -> Result<Settled, Refusal> {
        // INVARIANT: consumed before the start is recorded. A crash between the two loses the approval and never doubles it.
        match self.shared.state.use_once(&pending.id, self.used_until(pending)) {
            Ok(true) => note_id(entry, Event::ApprovalConsumed, &pending.id, json!({})),
            Ok(false) => return Err(replayed()),
            Err(fault) => {
                tracing::error!(%fault, "an approval could not be consumed");
                return Err(nobody());
            }
        }
        if lasting && let Some(key) = self.grant_key(case, verdict) {
            self.shared.grants.keep(key, &identities(case.opened));
        }
        Ok(self.grant(case, entry, verdict, Some(pending.id.clone())))
    }

    /// Until when the mark of a used approval must stay: no state that names it opens any more.
    pub(super) fn used_until(&self, pending: &Pending) -> u64 {
        pending.expires.saturating_add(self.manifest.approvals.timeout.as_secs().saturating_mul(2)).saturating_add(2 * LATE.as_secs())
    }

    /// When a question asked now ends, in seconds since 1970.
    pub(super) fn until(&self) -> u64 {
        wall_seconds().saturating_add(self.manifest.approvals.timeout.as_secs().max(1))
    }

    /// Renews the grants on a target after our own change of it.
    pub fn renew(&self, key: &GrantKey, before: &[Opened], after: &[Opened]) {
        self.shared.grants.renew(key, &identities(before), &identities(after));
    }

    fn state(&self, case: &Case<'_>, asker: &dyn Asker) -> State {
        let client = case.call.caller.channel != Channel::None;
        let operator = asker.waits() != Waits::Not;
        let (untrusted, contacted) = self.intake(&case.call.caller.session);
        State {
            untrusted,
            contacted,
            now: super::admit::moment(self.shared.now()),
            policy: self.manifest_sha256.clone(),
            channels: Channels { client, operator },
            ..State::default()
        }
    }

    /// The first judgement, and a second one where a grant of this session fits the target as it is now.
    fn judge(&self, case: &Case<'_>, state: &mut State, answered: bool) -> Verdict {
        let verdict = judge(case.capability, case.action, case.screened, case.facts, state);
        if verdict.decision != Decision::Ask || answered {
            // Who comes with an answer can come: the judge hears it whatever this request declares.
            return verdict;
        }
        let Some(key) = self.grant_key(case, &verdict) else { return verdict };
        if !self.shared.grants.fits(&key, &identities(case.opened)) {
            return verdict;
        }
        let GrantKey { principal, session, tool, target, manifest } = key;
        state.grants.push(Grant { principal, session, tool, target, policy: manifest, level: None, expires: None });
        judge(case.capability, case.action, case.screened, case.facts, state)
    }

    pub(super) fn grant_key(&self, case: &Case<'_>, verdict: &Verdict) -> Option<GrantKey> {
        let caller = &case.call.caller;
        Some(GrantKey {
            principal: caller.principal.clone(),
            session: caller.session.clone(),
            tool: case.capability.spec.name.to_owned(),
            target: verdict.grant.clone()?,
            manifest: self.manifest_sha256.clone(),
        })
    }

    fn binding(&self, case: &Case<'_>, preview: &Preview, level: Level) -> String {
        let caller = &case.call.caller;
        Bound {
            principal: &caller.principal,
            session: &caller.session,
            tool: case.capability.spec.name,
            arguments: &case.call.arguments,
            opened: case.opened,
            content_sha256: preview.sha256.as_deref(),
            level: level.into(),
            manifest_sha256: &self.manifest_sha256,
        }
        .digest()
    }

    pub(super) fn new_pending(&self, case: &Case<'_>, binding: String, level: Level) -> Result<Pending, Refusal> {
        let random = || -> std::io::Result<_> {
            let code = if level >= Level::Destroy { Some(code()?) } else { None };
            Ok((format!("ap_{}", token(10)?), code))
        };
        let (id, code) = random().map_err(|_| nobody())?;
        Ok(Pending { id, binding, principal: case.call.caller.principal.clone(), expires: self.until(), code, ..Pending::default() })
    }

    fn question(&self, case: &Case<'_>, preview: &Preview, level: Level, pending: &Pending) -> Question {
        let text = self.text(case, preview, level, pending.code.as_deref());
        let wait = self.manifest.approvals.timeout;
        Question { id: pending.id.clone(), text, code: pending.code.clone(), wait, by_operator: pending.operator }
    }

    /// What a person reads, whichever channel shows it.
    pub(super) fn text(&self, case: &Case<'_>, preview: &Preview, level: Level, code: Option<&str>) -> String {
        let now_ns = i128::from(wall_seconds()) * 1_000_000_000;
        let mut text = question::text(case.action, case.opened, preview, level, now_ns, code, self.manifest.filters.secrets);
        if matches!(case.action, Action::RunPython(_)) && crate::policy::python_network(&self.manifest, &case.capability.profile) {
            text = question::reaching(&text, &self.manifest.network);
        }
        if self.intake(&case.call.caller.session).0 {
            text.push_str("\nThis session has taken in content from outside: what it asks for now may be a stranger's wish.");
        }
        for warning in warnings(case) {
            text.push_str("\nThe static check warns:");
            text.push_str(&crate::filter::escape(warning));
        }
        text
    }

    /// The answer as the judge takes it. No answer in time is one that came too late.
    fn answer_of(&self, pending: &Pending, response: Option<&Value>, binding_now: String) -> Result<Answer, Refusal> {
        let used = self.shared.state.was_used(&pending.id).map_err(|_| nobody())?;
        let seconds = |seconds: u64| Moment(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000_000));
        let at = if response.is_some() { wall_seconds() } else { pending.expires };
        Ok(Answer {
            channel: AnswerChannel::Client,
            response: response.map(response_of),
            approvers: Vec::new(),
            code: pending.code.clone(),
            binding: pending.binding.clone(),
            binding_now,
            expires: Some(seconds(pending.expires)),
            at: seconds(at),
            used,
            for_principal: pending.principal.clone(),
        })
    }

    pub(super) fn grant(&self, case: &Case<'_>, entry: &Entry, verdict: &Verdict, approval: Option<String>) -> Settled {
        let capability = case.capability;
        let level = verdict.level.unwrap_or(Level::System);
        let by_effect = effect::level(capability, case.action, &case.screened.targets, case.facts);
        let terms = Terms {
            call: entry.id().to_owned(),
            manifest: self.manifest.clone(),
            profile: capability.profile.clone(),
            tool: capability.spec.name,
            session: case.call.caller.session.clone(),
            principal: case.call.caller.principal.clone(),
            max_file_size: capability.max_file_size,
            max_answer: capability.max_answer,
            timeout: capability.timeout,
            cpu: capability.cpu,
            hosts: self.hosts(case),
        };
        let permit = Permit::new(case.action.clone(), case.opened.to_vec(), case.facts.addresses.clone(), terms.into());
        let decision = audit::Decision {
            effect: word(case.action),
            level,
            reason: Some(verdict.code),
            rule: verdict.rule.clone(),
            approval,
            warnings: warnings(case).to_vec(),
            untrusted: self.intake(&case.call.caller.session).0,
            carried: crate::filter::carried(&case.call.arguments, &self.manifest.filters).found,
        };
        let grant = self.grant_key(case, verdict);
        Settled::Granted(Box::new(Granted { permit, decision, reach: reach(capability, case, by_effect), grant }))
    }
}

/// What the static check of the case's program warned of.
fn warnings<'a>(case: &Case<'a>) -> &'a [String] {
    case.screened.program.as_ref().map_or(&[], |program| program.warnings.as_slice())
}

/// Whether the effect can go beyond the session's own scratch.
fn reach(capability: &Capability, case: &Case<'_>, level: Level) -> Reach {
    let own = |root: &str| capability.manifest.roots.get(root).is_some_and(crate::manifest::Root::is_session);
    let contained = match case.action {
        _ if level == Level::Read && !matches!(case.action, Action::Fetch(fetch) if fetch.save_to.is_some()) => true,
        Action::RunPython(_) => level <= Level::Create,
        Action::Fetch(_) => false,
        _ => case.screened.targets.iter().all(|target| own(&target.root)),
    };
    if contained { Reach::Contained } else { Reach::Beyond }
}

/// What an action does, in the record's word.
const fn word(action: &Action) -> &'static str {
    match action {
        Action::ReadFile(_) | Action::ListDirectory(_) | Action::SearchFiles(_) | Action::FileInfo(_) => "read",
        Action::WriteFile(_) | Action::CreateDirectory(_) => "write",
        Action::EditFile(_) => "edit",
        Action::MoveFile(_) => "move",
        Action::DeleteFile(_) => "delete",
        Action::Fetch(_) => "fetch",
        Action::RunPython(_) => "run",
    }
}

pub(super) fn identities(opened: &[Opened]) -> Vec<Option<Identity>> {
    opened.iter().map(|opened| opened.fact.identity).collect()
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

fn channel_name(case: &Case<'_>) -> &'static str {
    match case.call.caller.channel {
        Channel::None => "none",
        Channel::During => "elicitation",
        Channel::Repeat => "input_required",
    }
}

pub(super) fn note(entry: &Entry, event: Event, pending: &Pending, facts: Value) {
    note_id(entry, event, &pending.id, facts);
}

pub(super) fn note_id(entry: &Entry, event: Event, id: &str, facts: Value) {
    let mut all = Map::from_iter([("approval".to_owned(), json!(id))]);
    if let Value::Object(facts) = facts {
        all.extend(facts);
    }
    if let Err(fault) = entry.note(event, all) {
        // The start of the call is recorded before it acts; that record decides, not this one.
        tracing::error!(%fault, "an approval event could not be recorded");
    }
}

pub(super) fn refusal(verdict: &Verdict) -> Refusal {
    verdict.refusal().unwrap_or_else(|| Refusal::new(Code::Internal, "the call was not allowed"))
}

pub(super) fn not_ours() -> Refusal {
    Refusal::new(Code::ApprovalMismatch, "the request state was not given by this server, was changed, or is too old")
        .hint("nothing was done; call again without it to be asked anew")
}

pub(super) fn replayed() -> Refusal {
    Refusal::new(Code::ApprovalReplayed, "this approval was used already; each is good for one call")
        .hint("nothing was done; call again to be asked anew")
}

pub(super) fn nobody() -> Refusal {
    Refusal::new(Code::NoApprovalChannel, "the approval could not be kept safely, so nobody was asked")
        .hint("ask the operator to look at the server's log and state folder")
}
