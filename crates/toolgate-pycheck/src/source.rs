//! From bytes to the one text that is judged and run.

use super::report::{Problem, Reason};

/// The largest program that is read, in bytes.
pub const MAX_SOURCE: usize = 256 * 1024;

/// Brings a program into its one form: UTF-8, no byte order mark, `\n` line ends.
///
/// `CPython` turns `\r` and `\r\n` into `\n` inside string constants too, and a parser that does not would judge other constants.
/// An encoding cookie lets a comment become code (utf-7, `unicode_escape`, gb18030), and `CPython` up to 3.10 stops reading at NUL.
pub(super) fn normalise(bytes: &[u8]) -> Result<String, Problem> {
    if bytes.len() > MAX_SOURCE {
        return Err(fault(
            "source.size",
            format!("the program is {} KiB, over the limit of {} KiB", bytes.len().div_ceil(1024), MAX_SOURCE / 1024),
            "split it up, or read its data from a file",
        ));
    }
    let (mut bytes, whole) = (bytes, bytes.len());
    // All of them: what is judged is compiled from a `str`, where CPython would take one more away.
    while let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        bytes = rest;
    }
    // After a mark CPython reads the cookie `utf-8` and no other name of it.
    let marked = bytes.len() < whole;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("the program is not UTF-8 (byte {})", error.valid_up_to());
            return Err(fault("source.encoding", message, "send the program as UTF-8 text"));
        }
    };
    if text.contains('\0') {
        return Err(fault(
            "source.nul",
            "the program holds a null character, which interpreters read differently",
            "write `\\0` in the string instead",
        ));
    }
    let text = if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() };
    if let Some(cookie) = text.split('\n').take(2).find_map(cookie)
        && (!is_utf8_name(cookie) || (marked && !cookie.replace('_', "-").eq_ignore_ascii_case("utf-8")))
    {
        let message = format!("the comment declares the encoding `{}`; only UTF-8 is read", cookie.chars().take(40).collect::<String>());
        return Err(fault("source.encoding", message, "remove the `coding` comment and send UTF-8"));
    }
    Ok(text)
}

/// The encoding a line declares (PEP 263: `^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`).
fn cookie(line: &str) -> Option<&str> {
    let comment = line.trim_start_matches([' ', '\t', '\x0c']).strip_prefix('#')?;
    let mut rest = comment;
    while let Some((_, after)) = rest.split_once("coding") {
        rest = after;
        let Some(value) = after.strip_prefix([':', '=']) else { continue };
        let value = value.trim_start_matches([' ', '\t']);
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))).unwrap_or(value.len());
        match value.get(..end) {
            Some(name) if !name.is_empty() => return Some(name),
            _ => {}
        }
    }
    None
}

fn is_utf8_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['_', ' '], "-");
    matches!(name.as_str(), "utf-8" | "utf8" | "u8" | "utf-8-sig" | "utf8-sig" | "ascii" | "us-ascii")
}

fn fault(rule: &'static str, message: impl Into<String>, hint: &str) -> Problem {
    Problem::new(rule, message, hint).reason(Reason::SyntaxError)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(bytes: &[u8]) -> Option<&'static str> {
        normalise(bytes).err().map(|raw| raw.rule)
    }

    #[test]
    fn line_ends_and_the_byte_order_mark_have_one_form() {
        assert_eq!(normalise(b"\xef\xbb\xbfa\r\nb\rc\n").ok().as_deref(), Some("a\nb\nc\n"));
        assert_eq!(normalise(b"\xef\xbb\xbf\xef\xbb\xbfa\n").ok().as_deref(), Some("a\n"));
    }

    #[test]
    fn encodings_that_turn_comments_into_code_are_refused() {
        for text in
            ["# coding: utf-7\n", "#!/usr/bin/python\n# -*- coding=gb18030 -*-", "\x0c #encoding: unicode_escape", "x\r# coding: rot13"]
        {
            assert_eq!(rule(text.as_bytes()), Some("source.encoding"), "{text}");
        }
        for text in
            ["# coding: utf-8\n", "# -*- coding: UTF_8 -*-", "# vim: set fileencoding=utf-8 :", "a\nb\n# coding: utf-7", "# coding style"]
        {
            assert_eq!(rule(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert_eq!(rule(b"x = '\xff'"), Some("source.encoding"));
        assert_eq!(rule(b"\xef\xbb\xbf# coding: utf8"), Some("source.encoding"));
        assert_eq!(rule(b"\xef\xbb\xbf# coding: UTF_8"), None);
        assert_eq!(rule(b"x = 'a\0b'"), Some("source.nul"));
        assert_eq!(rule(&vec![b' '; 262_145]), Some("source.size"));
        assert_eq!(rule(&vec![b' '; 262_144]), None);
    }
}
