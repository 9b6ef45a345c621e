//! Lines 12 to 15: who decides on a level, what is remembered, and what an answer is worth.

use serde_json::{Value, json};

use super::capability::Capability;
use super::scope::{Scope, covers, offered, parts};
use super::state::{Answer, AnswerChannel, Grant, Response, State};
use super::verdict::Verdict;
use crate::manifest::{Mode, NoClientChannel, Remember, fold};
use crate::model::{Action, Code, Decision, Fetch, Level, Refusal, RunPython, Target};

/// Who decides on a call of this level: the strictest mode of all levels up to it, an operator where the tool needs two persons,
/// and never the client where the system is changed. A yes to what is lost with one call lasts for that call alone, whatever is written.
pub fn mode(capability: &Capability, level: Level) -> Mode {
    let approvals = &capability.manifest.approvals;
    let mode = match approvals.mode(level) {
        Mode::First if !lasts(level) => Mode::Every,
        mode => mode,
    };
    let operator = approvals.needs_two(capability.spec.name) || (level == Level::System && matches!(mode, Mode::First | Mode::Every));
    if operator { mode.max(Mode::Operator) } else { mode }
}

/// Whether a yes to a call of this level may last for more than the call.
pub fn lasts(level: Level) -> bool {
    level < Level::Destroy
}

/// Whether an operator is the caller, as far as their names tell: the name of a token, the subject of a JSON Web Token, or the part of it before an
/// `@`. A person whose two names differ is not known as one.
pub fn is_caller(operator: &str, principal: &str) -> bool {
    let name = fold(operator.trim());
    let mut own = vec![principal];
    if let Some((kind, rest)) = principal.split_once(':') {
        own.push(rest);
        // No issuer holds an `@`.
        if let (true, Some((subject, _issuer))) = (kind == "oauth", rest.rsplit_once('@')) {
            own.push(subject);
            own.extend(subject.split_once('@').map(|(person, _)| person));
        }
    }
    own.into_iter().any(|own| fold(own.trim()) == name)
}

/// How long a yes for this tool lasts.
pub fn remember(capability: &Capability) -> Remember {
    capability.tool_rules().and_then(|rules| rules.remember).unwrap_or(capability.manifest.approvals.remember)
}

/// What a lasting yes would be for: `ROOT/rest` (a move or copy: `FROM -> TO`; several files: one a line), the URL, the program, or `envelope`. None where nothing lasts. A
/// program with input, interpreter or time of its own, and a request that is no plain GET, are named with all of that.
pub(super) fn grant_target(capability: &Capability, action: &Action, url: Option<&str>, targets: &[Target]) -> Option<String> {
    match (action, remember(capability)) {
        // Other values in the same statement are another change, and a mail is sent once.
        (_, Remember::Off) | (Action::QueryDatabase(_) | Action::SendEmail(_), _) => None,
        (Action::RunPython(_), Remember::Envelope) => Some("envelope".to_owned()),
        (Action::RunPython(run), Remember::Session) => {
            let RunPython { code, session, stdin, timeout_s, fresh, fenced: _ } = run;
            let plain = session.is_none() && stdin.is_empty() && timeout_s.is_none() && !fresh;
            Some(exactly(code, plain, &json!({"session": session, "stdin": stdin, "timeout_s": timeout_s, "fresh": fresh})))
        }
        (Action::Fetch(fetch), _) => {
            // The form of the answer is the caller's own affair.
            let Fetch { url: _, method, headers, body, format: _, start_index: _, max_length: _, save_to, links: _ } = fetch;
            let plain = method == "GET" && headers.is_empty() && body.is_none() && save_to.is_none();
            let saved: Vec<String> = targets.iter().map(Target::to_string).collect();
            url.map(|url| exactly(url, plain, &json!({"method": method, "headers": headers, "body": body, "save_to": saved})))
        }
        (Action::EditFiles(_), _) => Some(targets.iter().map(Target::to_string).collect::<Vec<_>>().join("\n")),
        _ => Some(targets.iter().map(Target::to_string).collect::<Vec<_>>().join(" -> ")),
    }
}

/// The name of a call that is more than its `text`. No text is taken for such a name: the name begins with a NUL, and a text that does is
/// given the long form.
fn exactly(text: &str, is_plain: bool, more: &Value) -> String {
    if is_plain && !text.starts_with('\0') { text.to_owned() } else { format!("\0{}", json!([text, more])) }
}

