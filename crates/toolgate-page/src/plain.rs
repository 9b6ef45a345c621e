//! Pages that are all content: without navigation, frames or classes.

use super::dom::Dom;

/// True when a page has no navigation, frame or class from which an extractor could tell content from the rest: then all of it is content.
pub(super) fn is_bare(dom: &Dom) -> bool {
    let mut classes = 0;
    for element in dom.walk().filter_map(|(id, _)| dom.element(id)) {
        if matches!(element.name(), "nav" | "header" | "footer" | "aside" | "form" | "button" | "frame")
            || element.attribute("role").is_some()
        {
            return false;
        }
        classes += usize::from(element.attribute("class").is_some() && !matches!(element.name(), "pre" | "code" | "span"));
    }
    classes < FEW_CLASSES
}

/// Classes from which on a page has a design.
const FEW_CLASSES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_design_is_all_content() {
        assert!(is_bare(&Dom::parse("<main><p>a<p>b<pre class=x>c</main>")));
        for html in ["<nav><a href=/>x</a></nav><p>a", "<p role=note>a", &"<p class=x>a".repeat(8)] {
            assert!(!is_bare(&Dom::parse(html)), "{html}");
        }
    }
}
