//! One call from manifest to verdict, with a look at a world in the middle: what `explain`, `simulate` and the manifest's own tests share.
//! The steps are the judge's, in the order in which the pipeline goes them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::filter::scan_arguments;
use crate::manifest::Manifest;
use crate::model::{Action, Caller, Code, Facts, Refusal};
use crate::policy::{self, Capability, Screened, State, Verdict};
use crate::suggest;
use crate::tool::{Piece, Tool};
use crate::tools;

/// One call to be judged.
#[derive(Debug)]
pub struct Call<'c> {
    /// The caller.
    pub caller: Caller,
    /// The tool's name.
    pub tool: &'c str,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// What the reader of the message found that JSON parsers differ on.
    pub malformed: Option<String>,
}

/// A verdict, with what was known when it was given: each part only as far as the call came.
#[derive(Debug)]
pub struct Decided {
    /// The verdict.
    pub verdict: Verdict,
    /// The capability.
    pub capability: Option<Capability>,
    /// The action.
    pub action: Option<Action>,
    /// What its text means.
    pub screened: Option<Screened>,
    /// What was seen.
    pub facts: Option<Facts>,
}

impl Decided {
    /// Whether a rule could be asked: the call has the form of an action, and its paths, address and program can be read.
    pub fn is_planned(&self) -> bool {
        let is_unread = matches!(self.verdict.code, Code::PathMalformed | Code::UrlMalformed | Code::SyntaxError);
        self.capability.is_none() || (!is_unread && (self.action.is_some() || self.verdict.rule.is_some()))
    }
}

/// The modules of roots that the program of a call may import, for [`State::modules`]; none of a call without a program. `look`: which of these
/// names are modules of a root that the programs of a profile see.
pub fn modules(call: &Call<'_>, manifest: &Manifest, look: impl FnOnce(&str, BTreeSet<String>) -> BTreeSet<String>) -> BTreeSet<String> {
    let (Some(code), Some(profile)) = (call.arguments.get("code").and_then(Value::as_str), call.caller.profile.as_deref()) else {
        return BTreeSet::new();
    };
    if call.tool != "run_python" {
        return BTreeSet::new();
    }
    look(profile, policy::program::modules_to_look_for(&manifest.python, None, code))
}

/// Sees the world for an action.
pub type Look<'a> = dyn Fn(&Action, &Screened) -> Result<Facts, Refusal> + 'a;

/// Judges a call. `look` sees the world without changing it.
pub fn decide(manifest: &Arc<Manifest>, call: &Call<'_>, state: &State, look: &Look<'_>) -> Decided {
    let verdict = Verdict::deny(Refusal::new(Code::Internal, "not judged"), None);
    let mut decided = Decided { verdict, capability: None, action: None, screened: None, facts: None };
    decided.verdict = match walk(manifest, call, state, look, &mut decided) {
        Ok(verdict) => verdict,
        Err(refusal) => Verdict::deny(refusal, None),
    };
    decided
}

fn walk(manifest: &Arc<Manifest>, call: &Call<'_>, state: &State, look: &Look<'_>, decided: &mut Decided) -> Result<Verdict, Refusal> {
    let tool = tools::find(call.tool);
    let capability = policy::admit(manifest, &call.caller, call.tool, tool.map(Tool::spec), state);
    let profile = call.caller.profile.as_deref();
    let capability = capability.map_err(|refusal| suggest::with_tool(refusal, tools::all(), manifest, profile, call.tool))?;
    let capability = decided.capability.insert(capability);
    let arguments = capability.check_arguments(&call.arguments, call.malformed.as_deref(), scan_arguments)?;
    let Some(tool) = tool else { return Err(Refusal::new(Code::UnknownTool, "there is no such tool")) };
    if let Some(parts) = tool.parts() {
        return several(manifest, call, state, look, ((parts.split)(arguments)?, parts.tool), decided);
    }
    let action = decided.action.insert(tool.plan(arguments)?);
    let screened = decided.screened.insert(capability.screen(action)?);
    *action = screened.as_judged(action.clone());
    let facts = decided.facts.insert(look(action, screened)?);
    screened.take_spelling(facts);
    Ok(policy::judge(capability, action, screened, facts, state))
}

/// Judges each part of a call that consists of several, and gives the strictest verdict with what was known when it was given.
fn several(
    manifest: &Arc<Manifest>,
    call: &Call<'_>,
    state: &State,
    look: &Look<'_>,
    (pieces, tool): (Vec<Piece>, &str),
    decided: &mut Decided,
) -> Result<Verdict, Refusal> {
    // The first of the strictest: `max_by_key` gives the last.
    let parts = pieces.into_iter().rev().map(|piece| {
        let part = Call { caller: call.caller.clone(), tool, arguments: piece.arguments, malformed: None };
        decide(manifest, &part, state, look)
    });
    let strictest = parts.max_by_key(|part| part.verdict.decision);
    *decided = strictest.ok_or_else(|| Refusal::new(Code::Internal, "the call has no parts"))?;
    Ok(decided.verdict.clone())
}
