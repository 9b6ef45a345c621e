//! The answers that a question offers, in words to read on a button.

use super::change::{Changes, LINES};
use super::pending::Pending;
use super::preview::Preview;
use super::question::spelled;
use super::resolve::{Asked, Case};
use super::shared::CallGate;
use crate::manifest::Remember;
use crate::model::{Action, Choice, Level, Question, RelPath, Target};
use crate::policy::{Scope, grant_of, offered, remember};

/// What stands on the button of a yes for one call.
pub(super) const ONCE: &str = "Yes, this once";
/// Lines and bytes of a difference that an operator can ask for.
const WHOLE_LINES: usize = 2_000;
const WHOLE_BYTES: usize = 200 * 1024;

impl CallGate {
    /// A question, with the answers that it offers.
    pub(super) fn question(&self, case: &Case<'_>, asked: &Asked, pending: &Pending) -> Question {
        let text = self.text(case, &asked.preview, asked.level, pending.code.as_deref());
        let (wait, choices) = (self.manifest.approvals.timeout, choices(case, asked.level));
        Question { id: pending.id.clone(), text, code: pending.code.clone(), choices, wait, by_operator: pending.operator }
    }

    /// The difference of a change for an operator, where the text of the question shows a part of it; empty elsewhere.
    pub(super) fn whole_diff(&self, case: &Case<'_>, preview: &Preview) -> String {
        let changes = Changes::of(case.action, &case.seen.opened, &self.look(case, preview));
        if !changes.is_cut(LINES) {
            return String::new();
        }
        let mut text = String::new();
        changes.write(&mut text, WHOLE_LINES, |at| case.seen.opened.get(at).map(|opened| spelled(&opened.target)).unwrap_or_default());
        let end = (0..=WHOLE_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text
    }
}

/// The answers that are offered, the no first and then from the narrowest.
pub(super) fn choices(case: &Case<'_>, level: Level) -> Vec<Choice> {
    let grant = grant_of(case.capability, case.action, case.screened, &case.seen.facts);
    let scopes = offered(case.capability, case.action, level, grant.as_deref());
    let choice = |value: &str, title: String| Choice { value: value.to_owned(), title };
    let yes = scopes.into_iter().map(|scope| choice(scope.as_str(), title(case, scope)));
    std::iter::once(choice("deny", "No".to_owned())).chain(yes).collect()
}

/// The words of one answer, and how far it goes.
fn title(case: &Case<'_>, scope: Scope) -> String {
    const END: &str = "until the session ends";
    let first = case.seen.opened.first().map(|opened| Target { root: opened.target.root.clone(), path: opened.path().clone() });
    match (scope, first) {
        (Scope::Once, _) | (Scope::SessionFolder | Scope::SessionRoot, None) => ONCE.to_owned(),
        (Scope::SessionFolder, Some(target)) => {
            let above = target.path.ancestors().nth(target.path.segments().len().saturating_sub(1)).unwrap_or(RelPath::ROOT);
            let folder = spelled(&Target { path: above, ..target });
            format!("Yes, and each file made or changed in {folder} and below, {END}")
        }
        (Scope::SessionRoot, Some(target)) => {
            format!("Yes, and each file made or changed in all of {}, {END}", target.root)
        }
        (Scope::Session, _) => match case.action {
            Action::EditFiles(_) if case.seen.opened.len() > 1 => format!("Yes, and every change of these files, {END}"),
            Action::WriteFile(_) | Action::EditFiles(_) => format!("Yes, and every change of this file, {END}"),
            Action::RunPython(_) if remember(case.capability) == Remember::Envelope => {
                format!("Yes, and any program with the same folders and network, {END}")
            }
            Action::RunPython(_) => format!("Yes, and this same program again, {END}"),
            Action::Fetch(_) => format!("Yes, and this same request again, {END}"),
            Action::ReadFile(_)
            | Action::ListDirectory(_)
            | Action::SearchFiles(_)
            | Action::FileInfo(_)
            | Action::CreateDirectory(_)
            | Action::MoveFile(_)
            | Action::CopyFile(_)
            | Action::DeleteFile(_)
            | Action::QueryDatabase(_)
            | Action::SendEmail(_) => format!("Yes, and the same again, {END}"),
        },
    }
}
