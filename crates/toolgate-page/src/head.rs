//! What the head of a page says: where links start, title, description.

use url::Url;

use super::clean::texts_below;
use super::dom::Dom;

/// Where relative links of the page start: `<base>`, else the page's own address.
pub(super) fn base_of(dom: &Dom, page: Option<&Url>) -> Option<Url> {
    let written = dom
        .walk()
        .filter_map(|(id, _)| dom.element(id))
        .find(|element| element.name() == "base")
        .and_then(|element| element.attribute("href"));
    let joined = written.and_then(|href| page.map_or_else(|| Url::parse(href).ok(), |page| page.join(href).ok()));
    joined.filter(|url| matches!(url.scheme(), "http" | "https")).or_else(|| page.cloned())
}

/// What the page says of itself in its head.
pub(super) fn description_of(dom: &Dom) -> Option<String> {
    let metas = || dom.walk().filter_map(|(id, _)| dom.element(id)).filter(|element| element.name() == "meta");
    let named =
        |name: &str| metas().find(|meta| ["name", "property"].iter().any(|key| meta.attribute(key) == Some(name)))?.attribute("content");
    let text = named("og:description").or_else(|| named("description"))?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The title in the page's head.
pub(super) fn title_of(dom: &Dom) -> Option<String> {
    let (id, _) = dom.walk().find(|(id, _)| dom.element(*id).is_some_and(|element| element.name() == "title"))?;
    let text: String = dom.children(id).iter().flat_map(|child| texts_below(dom, *child)).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
