//! What a person is shown of a change before they are asked: the present content of the judged object, and what it would become. No effect.

use super::content::{Whole, digest, read_whole};
use super::passages::Passages;
use super::resolve::open_file;
use crate::gate::Preview;
use crate::model::{Action, Bytes, Kind, Opened, WriteMode};

/// Contents above this are bound by size and time alone and not shown.
const SHOWN: Bytes = Bytes::mib(4);

/// The preview of an action on what was opened.
pub(in crate::sandbox) fn preview(action: &Action, opened: &[Opened]) -> Preview {
    let before = opened.first().and_then(present);
    let sha256 = before.as_deref().map(digest);
    let text = before.and_then(|bytes| String::from_utf8(bytes).ok());
    let after = match action {
        Action::WriteFile(write) => String::from_utf8(write.content.clone()).ok().map(|new| match write.mode {
            WriteMode::Append => text.clone().unwrap_or_default() + &new,
            WriteMode::Overwrite | WriteMode::Create => new,
        }),
        Action::EditFile(edit) => text.clone().map(|old| {
            // An edit that will fail changes nothing, and is shown as that.
            let applied = edit.edits.iter().try_fold(old.clone(), |text, edit| {
                Passages::find(&text, &edit.old_text, edit.replace_all).map(|passages| passages.replace(&edit.new_text))
            });
            applied.unwrap_or(old)
        }),
        _ => None,
    };
    Preview { sha256, before: text, after }
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