/// Decides on a call that passed lines 1 to 11.
/// `what`: the call in words.
pub(super) fn decide(capability: &Capability, action: &Action, level: Level, what: &str, grant: Option<&str>, state: &State) -> Verdict {
    let (mode, approvals) = (mode(capability, level), &capability.manifest.approvals);
    // The rule that made it this strict may be one of a lower level.
    let by = Level::ALL.into_iter().zip(approvals.modes()).find(|(lower, written)| *lower <= level && *written == mode);
    let rule = match by {
        None if approvals.needs_two(capability.spec.name) => "approvals.two_persons".to_owned(),
        by => format!("approvals.level_{}", u8::from(by.map_or(level, |(lower, _)| lower))),
    };
    let said = |decision, why: Refusal| Verdict {
        decision,
        grant: grant.map(str::to_owned),
        ..Verdict::deny(why.rule(rule.clone()), Some(level))
    };
    let allowed = |code, why| said(Decision::Allow, Refusal::new(code, format!("{what} {why}")));
    match mode {
        Mode::None => return allowed(Code::Ok, "needs no approval"),
        Mode::Deny => {
            return said(
                Decision::Deny,
                Refusal::new(Code::LevelDenied, format!("{what} is not allowed here")).hint("use a call of a lower level"),
            );
        }
        Mode::First if remembered(capability, action, level, grant, state) => {
            return allowed(Code::Remembered, "was approved for this target in this session");
        }
        Mode::First | Mode::Every | Mode::Operator => {}
    }
    let asked = || {
        let client = mode != Mode::Operator && state.channels.client;
        let queue = mode == Mode::Operator || approvals.no_client_channel == NoClientChannel::Operator;
        let operator = queue && state.channels.operator;
        if !(client || operator) {
            let why = Refusal::new(Code::NoApprovalChannel, format!("{what} needs the approval of a person, and nobody can be asked"));
            return said(Decision::Deny, why.hint(NO_CHANNEL));
        }
        let (code, who) = match mode {
            Mode::Operator => (Code::NeedsOperator, "an operator"),
            Mode::First => (Code::NeedsFirst, "a person, once for this target"),
            _ => (Code::NeedsEvery, "a person, every time"),
        };
        said(Decision::Ask, Refusal::new(code, format!("{what} needs the approval of {who}")).hint("wait for the answer"))
    };
    let Some(answer) = &state.answer else { return asked() };
    match judge_answer(capability, level, mode, answer, &offered(capability, action, level, grant)) {
        Ok(Worth::Yes) => allowed(Code::Approved, "was approved"),
        Ok(Worth::Lacking(missing)) => said(Decision::Ask, Refusal::new(Code::MoreApprovers, missing).hint("another operator must agree")),
        Ok(Worth::Nothing) => asked(),
        Err(refusal) => Verdict { rule: refusal.rule.clone().or(Some(rule.clone())), ..Verdict::deny(refusal, Some(level)) },
    }
}

const NO_CHANNEL: &str = "do what needs no approval; the operator can use a client that shows questions, or write `no_client_channel = \"operator\"` and run `toolgate approvals watch`";

/// What an answer that is no refusal is worth.
enum Worth {
    /// It is a yes.
    Yes,
    /// Others must agree as well.
    Lacking(String),
    /// Nobody has answered yet.
    Nothing,
}

/// Line 13: grants that are alive and cover exactly this; of several files, each.
fn remembered(capability: &Capability, action: &Action, level: Level, target: Option<&str>, state: &State) -> bool {
    let Some(target) = target else { return false };
    let holds = |grant: &Grant, target: &str| {
        grant.principal == capability.caller.principal
            && grant.session == capability.caller.session
            && covers(capability, action, level, grant, target)
            && grant.policy == state.policy
            && grant.level.is_none_or(|highest| level <= highest)
            && grant.expires.is_none_or(|end| state.now < end)
    };
    parts(action, target).into_iter().all(|target| state.grants.iter().any(|grant| holds(grant, target)))
}

