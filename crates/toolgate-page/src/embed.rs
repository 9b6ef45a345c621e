//! What a page shows and does not say: pictures, and players and pages inside it, of which the address is told.

use url::Url;

use super::dom::{Dom, Element, Id};
use super::escape::address;
use crate::style::Style;

/// True for an element that shows something from elsewhere and holds nothing itself but words for those who cannot see it.
pub(super) fn is_embedding(name: &str) -> bool {
    matches!(name, "iframe" | "video" | "audio")
}

/// Whether an embedding leads somewhere and can be seen; frames of a point are there to count readers, others to advertise.
pub(super) fn is_shown(dom: &Dom, id: Id) -> bool {
    let Some(element) = dom.element(id).filter(|element| is_embedding(element.name())) else { return false };
    let point = ["width", "height"].iter().any(|side| matches!(element.attribute(side).map(str::trim), Some("0" | "1" | "0px" | "1px")));
    let sold = label(element).is_some_and(|label| label.to_ascii_lowercase().contains("advert"));
    let hidden = element.attribute("hidden").is_some() || Style::of(element.attribute("style").unwrap_or_default()).hides();
    // What plays by itself and cannot be held is decoration.
    let decoration = element.name() == "video" && element.attribute("autoplay").is_some() && element.attribute("controls").is_none();
    !point && !sold && !hidden && !decoration && source(dom, id, element).next().is_some()
}

/// An embedding as a link to what it shows: its label and its target.
pub(super) fn link(dom: &Dom, id: Id, element: &Element, base: Option<&Url>) -> Option<(String, String)> {
    let target = source(dom, id, element).find_map(|source| address(source, base, false))?;
    let named = if element.name() == "iframe" { "embedded page" } else { element.name() };
    Some((label(element).unwrap_or(named).chars().take(MOST_LABEL).collect(), target))
}

fn label(element: &Element) -> Option<&str> {
    ["title", "aria-label"].iter().filter_map(|name| element.attribute(name)).map(str::trim).find(|label| !label.is_empty())
}

/// The addresses an embedding names, its own first.
fn source<'a>(dom: &'a Dom, id: Id, element: &'a Element) -> impl Iterator<Item = &'a str> {
    let own = ["src", "data-src"].into_iter().filter_map(|name| element.attribute(name));
    let below = dom.children(id).iter().filter_map(|child| dom.element(*child)).filter(|child| child.name() == "source");
    own.chain(below.filter_map(|source| source.attribute("src")))
        .filter(|source| !source.trim().is_empty() && source.trim() != "about:blank")
}

/// The address of a picture: where it is loaded late, `src` is of something else.
pub(super) fn picture(dom: &Dom, id: Id, element: &Element, base: Option<&Url>) -> Option<String> {
    let late = ["data-src", "data-lazy-src", "data-original"].into_iter().filter_map(|name| element.attribute(name));
    let own = element.attribute("src").filter(|source| !source.trim_start().starts_with("data:"));
    let parent = dom.ancestors(id).next().filter(|parent| dom.element(*parent).is_some_and(|element| element.name() == "picture"));
    let sources = parent.into_iter().flat_map(|parent| dom.children(parent)).filter_map(|child| dom.element(*child));
    let sets = std::iter::once(element).chain(sources).flat_map(|element| ["srcset", "data-srcset"].map(|name| element.attribute(name)));
    // Of a set the last one, which is usually the largest (HTML standard, section 4.8.4.2.1: `address 400w, address 800w`).
    let last = sets.flatten().filter_map(|set| set.trim().trim_end_matches(',').rsplit(", ").next()?.split_whitespace().next());
    late.chain(own).chain(last).find_map(|source| address(source, base, false))
}

const MOST_LABEL: usize = 120;
