//! `toolgate explain`: the verdict for one call, every step that led to it, the nearest pattern that failed, and the change of
//! the manifest that would let the call through. For the operator: it may name what a model is not told.

#![expect(clippy::disallowed_methods, reason = "a name is resolved as a call would, without calling")]

use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use clap::Args;
use serde_json::{Map, Value, json};

use super::change::{Change, lift};
use super::decide::{Call, Decided, Look, decide, modules};
use super::run::{End, Fault, Globals, Report};
use super::setup::Choice;
use super::world::PUBLIC;
use super::{doctor, nearest, setup, trust};
use crate::manifest::{Check, Location, Manifest, Root};
use crate::model::name::{self, Found};
use crate::model::{Action, Code, Decision, Facts, Host, Link, PathFact, Refusal};
use crate::policy::{self, Channels, Screened, State, Verdict, effect, later};
use crate::sandbox::files::Roots;
use crate::state::StateDir;
use crate::tools;

/// One line of the decision.
#[derive(Debug)]
pub struct Step {
    /// The line of the contract's decision, 1 to 15.
    pub line: u8,
    /// Whether the call passed it.
    pub passed: bool,
    /// What was looked at and found.
    pub what: String,
    /// The rule of the manifest that decided, where one did.
    pub rule: Option<String>,
    /// Where it stands.
    pub place: Option<Location>,
}

/// Why a call is judged as it is.
#[derive(Debug)]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// Every step, in order; the last one decided.
    pub steps: Vec<Step>,
    /// The pattern that came nearest, and why it does not match.
    pub nearest: Option<String>,
    /// The changes that together would let it through, fewest that are known.
    pub changes: Vec<Change>,
    /// What would come of it then; none where no change of the manifest helps.
    pub then: Option<Verdict>,
    /// What is done to what the call would bring back; none where it may not be made.
    pub filters: Option<String>,
}

/// As many changes as one call can need: one for each line of the decision and a few more.
const MOST_CHANGES: usize = 12;
/// Files that run later, of which a step each is shown.
const MOST_LATER: usize = 5;

/// Show what would happen to one call, and which rules decide it.
#[derive(Debug, Args)]
pub struct Explain {
    /// The tool's name.
    tool: String,
    /// Its arguments as a JSON object.
    #[arg(default_value = "{}")]
    pub(super) arguments: String,
    #[command(flatten)]
    pub(super) choice: Choice,
}

pub(super) fn run(Explain { tool, arguments, choice }: &Explain, globals: &Globals) -> Result<Report, Fault> {
    let arguments: Map<String, Value> = serde_json::from_str(arguments)
        .map_err(|fault| Fault::Use(format!("the arguments are no JSON object, e.g. '{{\"path\":\"work/a.txt\"}}': {fault}")))?;
    // As a server takes them.
    let arguments = match tools::find(tool) {
        Some(tool) => tools::schema::as_meant(tool.card().input_schema, arguments),
        None => arguments,
    };
    let mut found = setup::find(globals.manifest.as_deref(), &choice.roots)?;
    let profile = setup::stdio_profile(&found.manifest, choice)?;
    let places = setup::places(&mut found)?;
    // The session's own folder is as it is when the session begins: empty. Nothing is made for a question.
    let roots = Roots::open(&places, &found.guarded(), None).map_err(setup::unopened)?;
    let lacking = if tool == "run_python" { lacking_wall(&found)? } else { None };
    let mut text = String::new();
    if let Some(wall) = lacking {
        text = format!("# `check = \"imports\"` acts as `strict` on this machine: {wall}\n");
        found.manifest.python.check = Check::Strict;
    }
    let call = Call { caller: super::python::operator(profile), tool, arguments, malformed: None };
    let killed = StateDir::is_stopped(&found.state()?);
    let manifest = Arc::new(found.manifest);
    let modules = modules(&call, &manifest, |profile, names| roots.modules("explain", &manifest, profile, names));
    let state = State { killed, channels: Channels { client: true, operator: true }, modules, ..State::default() };
    let explanation = explain(&manifest, &call, &state, &|action, screened| see(&roots, &manifest, action, screened));
    let name = found.file.as_deref().map_or_else(|| "built-in manifest".to_owned(), |file| file.display().to_string());
    text.push_str(&explanation.to_text(&name));
    Ok(Report { json: explanation.to_json(), text, end: End::of(explanation.verdict.decision != Decision::Deny) })
}

