//! The parts of an HTML source in which no tag begins: comments, and elements whose content is text.
//!
//! # Source
//! HTML standard, sections 13.2.5.9 to 13.2.5.14 (ends of raw text) and 13.2.5.41 to 13.2.5.51 (comments).

/// What becomes of the text of such an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Raw {
    /// Data of a script, a sheet, or of a reader without frames: not shown.
    Data,
    /// Shown, or taken for a title, with its references resolved.
    Text,
    /// Shown as it is written.
    Written,
}

/// What an element of this name (lower case) holds, if it holds no tags where scripts run. `noscript` is not among them: what it holds is read.
pub(super) fn raw(name: &str) -> Option<Raw> {
    match name {
        "script" | "style" | "iframe" | "noembed" | "noframes" => Some(Raw::Data),
        "title" | "textarea" => Some(Raw::Text),
        "xmp" | "plaintext" => Some(Raw::Written),
        _ => None,
    }
}

/// The length of the content of such an element, which `body` begins with: all of it where no end tag follows.
pub(super) fn length(body: &str, name: &str) -> usize {
    let mut from = 0;
    while name != "plaintext"
        && let Some(found) = body.get(from..).and_then(|rest| rest.find("</"))
    {
        let at = from + found;
        let after = at + 2 + name.len();
        let is_named = body.as_bytes().get(at + 2..after).is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()));
        if is_named && body.as_bytes().get(after).is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>')) {
            return at;
        }
        from = at + 2;
    }
    body.len()
}

/// The lengths of a comment's text and of the comment, of which `body` is what follows its `<!--`.
pub(super) fn comment(body: &str) -> (usize, usize) {
    // `<!-->` and `<!--->` are whole comments.
    if let Some(end) = [">", "->"].iter().find(|end| body.starts_with(**end)) {
        return (0, end.len());
    }
    let mut from = 0;
    while let Some(at) = body.get(from..).and_then(|rest| rest.find("--")).map(|found| from + found) {
        let after = body.get(at + 2..).unwrap_or_default();
        if let Some(end) = [">", "!>"].iter().find(|end| after.starts_with(**end)) {
            return (at, at + 2 + end.len());
        }
        // One byte on, for `--->`.
        from = at + 1;
    }
    (body.len(), body.len())
}

/// A character reference at the start of a text, and its length.
pub(super) fn reference(rest: &str) -> Option<(char, usize)> {
    let end = rest.bytes().take(12).position(|byte| byte == b';')?;
    let body = rest.get(1..end)?;
    let code = match body.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        },
        None => named(body).map(u32::from),
    };
    code.and_then(char::from_u32).map(|character| (character, end + 1))
}

fn named(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_browsers_end_them() {
        for (body, lengths) in
            [(" a -->b", (3, 6)), (" a --!>b", (3, 7)), ("a--->b", (2, 5)), (">b", (0, 1)), ("->b", (0, 2)), ("a--b", (4, 4))]
        {
            assert_eq!(comment(body), lengths, "{body}");
        }
        for (body, name, size) in [
            ("a</style >b", "style", 1),
            ("a</STYLE/>b", "style", 1),
            ("a</styled>b</style>", "style", 11),
            ("a</title", "title", 8),
            ("a</é</title>", "title", 5),
            ("a</plaintext>", "plaintext", 13),
        ] {
            assert_eq!(length(body, name), size, "{body}");
        }
    }
}
