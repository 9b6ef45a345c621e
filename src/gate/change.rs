//! A change of files as a question shows it: the lines that differ, with their secrets masked, and counts for the rest.

use std::borrow::Cow;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use similar::{ChangeTag, TextDiff};

use super::preview::Preview;
use crate::filter::{Origin, Settings, Treatment, clean, escape_line};
use crate::model::Action;

/// Longest diff and longest excerpt in lines; the rest is counted.
pub(super) const LINES: usize = 40;
/// Longest argument shown whole; longer ones show head, tail, length and digest.
const WHOLE: usize = 600;

/// What becomes of secrets in a question: as in answers, where the manifest masks them. A question goes through the client, whose model reads it.
pub(super) type Mask = Treatment;

/// A text with its secrets masked, and whether there were any.
pub(super) fn masked(text: &str, mask: Mask) -> (Cow<'_, str>, bool) {
    if !matches!(mask, Treatment::Mask | Treatment::Deny) {
        return (Cow::Borrowed(text), false);
    }
    let settings = Settings { secrets: Treatment::Mask, personal_data: Treatment::Off, ..Settings::default() };
    let cleaned = clean(text, &settings, Origin::File);
    if cleaned.masked { (Cow::Owned(cleaned.text), true) } else { (Cow::Borrowed(text), false) }
}

/// The change of a text, with its secrets masked.
pub(super) struct Change {
    added: usize,
    removed: usize,
    /// The changed lines with one line around them, as many as are shown.
    lines: Vec<String>,
    /// Lines that are not shown.
    hidden: usize,
    /// What is to be said of the secrets in it.
    secrets: &'static str,
}

impl Change {
    /// The change that an action makes of one file, where both contents are text; at most `most` lines of it.
    pub(super) fn of(action: &Action, preview: &Preview, mask: Mask, most: usize) -> Option<Self> {
        let after = preview.after.as_deref().filter(|_| matches!(action, Action::WriteFile(_) | Action::EditFile(_)))?;
        Some(Self::between(preview.before.as_deref().unwrap_or_default(), after, mask, most))
    }

    fn between(before: &str, after: &str, mask: Mask, most: usize) -> Self {
        let ((old, hid), (new, hides)) = (masked(before, mask), masked(after, mask));
        let diff = TextDiff::from_lines(&*old, &*new);
        // Whether a masked value is the new one already is told to nobody: the question would answer every guess.
        let secrets = match (hid || hides, old == new) {
            (true, true) => "\nOnly secrets change, if anything does; they are masked here.",
            (true, false) => "\nSecrets are masked here, and written as they are.",
            (false, _) => "",
        };
        let mut change = Self { added: 0, removed: 0, lines: Vec::new(), hidden: 0, secrets };
        for group in diff.grouped_ops(1) {
            for line in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let sign = match line.tag() {
                    ChangeTag::Insert => {
                        change.added += 1;
                        '+'
                    }
                    ChangeTag::Delete => {
                        change.removed += 1;
                        '-'
                    }
                    ChangeTag::Equal => ' ',
                };
                if change.lines.len() < most {
                    change.lines.push(format!("  {sign} {}", shown(line.value().trim_end_matches(['\r', '\n']))));
                } else {
                    change.hidden += 1;
                }
            }
        }
        change
    }

    /// What is done to the file, as its name follows: "Change 3 lines of".
    pub(super) fn in_words(&self) -> String {
        let lines = |count: usize| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
        match (self.added, self.removed) {
            (0, 0) => "Write the same lines to".to_owned(),
            (added, 0) => format!("Add {} to", lines(added)),
            (0, removed) => format!("Remove {} from", lines(removed)),
            (added, removed) => format!("Change {} of", lines(added.max(removed))),
        }
    }

    /// Puts the lines of it below a text; what is not shown is counted.
    pub(super) fn write(&self, text: &mut String) {
        let _ = write!(text, "\n{} line(s) added, {} removed:", self.added, self.removed);
        for line in &self.lines {
            let _ = write!(text, "\n{line}");
        }
        if self.hidden > 0 {
            let _ = write!(text, "\n  … and {} more line(s) of the change", self.hidden);
        }
        if self.lines.is_empty() {
            text.push_str("\n  (no line differs)");
        }
        text.push_str(self.secrets);
    }

    /// Whether lines of it are not shown.
    pub(super) const fn is_cut(&self) -> bool {
        self.hidden > 0
    }
}

/// One argument on one line, escaped; long ones with head, tail, length and digest.
pub(super) fn shown(value: &str) -> String {
    let count = value.chars().count();
    if count <= WHOLE {
        return escape_line(value).into_owned();
    }
    let head: String = value.chars().take(WHOLE / 2).collect();
    let tail: String = value.chars().skip(count - WHOLE / 4).collect();
    let digest = Sha256::digest(value.as_bytes());
    let digest: String = digest.iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    format!("{} … {} ({} characters, sha256 {digest})", escape_line(&head), escape_line(&tail), count)
}
