//! `edit`: exact passages of the judged file, all or none.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

use super::content::{Whole, digest, read_whole, why_no_text};
use super::fault::fault;
use super::passages::{Mismatch, Passages};
use super::read::{regular, too_large};
use super::replace::put;
use super::roots::Roots;
use super::write::{make_room, place, unplaced};
use crate::gate::Permit;
use crate::model::{Bytes, Code, EditFile, Failure, Identity, Target};

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
        let target = &opened.target;
        let file = regular(&opened)?;
        let bytes = match read_whole(file, opened.fact.size, terms.max_file_size).map_err(|errno| fault(errno, target, "read"))? {
            Whole::Bytes(bytes) => bytes,
            Whole::TooLarge => return Err(too_large(target, &terms)),
        };
        let binary = bytes.iter().take(8192).any(|byte| *byte == 0);
        let old = match String::from_utf8(bytes) {
            Ok(text) if !binary => text,
            Ok(text) => return Err(no_text(target, text.as_bytes())),
            Err(fault) => return Err(no_text(target, fault.as_bytes())),
        };
        let mut new = old.clone();
        let mut replacements = 0;
        for (index, edit) in action.edits.iter().enumerate() {
            let passages = Passages::find(&new, &edit.old_text, edit.replace_all).map_err(|why| mismatch(target, index, &why))?;
            replacements += passages.count();
            new = passages.replace(&edit.new_text);
            // Many edits that each grow the text must not outgrow memory before the last check.
            if Bytes(new.len() as u64) > terms.max_file_size {
                return Err(too_large(target, &terms));
            }
        }
        let (diff, diff_cut) = diff(target, &old, &new, terms.max_answer);
        let mut edited = Edited {
            target: target.clone(),
            replacements,
            diff,
            diff_cut,
            size: new.len() as u64,
            sha256: digest(new.as_bytes()),
            identity: None,
        };
        if !action.dry_run {
            let root = self.find(&terms.session, &target.root)?;
            let (folder, name) = place(&opened)?;
            make_room(&root, target, (new.len() as u64).saturating_sub(old.len() as u64), 0)?;
            self.leftovers.clean(folder);
            let identity = put(folder, &name, &opened.fact, &[new.as_bytes()], !root.scratch).map_err(|why| unplaced(why, target))?;
            edited.identity = Some(identity);
        }
        Ok(edited)
    }
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

/// A unified diff with three lines around each change, cut after a line.
fn diff(target: &Target, old: &str, new: &str, most: Bytes) -> (String, bool) {
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
