//! The tree as markup again: whole and marked for the extractors, or the chosen part alone, in a form that has only safe links.

use std::collections::HashMap;

use url::Url;

use super::caps::MAX_DEPTH;
use super::code::{Pieces, holders, is_inline_code, is_line_number, is_pre};
use super::count::{self, NUMBER};
use super::dom::{Dom, Element, Id, Kind};
use super::formula::formula;
use super::headed::headed;
use super::spell::{LITERAL, address, attribute, escape, flowing, literal, unmarked};
use super::{align, embed, raised};

enum Step<'a> {
    Open(Id, usize),
    /// Inside of inline code.
    Code(Id, usize),
    Close(&'a str),
    Raw(&'static str),
    Say(String),
}

/// The whole page; every text that has a mark is followed by it, and ids that repeat a heading are left out.
pub(super) fn marked(dom: &Dom, mark: impl Fn(Id) -> Option<char>) -> String {
    let mut out = String::new();
    let headed = headed(dom);
    let mut steps = vec![Step::Open(0, 0)];
    while let Some(step) = steps.pop() {
        let (id, depth) = match step {
            Step::Open(id, depth) => (id, depth),
            Step::Close(name) => {
                end_tag(&mut out, name);
                continue;
            }
            Step::Code(..) | Step::Raw(_) | Step::Say(_) => continue,
        };
        match dom.node(id).map(|node| &node.kind) {
            Some(Kind::Text(text)) if is_script(dom, id) => out.push_str(&unmarked(text)),
            Some(Kind::Text(text)) => {
                let end = text.trim_end();
                escape(&mut out, &unmarked(end));
                out.extend(mark(id));
                out.push_str(text.strip_prefix(end).unwrap_or_default());
            }
            // They hold nothing an extractor could choose.
            Some(Kind::Element(element)) if embed::is_embedding(element.name()) => continue,
            Some(Kind::Element(element)) if depth < MAX_DEPTH => {
                out.push('<');
                out.push_str(element.name());
                for (name, value) in element.attributes().filter(|(name, _)| *name != "id" || !headed.contains(&id)) {
                    attribute(&mut out, name, value);
                }
                out.push('>');
                if !VOID.contains(&element.name()) {
                    steps.push(Step::Close(element.name()));
                }
            }
            _ => {}
        }
        steps.extend(dom.children(id).iter().rev().map(|child| Step::Open(*child, depth + 1)));
    }
    out
}

/// The part of the page that `keep` names (of an element: it is on the way to something kept), for the Markdown converter, and the code in it.
pub(super) fn chosen(dom: &Dom, keep: impl Fn(Id) -> bool, base: Option<&Url>) -> (String, Pieces) {
    let mut out = String::new();
    let mut pieces = Pieces::default();
    let around_blocks = holders(dom, is_pre);
    let is_around_block = |id: Id| around_blocks.get(id).copied().unwrap_or(false);
    let mut steps = vec![Step::Open(0, 0)];
    let mut numbers = HashMap::new();
    let mut layouts = HashMap::new();
    // The number of an item, before its first words.
    let mut number: Option<i64> = None;
    while let Some(step) = steps.pop() {
        let (id, depth, in_code) = match step {
            Step::Open(id, depth) => (id, depth, false),
            Step::Code(id, depth) => (id, depth, true),
            Step::Close(name) => {
                number = number.filter(|_| name != "li");
                end_tag(&mut out, name);
                continue;
            }
            Step::Raw(text) => {
                out.push_str(text);
                continue;
            }
            Step::Say(text) => {
                escape(&mut out, &text);
                continue;
            }
        };
        if !keep(id) {
            continue;
        }
        let begins = match dom.node(id).map(|node| &node.kind) {
            Some(Kind::Text(text)) => !text.trim().is_empty(),
            Some(Kind::Element(element)) => is_pre(element),
            _ => false,
        };
        let number_here = number.take_if(|_| begins).map(|number| format!("{NUMBER}{number}{NUMBER}")).unwrap_or_default();
        out.push_str(if dom.element(id).is_none() { &number_here } else { "" });
        let mut code_below = in_code;
        match dom.node(id).map(|node| &node.kind) {
            Some(Kind::Text(text)) if in_code => pieces.inline(text, is_cell(dom, id, &layouts), &mut out),
            Some(Kind::Text(text)) => escape(&mut out, &literal(&flowing(text))),
            Some(Kind::Element(element)) => {
                if matches!(element.name(), "head" | "script" | "title") || is_gutter(element) {
                    continue;
                }
                if element.name() == "math" {
                    let formula = formula(dom, id, element);
                    escape(&mut out, &if formula.starts_with('$') { formula } else { literal(&formula) });
                    continue;
                }
                if is_pre(element) {
                    out.push_str("<p>");
                    out.push_str(&number_here);
                    pieces.block(dom, id, &mut out);
                    out.push_str("</p>");
                    continue;
                }
                if embed::is_embedding(element.name()) {
                    embed::link(&mut out, dom, id, element, base);
                    continue;
                }
                if let Some(raised) = raised::raised(dom, id, element) {
                    escape(&mut out, &raised);
                    continue;
                }
                if let Some(meaning) = raised::meaning(dom, id, element).filter(|_| !in_code) {
                    steps.push(Step::Say(format!(" ({})", literal(&flowing(meaning)))));
                }
                if element.name() == "ol" {
                    numbers.extend(count::numbers(dom, id));
                } else if element.name() == "li" {
                    number = numbers.get(&id).copied();
                }
                let begins_code = is_inline_code(element);
                code_below |= begins_code;
                if begins_code || (in_code && is_inline(element.name()) && !is_link_of_code(dom, id, element)) {
                    // Code spans hold no marks.
                } else if (is_around_block(id) && !KEEPS_BLOCKS.contains(&element.name()))
                    || (TABLE.contains(&element.name()) && is_layout(dom, id, &is_around_block, &mut layouts))
                {
                    out.push_str("<div>");
                    steps.push(Step::Close("div"));
                } else if matches!(element.name(), "dl" | "dt" | "dd") {
                    out.push_str("<div>");
                    steps.push(Step::Close("div"));
                    out.extend((element.name() == "dd").then_some(DEFINES));
                } else if depth < MAX_DEPTH && start_tag(&mut out, dom, id, base) {
                    if !VOID.contains(&element.name()) {
                        steps.push(Step::Close(element.name()));
                    }
                    out.extend(if matches!(element.name(), "td" | "th") { align::mark_of(element) } else { None });
                } else if !is_inline(element.name()) {
                    // A tag that is left out still separates words.
                    out.push(' ');
                    steps.push(Step::Raw(" "));
                }
            }
            _ => {}
        }
        let below = |child: &Id| if code_below { Step::Code(*child, depth + 1) } else { Step::Open(*child, depth + 1) };
        steps.extend(dom.children(id).iter().rev().map(below));
    }
    (out, pieces)
}

/// Writes a tag with the attributes that mean something in Markdown; says no where the tag is better left out.
fn start_tag(out: &mut String, dom: &Dom, id: Id, base: Option<&Url>) -> bool {
    let Some(element) = dom.element(id) else { return false };
    let name = element.name();
    let mut tag = format!("<{name}");
    let mut copy = |names: &[&str]| {
        for name in names {
            if let Some(value) = element.attribute(name) {
                attribute(&mut tag, name, value);
            }
        }
    };
    match name {
        "a" => {
            let Some(target) = element.attribute("href").and_then(|href| address(href, base, true)) else { return false };
            copy(&["title"]);
            attribute(&mut tag, "href", &target);
            // A link behind an exclamation mark would be a picture.
            if out.ends_with('!') {
                out.insert(out.len() - 1, LITERAL);
            }
        }
        "img" => {
            let Some(source) = embed::picture(dom, id, element, base) else { return false };
            copy(&["alt", "title"]);
            attribute(&mut tag, "src", &source);
        }
        "ol" => copy(&["start", "type"]),
        "td" | "th" => copy(&["colspan", "rowspan"]),
        "code" => copy(&["class"]),
        "input" => {
            if element.attribute("type") != Some("checkbox") {
                return false;
            }
            copy(&["type", "checked"]);
        }
        "form" | "button" | "label" | "font" | "noscript" | "nobr" | "center" => return false,
        _ => {}
    }
    tag.push('>');
    out.push_str(&tag);
    true
}

/// True for a part of a table that holds blocks of code, headings or another table: a table for the eye, which Markdown's tables cannot hold.
/// Each table is looked at once; `known` keeps what was found.
fn is_layout(dom: &Dom, id: Id, is_around_block: &impl Fn(Id) -> bool, known: &mut HashMap<Id, bool>) -> bool {
    let is_table = |id: &Id| dom.element(*id).is_some_and(|element| element.name() == "table");
    let Some(table) = std::iter::once(id).chain(dom.ancestors(id)).find(is_table) else { return true };
    *known.entry(table).or_insert_with(|| {
        if is_around_block(table) {
            return true;
        }
        let mut pending: Vec<Id> = dom.children(table).to_vec();
        let mut looked_at = 0;
        while let Some(id) = pending.pop() {
            looked_at += 1;
            if looked_at > 2000 || dom.element(id).is_some_and(|element| matches!(element.name(), "table" | "h1" | "h2" | "h3" | "h4")) {
                return looked_at <= 2000;
            }
            pending.extend(dom.children(id));
        }
        false
    })
}

/// True for the cell of line numbers beside code.
fn is_gutter(element: &Element) -> bool {
    matches!(element.name(), "td" | "th") && element.attribute("class").is_some_and(is_line_number)
}

/// True inside a cell of a table that Markdown's tables can hold.
fn is_cell(dom: &Dom, id: Id, known: &HashMap<Id, bool>) -> bool {
    let mut named = dom.ancestors(id).filter_map(|above| Some((above, dom.element(above)?.name())));
    let Some(_) =
        named.find(|(_, name)| matches!(*name, "td" | "th" | "caption" | "table")).filter(|(_, name)| matches!(*name, "td" | "th"))
    else {
        return false;
    };
    named.find(|(_, name)| *name == "table").is_some_and(|(table, _)| known.get(&table) == Some(&false))
}

/// True for a link that is all there is of a piece of inline code: it can stand around the code. Others cannot stand in it.
fn is_link_of_code(dom: &Dom, id: Id, element: &Element) -> bool {
    let parent = dom.ancestors(id).next().filter(|parent| dom.element(*parent).is_some_and(is_inline_code));
    element.name() == "a" && parent.is_some_and(|parent| dom.children(parent).len() == 1)
}

fn is_script(dom: &Dom, id: Id) -> bool {
    dom.ancestors(id).next().and_then(|parent| dom.element(parent)).is_some_and(|element| element.name() == "script")
}

/// Elements that flow inside a line.
pub(super) fn is_inline(name: &str) -> bool {
    INLINE.contains(&name)
}

fn end_tag(out: &mut String, name: &str) {
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

/// Stands before a definition; no page can hold it (see `is_mark`).
pub(super) const DEFINES: char = '\u{10fffd}';

/// Elements in whose Markdown a block of code can stand.
const KEEPS_BLOCKS: &[&str] = &["ul", "ol", "li", "menu", "blockquote"];

const TABLE: &[&str] = &["table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "colgroup", "col"];

const VOID: &[&str] = &["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];

const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
    "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
];