/// Sees the machine as a call would, without any effect.
fn see(roots: &Roots, manifest: &Manifest, action: &Action, screened: &Screened) -> Result<Facts, Refusal> {
    let mut paths = Vec::new();
    for (touch, target) in action.touches().iter().zip(&screened.targets) {
        let is_session = manifest.roots.get(&target.root).is_some_and(Root::is_session);
        let look = || roots.look("explain", std::slice::from_ref(target), &[touch.access], manifest.files.symlinks);
        let seen = if is_session { Vec::new() } else { look().map_err(|failure| failure.0)? };
        paths.push(seen.into_iter().next().map_or_else(
            || {
                let Ok(spelling) = target.path.spelled(name::may_be_new, |_, _| Ok::<_, Infallible>(Found::Nothing));
                PathFact { spelling, ..PathFact::default() }
            },
            |opened| opened.fact,
        ));
    }
    let addresses: Vec<IpAddr> = match screened.url.as_ref().map(|url| (url.host(), url.port())) {
        None => Vec::new(),
        Some((Host::Address(address), _)) => vec![address],
        // A name that does not resolve here is judged by its text alone: where it leads is seen when it is called.
        Some((Host::Name(name), port)) => match (name, port).to_socket_addrs().map(|found| found.map(|at| at.ip()).collect::<Vec<_>>()) {
            Ok(found) if !found.is_empty() => found,
            _ => vec![PUBLIC],
        },
    };
    Ok(Facts { paths, addresses, redirects: Vec::new() })
}

/// The wall for want of which `check = "imports"` acts as `strict`. The jails of this machine are tried only where that can be.
fn lacking_wall(found: &setup::Found) -> Result<Option<String>, Fault> {
    let python = &found.manifest.python;
    if python.check != Check::Imports || policy::program::requires_walls(python) {
        return Ok(None);
    }
    // Asking an interpreter about itself runs it outside of every jail.
    if trust::demanded(found).is_err() {
        return Ok(Some("the manifest is not trusted, so its interpreter is not asked".to_owned()));
    }
    let settings = setup::jail(found, &found.state().unwrap_or_default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(doctor::examine(&settings)).lacking_wall(python))
}

/// Explains the verdict on a call. `look` sees the world without changing it; it is asked again after each change that is tried.
pub fn explain(manifest: &Arc<Manifest>, call: &Call<'_>, state: &State, look: &Look<'_>) -> Explanation {
    let decided = decide(manifest, call, state, look);
    let is_denied = |decided: &Decided| decided.verdict.decision == Decision::Deny;
    let mut explanation = Explanation {
        steps: steps(manifest, call, state, &decided),
        nearest: nearest::failed(manifest, &decided),
        changes: Vec::new(),
        then: None,
        filters: (!is_denied(&decided)).then(|| filters(manifest, call, &decided)),
        verdict: decided.verdict.clone(),
    };
    if !is_denied(&decided) {
        return explanation;
    }
    let (mut changed, mut decided) = (Arc::clone(manifest), decided);
    let profile = call.caller.profile.as_deref().unwrap_or_default();
    while is_denied(&decided) && explanation.changes.len() < MOST_CHANGES {
        let Some(change) = lift(Arc::make_mut(&mut changed), profile, call.tool, &decided) else { break };
        explanation.changes.push(change);
        decided = decide(&changed, call, state, look);
    }
    if is_denied(&decided) {
        // Changes that do not suffice are not shown.
        explanation.changes.clear();
    } else {
        explanation.then = Some(decided.verdict);
    }
    explanation
}

