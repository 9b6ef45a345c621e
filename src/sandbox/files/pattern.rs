//! What callers search by: globs over paths and regular expressions over lines.

use globset::GlobBuilder;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex::Regex;

use crate::model::{RelPath, name};

/// A glob of a caller. Without a `/` it matches names at any depth, with one the whole path below the folder.
#[derive(Debug, Clone)]
pub struct Pattern {
    matcher: Regex,
    names: bool,
}

impl Pattern {
    /// Reads a glob: `*` `?` `[…]` stay inside one folder, `**` crosses folders and stands alone between slashes. A name that holds the brackets and
    /// braces of the glob as they stand there matches as well.
    /// # Errors
    /// What is wrong with it, as a clause.
    pub fn parse(text: &str) -> Result<Self, String> {
        let shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
        if text.is_empty() || text.len() > LONGEST {
            return Err(format!("`{shown}`, which is empty or longer than {LONGEST} bytes"));
        }
        if text.split('/').any(|part| part.contains("**") && part != "**") {
            return Err(format!("`{shown}`, where `**` is not a whole name between slashes"));
        }
        // Names are compared in normal form C, as the rules compare them.
        let text = name::nfc(text);
        let expression = |glob: &str| {
            let glob = GlobBuilder::new(glob).literal_separator(true).backslash_escape(false).build();
            glob.map(|glob| by_character(glob.regex())).map_err(|fault| format!("`{shown}`: {}", fault.kind()))
        };
        let mut matchers = expression(&text)?;
        if text.contains(['[', '{']) {
            // Web frameworks have folders that are named `[id]`.
            let literal: String =
                text.chars().map(|letter| if "[]{}".contains(letter) { format!("[{letter}]") } else { letter.into() }).collect();
            matchers = format!("{matchers}|{}", expression(&literal)?);
        }
        let matcher = Regex::new(&matchers).map_err(|_| format!("`{shown}`, which is too large"))?;
        Ok(Self { matcher, names: !text.contains('/') })
    }

    /// Whether a path, given relative to the searched folder, matches.
    pub fn matches(&self, path: &RelPath) -> bool {
        let path = path.nfc();
        if self.names {
            path.segments().last().is_some_and(|name| self.matcher.is_match(name))
        } else {
            self.matcher.is_match(&path.to_string())
        }
    }
}

/// The expression of a glob over characters, as names are: `globset` writes it over bytes, each that is not ASCII as `\xHH`, so that `?` and a
/// set would take a part of a character.
fn by_character(bytes: &str) -> String {
    let bytes = bytes.strip_prefix("(?-u)").unwrap_or(bytes);
    let mut out = String::with_capacity(bytes.len() + 4);
    // Names may hold a line feed in no place, and `.` is to take all else.
    out.push_str("(?s)");
    let mut run = Vec::new();
    let mut rest = bytes;
    loop {
        let byte = rest.strip_prefix("\\x").and_then(|digits| u8::from_str_radix(digits.get(..2)?, 16).ok());
        if let Some(byte) = byte {
            run.push(byte);
            rest = rest.get(4..).unwrap_or_default();
            continue;
        }
        out.push_str(&String::from_utf8_lossy(&std::mem::take(&mut run)));
        let mut letters = rest.chars();
        let Some(letter) = letters.next() else { return out };
        out.push(letter);
        rest = letters.as_str();
        // What a backslash escapes begins no byte.
        if letter == '\\'
            && let Some(escaped) = letters.next()
        {
            out.push(escaped);
            rest = letters.as_str();
        }
    }
}

/// A matcher of single lines. The compiled program is bounded, so that no expression takes the server's memory.
/// # Errors
/// What is wrong with it, as a clause.
pub fn line_matcher(query: &str) -> Result<RegexMatcher, String> {
    if query.is_empty() || query.len() > LONGEST {
        return Err(format!("empty or longer than {LONGEST} bytes"));
    }
    RegexMatcherBuilder::new()
        .multi_line(true)
        // `$` holds before `\r\n` as well; lines end with `\n`, whatever stands before it.
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .size_limit(2 << 20)
        .dfa_size_limit(8 << 20)
        .build(query)
        .map_err(|fault| format!("none: {}", fault.to_string().lines().last().unwrap_or_default().trim()))
}

