//! The text of a PDF file.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream, output_doc_page};

use super::Article;
use super::pdf_color::{numbers, plain};
use super::pdf_notes;
use super::pdf_script::{self, Scope, Script, layers_off};
use super::pdf_sight::{Area, Sight};

/// Reads the text of every page, in the order of the pages, and hands each to `found` as soon as it is read. What nobody can see of a page is
/// its hidden text. A page that the parser breaks on is left out.
///
/// # Errors
/// Why there is no text, as the end of a sentence.
pub fn read_pdf(bytes: &[u8], mut found: impl FnMut(Article)) -> Result<(), &'static str> {
    let broken = "it is encrypted, broken, or no PDF file";
    let mut document = Document::load_mem(bytes).map_err(|_| broken)?;
    if document.is_encrypted() {
        document.decrypt("").map_err(|_| broken)?;
    }
    // No file knows it, so none can write signals of its own.
    let key = i64::try_from(RandomState::new().hash_one(bytes) >> 32).unwrap_or_default();
    let pages = document.get_pages();
    if pages.is_empty() {
        return Err(broken);
    }
    let off = layers_off(&document);
    let mut forms = HashSet::new();
    let (mut any, mut lost) = (false, false);
    for (number, id) in pages {
        let read = catch_unwind(AssertUnwindSafe(|| {
            let notes = pdf_notes::of_page(&document, id);
            prepare(&mut document, id, &mut forms, &off, key);
            let mut sight = Sight::new(key, shown_area(&document, id));
            output_doc_page(&document, &mut sight, number).ok().map(|()| {
                let (text, hidden) = sight.finished();
                (text + &notes.shown, hidden + &notes.hidden)
            })
        }));
        let Ok(Some((text, hidden))) = read else {
            lost = true;
            continue;
        };
        let markdown = tidy(&text);
        if !markdown.is_empty() || !hidden.is_empty() {
            any |= !markdown.is_empty();
            found(Article { markdown, hidden, truncated: std::mem::take(&mut lost), ..Article::default() });
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
    for (whole, page) in [(&mut whole.markdown, &page.markdown), (&mut whole.hidden, &page.hidden)] {
        if !whole.is_empty() && !page.is_empty() {
            whole.push('\n');
        }
        whole.push_str(page);
    }
    whole.truncated |= page.truncated;
}

/// Lines without what stands at their ends, and one empty line at most between them.
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

/// Rewrites a page and the forms it draws, so that they say what they do to the graphics state. `done`: the forms of pages before it.
fn prepare(document: &mut Document, page: ObjectId, done: &mut HashSet<ObjectId>, off: &HashSet<ObjectId>, key: i64) {
    let resources = inherited(document, page, b"Resources").and_then(|found| found.as_dict().ok()).cloned().unwrap_or_default();
    let Ok(content) = document.get_page_content(page) else { return };
    let Some(script) = pdf_script::page(Scope { document, resources: &resources, off, key }, &content) else { return };
    let resources = Rc::new(resources);
    let mut drawn: Vec<_> = script.forms.iter().map(|form| (*form, Rc::clone(&resources))).collect();
    let fonts = with_fonts(document, &resources, &script);
    let content = document.add_object(Stream::new(Dictionary::new(), script.content));
    if let Ok(page) = document.get_object_mut(page).and_then(Object::as_dict_mut) {
        page.set("Contents", content);
        if let Some(fonts) = fonts {
            page.set("Resources", fonts);
        }
    }
    while let Some((id, around)) = drawn.pop() {
        let Some(form) = document.get_object(id).and_then(Object::as_stream).ok().filter(|_| done.insert(id)) else { continue };
        // A form without resources uses those of the page.
        let own = form.dict.get_deref(b"Resources", document).and_then(Object::as_dict).ok();
        let resources = own.map_or(around, |own| Rc::new(own.clone()));
        let scope = Scope { document, resources: &resources, off, key };
        let script = pdf_script::form(scope, &plain(form), &form.dict);
        let fonts = script.as_ref().and_then(|script| with_fonts(document, &resources, script));
        let Ok(form) = document.get_object_mut(id).and_then(Object::as_stream_mut) else { continue };
        form.dict.remove(b"Filter");
        form.dict.remove(b"DecodeParms");
        if let Some(fonts) = fonts {
            form.dict.set("Resources", fonts);
        }
        let Script { content, forms, .. } = script.unwrap_or_default();
        form.set_content(content);
        drawn.extend(forms.into_iter().map(|form| (form, Rc::clone(&resources))));
    }
}

/// The resources with the fonts that a script names besides; None where there are none.
fn with_fonts(document: &Document, resources: &Dictionary, script: &Script) -> Option<Dictionary> {
    if script.fonts.is_empty() {
        return None;
    }
    let mut fonts = resources.get_deref(b"Font", document).and_then(Object::as_dict).cloned().unwrap_or_default();
    for (name, font) in &script.fonts {
        fonts.set(name.clone(), font.clone());
    }
    let mut resources = resources.clone();
    resources.set("Font", fonts);
    Some(resources)
}

/// What a page has under a key, or a node above it.
fn inherited<'d>(document: &'d Document, page: ObjectId, key: &[u8]) -> Option<&'d Object> {
    let mut at = document.get_dictionary(page).ok()?;
    for _ in 0..MOST_ABOVE {
        if let Ok(found) = at.get_deref(key, document) {
            return Some(found);
        }
        at = at.get_deref(b"Parent", document).and_then(Object::as_dict).ok()?;
    }
    None
}

/// The part of a page that viewers show (ISO 32000-2, section 14.11.2): its crop box, where it has one.
fn shown_area(document: &Document, page: ObjectId) -> Option<Area> {
    let found = numbers(inherited(document, page, b"CropBox")?.as_array().ok()?);
    let [left, bottom, right, top] = found.as_slice() else { return None };
    Some(Area::of([(*left, *bottom), (*right, *top)]))
}

/// Nodes above a page that are looked at for what it inherits.
const MOST_ABOVE: usize = 32;
