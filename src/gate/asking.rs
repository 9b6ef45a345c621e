//! How a question to a person is made: what it is bound to, what it says, how many there may be.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::answer::{not_kept, note};
use super::change::{LINES, Look};
use super::choices::ONCE;
use super::counts::Window;
use super::pending::{Bound, Pending, call_digest, code, hex};
use super::preview::Preview;
use super::question;
use super::rates::{HOUR, Millis};
use super::resolve::{Asked, Case, Repeat, Resolution, Round, led_to, warnings};
use super::shared::CallGate;
use crate::audit::Event;
use crate::model::{Action, Channel, Code, Failure, Level, Question, Refusal};
use crate::policy::{effect, later};
use crate::state::token;

/// How long a sealed state opens after its question has ended.
pub(super) const LATE: Duration = Duration::from_hours(1);

/// Questions that one principal may put to people in any hour, on all channels together. More than one a
/// minute, for an hour, are not read any more, and the bad one among them goes through; an agent that works file by file needs fewer, for a
/// yes may last for the session.
pub(super) const PER_HOUR: u64 = 60;

impl CallGate {
    /// Puts the question to the client's person, unless they have answered it or it waits for them.
    /// # Errors  What the answer is refused with; `rate_limited`, `killed`.
    pub(super) async fn ask_client(&self, case: &Case<'_>, asked: Asked, repeat: Option<Repeat>) -> Result<Round, Refusal> {
        match repeat {
            Some(Repeat { pending, answer: Some(response) }) => {
                self.shared.open.over(&pending.id);
                return self.conclude(case, asked, Some(&response), &pending);
            }
            // A client that comes back without an answer gets the question once more.
            Some(Repeat { pending, answer: None }) if pending.binding == asked.binding && !pending.is_over(self.tick()) => {
                let question = Question { wait: pending.left(self.tick()), ..self.question(case, &asked, &pending) };
                return sealed(case, question, &pending);
            }
            _ => {}
        }
        case.place.leave();
        let pending = self.new_pending(case, &asked)?;
        let open = self.shared.open.enter(&pending, self.tick())?;
        self.count_question(&pending.principal)?;
        let question = self.question(case, &asked, &pending);
        note_request(case, &asked, &pending, channel_name(case), &question.text);
        if case.call.caller.channel == Channel::Repeat {
            let sealed = sealed(case, question, &pending)?;
            open.seal();
            return Ok(sealed);
        }
        match self.until_killed(case.asker.ask(&question)).await? {
            // However long the person took, what is there now is what their answer is compared with and what is acted on.
            Some(response) => Ok(Round::Again(Repeat { pending, answer: Some(response) })),
            None => self.conclude(case, asked, None, &pending),
        }
    }

    /// Counts a question to a person; beyond the bound no question is put.
    /// # Errors  `rate_limited` with the exact wait.
    pub(super) fn count_question(&self, principal: &str) -> Result<(), Refusal> {
        let window = Window { most: PER_HOUR, span: HOUR };
        let Some(wait) = self.shared.counts.take(format!("{principal}\0questions"), window) else { return Ok(()) };
        let what = format!("limit reached: {PER_HOUR} questions to a person in any hour");
        let refusal = Refusal::new(Code::RateLimited, what).rule("approvals").retry_after(wait.div_ceil(1000).max(1));
        Err(refusal.hint("nobody was asked; do what needs no approval, or put several changes into one call"))
    }

    /// How long a question is open.
    pub(super) fn open_for(&self) -> Millis {
        self.manifest.approvals.timeout.as_secs().max(1).saturating_mul(1000)
    }

    /// Digest of everything that is shown or decided on.
    pub(super) fn binding(&self, case: &Case<'_>, preview: &Preview, level: Level) -> String {
        let caller = &case.call.caller;
        Bound {
            principal: &caller.principal,
            session: &caller.session,
            profile: &case.capability.profile,
            tool: case.capability.spec.name,
            definition: case.definition,
            arguments: &case.call.arguments,
            opened: &case.seen.opened,
            contents: &preview.contents,
            level: level.into(),
            manifest_sha256: &self.manifest_sha256,
        }
        .digest()
    }

    /// A question that is to be put now.
    pub(super) fn new_pending(&self, case: &Case<'_>, asked: &Asked) -> Result<Pending, Refusal> {
        let random = || -> std::io::Result<_> {
            let code = if asked.level >= Level::Destroy { Some(code()?) } else { None };
            Ok((format!("ap_{}", token(10)?), code))
        };
        let (id, code) = random().map_err(|_| not_kept())?;
        let now = self.tick();
        Ok(Pending {
            id,
            binding: asked.binding.clone(),
            principal: case.call.caller.principal.clone(),
            level: asked.level,
            call: call_digest(case.call),
            turn: 0,
            expires: now.seconds().saturating_add(self.open_for() / 1000),
            asked: now,
            code,
            operator: false,
            reviews: asked.state.reviews.clone(),
        })
    }

