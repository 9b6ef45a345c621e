//! `toolgate policy`: what a change of the manifest means, the operator's word on one that waits, and lines that the log suggests.

mod replay;
mod suggest;

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use similar::TextDiff;

use super::arguments::{ManifestChoice, PolicyCommand};
use super::run::{End, Fault};
use super::setup::{self, Found};
use super::watch::{self, Applied, Mark, Told};
use super::{audit as log, check, trust};
use crate::audit::{Event, Log, Record, StateDir, Sync};
use crate::filter::escape_line;
use crate::gate::hex;
use crate::manifest::Manifest;
use crate::reload::{APPLIED, note_of};
use crate::tools;

/// Runs one of the commands.
pub(super) fn run(command: PolicyCommand, out: &mut dyn Write) -> Result<End, Fault> {
    match command {
        PolicyCommand::Diff { old: Some(old), new: Some(new), json, .. } => two(&old, &new, json, out),
        PolicyCommand::Diff { old, manifest, json, .. } => waiting(old.or(manifest).as_deref(), json, out),
        PolicyCommand::Apply { which, json: true, .. } => {
            let mut report = Map::new();
            let end = apply(which.path(), Form::Json(&mut report), out)?;
            writeln!(out, "{}", Value::Object(report))?;
            Ok(end)
        }
        PolicyCommand::Apply { which, yes, .. } => apply(which.path(), Form::Text { yes }, out),
        PolicyCommand::Suggest { manifest, calls, denied, tighten } => {
            suggest::suggest(manifest.as_deref(), calls, suggest::Wanted { denied, tighten }, out)
        }
    }
}

fn choice(file: Option<&Path>, roots: &[(String, PathBuf)]) -> ManifestChoice {
    ManifestChoice { manifest: file.map(Path::to_owned), profile: None, roots: roots.to_vec() }
}

/// How many recorded calls are judged again.
const REPLAYED: usize = 1000;
/// How long running servers are waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// `toolgate policy diff OLD NEW`
fn two(old: &Path, new: &Path, as_json: bool, out: &mut dyn Write) -> Result<End, Fault> {
    let mut old = setup::find(&choice(Some(old), &[]))?;
    let mut new = setup::find(&choice(Some(new), &[]))?;
    // Two files side by side mean the same folders by the same relative words.
    let base = new.file.as_deref().and_then(Path::parent).unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    old.manifest.resolve_roots(&base).map_err(|faults| setup::Unbuilt::Manifest { file: old.file.clone().unwrap_or_default(), faults })?;
    let state = setup::state_path(&new.manifest, new.file.as_deref())?;
    let looser = if as_json {
        let report = as_object(&mut old, &mut new, &state)?;
        let is_looser = report.get("looser").and_then(Value::as_array).is_some_and(|lines| !lines.is_empty());
        writeln!(out, "{}", Value::Object(report))?;
        is_looser
    } else {
        show(&mut old, &mut new, &state, out)?
    };
    Ok(if looser { End::Negative } else { End::Done })
}

/// `toolgate policy diff`: of what waits.
fn waiting(file: Option<&Path>, as_json: bool, out: &mut dyn Write) -> Result<End, Fault> {
    let mut new = setup::find(&choice(file, &[]))?;
    let state = setup::state_path(&new.manifest, new.file.as_deref())?;
    let Some(told) = told(&new, &state).into_iter().next() else {
        if as_json {
            writeln!(out, "{}", json!({"waits": false}))?;
        } else {
            writeln!(out, "nothing waits: every running server has this manifest in force, or none runs")?;
        }
        return Ok(End::Done);
    };
    let mut old = before(&told)?;
    if as_json {
        writeln!(out, "{}", Value::Object(as_object(&mut old, &mut new, &state)?))?;
        return Ok(End::Negative);
    }
    show(&mut old, &mut new, &state, out)?;
    writeln!(out, "\n`toolgate policy apply` puts it in force")?;
    Ok(End::Negative)
}

fn told(new: &Found, state: &Path) -> Vec<Told> {
    watch::waiting(state).into_iter().filter(|told| Some(told.manifest.as_path()) == new.file.as_deref()).collect()
}

