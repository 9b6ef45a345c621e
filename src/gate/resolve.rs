//! Stage 6: the judgement, a person where it asks for one, and the permit.

use serde_json::Value;

use super::answer::{is_no, not_kept, not_ours, replayed};
use super::asker::{Asker, Waits};
use super::counts::Window;
use super::grants::{GrantKey, Subject};
use super::opened::{Opened, Seen};
use super::pending::Pending;
use super::permit::{Permit, Terms};
use super::preview::Preview;
use super::queue::QueueEntry;
use super::shared::CallGate;
use super::world::World;
use crate::entry::{self, CallError, Entry, Reach};
use crate::model::{Action, Channel, Code, Decision, Level, Question, Refusal, Target, ToolCall};
use crate::policy::{Capability, Channels, Grant, Screened, State, Verdict, effect, folders, judge, kin, parts};

/// What a call came to at the gate, when it was not refused.
#[derive(Debug)]
pub(crate) enum Resolution {
    /// It may act, once.
    Granted(Box<Granted>),
    /// The client is to ask a person and repeat the call with this sealed state.
    Ask(Question, String),
}

/// What one round of judging and asking came to.
pub(super) enum Round {
    Over(Resolution),
    /// An answer came: what the call is about is to be looked at anew, and judged once more with it.
    Again(Repeat),
}

/// A question that was put before, as the call comes back to it: repeated by the client, or within the same call.
#[derive(Debug)]
pub(crate) struct Repeat {
    pub(super) pending: Pending,
    /// The client's answer: the raw elicitation result.
    pub(super) answer: Option<Value>,
}

/// A judgement that asks, and all that the answer is compared with.
pub(super) struct Asked {
    /// Why a person is asked.
    pub(super) code: Code,
    /// The level it is asked at.
    pub(super) level: Level,
    /// Digest of everything as it is now.
    pub(super) binding: String,
    /// What a person is shown.
    pub(super) preview: Preview,
    /// What the call is judged in.
    pub(super) state: State,
}

/// A yes with all that goes with it.
#[derive(Debug)]
pub(crate) struct Granted {
    /// The right to act.
    pub permit: Permit<Action>,
    /// For the record.
    pub decision: entry::Decision,
    /// How far its effect goes.
    pub reach: Reach,
    /// The grant that our own change renews, where one is kept.
    pub grant: Option<GrantKey>,
}

/// One call as it stands before the judge.
pub(crate) struct Case<'a> {
    /// The call.
    pub(crate) call: &'a ToolCall,
    /// Its record.
    pub(crate) entry: &'a Entry,
    /// Its client.
    pub(crate) asker: &'a dyn Asker,
    /// The machine it is about.
    pub(crate) world: &'a dyn World,
    /// What the caller may do.
    pub(crate) capability: &'a Capability,
    /// What the call would do.
    pub(crate) action: &'a Action,
    /// What its text means.
    pub(crate) screened: &'a Screened,
    /// What was seen of the world last.
    pub(crate) seen: Seen,
    /// Where it waits for calls that change the same; left while a person is asked.
    pub(crate) place: &'a QueueEntry,
    /// Digest of what the client was told of the tool.
    pub(crate) definition: &'a str,
    /// Digests of the definitions of all tools that one grant covers, concatenated.
    pub(crate) definitions: &'a str,
}

impl Case<'_> {
    /// The judgement of what was seen last.
    pub(super) fn judge(&self, state: &State) -> Verdict {
        judge(self.capability, self.action, self.screened, &self.seen.facts, state)
    }

    /// What a person is shown of it.
    async fn preview(&self) -> Preview {
        self.world.preview(self.action, &self.seen, self.capability.timeout).await
    }
}

impl CallGate {
    /// The question that a repeated call carries, if it was sealed here.
    pub(crate) fn repeat(call: &ToolCall, asker: &dyn Asker) -> Option<Repeat> {
        let sealed = call.repeat.as_ref()?;
        let pending = serde_json::from_slice(&asker.open(&sealed.state)?).ok()?;
        Some(Repeat { pending, answer: sealed.answer.clone() })
    }

