//! The code of a page, byte for byte: it is kept apart while the rest is converted, and a sign stands in its place.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::dom::{Dom, Element, Id, Kind};
use super::fence;

/// The pieces of code of one page.
#[derive(Debug, Default)]
pub(super) struct Pieces(Vec<Piece>);

#[derive(Debug)]
struct Piece {
    text: String,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    /// A block of its own, and its language.
    Block(Option<String>),
    /// Part of a line.
    Inline,
    /// Part of a cell of a Markdown table, in which a bare `|` would end the cell.
    Cell,
}

impl Pieces {
    /// Keeps a `pre` element and writes its sign; the spans of a highlighter are nothing to a reader.
    pub(super) fn block(&mut self, dom: &Dom, id: Id, out: &mut String) {
        let text = text_of(dom, id);
        if !text.trim().is_empty() {
            self.0.push(Piece { text, shape: Shape::Block(language_of(dom, id)) });
            self.sign(out);
        }
    }

    /// Keeps a text of inline code and writes its sign. What follows another such text at once is one piece with it: of two code spans side by
    /// side, Markdown would take the inner delimiters for text.
    pub(super) fn inline(&mut self, text: &str, in_cell: bool, out: &mut String) {
        let follows = out.ends_with(SIGN) && out.ends_with(&sign(self.0.len().saturating_sub(1)));
        match self.0.last_mut() {
            Some(piece) if follows && !matches!(piece.shape, Shape::Block(_)) => piece.text.push_str(text),
            _ => {
                self.0.push(Piece { text: text.to_owned(), shape: if in_cell { Shape::Cell } else { Shape::Inline } });
                self.sign(out);
            }
        }
    }

    fn sign(&self, out: &mut String) {
        out.push_str(&sign(self.0.len().saturating_sub(1)));
    }

    /// Puts the code into the place of its signs.
    pub(super) fn restored(&self, markdown: &str) -> String {
        let mut out = String::with_capacity(markdown.len() + self.0.iter().map(|piece| piece.text.len() + 16).sum::<usize>());
        for line in markdown.split_inclusive('\n') {
            let mut parts = line.split(SIGN);
            // Where the text of the line begins, behind the marks of quotes and lists.
            let mut start = out.len() + fence::containers(line);
            let inner = fence::continuation(line.get(..fence::containers(line)).unwrap_or_default());
            out.push_str(parts.next().unwrap_or_default());
            while let Some(number) = parts.next() {
                let mut after = parts.next().unwrap_or_default();
                match number.parse().ok().and_then(|number: usize| self.0.get(number)) {
                    Some(Piece { text, shape: Shape::Block(language) }) => {
                        let before = out.get(start..).unwrap_or_default().trim();
                        if before == ":" {
                            // A definition that is code stands below its term without the mark, which would hide the fence.
                            out.truncate(start);
                        } else if !before.is_empty() {
                            out.truncate(out.trim_end().len());
                            let _ = write!(out, "\n{}\n{inner}", inner.trim_end());
                        }
                        fence::write(text, language.as_deref().unwrap_or_default(), &inner, &mut out);
                        after = if after.trim().is_empty() { after.trim_start_matches(' ') } else { after.trim_start() };
                        if !after.trim().is_empty() {
                            let _ = write!(out, "\n{}\n{inner}", inner.trim_end());
                        }
                        start = out.len();
                    }
                    Some(Piece { text, shape }) => span(text, matches!(shape, Shape::Cell), after, &mut out),
                    None => {}
                }
                out.push_str(after);
            }
        }
        out
    }
}

fn sign(number: usize) -> String {
    format!("{SIGN}{number}{SIGN}")
}

/// Writes a code span (`CommonMark` 0.31, section 6.1). Its delimiters are longer or shorter than every run of backticks in it.
fn span(text: &str, in_cell: bool, after: &str, out: &mut String) {
    let text = unbroken(text);
    // White space of the source around the code stands outside of it.
    if text.starts_with('\n') && !out.is_empty() && !out.ends_with(char::is_whitespace) {
        out.push(' ');
    }
    let bare = text.trim_matches('\n').replace('\n', " ");
    if bare.is_empty() {
        return;
    }
    let runs: HashSet<usize> = bare.split(|c| c != '`').map(str::len).collect();
    let delimiter = "`".repeat((1..=bare.len() + 1).find(|length| !runs.contains(length)).unwrap_or(1));
    // One space at both ends belongs to the delimiters, unless there is nothing else.
    let spaced = bare.starts_with(' ') && bare.ends_with(' ') && !bare.trim_matches(' ').is_empty();
    let pad = if bare.starts_with('`') || bare.ends_with('`') || spaced { " " } else { "" };
    let written = if in_cell { bare.replace('|', "\\|") } else { bare };
    let _ = write!(out, "{delimiter}{pad}{written}{pad}{delimiter}");
    if text.ends_with('\n') && !after.is_empty() && !after.starts_with(char::is_whitespace) {
        out.push(' ');
    }
}

