//! Pages that React streams: a part that is ready late arrives hidden behind the page, and a script moves it to its place.
//!
//! # Source
//! React's `ReactFizzConfigDOM`: `<div hidden id="S:0">` takes the place of `<template id="B:0">` and of the fallback between it and the comment
//! `/$`, or of `<template id="P:0">`.

use std::collections::HashMap;

use super::dom::{Dom, Id, Kind};

/// Parts of one page that are moved.
const MOST_PARTS: usize = 256;

/// Moves each part to its place, as the scripts of the page would.
pub(super) fn place(dom: &mut Dom) {
    let (mut places, mut parts, mut ends) = (HashMap::new(), Vec::new(), Vec::new());
    for (id, node) in dom.nodes.iter().enumerate() {
        match &node.kind {
            Kind::Comment(text) if text == "/$" => ends.push(id),
            Kind::Element(element) => match (element.name(), element.attribute("id")) {
                ("template", Some(name)) => {
                    if let Some(key) = name.rsplit_once("B:").or_else(|| name.rsplit_once("P:")) {
                        places.insert((key.0.to_owned(), key.1.to_owned()), (id, name.contains("B:")));
                    }
                }
                ("div", Some(name)) if element.attribute("hidden").is_some() => {
                    parts.extend(name.rsplit_once("S:").map(|(prefix, number)| (id, (prefix.to_owned(), number.to_owned()))));
                }
                _ => {}
            },
            _ => {}
        }
    }
    for (part, key) in parts.into_iter().take(MOST_PARTS) {
        let Some(&(template, has_fallback)) = places.get(&key) else { continue };
        // A part that holds its own place would become a child of itself.
        if dom.ancestors(template).any(|above| above == part) {
            continue;
        }
        if has_fallback {
            let end = ends.get(ends.partition_point(|end| *end < template)).copied().unwrap_or(template);
            let siblings = dom.node(template).and_then(|node| node.parent).map(|parent| dom.children(parent)).unwrap_or_default();
            // A text may go on behind the comment.
            let fallback: Vec<Id> =
                siblings.iter().copied().filter(|id| (template + 1..end).contains(id) && dom.element(*id).is_some()).collect();
            dom.detach_all(&fallback);
        }
        dom.replace(template, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        let mut dom = Dom::parse(html);
        place(&mut dom);
        crate::clean::texts_below(&dom, 0).collect()
    }

    #[test]
    fn parts_stand_where_the_scripts_of_the_page_would_move_them() {
        for (html, expected) in [
            (
                "a <!--$?--><template id='B:0'></template><i>wait</i> <!--/$--> d<div hidden id='S:0'>b <template id='P:1'></template></div><div hidden id='S:1'>c</div>",
                "a b c  d",
            ),
            ("a <!--$?--><template id='x-B:a'></template>, wait<!--/$--> c<div hidden id='x-S:a'>b</div>", "a b, wait c"),
            ("a<template id='B:0'></template><div hidden id='S:1'>b</div>", "ab"),
            ("<div hidden id='S:0'>a<p><template id='B:0'></template>b</p></div>", "ab"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
        let shown = crate::read_html(
            "<p>a<!--$?--><template id='B:0'></template><!--/$--></p><div hidden id='S:0'>b</div>",
            &crate::Options::default(),
        );
        assert_eq!((shown.text.as_str(), shown.hidden.as_str()), ("ab\n", ""));
    }
}
