//! What a person is shown of a change before they are asked: the present content of the judged object, and what it would become. No effect.

use rustix::fs::Dir;

use super::arriving::{arriving, is_arriving};
use super::content::{Whole, digest, digest_whole, read_whole};
use super::copy::copyable;
use super::edit::{apply, apply_to};
use super::edit_files::several;
use super::fault::missing;
use super::folder::reachable;
use super::leaks::Leak;
use super::read::regular;
use super::rename::{is_replacing, not_empty};
use super::resolve::{open_file, open_folder};
use super::roots::Roots;
use super::stop::Stop;
use super::write::{masks_in_the_way, no_digest, unexpected};
use crate::filter::masked::secrets_in_any_encoding;
use crate::gate::{Preview, Texts};
use crate::manifest::Manifest;
use crate::model::{Action, Bytes, Code, Edit, EditFiles, Failure, Kind, Opened, WriteMode};

/// Contents above this are not shown.
const SHOWN: Bytes = Bytes::mib(4);

/// The preview of an action on what was opened. Contents are read whole, however long they are; one that cannot be read in time dooms the call,
/// for nobody could say what was approved.
pub(in crate::sandbox) fn preview(roots: &Roots, action: &Action, opened: &[Opened], stop: &Stop, manifest: &Manifest) -> Preview {
    let hides = manifest.filters.hides_secrets();
    if let (Action::EditFiles(_), Err(failure)) = (action, several(opened)) {
        return Preview { doomed: Some(failure), ..Preview::default() };
    }
    let mut contents = Vec::new();
    let mut shown = Vec::new();
    for one in opened {
        match present(one, stop) {
            Ok(Some(content)) => {
                shown.push(content.shown);
                contents.push(Some(content.sha256));
            }
            Ok(None) => {
                shown.push(None);
                contents.push(None);
            }
            // What is only renamed or removed is bound by which object it is, and when it changed last.
            Err(failure) if failure.0.code == Code::Timeout && is_by_name_alone(action, opened, manifest) => {
                shown.push(None);
                contents.push(None);
            }
            Err(failure) => return Preview { doomed: Some(failure), ..Preview::default() },
        }
    }
    let mut shown = shown.into_iter();
    if let Action::EditFiles(edit) = action {
        return match files(edit, opened, shown, hides) {
            Ok(files) => Preview { contents, files, ..Preview::default() },
            Err(failure) => Preview { contents, doomed: Some(failure), ..Preview::default() },
        };
    }
    let (first, second) = (shown.next().flatten(), shown.next().flatten());
    let leaks = |from: &Opened, to: &Opened| Leak::between(manifest, from, to, &roots.known).and_then(|leak| leak.check(stop).err());
    let mut doomed = doomed(action, opened, contents.first().and_then(Option::as_deref), first.as_deref(), hides, leaks);
    if let Action::CopyFile(_) | Action::MoveFile(_) = action {
        let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let (arriving, digests) = arriving(manifest, opened, stop);
        contents.extend(digests);
        return Preview { contents, before: text(second), after: text(first), arriving, doomed, ..Preview::default() };
    }
    let text = first.and_then(|bytes| String::from_utf8(bytes).ok());
    let after = match action {
        Action::WriteFile(write) => String::from_utf8(write.content.clone()).ok().map(|new| match write.mode {
            WriteMode::Append => text.clone().unwrap_or_default() + &new,
            WriteMode::Overwrite | WriteMode::Create => new,
        }),
        Action::EditFile(edit) => match opened.first().map(|opened| apply(&numbered(&edit.edits), opened, SHOWN, Bytes(0), hides)) {
            Some(Ok((_, new))) => Some(new),
            // A larger file is edited by its own limit, and not shown.
            Some(Err(failure)) if failure.0.code != Code::FileTooLarge => {
                doomed = Some(failure);
                None
            }
            _ => None,
        },
        _ => None,
    };
    Preview { contents, before: text, after, doomed, ..Preview::default() }
}

/// The texts before and after the edits of each file; none for one that is too long to be shown, and edited by its own limit.
fn files(
    action: &EditFiles,
    opened: &[Opened],
    shown: impl Iterator<Item = Option<Vec<u8>>>,
    hides: bool,
) -> Result<Vec<Option<Texts>>, Failure> {
    let files = action.files().into_iter().zip(opened).zip(shown);
    let texts = files.map(|(((_, edits), opened), bytes)| {
        regular(opened)?;
        let Some(bytes) = bytes else { return Ok(None) };
        let before = String::from_utf8(bytes.clone()).unwrap_or_default();
        let (_, after) = apply_to(&edits, &opened.target, bytes, SHOWN, Bytes(0), hides)?;
        Ok(Some(Texts { before, after }))
    });
    texts.collect()
}

