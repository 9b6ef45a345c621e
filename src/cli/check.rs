//! `toolgate check`: every fault of a manifest with its line, and the manifest's own tests.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::lookup::By;
use super::run::{self, End, Globals, Report};
use super::setup::{self, Found};
use super::simulate::decide_request;
use super::trust::{self, Standing};
use super::{environment, layout, lookup, text_file, watch};
use crate::manifest::{Fault, Manifest};
use crate::model::Level;

/// Validate a manifest: report every fault with its place, and run its test cases.
#[derive(Debug, Args)]
pub struct Check {
    /// The same as `--manifest`.
    file: Option<PathBuf>,
    /// Check the rules only: folders, keys and interpreter need not exist on this machine.
    #[arg(long)]
    policy_only: bool,
}

pub(super) fn run(arguments: &Check, globals: &Globals, out: &mut dyn Write) -> Result<Report, run::Fault> {
    let Some(lookup::Manifest { path, by }) = lookup::manifest(arguments.file.as_deref().or(globals.manifest.as_deref()))? else {
        let text = "there is no manifest; the built-in one holds: a scratch folder for each session, nothing else\n".to_owned();
        return Ok(Report { json: json!({"valid": true, "manifest": null, "faults": [], "warnings": []}), text, end: End::Done });
    };
    let name = path.display().to_string();
    let (faults, why, text) = match held(&path, arguments.policy_only) {
        Ok((found, unready)) => {
            let report = valid(&path, &found, by, unready, arguments.policy_only)?;
            let may_ask = !globals.json && !globals.quiet && io::stdin().is_terminal() && io::stdout().is_terminal();
            if report.end == End::Negative && may_ask {
                writeln!(out, "{}", report.text)?;
                return trust::offer(&found, false, globals, out);
            }
            return Ok(report);
        }
        // A file that cannot be read was not checked.
        Err(fault @ run::Fault::Use(_)) if text_file::read(&path).is_err() => return Err(fault),
        Err(run::Fault::Manifest { faults, .. }) => {
            let text = format!("{}{} fault(s); ", pretty(&name, &text_file::read(&path)?, &faults), faults.len());
            (rows(&faults), None, text)
        }
        // What the machine says no with is a no to the manifest; in the words of a start.
        Err(fault) => (json!([]), Some(fault.to_string()), format!("{name}: {fault}\n")),
    };
    let json = json!({"valid": false, "manifest": name, "faults": faults, "why": why});
    Ok(Report { json, text: text + "nothing is served by this manifest\n", end: End::Negative })
}

/// Faults or warnings for scripts.
fn rows(faults: &[Fault]) -> Value {
    let row = |fault: &Fault| json!({"line": fault.location.map(|at| at.line), "column": fault.location.map(|at| at.column), "message": fault.to_string()});
    faults.iter().map(row).collect()
}

/// The report on a valid manifest: negative where it waits for its user's trust.
fn valid(path: &Path, found: &Found, by: By, unready: Option<String>, policy_only: bool) -> Result<Report, run::Fault> {
    let (name, manifest) = (path.display().to_string(), &found.manifest);
    let (roots, profiles, tests) = (manifest.roots.len(), manifest.profiles.len(), manifest.tests.len());
    let warnings = manifest.warnings();
    let standing = found.file.as_deref().map_or(Standing::Never, |file| trust::standing(file, &manifest.sha256));
    let json = json!({
        "valid": true, "manifest": name, "faults": [], "warnings": rows(&warnings), "roots": roots, "profiles": profiles, "tests": tests,
        "run_python_refused": unready, "trusted": standing == Standing::Trusted, "changed_since_trusted": standing == Standing::Changed
    });
    let mut text = String::new();
    for warning in warnings {
        let _ = write!(text, "warning: {}", pretty(&name, &text_file::read(path)?, &[warning]));
    }
    let named = (by != By::Place).then_some(path);
    let missing_trust = standing.missing_trust(named).filter(|_| !policy_only && waits(standing, found, by));
    let end = End::of(missing_trust.is_none());
    let unseen = if policy_only { "; folders and files of this machine were not looked at" } else { "" };
    let tests = if tests > 0 { format!(", {tests} test(s) hold") } else { String::new() };
    let result = missing_trust.unwrap_or_else(|| format!("valid; {roots} root(s), {profiles} profile(s){tests}{unseen}"));
    let _ = writeln!(text, "{name}: {result}");
    if let Some(why) = unready {
        let _ = writeln!(text, "run_python is refused until then: {why}");
    }
    Ok(Report { json, text, end })
}

