//! The edits of one file: exact passages of the judged content, all or none. Where secrets are masked, passages are looked for in what is shown alone, and no
//! masked line is changed.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use similar::{Algorithm, DiffOp, TextDiff};

use super::content::{digest, why_no_text};
use super::encoding;
use super::masks::{Masked, listed, masked_content, written_mask};
use super::passages::{Mismatch, Passages};
use super::read::{read_judged, too_large};
use crate::filter::masked::secrets_in;
use crate::gate::Opened;
use crate::model::{Bytes, Code, Edit, Failure, Identity, Target};

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
    /// Digest of the new content; none where a secret in it is masked.
    pub sha256: Option<String>,
    /// Names of the secrets that are masked in the diff; none where the manifest masks none.
    pub masked: Option<Vec<&'static str>>,
    /// Which object it is now; none on a dry run.
    pub identity: Option<Identity>,
}

/// The edits applied to the opened file, in memory, each with its place in the call. `hides`: the manifest masks secrets.
pub(super) fn apply(
    edits: &[(usize, &Edit)],
    opened: &Opened,
    max_file_size: Bytes,
    max_diff: Bytes,
    hides: bool,
) -> Result<(Edited, String), Failure> {
    apply_to(edits, &opened.target, read_judged(opened, max_file_size)?, max_file_size, max_diff, hides)
}

/// The edits applied to a content of the target.
pub(super) fn apply_to(
    edits: &[(usize, &Edit)],
    target: &Target,
    bytes: Vec<u8>,
    max_file_size: Bytes,
    max_diff: Bytes,
    hides: bool,
) -> Result<(Edited, String), Failure> {
    if bytes.iter().take(8192).any(|byte| *byte == 0) {
        return Err(no_text(target, &bytes));
    }
    let old = String::from_utf8(bytes).map_err(|fault| no_text(target, fault.as_bytes()))?;
    let secrets = |text: &[u8]| if hides { secrets_in(text) } else { Vec::new() };
    let held = secrets(old.as_bytes());
    let old = Masked::new(old.into_bytes(), &held);
    let mut new = old.clone();
    let mut replacements = 0;
    for &(index, edit) in edits {
        let passages = Passages::find(new.text(), &edit.old_text, edit.replace_all).map_err(|why| mismatch(target, index, &why))?;
        replacements += passages.count();
        // Before it is made: many places times a long text must not outgrow memory.
        if Bytes(passages.size_with(&edit.new_text)) > max_file_size {
            return Err(too_large(target, max_file_size));
        }
        if let Some(name) = written_mask(&held, &edit.old_text, &edit.new_text) {
            return Err(writes_mask(target, index, name));
        }
        new = replaced(&new, &passages, &edit.new_text).map_err(|(line, names)| on_masked_line(target, index, line, &names))?;
    }
    let (content, kept) = new.unmasked();
    let holds = secrets(&content);
    // The name before a secret may stand on another line: without it the secret would be shown.
    let is_masked = |kept: &Range<usize>| {
        let at = holds.binary_search_by_key(&kept.start, |secret| secret.at.start);
        at.is_ok_and(|at| holds.get(at).is_some_and(|secret| secret.at == *kept))
    };
    if !kept.iter().all(is_masked) {
        return Err(shows_secret(target));
    }
    let (size, sha256) = (content.len() as u64, holds.is_empty().then(|| digest(&content)));
    let content = String::from_utf8(content).map_err(|fault| no_text(target, fault.as_bytes()))?;
    let (diff, diff_cut, masked) = unified_diff(target, &old, &Masked::new(content.clone().into_bytes(), &holds), max_diff);
    let masked = hides.then_some(masked);
    Ok((Edited { target: target.clone(), replacements, diff, diff_cut, size, sha256, masked, identity: None }, content))
}

