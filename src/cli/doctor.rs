//! What this machine can enforce, backend by backend and layer by layer, proven by running a program in each.

use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;

use crate::sandbox::jail::{BACKENDS, Interpreter, Layer, NoRun, Probe, Settings};

/// The report of `toolgate doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The interpreter that programs would run in, or why there is none.
    pub interpreter: String,
    /// Why no program may run in it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packages: Option<String>,
    /// The backend that the server would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Every backend, strongest first.
    pub backends: Vec<Line>,
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

/// Tries every backend.
pub async fn examine(settings: &Settings) -> Report {
    let name = settings.interpreter.clone();
    let found = tokio::task::spawn_blocking(move || Interpreter::detect(&name)).await;
    let interpreter = match found.map_err(|e| NoRun::Fault(e.to_string())).and_then(|found| found) {
        Ok(interpreter) => Arc::new(interpreter),
        Err(no_run) => {
            return Report { interpreter: no_run.to_string(), packages: settings.unready.clone(), chosen: None, backends: Vec::new() };
        }
    };
    let mut report = Report {
        interpreter: format!("{} ({})", interpreter.argv0, interpreter.version),
        packages: settings.unready.clone(),
        chosen: None,
        backends: Vec::new(),
    };
    let mut best = None;
    for listed in BACKENDS {
        let probe = (listed.make)(settings, &interpreter).probe().await;
        // As the server chooses: the first of those that hold most.
        if probe.usable && listed.is_wanted(&settings.backend) && best.is_none_or(|best| best < probe.strength()) {
            best = Some(probe.strength());
            report.chosen = Some(listed.name.to_owned());
        }
        report.backends.push(Line { name: listed.name.to_owned(), probe });
    }
    report
}

impl Report {
    /// Whether some backend holds every layer that a manifest can require.
    pub fn is_whole(&self) -> bool {
        let has_layers = |line: &Line| {
            line.probe.usable && Layer::ALL.iter().all(|layer| line.probe.layers.get(layer.as_str()).is_some_and(|state| state == "on"))
        };
        self.packages.is_none() && self.backends.iter().any(has_layers)
    }

    /// The report for a person.
    pub fn text(&self) -> String {
        let mut text = format!("Python: {}\n", self.interpreter);
        if let Some(why) = &self.packages {
            let _ = writeln!(text, "packages: not usable: {why}");
        }
        for line in &self.backends {
            let state = match (&line.probe.why_not, self.chosen.as_deref() == Some(line.name.as_str())) {
                (Some(why), _) => format!("not usable: {why}"),
                (None, true) => "usable, chosen".to_owned(),
                (None, false) => "usable".to_owned(),
            };
            let _ = writeln!(text, "\n{}: {state}", line.name);
            for (layer, state) in &line.probe.layers {
                let _ = writeln!(text, "  {layer:<18} {state}");
            }
        }
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
        let report = |backends| Report { interpreter: String::new(), packages: None, chosen: None, backends };
        assert!(report(vec![line("a", true, None)]).is_whole());
        assert!(!report(vec![line("a", true, Some(Layer::Memory)), line("b", false, None)]).is_whole());
    }

    #[test]
    fn a_person_reads_what_is_missing_and_why() {
        let report = Report {
            interpreter: "/usr/bin/python3 (3.11.2)".to_owned(),
            packages: None,
            chosen: Some("b".to_owned()),
            backends: vec![line("a", false, None), line("b", true, Some(Layer::Memory))],
        };
        let text = report.text();
        assert!(
            text.contains("a: not usable: no user namespace") && text.contains("b: usable, chosen") && text.contains("no /proc"),
            "{text}"
        );
    }
}