/// Whether a valid manifest waits for its user's trust: to serve at all where it was found by place, and for a change of it to count where others
/// can write it.
fn waits(standing: Standing, found: &Found, by: By) -> bool {
    let is_bound = || found.file.as_deref().is_some_and(|file| watch::is_bound(file, by, &found.manifest));
    by == By::Place || standing == Standing::Changed && is_bound()
}

/// A manifest that may be served, and why its programs may not run yet.
fn held(path: &Path, policy_only: bool) -> Result<(Found, Option<String>), run::Fault> {
    let mut found = setup::find(Some(path), &[])?;
    if policy_only {
        setup::checked_policy(&found)?;
        return Ok((found, None));
    }
    let state = found.state()?;
    setup::checked_places(&mut found, &state)?;
    let unready = environment::find(&found.manifest, found.file.as_deref(), &state).1;
    Ok((found, unready))
}

/// Judges the manifest's own tests in the worlds they describe; gives a fault for each that does not hold.
pub fn failed_tests(manifest: &Manifest) -> Vec<Fault> {
    if manifest.tests.is_empty() {
        return Vec::new();
    }
    let manifest = Arc::new(manifest.clone());
    let mut failed = Vec::new();
    for (index, test) in manifest.tests.iter().enumerate() {
        let request = json!({"profile": test.profile, "tool": test.call.tool, "args": test.call.args});
        let decided = decide_request(&manifest, &request, &test.state, None);
        let verdict = &decided.verdict;
        let (code, message) = (verdict.code.as_str(), &verdict.message);
        let as_expected = test.expect == verdict.decision
            && test.reason.as_deref().is_none_or(|reason| reason == code)
            && test.level.is_none_or(|wanted| verdict.level == Some(wanted));
        let name = test.name.clone().unwrap_or_else(|| format!("{} {}", test.call.tool, Value::Object(test.call.args.clone())));
        if !as_expected {
            let shown = |decision: &str, code: Option<&str>, level: Option<Level>| {
                let code = code.map(|code| format!(" {code}")).unwrap_or_default();
                format!("{decision}{code}{}", level.map(|level| format!(" at level {}", u8::from(level))).unwrap_or_default())
            };
            let expected = shown(test.expect.as_str(), test.reason.as_deref(), test.level);
            let found = shown(verdict.decision.as_str(), Some(code), verdict.level.filter(|_| test.level.is_some()));
            let what = format!("({name}): expected {expected}, found {found}: {message}");
            failed.push(manifest.fault(&format!("test[{index}].expect"), what));
        } else if !decided.is_planned() && test.reason.is_none() {
            // A slip of the pen in the arguments is denied as well, and says nothing about the rules that the test is for.
            let what = format!(
                "({name}): no rule was asked, for the call itself is refused: {message}; correct it, or write `reason = \"{code}\"`"
            );
            failed.push(manifest.fault(&format!("test[{index}].call.args"), what));
        }
    }
    failed
}

/// The faults of a manifest as a person reads them: place, what is wrong, the line with the spot underlined.
pub fn pretty(file: &str, text: &str, faults: &[Fault]) -> String {
    let mut out = String::new();
    for fault in faults {
        let _ = writeln!(out, "{file}:{fault}");
        let Some(place) = fault.location else { continue };
        let Some(line) = text.lines().nth(place.line.saturating_sub(1)) else { continue };
        let gutter = " ".repeat(place.line.to_string().len());
        let marked = layout::underlined(place.line, line, place.column.saturating_sub(1), fault.width, str::to_owned);
        let _ = write!(out, "{gutter} |\n{marked}");
    }
    out
}
