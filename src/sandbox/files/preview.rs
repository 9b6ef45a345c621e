//! What a person is shown of a change before they are asked: the present content of the judged object, and what it would become. No effect.

use rustix::fs::Dir;

use super::content::{digest, digest_whole, read_whole};
use super::copy::copyable;
use super::edit::apply_to;
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
use crate::gate::Opened;
use crate::gate::{Preview, Texts};
use crate::manifest::Manifest;
use crate::model::{Action, Bytes, Code, Edit, Failure, Kind, WriteMode};
use crate::policy::later::pattern_of;

/// Contents above this are not shown.
const SHOWN: Bytes = Bytes::mib(4);

/// The preview of an action on what was opened. Contents are read whole, however long they are; one that cannot be read in time dooms the call,
/// for nobody could say what was approved.
pub(in crate::sandbox) fn preview(roots: &Roots, action: &Action, opened: &[Opened], stop: &Stop, manifest: &Manifest) -> Preview {
    let mut contents = Vec::new();
    let made = make(roots, action, opened, stop, manifest, &mut contents);
    let preview = made.unwrap_or_else(|failure| Preview { doomed: Some(failure), ..Preview::default() });
    Preview { contents, ..preview }
}

/// All of it but the digests, which `contents` takes as they are made.
fn make(
    roots: &Roots,
    action: &Action,
    opened: &[Opened],
    stop: &Stop,
    manifest: &Manifest,
    contents: &mut Vec<Option<String>>,
) -> Result<Preview, Failure> {
    let hides = manifest.filters.hides_secrets();
    if let Action::EditFiles(_) = action {
        several(opened)?;
    }
    let mut shown = Vec::new();
    for one in opened {
        let content = match present(one, stop) {
            // What is only renamed or removed is bound by which object it is, and when it changed last.
            Err(failure) if failure.0.code == Code::Timeout && is_by_name_alone(action, opened, manifest) => Content::default(),
            content => content?,
        };
        contents.push(content.sha256);
        shown.push(content.shown);
    }
    if let Action::EditFiles(edit) = action {
        let files = edit.files().into_iter().zip(opened).zip(shown);
        let files = files.map(|(((_, edits), opened), bytes)| texts(&edits, opened, bytes, hides)).collect::<Result<_, _>>()?;
        return Ok(Preview { files, ..Preview::default() });
    }
    let mut shown = shown.into_iter();
    let (first, second) = (shown.next().flatten(), shown.next().flatten());
    let leaks = |from: &Opened, to: &Opened| Leak::between(manifest, from, to, &roots.known).and_then(|leak| leak.check(stop).err());
    let doomed = doomed(action, opened, contents.first().and_then(Option::as_deref), first.as_deref(), hides, leaks);
    let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(match action {
        Action::CopyFile(_) | Action::MoveFile(_) => Preview { before: text(second), after: text(first), doomed, ..Preview::default() },
        Action::WriteFile(write) => {
            let before = text(first);
            let after = String::from_utf8(write.content.clone()).ok().map(|new| match write.mode {
                WriteMode::Append => before.clone().unwrap_or_default() + &new,
                WriteMode::Overwrite | WriteMode::Create => new,
            });
            Preview { before, after, doomed, ..Preview::default() }
        }
        _ => Preview { before: text(first), doomed, ..Preview::default() },
    })
}

/// The texts before and after the edits of a file; none for one that is too long to be shown, and edited by its own limit.
fn texts(edits: &[(usize, &Edit)], opened: &Opened, bytes: Option<Vec<u8>>, hides: bool) -> Result<Option<Texts>, Failure> {
    regular(opened)?;
    let Some(bytes) = bytes else { return Ok(None) };
    let before = String::from_utf8_lossy(&bytes).into_owned();
    match apply_to(edits, &opened.target, bytes, SHOWN, Bytes(0), hides) {
        Ok((_, after)) => Ok(Some(Texts { before, after })),
        Err(failure) if failure.0.code == Code::FileTooLarge => Ok(None),
        Err(failure) => Err(failure),
    }
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

/// The content of one target, where it is a file that may be read.
#[derive(Default)]
struct Content {
    sha256: Option<String>,
    /// All of it, where it is not too long to be shown.
    shown: Option<Vec<u8>>,
}

/// Whether the action takes or gives a name of one root and does nothing with the content, which then runs for no other program.
fn is_by_name_alone(action: &Action, opened: &[Opened], manifest: &Manifest) -> bool {
    let runs_later =
        |to: &Opened| [&to.target.path, to.path()].into_iter().any(|path| pattern_of(manifest, &to.target.root, path).is_some());
    let is_renamed = matches!((action, opened), (Action::MoveFile(_), [from, to]) if from.target.root == to.target.root && !runs_later(to));
    is_renamed || matches!(action, Action::DeleteFile(_))
}

/// The present content of what was opened.
///
/// # Errors
/// `timeout`, `cancelled`
fn present(opened: &Opened, stop: &Stop) -> Result<Content, Failure> {
    // A second name may be one that is denied; what is protected is shown to nobody.
    let is_readable = opened.fact.kind == Kind::File && opened.fact.names == 1 && !opened.fact.protected;
    let Some(Ok(file)) = opened.object.as_ref().filter(|_| is_readable).map(open_file) else { return Ok(Content::default()) };
    if let Some(shown) = read_whole(&file, opened.fact.size, SHOWN).ok().flatten() {
        return Ok(Content { sha256: Some(digest(&shown)), shown: Some(shown) });
    }
    let sha256 = digest_whole(&file, || {
        stop.check()?;
        if !stop.is_late() {
            return Ok(());
        }
        let what = format!("`{}` could not be read whole in time, so no person could be asked about it", opened.target);
        Err(Failure::new(Code::Timeout, what).hint("split it, or ask the operator for a longer `timeout`"))
    })?;
    Ok(Content { sha256, shown: None })
}
