//! The text of style sheets and of `style` attributes: what is comment and string in it, and its declarations.
//!
//! # Source
//! CSS Syntax Level 3, section 4 (tokens) and section 5.4 (declarations).

use std::rc::Rc;

/// One declaration that decides whether something is seen, or whether its white space is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declaration {
    /// One of the known properties, without the prefix of a browser.
    pub(super) name: &'static str,
    /// In lower case, without blanks and `!important`.
    pub(super) value: Rc<str>,
    pub(super) important: bool,
}

/// Bytes of a value; what is longer is data.
const LONGEST: usize = 1024;

/// The declarations of a block or an attribute as [`plain`] gives it, in their order, of those properties that are `known`.
pub(super) fn declarations(body: &str, known: &'static [&'static [&'static str]]) -> impl Iterator<Item = Declaration> {
    body.split(';').filter_map(move |declaration| {
        let (name, value) = declaration.split_once(':')?;
        let name = name.trim().to_ascii_lowercase();
        let name = ["-webkit-", "-moz-", "-ms-", "-o-"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
        // Of what moves an element only matters that it does.
        let whole = ["transition", "animation"].into_iter().find(|whole| name.starts_with(whole)).unwrap_or(name);
        let name = known.iter().copied().flatten().find(|known| **known == whole)?;
        let value: String = value.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect();
        let (value, important) = value.strip_suffix("!important").map_or((value.as_str(), false), |value| (value, true));
        (value.len() <= LONGEST).then(|| Declaration { name, value: value.into(), important })
    })
}

/// A sheet or an attribute without comments, without the signs that hide a sheet from old browsers, without what strings and addresses hold, and
/// with escaped letters in the place of their escapes: what is left of braces, colons and semicolons is a sign.
pub(super) fn plain(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut rest = css;
    while let Some(at) = rest.find(['/', '"', '\'', '\\', '<', '-', '(']) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        rest = from;
        let sign = rest.chars().next().unwrap_or_default();
        let skip = |length: usize| rest.get(length..).unwrap_or_default();
        rest = match sign {
            '/' if rest.starts_with("/*") => skip(2).split_once("*/").map_or("", |(_, after)| after),
            '"' | '\'' => {
                out.push_str("\"\"");
                skip(1 + until(skip(1), |c| c == sign || matches!(c, '\n' | '\r' | '\u{c}'), sign))
            }
            '\\' => {
                let (letter, length) = escaped(skip(1));
                out.push(letter);
                skip(1 + length)
            }
            '<' if rest.starts_with("<!--") => skip(4),
            '-' if rest.starts_with("-->") => skip(3),
            '(' if is_address(&out) && !skip(1).trim_start().starts_with(['"', '\'']) => {
                out.push_str("()");
                skip(1 + until(skip(1), |c| c == ')', ')'))
            }
            _ => {
                out.push(sign);
                skip(1)
            }
        };
        super::work::read(before.len() + 1);
    }
    out.push_str(rest);
    out
}

/// How long the part is that a character ends which is not escaped, with that character where it is `last`.
fn until(text: &str, ends: impl Fn(char) -> bool, last: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if !is_escaped && ends(character) {
            return at + if character == last { last.len_utf8() } else { 0 };
        }
        is_escaped = !is_escaped && character == '\\';
    }
    text.len()
}

/// Whether a text ends with `url`: what stands in its parentheses is an address, with or without quotes.
fn is_address(before: &str) -> bool {
    let start = before.len().saturating_sub(3);
    before.as_bytes().get(start..).is_some_and(|name| name.eq_ignore_ascii_case(b"url"))
        && !before.as_bytes().get(start.wrapping_sub(1)).is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The character behind a backslash, and the length of its escape. What is part of no name stands as a backslash, so that it is no sign.
fn escaped(rest: &str) -> (char, usize) {
    let digits = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
    let is_of_name = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    if digits == 0 {
        let letter = rest.chars().next();
        return (letter.filter(is_of_name).unwrap_or('\\'), letter.filter(|letter| *letter != '\n').map_or(0, char::len_utf8));
    }
    let letter = rest.get(..digits).and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
    let blank = usize::from(rest.as_bytes().get(digits).is_some_and(u8::is_ascii_whitespace));
    (letter.filter(is_of_name).unwrap_or('\\'), digits + blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_addresses_hold_no_signs() {
        for (css, expected) in [
            (".y:before{content:\"\\\"\"}.x{}", ".y:before{content:\"\"}.x{}"),
            (".y{content:\"/*\"}.x{}", ".y{content:\"\"}.x{}"),
            (".y{content:'}'}/* ' */.x{}", ".y{content:\"\"}.x{}"),
            (".y{content:'a\n}.x{}", ".y{content:\"\"\n}.x{}"),
            (".y{content:'a\\\nb'}", ".y{content:\"\"}"),
            ("a{background:URL( data:a;b,{'})}.x{}", "a{background:URL()}.x{}"),
            ("a{background:url('a)')}", "a{background:url(\"\")}"),
            ("a{background:curl(a)}", "a{background:curl(a)}"),
            ("<!-- .x{} -->", " .x{} "),
            (".\\78 {d\\69splay:none}", ".x{display:none}"),
            (".md\\:a\\{b{}", ".md\\a\\b{}"),
            ("/* a", ""),
        ] {
            assert_eq!(plain(css), expected, "{css}");
        }
    }

    #[test]
    fn declarations_are_read_with_their_importance() {
        let known: &[&[&str]] = &[&["display", "transition", "mask"]];
        let read: Vec<_> = declarations(" DISPLAY : None ! IMPORTANT;color:red;-webkit-mask: a b;transition-property:all;:;", known)
            .map(|declaration| (declaration.name, declaration.value.to_string(), declaration.important))
            .collect();
        let expected = [("display", "none", true), ("mask", "ab", false), ("transition", "all", false)];
        assert_eq!(read, expected.map(|(name, value, important)| (name, value.to_owned(), important)));
        let blanks = format!("display:{}none", " ".repeat(500));
        assert_eq!(declarations(&blanks, known).count(), 1);
    }
}
