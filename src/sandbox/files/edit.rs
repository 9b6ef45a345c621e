//! `edit`: exact passages of the judged file, all or none. Where secrets are masked, passages are looked for in what is shown alone.

use std::ops::Range;
use std::time::Duration;

use similar::{Algorithm, DiffTag, TextDiff};

use super::content::{Whole, digest, read_whole, why_no_text};
use super::document::{Document, Mask, Unfit};
use super::encoding;
use super::fault::fault;
use super::passages::{Mismatch, Passages};
use super::read::{regular, too_large};
use super::replace::USUAL;
use super::roots::Roots;
use crate::filter::masked::secrets_in;
use crate::gate::Permit;
use crate::model::{Bytes, Code, Edit, EditFile, Failure, Identity, Opened, Target};

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

impl Roots {
    /// Applies the permit's edits in order to the file it names and puts the result in its place, atomically. Line ends and
    /// byte order mark stay as they are in the file, also where the edit writes `\n`.
    ///
    /// # Errors
    /// `edit_mismatch` (a passage that is missing or ambiguous), `masked_content` (a mask would take the place of a secret, or a masked secret
    /// would be shown), `not_text`, `conflict`, `file_too_large`, `no_space`, as `read`.
    pub fn edit(&self, permit: Permit<EditFile>) -> Result<Edited, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
        let edits: Vec<(usize, &Edit)> = action.edits.iter().enumerate().collect();
        let (mut edited, content) = apply(&edits, &opened, terms.max_file_size, terms.max_answer, terms.manifest.filters.hides_secrets())?;
        if !action.dry_run {
            edited.identity = Some(self.put_judged(&opened, &terms, content.as_bytes(), USUAL)?.identity);
        }
        Ok(edited)
    }
}

/// The edits applied to the opened file, in memory, each with its place in the call. `hides`: the manifest masks secrets.
pub(super) fn apply(
    edits: &[(usize, &Edit)],
    opened: &Opened,
    max_file_size: Bytes,
    max_diff: Bytes,
    hides: bool,
) -> Result<(Edited, String), Failure> {
    let target = &opened.target;
    let bytes = match read_whole(regular(opened)?, opened.fact.size, max_file_size).map_err(|errno| fault(errno, target, "read"))? {
        Whole::Bytes(bytes) => bytes,
        Whole::TooLarge => return Err(too_large(target, max_file_size)),
    };
    apply_to(edits, target, bytes, max_file_size, max_diff, hides)
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
    let secrets = |text: &str| if hides { secrets_in(text.as_bytes()) } else { Vec::new() };
    let held = secrets(&old);
    let old = Document::new(old, &held);
    let mut new = old.clone();
    let mut replacements = 0;
    for &(index, edit) in edits {
        let passages = Passages::find(new.shown(), &edit.old_text, edit.replace_all).map_err(|why| mismatch(target, index, &why))?;
        replacements += passages.count();
        // Before it is made: many places times a long text must not outgrow memory.
        if Bytes(passages.size_with(&edit.new_text)) > max_file_size {
            return Err(too_large(target, max_file_size));
        }
        new = new.replaced(&passages, &edit.new_text).map_err(|why| unfit(target, index, why))?;
    }
    let (new, kept) = new.into_text();
    let holds = secrets(&new);
    // A secret that stays must be masked as it was: an edit of what is around it must not show it, and the answer must tell nothing of it.
    let masked = |kept: &Range<usize>| {
        let at = holds.binary_search_by_key(&kept.start, |secret| secret.at.start);
        at.is_ok_and(|at| holds.get(at).is_some_and(|secret| secret.at == *kept))
    };
    if !kept.iter().all(masked) {
        return Err(shows_secret(target));
    }
    let (size, sha256) = (new.len() as u64, holds.is_empty().then(|| digest(new.as_bytes())));
    let after = Document::new(new.clone(), &holds);
    let (diff, diff_cut, masked) = unified_diff(target, &old, &after, max_diff);
    let masked = hides.then_some(masked);
    Ok((Edited { target: target.clone(), replacements, diff, diff_cut, size, sha256, masked, identity: None }, new))
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
            failure(format!("is not in the file; line {line} differs from it in white space alone"))
                .hint(format!("read the file from offset {line} and copy the passage exactly"))
        }
        Mismatch::None { near: Some((line, false)) } => failure(format!("is not in the file; the nearest passage begins at line {line}"))
            .hint(format!("read the file from offset {line}")),
        Mismatch::None { near: None } => failure("is not in the file, and nothing is like it".to_owned()).hint("read the file again"),
    }
}

fn unfit(target: &Target, index: usize, why: Unfit) -> Failure {
    match why {
        Unfit::Cut => Failure::new(
            Code::EditMismatch,
            format!("`edits[{index}].old_text` begins or ends within the mask of a secret; `{target}` was not changed"),
        )
        .hint("take the mask whole, with all its lines, or leave it out"),
        Unfit::Strange => masked_content(
            format!("`edits[{index}].new_text` holds masks that do not stand as often in its `old_text`; `{target}` was not changed"),
            "give each mask that stays once in old_text and once in new_text, in the same order, or edit around it",
        ),
    }
}

fn shows_secret(target: &Target) -> Failure {
    masked_content(
        format!("a secret of `{target}` that is masked now would be shown after the change; nothing was changed"),
        "leave the name before the secret and what is next to it as they are, or replace the mask as well",
    )
}

fn masked_content(why: String, hint: &str) -> Failure {
    Failure(Failure::new(Code::MaskedContent, why).hint(hint).0.rule("filters.secrets"))
}

/// A unified diff of what is shown with three lines around each change, cut after a line; whether it was cut; and the secrets masked in it.
fn unified_diff(target: &Target, old: &Document, new: &Document, most: Bytes) -> (String, bool, Vec<&'static str>) {
    let timeout = Duration::from_millis(500);
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(timeout).diff_lines(old.shown(), new.shown());
    let mut masked = Vec::new();
    if !(old.masks().is_empty() && new.masks().is_empty()) {
        let ends = |lines: &mut dyn Iterator<Item = &str>| {
            lines.scan(0, |end, line| Some(std::mem::replace(end, *end + line.len()))).collect::<Vec<usize>>()
        };
        let (old_lines, new_lines) = (ends(&mut diff.iter_old_slices()), ends(&mut diff.iter_new_slices()));
        for op in diff.grouped_ops(CONTEXT).iter().flatten() {
            masked.extend(within(new.masks(), &new_lines, op.new_range()));
            if op.tag() != DiffTag::Equal {
                masked.extend(within(old.masks(), &old_lines, op.old_range()));
            }
        }
    }
    let mut text = diff.unified_diff().context_radius(CONTEXT).header(&format!("a/{target}"), &format!("b/{target}")).to_string();
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
    (text, cut, masked)
}

/// Lines around each change.
const CONTEXT: usize = 3;

/// The names of the masks on these lines; `starts` tells where each line begins.
fn within<'a>(masks: &'a [Mask], starts: &[usize], lines: Range<usize>) -> impl Iterator<Item = &'static str> + use<'a> {
    let from = starts.get(lines.start).copied().unwrap_or(usize::MAX);
    let to = if lines.is_empty() { from } else { starts.get(lines.end).copied().unwrap_or(usize::MAX) };
    masks.iter().filter(move |mask| mask.at.start < to && from < mask.at.end).map(|mask| mask.name)
}
