//! `toolgate lint`: the static check of Python alone, over readers and writers.

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};

use clap::Args;
use serde::Deserialize;
use toolgate_pycheck::{self as python, Check, Imports, Report, Rules, Severity, Verdict};

use super::jsonl::{self, Input, reader};
use super::layout::{Colour, underlined};
use super::run::{self, End, Fault, Globals};
use super::setup;
use crate::filter::{escape, escape_line};
use crate::policy::program;

/// Check a Python program without running it.
#[derive(Debug, Args)]
pub struct Lint {
    #[command(flatten)]
    input: Input,
    /// Allowed imports instead of the manifest's: `a,b,c`, or `*` for any.
    #[arg(long, value_name = "LIST")]
    imports: Option<String>,
}

pub(super) fn run(arguments: &Lint, globals: &Globals, out: &mut dyn Write) -> Result<run::Report, Fault> {
    let mut rules = match &globals.manifest {
        Some(file) => program::rules(&setup::find(Some(file), &[])?.manifest.python),
        // Nothing may be imported.
        None => Rules { check: Check::Strict, ..Rules::default() },
    };
    if let Some(imports) = &arguments.imports {
        rules.imports = parse_imports(imports);
    }
    if let Some(lines) = &arguments.input.jsonl {
        return Ok(End::of(lint_jsonl(reader(lines)?, out, &rules)? == 0).into());
    }
    let (name, bytes) = arguments.input.whole()?;
    let report = python::check(&bytes, &rules);
    let text = pretty(&report, &name, Colour::of_stdout());
    Ok(run::Report { json: serde_json::to_value(&report).unwrap_or_default(), text, end: End::of(report.verdict != Verdict::Deny) })
}

/// Reads `--imports`: names with commas between them, or `*` for all.
pub fn parse_imports(text: &str) -> Imports {
    Imports::listed(text.split(',').map(str::trim).filter(|name| !name.is_empty()))
}

/// Judges one program per line: `{"id","code"}` becomes `{"id","verdict","findings":[{"rule","line","column","message","hint"}]}`.
///
/// A line that is no such object is answered with `{"id","error"}` (the `id` where there is one) and the next is read.
/// Gives the number of lines that are no case or were refused.
///
/// # Errors
/// What reading or writing fails with.
pub fn lint_jsonl(input: impl BufRead, output: impl Write, rules: &Rules) -> io::Result<usize> {
    let mut denied = 0;
    let faulty = jsonl::each(input, output, "{\"id\",\"code\"}", |case: Case| {
        let report = python::check(case.code.as_bytes(), rules);
        denied += usize::from(report.verdict == Verdict::Deny);
        Ok(report)
    })?;
    Ok(denied + faulty)
}

#[derive(Deserialize)]
struct Case {
    code: String,
}

/// The report for a person: each finding with its line underlined.
///
/// The program is untrusted text: control, bidi and other invisible characters of it are shown as `\u{…}`, so that it cannot steer the terminal.
fn pretty(report: &Report, file: &str, colour: Colour) -> String {
    let file = escape_line(file);
    let mut out = String::new();
    for finding in &report.findings {
        let (word, code) = match finding.severity {
            Severity::Deny => ("refused", "1;31"),
            Severity::Warn => ("warning", "1;33"),
        };
        // The snippet may begin inside the line; then it was cut 80 code points before the finding.
        let before = (finding.column as usize).saturating_sub(1);
        let skipped = if before < 200 { 0 } else { before.saturating_sub(80) };
        let paint = |text: &str| colour.paint(code, text);
        let gutter = " ".repeat(finding.line.to_string().len());
        let place = format!("{gutter}--> {file}:{}:{}", finding.line, finding.column);
        let _ = writeln!(out, "{}: {} [{}]\n{place}", paint(word), escape(&finding.message), finding.rule);
        out += &underlined(finding.line as usize, &finding.source_line, before - skipped, finding.length as usize, paint);
        let _ = writeln!(out, "{gutter} = {}\n", escape(&finding.hint));
    }
    let denied = report.findings.iter().filter(|finding| finding.severity == Severity::Deny).count();
    let end = match report.verdict {
        Verdict::Allow => "allowed".to_owned(),
        Verdict::Warn => format!("allowed, {} to look at", report.findings.len() - denied),
        Verdict::Deny => format!("refused, {denied} to mend"),
    };
    out + &format!("{file}: {end}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &str, rules: &Rules) -> (Vec<serde_json::Value>, usize) {
        let mut output = Vec::new();
        let unclean = lint_jsonl(input.as_bytes(), &mut output, rules).unwrap();
        (String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect(), unclean)
    }

    #[test]
    fn every_line_gets_one_answer_and_a_bad_one_does_not_stop_the_rest() {
        let input = "{\"id\":1,\"code\":\"import os\\n\"}\nno json\n\n{\"id\":\"b\"}\n{\"id\":\"c\",\"code\":\"print(1)\"}";
        let (answers, unclean) = answers(input, &Rules::default());
        assert_eq!(unclean, 3);
        assert_eq!(answers[0]["id"], 1);
        assert_eq!(answers[0]["verdict"], "deny");
        let finding = &answers[0]["findings"][0];
        assert_eq!((&finding["rule"], &finding["line"], &finding["column"]), (&"import".into(), &1.into(), &8.into()));
        assert!(finding["message"].is_string() && finding["hint"].is_string());
        assert!(answers[1]["id"].is_null() && answers[1]["error"].is_string());
        assert!(answers[2]["id"] == "b" && answers[2]["error"].is_string());
        assert_eq!(answers[3], serde_json::json!({"id": "c", "verdict": "allow", "findings": []}));
    }

    #[test]
    fn imports_are_a_list_or_a_star() {
        assert_eq!(parse_imports("json, math,,"), Imports::listed(["json", "math"]));
        assert_eq!(parse_imports("*"), Imports::All);
        assert_eq!(parse_imports(""), Imports::listed([""; 0]));
    }

    #[test]
    fn the_snippet_is_underlined_where_the_finding_is() {
        let report = python::check(b"x = 1\ny = (eval)(\"1\")\n", &Rules::default());
        let shown = pretty(&report, "a.py", Colour(false));
        assert!(shown.contains("2 | y = (eval)(\"1\")\n  |      ^^^^\n"), "{shown}");
        assert!(shown.ends_with("a.py: refused, 1 to mend\n"));
    }

    #[test]
    fn a_program_cannot_steer_the_terminal() {
        let source = "s = '\x1b]0;owned\x07\u{202e}\u{e0041}\u{9b}'; eval(s)\n";
        let shown = pretty(&python::check(source.as_bytes(), &Rules::default()), "a\x1b[2J.py", Colour(false));
        assert!(shown.chars().all(|c| c == '\n' || !crate::audit::is_hidden(c)), "{shown}");
        assert!(shown.contains("\\u{1b}]0;owned\\u{7}\\u{202e}"));
    }
}
