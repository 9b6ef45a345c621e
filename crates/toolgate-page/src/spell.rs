//! How texts, attributes and addresses are written so that they are that and nothing else.

use std::borrow::Cow;

use url::Url;

use super::choose::is_mark;

/// An address as it may stand in an answer: resolved, and of a scheme that only leads somewhere.
pub(super) fn address(text: &str, base: Option<&Url>, link: bool) -> Option<String> {
    let text = text.trim();
    let resolved = match base {
        Some(base) => base.join(text).ok(),
        None => Url::parse(text)
            .map(Some)
            .or_else(|fault| if fault == url::ParseError::RelativeUrlWithoutBase { Ok(None) } else { Err(fault) })
            .ok()?,
    };
    match resolved {
        Some(url) if matches!(url.scheme(), "http" | "https") || (link && matches!(url.scheme(), "mailto" | "tel")) => Some(url.into()),
        None if base.is_none() && !text.is_empty() => {
            Some(text.chars().filter(|c| !c.is_control()).collect::<String>().replace(' ', "%20"))
        }
        _ => None,
    }
}

/// A text of the page without the characters that carry marks.
pub(super) fn unmarked(text: &str) -> Cow<'_, str> {
    if text.contains(is_mark) { text.chars().filter(|c| !is_mark(*c)).collect::<String>().into() } else { text.into() }
}

/// White space as a line of text has it: runs are one space. Marks are left out.
pub(super) fn flowing(text: &str) -> String {
    let mut flowing = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !is_mark(*c)) {
        if !c.is_ascii_whitespace() {
            flowing.push(c);
        } else if !flowing.ends_with(' ') {
            flowing.push(' ');
        }
    }
    flowing
}

/// A text whose characters are no marks of Markdown: where one would be, [`LITERAL`] stands before it and becomes a backslash when all is
/// converted. Only where it would be one: `a_b`, `2 * 3` and `[1]` stay as they are.
pub(super) fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        let marks = match c {
            '`' => true,
            '*' => !(before.is_whitespace() && after.is_whitespace()),
            '_' => before.is_alphanumeric() != after.is_alphanumeric(),
            '<' => after.is_ascii_alphabetic() || matches!(after, '/' | '!' | '?'),
            '~' => after == '~' || before == '~',
            _ => false,
        };
        literal.extend(marks.then_some(LITERAL));
        literal.push(c);
        before = c;
    }
    literal
}

pub(super) fn attribute(out: &mut String, name: &str, value: &str) {
    if name.contains(|c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '/' | '=')) {
        return;
    }
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    for c in value.chars().filter(|c| !is_mark(*c)) {
        match c {
            '"' => out.push_str("&quot;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            _ => out.push(c),
        }
    }
    out.push('"');
}

pub(super) fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            _ => out.push(c),
        }
    }
}

/// Stands before a character that is no mark; no page can hold it either.
pub(super) const LITERAL: char = '\u{10fffc}';
