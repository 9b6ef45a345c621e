//! The chosen part of a page as Markdown (`CommonMark` with tables) or as plain text.
//!
//! The tree is walked once, without recursion. A paragraph is collected in `line` and written where a block begins or ends; each line of a block
//! stands behind the prefixes of the quotes and items around it.

mod line;

use std::collections::HashMap;
use std::fmt::Write as _;

use url::Url;

use super::code::{self, holders, is_block, is_inline_code, is_line_number, is_pre};
use super::dom::{Dom, Element, Id, Kind};
use super::escape::{address, block_mark};
use super::formula::formula;
use super::table::Table;
use super::{Format, embed, raised};

/// The targets of links that are listed below the text, each once.
#[derive(Debug, Default)]
pub(super) struct Notes {
    targets: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Notes {
    fn number(&mut self, target: &str) -> usize {
        *self.numbers.entry(target.to_owned()).or_insert_with(|| {
            self.targets.push(target.to_owned());
            self.targets.len()
        })
    }

    /// Writes the list.
    pub(super) fn write(&self, out: &mut String) {
        for (at, target) in self.targets.iter().enumerate() {
            let _ = writeln!(out, "{}[{}]: {target}", if at == 0 { "\n" } else { "" }, at + 1);
        }
    }
}

/// How a page is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writing<'a> {
    /// Where relative links start.
    pub(super) base: Option<&'a Url>,
    pub(super) format: Format,
    /// Levels that headings stand deeper than in the page.
    pub(super) deeper: usize,
}

/// Writes the nodes that `keep` names; of an element it says that it is on the way to something kept.
pub(super) fn chosen(dom: &Dom, keep: impl Fn(Id) -> bool, writing: Writing<'_>, notes: &mut Notes) -> String {
    let layouts = holders(dom, |element| is_pre(element) || matches!(element.name(), "table" | "h1" | "h2" | "h3" | "h4"));
    let mut writer = Writer {
        dom,
        writing,
        notes,
        layouts,
        out: String::new(),
        line: String::new(),
        code: String::new(),
        codes: 0,
        marks: Vec::new(),
        closed: (0, ""),
        containers: Vec::new(),
        last_list: (0, ' '),
        heading: None,
        defines: false,
        paragraph_end: 0,
        table: None,
        in_cell: false,
    };
    let mut steps = vec![(0, false)];
    while let Some((id, is_end)) = steps.pop() {
        if is_end {
            writer.leave(id);
        } else if keep(id) && writer.enter(id) {
            steps.push((id, true));
            steps.extend(dom.children(id).iter().rev().map(|child| (*child, false)));
        }
    }
    writer.end_paragraph();
    writer.out.push_str(if writer.out.is_empty() { "" } else { "\n" });
    writer.out
}

struct Writer<'a> {
    dom: &'a Dom,
    writing: Writing<'a>,
    notes: &'a mut Notes,
    /// Elements that hold what no table of Markdown can: code, headings, another table.
    layouts: Vec<bool>,
    out: String,
    /// The paragraph, heading or cell so far.
    line: String,
    /// Inline code that is not in `line` yet: of two code spans side by side, Markdown would take the inner delimiters for text.
    code: String,
    /// Open elements of inline code.
    codes: usize,
    marks: Vec<Mark>,
    /// Where in `line` the last mark was closed, and which.
    closed: (usize, &'static str),
    containers: Vec<Container>,
    /// Where in `out` the last list ended, and the sign of its items: a list behind it has another one.
    last_list: (usize, char),
    /// The open heading and its level.
    heading: Option<(Id, usize)>,
    /// The next paragraph is a definition.
    defines: bool,
    /// Where in `out` the last paragraph ended.
    paragraph_end: usize,
    table: Option<Table>,
    in_cell: bool,
}

/// Emphasis or a link; it is written before the first word in it.
struct Mark {
    id: Id,
    sign: &'static str,
    /// Target and title.
    link: Option<(String, Option<String>)>,
    is_open: bool,
}

/// A quote, a list or an item.
#[derive(Default)]
struct Container {
    id: Id,
    /// What its first line begins with, until that is written.
    first: Option<String>,
    /// What its other lines begin with.
    rest: String,
    is_tight: bool,
    list: Option<List>,
}

struct List {
    /// The number of the next item, and what is added for the one behind it.
    next: Option<(i64, i64)>,
    sign: char,
    /// The width of the last item's marker.
    indent: usize,
}

