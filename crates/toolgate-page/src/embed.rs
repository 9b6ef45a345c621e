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
    let style = Style::of(element.attribute("style").unwrap_or_default());
    let hidden = element.attribute("hidden").is_some() || style.is_out_of_sight() || style.is_invisible();
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

/// The address of a picture: where it is loaded late, `src` is of something else. The largest of a set stands for a set.
pub(super) fn picture(dom: &Dom, id: Id, element: &Element, base: Option<&Url>) -> Option<String> {
    let late = ["data-src", "data-lazy-src", "data-original"].into_iter().filter_map(|name| element.attribute(name));
    let own = element.attribute("src").into_iter();
    let instead = element.attribute("src").is_none_or(is_placeholder);
    let one = if instead { late.chain(own).collect::<Vec<_>>() } else { own.chain(late).collect() };
    let parent = dom.ancestors(id).next().filter(|parent| dom.element(*parent).is_some_and(|element| element.name() == "picture"));
    let sources = parent.into_iter().flat_map(|parent| dom.children(parent)).filter_map(|child| dom.element(*child));
    let sets = std::iter::once(element).chain(sources).flat_map(|element| ["srcset", "data-srcset"].map(|name| element.attribute(name)));
    let sets: Vec<&str> = sets.flatten().filter_map(largest).collect();
    let (first, last) = if instead && one.len() < 2 { (sets, one) } else { (one, sets) };
    first.into_iter().chain(last).find_map(|source| address(source, base, false))
}

/// True for what stands in the place of a picture until it is loaded.
fn is_placeholder(source: &str) -> bool {
    let source = source.trim().to_ascii_lowercase();
    let name = source.split(['?', '#']).next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    source.is_empty()
        || source.starts_with("data:")
        || ["placeholder", "blank.", "spacer.", "lazy", "loading.", "1x1", "transparent", "pixel."].iter().any(|part| name.contains(part))
}

/// The address with the largest descriptor (HTML standard, section 4.8.4.2.1: `address 2x, address 800w`).
fn largest(set: &str) -> Option<&str> {
    let mut best: Option<(f64, &str)> = None;
    let mut rest = set.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    while !rest.is_empty() {
        // An address may hold commas, but does not end in one.
        let (address, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (address, descriptor, next) = match address.strip_suffix(',') {
            Some(bare) => (bare, "", after),
            None => after.split_once(',').map_or((address, after, ""), |(descriptor, next)| (address, descriptor, next)),
        };
        let size: f64 =
            descriptor.trim().trim_end_matches(['w', 'x', 'h']).parse().ok().filter(|size: &f64| size.is_finite()).unwrap_or(1.0);
        if best.is_none_or(|(known, _)| size > known) {
            best = Some((size, address));
        }
        rest = next.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    }
    best.map(|(_, address)| address)
}

const MOST_LABEL: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_a_set_is_taken_whatever_the_set_looks_like() {
        for (set, expected) in [
            ("a.png 1x, b.png 2x", Some("b.png")),
            ("a.png 400w,b.png 800w, c.png 200w", Some("b.png")),
            ("a,b.png, c.png 3x", Some("c.png")),
            ("  , a.png ,", Some("a.png")),
            ("a.png", Some("a.png")),
            ("", None),
            ("a.png NaNw, b.png -1x, c.png 1e999w, d.png 1.5x", Some("d.png")),
        ] {
            assert_eq!(largest(set), expected, "{set}");
        }
        assert!(largest(&"a 1x,".repeat(50_000)).is_some());
    }
}
