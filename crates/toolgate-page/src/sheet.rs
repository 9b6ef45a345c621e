//! The style sheets of a page, as far as they take elements out of sight or keep white space.
//!
//! Sheets in files of their own are not fetched. Rules for a width of the window or another condition are not read, nor are states such as `:hover`,
//! so that an element is never taken for hidden that a browser shows.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use simplecss::{AttributeOperator, PseudoClass, Selector};

use super::dom::{Dom, Element, Id, Kind};
use super::style::{Declaration, Style, declarations};

/// Bytes of the style sheets of one page that are read.
const MOST: usize = 512 * 1024;
/// Bytes of one selector.
const LONGEST: usize = 256;
/// Comparisons of selectors with the elements of one page; after them the page is taken as shown.
const MOST_STEPS: usize = 4_000_000;

/// The rules of one page.
#[derive(Debug, Default)]
pub(super) struct Sheet<'c> {
    rules: Vec<Rule<'c>>,
    /// The numbers of rules, by what the last part of a selector names: `#id`, `.class`, a type or `*`.
    named: HashMap<&'c str, Vec<usize>>,
    steps: Cell<usize>,
}

#[derive(Debug)]
struct Rule<'c> {
    selector: Selector<'c>,
    block: Rc<[Declaration]>,
}

impl<'c> Sheet<'c> {
    /// Reads the sheets of a page.
    pub(super) fn of(sheets: &'c [String]) -> Self {
        let mut sheet = Self::default();
        for css in sheets {
            sheet.read(css);
        }
        sheet
    }

    fn read(&mut self, css: &'c str) {
        // What stands before each open brace, and whether the rules behind it are read.
        let mut open: Vec<(&str, bool)> = Vec::new();
        let mut from = 0;
        for (at, brace) in css.match_indices(['{', '}']) {
            let text = css.get(from..at).unwrap_or_default();
            from = at + 1;
            if brace == "{" {
                let prelude = text.rsplit(';').next().unwrap_or_default().trim();
                open.push((prelude, is_read(&open) && holds(prelude)));
            } else if let Some((prelude, _)) = open.pop().filter(|_| is_read(&open)) {
                self.rule(prelude, text);
            }
        }
        // Browsers close what a sheet leaves open.
        if let Some((prelude, _)) = open.pop().filter(|_| is_read(&open)) {
            self.rule(prelude, css.get(from..).unwrap_or_default());
        }
    }

    fn rule(&mut self, selectors: &'c str, body: &str) {
        let block: Rc<[Declaration]> = declarations(body).collect();
        for part in selectors.split(',').map(str::trim).filter(|part| part.len() <= LONGEST && !block.is_empty()) {
            if let Some(selector) = Selector::parse(part) {
                self.named.entry(key(part)).or_default().push(self.rules.len());
                self.rules.push(Rule { selector, block: block.clone() });
            }
        }
    }

    /// The style of an element by these sheets and by its own attribute, and whether a rule of the sheets is part of it. `None`: nothing is said of it.
    pub(super) fn style(&self, dom: &Dom, id: Id, element: &Element) -> Option<(Style, bool)> {
        let own = element.attribute("style").unwrap_or_default();
        let mut all: Vec<Declaration> = if self.rules.is_empty() { Vec::new() } else { self.declarations(dom, id, element) };
        let is_by_sheet = !all.is_empty();
        // An attribute holds against every rule but one that is important, where the attribute is not.
        all.extend(declarations(own));
        (!all.is_empty()).then(|| (Style::new(all), is_by_sheet))
    }

    /// The declarations of the rules for an element, in the order in which they give way.
    fn declarations(&self, dom: &Dom, id: Id, element: &Element) -> Vec<Declaration> {
        let with = |sign: &str, name: &str| format!("{sign}{name}");
        let mut names: Vec<String> = classes(element).map(|class| with(".", class)).collect();
        names.extend([with("#", element.attribute("id").unwrap_or_default()), element.name().to_owned(), "*".to_owned()]);
        names.sort_unstable();
        names.dedup();
        let node = Node { dom, id, element, steps: &self.steps };
        let numbers = names.iter().filter_map(|name| self.named.get(name.as_str())).flatten().take_while(|_| node.step(1));
        let mut found: Vec<(usize, &Rule<'_>)> = numbers.filter_map(|number| Some((*number, self.rules.get(*number)?))).collect();
        found.retain(|(_, rule)| rule.selector.matches(&node));
        found.sort_by_cached_key(|(number, rule)| (rule.selector.specificity(), *number));
        found.iter().flat_map(|(_, rule)| rule.block.iter().cloned()).collect()
    }
}

/// Whether all groups that are open are read.
fn is_read(open: &[(&str, bool)]) -> bool {
    open.last().is_none_or(|(_, is_read)| *is_read)
}

/// Whether what stands before a brace begins a group of rules that holds on a screen.
fn holds(prelude: &str) -> bool {
    prelude.starts_with("@layer") || prelude.starts_with("@supports (") || prelude.strip_prefix("@media").is_some_and(is_for_screen)
}

fn is_for_screen(queries: &str) -> bool {
    queries.split(',').any(|query| matches!(query.trim().trim_start_matches("only "), "" | "all" | "screen"))
}

/// What the last part of a selector names: an id or a class, else the type.
fn key(selector: &str) -> &str {
    let last = selector.rsplit(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '+')).next().unwrap_or_default();
    let named = last.split([':', '[']).next().unwrap_or_default();
    match named.rfind(['#', '.']) {
        Some(at) => named.get(at..).unwrap_or_default(),
        None if named.is_empty() => "*",
        None => named,
    }
}