fn steps(manifest: &Arc<Manifest>, call: &Call<'_>, state: &State, decided: &Decided) -> Vec<Step> {
    let verdict = &decided.verdict;
    let last = verdict.code.line();
    let place = |rule: &str| manifest.spans.locate(rule);
    let mut steps = Vec::new();
    // A step without a rule has an empty one.
    let mut pass = |line: u8, rule: &str, what: String| {
        if line < last {
            let rule = Some(rule).filter(|rule| !rule.is_empty());
            steps.push(Step { line, passed: true, what, rule: rule.map(str::to_owned), place: rule.and_then(place) });
        }
    };
    let profile = call.caller.profile.as_deref().unwrap_or("none");
    let of_profile = |key: &str| format!("profiles.{profile}{key}");
    pass(1, "", "the manifest is valid, the emergency stop is off, the log can be written".to_owned());
    let caller = format!("`{}` has the profile `{profile}`; its session is not suspended", call.caller.principal);
    pass(2, &of_profile(""), caller);
    pass(3, "", format!("`{}` is a tool", call.tool));
    pass(4, "", format!("{} earlier call(s) count; within every limit and budget", state.calls_at.len()));
    pass(5, &of_profile(".allowed_tools"), format!("`{}` is allowed and not denied", call.tool));
    if let Some(capability) = &decided.capability {
        pass(6, &of_profile(".permissions"), format!("it needs {}; the profile holds it", capability.spec.flags));
        let listed = if manifest.tools.contains_key(call.tool) { format!("tools.{}", call.tool) } else { String::new() };
        pass(7, &listed, "every argument is known and within what is allowed".to_owned());
    }
    if let (Some(action), Some(screened)) = (&decided.action, &decided.screened) {
        for (index, target) in screened.targets.iter().enumerate() {
            let link = decided.facts.as_ref().and_then(|facts| facts.paths.get(index)).map(|fact| &fact.link);
            let (path, led) = match link {
                Some(Link::Leads(path)) => (path, format!(", by a link `{}/{path}`,", target.root)),
                _ => (&target.path, String::new()),
            };
            let by = manifest.roots.get(&target.root).and_then(|root| root.allowed.iter().position(|pattern| pattern.matches(path)));
            let rule = format!("roots.{}.allowed_paths{}", target.root, by.map(|index| format!("[{index}]")).unwrap_or_default());
            pass(8, &rule, format!("`{target}`{led} is in a root of the profile, allowed, not denied; nothing about it is odd"));
        }
        if let Some(url) = &screened.url {
            pass(9, "network", format!("`{}`: form, scheme, host, port and every address are open", url.origin()));
        }
        let is_program = matches!(action, Action::RunPython(_));
        if is_program {
            let warnings = screened.program.as_ref().map_or(&[] as &[String], |program| &program.warnings);
            let what = if warnings.is_empty() { "has nothing against the program" } else { "warns, and lets the program pass:\n" };
            pass(10, "python.allowed_imports", format!("the static check {what}{}", warnings.join("\n")));
            if policy::python_network(manifest, profile) {
                let what = "it may use the network: each connection is judged by `[network]` when it is made, as a fetch is";
                pass(10, "python.network", what.to_owned());
            }
        }
        if let (Some(level), Some(facts), Some(capability)) = (verdict.level, &decided.facts, &decided.capability) {
            let own = effect::level(capability, action, screened, facts);
            let why = if level > own { "; raised by the tool's rule, a reviewer, or untrusted content" } else { "" };
            pass(11, "", format!("level {}: it {}{why}", u8::from(level), effect::meaning(own)));
            for later in later::runs_later(manifest, action, screened, facts).iter().take(MOST_LATER) {
                let what = format!("{}: it matches `{}`, so a change of it is level 3", later.in_words(), later.pattern);
                pass(11, "files.runs_later", what);
            }
            let reached = later::programs_reach(capability).join("`, `");
            if is_program && !reached.is_empty() {
                let what = format!("a program writes to `{reached}`, where files run later, and no call shows which, so it is level 3");
                pass(11, "files.runs_later", what);
            }
            let mode = policy::mode(capability, level).as_str();
            let what = format!("the strictest mode of the levels up to {} is `{mode}`", u8::from(level));
            pass(12, verdict.rule.as_deref().unwrap_or_default(), what);
        }
    }
    let (rule, passed) = (verdict.rule.clone(), verdict.decision == Decision::Allow);
    steps.push(Step { line: last, passed, what: verdict.message.clone(), place: rule.as_deref().and_then(place), rule });
    steps
}

