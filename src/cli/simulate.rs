//! `toolgate simulate`: judges recorded or invented calls in a described world, one JSON line each. The judge is the server's own.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::decide::{Call, Decided, decide, modules};
use super::jsonl::{self, reader};
use super::run::{End, Fault, Report};
use super::world::World;
use super::world_state;
use crate::manifest::{self, ArgumentRule, Manifest};
use crate::model::{Action, Caller, Channel, ClientLabel, Code, Refusal};
use crate::policy::Verdict;
use crate::policy::paths::unknown_spelling;
use crate::server::StrictJson;
use crate::tools;

/// A case that works, for the help of `simulate`.
const SIMULATED: &str = r#"A case is a line of JSON: the manifest as JSON, the call, and the world it meets (files, hosts, clock), which need not exist. This one is denied
with `path_denied`; save it as case.jsonl and run `toolgate simulate case.jsonl`:

{"id":"1","policy":{"version":1,"roots":{"project":{"path":"/srv/project","mode":"rw","allowed_paths":["**"],"denied_paths":["**/.env"]}},"profiles":{"dev":{"permissions":["READONLY"],"allowed_tools":["*"]}}},"request":{"profile":"dev","tool":"read_file","args":{"path":"project/.env"}},"state":{"fs":{"project/.env":"file"}}}"#;

/// Judge calls from a file, with files and hosts that the file describes.
#[derive(Debug, Args)]
#[command(after_help = SIMULATED)]
pub struct Simulate {
    /// The file, with one JSON object a line; `-` reads standard input.
    cases: PathBuf,
}

pub(super) fn run(arguments: &Simulate, out: &mut dyn Write) -> Result<Report, Fault> {
    Ok(End::of(simulate(reader(&arguments.cases)?, out)? == 0).into())
}

/// Judges every line of `input` and writes a line for each. Gives the number of lines that were no case.
///
/// # Errors
/// What reading or writing failed with.
pub fn simulate(input: impl BufRead, output: impl Write) -> io::Result<usize> {
    jsonl::lines(input, output, |line| match serde_json::from_slice::<Case>(line) {
        Ok(case) if line.trim_ascii_start().starts_with(b"{") => (line_of(&case.id, &judge(&case)), true),
        Ok(_) => (no_case("a case is a JSON object"), false),
        Err(fault) => (no_case(&fault.to_string()), false),
    })
}

/// One case, as a line has it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Case {
    id: Value,
    policy: StrictJson,
    request: StrictJson,
    state: StrictJson,
}

fn no_case(why: &str) -> Value {
    let refusal = Refusal::new(Code::ArgumentInvalid, format!("this line is no case: {why}"));
    line_of(&Value::Null, &Verdict::deny(refusal, None))
}

fn line_of(id: &Value, verdict: &Verdict) -> Value {
    let Verdict { decision, code, level, rule, message, retry_after_s, .. } = verdict;
    let mut line = json!({
        "id": id, "verdict": decision.as_str(), "code": code, "level": level, "rule": rule, "message": message, "retry_after_s": retry_after_s
    });
    // Of a case without an `id` the answer has one that is null.
    line.as_object_mut().into_iter().for_each(|line| line.retain(|name, value| name == "id" || !value.is_null()));
    line
}

/// Judges one case: `policy`, `request`, `state`.
pub fn judge_case(case: &Value) -> Verdict {
    judge(&serde_json::from_value(case.clone()).unwrap_or_default())
}

fn judge(Case { policy, request, state, .. }: &Case) -> Verdict {
    let manifest = match load(policy) {
        Ok(manifest) => Arc::new(manifest),
        Err(refusal) => return Verdict::deny(refusal, None),
    };
    let state = state.value.as_object().cloned().unwrap_or_default();
    decide_request(&manifest, &request.value, &state, request.twice.as_ref().map(ToString::to_string)).verdict
}

