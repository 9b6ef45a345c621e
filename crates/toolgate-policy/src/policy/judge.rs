//! Lines 8 to 15 over facts: the one function that the live call and `simulate` both end in.

use super::approval::{decide, grant_target};
use super::capability::Capability;
use super::effect::{self, meaning};
use super::facts::judge_facts;
use super::folders;
use super::later::{programs_reach, runs_later};
use super::screen::Screened;
use super::state::{Review, State};
use super::verdict::Verdict;
use crate::manifest::AfterUntrusted;
use crate::model::{Action, Code, Facts, Level, Refusal};

/// Judges an action whose text was screened, by what was seen of the world. Pure.
///
/// Until an effect is made the verdict is only as good as the facts: it must act on the very handles they were read from.
pub fn judge(capability: &Capability, action: &Action, screened: &Screened, facts: &Facts, state: &State) -> Verdict {
    let targets = match judge_facts(capability, action, screened, facts) {
        Ok(targets) => targets,
        Err(refusal) => return Verdict::deny(refusal, None),
    };
    let (level, review_due) = match level_of(capability, action, screened, facts, state) {
        Ok(found) => found,
        Err((refusal, level)) => return Verdict::deny(refusal, Some(level)),
    };
    let url = screened.url.as_ref().map(ToString::to_string);
    let grant = grant_target(capability, action, url.as_deref(), &targets);
    let what = what(capability, action, screened, facts, level);
    Verdict { review_due, ..decide(capability, action, level, &what, grant.as_deref(), state) }
}

/// What a lasting yes to this call would be for, as [`Verdict::grant`] has it; none where nothing is remembered or a fact refuses the call.
pub fn grant_of(capability: &Capability, action: &Action, screened: &Screened, facts: &Facts) -> Option<String> {
    let targets = judge_facts(capability, action, screened, facts).ok()?;
    grant_target(capability, action, screened.url.as_ref().map(ToString::to_string).as_deref(), &targets)
}

/// The call in words: what runs later first, else what its level means.
fn what(capability: &Capability, action: &Action, screened: &Screened, facts: &Facts, level: Level) -> String {
    let number = u8::from(level);
    let later = runs_later(&capability.manifest, action, screened, facts);
    if let Some(first) = later.first() {
        let more = if later.len() > 1 { format!(" (and {} more)", later.len() - 1) } else { String::new() };
        return format!("a call that changes what runs later, as {}{more} (`files.runs_later`, level {number}),", first.in_words());
    }
    match programs_reach(capability).as_slice() {
        roots @ [_, ..] if matches!(action, Action::RunPython(_)) && level == Level::Destroy => {
            format!("a program that can change what runs later in `{}` (`files.runs_later`, level {number})", roots.join("`, `"))
        }
        _ => format!("a call that {} (level {number})", meaning(level)),
    }
}

/// Line 11: effect, tool, untrusted content, reviewers. Each can only raise.
fn level_of(
    capability: &Capability,
    action: &Action,
    screened: &Screened,
    facts: &Facts,
    state: &State,
) -> Result<(Level, bool), (Refusal, Level)> {
    let manifest = &capability.manifest;
    let effect = effect::level(capability, action, screened, facts);
    let raised = manifest.tools.get(capability.spec.name).and_then(|rules| rules.level).unwrap_or_default();
    let mut level = effect.max(raised).max(folders::raised(manifest, facts));
    if state.untrusted && manifest.approvals.after_untrusted == AfterUntrusted::Raise {
        if level >= Level::Change {
            level = level.raised();
        }
        // A request hidden in what was read can only leave by a new host, or in what is sent, which is level 3 as it is.
        let host = screened.url.as_ref().map(crate::model::HttpUrl::host_str);
        if host.is_some_and(|host| !state.contacted.iter().any(|known| known == host)) {
            level = level.max(Level::Change);
        }
    }
    if level < manifest.review.from_level {
        return Ok((level, false));
    }
    let Some(reviews) = &state.reviews else { return Ok((level, !manifest.review.reviewers.is_empty())) };
    for review in reviews {
        match review {
            Review::Allow => {}
            Review::Deny => {
                let refusal = Refusal::new(Code::ReviewDenied, "a reviewer refused the call").rule("review.reviewers");
                return Err((refusal.hint("do something else; the reviewers' reasons are in the log"), level));
            }
            Review::Doubt => level = level.max(Level::Destroy),
            Review::Level(least) => level = level.max(*least),
        }
    }
    Ok((level, false))
}