    /// Whether this is the repeat that an open question waits for: the very call it was asked about, once for the question and once more for
    /// each turn that it has waited for an operator. Of any number of racing repeats one is.
    pub(crate) fn is_awaited(&self, repeat: Option<&Repeat>, call: &ToolCall) -> bool {
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

    /// Judges the case, asks a person where the judgement asks, looks at the world anew after each answer, and gives the permit.
    /// # Errors  Whatever the judge refuses with, before or after the answer; how the call would fail, where a yes would not help.
    pub(crate) async fn resolve(&self, case: &mut Case<'_>, mut repeat: Option<Repeat>) -> Result<Resolution, CallError> {
        loop {
            match self.round(case, repeat).await? {
                Round::Over(resolution) => return Ok(resolution),
                Round::Again(next) => {
                    repeat = Some(next);
                    case.seen = case.world.look(case.action, case.screened).await?;
                }
            }
        }
    }

    async fn round(&self, case: &Case<'_>, repeat: Option<Repeat>) -> Result<Round, CallError> {
        let used = match &repeat {
            Some(repeat) => self.shared.state.was_used(&repeat.pending.id).map_err(|_| not_kept())?,
            None => false,
        };
        let mut state = self.state(case);
        let (verdict, preview) = self.judge_with_reviews(case, repeat.as_ref(), used, &mut state).await?;
        match (verdict.decision, &repeat) {
            // What a person answered is no question any more, so it is not what they were shown.
            (Decision::Allow, Some(repeat)) if !used && self.is_answered(repeat, case.call) => {
                return Err(self.overtaken(case.entry, repeat).into());
            }
            (Decision::Allow, _) => return Ok(Round::Over(Resolution::Granted(self.grant(case, &verdict, None)))),
            (Decision::Deny, _) => return Err(refusal(&verdict).into()),
            (Decision::Ask, None) if case.call.repeat.is_some() => return Err(not_ours().into()),
            (Decision::Ask, _) if used => return Err(replayed().into()),
            (Decision::Ask, _) => {}
        }
        let mut preview = match preview {
            Some(preview) => preview,
            None => case.preview().await,
        };
        let awaits_operator = repeat.as_ref().is_some_and(|repeat| repeat.pending.operator);
        let is_answered = repeat.as_ref().is_some_and(|repeat| repeat.answer.is_some());
        if !awaits_operator
            && !is_answered
            && let Some(failure) = Self::doomed(case, &mut preview)
        {
            return Err(failure.into());
        }
        let level = verdict.level.unwrap_or(Level::System);
        let binding = self.binding(case, &preview, level);
        let asked = Asked { code: verdict.code, level, binding, preview, state };
        // Boxed: most calls are not asked about, and each holds the place for it.
        if awaits_operator || verdict.code == Code::NeedsOperator || case.call.caller.channel == Channel::None {
            return Ok(Box::pin(self.ask_operator(case, asked, repeat)).await?);
        }
        Ok(Box::pin(self.ask_client(case, asked, repeat)).await?)
    }

    /// The judgement, with the reviewers' verdicts where the level wants them. Gives what a person is shown as well, where it was looked at.
    async fn judge_with_reviews(
        &self,
        case: &Case<'_>,
        repeat: Option<&Repeat>,
        used: bool,
        state: &mut State,
    ) -> Result<(Verdict, Option<Preview>), Refusal> {
        let mut shown = None;
        // What the reviewers said goes with the question, and with the very call it was asked about.
        if let Some(pending) = repeat.map(|repeat| &repeat.pending).filter(|pending| !used && pending.reviews.is_some()) {
            let preview = case.preview().await;
            if self.binding(case, &preview, pending.level) == pending.binding {
                state.reviews.clone_from(&pending.reviews);
            }
            shown = Some(preview);
        }
        // A yes that was used up may have left a grant, which holds for the same call made twice at once.
        let by_grant = repeat.is_none_or(|repeat| used && !is_no(repeat.answer.as_ref()));
        let mut verdict = self.judge(case, state, by_grant);
        if verdict.review_due {
            let preview = case.preview().await;
            let level = verdict.level.unwrap_or(Level::System);
            let text = self.text(case, &preview, level, None);
            state.reviews = Some(self.until_killed(self.review(case, level, &text)).await?);
            shown = Some(preview);
            verdict = self.judge(case, state, by_grant);
        }
        Ok((verdict, shown))
    }

    /// Whether a person has answered the question, and this is the very call they were asked about.
    fn is_answered(&self, Repeat { pending, answer }: &Repeat, call: &ToolCall) -> bool {
        let is_answered = || answer.is_some() || !self.shared.state.answers(&pending.id).is_ok_and(|answers| answers.is_empty());
        pending.is_for(call) && is_answered()
    }

    /// Renews the grants on a target after our own change of it.
    pub(crate) fn renew(&self, action: &Action, key: &GrantKey, before: &[Opened], after: &[Opened]) {
        let before = grants_of(action, key, &subjects(before));
        for ((key, before), (_, after)) in before.into_iter().zip(grants_of(action, key, &subjects(after))) {
            self.shared.grants.renew(&key, &before, &after);
        }
    }

    fn state(&self, case: &Case<'_>) -> State {
        let client = case.call.caller.channel != Channel::None;
        let operator = case.asker.waits() != Waits::Not;
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

    /// The judgement; where it asks and `by_grant`, with the grants of this session that fit the target as it is now.
    fn judge(&self, case: &Case<'_>, state: &mut State, by_grant: bool) -> Verdict {
        let verdict = case.judge(state);
        if verdict.decision != Decision::Ask || !by_grant {
            return verdict;
        }
        let Some(key) = self.grant_key(case, &verdict) else { return verdict };
        let mut grants = Vec::new();
        for (key, subjects) in grants_of(case.action, &key, &subjects(&case.seen.opened)) {
            let Some((scope, target)) = self.shared.grants.fits(&key, &subjects) else { return verdict };
            let GrantKey { principal, session, tool, manifest, .. } = key;
            grants.push(Grant { principal, session, tool, target, scope, policy: manifest, level: None, expires: None });
        }
        state.grants.extend(grants);
        case.judge(state)
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

    /// The permit for what was judged, with what goes into the record.
    pub(super) fn grant(&self, case: &Case<'_>, verdict: &Verdict, approval: Option<String>) -> Box<Granted> {
        let capability = case.capability;
        let level = verdict.level.unwrap_or(Level::System);
        let by_effect = effect::level(capability, case.action, case.screened, &case.seen.facts);
        let terms = Terms {
            call: case.entry.id().to_owned(),
            manifest: self.manifest.clone(),
            profile: capability.profile.clone(),
            tool: capability.spec.name,
            session: case.call.caller.session.clone(),
            principal: case.call.caller.principal.clone(),
            max_file_size: capability.max_file_size,
            write_left: capability.write_left,
            max_answer: capability.max_answer,
            timeout: capability.timeout,
            level,
            cpu: capability.cpu,
            hosts: self.hosts(case),
            sent: std::sync::Arc::default(),
        };
        let permit = Permit::new(case.action.clone(), case.seen.opened.clone(), case.seen.facts.addresses.clone(), terms.into());
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
            folders: folders_of(&case.seen.opened).iter().map(ToString::to_string).collect(),
        };
        let grant = self.grant_key(case, verdict);
        Box::new(Granted { permit, decision, reach: reach(capability, case, by_effect), grant })
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

/// What the static check of the case's program warned of.
pub(super) fn warnings<'a>(case: &Case<'a>) -> &'a [String] {
    case.screened.program.as_ref().map_or(&[], |program| program.warnings.as_slice())
}

/// The targets whose entries have another spelling than the arguments give.
fn spelled_otherwise(case: &Case<'_>) -> Vec<String> {
    let touches = case.action.touches();
    let pairs =
        touches.iter().zip(&case.seen.opened).filter(|(touch, opened)| !touch.path.segments().ends_with(opened.target.path.segments()));
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
    case.seen.opened.iter().filter_map(Opened::led_to).map(|target| target.to_string()).collect()
}

/// Whether the effect can go beyond the session's own scratch.
fn reach(capability: &Capability, case: &Case<'_>, level: Level) -> Reach {
    let own = |root: &str| capability.manifest.roots.get(root).is_some_and(crate::manifest::Root::is_session);
    let contained = match case.action {
        _ if level == Level::Read && !matches!(case.action, Action::Fetch(fetch) if fetch.save_to.is_some()) => true,
        Action::RunPython(_) => level <= Level::Create,
        Action::Fetch(_) | Action::QueryDatabase(_) | Action::SendEmail(_) => false,
        _ => case.screened.targets.iter().all(|target| own(&target.root)),
    };
    if contained { Reach::Contained } else { Reach::Beyond }
}

/// What an action does, in the record's word.
fn word(action: &Action) -> &'static str {
    match action {
        Action::ReadFile(_) | Action::ListDirectory(_) | Action::SearchFiles(_) | Action::FileInfo(_) => "read",
        Action::WriteFile(_) | Action::CreateDirectory(_) => "write",
        Action::EditFiles(_) => "edit",
        Action::MoveFile(_) => "move",
        Action::CopyFile(_) => "copy",
        Action::DeleteFile(_) => "delete",
        Action::Fetch(_) => "fetch",
        Action::RunPython(_) => "run",
        Action::SendEmail(_) => "send",
        Action::QueryDatabase(query) => query.kind().as_str(),
    }
}

pub(super) fn subjects(opened: &[Opened]) -> Vec<Subject> {
    opened.iter().map(Subject::of).collect()
}

pub(super) fn refusal(verdict: &Verdict) -> Refusal {
    verdict.refusal().unwrap_or_else(|| Refusal::new(Code::Internal, "the call was not allowed"))
}