impl Writer<'_> {
    fn is_text(&self) -> bool {
        self.writing.format == Format::Text
    }

    /// Begins a node; false where nothing below it is written.
    fn enter(&mut self, id: Id) -> bool {
        let dom = self.dom;
        let element = match dom.node(id).map(|node| &node.kind) {
            Some(Kind::Text(text)) => {
                self.text(text, '\0');
                return false;
            }
            Some(Kind::Element(element)) => element,
            _ => return true,
        };
        let name = element.name();
        if is_block(element) {
            self.end_block();
        }
        match name {
            "head" | "script" | "title" => return false,
            "td" | "th" if element.attribute("class").is_some_and(is_line_number) => return false,
            "math" => {
                let formula = formula(dom, id, element);
                if formula.starts_with('$') {
                    self.raw(&formula);
                } else {
                    self.text(&formula, ' ');
                }
                return false;
            }
            "pre" | "listing" => {
                self.preformatted(id);
                return false;
            }
            "iframe" | "video" | "audio" => {
                if let Some((label, target)) = embed::link(dom, id, element, self.writing.base) {
                    self.space();
                    self.link(id, target, None);
                    self.text(&label, ' ');
                    self.close_mark(id);
                    self.space();
                }
                return false;
            }
            "img" => self.picture(id, element),
            "br" => self.line_break(),
            "hr" if self.is_flowing() => {
                if self.containers.iter().all(|container| container.first.is_none()) {
                    self.block("---", false);
                }
            }
            "input" if element.attribute("type") == Some("checkbox") => {
                self.raw(if element.attribute("checked").is_some() { "[x] " } else { "[ ] " });
            }
            "sup" | "sub" => {
                if let Some(raised) = raised::raised(dom, id, element) {
                    self.raw(&raised);
                    return false;
                }
            }
            "button" | "option" | "label" => self.space(),
            "q" => self.text("\"", 'q'),
            _ if is_inline_code(element) => self.codes += 1,
            _ => self.open(id, element),
        }
        true
    }

    /// Begins what ends with its element: marks, quotes, lists, headings, tables.
    fn open(&mut self, id: Id, element: &Element) {
        let only_child = |id: Id| self.dom.ancestors(id).next().is_some_and(|parent| self.dom.children(parent).len() == 1);
        let sign = match element.name() {
            "b" | "strong" => "**",
            "i" | "em" | "figcaption" | "caption" => "*",
            "del" | "s" | "strike" => "~~",
            "summary" if !self.dom.children(id).iter().any(|child| self.dom.element(*child).is_some_and(is_block)) => "**",
            _ => "",
        };
        // Code spans hold no marks; a link that is all of one stands around it.
        if self.codes > 0 && !(element.name() == "a" && only_child(id)) {
            return;
        }
        if !sign.is_empty() {
            if self.marks.iter().all(|mark| mark.sign != sign) {
                self.end_code();
                self.marks.push(Mark { id, sign, link: None, is_open: false });
            }
            return;
        }
        match element.name() {
            "a" => {
                if let Some(target) = element.attribute("href").and_then(|href| address(href, self.writing.base, true)) {
                    self.link(id, target, element.attribute("title"));
                }
            }
            "tr" => self.table.iter_mut().for_each(Table::begin_row),
            "td" | "th" => self.in_cell = self.table.is_some(),
            _ if !self.is_flowing() => {}
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = element.name().bytes().last().map_or(1, |digit| usize::from(digit - b'0'));
                self.heading = Some((id, (level + self.writing.deeper).min(6)));
            }
            "dd" => self.defines = true,
            "table" if self.dom.children(id).iter().all(|child| self.layouts.get(*child) == Some(&false)) => {
                self.table = Some(Table::new(id));
            }
            "blockquote" | "ul" | "ol" | "menu" | "li" if self.containers.len() < MOST_CONTAINERS => {
                self.defines = false;
                let container = match element.name() {
                    "blockquote" if self.is_text() => Container::default(),
                    "blockquote" => Container { first: Some("> ".to_owned()), rest: "> ".to_owned(), ..Container::default() },
                    "li" => self.item(element),
                    _ => self.list(id, element),
                };
                self.containers.push(Container { id, ..container });
            }
            _ => {}
        }
    }

    /// Begins a link; there is none in another.
    fn link(&mut self, id: Id, target: String, title: Option<&str>) {
        if !self.is_in_link() {
            self.end_code();
            self.marks.push(Mark { id, sign: "", link: Some((target, title.map(str::to_owned))), is_open: false });
        }
    }

    fn is_in_link(&self) -> bool {
        self.marks.iter().any(|mark| mark.link.is_some())
    }

    fn list(&self, id: Id, element: &Element) -> Container {
        let items = || self.dom.children(id).iter().filter(|child| self.dom.element(**child).is_some_and(|element| element.name() == "li"));
        let is_loose = |child: &Id| {
            self.dom.element(*child).is_some_and(|element| is_pre(element) || matches!(element.name(), "p" | "blockquote" | "table" | "dl"))
        };
        let is_tight = !items().flat_map(|item| self.dom.children(*item)).any(is_loose);
        let next = (element.name() == "ol").then(|| {
            let step = if element.attribute("reversed").is_some() { -1 } else { 1 };
            let start = element.attribute("start").and_then(number);
            (start.unwrap_or_else(|| if step < 0 { i64::try_from(items().count()).unwrap_or(1) } else { 1 }), step)
        });
        let (sign, other) = if next.is_some() { ('.', ')') } else { ('-', '*') };
        let sign = if self.last_list == (self.out.len(), sign) { other } else { sign };
        // A list directly in a list belongs to the item before it.
        let indent = self.containers.last().and_then(|above| above.list.as_ref()).map_or(0, |list| list.indent);
        Container { rest: " ".repeat(indent), is_tight, list: Some(List { next, sign, indent: 0 }), ..Container::default() }
    }

    fn item(&mut self, element: &Element) -> Container {
        let above = self.containers.last_mut();
        let is_tight = above.as_ref().is_none_or(|above| above.is_tight);
        let first = match above.and_then(|above| above.list.as_mut()) {
            Some(List { next: Some((next, step)), sign, .. }) => {
                let number = element.attribute("value").and_then(number).unwrap_or(*next);
                *next = (number + *step).clamp(0, MOST_NUMBER);
                format!("{number}{sign} ")
            }
            Some(List { sign, .. }) => format!("{sign} "),
            None => "- ".to_owned(),
        };
        Container { rest: " ".repeat(first.len()), first: Some(first), is_tight, ..Container::default() }
    }

    /// Ends an element.
    fn leave(&mut self, id: Id) {
        let Some(element) = self.dom.element(id) else { return };
        match element.name() {
            "q" => self.text("\"", ' '),
            "button" | "option" | "label" => self.space(),
            "td" | "th" if self.in_cell => {
                self.end_line();
                let text = std::mem::take(&mut self.line);
                self.table.iter_mut().for_each(|table| table.cell(text.trim(), element));
                self.in_cell = false;
                return;
            }
            _ if is_inline_code(element) => self.codes -= 1,
            _ => {}
        }
        if let Some(meaning) = raised::meaning(self.dom, id, element).filter(|_| self.codes == 0) {
            self.text(&format!(" ({meaning})"), ' ');
        }
        if self.heading.is_some_and(|(heading, _)| heading == id) {
            self.end_paragraph();
            self.heading = None;
        } else if is_block(element) {
            self.end_block();
        }
        self.close_mark(id);
        self.defines &= element.name() != "dd";
        if let Some(container) = self.containers.pop_if(|container| container.id == id)
            && let Some(list) = container.list.filter(|list| list.indent > 0)
        {
            self.last_list = (self.out.len(), list.sign);
        }
        if let Some(table) = self.table.take_if(|table| table.id == id) {
            let table = table.written(self.writing.format);
            self.block(&table, false);
        }
    }

    /// False in headings and tables, where blocks are only words.
    fn is_flowing(&self) -> bool {
        self.heading.is_none() && self.table.is_none()
    }

    /// Writes the paragraph or the heading that ends here; in headings and cells it goes on.
    fn end_block(&mut self) {
        if self.in_cell || self.heading.is_some() { self.space() } else { self.end_paragraph() }
    }

    fn end_paragraph(&mut self) {
        self.end_line();
        let line = std::mem::take(&mut self.line);
        if line.trim().is_empty() {
            return;
        }
        let text = match self.heading {
            _ if self.is_text() => line.trim_end().to_owned(),
            Some((_, level)) => format!("{} {}", "#".repeat(level), line.trim_end()),
            None => {
                let literal = |line: &str| {
                    block_mark(line).and_then(|at| line.split_at_checked(at)).map(|(before, mark)| format!("{before}\\{mark}"))
                };
                line.trim_end().split('\n').map(|line| literal(line).unwrap_or_else(|| line.to_owned())).collect::<Vec<_>>().join("\n")
            }
        };
        self.block(&text, self.defines && self.heading.is_none() && self.paragraph_end == self.out.len());
        self.paragraph_end = self.out.len();
    }

    fn preformatted(&mut self, id: Id) {
        let text = code::text_of(self.dom, id);
        if text.trim().is_empty() {
            return;
        }
        self.end_paragraph();
        let mut prefix = self.begin_block(false);
        if self.is_text() {
            let start = self.out.strip_suffix(&prefix).unwrap_or(&self.out).len();
            self.out.truncate(start);
            self.out.push_str(text.strip_suffix('\n').unwrap_or(&text));
            return;
        }
        // In deep quotes the marks of every line would be many times the code; there it stands behind them.
        if prefix.len() * text.len() > MOST_MARKS && prefix.len() * text.lines().count() > MOST_MARKS {
            prefix.clear();
            self.out.push('\n');
        }
        let language = code::language_of(self.dom, id).unwrap_or_default();
        self.out.push_str(&code::fenced(&text, &language, &prefix));
    }

    /// Writes the lines of a block.
    fn block(&mut self, text: &str, defines: bool) {
        if text.is_empty() {
            return;
        }
        let prefix = self.begin_block(defines);
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.out.extend(["\n", &prefix]);
            }
            self.out.push_str(line);
        }
    }

    /// Writes what stands between the last block and the next, and before the first line of that. Gives what stands before its other lines.
    /// A definition follows its term without an empty line.
    fn begin_block(&mut self, defines: bool) -> String {
        let new = self.containers.iter().position(|container| container.first.is_some());
        let is_tight = self.begins_tight(new);
        let shared: String = self.containers.iter().take(new.unwrap_or(usize::MAX)).map(|container| container.rest.as_str()).collect();
        self.defines = false;
        if !self.out.is_empty() {
            self.out.push('\n');
            if !is_tight && !defines {
                self.out.extend([shared.trim_end(), "\n"]);
            }
        }
        if new.is_none()
            && let Some(list) = self.containers.last_mut().and_then(|container| container.list.as_mut())
        {
            list.indent = 0;
        }
        let mut prefix = String::new();
        for at in 0..self.containers.len() {
            let (above, rest) = self.containers.split_at_mut(at);
            let Some(container) = rest.first_mut() else { break };
            let first = container.first.take();
            self.out.push_str(first.as_deref().unwrap_or(&container.rest));
            prefix.push_str(&container.rest);
            if let (Some(first), Some(list)) = (first, above.last_mut().and_then(|above| above.list.as_mut())) {
                list.indent = first.len();
            }
        }
        self.out.push_str(if defines { ": " } else { "" });
        prefix
    }

    /// Whether the next block follows the last one without an empty line: the first of an item of a list without paragraphs does.
    fn begins_tight(&self, new: Option<usize>) -> bool {
        let Some((at, item)) = new.and_then(|at| Some((at, self.containers.get(at)?))) else { return false };
        let Some((list_at, list)) = at.checked_sub(1).and_then(|at| Some((at, self.containers.get(at)?))) else { return false };
        let Some(marks) = &list.list else { return false };
        if marks.indent > 0 {
            return item.is_tight;
        }
        // In the middle of a paragraph a list can begin only with 1.
        let can_begin =
            marks.next.is_none() || item.first.as_deref().is_some_and(|first| first.starts_with("1.") || first.starts_with("1)"));
        can_begin && list_at.checked_sub(1).and_then(|at| self.containers.get(at)).is_some_and(|above| above.is_tight)
    }
}

/// A number that Markdown can give an item (`CommonMark` 0.31, section 5.2): at most nine digits, no sign.
fn number(text: &str) -> Option<i64> {
    text.trim().parse().ok().filter(|number| (0..=MOST_NUMBER).contains(number))
}

/// Elements that flow inside a line.
pub(super) fn is_inline(name: &str) -> bool {
    INLINE.split(' ').any(|inline| inline == name)
}

/// Bytes of prefixes before the lines of one block of code.
const MOST_MARKS: usize = 4 << 20;
const MOST_NUMBER: i64 = 999_999_999;
/// Quotes, lists and items in each other; what is deeper stands in the innermost of these.
const MOST_CONTAINERS: usize = 32;

const INLINE: &str = "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span strike strong sub sup time tt \
    u var wbr";