fn before(told: &Told) -> Result<Found, Fault> {
    Ok(setup::read(&told.manifest, told.before.clone(), &told.roots)?)
}

/// Shows what a change means. Whether anything is looser.
fn show(old: &mut Found, new: &mut Found, state: &Path, out: &mut dyn Write) -> Result<bool, Fault> {
    let looser = old.manifest.loosened_by(&new.manifest);
    let tighter = new.manifest.loosened_by(&old.manifest);
    let both: Vec<&str> = looser.iter().filter_map(|line| line.split_once(": ")).map(|(key, _)| key).collect();
    for (title, lines) in [("looser", &looser), ("tighter", &tighter)] {
        // What differs without an order is told once.
        let lines: Vec<&String> =
            lines.iter().filter(|line| title == "looser" || line.split_once(": ").is_none_or(|(key, _)| !both.contains(&key))).collect();
        if !lines.is_empty() {
            writeln!(out, "{title}:")?;
        }
        for line in lines {
            // From the other side "is raised" reads as what was taken away.
            let line = if title == "tighter" { line.split_once(": ").map_or(line.as_str(), |(key, _)| key) } else { line.as_str() };
            writeln!(out, "  {}", escape_line(line))?;
        }
    }
    if looser.is_empty() && tighter.is_empty() {
        writeln!(out, "no difference in what is allowed")?;
    }
    let text = TextDiff::from_lines(&old.text, &new.text);
    let lines = text.unified_diff().context_radius(1).to_string();
    if !lines.is_empty() {
        writeln!(out)?;
    }
    for line in lines.lines().take(MOST_LINES) {
        writeln!(out, "  {}", escape_line(line))?;
    }
    let changed = replay::changed(old, new, state, REPLAYED)?;
    let (judged, lost) = (changed.judged, changed.lost());
    let of = if lost == 0 {
        format!("of the last {judged} recorded call(s)")
    } else {
        format!("of the last {} recorded call(s) {lost} cannot be judged again; of the other {judged},", judged + lost)
    };
    writeln!(out, "\n{of} {} would come out otherwise", changed.count())?;
    for line in changed.lines().take(MOST_LINES).chain(changed.not_judged()) {
        writeln!(out, "  {line}")?;
    }
    Ok(!looser.is_empty())
}

/// What a change means, as scripts read it.
fn as_object(old: &mut Found, new: &mut Found, state: &Path) -> Result<Map<String, Value>, Fault> {
    let looser = old.manifest.loosened_by(&new.manifest);
    let tighter = new.manifest.loosened_by(&old.manifest);
    let changed = replay::changed(old, new, state, REPLAYED)?;
    let lines = |lines: &mut dyn Iterator<Item = String>| lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    Ok(Map::from_iter([
        ("looser".to_owned(), json!(looser)),
        ("tighter".to_owned(), json!(tighter)),
        ("judged".to_owned(), json!(changed.judged)),
        ("differ".to_owned(), json!(changed.count())),
        ("changes".to_owned(), json!(lines(&mut changed.lines()))),
        ("not_judged".to_owned(), json!(lines(&mut changed.not_judged()))),
    ]))
}

/// Lines of a difference that are shown.
const MOST_LINES: usize = 60;

/// How `apply` tells what it does.
enum Form<'r> {
    /// In words, and by a question where `yes` is not set.
    Text { yes: bool },
    /// As members of an object; nothing is asked.
    Json(&'r mut Map<String, Value>),
}

