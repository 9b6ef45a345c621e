//! `toolgate check`: every fault of a manifest with its line, and the manifest's own tests.

use std::fmt::{self, Write};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::simulate::judge_request;
use crate::manifest::{Fault, Manifest};
use crate::tool::Tool;

/// A `[[test]]` that came out otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTest {
    /// Its place in the list, from 0.
    pub index: usize,
    /// Its name, or the call.
    pub name: String,
    /// What it expects.
    pub expected: String,
    /// What came out.
    pub found: String,
    /// Why, in the judge's words.
    pub message: String,
}

impl fmt::Display for FailedTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, name, expected, found, message } = self;
        write!(f, "test[{index}] ({name}): expected {expected}, found {found}: {message}")
    }
}

/// Judges the manifest's own tests in the worlds they describe; gives those that failed.
pub fn failed_tests(tools: &[&'static dyn Tool], manifest: &Manifest) -> Vec<FailedTest> {
    if manifest.tests.is_empty() {
        return Vec::new();
    }
    let manifest = Arc::new(manifest.clone());
    let empty = Map::new();
    let mut failed = Vec::new();
    for (index, test) in manifest.tests.iter().enumerate() {
        let request = Map::from_iter([
            ("profile".to_owned(), Value::String(test.profile.clone())),
            ("tool".to_owned(), Value::String(test.tool.clone())),
            ("args".to_owned(), Value::Object(test.args.clone())),
        ]);
        let state = test.state.as_ref().and_then(Value::as_object).unwrap_or(&empty);
        let verdict = judge_request(tools, &manifest, &request, state, None);
        let level = verdict.level.map(|level| u64::from(u8::from(level)));
        let as_expected = test.expect == verdict.decision.as_str()
            && test.reason.as_deref().is_none_or(|reason| reason == verdict.code.as_str())
            && test.level.is_none_or(|wanted| level == Some(wanted));
        if !as_expected {
            let shown = |decision: &str, code: Option<&str>, level: Option<u64>| {
                let code = code.map(|code| format!(" {code}")).unwrap_or_default();
                format!("{decision}{code}{}", level.map(|level| format!(" at level {level}")).unwrap_or_default())
            };
            failed.push(FailedTest {
                index,
                name: test.name.clone().unwrap_or_else(|| format!("{} {}", test.tool, Value::Object(test.args.clone()))),
                expected: shown(&test.expect, test.reason.as_deref(), test.level),
                found: shown(verdict.decision.as_str(), Some(verdict.code.as_str()), level.filter(|_| test.level.is_some())),
                message: verdict.message,
            });
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
