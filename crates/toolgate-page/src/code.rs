//! The code of a page, byte for byte.

use std::collections::HashSet;

use super::dom::{Dom, Element, Id, Kind};

/// A block of code with its fence, which is longer than every run of backticks in it. Its first line stands behind no prefix, the others behind `rest`.
pub(super) fn fenced(text: &str, language: &str, rest: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let mut out = format!("{fence}{language}\n");
    // CommonMark 0.31, section 2.1: a carriage return alone ends a line too.
    for line in text.split_inclusive(['\n', '\r']) {
        out.push_str(if line == "\n" { rest.trim_end() } else { rest });
        out.push_str(line);
    }
    out.push_str(if text.ends_with('\n') { "" } else { "\n" });
    out + rest + &fence
}

/// A code span (`CommonMark` 0.31, section 6.1). Its delimiters are longer or shorter than every run of backticks in it.
pub(super) fn span(text: &str) -> String {
    let runs: HashSet<usize> = text.split(|c| c != '`').map(str::len).collect();
    let delimiter = "`".repeat((1..=text.len() + 1).find(|length| !runs.contains(length)).unwrap_or(1));
    // One space at both ends belongs to the delimiters, unless there is nothing else.
    let spaced = text.starts_with(' ') && text.ends_with(' ') && !text.trim_matches(' ').is_empty();
    let pad = if text.starts_with('`') || text.ends_with('`') || spaced { " " } else { "" };
    format!("{delimiter}{pad}{text}{pad}{delimiter}")
}

/// Inline code with one line feed for each run of white space that has one: the source was wrapped there, and a browser shows a space. Other
/// spaces are those of the code.
pub(super) fn unbroken(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // A run of white space and the word behind it.
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let run = rest.strip_suffix(word).unwrap_or_default();
        let end = word.find(|c: char| c.is_ascii_whitespace()).unwrap_or(word.len());
        let (word, after) = word.split_at_checked(end).unwrap_or((word, ""));
        out.extend([if run.contains(['\n', '\r']) { "\n" } else { run }, word]);
        rest = after;
    }
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

/// True for an element that begins a line of its own; where code of a line holds one, its end tag was forgotten.
pub(super) fn is_block(element: &Element) -> bool {
    BLOCKS.split(' ').any(|name| name == element.name())
}

/// Classes that highlighters give to line numbers.
pub(super) fn is_line_number(class: &str) -> bool {
    class
        .split_ascii_whitespace()
        .any(|class| matches!(class, "lineno" | "linenos" | "line-number" | "line-numbers" | "linenumber" | "gutter" | "ln"))
}

/// The language as sites write it: on `pre`, on the `code` inside, or on the boxes around.
pub(super) fn language_of(dom: &Dom, id: Id) -> Option<String> {
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

const BLOCKS: &str = "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 \
    header hr html li listing main menu nav noscript ol p pre section summary table tbody td tfoot th thead tr ul";