/// `toolgate policy apply`
fn apply(file: Option<&Path>, mut form: Form<'_>, out: &mut dyn Write) -> Result<End, Fault> {
    let path = setup::manifest_path(file)?.ok_or_else(|| Fault::Use("there is no manifest; the built-in one never changes".to_owned()))?;
    let mark = Mark::of(&path);
    let mut new = setup::find(&choice(Some(&path), &[]))?;
    let faults = check::failed_tests(tools::all(), &new.manifest);
    if !faults.is_empty() {
        return Err(setup::Unbuilt::Manifest { file: path, faults }.into());
    }
    let state = setup::state_path(&new.manifest, new.file.as_deref())?;
    let digest = hex(&new.manifest.sha256);
    let waits = |told: &[Told]| told.iter().any(|told| told.sha256 == digest);
    // A server that nobody calls looks once a second.
    let found = until(|| Some(told(&new, &state)).filter(|told| told.is_empty() || waits(told)));
    if let Form::Json(report) = &mut form {
        report.extend([("manifest".to_owned(), json!(path)), ("sha256".to_owned(), json!(digest))]);
    }
    let Some(first) = found.iter().flatten().find(|told| told.sha256 == digest) else {
        if let Form::Json(report) = form {
            report.extend(["waits", "applied", "in_force"].map(|name| (name.to_owned(), json!(false))));
            return Ok(End::Done);
        }
        writeln!(
            out,
            "nothing waits: no running server has a looser {} before it; a start takes the file as it is, where it is named or trusted",
            path.display()
        )?;
        return Ok(End::Done);
    };
    match &mut form {
        Form::Json(report) => {
            report.insert("waits".to_owned(), json!(true));
            report.extend(as_object(&mut before(first)?, &mut new, &state)?);
        }
        Form::Text { .. } => drop(show(&mut before(first)?, &mut new, &state, out)?),
    }
    if let Form::Text { yes: false } = form {
        write!(out, "\nput it in force? [y/N] ")?;
        out.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            writeln!(out, "nothing was applied")?;
            return Ok(End::Negative);
        }
    }
    let (Some(mark), Some(canonical)) = (mark.filter(|mark| Mark::of(&path) == Some(*mark)), new.file.clone()) else {
        return Err(Fault::Use("the manifest changed while you looked at it; nothing was applied".to_owned()));
    };
    record(&state, &new, &first.looser)?;
    watch::put(&state.join(APPLIED).join(note_of(&canonical)), &Applied { sha256: digest.clone(), mark })?;
    // The operator has seen it: a later start may serve by it as well.
    trust::keep(&canonical, &new.text)?;
    let left = until(|| Some(told(&new, &state)).filter(|told| !waits(told)));
    match (form, left) {
        (Form::Json(report), left) => {
            report.extend([("applied".to_owned(), json!(true)), ("in_force".to_owned(), json!(left.is_some()))]);
        }
        (Form::Text { .. }, Some(_)) => writeln!(out, "in force")?,
        (Form::Text { .. }, None) => writeln!(out, "applied; a server that has not taken it yet does so with its next call")?,
    }
    Ok(End::Done)
}

/// Asks again until there is an answer or the time is over.
fn until<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        let answer = ask();
        if answer.is_some() || begun.elapsed() > PATIENCE {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The operator's word is in the log before it holds.
fn record(state: &Path, new: &Found, looser: &[String]) -> Result<(), Fault> {
    let folder = StateDir::open(state).map_err(|fault| Fault::Use(fault.to_string()))?;
    let log = Log::open(folder.path(), new.manifest.audit.clone(), Arc::new(Timestamp::now)).map_err(log::Failed::from)?;
    let digest = hex(&new.manifest.sha256);
    let mut record = Record::new(Event::ManifestLoosened);
    record.manifest_sha256 = Some(&digest);
    record.extra.insert("by".to_owned(), json!(format!("uid {}", rustix::process::getuid().as_raw())));
    record.extra.insert("looser".to_owned(), json!(looser));
    log.append(&record, Sync::Durable).map_err(log::Failed::from)?;
    log.close().map_err(log::Failed::from)?;
    Ok(())
}

/// A manifest as the judge takes it, and its roots on this machine where they can be opened.
fn opened(found: &mut Found) -> (Arc<Manifest>, Option<crate::sandbox::root::Roots>) {
    let guarded = crate::cli::guarded::guarded(found.file.as_deref(), &found.manifest);
    let roots = setup::places(found).ok().and_then(|places| crate::sandbox::root::Roots::open(&places, &guarded, None).ok());
    (Arc::new(found.manifest.clone()), roots)
}
