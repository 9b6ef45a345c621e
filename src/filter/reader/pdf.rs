//! The text of a PDF file.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream, output_doc_page};

use super::Article;
use super::pdf_sight::{Area, Sight, signalling};

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
    for object in document.objects.values_mut() {
        if let Object::Stream(stream) = object {
            prepare(stream, key);
        }
    }
    let (mut any, mut lost) = (false, false);
    for (number, id) in pages {
        let read = catch_unwind(AssertUnwindSafe(|| {
            if let Ok(content) = document.get_page_content(id)
                && let Some(content) = signalling(&content, key)
            {
                let content = document.add_object(Stream::new(Dictionary::new(), content));
                if let Ok(page) = document.get_object_mut(id).and_then(Object::as_dict_mut) {
                    page.set("Contents", content);
                }
            }
            let mut sight = Sight::new(key, shown_area(&document, id));
            output_doc_page(&document, &mut sight, number).ok().map(|()| sight.finished())
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

/// Makes a form say what it does to the graphics state, and takes the bytes of pictures away, which hold no text.
fn prepare(stream: &mut Stream, key: i64) {
    let is = |stream: &Stream, name: &[u8]| stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|subtype| subtype == name);
    let content = if is(stream, b"Image") {
        Some(Vec::new())
    } else if is(stream, b"Form") {
        let content = if stream.filters().is_ok() { stream.decompressed_content().ok() } else { Some(stream.content.clone()) };
        content.and_then(|content| signalling(&content, key))
    } else {
        None
    };
    if let Some(content) = content {
        stream.dict.remove(b"Filter");
        stream.dict.remove(b"DecodeParms");
        stream.set_content(content);
    }
}

/// The part of a page that viewers show (ISO 32000-2, section 14.11.2): its crop box, where it has one.
fn shown_area(document: &Document, page: ObjectId) -> Option<Area> {
    let mut at = document.get_dictionary(page).ok()?;
    for _ in 0..MOST_ABOVE {
        if let Ok(found) = at.get_deref(b"CropBox", document).and_then(Object::as_array) {
            let numbers: Vec<f64> = found.iter().filter_map(|number| number.as_float().ok().map(f64::from)).collect();
            let [left, bottom, right, top] = numbers.as_slice() else { return None };
            return Some(Area::of([(*left, *bottom), (*right, *top)]));
        }
        at = at.get_deref(b"Parent", document).and_then(Object::as_dict).ok()?;
    }
    None
}

/// Nodes above a page that are looked at for its crop box.
const MOST_ABOVE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// A PDF file of pages with one line each; its table of objects is right.
    fn pdf(lines: &[&str]) -> Vec<u8> {
        let kids = (0..lines.len()).fold(String::new(), |kids, page| kids + &format!("{} 0 R ", 4 + page * 2));
        let mut objects = vec![
            "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
            format!("<</Type/Pages/Kids[{kids}]/Count {}>>", lines.len()),
            "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[1/fi/fl/ff/ffi/ffl]>>>>"
                .to_owned(),
        ];
        for (page, line) in lines.iter().enumerate() {
            let stream = if line.contains(" Tj") { (*line).to_owned() } else { format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET") };
            objects.push(format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>",
                5 + page * 2
            ));
            objects.push(format!("<</Length {}>>stream\n{stream}\nendstream", stream.len()));
        }
        let mut file = b"%PDF-1.4\n".to_vec();
        let mut places = Vec::new();
        for (number, object) in objects.iter().enumerate() {
            places.push(file.len());
            file.extend_from_slice(format!("{} 0 obj\n{object}\nendobj\n", number + 1).as_bytes());
        }
        let table = file.len();
        file.extend_from_slice(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).as_bytes());
        for place in places {
            file.extend_from_slice(format!("{place:010} 00000 n \n").as_bytes());
        }
        file.extend_from_slice(format!("trailer<</Size {}/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1).as_bytes());
        file
    }

    fn whole(file: &[u8]) -> Result<Article, &'static str> {
        let mut whole = Article::default();
        read_pdf(file, |page| join_page(&mut whole, &page)).map(|()| whole)
    }

    #[test]
    fn what_nobody_can_see_is_hidden_text() {
        let seen = "BT /F1 12 Tf 72 720 Td (seen) Tj ET";
        let text = |at: &str| format!("BT /F1 12 Tf {at} Td (secret) Tj ET");
        let dark = "0 g 60 400 200 100 re f 1 g";
        let rows = [
            (format!("q 3 Tr {} Q", text("72 500")), false),
            (format!("3 Tr q {} Q", text("72 500")), false),
            (format!("q 7 Tr Q {}", text("72 500")), true),
            (format!("1 g {}", text("72 500")), false),
            (format!("1 1 1 rg {}", text("72 500")), false),
            (format!("0 0 0 0 k {}", text("72 500")), false),
            (format!("/DeviceRGB cs 0.99 1 1 sc {}", text("72 500")), false),
            (format!("/DeviceGray cs {}", text("72 500")), true),
            (format!("q 1 g Q {}", text("72 500")), true),
            (format!("0.5 g {}", text("72 500")), true),
            (format!("{dark} {}", text("72 440")), true),
            (format!("{dark} {}", text("72 600")), false),
            (format!("{dark} 60 400 200 100 re f {}", text("72 440")), false),
            (format!("1 g 0 0 612 792 re f* 0 g {}", text("72 440")), true),
            ("BT /F1 0.1 Tf 72 500 Td (secret) Tj ET".to_owned(), false),
            ("BT /F1 1 Tf 0.1 0 0 0.1 72 500 Tm (secret) Tj ET".to_owned(), false),
            ("BT /F1 1 Tf 9 0 0 9 72 500 Tm (secret) Tj ET".to_owned(), true),
            ("BT /F1 1 Tf 0 9 -9 0 72 500 Tm (secret) Tj ET".to_owned(), true),
            (text("700 500"), false),
            (text("72 -50"), false),
            (text("72 5000"), false),
            ("BT /F1 12 Tf 14 TL 72 520 Td (secret) ' ET".to_owned(), true),
        ];
        for (content, shown) in rows {
            // The order of the two is that of the file; its state at the end of one is that of the next.
            let read = whole(&pdf(&[&format!("q {content} Q {seen}")])).unwrap();
            let expected = if shown { ("secret seen", "") } else { ("seen", "secret") };
            let words = read.markdown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!((words.as_str(), read.hidden.as_str()), expected, "{content}");
        }
    }

    #[test]
    fn ligatures_are_letters() {
        let file = pdf(&["BT /F1 12 Tf 72 720 Td (\\001ve \\002ies o\\003 e\\004cient ba\\005e) Tj ET"]);
        assert_eq!(whole(&file).unwrap().markdown, "five flies off efficient baffle\n");
    }

    #[test]
    fn a_broken_page_costs_itself_alone() {
        let read = whole(&pdf(&["one", "BT /None 12 Tf 72 720 Td (lost) Tj ET", "three"])).unwrap();
        assert_eq!((read.markdown.as_str(), read.truncated), ("one\n\nthree\n", true));
    }

    #[test]
    fn pages_give_their_text_in_order() {
        let read = whole(&pdf(&["The river rose.", "Nobody slept."]));
        assert_eq!(read.map(|article| article.markdown), Ok("The river rose.\n\nNobody slept.\n".to_owned()));
    }

    #[test]
    fn what_is_no_pdf_or_has_no_text_says_so() {
        assert_eq!(whole(b"%PDF-1.4\nnonsense"), Err("it is encrypted, broken, or no PDF file"));
        assert_eq!(whole(&pdf(&[""])), Err("it holds no text, only pictures of it"));
    }
}
