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
    let mapped: Option<String> = text.chars().map(|c| table.iter().find(|(plain, _)| *plain == c).map(|(_, other)| *other)).collect();
    if mapped.is_some() {
        return mapped;
    }
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(one), None) if one.is_alphabetic() => Some(format!("{sign}{one}")),
        // Endings (`1st`), marks (`TM`) and notes (`[1]`) stay as they are.
        _ if text.chars().all(char::is_alphabetic) && sign == '^' => None,
        _ if text.chars().all(char::is_alphanumeric) => Some(format!("{sign}{text}")),
        _ if text.chars().all(|c| c.is_alphanumeric() || " +-−/=,.()".contains(c)) => Some(format!("{sign}({text})")),
        _ => None,
    }
}

/// What an abbreviation stands for, where its `title` says so.
pub(super) fn meaning<'a>(dom: &Dom, id: Id, element: &'a Element) -> Option<&'a str> {
    if !matches!(element.name(), "abbr" | "acronym") {
        return None;
    }
    let text: String = texts_below(dom, id).take(4).collect();
    let text = text.trim();
    let is_short = (2..=12).contains(&text.len()) && text.chars().filter(|c| c.is_uppercase()).count() * 2 > text.chars().count();
    // Dates and tooltips stand in titles, too; what an abbreviation stands for is several words, without digits.
    let title = element.attribute("title").map(str::trim)?;
    let is_long = title.len() > text.len() && title.len() <= 80 && title.contains(' ') && !title.contains(|c: char| c.is_ascii_digit());
    (is_short && is_long).then_some(title)
}

/// Characters above or below a line.
const MOST: usize = 12;

const RAISED: &[(char, char)] = &[
    ('0', '⁰'),
    ('1', '¹'),
    ('2', '²'),
    ('3', '³'),
    ('4', '⁴'),
    ('5', '⁵'),
    ('6', '⁶'),
    ('7', '⁷'),
    ('8', '⁸'),
    ('9', '⁹'),
    ('+', '⁺'),
    ('-', '⁻'),
    ('−', '⁻'),
    ('=', '⁼'),
    ('(', '⁽'),
    (')', '⁾'),
    ('n', 'ⁿ'),
    ('i', 'ⁱ'),
];

const LOWERED: &[(char, char)] = &[
    ('0', '₀'),
    ('1', '₁'),
    ('2', '₂'),
    ('3', '₃'),
    ('4', '₄'),
    ('5', '₅'),
    ('6', '₆'),
    ('7', '₇'),
    ('8', '₈'),
    ('9', '₉'),
    ('+', '₊'),
    ('-', '₋'),
    ('−', '₋'),
    ('=', '₌'),
    ('(', '₍'),
    (')', '₎'),
];
