//! The commands that ask the judge: check, explain, simulate, python. The same code as the server's, never a copy.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::arguments::ManifestChoice;
use super::decide::{Call, modules};
use super::run::{End, Fault, reader};
use super::{check, explain, setup, simulate};
use crate::audit::{Answer, StateDir};
use crate::calls;
use crate::gate::Asker;
use crate::manifest::Manifest;
use crate::model::name::{self, Found};
use crate::model::{
    Action, Block, Caller, Channel, ClientLabel, Facts, Host, Opened, PathFact, Progress, Question, Refusal, Stage, ToolCall,
};
use crate::policy::{Channels, Screened, State};
use crate::sandbox::files::Roots;
use crate::sandbox::programs::{Settings, container_settings};
use crate::tools;

/// What `check` looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Whatever `serve` would.
    Machine,
    /// The rules alone.
    Policy,
}

/// `toolgate check`
pub(super) fn check(file: Option<&Path>, reach: Reach, as_json: bool, out: &mut dyn Write) -> Result<End, Fault> {
    let Some(path) = setup::manifest_path(file)? else {
        if as_json {
            writeln!(out, "{}", json!({"valid": true, "manifest": null, "faults": []}))?;
        } else {
            writeln!(out, "there is no manifest; the built-in one holds: a scratch folder for each session, nothing else")?;
        }
        return Ok(End::Done);
    };
    let choice = ManifestChoice { manifest: Some(path.clone()), profile: None, roots: Vec::new() };
    let name = path.display().to_string();
    // What is asked of a manifest that is served, and nothing less.
    let held = |mut found: setup::Found| {
        let state = setup::state_path(&found.manifest, found.file.as_deref())?;
        match reach {
            Reach::Machine => setup::checked_places(&mut found, &state).map(drop)?,
            Reach::Policy => setup::checked_policy(&found)?,
        }
        Ok((found, state))
    };
    let (found, state) = match setup::find(&choice).and_then(held) {
        Ok(placed) => placed,
        Err(fault) if as_json => {
            let (faults, why) = match &fault {
                setup::Unbuilt::Manifest { faults, .. } => (faults.iter().map(fault_json).collect(), None),
                other => (Vec::new(), Some(other.to_string())),
            };
            writeln!(out, "{}", json!({"valid": false, "manifest": name, "faults": faults, "why": why}))?;
            return Ok(End::Negative);
        }
        Err(setup::Unbuilt::Manifest { faults, .. }) => {
            let text = super::text_file::read(&path)?;
            write!(out, "{}", check::pretty(&name, &text, &faults))?;
            writeln!(out, "{} fault(s); nothing is served by this manifest", faults.len())?;
            return Ok(End::Negative);
        }
        // A file that cannot be read was not checked.
        Err(fault @ setup::Unbuilt::Machine { .. }) if super::text_file::read(&path).is_err() => return Err(fault.into()),
        // What the machine says no with is a no to the manifest; in the words of a start.
        Err(fault) => {
            writeln!(out, "{name}: {fault}\nnothing is served by this manifest")?;
            return Ok(End::Negative);
        }
    };
    let unready = match reach {
        Reach::Machine => super::environment::find(&found.manifest, found.file.as_deref(), &state).unready,
        Reach::Policy => None,
    };
    if as_json {
        let answer = json!({
            "valid": true, "manifest": name, "faults": [], "roots": found.manifest.roots.len(), "profiles": found.manifest.profiles.len(),
            "tests": found.manifest.tests.len(), "run_python_refused": unready
        });
        writeln!(out, "{answer}")?;
        return Ok(End::Done);
    }
    writeln!(
        out,
        "{name}: valid; {} root(s), {} profile(s), {} test(s) hold{}",
        found.manifest.roots.len(),
        found.manifest.profiles.len(),
        found.manifest.tests.len(),
        if reach == Reach::Policy { "; folders and files of this machine were not looked at" } else { "" }
    )?;
    if let Some(why) = unready {
        writeln!(out, "run_python is refused until then: {why}")?;
    }
    Ok(End::Done)
}

