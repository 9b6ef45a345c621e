//! How texts and addresses are written so that they are that and nothing else.

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
        // References are decoded in targets, and could spell a scheme.
        None if base.is_none() && !text.is_empty() => {
            Some(text.chars().filter(|c| !c.is_control()).collect::<String>().replace(' ', "%20").replace('&', "&amp;"))
        }
        _ => None,
    }
}

/// An address and a title between the brackets of a link (`CommonMark` 0.31, section 6.3).
pub(super) fn destination(address: &str, title: Option<&str>) -> String {
    let mut depth = 0_i32;
    let is_balanced = address.chars().all(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth >= 0 && !matches!(c, '<' | '>' | '\\')
    }) && depth == 0;
    let codes = [("(", "%28"), (")", "%29"), ("<", "%3C"), (">", "%3E"), ("\\", "%5C")];
    let address =
        if is_balanced { address.to_owned() } else { codes.iter().fold(address.to_owned(), |text, (c, code)| text.replace(c, code)) };
    match title.map(|title| flowing(title).trim().replace('\\', "\\\\").replace('"', "\\\"")).filter(|title| !title.is_empty()) {
        Some(title) => format!("({address} \"{title}\")"),
        None => format!("({address})"),
    }
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

/// Writes a text whose characters are no marks of Markdown: a backslash stands before one only where it would be a mark, so `a_b`, `2 * 3` and
/// `[1]` stay as they are. `end` is what follows the text, NUL where that is not known. In a link every bracket is escaped.
pub(super) fn literal(out: &mut String, text: &str, end: char, in_link: bool) {
    let mut before = out.chars().next_back().unwrap_or(' ');
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.clone().next().unwrap_or(end);
        let is_markup = match c {
            '`' => true,
            '*' => !(before.is_whitespace() && after.is_whitespace()),
            '_' => before.is_alphanumeric() != after.is_alphanumeric(),
            '<' => after.is_ascii_alphabetic() || matches!(after, '/' | '!' | '?' | '\0'),
            '~' => after == '~' || before == '~',
            '[' | ']' => in_link,
            '(' | ':' => before == ']',
            '&' => rest.as_str().chars().take(32).find(|c| !c.is_ascii_alphanumeric() && *c != '#') == Some(';'),
            _ => false,
        };
        if is_markup {
            end_backslashes(out);
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
}

/// Makes a backslash of the page a character, before something that it would escape.
pub(super) fn end_backslashes(out: &mut String) {
    if out.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1 {
        out.push('\\');
    }
}

/// Where a backslash must stand in the line of a paragraph so that it begins no other block.
pub(super) fn block_mark(line: &str) -> Option<usize> {
    let (first, ends) = (line.chars().next()?, |at: usize| line.get(at..).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')));
    let run = |is: fn(char) -> bool| line.len() - line.trim_start_matches(is).len();
    let is_rule = || line.contains(['-', '=', '_']) && line.chars().all(|c| "-=_|: ".contains(c));
    match first {
        '>' => Some(0),
        '#' => (run(|c| c == '#') <= 6 && ends(run(|c| c == '#'))).then_some(0),
        '-' | '+' | '*' if ends(1) => Some(0),
        '0'..='9' => {
            let digits = run(|c| c.is_ascii_digit());
            (digits <= 9 && line.get(digits..).is_some_and(|rest| rest.starts_with(['.', ')'])) && ends(digits + 1)).then_some(digits)
        }
        '-' | '=' | '_' | '|' | ':' => is_rule().then_some(0),
        _ => None,
    }
}
