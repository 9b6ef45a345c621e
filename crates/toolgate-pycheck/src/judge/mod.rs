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

use ruff_text_size::TextRange;

use super::program::Program;
use super::report::Problem;
use super::rules::{Check, Rules};
use facts::Facts;

/// Judges a program; every finding is appended to `raw`.
pub(super) fn judge(program: &Program<'_>, rules: &Rules, raw: &mut Vec<(TextRange, Problem)>) {
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
    raw: &'j mut Vec<(TextRange, Problem)>,
}

impl Judge<'_, '_> {
    pub(super) fn deny(&mut self, range: TextRange, problem: impl Into<Option<Problem>>) {
        // A hostile program can hold a finding per word; the report keeps 20, and sorting needs no more than this.
        if let Some(problem) = problem.into()
            && self.raw.len() < 4096
        {
            self.raw.push((range, problem));
        }
    }
}
