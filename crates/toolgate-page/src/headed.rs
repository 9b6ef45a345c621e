//! Ids that were made from a heading.
//!
//! Extractors tell by ids and classes what is no content, and go by parts of words: `sharing-state-between-processes` is a bar to share the page
//! for them. An id that repeats its heading says nothing of what the part is for, so they are not given it.

use std::collections::HashSet;

use super::dom::{Dom, Element, Id};

/// The elements whose id repeats the words of their heading: the heading itself, or the part that it stands at the beginning of.
///
/// One word may be the name of a part as well (`comments`), so it counts only on a page where most headings give their id.
pub(super) fn headed(dom: &Dom) -> HashSet<Id> {
    let (mut headings, mut named) = (0_usize, 0_usize);
    let mut found = Vec::new();
    for (id, _) in dom.walk().filter(|(id, _)| dom.element(*id).is_some_and(is_heading)) {
        let words = letters(super::clean::texts_below(dom, id));
        if words.is_empty() {
            continue;
        }
        headings += 1;
        let parent = dom.ancestors(id).next().filter(|parent| first_heading(dom, *parent) == Some(id));
        let repeats = |at: &Id| dom.element(*at).and_then(|element| element.attribute("id")).is_some_and(|own| is_made_of(own, &words));
        let before = found.len();
        found.extend(std::iter::once(id).chain(parent).filter(repeats));
        named += usize::from(found.len() > before);
    }
    let is_made = named >= FEW && named * 2 >= headings;
    let is_long = |id: &Id| dom.element(*id).and_then(|element| element.attribute("id")).is_some_and(|own| own.contains(['-', '_']));
    found.into_iter().filter(|id| is_made || is_long(id)).collect()
}

fn is_heading(element: &Element) -> bool {
    matches!(element.name(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

fn first_heading(dom: &Dom, part: Id) -> Option<Id> {
    dom.children(part).iter().copied().find(|child| dom.element(*child).is_some_and(is_heading))
}

/// Whether an id is the words of a heading, with a number where there are several of the same.
fn is_made_of(id: &str, words: &str) -> bool {
    letters(std::iter::once(id)).strip_prefix(words).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

fn letters<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    texts.flat_map(str::chars).filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(MOST).collect()
}

/// Headings from which on a page shows how it makes its ids.
const FEW: usize = 3;
/// Characters of a heading that are compared.
const MOST: usize = 200;
