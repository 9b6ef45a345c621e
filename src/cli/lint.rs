//! `toolgate lint`: the static check of Python alone, over readers and writers.

use std::fmt::Write as _;
use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};
use toolgate_pycheck::{self as python, Imports, MAX_SOURCE, Report, Rules, Severity, Verdict};

use super::jsonl;
pub use super::layout::Colour;

/// What a run over many programs amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Programs that were judged.
    pub programs: usize,
    /// Programs that were refused.
    pub denied: usize,
    /// Lines that are no case; each was answered with an error.
    pub faulty: usize,
}

impl Summary {
    /// Whether every line was judged and nothing was refused: exit code 0, else 1.
    pub fn is_clean(self) -> bool {
        self.denied == 0 && self.faulty == 0
    }
}

/// Reads `--imports`: names with commas between them, or `*` for all.
pub fn parse_imports(text: &str) -> Imports {
    Imports::listed(text.split(',').map(str::trim).filter(|name| !name.is_empty()))
}

/// Judges one program per line: `{"id","code"}` becomes `{"id","verdict","findings":[{"rule","line","column","message","hint"}]}`.
///
/// A line that is no such object is answered with `{"id","error"}` (the `id` where there is one) and the next is read.
/// A line may be at most [`MAX_LINE`] bytes long; the rest of a longer one is skipped.
///
/// # Errors
/// What reading or writing fails with.
pub fn lint_jsonl(input: impl BufRead, output: impl Write, rules: &Rules) -> std::io::Result<Summary> {
    let mut summary = Summary::default();
    let faulty = jsonl::each(input, output, MAX_LINE, "{\"id\",\"code\"}", |case: Case| {
        let report = python::check(case.code.as_bytes(), rules);
        summary.programs += 1;
        summary.denied += usize::from(report.verdict == Verdict::Deny);
        Answer { id: case.id, report }
    })?;
    Ok(Summary { faulty, ..summary })
}

/// The longest line of a JSONL file, in bytes: the largest program with every byte escaped, and room for the rest.
pub const MAX_LINE: u64 = MAX_SOURCE as u64 * 6 + 64 * 1024;

#[derive(Deserialize)]
struct Case {
    #[serde(default)]
    id: serde_json::Value,
    code: String,
}

#[derive(Serialize)]
struct Answer {
    id: serde_json::Value,
    #[serde(flatten)]
    report: Report,
}

/// The report of one file as one JSON object: `{"verdict","findings"}`.
pub fn json(report: &Report) -> serde_json::Value {
    serde_json::to_value(report).unwrap_or_default()
}

/// The report for a person: each finding with its line underlined.
///
/// The program is untrusted text: control, bidi and other invisible characters of it are shown as `\u{…}`, so that it cannot steer the terminal.
pub fn pretty(report: &Report, file: &str, colour: Colour) -> String {
    let file = visible(file);
    let paint = |code: &str, text: &str| colour.paint(code, text);
    let mut out = String::new();
    for finding in &report.findings {
        let (word, code) = match finding.severity {
            Severity::Deny => ("refused", "1;31"),
            Severity::Warn => ("warning", "1;33"),
        };
        // The snippet may begin inside the line; then it was cut 80 code points before the finding.
        let before = (finding.column as usize).saturating_sub(1);
        let skipped = if before < 200 { 0 } else { before.saturating_sub(80) };
        let (shown, start, length) = snippet(&finding.source_line, before - skipped, finding.length as usize);
        let number = finding.line.to_string();
        let gutter = " ".repeat(number.len());
        let _ = writeln!(out, "{}: {} [{}]", paint(code, word), visible(&finding.message), finding.rule);
        let _ = writeln!(out, "{gutter}--> {file}:{}:{}", finding.line, finding.column);
        let _ = writeln!(out, "{number} | {shown}");
        let _ = writeln!(out, "{gutter} | {}{}", " ".repeat(start), paint(code, &"^".repeat(length)));
        let _ = writeln!(out, "{gutter} = {}\n", visible(&finding.hint));
    }
    let denied = report.findings.iter().filter(|finding| finding.severity == Severity::Deny).count();
    let warned = report.findings.len() - denied;
    let _ = match report.verdict {
        Verdict::Allow => writeln!(out, "{file}: allowed"),
        Verdict::Warn => writeln!(out, "{file}: allowed, {warned} to look at"),
        Verdict::Deny => writeln!(out, "{file}: refused, {denied} to mend"),
    };
    out
}