fn numbered(edits: &[Edit]) -> Vec<(usize, &Edit)> {
    edits.iter().enumerate().collect()
}

/// How an action will fail on what was opened: no approval is asked for what cannot be done. `content`: the present one, where it is not too
/// long to be shown. `hides`: the manifest masks secrets. `leaks`: why the first may not come to the second, where programs would read it past the
/// masks.
fn doomed(
    action: &Action,
    opened: &[Opened],
    sha256: Option<&str>,
    content: Option<&[u8]>,
    hides: bool,
    leaks: impl Fn(&Opened, &Opened) -> Option<Failure>,
) -> Option<Failure> {
    let (first, second) = (opened.first()?, opened.get(1));
    let kind = first.fact.kind;
    match action {
        Action::WriteFile(write) => {
            if let Err(failure) = reachable(first) {
                return Some(failure);
            }
            if let Some(expected) = write.expected_sha256.as_deref() {
                let names = content.filter(|_| hides).map(secrets_in_any_encoding).unwrap_or_default();
                if !names.is_empty() {
                    return Some(no_digest(&first.target, &names));
                }
                // Whether a longer file holds secrets is found when it is written.
                let tells = !hides || content.is_some();
                if kind == Kind::Absent || tells && sha256.is_some_and(|now| now != expected) {
                    return Some(unexpected(&first.target, kind != Kind::Absent));
                }
            }
            masks_in_the_way(write, content.filter(|_| hides)?, &first.target)
        }
        Action::MoveFile(_) => {
            let to = second?;
            is_replacing(first, to).and_then(|_| reachable(to)).err().or_else(|| leaks(first, to))
        }
        Action::CopyFile(_) => {
            let to = second?;
            copyable(first, to).err().or_else(|| leaks(first, to))
        }
        Action::DeleteFile(_) if kind == Kind::Absent => Some(missing(&first.target)),
        Action::DeleteFile(delete) if kind == Kind::Directory && !delete.recursive => (!is_empty(first)).then(|| not_empty(&first.target)),
        _ => None,
    }
}

fn is_empty(folder: &Opened) -> bool {
    let entries = folder.object.as_ref().and_then(|object| Dir::read_from(open_folder(object).ok()?).ok());
    // What cannot be read is left to the deletion itself.
    entries.is_none_or(|entries| entries.flatten().all(|entry| matches!(entry.file_name().to_bytes(), b"." | b"..")))
}

/// The content of one target.
struct Content {
    sha256: String,
    /// All of it, where it is not too long to be shown.
    shown: Option<Vec<u8>>,
}

/// Whether the action takes or gives a name of one root and does nothing with the content, which then runs for no other program.
fn is_by_name_alone(action: &Action, opened: &[Opened], manifest: &Manifest) -> bool {
    let is_renamed =
        matches!((action, opened), (Action::MoveFile(_), [from, to]) if from.target.root == to.target.root && !is_arriving(manifest, to));
    is_renamed || matches!(action, Action::DeleteFile(_))
}

/// The present content of a file; none for what is no file or may not be read.
///
/// # Errors
/// `timeout`, `cancelled`
fn present(opened: &Opened, stop: &Stop) -> Result<Option<Content>, Failure> {
    // A second name may be one that is denied; what is protected is shown to nobody.
    if opened.fact.kind != Kind::File || opened.fact.names != 1 || opened.fact.protected {
        return Ok(None);
    }
    let Some(Ok(file)) = opened.object.as_ref().map(open_file) else { return Ok(None) };
    match read_whole(&file, opened.fact.size, SHOWN) {
        Ok(Whole::Bytes(bytes)) => Ok(Some(Content { sha256: digest(&bytes), shown: Some(bytes) })),
        Ok(Whole::TooLarge) => {
            let sha256 = digest_whole(&file, || {
                stop.check()?;
                if !stop.is_late() {
                    return Ok(());
                }
                let what = format!("`{}` could not be read whole in the time of a call, so nobody could be asked about it", opened.target);
                Err(Failure::new(Code::Timeout, what).hint("split it, or ask the operator for a longer `timeout`"))
            })?;
            Ok(sha256.map(|sha256| Content { sha256, shown: None }))
        }
        Err(_) => Ok(None),
    }
}
