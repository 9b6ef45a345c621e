//! The content of a PDF page, reduced to the text it shows.
//!
//! The parser draws every form at the origin of the page, reads pictures as if they were forms, and breaks on colour spaces that it does not
//! know. So a page keeps its instructions about text alone: the instructions of a form stand where it is drawn, and all others are left out.

use pdf_extract::content::{Content, Operation};
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream, dictionary};

/// Leaves a page its text alone. Returns whether a part of that is missing for its size or depth. None where the page cannot be read.
pub(super) fn keep_text(document: &mut Document, page: ObjectId) -> Option<bool> {
    let resources = inherited(document, page, b"Resources").and_then(|found| found.as_dict().ok()).cloned().unwrap_or_default();
    let mut text = Text { document, operations: Vec::new(), fonts: Dictionary::new(), left: MOST_OPERATIONS, is_cut: false };
    text.add(Content::decode(&document.get_page_content(page).ok()?).ok()?, &resources, DEEPEST);
    let Text { operations, fonts, is_cut, .. } = text;
    let content = Stream::new(Dictionary::new(), Content { operations }.encode().ok()?);
    let content = document.add_object(content);
    let page = document.get_object_mut(page).and_then(Object::as_dict_mut).ok()?;
    page.set("Contents", content);
    page.set("Resources", dictionary! { "Font" => fonts });
    Some(is_cut)
}

/// What a page has under a key, or a node of the page tree above it.
pub(super) fn inherited<'d>(document: &'d Document, page: ObjectId, key: &[u8]) -> Option<&'d Object> {
    let mut node = document.get_dictionary(page).ok()?;
    for _ in 0..MOST_ABOVE {
        if let Ok(found) = node.get_deref(key, document) {
            return Some(found);
        }
        node = node.get_deref(b"Parent", document).and_then(Object::as_dict).ok()?;
    }
    None
}

/// The instructions of a page that show text, with those of its forms.
struct Text<'d> {
    document: &'d Document,
    operations: Vec<Operation>,
    fonts: Dictionary,
    /// How many more instructions are read.
    left: usize,
    /// Too much was met, and nothing is added any more.
    is_cut: bool,
}

impl Text<'_> {
    /// Adds the instructions of a page or a form, of which forms are drawn down to `depth`.
    fn add(&mut self, content: Content<Vec<Operation>>, resources: &Dictionary, depth: usize) {
        let mut saved = 0_usize;
        for operation in content.operations {
            match operation.operator.as_str() {
                "q" => saved += 1,
                // A form cannot restore a state that was saved outside of it.
                "Q" if saved == 0 => continue,
                "Q" => saved -= 1,
                "cm" | "BT" | "ET" | "Tc" | "Tw" | "Tz" | "TL" | "Tf" | "Ts" | "Td" | "TD" | "Tm" | "T*" | "Tj" | "TJ" | "'" | "\""
                | "Do" => {}
                _ => continue,
            }
            self.is_cut |= self.left == 0 || depth == 0;
            if self.is_cut {
                break;
            }
            self.left -= 1;
            match operation.operator.as_str() {
                "Tf" => self.set_font(operation, resources),
                "Do" => self.draw(&operation, resources, depth - 1),
                "'" | "\"" => self.show_on_next_line(operation),
                _ => self.operations.push(operation),
            }
        }
        self.operations.extend((0..saved).map(|_| Operation::new("Q", Vec::new())));
    }

    /// Adds a form in its place; a picture is nothing.
    fn draw(&mut self, operation: &Operation, resources: &Dictionary, depth: usize) {
        let document = self.document;
        let forms = resources.get_deref(b"XObject", document).and_then(Object::as_dict);
        let name = operation.operands.first().and_then(|name| name.as_name().ok()).unwrap_or_default();
        let Ok(form) = forms.and_then(|forms| forms.get_deref(name, document)).and_then(Object::as_stream) else { return };
        if !form.dict.get_deref(b"Subtype", document).and_then(Object::as_name).is_ok_and(|kind| kind == b"Form") {
            return;
        }
        let Ok(content) = Content::decode(&form.get_plain_content().unwrap_or_else(|_| form.content.clone())) else { return };
        self.operations.push(Operation::new("q", Vec::new()));
        if let Ok(matrix) = form.dict.get_deref(b"Matrix", document).and_then(Object::as_array)
            && matrix.len() == 6
            && matrix.iter().all(|number| number.as_float().is_ok())
        {
            self.operations.push(Operation::new("cm", matrix.clone()));
        }
        // A form without resources uses those around it.
        let own = form.dict.get_deref(b"Resources", document).and_then(Object::as_dict).unwrap_or(resources);
        self.add(content, own, depth);
        self.operations.push(Operation::new("Q", Vec::new()));
    }

    /// Sets a font under a name that is its own on the whole page: each form may name another by the same. A font that is missing is not set.
    fn set_font(&mut self, mut operation: Operation, resources: &Dictionary) {
        let fonts = resources.get_deref(b"Font", self.document).and_then(Object::as_dict);
        if let Some(Object::Name(name)) = operation.operands.first_mut()
            && let Ok(font) = fonts.and_then(|fonts| fonts.get_deref(name, self.document))
        {
            *name = format!("{font:p}").into_bytes();
            if !self.fonts.has(name) {
                self.fonts.set(name.clone(), font.clone());
            }
            self.operations.push(operation);
        }
    }

    /// Adds an instruction that begins a line and shows a text at once (ISO 32000-2, section 9.4.3), which the parser does not know.
    fn show_on_next_line(&mut self, mut operation: Operation) {
        let text = operation.operands.pop();
        let spaces = ["Tw", "Tc"].into_iter().zip(operation.operands);
        self.operations.extend(spaces.map(|(name, space)| Operation::new(name, vec![space])));
        self.operations.push(Operation::new("T*", Vec::new()));
        self.operations.push(Operation::new("Tj", text.into_iter().collect()));
    }
}

/// Nodes above a page that are looked at for what it inherits.
const MOST_ABOVE: usize = 32;
/// Instructions about text that are read of one page.
const MOST_OPERATIONS: usize = 1 << 20;
/// Forms in forms that are drawn.
const DEEPEST: usize = 32;
