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
    let mut steps = vec![Step::Node(id)];
    while let Some(step) = steps.pop().filter(|_| signs.len() < MOST) {
        let id = match step {
            Step::Node(id) => id,
            Step::Sign(sign) => {
                signs.push_str(sign);
                continue;
            }
        };
        if let Some(Kind::Text(text)) = dom.node(id).map(|node| &node.kind) {
            signs.push_str(text.trim());
        }
        let name = dom.element(id).map_or("", Element::name);
        let parts: Vec<Id> = dom
            .children(id)
            .iter()
            .copied()
            .filter(|child| !apart.contains(child) && (!name.starts_with('m') || dom.element(*child).is_some() || LEAVES.contains(&name)))
            .collect();
        steps.extend(linear(dom, name, &parts).into_iter().rev());
    }
    signs
}

/// A part of a formula, or a sign between two.
enum Step {
    Node(Id),
    Sign(&'static str),
}

/// The parts of an element in one line: a fraction is a quotient, not two numbers side by side.
fn linear(dom: &Dom, name: &str, parts: &[Id]) -> Vec<Step> {
    // What is more than one sign is put in brackets.
    let whole = |id: Id| {
        let is_leaf = dom.element(id).is_some_and(|element| LEAVES.contains(&element.name()));
        if is_leaf { vec![Step::Node(id)] } else { vec![Step::Sign("("), Step::Node(id), Step::Sign(")")] }
    };
    let joined = |first: Id, sign: &'static str, second: Id| {
        whole(first).into_iter().chain([Step::Sign(sign)]).chain(whole(second)).collect::<Vec<_>>()
    };
    match (name, parts) {
        ("mfrac", [above, below]) => joined(*above, "/", *below),
        ("msup" | "mover", [base, above]) => joined(*base, "^", *above),
        ("msub" | "munder", [base, below]) => joined(*base, "_", *below),
        ("msubsup" | "munderover", [base, below, above]) => {
            joined(*base, "_", *below).into_iter().chain([Step::Sign("^")]).chain(whole(*above)).collect()
        }
        ("mroot", [base, index]) => [Step::Sign("root("), Step::Node(*index), Step::Sign(", "), Step::Node(*base), Step::Sign(")")].into(),
        ("msqrt", _) => [Step::Sign("√(")].into_iter().chain(parts.iter().map(|id| Step::Node(*id))).chain([Step::Sign(")")]).collect(),
        ("mtable", _) => between(parts, "; "),
        ("mtr", _) => between(parts, ", "),
        _ => parts.iter().map(|id| Step::Node(*id)).collect(),
    }
}

fn between(parts: &[Id], sign: &'static str) -> Vec<Step> {
    let sign = |at: usize| (at > 0).then_some(Step::Sign(sign));
    parts.iter().enumerate().flat_map(|(at, id)| sign(at).into_iter().chain([Step::Node(*id)])).collect()
}

/// Elements of a formula that hold one sign, number or word.
const LEAVES: &[&str] = &["mi", "mn", "mo", "mtext", "ms"];

const MOST: usize = 2000;
