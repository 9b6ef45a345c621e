//! Formulas of a page: as their author wrote them in TeX, else as their signs follow each other.

use super::clean::texts_below;
use super::dom::{Dom, Element, Id};

/// The formula between dollar signs where its TeX is known, else its bare signs; at most 2000 bytes of it.
pub(super) fn formula(dom: &Dom, id: Id, element: &Element) -> String {
    let is_tex = |id: &Id| {
        let encoding = dom.element(*id).filter(|element| element.name() == "annotation").and_then(|element| element.attribute("encoding"));
        encoding.is_some_and(|encoding| encoding.ends_with("tex"))
    };
    let annotation = || dom.children(id).iter().flat_map(|child| dom.children(*child)).copied().find(is_tex);
    let tex = element.attribute("alttext").map(str::to_owned).or_else(|| Some(texts_below(dom, annotation()?).collect::<String>()));
    let tex = tex.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let formula = if tex.is_empty() { signs(dom, id, 0) } else { format!("${tex}$") };
    if formula.len() <= MOST { formula } else { String::new() }
}

/// The parts of an element in one line: a fraction is a quotient, not two numbers side by side.
fn signs(dom: &Dom, id: Id, depth: usize) -> String {
    let name = dom.element(id).map_or("", Element::name);
    if depth > MAX_DEPTH || name.starts_with("annotation") {
        return String::new();
    }
    if LEAVES.contains(&name) {
        return texts_below(dom, id).map(str::trim).collect();
    }
    let below: Vec<Id> = dom.children(id).iter().copied().filter(|child| dom.element(*child).is_some()).collect();
    let parts: Vec<String> = below.iter().map(|child| signs(dom, *child, depth + 1)).collect();
    // What is more than one sign is put in brackets.
    let whole = |at: usize| {
        let is_leaf = below.get(at).and_then(|id| dom.element(*id)).is_some_and(|element| LEAVES.contains(&element.name()));
        parts.get(at).map_or_else(String::new, |part| if is_leaf { part.clone() } else { format!("({part})") })
    };
    match (name, parts.len()) {
        ("mfrac", 2) => format!("{}/{}", whole(0), whole(1)),
        ("msup" | "mover", 2) => format!("{}^{}", whole(0), whole(1)),
        ("msub" | "munder", 2) => format!("{}_{}", whole(0), whole(1)),
        ("msubsup" | "munderover", 3) => format!("{}_{}^{}", whole(0), whole(1), whole(2)),
        ("msqrt", _) => format!("√({})", parts.concat()),
        ("mtable", _) => parts.join("; "),
        ("mtr", _) => parts.join(", "),
        _ => parts.concat(),
    }
}

/// Elements of a formula that hold one sign, number or word.
const LEAVES: &[&str] = &["mi", "mn", "mo", "mtext", "ms"];
const MOST: usize = 2000;
/// Elements in each other that are read.
const MAX_DEPTH: usize = 64;
