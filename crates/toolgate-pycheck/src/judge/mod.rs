//! The rules, over the lists of one walk.

mod attributes;
mod calls;
mod classes;
mod facts;
mod imports;
mod names;
mod origin;
mod policy;
mod texts;

use super::program::Program;
use super::report::{Raw, Severity};
use super::rules::{Check, Rules};
use crate::report::Reason;
use facts::Facts;

/// Judges a program; every finding is appended to `raw`.
pub(super) fn judge(program: &Program<'_>, rules: &Rules, raw: &mut Vec<Raw>) {
    let mut judge = Judge { rules, program, facts: Facts::default(), raw };
    judge.imports();
    if rules.check == Check::Strict {
        judge.facts = Facts::gather(&judge);
        judge.names();
        judge.attributes();
        judge.calls();
        judge.classes();
        judge.patterns();
        judge.texts();
    } else {
        judge.modules_alone();
    }
}

/// One run over one program. Every method appends findings.
pub(super) struct Judge<'j, 'a> {
    rules: &'j Rules,
    program: &'j Program<'a>,
    facts: Facts<'a>,
    raw: &'j mut Vec<Raw>,
}

/// Why something is refused and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) rule: &'static str,
    pub(super) message: String,
    pub(super) hint: String,
    /// The module that the import allowlist lacks.
    pub(super) module: Option<String>,
}

impl Problem {
    pub(super) fn new(rule: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { rule, message: message.into(), hint: hint.into(), module: None }
    }
}

impl Judge<'_, '_> {
    pub(super) fn deny(&mut self, start: usize, end: usize, problem: Problem) {
        self.push(Reason::CodeForbidden, Severity::Deny, start, end, problem);
    }

    pub(super) fn deny_import(&mut self, start: usize, end: usize, problem: Problem) {
        self.push(Reason::ImportNotAllowed, Severity::Deny, start, end, problem);
    }

    pub(super) fn warn(&mut self, start: usize, end: usize, problem: Problem) {
        self.push(Reason::CodeForbidden, Severity::Warn, start, end, problem);
    }

    fn push(&mut self, reason: Reason, severity: Severity, start: usize, end: usize, problem: Problem) {
        // A hostile program can hold a finding per word; the report keeps 20, and sorting needs no more than this.
        if self.raw.len() < 4096 {
            let Problem { rule, message, hint, module } = problem;
            self.raw.push(Raw { rule, severity, reason, start, end, message, hint, module });
        }
    }
}
