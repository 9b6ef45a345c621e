//! The texts that a page of a PDF file has in its annotations (ISO 32000-2, section 12.5): notes, remarks on passages, boxes of text.

use std::collections::HashSet;
use std::fmt::Write as _;

use pdf_extract::{Dictionary, Document, Object, ObjectId, decode_text_string};

/// What the annotations of a page say.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// What a viewer shows, on the page or when its sign is touched: a paragraph each, said to be a note.
    pub(super) shown: String,
    /// What it does not show.
    pub(super) hidden: String,
}

/// Reads the annotations of a page, at most [`MOST`] of them.
pub(super) fn of_page(document: &Document, page: ObjectId) -> Notes {
    let mut notes = Notes::default();
    let list = document.get_dictionary(page).and_then(|page| page.get_deref(b"Annots", document)).and_then(Object::as_array);
    // A pop-up is the window of another one, and repeats what that says.
    let mut said = HashSet::new();
    for annotation in list.into_iter().flatten().take(MOST) {
        let Ok(annotation) = document.dereference(annotation).and_then(|(_, found)| found.as_dict()) else { continue };
        let Some(text) = text_of(document, annotation).filter(|text| said.insert(text.clone())) else { continue };
        let flags = annotation.get_deref(b"F", document).and_then(Object::as_i64).unwrap_or(0);
        let to = if flags & (HIDDEN | NO_VIEW) == 0 { &mut notes.shown } else { &mut notes.hidden };
        // Writing to a String cannot fail.
        let _ = if flags & (HIDDEN | NO_VIEW) == 0 { write!(to, "\n\n[note: {text}]\n") } else { write!(to, "\n{text}\n") };
    }
    notes
}

/// The text of an annotation, as one that is read aloud would be.
fn text_of(document: &Document, annotation: &Dictionary) -> Option<String> {
    let contents =
        annotation.get_deref(b"Contents", document).ok().filter(|contents| contents.as_str().is_ok_and(|bytes| bytes.len() <= LONGEST))?;
    let text = decode_text_string(contents).ok()?.replace("\r\n", "\n").replace('\r', "\n");
    let text = text.trim();
    text.contains(char::is_alphanumeric).then(|| text.to_owned())
}

/// Annotations of one page that are read, and bytes of one text.
const MOST: usize = 1000;
const LONGEST: usize = 64 * 1024;

/// Flags of an annotation (ISO 32000-2, table 167).
const HIDDEN: i64 = 1 << 1;
const NO_VIEW: i64 = 1 << 5;
