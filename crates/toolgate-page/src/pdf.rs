//! The text of a PDF file.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, MediaBox, Object, ObjectId, decode_text_string, output_doc_page};

use super::Article;
use super::pdf_content::{inherited, keep_text};
use super::pdf_layout::Layout;

/// Reads the text of every page, in the order of the pages, and gives each to `found` as soon as it is read. A page that the parser breaks on
/// is an empty one, and `truncated`, as is one of which a part is left out for its size.
///
/// All text on the page is given, whatever its colour and render mode and whatever covers it; what is off the page or too small to be read is not.
///
/// # Errors
/// Why there is no text, as the end of a sentence.
pub fn read_pdf(bytes: &[u8], mut found: impl FnMut(Article)) -> Result<(), &'static str> {
    let broken = "it is encrypted, broken, or no PDF file";
    let mut document = Document::load_mem(bytes).map_err(|_| broken)?;
    if document.is_encrypted() {
        document.decrypt("").map_err(|_| broken)?;
    }
    let pages = document.get_pages();
    if pages.is_empty() {
        return Err(broken);
    }
    let (mut any, mut lost) = (false, false);
    for (number, id) in pages {
        let page = catch_unwind(AssertUnwindSafe(|| read_page(&mut document, number, id)));
        let page = page.ok().flatten().unwrap_or_else(|| Article { truncated: true, ..Article::default() });
        any |= !page.text.is_empty();
        lost |= page.truncated;
        if page != Article::default() {
            found(page);
        }
    }
    match (any, lost) {
        (true, _) => Ok(()),
        (false, true) => Err("its pages are broken"),
        (false, false) => Err("it holds no text, only pictures of it"),
    }
}

/// Adds the next page to what was read of a file before it.
pub fn join_page(whole: &mut Article, page: &Article) {
    if !whole.text.is_empty() && !page.text.is_empty() {
        whole.text.push('\n');
    }
    whole.text.push_str(&page.text);
    whole.truncated |= page.truncated;
}

/// Reads one page. None where it is broken.
fn read_page(document: &mut Document, number: u32, page: ObjectId) -> Option<Article> {
    let crop = inherited(document, page, b"CropBox").and_then(rectangle);
    let notes = notes(document, page);
    let truncated = keep_text(document, page)?;
    let mut layout = Layout::new(crop);
    output_doc_page(document, &mut layout, number).ok()?;
    Some(Article { text: tidy(&(layout.text + &notes)), truncated, ..Article::default() })
}

/// A rectangle of four numbers (ISO 32000-2, section 7.9.5).
fn rectangle(object: &Object) -> Option<MediaBox> {
    let sides: Vec<f64> = object.as_array().ok()?.iter().filter_map(|side| side.as_float().ok().map(f64::from)).collect();
    let [llx, lly, urx, ury] = *sides.as_slice() else { return None };
    Some(MediaBox { llx, lly, urx, ury })
}

/// What the annotations of a page say that a viewer shows (ISO 32000-2, section 12.5): a paragraph each, said to be a note.
fn notes(document: &Document, page: ObjectId) -> String {
    let list = document.get_dictionary(page).and_then(|page| page.get_deref(b"Annots", document)).and_then(Object::as_array);
    // A pop-up is the window of another annotation and repeats its text.
    let mut seen = HashSet::new();
    let texts = list.into_iter().flatten().take(MOST_NOTES).filter_map(|annotation| note(document, annotation));
    let texts = texts.filter(|text| seen.insert(text.clone()));
    texts.map(|text| format!("\n\n[note: {text}]\n")).collect::<Vec<_>>().concat()
}

fn note(document: &Document, annotation: &Object) -> Option<String> {
    let annotation = document.dereference(annotation).ok()?.1.as_dict().ok()?;
    if annotation.get_deref(b"F", document).and_then(Object::as_i64).unwrap_or(0) & UNSEEN != 0 {
        return None;
    }
    let contents = annotation.get_deref(b"Contents", document).ok()?;
    let contents = contents.as_str().is_ok_and(|bytes| bytes.len() <= LONGEST_NOTE).then(|| decode_text_string(contents).ok())??;
    let text = contents.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned();
    text.contains(char::is_alphanumeric).then_some(text)
}

/// Lines without white space at their ends, and one empty line at most between them.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = true;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() && empty {
            continue;
        }
        empty = line.is_empty();
        out.push_str(line);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Annotations of one page that are read, and bytes of one text.
const MOST_NOTES: usize = 1000;
const LONGEST_NOTE: usize = 64 * 1024;
/// The flags Hidden and `NoView` of an annotation (ISO 32000-2, table 167).
const UNSEEN: i64 = 1 << 1 | 1 << 5;
