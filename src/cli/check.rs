//! `toolgate check`: every fault of a manifest with its line, and the manifest's own tests.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::simulate::decide_request;
use crate::manifest::{Fault, Manifest};
use crate::model::Level;
use crate::tool::Tool;

/// Judges the manifest's own tests in the worlds they describe; gives a fault for each that does not hold.
pub fn failed_tests(tools: &[&'static dyn Tool], manifest: &Manifest) -> Vec<Fault> {
    if manifest.tests.is_empty() {
        return Vec::new();
    }
    let manifest = Arc::new(manifest.clone());
    let mut failed = Vec::new();
    for (index, test) in manifest.tests.iter().enumerate() {
        let request = Map::from_iter([
            ("profile".to_owned(), Value::String(test.profile.clone())),
            ("tool".to_owned(), Value::String(test.call.tool.clone())),
            ("args".to_owned(), Value::Object(test.call.args.clone())),
        ]);
        let decided = decide_request(tools, &manifest, &request, &test.state, None);
        let is_planned = decided.is_planned();
        let verdict = decided.verdict;
        let level = verdict.level;
        let as_expected = test.expect == verdict.decision
            && test.reason.as_deref().is_none_or(|reason| reason == verdict.code.as_str())
            && test.level.is_none_or(|wanted| level == Some(wanted));
        let name = test.name.clone().unwrap_or_else(|| format!("{} {}", test.call.tool, Value::Object(test.call.args.clone())));
        if !as_expected {
            let shown = |decision: &str, code: Option<&str>, level: Option<Level>| {
                let code = code.map(|code| format!(" {code}")).unwrap_or_default();
                format!("{decision}{code}{}", level.map(|level| format!(" at level {}", u8::from(level))).unwrap_or_default())
            };
            let expected = shown(test.expect.as_str(), test.reason.as_deref(), test.level);
            let found = shown(verdict.decision.as_str(), Some(verdict.code.as_str()), level.filter(|_| test.level.is_some()));
            let what = format!("({name}): expected {expected}, found {found}: {}", verdict.message);
            failed.push(manifest.fault(&format!("test[{index}].expect"), what));
        } else if !is_planned && test.reason.is_none() {
            // A slip of the pen in the arguments is denied as well, and says nothing about the rules that the test is for.
            let code = verdict.code.as_str();
            let what = format!(
                "({name}): no rule was asked, for the call itself is refused: {}; correct it, or write `reason = \"{code}\"`",
                verdict.message
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
        let number = place.line.to_string();
        // Tabs stay tabs under the line, so that the mark stands where the terminal shows the fault.
        let before: String = line.chars().take(place.column.saturating_sub(1)).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let rest = line.chars().count().saturating_sub(place.column.saturating_sub(1)).max(1);
        let mark = "^".repeat(fault.width.clamp(1, rest));
        let gutter = " ".repeat(number.len());
        let _ = writeln!(out, "{gutter} |\n{number} | {}\n{gutter} | {before}{mark}", crate::filter::escape_line(line));
    }
    out
}