/// What is shown with each passage replaced.
///
/// # Errors
/// The number of a line of a passage and the secrets that are masked on its lines.
fn replaced(old: &Masked, passages: &Passages<'_>, by: &str) -> Result<Masked, (usize, Vec<&'static str>)> {
    let lines = old.masked_lines();
    let (mut new, mut from) = (Masked::default(), 0);
    for range in passages.ranges() {
        let first = lines.partition_point(|(_, line)| line.end <= range.start);
        if let Some((number, line)) = lines.get(first).filter(|(_, line)| line.start < range.end) {
            let masks = old.masks.iter().filter(|mask| mask.at.start < line.end && line.start < mask.at.end);
            return Err((*number, masks.map(|mask| mask.name).collect()));
        }
        new.push(old, from..range.start);
        new.bytes.extend_from_slice(passages.written(range, by).as_bytes());
        from = range.end;
    }
    new.push(old, from..old.bytes.len());
    Ok(new)
}

fn no_text(target: &Target, bytes: &[u8]) -> Failure {
    if let Some(decoded) = encoding::decoded(bytes) {
        let what = if decoded.encoding == "utf-8" { "UTF-8 with broken places".to_owned() } else { decoded.encoding.to_owned() };
        let why = format!("`{target}` is {what}, and an edit would write it as UTF-8; it was not changed");
        return Failure::new(Code::NotText, why)
            .hint("where UTF-8 is wanted, read it and write it whole with write_file; else keep its encoding with run_python");
    }
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
            failure(format!("is not in the file; line {line} differs from it only in white space"))
                .hint(format!("read the file from offset {line} and copy the passage exactly"))
        }
        Mismatch::None { near: Some((line, false)) } => failure(format!("is not in the file; the nearest passage begins at line {line}"))
            .hint(format!("read the file from offset {line}")),
        Mismatch::None { near: None } => failure("is not in the file, and nothing similar is in it".to_owned()).hint("read the file again"),
    }
}

fn on_masked_line(target: &Target, index: usize, line: usize, names: &[&'static str]) -> Failure {
    masked_content(
        format!(
            "`edits[{index}].old_text` covers line {line} of `{target}`, where a secret is masked ({}); nothing was changed",
            listed(names)
        ),
        "edit the lines around it and leave masked lines out of old_text; a secret itself is changed by its owner",
    )
}

fn writes_mask(target: &Target, index: usize, name: &str) -> Failure {
    masked_content(
        format!("`edits[{index}].new_text` holds `[SECRET:{name}]`, which would be written to `{target}` literally; nothing was changed"),
        "leave masks out of new_text: a mask is not replaced by its secret",
    )
}

fn shows_secret(target: &Target) -> Failure {
    masked_content(
        format!("a secret of `{target}` that is masked now would be shown after the change; nothing was changed"),
        "leave the name before the secret and what is next to it as they are",
    )
}

/// A unified diff of what is shown with three lines around each change, cut after a line; whether it was cut; and the secrets masked in it.
fn unified_diff(target: &Target, old: &Masked, new: &Masked, most: Bytes) -> (String, bool, Vec<&'static str>) {
    let timeout = Duration::from_millis(500);
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(timeout).diff_lines(old.text(), new.text());
    let shown: Vec<Range<usize>> =
        if new.masks.is_empty() { Vec::new() } else { diff.grouped_ops(CONTEXT).iter().flatten().map(DiffOp::new_range).collect() };
    let is_shown = |lines: &RangeInclusive<usize>| shown.iter().any(|range| *lines.start() < range.end && range.start <= *lines.end());
    let masked = new.lines().filter(|(_, lines)| is_shown(lines)).map(|(name, _)| name).collect();
    let mut text = diff.unified_diff().context_radius(CONTEXT).header(&format!("a/{target}"), &format!("b/{target}")).to_string();
    let cut = text.len() > most.as_usize();
    if cut {
        text.truncate(text.floor_char_boundary(most.as_usize()));
        if let Some(line) = text.rfind('\n') {
            text.truncate(line + 1);
        }
    }
    (text, cut, masked)
}

/// Lines around each change.
const CONTEXT: usize = 3;
