//! Which text a file is read and searched as, where that is not its bytes: the cells of a notebook, or what an encoding other than UTF-8 says.

use super::content::{Form, is_binary};
use super::encoding::decoded;
use super::notebook;
use crate::model::RelPath;

/// The text of a whole content; none where it is read as it is, or is no text.
pub(super) fn text_of(path: &RelPath, bytes: &[u8]) -> Option<(String, Form)> {
    if is_notebook(path)
        && let Some(cells) = notebook::cells(bytes)
    {
        return Some((cells, Form::Notebook));
    }
    if !is_binary(bytes) && std::str::from_utf8(bytes).is_ok() {
        return None;
    }
    decoded(bytes).map(|decoded| (decoded.text, Form::Decoded { encoding: decoded.encoding, broken: decoded.broken }))
}

/// Whether a file is read as its cells, by its name.
pub(super) fn is_notebook(path: &RelPath) -> bool {
    let name = path.segments().last().map(String::as_str).unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("ipynb"))
}

/// Whether bytes begin as a PDF file does (ISO 32000-2, section 7.5.2).
pub(super) fn is_pdf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"%PDF-")
}