fn fault_json(fault: &crate::manifest::Fault) -> Value {
    json!({"line": fault.location.map(|at| at.line), "column": fault.location.map(|at| at.column), "message": fault.to_string()})
}

/// `toolgate explain`
pub(super) fn explain(tool: &str, arguments: &str, choice: &ManifestChoice, as_json: bool, out: &mut dyn Write) -> Result<End, Fault> {
    let arguments: Map<String, Value> = serde_json::from_str(arguments)
        .map_err(|fault| Fault::Use(format!("the arguments are no JSON object, e.g. '{{\"path\":\"work/a.txt\"}}': {fault}")))?;
    // As a server takes them.
    let arguments = match tools::find(tool) {
        Some(tool) => tools::schema::as_meant(tool.card().input_schema, arguments),
        None => arguments,
    };
    let mut found = setup::find(choice)?;
    let profile = setup::stdio_profile(&found.manifest, choice)?;
    let places = setup::places(&mut found)?;
    // The session's own folder is as it is when the session begins: empty. Nothing is made for a question.
    let roots = Roots::open(&places, &super::guarded::guarded(found.file.as_deref(), &found.manifest), None).map_err(setup::unopened)?;
    if tool == "run_python"
        && let Some(wall) = lacking_wall(&found)?
    {
        if !as_json {
            writeln!(out, "# `check = \"imports\"` acts as `strict` on this machine: {wall}")?;
        }
        found.manifest.python.check = crate::manifest::Check::Strict;
    }
    let call = Call { caller: operator(profile), tool, arguments, malformed: None };
    let killed = StateDir::is_stopped(&setup::state_path(&found.manifest, found.file.as_deref())?);
    let manifest = Arc::new(found.manifest);
    let modules = modules(&call, &manifest, |profile, names| roots.modules("explain", &manifest, profile, names));
    let state = State { killed, channels: Channels { client: true, operator: true }, modules, ..State::default() };
    let explanation =
        explain::explain(tools::all(), &manifest, &call, &state, &|action, screened| look(&roots, &manifest, action, screened));
    let allowed = explanation.verdict.decision != crate::policy::Decision::Deny;
    if as_json {
        writeln!(out, "{}", explanation.to_json())?;
    } else {
        let name = found.file.as_deref().map_or_else(|| "built-in manifest".to_owned(), |file| file.display().to_string());
        write!(out, "{}", explanation.to_text(&name))?;
    }
    Ok(if allowed { End::Done } else { End::Negative })
}

/// Sees the machine as a call would, without any effect.
fn look(roots: &Roots, manifest: &Manifest, action: &Action, screened: &Screened) -> Result<Facts, Refusal> {
    let mut paths = Vec::new();
    for (touch, target) in action.touches().iter().zip(&screened.targets) {
        let own = manifest.roots.get(&target.root).is_some_and(crate::manifest::Root::is_session);
        let seen: Result<Option<Opened>, _> = if own {
            Ok(None)
        } else {
            let seen = roots.look("explain", std::slice::from_ref(target), &[touch.access], manifest.files.symlinks);
            seen.map(|seen| seen.into_iter().next())
        };
        let absent = || {
            let Ok(spelling) = target.path.spelled(name::may_be_new, |_, _| Ok::<_, Infallible>(Found::Nothing));
            PathFact { spelling, ..PathFact::ABSENT }
        };
        paths.push(seen.map_err(|failure| failure.0)?.map_or_else(absent, |opened| opened.fact));
    }
    let addresses: Vec<IpAddr> = match screened.url.as_ref().map(|url| (url.host(), url.port())) {
        None => Vec::new(),
        Some((Host::Address(address), _)) => vec![address],
        // A name that does not resolve here is judged by its text alone: where it leads is seen when it is called.
        Some((Host::Name(name), port)) => match (name, port).to_socket_addrs().map(|found| found.map(|at| at.ip()).collect::<Vec<_>>()) {
            Ok(found) if !found.is_empty() => found,
            _ => vec![super::world::PUBLIC],
        },
    };
    Ok(Facts { paths, addresses, redirects: Vec::new() })
}

