//! What a person is shown of a change before they are asked: the present content of the judged object, and what it would become. No effect.

use rustix::fs::Dir;

use super::content::{Whole, digest, read_whole};
use super::edit::apply;
use super::fault::missing;
use super::rename::{is_replacing, not_empty};
use super::resolve::{open_file, open_folder};
use super::write::unexpected;
use crate::gate::Preview;
use crate::model::{Action, Bytes, Code, Failure, Kind, Opened, WriteMode};

/// Contents above this are bound by size and time alone and not shown.
const SHOWN: Bytes = Bytes::mib(4);

/// The preview of an action on what was opened.
pub(in crate::sandbox) fn preview(action: &Action, opened: &[Opened]) -> Preview {
    let before = opened.first().and_then(present);
    let sha256 = before.as_deref().map(digest);
    let text = before.and_then(|bytes| String::from_utf8(bytes).ok());
    let mut doomed = doomed(action, opened, sha256.as_deref());
    let after = match action {
        Action::WriteFile(write) => String::from_utf8(write.content.clone()).ok().map(|new| match write.mode {
            WriteMode::Append => text.clone().unwrap_or_default() + &new,
            WriteMode::Overwrite | WriteMode::Create => new,
        }),
        Action::EditFile(edit) => match opened.first().map(|opened| apply(edit, opened, SHOWN, Bytes(0))) {
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
    Preview { sha256, before: text, after, doomed }
}

/// How an action will fail on what was opened: nobody is asked about what cannot be done.
fn doomed(action: &Action, opened: &[Opened], sha256: Option<&str>) -> Option<Failure> {
    let (first, second) = (opened.first()?, opened.get(1));
    let kind = first.fact.kind;
    match action {
        Action::WriteFile(write) => {
            let expected = write.expected_sha256.as_deref()?;
            let differs = kind == Kind::Absent || sha256.is_some_and(|now| now != expected);
            differs.then(|| unexpected(&first.target, kind != Kind::Absent))
        }
        Action::MoveFile(_) => is_replacing(first, second?).err(),
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

fn present(opened: &Opened) -> Option<Vec<u8>> {
    // A second name may be one that is denied; what is protected is shown to nobody.
    if opened.fact.kind != Kind::File || opened.fact.names != 1 || opened.fact.protected {
        return None;
    }
    let name = opened.target.path.segments().last()?;
    let file = open_file(opened.object.as_ref()?, opened.folder.as_ref()?, name.as_str()).ok()?;
    match read_whole(&file, opened.fact.size, SHOWN) {
        Ok(Whole::Bytes(bytes)) => Some(bytes),
        Ok(Whole::TooLarge) | Err(_) => None,
    }
}
