//! Stage 6: the judgement, a person where it asks for one, and the permit.

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::answer::{is_no, not_kept, not_ours, note, replayed};
use super::asker::{Asker, Waits};
use super::asking::{channel_name, recorded};
use super::counts::Window;
use super::grants::{GrantKey, Subject};
use super::open::{End, Found, OpenQuestion};
use super::opened::Opened;
use super::operator::Asked;
use super::pending::Pending;
use super::permit::{Permit, Terms};
use super::preview::Preview;
use super::queue::Place;
use super::review::Reviewers;
use super::shared::CallGate;
use crate::audit::Event;
use crate::entry::{self, Entry, Reach};
use crate::model::{Action, Channel, Code, Facts, Failure, Level, Question, Refusal, Target, ToolCall};
use crate::policy::{Capability, Channels, Decision, Grant, Scope, Screened, State, Verdict, effect, folders, judge, kin, parts};

/// What a call came to at the gate, when it was not refused.
#[derive(Debug)]
pub enum Resolution {
    /// It may act, once.
    Granted(Box<Granted>),
    /// The client is to ask a person and repeat the call with this sealed state.
    Ask(Question, String),
    /// It would need a person's yes, and could not be done with it.
    Doomed(Failure),
    /// What the call is about is to be looked at anew, and judged once more with this: an answer came, or the same question in another call
    /// has ended.
    Again(Option<Repeat>),
}

/// A question that was put before, as the call comes back to it: repeated by the client, or within the same call.
#[derive(Debug)]
pub struct Repeat {
    pub(super) pending: Pending,
    /// The client's answer: the raw elicitation result.
    pub(super) answer: Option<Value>,
    /// Held while the question is open in this call.
    pub(super) open: Option<OpenQuestion>,
}

impl Repeat {
    /// A question without an answer of the client.
    pub(super) const fn waiting(pending: Pending) -> Self {
        Self { pending, answer: None, open: None }
    }
}

/// Looks at what a person is shown of the case, without any effect.
pub type Previewing<'a> = dyn Fn() -> BoxFuture<'a, Preview> + Sync + 'a;

/// A yes with all that goes with it.
#[derive(Debug)]
pub struct Granted {
    /// The right to act.
    pub permit: Permit<Action>,
    /// For the record.
    pub decision: entry::Decision,
    /// How far its effect goes.
    pub reach: Reach,
    /// The grant that our own change renews, where one is kept.
    pub grant: Option<GrantKey>,
    /// Held until the call has ended, where others wait for what it comes to.
    pub open: Option<OpenQuestion>,
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
    /// Where it waits for calls that change the same; left while a person is asked.
    pub place: &'a Place,
    /// Digest of what the client was told of the tool.
    pub definition: &'a str,
    /// Digests of the definitions of all tools that one grant covers, concatenated.
    pub definitions: &'a str,
}

impl CallGate {
    /// The question that a repeated call carries, if it was sealed here.
    pub fn repeat(&self, call: &ToolCall, asker: &dyn Asker) -> Option<Repeat> {
        let sealed = call.repeat.as_ref()?;
        let pending = serde_json::from_slice(&asker.open(&sealed.state)?).ok()?;
        Some(Repeat { answer: sealed.answer.clone(), ..Repeat::waiting(pending) })
    }

    /// Whether this is the repeat that an open question waits for: the very call it was asked about, once for the question and once more for
    /// each turn that it has waited for an operator. Of any number of racing repeats one is.
    pub fn is_awaited(&self, repeat: Option<&Repeat>, call: &ToolCall) -> bool {
        repeat.is_some_and(|Repeat { pending, .. }| {
            pending.is_for(call)
                && !pending.is_over(self.tick())
                && !self.shared.state.was_used(&pending.id).unwrap_or(true)
                && self.takes_turn(pending)
        })
    }

    fn takes_turn(&self, pending: &Pending) -> bool {
        let key = format!("{}\0repeat\0{}", pending.principal, pending.id);
        let turns = Window { most: u64::from(pending.turn) + 1, span: pending.span() };
        self.shared.counts.take(key, turns).is_none()
    }

