//! What this machine can enforce, backend by backend and layer by layer, proven by running a program in each.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;

use super::run::{self, End, Fault, Globals};
use super::setup;
use crate::manifest::{Check, Manifest, Python};
use crate::policy::program;
use crate::sandbox::files;
use crate::sandbox::programs::{BACKENDS, CONTAINER, Interpreter, Layer, Layers, Probe, Settings, probe_container, too_few_files};

/// The report of `toolgate doctor`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The interpreter that programs would run in, or why there is none.
    pub interpreter: String,
    /// Why no program may run in it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packages: Option<String>,
    /// Why a server that is started as this was cannot run programs, whatever the machine holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub few_files: Option<String>,
    /// The backend that the server would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Every backend, strongest first.
    pub backends: Vec<Line>,
    /// What holds the quotas of session roots.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<QuotaLine>,
    /// Why `check = "imports"` acts as `strict` here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imports_act_as_strict: Option<String>,
}

/// One quota of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuotaLine {
    /// The root.
    pub root: String,
    /// `wall` or `measured`, and what that means.
    pub held: String,
}

/// What holds the quotas of a manifest's session roots in this state folder.
pub fn quotas(manifest: &Manifest, state: &Path) -> Vec<QuotaLine> {
    let bounded = manifest.roots.iter().filter_map(|(name, root)| Some((name, root.quota?.bytes?)));
    bounded
        .map(|(name, quota)| {
            let held = match files::disk_of_sessions(state) {
                Some(disk) if disk <= quota => format!("wall: the disk of the sessions holds {disk} at most"),
                _ => format!(
                    "measured: a program that exceeds {quota} is ended, but can exceed it for a moment. For a hard limit, mount a tmpfs of at most {quota} at `sessions` in the state folder, or set a project quota there"
                ),
            };
            QuotaLine { root: name.clone(), held }
        })
        .collect()
}

/// One backend of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// What it can hold.
    #[serde(flatten)]
    pub probe: Probe,
}

/// `toolgate doctor`
pub(super) fn run(globals: &Globals) -> Result<run::Report, Fault> {
    let found = match setup::find_trusted(globals.manifest.as_deref(), &[]) {
        Err(Fault::Refused(why) | Fault::Untrusted(why)) => {
            // Its interpreter is not started, and the machine can be told about without it.
            writeln!(io::stderr(), "toolgate: this report is about the built-in manifest: {why}")?;
            setup::Found::builtin()
        }
        found => found?,
    };
    let state = found.state().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut report = runtime.block_on(examine(&setup::jail(&found, &state)));
    report.quotas = quotas(&found.manifest, &state);
    report.imports_act_as_strict = report.lacking_wall(&found.manifest.python);
    let json = serde_json::to_value(&report).map_err(io::Error::other)?;
    Ok(run::Report { json, text: report.text(), end: End::of(report.is_whole()) })
}

/// Tries every backend.
pub async fn examine(settings: &Settings) -> Report {
    let mut report = Report { packages: settings.unready.clone(), few_files: too_few_files(), ..Report::default() };
    // Asked anew: what is remembered may be what is to be found out about.
    match Interpreter::detect(&settings.interpreter).await {
        Ok(interpreter) => {
            report.interpreter = format!("{} ({})", interpreter.argv0, interpreter.version);
            let mut best = None;
            for listed in BACKENDS {
                let probe = listed.probe(&settings.client, &interpreter).await;
                // As the server chooses: the first of those that hold most.
                let may_be_chosen = probe.usable && (settings.backend == "auto" || settings.backend == listed.name);
                if may_be_chosen && best.is_none_or(|best| best < probe.strength()) {
                    best = Some(probe.strength());
                    report.chosen = Some(listed.name.to_owned());
                }
                report.backends.push(Line { name: listed.name.to_owned(), probe });
            }
        }
        Err(no_run) => report.interpreter = no_run.to_string(),
    }
    let probe = match settings.container.clone() {
        Some(container) => probe_container(container).await,
        None => Probe {
            usable: false,
            layers: Layers::new(),
            why_not: Some("there is no `[python.container]` with an engine and an image".to_owned()),
        },
    };
    if settings.backend == CONTAINER {
        report.interpreter = settings.container.as_ref().map(|of| format!("python3 of the image `{}`", of.image)).unwrap_or_default();
        report.chosen = probe.usable.then(|| CONTAINER.to_owned());
    }
    report.backends.push(Line { name: CONTAINER.to_owned(), probe });
    report
}

