//! A change of files as a question shows it: the lines that differ, with their secrets masked, and counts for the rest.

use std::borrow::Cow;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use similar::{ChangeTag, TextDiff};

use super::preview::Preview;
use crate::filter::{Treatment, escape_line, masked_for_person};
use crate::model::Action;

/// Longest diff and longest excerpt in lines; the rest is counted.
pub(super) const LINES: usize = 40;
/// Longest argument shown whole; longer ones show head, tail, length and digest.
const WHOLE: usize = 600;

/// What becomes of secrets in a question: masked where the manifest masks them, as far as they cannot act. A question goes through the client,
/// whose model reads it.
pub(super) type Mask = Treatment;

/// A text with its secrets masked, and whether there were any.
pub(super) fn masked(text: &str, mask: Mask) -> (Cow<'_, str>, bool) {
    if !matches!(mask, Treatment::Mask | Treatment::Deny) {
        return (Cow::Borrowed(text), false);
    }
    masked_for_person(text)
}

/// What an action changes in files: of one file, or of each of several.
pub(super) struct Changes {
    /// In the order of the targets; none where a content is no text or too long to be shown.
    each: Vec<Option<Change>>,
    are_named: bool,
}

impl Changes {
    /// The changes that an action makes; at most `most` lines of them together, of which each file has its share.
    pub(super) fn of(action: &Action, preview: &Preview, mask: Mask, most: usize) -> Self {
        let between = |before: &str, after: &str| Change::between(before, after, mask, most);
        let (before, after) = (preview.before.as_deref().unwrap_or_default(), preview.after.as_deref());
        let one = |after: Option<&str>| Self { each: vec![after.map(|after| between(before, after))], are_named: false };
        match action {
            Action::WriteFile(_) | Action::EditFile(_) | Action::CopyFile(_) => one(after),
            Action::MoveFile(_) => one(after.filter(|_| !preview.arriving.is_empty())),
            Action::EditFiles(_) => {
                let texts = preview.files.iter();
                let mut each: Vec<Option<Change>> =
                    texts.map(|texts| texts.as_ref().map(|texts| between(&texts.before, &texts.after))).collect();
                let lengths: Vec<usize> = each.iter().map(|change| change.as_ref().map_or(0, |change| change.lines.len())).collect();
                for (change, share) in each.iter_mut().zip(shares(&lengths, most)) {
                    if let Some(change) = change {
                        change.hidden += change.lines.len().saturating_sub(share);
                        change.lines.truncate(share);
                    }
                }
                Self { each, are_named: true }
            }
            Action::ReadFile(_)
            | Action::ListDirectory(_)
            | Action::SearchFiles(_)
            | Action::FileInfo(_)
            | Action::CreateDirectory(_)
            | Action::DeleteFile(_)
            | Action::Fetch(_)
            | Action::RunPython(_) => one(None),
        }
    }

    /// The change of one file.
    pub(super) fn one(&self) -> Option<&Change> {
        self.each.first()?.as_ref().filter(|_| !self.are_named)
    }

    /// Lines that are changed in all files, as far as they are shown or counted.
    pub(super) fn lines(&self) -> usize {
        self.each.iter().flatten().map(|change| change.added.max(change.removed)).sum()
    }

    /// Whether lines of it are not shown.
    pub(super) fn is_cut(&self) -> bool {
        self.each.iter().flatten().any(|change| change.hidden > 0)
    }

    /// Puts the lines below a text, those of several files each below the name of its file.
    pub(super) fn write(&self, text: &mut String, name: impl Fn(usize) -> String) {
        for (at, change) in self.each.iter().enumerate() {
            if self.are_named {
                let _ = write!(text, "\n{}:", name(at));
            }
            match change {
                Some(change) => change.write(text),
                None if self.are_named => text.push_str("\nThe content is too long to be shown."),
                None => {}
            }
        }
    }
}

/// How many lines of `most` each has: the short ones all of theirs, the others what is left in equal parts.
fn shares(lengths: &[usize], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|at| lengths.get(*at));
    let (mut shares, mut left) = (vec![0; lengths.len()], most);
    for (done, at) in order.into_iter().enumerate() {
        if let (Some(share), Some(length)) = (shares.get_mut(at), lengths.get(at)) {
            *share = (*length).min(left / (lengths.len() - done));
            left -= *share;
        }
    }
    shares
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
    /// The change between two texts; at most `most` lines of it.
    fn between(before: &str, after: &str, mask: Mask, most: usize) -> Self {
        let ((old, hid), (new, hides)) = (masked(before, mask), masked(after, mask));
        let diff = TextDiff::from_lines(&*old, &*new);
        // Whether a masked value already is the new one is not shown: the question would answer every guess.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_its_share_of_the_lines_that_are_shown() {
        assert_eq!(shares(&[3, 2], 40), [3, 2]);
        assert_eq!(shares(&[1000, 2, 1000], 40), [19, 2, 19], "a long change hides no short one");
        assert_eq!(shares(&[5; 50], 40).iter().sum::<usize>(), 40);
        assert_eq!(shares(&[], 40), Vec::<usize>::new());
    }
}
