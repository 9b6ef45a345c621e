//! What callers search by: globs over paths and regular expressions over lines.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::manifest::AllowPattern;
use crate::model::RelPath;

/// A glob of a caller, in the dialect of the manifest, with `{a,b}` for either. Without a `/` it matches names at any depth, with one the whole path
/// below the folder.
#[derive(Debug, Clone)]
pub struct Pattern(Vec<AllowPattern>);

impl Pattern {
    /// Reads a glob. A name that holds the brackets and braces of the glob as they stand there matches as well: web frameworks have folders that are
    /// named `[id]`.
    /// # Errors
    /// What is wrong with it, as a clause.
    pub fn parse(text: &str) -> Result<Self, String> {
        let shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
        if text.is_empty() || text.len() > LONGEST {
            return Err(format!("`{shown}`, which is empty or longer than {LONGEST} bytes"));
        }
        let mut globs = alternatives(text).ok_or_else(|| format!("`{shown}`, where `{{` is not closed, or with too many alternatives"))?;
        if text.contains(['[', '{']) {
            globs.push(text.replace('[', "[\0").replace(']', "[]]").replace("[\0", "[[]"));
        }
        let anywhere = if text.contains('/') { "" } else { "**/" };
        let parsed = globs.iter().map(|glob| AllowPattern::parse(&format!("{anywhere}{glob}")));
        parsed.collect::<Result<_, _>>().map(Self).map_err(|why| format!("none: {why}"))
    }

    /// Whether a path, given relative to the searched folder, matches.
    pub fn matches(&self, path: &RelPath) -> bool {
        self.0.iter().any(|glob| glob.matches(path))
    }
}

/// The globs that one with braces stands for. None where a brace is not closed, or where there are more than [`MOST`].
fn alternatives(text: &str) -> Option<Vec<String>> {
    let (mut globs, mut rest) = (vec![String::new()], text);
    while let Some((before, braces)) = rest.split_once('{') {
        let (inside, after) = braces.split_once('}')?;
        let either: Vec<&str> = inside.split(',').take(MOST + 1).collect();
        globs = globs.iter().flat_map(|start| either.iter().map(move |one| format!("{start}{before}{one}"))).collect();
        rest = after;
        if globs.len() > MOST {
            return None;
        }
    }
    Some(globs.iter().map(|glob| format!("{glob}{rest}")).collect())
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

/// Globs that one with braces stands for.
const MOST: usize = 64;
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