    /// What the lines of a change are made from.
    pub(super) fn look<'p>(&self, case: &Case<'_>, preview: &'p Preview) -> Look<'p> {
        let later = later::runs_later(&self.manifest, case.action, case.screened, &case.seen.facts);
        Look { preview, mask: self.manifest.filters.secrets, later }
    }

    /// How a call will fail of which a person cannot be asked: in itself, or because one question cannot show a line of each file.
    pub(super) fn doomed(case: &Case<'_>, preview: &mut Preview) -> Option<Failure> {
        preview.doomed.take().or_else(|| {
            let files = case.seen.opened.len();
            let Action::EditFiles(_) = case.action else { return None };
            (files > LINES).then(|| {
                let what =
                    format!("this needs a person's yes, and one question shows the changes of at most {LINES} files, not of {files}");
                Failure::new(Code::ArgumentInvalid, what).hint(format!("call it again with at most {LINES} files at a time"))
            })
        })
    }

    /// What a person reads, whichever channel shows it.
    pub(super) fn text(&self, case: &Case<'_>, preview: &Preview, level: Level, code: Option<&str>) -> String {
        let look = self.look(case, preview);
        let mut sentences = Vec::new();
        if effect::moves_into_scratch(case.capability, case.action, &case.screened.targets) {
            sentences.push("What is moved is deleted when the session ends".to_owned());
        }
        if matches!(case.action, Action::RunPython(_)) {
            sentences.extend(question::of_program(case.capability));
        }
        if !look.later.is_empty() {
            if matches!(case.action, Action::Fetch(_)) {
                sentences.push("The new content is not known before it is fetched".to_owned());
            }
            sentences.push(question::running_later(&look.later));
        }
        let now_ns = i128::from(self.tick().seconds()) * 1_000_000_000;
        let own = effect::level(case.capability, case.action, case.screened, &case.seen.facts);
        let mut text = question::text(case.action, &case.seen.opened, &look, &sentences, own, now_ns);
        if self.intake(&case.call.caller.session).0 {
            text.push_str(
                "\nThis session has read content from outside, which may have caused this call. If you did not ask for it, choose `No`.",
            );
        } else if level > own {
            text.push_str("\nThe manifest or a reviewer demands a stricter approval than usual.");
        }
        let carried = crate::filter::scan_arguments(&case.call.arguments, &self.manifest.filters).unwrap_or_default();
        if !carried.is_empty() {
            let counts = carried.iter().map(|count| format!("{} {}", count.count, crate::filter::escape_line(&count.type_)));
            let _ = write!(text, "\nIts arguments contain: {}.", counts.collect::<Vec<_>>().join(", "));
        }
        for warning in warnings(case) {
            let _ = write!(text, "\nThe static check warns:{}", crate::filter::escape(warning));
        }
        if let Some(code) = code {
            let _ = write!(text, "\nTo allow it, choose `{ONCE}` and type this code into the field `confirm`.\ncode: {code}");
        }
        text
    }
}

/// Gives the client a question, and the state that it is to come back with.
pub(super) fn sealed(case: &Case<'_>, question: Question, pending: &Pending) -> Result<Round, Refusal> {
    let state = serde_json::to_vec(pending).unwrap_or_default();
    // The state outlives the question, so that a late answer is told as late and not as foreign.
    let sealed = case.asker.seal(&state, question.wait + LATE).ok_or_else(not_kept)?;
    Ok(Round::Over(Resolution::Ask(question, sealed)))
}

/// Records that a question was put.
pub(super) fn note_request(case: &Case<'_>, asked: &Asked, pending: &Pending, channel: &str, text: &str) {
    let mut facts = json!({"level": asked.level, "channel": channel, "leads_to": led_to(case), "question": recorded(case, text)});
    if let (true, Some(facts)) = (pending.operator, facts.as_object_mut()) {
        facts.insert("reason".to_owned(), json!(asked.code));
    }
    note(case.entry, Event::ApprovalRequested, &pending.id, facts);
}

/// The question as its record holds it: the consequence, without what would become of contents. Names in it stand as they do in the record of the
/// arguments; where one of those is kept as a digest, the question is as well.
fn recorded(case: &Case<'_>, text: &str) -> Value {
    let line = text.lines().next().unwrap_or_default();
    let paths: Vec<String> = case.action.touches().iter().map(|touch| touch.path.to_string()).collect();
    let url = match case.action {
        Action::Fetch(fetch) => Some(fetch.url.as_str()),
        _ => None,
    };
    if paths.iter().map(String::as_str).chain(url).all(|name| case.entry.shows(name)) {
        json!(line)
    } else {
        json!({"len": line.len(), "sha256": hex(&Sha256::digest(line.as_bytes()))})
    }
}

pub(super) fn channel_name(case: &Case<'_>) -> &'static str {
    match case.call.caller.channel {
        Channel::None => "none",
        Channel::During => "elicitation",
        Channel::Repeat => "input_required",
    }
}
