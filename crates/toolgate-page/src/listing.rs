//! Code that a page shows without `pre`: elements whose style keeps white space, and tables with a line of code in each row.

use std::collections::BTreeMap;

use super::clean::texts_below;
use super::code::{holders, is_pre, text_of};
use super::dom::{Dom, Id, Kind};

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
    for (table, code) in lines(dom) {
        let children = dom.children(table).to_vec();
        dom.detach_all(&children);
        let text = dom.add(Kind::Text(code));
        dom.attach(text, table);
        dom.rename(table, "pre");
    }
}

/// The tables whose rows are lines of code, as forges show files and changes, and that code.
fn lines(dom: &Dom) -> BTreeMap<Id, String> {
    let mut tables: BTreeMap<Id, String> = BTreeMap::new();
    for (cell, _) in dom.walk() {
        let is_code = |class: &str| class.contains("blob-code");
        let Some(element) = dom.element(cell).filter(|cell| cell.name() == "td" && cell.attribute("class").is_some_and(is_code)) else {
            continue;
        };
        let Some(table) = dom.ancestors(cell).find(|above| dom.element(*above).is_some_and(|above| above.name() == "table")) else {
            continue;
        };
        let inner = dom.children(cell).iter().filter_map(|child| dom.element(*child));
        let marker = std::iter::once(element).chain(inner).find_map(|element| element.attribute("data-code-marker"));
        let text: String = texts_below(dom, cell).collect();
        let line = [marker.unwrap_or_default(), text.trim_end_matches(['\n', '\r']), "\n"];
        tables.entry(table).or_default().extend(line);
    }
    tables
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
