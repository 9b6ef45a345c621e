//! Code blocks: one text and its language.

use super::dom::{Dom, Id, Kind};
use super::spell::{attribute, escape};

/// `pre` as one text with its language; the spans of a highlighter are nothing to a reader.
pub(super) fn code_block(dom: &Dom, id: Id, keep: &impl Fn(Id) -> bool, out: &mut String) {
    let mut text = String::new();
    let mut pending = vec![id];
    while let Some(id) = pending.pop() {
        match dom.node(id).map(|node| &node.kind) {
            Some(Kind::Text(piece)) if keep(id) => text.push_str(piece),
            Some(Kind::Element(element)) if element.name() == "br" => text.push('\n'),
            // Line numbers stand in cells and spans of their own.
            Some(Kind::Element(element)) if element.attribute("class").is_some_and(is_line_number) => continue,
            _ => {}
        }
        pending.extend(dom.children(id).iter().rev());
    }
    let text = text.trim_matches('\n');
    if text.trim().is_empty() {
        return;
    }
    out.push_str("<pre><code");
    if let Some(language) = language_of(dom, id) {
        attribute(out, "class", &format!("language-{language}"));
    }
    out.push('>');
    escape(out, text);
    out.push_str("</code></pre>");
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