/// Judges one request in one world, with what was known when it was judged.
pub fn decide_request(manifest: &Arc<Manifest>, request: &Value, state: &Map<String, Value>, malformed: Option<String>) -> Decided {
    let text = |name: &str, missing: &str| request.get(name).and_then(Value::as_str).unwrap_or(missing).to_owned();
    let caller = Caller {
        principal: text("principal", "p1"),
        session: text("session", "s1"),
        profile: request.get("profile").and_then(Value::as_str).map(str::to_owned),
        client: ClientLabel::default(),
        channel: Channel::During,
    };
    let tool = text("tool", "");
    let (arguments, malformed) = match request.get("args") {
        Some(Value::Object(arguments)) => {
            let (mut arguments, most) = (arguments.clone(), longest(manifest));
            arguments.values_mut().for_each(|value| lengthen(value, most));
            (arguments, malformed)
        }
        None => (Map::new(), malformed),
        Some(_) => (Map::new(), malformed.or(Some("they are no object".to_owned()))),
    };
    let world = World::read(state, manifest);
    let mut judged_in = world_state::read(state, request, &caller, &tool);
    let call = Call { caller, tool: &tool, arguments, malformed };
    judged_in.modules = modules(&call, manifest, |profile, names| world.modules(manifest, profile, names));
    let mut decided = decide(manifest, &call, &judged_in, &|action, screened| Ok(world.look(manifest, action, screened)));
    // In a described world an entry alone vouches for a spelling that is not plain, whatever else would be said of the path.
    let unknown = {
        let mut touches = decided.action.iter().flat_map(Action::touches);
        touches.find(|touch| !world.vouches_for(manifest, &touch.path)).map(|touch| unknown_spelling(&touch.path))
    };
    if let Some(refusal) = unknown {
        decided.verdict = Verdict::deny(refusal, None);
    }
    decided
}

/// Loads a manifest as the server would: faults, places of roots, its own tests.
fn load(policy: &StrictJson) -> Result<Manifest, Refusal> {
    let invalid = |what: String| Refusal::new(Code::PolicyInvalid, what).hint("`toolgate check` tells every fault");
    if let Some(twice) = &policy.twice {
        return Err(invalid(twice.to_string()));
    }
    let all = |faults: Vec<manifest::Fault>| invalid(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    let mut manifest = manifest::parse_json(&policy.value, tools::specs()).map_err(all)?;
    // Nothing of the machine is looked at: a relative root lies beside a manifest that lies nowhere.
    manifest.resolve_roots("/manifest").map_err(all)?;
    match super::check::failed_tests(&manifest).first() {
        Some(failed) => Err(invalid(failed.to_string())),
        None => Ok(manifest),
    }
}

/// The longest text that is really made for a `{"len": N}`, in bytes.
const MOST: u64 = 64 << 20;

/// A text longer than every limit of the manifest is judged as any longer one.
fn longest(manifest: &Manifest) -> u64 {
    let lengths = manifest.tools.values().flat_map(|tool| tool.arguments.values()).map(|rule| match rule {
        ArgumentRule::Bounded(bounds) => bounds.max_length.or(bounds.min_length).unwrap_or(0),
        ArgumentRule::Listed(_) => 0,
    });
    lengths.chain([manifest.files.max_file_size.0, 8 * 1024]).max().unwrap_or(MOST).saturating_add(1).min(MOST)
}

/// Puts a text of N bytes wherever a case writes `{"len": N}`.
fn lengthen(value: &mut Value, most: u64) {
    match value {
        Value::Object(members) => match (members.len(), members.get("len").and_then(Value::as_u64)) {
            (1, Some(length)) => *value = Value::String("x".repeat(usize::try_from(length.min(most)).unwrap_or(0))),
            _ => members.values_mut().for_each(|value| lengthen(value, most)),
        },
        Value::Array(values) => values.iter_mut().for_each(|value| lengthen(value, most)),
        _ => {}
    }
}