/// What is done to the answer: whose words it is taken to be, and each filter that looks at those.
fn filters(manifest: &Manifest, call: &Call<'_>, decided: &Decided) -> String {
    let strange = match &decided.action {
        Some(Action::Fetch(fetch)) if fetch.save_to.is_none() => true,
        Some(Action::ReadFile(_) | Action::EditFiles(_) | Action::SearchFiles(_)) => {
            decided.screened.iter().flat_map(|screened| &screened.targets).any(|target| manifest.is_untrusted(target))
        }
        Some(Action::QueryDatabase(_)) => true,
        Some(Action::RunPython(_)) => manifest.filters.program_output == crate::manifest::Trust::Untrusted,
        _ => false,
    };
    if strange {
        return format!("the answer of `{}` is untrusted and marks the session; {}", call.tool, manifest.filters.in_words(true));
    }
    format!("the answer of `{}` counts as the caller's own; {}", call.tool, manifest.filters.in_words(false))
}

impl Explanation {
    /// As scripts read it.
    pub fn to_json(&self) -> Value {
        let place = |step: &Step| step.place.map(|place| json!({"line": place.line, "column": place.column}));
        let step =
            |step: &Step| json!({"line": step.line, "passed": step.passed, "what": step.what, "rule": step.rule, "place": place(step)});
        let Verdict { decision, code, level, rule, message, hint, .. } = &self.verdict;
        json!({
            "verdict": decision.as_str(), "code": code, "level": level, "rule": rule, "place": self.steps.last().and_then(place),
            "message": message, "hint": hint, "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
            "nearest": self.nearest, "filters": self.filters, "changes": self.changes,
            "then": self.then.as_ref().map(|then| json!({"verdict": then.decision.as_str(), "code": then.code, "level": then.level})),
        })
    }

    /// As a person reads it. `file`: the manifest's name before each place.
    pub fn to_text(&self, file: &str) -> String {
        let verdict = &self.verdict;
        let level = verdict.level.map(|level| format!("  level {}", u8::from(level))).unwrap_or_default();
        let mut out = format!("{}  {}{level}\n{}\n\n", verdict.decision.as_str(), verdict.code, verdict.message);
        for step in &self.steps {
            let mark = match (step.passed, verdict.decision) {
                (true, _) => '✓',
                (false, Decision::Ask) => '?',
                (false, _) => '✗',
            };
            let rule = step.rule.as_deref().map(|rule| format!("  [{rule}]")).unwrap_or_default();
            let place = step.place.map(|place| format!("  {file}:{}:{}", place.line, place.column)).unwrap_or_default();
            let _ = writeln!(out, "  {mark} {:>2}  {}{rule}{place}", step.line, step.what);
        }
        for (title, text) in [("filters", &self.filters), ("nearest", &self.nearest)] {
            out += &text.as_ref().map(|text| format!("\n{title}: {text}\n")).unwrap_or_default();
        }
        if let Some(then) = &self.then {
            out += "\na change of the manifest that would let it through:\n";
            let _ = self.changes.iter().try_for_each(|change| writeln!(out, "  {change}"));
            let _ = writeln!(out, "the call would then be: {} ({})", then.decision.as_str(), then.code);
        } else if verdict.decision == Decision::Deny && verdict.code != Code::PolicyInvalid {
            out += "\nno line of the manifest would let this call through as it is\n";
            out += &verdict.hint.as_ref().map(|hint| format!("{hint}\n")).unwrap_or_default();
        }
        out
    }
}
