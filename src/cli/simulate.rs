//! `toolgate simulate`: judges recorded or invented calls in a described world, one JSON line each. The judge is the server's own.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::decide::{Call, Decided, decide, modules};
use super::run::{End, Fault, reader};
use super::strict_json;
use super::world::World;
use super::world_state;
use crate::manifest::{self, ArgumentRule, Manifest};
use crate::model::{Action, Caller, Channel, ClientLabel, Code, Refusal, ToolSpec};
use crate::policy::paths::unknown_spelling;
use crate::policy::{State, Verdict};
use crate::tool::Tool;
use crate::tools;

/// `toolgate simulate`
pub(super) fn run(cases: &Path, mut out: &mut dyn Write) -> Result<End, Fault> {
    Ok(End::of(simulate(tools::all(), reader(cases)?, &mut out)? == 0))
}

/// Judges every line of `input` and writes a line for each. Gives the number of lines that were no case.
///
/// # Errors
/// What reading or writing failed with.
pub fn simulate(tools: &[&'static dyn Tool], input: impl BufRead, output: &mut impl Write) -> io::Result<usize> {
    let mut broken = 0;
    for line in input.split(b'\n') {
        let line = line?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let (answer, was_case) = answer(tools, &line);
        broken += usize::from(!was_case);
        serde_json::to_writer(&mut *output, &answer)?;
        output.write_all(b"\n")?;
    }
    output.flush()?;
    Ok(broken)
}

/// The answer to one line, and whether the line was a case.
fn answer(tools: &[&'static dyn Tool], line: &[u8]) -> (Value, bool) {
    let read = std::str::from_utf8(line).map_err(|fault| fault.to_string()).and_then(strict_json::read);
    match read {
        Ok(read) if read.value.is_object() => {
            let verdict = judge_case(tools, &read.value, &read.twice);
            (line_of(read.value.get("id").unwrap_or(&Value::Null), &verdict), true)
        }
        Ok(_) => (no_case("a case is a JSON object"), false),
        Err(fault) => (no_case(&fault), false),
    }
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

/// Judges one case: `policy`, `request`, `state`. `twice`: the places where a name stands twice.
pub fn judge_case(tools: &[&'static dyn Tool], case: &Value, twice: &[String]) -> Verdict {
    let at = |part: &str| twice.iter().find(|at| *at == part || at.starts_with(&format!("{part}.")) || at.starts_with(&format!("{part}[")));
    let manifest = match load(tools, case.get("policy").unwrap_or(&Value::Null), at("policy")) {
        Ok(manifest) => Arc::new(manifest),
        Err(refusal) => return Verdict::deny(refusal, None),
    };
    let empty = Map::new();
    let state = case.get("state").and_then(Value::as_object).unwrap_or(&empty);
    let request = case.get("request").and_then(Value::as_object).unwrap_or(&empty);
    let malformed = at("request").map(|at| format!("`{at}` stands twice"));
    decide_request(tools, &manifest, request, state, malformed).verdict
}

/// Judges one request in one world, with what was known when it was judged.
pub fn decide_request(
    tools: &[&'static dyn Tool],
    manifest: &Arc<Manifest>,
    request: &Map<String, Value>,
    state: &Map<String, Value>,
    malformed: Option<String>,
) -> Decided {
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
        Some(Value::Object(arguments)) => (lengthen(arguments, longest(manifest)), malformed),
        None => (Map::new(), malformed),
        Some(_) => (Map::new(), malformed.or(Some("they are no object".to_owned()))),
    };
    let world = World::read(state, manifest);
    let judged_in: State = world_state::read(state, request, &caller, &tool);
    let call = Call { caller, tool: &tool, arguments, malformed };
    let modules = modules(&call, manifest, |profile, names| world.modules(manifest, profile, names));
    let judged_in = State { modules, ..judged_in };
    let mut decided = decide(tools, manifest, &call, &judged_in, &|action, screened| Ok(world.look(manifest, action, screened)));
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
fn load(tools: &[&'static dyn Tool], policy: &Value, twice: Option<&String>) -> Result<Manifest, Refusal> {
    let invalid = |what: String| Refusal::new(Code::PolicyInvalid, what).hint("`toolgate check` tells every fault");
    if let Some(at) = twice {
        return Err(invalid(format!("`{at}` stands twice")));
    }
    let specs: Vec<&ToolSpec> = tools.iter().map(|tool| tool.spec()).collect();
    let told = |faults: Vec<manifest::Fault>| invalid(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    let mut manifest = manifest::parse_json(policy, &specs).map_err(told)?;
    // Nothing of the machine is looked at: a relative root lies beside a manifest that lies nowhere.
    manifest.resolve_roots("/manifest").map_err(told)?;
    match super::check::failed_tests(tools, &manifest).first() {
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
fn lengthen(arguments: &Map<String, Value>, most: u64) -> Map<String, Value> {
    arguments.iter().map(|(name, value)| (name.clone(), lengthen_value(value, most))).collect()
}

fn lengthen_value(value: &Value, most: u64) -> Value {
    match value {
        Value::Object(members) => match (members.len(), members.get("len").and_then(Value::as_u64)) {
            (1, Some(length)) => Value::String("x".repeat(usize::try_from(length.min(most)).unwrap_or(0))),
            _ => Value::Object(lengthen(members, most)),
        },
        Value::Array(values) => Value::Array(values.iter().map(|value| lengthen_value(value, most)).collect()),
        other => other.clone(),
    }
}
