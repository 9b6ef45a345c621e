//! The one glob dialect: `*` `?` `[…]` inside one folder, `**` as a whole segment across folders, `x/**` includes `x`. Braces and
//! backslashes are ordinary characters; patterns are anchored at the root.
//!
//! A pattern is run as a set of positions over the segments of a path, so that one pass tells whether it matches, whether it matches a
//! folder on the way, and whether something below could match. Glob crates answer the first question alone.

use std::borrow::Cow;

use super::segment::{Segment, Token, wild};
use super::text::fold_segments;
use crate::model::{RelPath, name};

/// What became of a path against one pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The whole path matches.
    pub matches: bool,
    /// The path, a folder on its way, or (for `**`) the root matches.
    pub covers: bool,
    /// Something below the path could match.
    pub leads: bool,
}

/// The segments of a pattern. At most 63, so that a set of positions is one word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Glob(Vec<Segment>);

impl Glob {
    const MOST: usize = 63;

    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the pattern is empty; `**` is everything in the root".to_owned());
        }
        if text.starts_with('/') {
            return Err(format!("`{text}` is absolute; patterns are relative to the root, e.g. `notes/**`"));
        }
        if let Some(bad) = text.chars().find(|c| c.is_control()) {
            return Err(format!("`{}` holds the character {}", text.escape_debug(), bad.escape_unicode()));
        }
        let mut segments = Vec::new();
        // Written in another form it would match nothing: paths are compared in normal form C.
        for part in name::nfc(text).split('/') {
            match part {
                "" => {
                    return Err(format!(
                        "`{text}` has an empty segment and could never match; for a folder with all below it write `x/**`"
                    ));
                }
                "." | ".." => return Err(format!("`{text}` holds `{part}`, which no path has; write the names as they are")),
                _ => segments.push(Segment::parse(part)?),
            }
        }
        if segments.len() > Self::MOST {
            return Err(format!("the pattern has {} segments; {} are the most", segments.len(), Self::MOST));
        }
        Ok(Self(segments))
    }

    /// Positions reachable without a segment: `**` may stand for none.
    fn close(&self, mut set: u64) -> u64 {
        for (at, segment) in self.0.iter().enumerate() {
            if set & (1 << at) != 0 && matches!(segment, Segment::Any) {
                set |= 1 << (at + 1);
            }
        }
        set
    }

    fn run<'p>(&self, path: impl Iterator<Item = &'p str>) -> Run {
        let end = 1_u64 << self.0.len();
        let mut set = self.close(1);
        let mut run = Run { matches: set & end != 0, covers: set & end != 0, leads: true };
        for name in path {
            let mut next = 0_u64;
            for (at, segment) in self.0.iter().enumerate() {
                if set & (1 << at) != 0 {
                    match segment {
                        Segment::Any => next |= 1 << at,
                        named if named.matches(name) => next |= 1 << (at + 1),
                        _ => {}
                    }
                }
            }
            set = self.close(next);
            run.matches = set & end != 0;
            run.covers |= run.matches;
            if set == 0 {
                run.leads = false;
                return run;
            }
        }
        run.leads = set & (end - 1) != 0;
        run
    }
}

/// A pattern of what may be touched: exact, character for character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowPattern {
    text: String,
    glob: Glob,
}

impl AllowPattern {
    /// Reads a pattern relative to a root.
    /// # Errors
    /// A sentence for the manifest's list of faults.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { text: text.to_owned(), glob: Glob::parse(text)? })
    }

    /// The pattern `**`: everything.
    pub fn everything() -> Self {
        Self { text: "**".to_owned(), glob: Glob(vec![Segment::Any]) }
    }

    /// Whether it is `**` alone.
    pub fn is_everything(&self) -> bool {
        self.glob.0.iter().all(|segment| matches!(segment, Segment::Any))
    }

    /// Runs it over a path, in normal form C.
    pub fn run(&self, path: &RelPath) -> Run {
        self.glob.run(path.nfc().segments().iter().map(String::as_str))
    }

    /// Whether the whole path matches.
    pub fn matches(&self, path: &RelPath) -> bool {
        self.run(path).matches
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A pattern of what may not be touched: upper and lower case and look-alike characters are one, and what it matches it denies with all
/// that is below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DenyPattern {
    text: String,
    folded: Glob,
    // A class or `?` can match the exact name and yet not the folded one (`[!a]` and `A`), and a deny must never be the narrower for folding.
    exact: Option<Glob>,
}

