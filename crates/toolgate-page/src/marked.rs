//! The whole tree as markup again, with marks, for the extractors.

use std::borrow::Cow;

use super::caps::MAX_DEPTH;
use super::choose::is_mark;
use super::dom::{Dom, Id, Kind};
use super::embed;
use super::headed::headed;

/// Every text that has a mark is followed by it, and ids that repeat a heading are left out.
pub(super) fn marked(dom: &Dom, mark: impl Fn(Id) -> Option<char>) -> String {
    enum Step<'a> {
        Open(Id, usize),
        Close(&'a str),
    }
    let mut out = String::new();
    let headed = headed(dom);
    let mut steps = vec![Step::Open(0, 0)];
    while let Some(step) = steps.pop() {
        let (id, depth) = match step {
            Step::Open(id, depth) => (id, depth),
            Step::Close(name) => {
                out.extend(["</", name, ">"]);
                continue;
            }
        };
        let is_script = || dom.ancestors(id).next().and_then(|parent| dom.element(parent)).is_some_and(|parent| parent.name() == "script");
        match dom.node(id).map(|node| &node.kind) {
            Some(Kind::Text(text)) if is_script() => out.push_str(&unmarked(text)),
            Some(Kind::Text(text)) => {
                let end = text.trim_end();
                out.push_str(&escaped(&unmarked(end)));
                out.extend(mark(id));
                out.push_str(text.strip_prefix(end).unwrap_or_default());
            }
            // They hold nothing an extractor could choose.
            Some(Kind::Element(element)) if embed::is_embedding(element.name()) => continue,
            Some(Kind::Element(element)) if depth < MAX_DEPTH => {
                out.extend(["<", element.name()]);
                let is_name = |name: &str| !name.contains(|c: char| c.is_ascii_whitespace() || "\"'<>/=".contains(c));
                for (name, value) in element.attributes().filter(|(name, _)| is_name(name) && (*name != "id" || !headed.contains(&id))) {
                    out.extend([" ", name, "=\"", &escaped(&unmarked(value)), "\""]);
                }
                out.push('>');
                if !VOID.split(' ').any(|name| name == element.name()) {
                    steps.push(Step::Close(element.name()));
                }
            }
            _ => {}
        }
        steps.extend(dom.children(id).iter().rev().map(|child| Step::Open(*child, depth + 1)));
    }
    out
}

/// A text as it stands in markup and in the values of attributes.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A text of the page without the characters that carry marks.
fn unmarked(text: &str) -> Cow<'_, str> {
    if text.contains(is_mark) { text.chars().filter(|c| !is_mark(*c)).collect::<String>().into() } else { text.into() }
}

const VOID: &str = "area base br col embed hr img input link meta param source track wbr";
