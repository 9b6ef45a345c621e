//! `edit`: exact passages of the judged file, all or none.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

use super::content::{Whole, digest, read_whole, why_no_text};
use super::fault::fault;
use super::passages::{Mismatch, Passages};
use super::read::{regular, too_large};
use super::roots::Roots;
use crate::gate::Permit;
use crate::model::{Bytes, Code, EditFile, Failure, Identity, Opened, Target};

/// What was edited, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The file.
    pub target: Target,
    /// Passages replaced, all edits together.
    pub replacements: u64,
    /// The change as a unified diff, capped by `max_answer`.
    pub diff: String,
    /// Whether the diff is longer than shown.
    pub diff_cut: bool,
    /// Size of the new content in bytes.
    pub size: u64,
    /// Digest of the new content.
    pub sha256: String,
    /// Which object it is now; none on a dry run.
    pub identity: Option<Identity>,
}

impl Roots {
    /// Applies the permit's edits in order to the file it names and puts the result in its place, atomically. Line ends and
    /// byte order mark stay as they are in the file, also where the edit writes `\n`.
    ///
    /// # Errors
    /// `edit_mismatch` (a passage that is missing or ambiguous), `not_text`, `conflict`, `file_too_large`, `no_space`, as `read`.
    pub fn edit(&self, permit: Permit<EditFile>) -> Result<Edited, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
        let (mut edited, content) = apply(&action, &opened, terms.max_file_size, terms.max_answer)?;
        if !action.dry_run {
            edited.identity = Some(self.put_judged(&opened, &terms, content.as_bytes())?.identity);
        }
        Ok(edited)
    }
}

/// The edits applied to the opened file, in memory.
pub(super) fn apply(action: &EditFile, opened: &Opened, max_file_size: Bytes, max_diff: Bytes) -> Result<(Edited, String), Failure> {
    let target = &opened.target;
    let bytes = match read_whole(regular(opened)?, opened.fact.size, max_file_size).map_err(|errno| fault(errno, target, "read"))? {
        Whole::Bytes(bytes) => bytes,
        Whole::TooLarge => return Err(too_large(target, max_file_size)),
    };
    if bytes.iter().take(8192).any(|byte| *byte == 0) {
        return Err(no_text(target, &bytes));
    }
    let old = String::from_utf8(bytes).map_err(|fault| no_text(target, fault.as_bytes()))?;
    let mut new = old.clone();
    let mut replacements = 0;
    for (index, edit) in action.edits.iter().enumerate() {
        let passages = Passages::find(&new, &edit.old_text, edit.replace_all).map_err(|why| mismatch(target, index, &why))?;
        replacements += passages.count();
        // Before it is made: many places times a long text must not outgrow memory.
        if Bytes(passages.size_with(&edit.new_text)) > max_file_size {
            return Err(too_large(target, max_file_size));
        }
        new = passages.replace(&edit.new_text);
    }
    let (diff, diff_cut) = unified_diff(target, &old, &new, max_diff);
    let (size, sha256) = (new.len() as u64, digest(new.as_bytes()));
    Ok((Edited { target: target.clone(), replacements, diff, diff_cut, size, sha256, identity: None }, new))
}

fn no_text(target: &Target, bytes: &[u8]) -> Failure {
    let why = why_no_text(bytes).unwrap_or_else(|| "it is not UTF-8".to_owned());
    Failure::new(Code::NotText, format!("`{target}` is no text: {why}")).hint("replace it whole with write_file and encoding `base64`")
}

fn mismatch(target: &Target, index: usize, why: &Mismatch) -> Failure {
    let failure = |what: String| Failure::new(Code::EditMismatch, format!("`edits[{index}].old_text` {what}; `{target}` was not changed"));
    match why {
        Mismatch::Many { count, lines } => {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let more = if *count > lines.len() { ", …" } else { "" };
            failure(format!("is in the file {count} times (lines {}{more})", lines.join(", ")))
                .hint("add lines around it until it is unique, or set replace_all")
        }
        Mismatch::None { near: Some((line, true)) } => {
            failure(format!("is not in the file; line {line} differs from it in white space alone"))
                .hint(format!("read the file from offset {line} and copy the passage exactly"))
        }
        Mismatch::None { near: Some((line, false)) } => failure(format!("is not in the file; the nearest passage begins at line {line}"))
            .hint(format!("read the file from offset {line}")),
        Mismatch::None { near: None } => failure("is not in the file, and nothing is like it".to_owned()).hint("read the file again"),
    }
}

/// A unified diff with three lines around each change, cut after a line; and whether it was cut.
fn unified_diff(target: &Target, old: &str, new: &str, most: Bytes) -> (String, bool) {
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(Duration::from_millis(500)).diff_lines(old, new);
    let mut text = diff.unified_diff().context_radius(3).header(&format!("a/{target}"), &format!("b/{target}")).to_string();
    let cut = text.len() > most.as_usize();
    if cut {
        let mut end = most.as_usize();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        if let Some(line) = text.rfind('\n') {
            text.truncate(line + 1);
        }
    }
    (text, cut)
}