/// The wall for want of which `check = "imports"` acts as `strict`. The jails of this machine are tried only where that can be.
fn lacking_wall(found: &setup::Found) -> Result<Option<String>, Fault> {
    let python = &found.manifest.python;
    if python.check != crate::manifest::Check::Imports || crate::policy::program::requires_walls(python) {
        return Ok(None);
    }
    // Asking an interpreter about itself runs it outside of every jail.
    if super::trust::demanded(found).is_err() {
        return Ok(Some("the manifest is not trusted, so its interpreter is not asked".to_owned()));
    }
    let state = setup::state_path(&found.manifest, found.file.as_deref()).unwrap_or_default();
    let super::environment::Environment { interpreter, unready } = super::environment::find(&found.manifest, found.file.as_deref(), &state);
    let (backend, container) = (python.backend.clone(), container_settings(python));
    let settings = Settings { interpreter, unready, backend, container, ..Settings::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(super::doctor::examine(&settings)).lacking_wall(python))
}

/// `toolgate simulate`
pub(super) fn simulate(cases: &Path, out: &mut dyn Write) -> Result<End, Fault> {
    let mut out = out;
    let broken = simulate::simulate(tools::all(), reader(cases)?, &mut out)?;
    Ok(if broken == 0 { End::Done } else { End::Negative })
}

/// `toolgate python`: one real call of the tool, through the whole gate.
pub(super) fn python(file: &Path, choice: &ManifestChoice, as_json: bool, out: &mut dyn Write) -> Result<End, Fault> {
    let mut code = String::new();
    reader(file)?.read_to_string(&mut code)?;
    let found = setup::find_trusted(choice)?;
    let profile = setup::stdio_profile(&found.manifest, choice)?;
    let house = setup::build(found)?;
    let caller = operator(profile);
    let session = caller.session.clone();
    let call = ToolCall {
        tool: "run_python".to_owned(),
        arguments: Map::from_iter([("code".to_owned(), json!(code))]),
        malformed: None,
        trace: None,
        caller,
        repeat: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let stage = Stage { cancel: tokio_util::sync::CancellationToken::new(), progress: Progress::default() };
    let reply = runtime.block_on(async {
        let place = house.gate().queue().enter();
        let reply = calls::answer(&house, call, &Nobody, stage, &place).await;
        house.sandbox().close().await;
        reply
    });
    house.session_ends(&session);
    house.close();
    let (failed, text, facts) = match reply.into_answer() {
        Answer::Done { filtered, .. } => {
            let parts = filtered.into_parts();
            let text: Vec<String> = parts
                .blocks
                .iter()
                .filter_map(|block| match block {
                    Block::Text { text, .. } => Some(text.clone()),
                    Block::Image { .. } => None,
                })
                .collect();
            (parts.is_error, text.join("\n"), parts.structured.map_or(Value::Null, Value::Object))
        }
        Answer::Refused { refusal, .. } => (true, refusal.to_string(), json!(refusal)),
        Answer::Ask { question, .. } => (true, question.text, Value::Null),
    };
    if as_json {
        writeln!(out, "{facts}")?;
    } else {
        writeln!(out, "{}", text.trim_end_matches('\n'))?;
    }
    Ok(if failed { End::Negative } else { End::Done })
}

/// The caller of the command line: its calls put no question.
fn operator(profile: Option<String>) -> Caller {
    Caller {
        principal: "operator".to_owned(),
        session: format!("cli_{}", std::process::id()),
        profile,
        client: ClientLabel { name: "toolgate".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        channel: Channel::None,
    }
}

/// Nobody to ask.
struct Nobody;

impl Asker for Nobody {
    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<Value>> {
        async { None }.boxed()
    }

    fn seal(&self, _: &[u8], _: std::time::Duration) -> Option<String> {
        None
    }

    fn open(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}