/// A line as it may be printed, and where its marked part begins and how long it is there.
fn snippet(line: &str, before: usize, length: usize) -> (String, usize, usize) {
    let (mut shown, mut start, mut marked, mut width) = (String::new(), 0, 0, 0);
    for (position, c) in line.chars().enumerate() {
        if position == before {
            start = width;
        }
        let from = width;
        if c == '\t' {
            shown.push_str("    ");
            width += 4;
        } else if is_invisible(c) {
            let escaped: String = c.escape_unicode().collect();
            width += escaped.len();
            shown.push_str(&escaped);
        } else {
            shown.push(c);
            width += columns(c);
        }
        if position >= before && position < before.saturating_add(length) {
            marked += width - from;
        }
    }
    if before >= line.chars().count() {
        start = width;
    }
    (shown, start, marked.max(1))
}

/// Terminal columns of a character; close enough for an underline.
fn columns(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x20d0..=0x20ff | 0xfe20..=0xfe2f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

fn visible(text: &str) -> String {
    text.chars().map(|c| if is_invisible(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

/// Control characters (C0, C1), separators, and what changes direction or shows nothing (Unicode categories Cc, Cf, Zl, Zp; tags).
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            0xad | 0x34f | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x8e2 | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f
                | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1_bca0..=0x1_bca3 | 0x1_d173..=0x1_d17a | 0xe_0000..=0xe_0fff
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &str, rules: &Rules) -> (Vec<serde_json::Value>, Summary) {
        let mut output = Vec::new();
        let summary = lint_jsonl(input.as_bytes(), &mut output, rules).unwrap();
        (String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect(), summary)
    }

    #[test]
    fn every_line_gets_one_answer_and_a_bad_one_does_not_stop_the_rest() {
        let input = "{\"id\":1,\"code\":\"import os\\n\"}\nno json\n\n{\"id\":\"b\"}\n{\"id\":\"c\",\"code\":\"print(1)\"}";
        let (answers, summary) = answers(input, &Rules::default());
        assert_eq!(summary, Summary { programs: 2, denied: 1, faulty: 2 });
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
    fn a_line_without_end_is_answered_and_skipped() {
        let input = format!("{{\"id\":1,\"code\":\"{}\"}}\n{{\"id\":2,\"code\":\"\"}}\n", "x".repeat(2_000_000));
        let (answers, summary) = answers(&input, &Rules::default());
        assert_eq!(summary, Summary { programs: 1, denied: 0, faulty: 1 });
        assert_eq!(answers[1]["id"], 2);
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
        let shown = pretty(&report, "a.py", Colour::Off);
        assert!(shown.contains("2 | y = (eval)(\"1\")\n  |      ^^^^\n"), "{shown}");
        assert!(shown.ends_with("a.py: refused, 1 to mend\n"));
    }

    #[test]
    fn a_program_cannot_steer_the_terminal() {
        let source = "s = '\x1b]0;owned\x07\u{202e}\u{e0041}\u{9b}'; eval(s)\n";
        let shown = pretty(&python::check(source.as_bytes(), &Rules::default()), "a\x1b[2J.py", Colour::Off);
        assert!(shown.chars().all(|c| c == '\n' || !is_invisible(c)), "{shown}");
        assert!(shown.contains("\\u{1b}]0;owned\\u{7}\\u{202e}"));
    }
}