fn classes(element: &Element) -> impl Iterator<Item = &str> {
    element.attribute("class").unwrap_or_default().split_ascii_whitespace()
}

/// The sheets of a page that a browser with scripts reads for a screen, without comments and what strings hold.
pub(super) fn sheets_of(dom: &Dom) -> Vec<String> {
    let mut room = MOST;
    let mut sheets = Vec::new();
    for (id, _) in dom.walk() {
        let Some(element) = dom.element(id).filter(|element| element.name() == "style") else { continue };
        let is_css = element.attribute("type").is_none_or(|kind| kind.is_empty() || kind.eq_ignore_ascii_case("text/css"));
        let is_inert = |above: Id| dom.element(above).is_some_and(|element| matches!(element.name(), "noscript" | "template"));
        if is_css && is_for_screen(element.attribute("media").unwrap_or_default()) && !dom.ancestors(id).any(is_inert) {
            for child in dom.children(id) {
                if let Some(Kind::Text(css)) = dom.node(*child).map(|node| &node.kind) {
                    let css = css.get(..css.floor_char_boundary(room)).unwrap_or_default();
                    room -= css.len();
                    sheets.push(plain(css));
                }
            }
        }
    }
    sheets
}

/// A sheet without comments, the signs that hide it from old browsers, and what strings hold: what is left of braces and semicolons is a sign.
fn plain(css: &str) -> String {
    let css = css.replace("<!--", "").replace("-->", "").replace("\\\"", "").replace("\\'", "");
    let (mut out, mut rest) = (String::with_capacity(css.len()), css.as_str());
    while let Some((before, from)) = rest.find(['/', '"', '\'']).and_then(|at| rest.split_at_checked(at)) {
        out.push_str(before);
        let quote = from.chars().next().unwrap_or_default();
        let after = from.get(1..).unwrap_or_default();
        rest = if quote != '/' {
            after.split_once([quote, '\n']).map_or("", |(_, after)| after)
        } else if let Some(comment) = after.strip_prefix('*') {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            out.push('/');
            after
        };
    }
    out.push_str(rest);
    out
}

/// An element as selectors see it.
struct Node<'d> {
    dom: &'d Dom,
    id: Id,
    element: &'d Element,
    steps: &'d Cell<usize>,
}

impl<'d> Node<'d> {
    /// Counts comparisons; false when there were too many.
    fn step(&self, count: usize) -> bool {
        self.steps.set(self.steps.get() + count);
        self.steps.get() < MOST_STEPS
    }

    fn at(&self, id: Id) -> Option<Node<'d>> {
        self.dom.element(id).filter(|_| self.step(1)).map(|element| Node { dom: self.dom, id, element, steps: self.steps })
    }
}