    /// Judges the case, asks where the judgement asks, and gives the permit.
    /// # Errors  Whatever the judge refuses with, before or after the answer.
    pub async fn resolve(
        &self,
        case: &Case<'_>,
        entry: &Entry,
        repeat: Option<Repeat>,
        preview: &Previewing<'_>,
        reviewers: &dyn Reviewers,
        asker: &dyn Asker,
    ) -> Result<Resolution, Refusal> {
        let mut state = self.state(case, asker);
        let pending = repeat.as_ref().map(|repeat| &repeat.pending);
        let response = repeat.as_ref().and_then(|repeat| repeat.answer.as_ref());
        let used = match pending {
            Some(pending) => self.shared.state.was_used(&pending.id).map_err(|_| not_kept())?,
            None => false,
        };
        // What the reviewers said of a call goes with its question, and with that very call alone.
        state.reviews = pending.filter(|_| !used).and_then(|pending| pending.reviews.clone());
        let mut verdict = self.judge(case, &mut state, pending.is_some());
        let mut shown = None;
        if let (Some(pending), true) = (pending, state.reviews.is_some()) {
            let seen = preview().await;
            if self.binding(case, &seen, verdict.level.unwrap_or(Level::System)) != pending.binding {
                state.reviews = None;
                verdict = self.judge(case, &mut state, true);
            }
            shown = Some(seen);
        }
        if verdict.review_due {
            let level = verdict.level.unwrap_or(Level::System);
            let seen = preview().await;
            let text = self.text(case, &seen, level, None);
            state.reviews = Some(self.until_killed(self.review(case, level, &text, entry, reviewers, asker)).await?);
            shown = Some(seen);
            verdict = self.judge(case, &mut state, pending.is_some());
        }
        match (verdict.decision, pending) {
            // What a person answered is no question any more, so it is not what they were shown.
            (Decision::Allow, Some(pending)) if !used && self.is_answered(pending, response, case.call) => {
                return Err(self.overtaken(entry, pending, response));
            }
            (Decision::Allow, _) => return Ok(self.grant(case, entry, &verdict, None)),
            (Decision::Deny, _) => return Err(refusal(&verdict)),
            (Decision::Ask, None) if case.call.repeat.is_some() => return Err(not_ours()),
            (Decision::Ask, _) => {}
        }
        if used {
            // The twin of a call whose yes lasts brings the same state, used up by the other: the grant that was given with it holds for both.
            let verdict = if is_no(response) { verdict } else { self.judge(case, &mut state, false) };
            return if verdict.decision == Decision::Allow { Ok(self.grant(case, entry, &verdict, None)) } else { Err(replayed()) };
        }
        let mut preview = match shown {
            Some(shown) => shown,
            None => preview().await,
        };
        let level = verdict.level.unwrap_or(Level::System);
        let binding = self.binding(case, &preview, level);
        if verdict.code == Code::NeedsOperator || case.call.caller.channel == Channel::None || pending.is_some_and(|p| p.operator) {
            if pending.is_none()
                && let Some(failure) = Self::doomed(case, &mut preview)
            {
                return Ok(Resolution::Doomed(failure));
            }
            case.place.leave();
            let wanted = Asked { verdict, level, binding, preview: &preview };
            // Boxed: most calls never come here, and each holds the place for it.
            return Box::pin(self.resolve_with_operator(case, entry, repeat, wanted, state, asker)).await;
        }
        let repeat = match repeat {
            Some(Repeat { pending, answer: Some(response), open }) => {
                self.shared.open.over(&pending.id);
                let answer = self.answer_of(&pending, Some(&response), binding)?;
                return announce(open, &response, self.conclude(case, entry, state, answer, &pending));
            }
            other => other,
        };
        if let Some(failure) = Self::doomed(case, &mut preview) {
            return Ok(Resolution::Doomed(failure));
        }
        case.place.leave();
        let principal = &case.call.caller.principal;
        let open = match self.shared.open.enter(principal, &binding, self.tick(), self.open_for())? {
            Found::New(open) => open,
            // The very same is being asked.
            Found::Same(end) => return self.follow(end).await.map(|()| Resolution::Again(repeat)),
            Found::Sealed(pending) => {
                let question = Question { wait: pending.left(self.tick()), ..self.question(case, &preview, level, &pending) };
                return Self::sealed(question, &pending, asker);
            }
        };
        self.count_question(principal)?;
        let mut pending = self.new_pending(case, binding.clone(), level)?;
        pending.reviews.clone_from(&state.reviews);
        let question = self.question(case, &preview, level, &pending);
        note(
            entry,
            Event::ApprovalRequested,
            &pending.id,
            json!({"level": level, "channel": channel_name(case), "leads_to": led_to(case), "question": recorded(case, entry, &question.text)}),
        );
        if case.call.caller.channel == Channel::Repeat {
            let sealed = Self::sealed(question, &pending, asker)?;
            open.seal(pending);
            return Ok(sealed);
        }
        let Some(response) = self.until_killed(asker.ask(&question)).await? else {
            let answer = self.answer_of(&pending, None, binding)?;
            return announce(Some(open), &Value::Null, self.conclude(case, entry, state, answer, &pending));
        };
        // However long the person took, what is there now is what their answer is compared with and what is acted on.
        Ok(Resolution::Again(Some(Repeat { pending, answer: Some(response), open: Some(open) })))
    }