impl DenyPattern {
    /// Reads a pattern relative to a root.
    /// # Errors
    /// A sentence for the manifest's list of faults.
    pub fn parse(text: &str) -> Result<Self, String> {
        let exact = Glob::parse(text)?;
        let folded = Glob(exact.0.iter().map(Segment::folded).collect());
        let exact = exact.0.iter().any(Segment::counts_characters).then_some(exact);
        Ok(Self { text: text.to_owned(), folded, exact })
    }

    /// Whether the path, or a folder on its way, is denied.
    pub fn covers(&self, path: &FoldedPath<'_>) -> bool {
        let covers = |glob: &Glob, names: &[String]| glob.run(names.iter().map(String::as_str)).covers;
        path.forms.iter().any(|(exact, folded)| {
            covers(&self.folded, folded.as_deref().unwrap_or(exact)) || self.exact.as_ref().is_some_and(|glob| covers(glob, exact))
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A path in the forms that a deny is held against, made once for all patterns: its bytes, normal form C, and without the characters that are
/// not drawn; each as it is and folded.
#[derive(Debug, Clone)]
pub struct FoldedPath<'p> {
    // The bytes, and the other forms where they differ from them.
    forms: Vec<Form<'p>>,
}

/// The names of a path, and their folded form where it is another.
type Form<'p> = (Cow<'p, [String]>, Option<Vec<String>>);

impl<'p> FoldedPath<'p> {
    /// Folds a path.
    pub fn of(path: &'p RelPath) -> Self {
        let exact = path.segments();
        let mut forms = vec![(Cow::Borrowed(exact), fold_segments(exact))];
        if !exact.iter().all(|name| name.is_ascii()) {
            for form in [name::nfc, name::visible] {
                let names: Vec<String> = exact.iter().map(|name| form(name).into_owned()).collect();
                if names != exact {
                    let folded = fold_segments(&names);
                    forms.push((Cow::Owned(names), folded));
                }
            }
        }
        Self { forms }
    }
}

/// A pattern of tool names: `*` stands for any characters, the rest for itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
pub struct NamePattern(String);

impl NamePattern {
    /// Takes a pattern as it is written.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether the name matches.
    pub fn matches(&self, name: &str) -> bool {
        let tokens: Vec<Token> = self.0.chars().map(|c| if c == '*' { Token::Star } else { Token::Char(c) }).collect();
        wild(&tokens, name)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allows(pattern: &str, path: &str) -> bool {
        AllowPattern::parse(pattern).unwrap().matches(&RelPath::parse(path).unwrap())
    }

    fn denies(pattern: &str, path: &str) -> bool {
        DenyPattern::parse(pattern).unwrap().covers(&FoldedPath::of(&RelPath::parse(path).unwrap()))
    }

    #[test]
    fn allow_patterns_are_exact_and_anchored() {
        for (pattern, path, expect) in [
            ("**", "", true),
            ("**", "a/b", true),
            ("*", "a.txt", true),
            ("*", "", false),
            ("*", "a/b", false),
            ("reports/*", "reports", false),
            ("reports/**", "reports", true),
            ("reports/**", "reports/2026/q1.md", true),
            ("reports/**", "reports-old/q1.md", false),
            ("reports/**", "x/reports/q1.md", false),
            ("**/*.txt", "a.txt", true),
            ("**/*.txt", "x/y/a.txt", true),
            ("**/*.txt", "a.TXT", false),
            ("**/*.txt", ".txt", true),
            ("a/**/z", "a/z", true),
            ("a/**/z", "a/b/c/z", true),
            ("a/**/z", "a/b/c/z/d", false),
            ("log?.txt", "log1.txt", true),
            ("log?.txt", "log.txt", false),
            ("log?.txt", "logé.txt", true),
            ("v[0-9]/*", "v1/a", true),
            ("v[0-9]/*", "va/a", false),
            ("v[!0-9]", "va", true),
            ("a.b/c+d(1).txt", "a.b/c+d(1).txt", true),
            ("{a,b}", "{a,b}", true),
            ("{a,b}", "a", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("caf\u{e9}", "cafe\u{301}", true),
            ("cafe\u{301}/*", "caf\u{e9}/a", true),
            ("cafe\u{301}", "cafe\u{301}", true),
            ("caf?", "cafe\u{301}", true),
            ("cafe?", "cafe\u{301}", false),
            ("ab", "a\u{200d}b", false),
        ] {
            assert_eq!(allows(pattern, path), expect, "{pattern} {path}");
        }
    }

    #[test]
    fn deny_patterns_fold_and_cover_what_is_below() {
        for (pattern, path, expect) in [
            ("secrets/**", "secrets/k", true),
            ("secrets", "secrets/a/b", true),
            ("SECRETS/**", "secrets", true),
            ("**/.env*", ".environment/a", true),
            ("**/\u{ff0e}env", ".env", true),
            ("**/.env", "x/.ENV", true),
            ("**/.git/**", "r/.git/config", true),
            ("**/.git/**", "r/.gitignore", false),
            ("**/stra\u{df}e", "STRASSE", true),
            ("**/sey", "\u{17f}ey", true),
            ("a\u{ff0f}b", "a\u{ff0f}b", true),
            ("\u{ff0a}", "x", false),
            ("[A-C]x", "ax", true),
            ("[!a]x", "Ax", true),
            ("\u{fb01}x", "fix", true),
            ("?x", "\u{fb01}x", true),
            ("**/secret*", "public.txt", false),
            ("**/secret*", "sec\u{200d}ret.txt", true),
            ("caf\u{e9}/**", "cafe\u{301}/x", true),
            ("cafe\u{301}/**", "caf\u{e9}", true),
            ("caf?", "cafe\u{301}", true),
            ("cafe?", "cafe\u{301}", true),
            ("s?cret", "s\u{e9}\u{200d}cret", true),
            ("\u{2764}\u{fe0f}/**", "\u{2764}\u{fe0f}/a", true),
            ("\u{2764}/**", "\u{2764}\u{fe0f}/a", true),
            ("\u{2764}\u{fe0f}/**", "\u{2764}/a", false),
        ] {
            assert_eq!(denies(pattern, path), expect, "{pattern} {path}");
        }
    }

    #[test]
    fn a_folder_on_the_way_leads_to_what_may_match() {
        let run = |pattern: &str, path: &str| AllowPattern::parse(pattern).unwrap().run(&RelPath::parse(path).unwrap());
        assert!(run("a/b/*.txt", "").leads);
        assert!(run("a/b/*.txt", "a").leads);
        assert!(run("a/b/*.txt", "a/b").leads);
        assert!(!run("a/b/*.txt", "a/c").leads);
        assert!(!run("a/b/*.txt", "a/b/x.txt").leads);
        assert!(run("**/x", "any/where").leads);
    }

    #[test]
    fn a_pattern_that_could_never_match_is_a_fault() {
        for text in ["", "/a", "/", "..", "a/../b", "./a", "a//b", "a/", "a**", "**a/b", "a/**b", "***", "[a", "[z-a]", "[]", "a\nb"] {
            assert!(AllowPattern::parse(text).is_err(), "{text}");
            assert!(DenyPattern::parse(text).is_err(), "{text}");
        }
        assert!(AllowPattern::parse(&"a/".repeat(64)).is_err());
    }

    #[test]
    fn names_match_by_star_alone() {
        for (pattern, name, expect) in [
            ("*", "read_file", true),
            ("read_*", "read_file", true),
            ("*_file", "read_file", true),
            ("read_file", "read_file", true),
            ("read_fil", "read_file", false),
            ("r*d*e", "read_file", true),
            ("*d_d*", "read_file", false),
            ("read_file*e", "read_file", false),
        ] {
            assert_eq!(NamePattern::new(pattern).matches(name), expect, "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,24}|[a*?\\[\\]!/^-]{0,16}") {
            let allow = AllowPattern::parse(&text);
            let deny = DenyPattern::parse(&text);
            prop_assert_eq!(deny.is_ok(), allow.is_ok());
        }

        #[test]
        fn a_deny_is_never_narrower_than_the_same_pattern_as_an_allow(
            pattern in "[aAbſK?*\\[\\]!-]{1,6}(/([aAbB?*]{1,3}|\\*\\*)){0,2}", path in "[aAbBſK]{1,3}(/[aAbB]{1,2}){0,3}",
        ) {
            if let (Ok(allow), Ok(deny), Ok(path)) = (AllowPattern::parse(&pattern), DenyPattern::parse(&pattern), RelPath::parse(&path)) {
                prop_assert!(!allow.matches(&path) || deny.covers(&FoldedPath::of(&path)));
            }
        }

        #[test]
        fn what_is_below_a_denied_path_is_denied(pattern in "[ab*?]{1,3}(/([ab]{1,2}|\\*\\*)){0,2}", path in "[ab]{1,2}(/[ab]{1,2}){0,2}") {
            if let Ok(deny) = DenyPattern::parse(&pattern) {
                let path = RelPath::parse(&path).unwrap();
                prop_assert!(!deny.covers(&FoldedPath::of(&path)) || deny.covers(&FoldedPath::of(&path.join("x/y"))));
            }
        }
    }
}
