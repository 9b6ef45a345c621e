//! Pages that leave their text to scripts, which are not run.

use super::dom::{Dom, Element, Id, Kind};

/// Characters of text below which a page with scripts may have its text made by them.
const LITTLE: usize = 200;

/// Whether a page holds little more than scripts and the place where they put its text: an empty element with an id or a name of its own
/// (`<div id=root>`, `<app-root>`), or words for browsers without scripts.
///
/// `html` is its source: the tree holds no scripts.
pub(super) fn is_scripted(dom: &Dom, html: &str) -> bool {
    let (mut text, mut has_mount) = (0, false);
    let mut pending: Vec<Id> = vec![0];
    while let Some(id) = pending.pop() {
        match dom.node(id).map(|node| &node.kind) {
            Some(Kind::Text(words)) => text += words.chars().filter(|c| !c.is_whitespace()).take(LITTLE).count(),
            Some(Kind::Element(element)) => match element.name() {
                "noscript" => has_mount |= !dom.children(id).is_empty(),
                "script" | "style" | "template" | "title" | "svg" => {}
                _ => {
                    has_mount |= is_mount(dom, id, element);
                    pending.extend(dom.children(id));
                }
            },
            _ => pending.extend(dom.children(id)),
        }
        if text >= LITTLE {
            return false;
        }
    }
    has_mount && html.split('<').any(is_program)
}

/// Whether what follows a `<` begins a script that is a program and no data.
fn is_program(markup: &str) -> bool {
    let tag = markup.split('>').next().unwrap_or_default();
    tag.get(..6).is_some_and(|name| name.eq_ignore_ascii_case("script")) && !tag.contains("json")
}

/// Whether an element of the body is empty and can be found by a script.
fn is_mount(dom: &Dom, id: Id, element: &Element) -> bool {
    let named = element.name().contains('-') || element.attribute("id").is_some() && matches!(element.name(), "div" | "main" | "section");
    let is_blank = |child: &Id| matches!(dom.node(*child).map(|node| &node.kind), Some(Kind::Text(words)) if words.trim().is_empty());
    named && dom.children(id).iter().all(is_blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_scripts_is_told_from_a_short_page_and_from_one_with_text() {
        let long = "A long text with many words in it. ".repeat(10);
        for (html, expected) in [
            ("<div id=root></div><script src=/main.js></script>", true),
            (
                "<title>App</title><noscript>You need to enable JavaScript to run this app.</noscript><div id=app> </div><script>boot()</script>",
                true,
            ),
            ("<app-root></app-root><script type=module src=main.js></script>", true),
            ("<h1>404 Not Found</h1><script>count()</script>", false),
            ("<div id=root></div><script type=application/ld+json>{}</script>", false),
            ("<div id=root></div>", false),
            (&format!("<div id=modal></div><p>{long}</p><script>x()</script>"), false),
        ] {
            assert_eq!(is_scripted(&Dom::parse(html), html), expected, "{html}");
        }
    }
}