impl simplecss::Element for Node<'_> {
    fn parent_element(&self) -> Option<Self> {
        self.at(self.dom.ancestors(self.id).next()?)
    }

    /// Not looked for: of many siblings it would be slow to find.
    fn prev_sibling_element(&self) -> Option<Self> {
        None
    }

    fn has_local_name(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case(self.element.name())
    }

    fn attribute_matches(&self, name: &str, operator: AttributeOperator<'_>) -> bool {
        /// Bytes of a value that are looked through in the time of one comparison.
        const ALIKE: usize = 64;
        match (self.element.attribute(name), operator) {
            (None, _) => false,
            (Some(value), _) if !self.step(1 + value.len() / ALIKE) => false,
            (Some(_), AttributeOperator::Contains(class)) if name == "class" => classes(self.element).any(|own| own == class),
            (Some(value), operator) => operator.matches(value),
        }
    }

    fn pseudo_class_matches(&self, _: PseudoClass<'_>) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::parse;

    /// Whether the first `p` of a page is hidden.
    fn hides(html: &str) -> bool {
        let dom = parse(html);
        let sheets = sheets_of(&dom);
        let sheet = Sheet::of(&sheets);
        let mut elements = dom.walk().filter_map(|(id, _)| Some((id, dom.element(id)?)));
        let (id, element) = elements.find(|(_, element)| element.name() == "p").unwrap();
        sheet.style(&dom, id, element).is_some_and(|(style, _)| style.hides())
    }

    fn hides_beside(sheet: &str, own: &str) -> bool {
        hides(&format!("<style>{sheet}</style><div class=o><p id=i class='a x' style='{own}'>"))
    }

    #[test]
    fn elements_are_hidden_by_the_rules_that_are_for_them() {
        for sheet in [
            ".x{display:none}",
            "#i { visibility : hidden }",
            "p.a.x{opacity:0}",
            "b, .x {font-size:0}",
            "div .x{display:none}",
            "div.o > p{position:absolute;left:-9999px}",
            "*{display:none}",
            "[class]{display:none}",
            "@media screen{.x{display:none}}",
            "@layer a{.x{clip:rect(0,0,0,0)}}",
            "@import 'a.css';.x{display:none}",
            "/* .y{ */ .x{display:none}",
            "<!-- .x{display:none} -->",
            ".y{content:'}'}.x{display:none}",
            ".y:before{content:\"\\\"\"}.x{display:none}",
            ".x{display:none!important}p{display:block}#i{display:block}",
            ".y{color:red;.z{color:blue}}.x{display:none}",
            "@media print, screen{.x{display:none}}",
            ".x{display:none",
        ] {
            assert!(hides_beside(sheet, ""), "{sheet}");
        }
        for sheet in [
            ".y{display:none}",
            ".x:hover{display:none}",
            ".x::before{display:none}",
            ".y .x{display:none}",
            "body > p{display:none}",
            ".x[data-a]{display:none}",
            ".a + .x{display:none}",
            "@media print{.x{display:none}}",
            "@media (max-width:600px){.x{display:none}}",
            "@font-face{display:none}",
            "@keyframes a{from{opacity:0}to{opacity:1}}",
            ".x{display:none}.x{display:block}",
            ".x{display:none}#i{display:block}",
            ".md\\:hidden{display:none}",
            ".y{content:'}.x{display:none}'}",
            "@supports not (display:grid){.x{display:none}}",
        ] {
            assert!(!hides_beside(sheet, ""), "{sheet}");
        }
    }

    #[test]
    fn an_attribute_holds_against_a_rule_unless_the_rule_alone_is_important() {
        assert!(hides_beside(".x{display:block!important}", "display:none!important"));
        assert!(hides_beside(".x{display:none!important}", "display:block"));
        assert!(hides_beside(".x{display:block}", "display:none"));
        assert!(!hides_beside(".x{display:block!important}", "display:none"));
        assert!(!hides_beside(".x{display:none}", "display:block"));
    }

    #[test]
    fn sheets_are_read_where_a_browser_reads_them() {
        for html in [
            "<style>p{display:none}</style><p>",
            "<p title='a <!-- b'><style>p{display:none}</style>",
            "<title>a <!-- b</title><style>p{display:none}</style><p>",
            "<style media='screen, print'>p{display:none}</style><p>",
            "<p><STYLE type='text/css'>p{display:none}",
        ] {
            assert!(hides(html), "{html}");
        }
        for html in [
            "<style media=print>p{display:none}</style><p>",
            "<style type='text/less'>p{display:none}</style><p>",
            "<!-- <style>p{display:none}</style> --><p>",
            "<script>'<style>p{display:none}</style>'</script><p>",
            "<noscript><style>p{display:none}</style></noscript><p>",
            "<template><style>p{display:none}</style></template><p>",
        ] {
            assert!(!hides(html), "{html}");
        }
    }

    #[test]
    fn a_hostile_sheet_costs_a_bounded_number_of_comparisons() {
        let many: String = (0..4000).fold(String::new(), |many, n| many + "a" + &n.to_string() + " ");
        for (css, body) in [
            ("div div div div div div .x{display:none}".repeat(12_000), "<div>".repeat(200) + &"<p class=x>y".repeat(2000)),
            ("*{display:none}".repeat(30_000), "<p>y".repeat(2000)),
            (".x{".repeat(100_000), "<p class=x>y".repeat(2000)),
            ("@media a{".repeat(50_000), String::new()),
            ("/*".repeat(200_000), String::new()),
            ("\"".repeat(300_000), String::new()),
            (format!("{}{{display:none}}", ".x,".repeat(100_000)), "<p class=x>y".repeat(2000)),
            (".x{display:none}".repeat(30_000), format!("<p class='{many} x'>y").repeat(200)),
        ] {
            let dom = parse(&format!("<style>{css}</style>{body}"));
            let sheets = sheets_of(&dom);
            let sheet = Sheet::of(&sheets);
            for (id, _) in dom.walk() {
                let _ = dom.element(id).and_then(|element| sheet.style(&dom, id, element));
            }
            // Of what is begun at the end, each element may look at a few more.
            assert!(sheet.steps.get() <= MOST_STEPS + 4 * dom.len(), "{} comparisons", sheet.steps.get());
        }
    }
}
