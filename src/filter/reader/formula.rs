//! Formulas of a page: as their author wrote them in TeX, else as their signs follow each other.

use super::clean::texts_below;
use super::dom::{Dom, Element, Id, Kind};

/// The formula between dollar signs where its TeX is known, else its bare signs; at most 2000 bytes of it.
pub(super) fn formula(dom: &Dom, id: Id, element: &Element) -> String {
    let inner = || dom.children(id).iter().flat_map(|child| dom.children(*child)).copied();
    let annotation = |id: &Id| dom.element(*id).filter(|element| element.name().starts_with("annotation"));
    let is_tex =
        |id: &Id| annotation(id).and_then(|element| element.attribute("encoding")).is_some_and(|encoding| encoding.ends_with("tex"));
    let told = || inner().find(is_tex).map(|id| texts_below(dom, id).collect::<String>());
    let tex = element.attribute("alttext").map(str::to_owned).or_else(told).unwrap_or_default();
    let tex = tex.split_whitespace().collect::<Vec<_>>().join(" ");
    if !tex.is_empty() && tex.len() <= MOST {
        return format!("${tex}$");
    }
    let apart: Vec<Id> = inner().filter(|id| annotation(id).is_some()).collect();
    let mut signs = String::new();
    let mut pending = vec![id];
    while let Some(id) = pending.pop().filter(|_| signs.len() < MOST) {
        if let Some(Kind::Text(text)) = dom.node(id).map(|node| &node.kind) {
            signs.push_str(text.trim());
        }
        pending.extend(dom.children(id).iter().rev().filter(|child| !apart.contains(child)));
    }
    signs
}

const MOST: usize = 2000;
