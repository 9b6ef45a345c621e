//! Code that a page shows without `pre`: elements whose style keeps white space, and tables with a line of code in each row.

use super::clean::texts_below;
use super::code::{holders, is_pre, text_of};
use super::dom::{Dom, Element, Id, Kind};
use crate::sheet::{MOST_ABOVE, Sheet, Subject};
use crate::style::Style;

/// The style of an element by the sheets of its page and by its own attribute; `None`: neither says anything of it.
pub(super) fn style_of(dom: &Dom, id: Id, element: &Element, sheet: &Sheet) -> Option<Style> {
    let own = element.attribute("style").unwrap_or_default();
    let above = || dom.ancestors(id).filter_map(|id| dom.element(id)).take(MOST_ABOVE).map(subject).collect();
    sheet.style(subject(element), own, above).map(|(style, _)| style)
}

fn subject(element: &Element) -> Subject<'_> {
    let attribute = |name: &str| element.attribute(name).unwrap_or_default();
    Subject { name: element.name(), id: attribute("id"), class: attribute("class") }
}

/// Makes such elements `pre`. `kept`: the elements whose style keeps white space.
pub(super) fn to_pre(dom: &mut Dom, kept: &[Id]) {
    let structured = holders(dom, |element| STRUCTURE.contains(&element.name()));
    for id in kept {
        let is_text = dom.element(*id).is_some_and(|element| WHITE.contains(&element.name())) && structured.get(*id) == Some(&false);
        let is_within = dom.ancestors(*id).any(|above| dom.element(above).is_some_and(is_pre));
        // Of a label in one line nothing would be lost.
        if is_text && !is_within && text_of(dom, *id).trim().contains(['\n', '\t']) {
            dom.rename(*id, "pre");
        }
    }
    let tables: Vec<Id> = dom.walk().map(|(id, _)| id).filter(|id| is_named(dom, *id, &["table"])).collect();
    for table in tables {
        if let Some(code) = lines_of(dom, table) {
            let text = dom.add(Kind::Text(code));
            let children = dom.children(table).to_vec();
            dom.detach_all(&children);
            dom.attach(text, table);
            dom.rename(table, "pre");
        }
    }
}

/// The code of a table whose rows are its lines, as forges show files and changes. `None`: it is another table.
fn lines_of(dom: &Dom, table: Id) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut pending = vec![table];
    let mut any = false;
    while let Some(id) = pending.pop() {
        if !is_named(dom, id, &["tr"]) {
            pending.extend(dom.children(id).iter().rev());
            continue;
        }
        let cells: Vec<Id> = dom.children(id).iter().copied().filter(|cell| is_named(dom, *cell, &["td", "th"])).collect();
        let is_code =
            |cell: &Id| dom.element(*cell).and_then(|cell| cell.attribute("class")).is_some_and(|class| class.contains("blob-code"));
        let code: Vec<&Id> = cells.iter().filter(|cell| is_code(cell)).collect();
        any |= !code.is_empty();
        let texts = code.iter().map(|cell| {
            let marker = |id: Id| dom.element(id).and_then(|element| element.attribute("data-code-marker"));
            let marker = std::iter::once(**cell).chain(dom.children(**cell).iter().copied()).find_map(marker).unwrap_or_default();
            let text: String = texts_below(dom, **cell).collect();
            format!("{marker}{}", text.trim_end_matches(['\n', '\r']))
        });
        lines.push(texts.collect::<Vec<_>>().join("\t"));
    }
    any.then(|| lines.join("\n") + "\n")
}

fn is_named(dom: &Dom, id: Id, names: &[&str]) -> bool {
    dom.element(id).is_some_and(|element| names.contains(&element.name()))
}

/// Elements that hold text, or its lines.
const WHITE: &[&str] = &["div", "p", "section", "code", "samp", "figure", "output"];

/// What stands in no code.
const STRUCTURE: &[&str] = &[
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "table",
    "ul",
    "ol",
    "dl",
    "blockquote",
    "img",
    "form",
    "pre",
    "article",
    "main",
    "nav",
    "header",
    "footer",
    "video",
    "audio",
    "iframe",
    "input",
];
