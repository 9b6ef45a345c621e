//! What the check answers: a verdict and its findings.

use serde::Serialize;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The program may run; the finding is shown in approvals and recorded.
    Warn,
    /// The program must not run.
    Deny,
}

/// Why a finding refuses or warns, for programs that read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The text is no Python, or not of the target's version.
    SyntaxError,
    /// A module that the rules do not list.
    ImportNotAllowed,
    /// A name, an attribute or a construct that the rules refuse.
    CodeForbidden,
}

impl Reason {
    /// The word of a report.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SyntaxError => "syntax_error",
            Self::ImportNotAllowed => "import_not_allowed",
            Self::CodeForbidden => "code_forbidden",
        }
    }
}

/// The answer to one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing was found.
    Allow,
    /// Only warnings were found.
    Warn,
    /// At least one finding refuses the program.
    Deny,
}

/// One place in the program and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that decided, e.g. `import` or `attribute.dunder`. Names are promises.
    pub rule: &'static str,
    /// Whether it refuses or warns.
    pub severity: Severity,
    /// The kind of the reason.
    pub reason: Reason,
    /// Line in [`Report::source`], from 1.
    pub line: u32,
    /// Column in code points, from 1.
    pub column: u32,
    /// How many code points of that line the finding covers, at least 1.
    pub length: u32,
    /// The source line, at most 200 code points of it around the finding. Untrusted text: escape it before it is shown.
    pub source_line: String,
    /// What was wrong and why.
    pub message: String,
    /// What to write instead.
    pub hint: String,
    /// The module that the import allowlist lacks, where that is all.
    pub module: Option<String>,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The strictest of the findings.
    pub verdict: Verdict,
    /// At most [`MAX_FINDINGS`], sorted by position.
    pub findings: Vec<Finding>,
    /// The text that was judged: UTF-8, no byte order mark, `\n` line ends. Exactly this must run, compiled from a `str`,
    /// or the verdict says nothing. Empty where the bytes are no text.
    pub source: String,
}

/// The most findings in one report; refusals go before warnings when there are more.
pub const MAX_FINDINGS: usize = 20;

impl Report {
    /// The finding that names the reason of a refusal: the first one that refuses.
    pub fn refusal(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.severity == Severity::Deny)
    }
}

/// A finding before its position is worked out.
#[derive(Debug, Clone)]
pub(super) struct Raw {
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    pub(super) reason: Reason,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) message: String,
    pub(super) hint: String,
    pub(super) module: Option<String>,
}

/// Sorts, caps and places the findings.
pub(super) fn finish(source: String, mut raw: Vec<Raw>) -> Report {
    raw.sort_by(|a, b| (a.start, a.end, a.rule, &a.message).cmp(&(b.start, b.end, b.rule, &b.message)));
    raw.dedup_by(|a, b| a.start == b.start && a.end == b.end && a.rule == b.rule);
    if raw.len() > MAX_FINDINGS {
        // Stable: keeps the order of positions inside each severity.
        raw.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        raw.truncate(MAX_FINDINGS);
        raw.sort_by_key(|finding| (finding.start, finding.end));
    }
    let verdict = match raw.iter().map(|finding| finding.severity).max() {
        None => Verdict::Allow,
        Some(Severity::Warn) => Verdict::Warn,
        Some(Severity::Deny) => Verdict::Deny,
    };
    let mut place = Place { source: &source, line: 1, line_start: 0 };
    let findings = raw.into_iter().map(|finding| place.finding(finding)).collect();
    Report { verdict, findings, source }
}

/// Walks forward through the lines, so that all positions together cost one pass.
struct Place<'s> {
    source: &'s str,
    line: u32,
    line_start: usize,
}

impl Place<'_> {
    fn finding(&mut self, raw: Raw) -> Finding {
        let start = floor_boundary(self.source, raw.start);
        while let Some(at) = self.source.get(self.line_start..start).and_then(|text| text.find('\n')) {
            self.line_start += at + 1;
            self.line += 1;
        }
        let line = self.source.get(self.line_start..).and_then(|rest| rest.split('\n').next()).unwrap_or_default();
        let before = self.source.get(self.line_start..start).map_or(0, |text| text.chars().count());
        let end = floor_boundary(self.source, raw.end).min(self.line_start + line.len());
        let length = self.source.get(start..end).map_or(1, |text| text.chars().count()).max(1);
        let from = before.saturating_sub(SHOWN_BEFORE);
        Finding {
            rule: raw.rule,
            severity: raw.severity,
            reason: raw.reason,
            line: self.line,
            column: u32::try_from(before + 1).unwrap_or(u32::MAX),
            length: u32::try_from(length).unwrap_or(u32::MAX),
            source_line: line.chars().skip(if before < SHOWN { 0 } else { from }).take(SHOWN).collect(),
            message: raw.message,
            hint: raw.hint,
            module: raw.module,
        }
    }
}

/// Code points of a line that a finding carries.
const SHOWN: usize = 200;
/// How much of a longer line stands before the finding.
const SHOWN_BEFORE: usize = 80;

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(start: usize, end: usize, severity: Severity) -> Raw {
        Raw { rule: "r", severity, reason: Reason::CodeForbidden, start, end, message: String::new(), hint: String::new(), module: None }
    }

    #[test]
    fn positions_are_one_based_and_count_code_points() {
        let report = finish("a\né𝐞x y\n".to_owned(), vec![raw(8, 9, Severity::Warn), raw(0, 1, Severity::Warn)]);
        let places: Vec<_> = report.findings.iter().map(|f| (f.line, f.column, f.length, f.source_line.as_str())).collect();
        assert_eq!(places, [(1, 1, 1, "a"), (2, 3, 1, "é𝐞x y")]);
        assert_eq!(report.verdict, Verdict::Warn);
    }

    #[test]
    fn when_there_are_too_many_the_refusals_stay() {
        let mut all: Vec<Raw> = (0..30).map(|at| raw(at, at + 1, Severity::Warn)).collect();
        all.push(raw(40, 41, Severity::Deny));
        let report = finish(" ".repeat(50), all);
        assert_eq!((report.findings.len(), report.verdict), (MAX_FINDINGS, Verdict::Deny));
        assert!(report.findings.is_sorted_by_key(|finding| (finding.line, finding.column)));
    }
}
