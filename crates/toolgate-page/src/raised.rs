//! What is written above and below the line, and what an abbreviation stands for: words that mean something else without it.

use super::clean::texts_below;
use super::dom::{Dom, Element, Id};

/// The text of `sup` or `sub` as a line can hold it: in raised or lowered characters where there are some, else behind `^` or `_`. `None`
/// for what is better written as it is: links, as of footnotes, endings of ordinals, long texts.
pub(super) fn raised(dom: &Dom, id: Id, element: &Element) -> Option<String> {
    let (table, sign) = match element.name() {
        "sup" => (RAISED, '^'),
        "sub" => (LOWERED, '_'),
        _ => return None,
    };
    if dom.children(id).iter().any(|child| dom.element(*child).is_some_and(|element| !matches!(element.name(), "b" | "i" | "em" | "var"))) {
        return None;
    }
    let text: String = texts_below(dom, id).take(4).collect();
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MOST {
        return None;
    }
    let mapped: Option<String> =
        text.chars().map(|c| PLAIN.chars().zip(table.chars()).find(|pair| pair.0 == c).map(|pair| pair.1)).collect();
    let is_word = text.chars().all(char::is_alphanumeric);
    mapped.or_else(|| match text.chars().count() {
        1 if is_word => Some(format!("{sign}{text}")),
        // Endings (`1st`), marks (`TM`) and notes (`[1]`) stay as they are.
        _ if sign == '^' && text.chars().all(char::is_alphabetic) => None,
        _ if is_word => Some(format!("{sign}{text}")),
        _ => text.chars().all(|c| c.is_alphanumeric() || " +-−/=,.()".contains(c)).then(|| format!("{sign}({text})")),
    })
}

/// What an abbreviation in capitals stands for, where its `title` says so: several words without digits. Dates and tooltips stand in titles, too.
pub(super) fn meaning<'a>(dom: &Dom, id: Id, element: &'a Element) -> Option<&'a str> {
    let title = element.attribute("title").map(str::trim).filter(|_| matches!(element.name(), "abbr" | "acronym"))?;
    let text: String = texts_below(dom, id).take(4).collect();
    let is_short =
        (2..=12).contains(&text.trim().len()) && text.chars().filter(|c| c.is_uppercase()).count() * 2 > text.trim().chars().count();
    let is_long = (text.len() + 1..=80).contains(&title.len()) && title.contains(' ') && !title.contains(|c: char| c.is_ascii_digit());
    (is_short && is_long).then_some(title)
}

/// Characters above or below a line.
const MOST: usize = 12;

const PLAIN: &str = "0123456789+-−=()ni";
const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ";
const LOWERED: &str = "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎";