impl Report {
    /// The wall for want of which `check = "imports"` acts as `strict`: what the chosen backend lacks and the manifest does not require.
    pub fn lacking_wall(&self, python: &Python) -> Option<String> {
        if python.check != Check::Imports || program::requires_walls(python) {
            return None;
        }
        let chosen = self.backends.iter().find(|line| Some(&line.name) == self.chosen.as_ref())?;
        program::lacking_wall(|wall| chosen.probe.layers.get(wall).map(String::as_str))
    }

    /// Whether some backend holds every layer that a manifest can require.
    pub fn is_whole(&self) -> bool {
        let has_layers = |line: &Line| {
            line.probe.usable && Layer::ALL.iter().all(|layer| line.probe.layers.get(layer.as_str()).is_some_and(|state| state == "on"))
        };
        self.packages.is_none() && self.few_files.is_none() && self.backends.iter().any(has_layers)
    }

    /// The report for a person.
    pub fn text(&self) -> String {
        let mut text = format!("Python: {}\n", self.interpreter);
        for (about, why) in [("packages: not usable", &self.packages), ("open files", &self.few_files)] {
            text += &why.as_ref().map(|why| format!("{about}: {why}\n")).unwrap_or_default();
        }
        for Line { name, probe } in &self.backends {
            let state = match &probe.why_not {
                Some(why) => format!("not usable: {why}"),
                None if self.chosen.as_ref() == Some(name) => "usable, chosen".to_owned(),
                None => "usable".to_owned(),
            };
            let _ = writeln!(text, "\n{name}: {state}");
            text.extend(probe.layers.iter().map(|(layer, state)| format!("  {layer:<18} {state}\n")));
        }
        let strict = self.imports_act_as_strict.as_ref().map(|why| format!("\n`check = \"imports\"` acts as `strict`: {why}\n"));
        text += &strict.unwrap_or_default();
        text.extend(self.quotas.iter().map(|line| format!("\nquota of `{}`: {}\n", line.root, line.held)));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, usable: bool, off: Option<Layer>) -> Line {
        let state = |layer: Layer| if off == Some(layer) { "no /proc".to_owned() } else { "on".to_owned() };
        let layers = Layer::ALL.iter().map(|layer| (layer.as_str().to_owned(), state(*layer))).collect();
        Line { name: name.to_owned(), probe: Probe { usable, layers, why_not: (!usable).then(|| "no user namespace".to_owned()) } }
    }

    #[test]
    fn a_machine_is_whole_only_with_every_layer_in_one_backend() {
        let report = |backends| Report { backends, ..Report::default() };
        assert!(report(vec![line("a", true, None)]).is_whole());
        assert!(!report(vec![line("a", true, Some(Layer::Memory)), line("b", false, None)]).is_whole());
    }

    #[test]
    fn a_quota_is_a_wall_where_the_disk_of_the_sessions_is_no_larger() {
        let state = tempfile::tempdir().unwrap();
        let held = |bytes: u64| {
            let text = format!("version = 1\n[roots.scratch]\npath = \"session\"\nmode = \"rw\"\nquota = {{ bytes = \"{bytes}\" }}\n");
            let manifest = crate::manifest::parse(&text, crate::tools::specs()).unwrap();
            let [line] = quotas(&manifest, state.path()).try_into().unwrap();
            line.held
        };
        assert!(held(4096).starts_with("measured: "));
        let disk = files::disk_of_sessions(state.path()).unwrap();
        assert!(held(disk.0).starts_with("wall: ") && held(disk.0 - 1).starts_with("measured: "));
    }

    #[test]
    fn a_person_reads_what_is_missing_and_why() {
        let report = Report {
            interpreter: "/usr/bin/python3 (3.11.2)".to_owned(),
            packages: None,
            few_files: None,
            chosen: Some("b".to_owned()),
            backends: vec![line("a", false, None), line("b", true, Some(Layer::Memory))],
            quotas: vec![QuotaLine { root: "scratch".to_owned(), held: "measured: it".to_owned() }],
            imports_act_as_strict: Some("the wall `network` is not proven: off".to_owned()),
        };
        let text = report.text();
        assert!(
            text.contains("a: not usable: no user namespace")
                && text.contains("b: usable, chosen")
                && text.contains("no /proc")
                && text.contains("quota of `scratch`: measured: it\n")
                && text.contains("`check = \"imports\"` acts as `strict`: the wall `network` is not proven: off\n"),
            "{text}"
        );
    }
}