/// Line 15.
fn judge_answer(capability: &Capability, level: Level, mode: Mode, answer: &Answer, offered: &[Scope]) -> Result<Worth, Refusal> {
    let no = |code, message: &str| Refusal::new(code, message).hint("nothing was done; call again, and the person is asked again");
    if answer.used {
        return Err(no(Code::ApprovalReplayed, "this approval was used already; an approval allows one call"));
    }
    if answer.for_principal != capability.caller.principal {
        return Err(no(Code::ApprovalWrongPrincipal, "this approval was given to another caller"));
    }
    match answer.channel {
        AnswerChannel::Client if mode == Mode::Operator => {
            return Err(no(Code::ApprovalWrongChannel, "only an operator can approve this call"));
        }
        AnswerChannel::Other => return Err(no(Code::ApprovalWrongChannel, "the answer came neither from the client nor from an operator")),
        AnswerChannel::Client | AnswerChannel::Operator => {}
    }
    if answer.expires.is_some_and(|end| answer.at >= end) {
        return Err(no(Code::ApprovalExpired, "the answer came too late"));
    }
    if answer.binding != answer.binding_now {
        return Err(no(Code::ApprovalMismatch, "the approval does not fit any more: the call, a file or the manifest changed"));
    }
    if answer.channel == AnswerChannel::Operator {
        if answer.response.as_ref().is_some_and(|response| response.action != "accept") {
            return Err(declined(Code::ApprovalRefused, "an operator said no"));
        }
        if answer.approvers.is_empty() && answer.response.is_none() {
            return Ok(Worth::Nothing);
        }
        return Ok(missing_approvers(capability, answer).map_or(Worth::Yes, Worth::Lacking));
    }
    match &answer.response {
        Some(response) => judge_response(level, answer.code.as_deref(), response, offered).map(|()| Worth::Yes),
        None => Ok(Worth::Nothing),
    }
}

/// An operator counts once, and never for a call of their own.
fn missing_approvers(capability: &Capability, answer: &Answer) -> Option<String> {
    let needed = if capability.manifest.approvals.needs_two(capability.spec.name) { 2 } else { 1 };
    let caller = &capability.caller.principal;
    let others = answer.approvers.iter().filter(|name| !is_caller(name, caller));
    let mut approvers: Vec<String> = others.map(|name| fold(name.trim())).filter(|name| !name.is_empty()).collect();
    approvers.sort_unstable();
    approvers.dedup();
    let lacking = usize::saturating_sub(needed, approvers.len());
    (lacking > 0).then(|| format!("{lacking} more operator(s) must agree; an operator counts once, and not for their own call"))
}

/// The refusal of a call that a person was asked about and refused.
fn declined(code: Code, message: &str) -> Refusal {
    Refusal::new(code, message).hint("nothing was done; do not make this call again unless the person asks for it")
}

/// The refusal of a call whose answer is neither a yes nor a no: no person may have seen the question.
fn unclear(message: &str) -> Refusal {
    Refusal::new(Code::ApprovalNotExplicit, message).hint("nothing was done; call again, and the person is asked again")
}

/// The client's form: `accept` alone is no approval, for some clients send it for nobody.
fn judge_response(level: Level, code: Option<&str>, response: &Response, offered: &[Scope]) -> Result<(), Refusal> {
    if response.action != "accept" {
        return Err(declined(Code::ApprovalRefused, "the person declined"));
    }
    let text = |name: &str| response.content.get(name).and_then(serde_json::Value::as_str);
    match text("decision") {
        Some("deny") => return Err(declined(Code::ApprovalRefused, "the person said no")),
        Some(word) if Scope::parse(word).is_some_and(|scope| offered.contains(&scope)) => {}
        // Where every call is asked about, this is a yes to this one call and no grant is kept.
        Some("session") if lasts(level) => {}
        // INVARIANT: a yes goes no further than the question offered, whatever a client answers.
        Some(_) => {
            let words: Vec<&str> = offered.iter().map(|scope| scope.as_str()).collect();
            let what = format!("the answer is not one of those that were offered: `deny`, `{}`", words.join("`, `"));
            return Err(declined(Code::ApprovalNotExplicit, &what));
        }
        // So is the error of a client that could not ask.
        None => return Err(unclear("the answer contains no decision")),
    }
    if response.content.keys().any(|name| !matches!(name.as_str(), "decision" | "confirm")) {
        return Err(unclear("the answer contains fields that were not asked for"));
    }
    match (response.content.get("confirm"), code) {
        (Some(given), Some(code)) if given.as_str() == Some(code) => Ok(()),
        (Some(given), Some(code)) if given.as_str().is_some_and(|given| given.trim().eq_ignore_ascii_case(code)) => {
            Err(unclear("the code in `confirm` must be written as it was shown, in capitals and without spaces"))
        }
        (Some(_), Some(_)) => Err(unclear("the code in `confirm` is not the one that was shown")),
        (Some(_), None) => Err(unclear("the answer contains a code in `confirm`, but none was shown")),
        (None, _) if level < Level::Destroy => Ok(()),
        (None, _) => Err(unclear("the code that was shown is missing in `confirm`")),
    }
}