    /// Whether a person has answered the question, and this is the very call they were asked about.
    fn is_answered(&self, pending: &Pending, response: Option<&Value>, call: &ToolCall) -> bool {
        let answered = || response.is_some() || !self.shared.state.answers(&pending.id).is_ok_and(|answers| answers.is_empty());
        pending.is_for(call) && answered()
    }

    /// Renews the grants on a target after our own change of it.
    pub fn renew(&self, action: &Action, key: &GrantKey, before: &[Opened], after: &[Opened]) {
        let before = grants_of(action, key, &subjects(before));
        for ((key, before), (_, after)) in before.into_iter().zip(grants_of(action, key, &subjects(after))) {
            self.shared.grants.renew(&key, &before, &after);
        }
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
        let mut grants = Vec::new();
        for (key, subjects) in grants_of(case.action, &key, &subjects(case.opened)) {
            let Some((scope, target)) = self.shared.grants.fits(&key, &subjects) else { return verdict };
            let GrantKey { principal, session, tool, manifest, .. } = key;
            grants.push(Grant { principal, session, tool, target, scope, policy: manifest, level: None, expires: None });
        }
        state.grants.extend(grants);
        judge(case.capability, case.action, case.screened, case.facts, state)
    }

    pub(super) fn grant_key(&self, case: &Case<'_>, verdict: &Verdict) -> Option<GrantKey> {
        let caller = &case.call.caller;
        Some(GrantKey {
            principal: caller.principal.clone(),
            session: caller.session.clone(),
            profile: case.capability.profile.clone(),
            tool: kin(case.capability.spec.name).first().copied().unwrap_or(case.capability.spec.name).to_owned(),
            target: verdict.grant.clone()?,
            manifest: self.manifest_sha256.clone(),
            definition: case.definitions.to_owned(),
        })
    }

    pub(super) fn grant(&self, case: &Case<'_>, entry: &Entry, verdict: &Verdict, approval: Option<String>) -> Resolution {
        let capability = case.capability;
        let level = verdict.level.unwrap_or(Level::System);
        let by_effect = effect::level(capability, case.action, case.screened, case.facts);
        let terms = Terms {
            call: entry.id().to_owned(),
            manifest: self.manifest.clone(),
            profile: capability.profile.clone(),
            tool: capability.spec.name,
            session: case.call.caller.session.clone(),
            principal: case.call.caller.principal.clone(),
            max_file_size: capability.max_file_size,
            write_left: capability.write_left,
            max_answer: capability.max_answer,
            timeout: capability.timeout,
            cpu: capability.cpu,
            hosts: self.hosts(case),
            sent: std::sync::Arc::default(),
        };
        let permit = Permit::new(case.action.clone(), case.opened.to_vec(), case.facts.addresses.clone(), terms.into());
        let decision = entry::Decision {
            effect: word(case.action),
            level,
            reason: Some(verdict.code),
            rule: verdict.rule.clone(),
            approval,
            warnings: warnings(case).to_vec(),
            leads_to: led_to(case),
            untrusted: self.intake(&case.call.caller.session).0,
            carried: crate::filter::scan_arguments(&case.call.arguments, &self.manifest.filters).unwrap_or_default(),
            targets: spelled_otherwise(case),
            folders: folders_of(case.opened).iter().map(ToString::to_string).collect(),
        };
        let grant = self.grant_key(case, verdict);
        Resolution::Granted(Box::new(Granted { permit, decision, reach: reach(capability, case, by_effect), grant, open: None }))
    }
}

