//! What callers search by: globs over paths and regular expressions over lines.

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::model::{RelPath, name};

/// A glob of a caller. Without a `/` it matches names at any depth, with one the whole path below the folder.
#[derive(Debug, Clone)]
pub struct Pattern {
    matcher: GlobMatcher,
    names: bool,
}

impl Pattern {
    /// Reads a glob: `*` `?` `[…]` stay inside one folder, `**` crosses folders and stands alone between slashes.
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
        let glob = GlobBuilder::new(&name::nfc(text))
            .literal_separator(true)
            .backslash_escape(false)
            .build()
            .map_err(|fault| format!("`{shown}`: {}", fault.kind()))?;
        Ok(Self { matcher: glob.compile_matcher(), names: !text.contains('/') })
    }

    /// Whether a path, given relative to the searched folder, matches.
    pub fn matches(&self, path: &RelPath) -> bool {
        let path = path.nfc();
        if self.names {
            path.segments().last().is_some_and(|name| self.matcher.is_match(name))
        } else {
            self.matcher.is_match(path.to_string())
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
        for (glob, path) in [("caf\u{e9}", "cafe\u{301}"), ("cafe\u{301}/*", "caf\u{e9}/a")] {
            assert!(Pattern::parse(glob).unwrap().matches(&RelPath::parse(path).unwrap()), "{glob:?} {path:?}");
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
