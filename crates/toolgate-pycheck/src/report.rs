//! What the check answers: a verdict and its findings.

use ruff_text_size::TextRange;
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

/// One place in the program and what is wrong with it. As JSON it has the fields `rule`, `severity`, `code` (the reason), `line`, `column`,
/// `message`, `hint` and `source_line`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule that decided, e.g. `import` or `attribute.dunder`. Names are promises.
    pub rule: &'static str,
    /// Whether it refuses or warns.
    pub severity: Severity,
    /// The kind of the reason.
    #[serde(rename = "code")]
    pub reason: Reason,
    /// Line in [`Report::source`], from 1.
    pub line: u32,
    /// Column in code points, from 1.
    pub column: u32,
    /// How many code points of that line the finding covers, at least 1.
    #[serde(skip)]
    pub length: u32,
    /// What was wrong and why.
    pub message: String,
    /// What to write instead.
    pub hint: String,
    /// The source line, at most 200 code points of it around the finding. Untrusted text: escape it before it is shown.
    pub source_line: String,
    /// The module that the import allowlist lacks, where that is all.
    #[serde(skip)]
    pub module: Option<String>,
}

/// The result of a check. As JSON it has the fields `verdict` and `findings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The strictest of the findings.
    pub verdict: Verdict,
    /// At most [`MAX_FINDINGS`], sorted by position.
    pub findings: Vec<Finding>,
    /// The text that was judged: UTF-8, no byte order mark, `\n` line ends. Exactly this must run, compiled from a `str`,
    /// or the verdict says nothing. Empty where the bytes are no text.
    #[serde(skip)]
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

/// Why something is refused and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    pub(super) reason: Reason,
    pub(super) message: String,
    pub(super) hint: String,
    /// The module that the import allowlist lacks.
    pub(super) module: Option<String>,
}

impl Problem {
    /// A refusal of code.
    pub(super) fn new(rule: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { rule, severity: Severity::Deny, reason: Reason::CodeForbidden, message: message.into(), hint: hint.into(), module: None }
    }

    pub(super) fn reason(self, reason: Reason) -> Self {
        Self { reason, ..self }
    }
}

/// Sorts, caps and places the findings.
pub(super) fn finish(source: String, mut raw: Vec<(TextRange, Problem)>) -> Report {
    raw.sort_by(|(a, left), (b, right)| {
        (a.start(), a.end(), left.rule, &left.message).cmp(&(b.start(), b.end(), right.rule, &right.message))
    });
    raw.dedup_by(|(a, left), (b, right)| a == b && left.rule == right.rule);
    if raw.len() > MAX_FINDINGS {
        // Stable: keeps the order of positions inside each severity.
        raw.sort_by_key(|(_, problem)| std::cmp::Reverse(problem.severity));
        raw.truncate(MAX_FINDINGS);
        raw.sort_by_key(|(range, _)| (range.start(), range.end()));
    }
    let verdict = match raw.iter().map(|(_, problem)| problem.severity).max() {
        None => Verdict::Allow,
        Some(Severity::Warn) => Verdict::Warn,
        Some(Severity::Deny) => Verdict::Deny,
    };
    let mut place = Place { source: &source, line: 1, line_start: 0 };
    let findings = raw.into_iter().map(|(range, problem)| place.finding(range, problem)).collect();
    Report { verdict, findings, source }
}

/// Walks forward through the lines, so that all positions together cost one pass.
struct Place<'s> {
    source: &'s str,
    line: u32,
    line_start: usize,
}

impl Place<'_> {
    fn finding(&mut self, range: TextRange, problem: Problem) -> Finding {
        let start = self.source.floor_char_boundary(range.start().to_usize());
        while let Some(at) = self.source.get(self.line_start..start).and_then(|text| text.find('\n')) {
            self.line_start += at + 1;
            self.line += 1;
        }
        let line = self.source.get(self.line_start..).and_then(|rest| rest.split('\n').next()).unwrap_or_default();
        let before = self.source.get(self.line_start..start).map_or(0, |text| text.chars().count());
        let end = self.source.floor_char_boundary(range.end().to_usize()).min(self.line_start + line.len());
        let length = self.source.get(start..end).map_or(1, |text| text.chars().count()).max(1);
        let skipped = if before < SHOWN { 0 } else { before - SHOWN_BEFORE };
        let Problem { rule, severity, reason, message, hint, module } = problem;
        Finding {
            rule,
            severity,
            reason,
            line: self.line,
            column: u32::try_from(before + 1).unwrap_or(u32::MAX),
            length: u32::try_from(length).unwrap_or(u32::MAX),
            message,
            hint,
            source_line: line.chars().skip(skipped).take(SHOWN).collect(),
            module,
        }
    }
}

/// Code points of a line that a finding carries.
const SHOWN: usize = 200;
/// How much of a longer line stands before the finding.
const SHOWN_BEFORE: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(start: u32, end: u32, severity: Severity) -> (TextRange, Problem) {
        (TextRange::new(start.into(), end.into()), Problem { severity, ..Problem::new("r", "", "") })
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
        let mut all: Vec<_> = (0..30).map(|at| raw(at, at + 1, Severity::Warn)).collect();
        all.push(raw(40, 41, Severity::Deny));
        let report = finish(" ".repeat(50), all);
        assert_eq!((report.findings.len(), report.verdict), (MAX_FINDINGS, Verdict::Deny));
        assert!(report.findings.is_sorted_by_key(|finding| (finding.line, finding.column)));
    }
}