/// Inline code with one line feed for each run of white space that has one: the source was wrapped there, and a browser shows a space. Other
/// spaces are those of the code.
fn unbroken(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_whitespace()) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let after = from.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let run = from.strip_suffix(after).unwrap_or_default();
        out.push_str(before);
        out.push_str(if run.contains(['\n', '\r']) { "\n" } else { run });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// What `pre` holds: its text, with a line end for `br` and between the lines that are elements of their own.
pub(super) fn text_of(dom: &Dom, id: Id) -> String {
    let mut text = String::new();
    // Each with whether it follows a line that was an element.
    let mut pending = vec![(id, false)];
    while let Some((id, follows)) = pending.pop() {
        match dom.node(id).map(|node| &node.kind) {
            Some(Kind::Text(piece)) => text.push_str(piece),
            Some(Kind::Element(element)) if element.name() == "br" => text.push('\n'),
            // Line numbers stand in cells and spans of their own; a button copies the code.
            Some(Kind::Element(element)) if element.name() == "button" || element.attribute("class").is_some_and(is_line_number) => {
                continue;
            }
            Some(Kind::Element(_)) if follows && !text.is_empty() && !text.ends_with('\n') => text.push('\n'),
            _ => {}
        }
        let is_line = |id: &Id| dom.element(*id).is_some_and(|element| matches!(element.name(), "div" | "p" | "li" | "tr"));
        let children = dom.children(id);
        let before = std::iter::once(false).chain(children.iter().map(is_line));
        let children: Vec<(Id, bool)> = children.iter().zip(before).map(|(child, before)| (*child, before && is_line(child))).collect();
        pending.extend(children.into_iter().rev());
    }
    text
}

/// For every node the code it is part of: the outermost `pre`, or the outermost inline code.
pub(super) fn wholes(dom: &Dom) -> Vec<Option<Id>> {
    let blocks = holders(dom, is_block);
    let mut wholes = vec![None; dom.len()];
    for (id, _) in dom.walk() {
        let above = dom.ancestors(id).next().and_then(|parent| wholes.get(parent).copied().flatten());
        let holds_block = || blocks.get(id).copied().unwrap_or(false);
        let own = || dom.element(id).is_some_and(|element| is_pre(element) || (is_inline_code(element) && !holds_block())).then_some(id);
        if let Some(slot) = wholes.get_mut(id) {
            *slot = above.or_else(own);
        }
    }
    wholes
}

/// For every node whether an element that `is` names is below it.
pub(super) fn holders(dom: &Dom, is: fn(&Element) -> bool) -> Vec<bool> {
    let mut holders = vec![false; dom.len()];
    for (id, _) in dom.walk() {
        if !dom.element(id).is_some_and(is) {
            continue;
        }
        for above in dom.ancestors(id) {
            match holders.get_mut(above) {
                Some(slot) if !*slot => *slot = true,
                _ => break,
            }
        }
    }
    holders
}

/// True for preformatted text.
pub(super) fn is_pre(element: &Element) -> bool {
    matches!(element.name(), "pre" | "listing")
}

/// True for an element that Markdown shows as a code span.
pub(super) fn is_inline_code(element: &Element) -> bool {
    matches!(element.name(), "code" | "kbd" | "samp" | "tt")
}

fn is_block(element: &Element) -> bool {
    BLOCKS.contains(&element.name())
}

/// Classes that highlighters give to line numbers.
pub(super) fn is_line_number(class: &str) -> bool {
    class
        .split_ascii_whitespace()
        .any(|class| matches!(class, "lineno" | "linenos" | "line-number" | "line-numbers" | "linenumber" | "gutter" | "ln"))
}

/// The language as sites write it: on `pre`, on the `code` inside, or on the boxes around.
fn language_of(dom: &Dom, id: Id) -> Option<String> {
    let inside = dom.children(id).iter().copied().filter(|child| dom.element(*child).is_some_and(|element| element.name() == "code"));
    let around = dom.ancestors(id).take(2);
    std::iter::once(id).chain(inside).chain(around).filter_map(|id| dom.element(id)).find_map(|element| {
        let given = ["data-lang", "data-language"].iter().find_map(|name| element.attribute(name));
        let class = element.attribute("class").unwrap_or_default();
        let after = |start: &str| class.split_ascii_whitespace().find_map(|class| class.strip_prefix(start));
        let prefixed = ["language-", "lang-", "highlight-source-", "brush:", "highlight-"].iter().find_map(|start| after(start));
        let second =
            class.split_ascii_whitespace().skip_while(|class| !matches!(*class, "sourceCode" | "hljs" | "brush:" | "prettyprint")).nth(1);
        let named = given.or(prefixed.filter(|name| !name.is_empty())).or(second)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
        let named = named.trim_end_matches(';').to_ascii_lowercase();
        (!named.is_empty()
            && named.len() <= 24
            && named.chars().all(plain)
            && !matches!(named.as_str(), "none" | "default" | "nohighlight"))
        .then_some(named)
    })
}

/// Stands before and behind the number of a piece of code; no page's text can hold it (see `is_mark`).
const SIGN: char = '\u{10fff7}';

/// Elements that code of a line has not in it; where it has, its end tag was forgotten.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "listing",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "ul",
];