/// Longest glob or expression in bytes.
const LONGEST: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_without_a_slash_matches_names_and_one_with_a_slash_matches_paths() {
        let hits = |glob: &str| {
            let pattern = Pattern::parse(glob).unwrap();
            ["a.rs", "src/b.rs", "src/x/c.rs", "src/x/c.txt"]
                .into_iter()
                .filter(|p| pattern.matches(&RelPath::parse(p).unwrap()))
                .collect::<Vec<_>>()
        };
        assert_eq!(hits("*.rs"), ["a.rs", "src/b.rs", "src/x/c.rs"]);
        assert_eq!(hits("src/*.rs"), ["src/b.rs"]);
        assert_eq!(hits("src/**/*.rs"), ["src/b.rs", "src/x/c.rs"]);
        assert_eq!(hits("**/c.*"), ["src/x/c.rs", "src/x/c.txt"]);
        let routes =
            ["app/[id]/page.tsx", "app/i/page.tsx", "app/[...slug]/page.tsx", "app/(shop)/{a,b}/page.tsx", "app/(shop)/a/page.tsx"];
        for (glob, hits) in [
            ("**/[id]/page.tsx", &routes[..2]),
            ("app/[...slug]/*", &routes[2..3]),
            ("**/(shop)/{a,b}/*.tsx", &routes[3..]),
            ("**/[[]id[]]/*", &routes[..1]),
        ] {
            let pattern = Pattern::parse(glob).unwrap();
            let found: Vec<&str> = routes.into_iter().filter(|path| pattern.matches(&RelPath::parse(path).unwrap())).collect();
            assert_eq!(found, hits, "{glob}");
        }
        for (glob, path) in [("caf\u{e9}", "cafe\u{301}"), ("cafe\u{301}/*", "caf\u{e9}/a")] {
            assert!(Pattern::parse(glob).unwrap().matches(&RelPath::parse(path).unwrap()), "{glob:?} {path:?}");
        }
    }

    #[test]
    fn a_mark_or_a_set_takes_one_character_of_whatever_length() {
        for (glob, is, is_not) in [
            ("?", &["a", "é", "中", "😀"][..], &["ab", "中中", ""][..]),
            ("??", &["ab", "éa", "中文"], &["a", "中", "é"]),
            ("a?c", &["abc", "aéc", "a中c"], &["ac", "abbc"]),
            ("[é-ü]", &["é", "ö", "ü"], &["e", "þ", "Ã"]),
            ("[!é]", &["e", "中"], &["é", "ab"]),
            ("[中a]*", &["中.rs", "ab"], &["文.rs"]),
            ("{é,中}?", &["éa", "中文"], &["é", "a文"]),
            ("*.é", &["x.é", ".é"], &["x.e"]),
            ("中*", &["中", "中文"], &["文中"]),
            ("a(?)+", &["a(b)+", "a(é)+"], &["ab", "a(bb)+"]),
        ] {
            let pattern = Pattern::parse(glob).unwrap();
            let matches = |name: &&&str| RelPath::parse(name).is_ok_and(|path| pattern.matches(&path));
            assert_eq!(is.iter().filter(matches).count(), is.len(), "{glob}");
            assert_eq!(is_not.iter().filter(matches).count(), 0, "{glob}");
        }
    }

    #[test]
    fn what_is_no_glob_or_expression_says_why() {
        for glob in ["", "a**", "[a", "{a"] {
            assert!(Pattern::parse(glob).is_err(), "{glob}");
        }
        for query in ["", "(", "a\\", "(a{1000}){1000}", "a\nb"] {
            assert!(line_matcher(query).is_err(), "{query}");
        }
    }
}
