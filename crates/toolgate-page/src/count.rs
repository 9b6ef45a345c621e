//! The numbers of lists that count otherwise than by one: the converter knows only where a list starts, so other numbers are carried through it.

use std::collections::HashMap;

use super::dom::{Dom, Id};

/// The number of every item of a list that counts backwards or says the number of one; nothing for any other list.
pub(super) fn numbers(dom: &Dom, list: Id) -> HashMap<Id, i64> {
    let Some(element) = dom.element(list).filter(|element| element.name() == "ol") else { return HashMap::new() };
    let items = || dom.children(list).iter().copied().filter(|id| dom.element(*id).is_some_and(|element| element.name() == "li"));
    let value = |id: Id| dom.element(id).and_then(|element| element.attribute("value")?.trim().parse::<i64>().ok());
    let backwards = element.attribute("reversed").is_some();
    if !backwards && !items().any(|id| value(id).is_some()) {
        return HashMap::new();
    }
    let start = element.attribute("start").and_then(|start| start.trim().parse().ok());
    let first = start.unwrap_or_else(|| if backwards { i64::try_from(items().count()).unwrap_or(1) } else { 1 });
    let mut next = first;
    let number = |id: Id| {
        let number = value(id).unwrap_or(next);
        next = number.saturating_add(if backwards { -1 } else { 1 });
        (id, number)
    };
    // CommonMark 0.31, section 5.2: at most nine digits, no sign.
    items().map(number).filter(|(_, number)| (0..=999_999_999).contains(number)).collect()
}

/// Puts the numbers that were carried through into the place of those the converter counted.
pub(super) fn numbered(markdown: &str) -> String {
    let mut parts = markdown.split(NUMBER);
    let mut out = parts.next().unwrap_or_default().to_owned();
    // They come in pairs: a number, and what follows it.
    while let (Some(number), Some(after)) = (parts.next(), parts.next()) {
        let line = out.rfind('\n').map_or(0, |at| at + 1);
        let prefix = out.get(line..).unwrap_or_default();
        let marks = prefix.trim_end_matches(['*', '_', '~', '[', '`']);
        let counted = marks.strip_suffix(". ").map(|bare| (bare.trim_end_matches(|c: char| c.is_ascii_digit()).len(), bare.len()));
        if let Some((from, to)) = counted.filter(|(from, to)| from < to) {
            out.replace_range(line + from..line + to, number);
        }
        out.push_str(after);
    }
    out
}

/// Stands before and behind a number; no page can hold it (see `is_mark`).
pub(super) const NUMBER: char = '\u{10fff8}';