/// The grants that an action needs together, with what is seen of the targets of each: one for each file where it changes several.
pub(super) fn grants_of(action: &Action, key: &GrantKey, seen: &[Subject]) -> Vec<(GrantKey, Vec<Subject>)> {
    let files = parts(action, &key.target);
    if files.len() < 2 || files.len() != seen.len() {
        return vec![(key.clone(), seen.to_vec())];
    }
    let of_one = |(file, one): (&str, &Subject)| (GrantKey { target: file.to_owned(), ..key.clone() }, vec![one.clone()]);
    files.into_iter().zip(seen).map(of_one).collect()
}

/// Passes the outcome of a question to the calls that wait for it.
fn announce(open: Option<OpenQuestion>, response: &Value, resolved: Result<Resolution, Refusal>) -> Result<Resolution, Refusal> {
    let Some(open) = open else { return resolved };
    match resolved {
        Ok(Resolution::Granted(mut granted)) => {
            let chosen = response.pointer("/content/decision").and_then(Value::as_str).and_then(Scope::parse);
            if chosen.is_some_and(|scope| scope != Scope::Once) {
                // The waiting calls find the grant, and the target as this call leaves it.
                granted.open = Some(open);
            } else {
                open.end_with(End::Once);
            }
            Ok(Resolution::Granted(granted))
        }
        Err(refusal) => {
            open.end_with(End::Refused(refusal.clone()));
            Err(refusal)
        }
        other => other,
    }
}

/// What the static check of the case's program warned of.
pub(super) fn warnings<'a>(case: &Case<'a>) -> &'a [String] {
    case.screened.program.as_ref().map_or(&[], |program| program.warnings.as_slice())
}

/// The targets whose entries have another spelling than the arguments give.
fn spelled_otherwise(case: &Case<'_>) -> Vec<String> {
    let touches = case.action.touches();
    let pairs = touches.iter().zip(case.opened).filter(|(touch, opened)| !touch.path.segments().ends_with(opened.target.path.segments()));
    pairs.map(|(_, opened)| opened.target.to_string()).collect()
}

/// The folders that are made on the way to what was opened, each once.
pub(super) fn folders_of(opened: &[Opened]) -> Vec<Target> {
    let mut all: Vec<Target> = opened.iter().flat_map(|opened| folders::made(&opened.target, &opened.fact)).collect();
    all.dedup();
    all
}

/// What the paths of the case's arguments lead to, where links on the way were followed.
pub(super) fn led_to(case: &Case<'_>) -> Vec<String> {
    case.opened.iter().filter_map(Opened::led_to).map(|target| target.to_string()).collect()
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
        Action::EditFile(_) | Action::EditFiles(_) => "edit",
        Action::MoveFile(_) => "move",
        Action::CopyFile(_) => "copy",
        Action::DeleteFile(_) => "delete",
        Action::Fetch(_) => "fetch",
        Action::RunPython(_) => "run",
    }
}

pub(super) fn subjects(opened: &[Opened]) -> Vec<Subject> {
    opened.iter().map(Subject::of).collect()
}

pub(super) fn refusal(verdict: &Verdict) -> Refusal {
    verdict.refusal().unwrap_or_else(|| Refusal::new(Code::Internal, "the call was not allowed"))
}
