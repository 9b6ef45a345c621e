//! Paths as callers write them, and the one form in which the house speaks of files: a root's name and a relative path.

use std::fmt;

use unicode_normalization::is_nfc;

use super::{Code, Refusal};

/// Longest path and longest segment in bytes (`PATH_MAX` and `NAME_MAX` of Linux, limits.h(0p)).
const PATH_MAX: usize = 4096;
const SEGMENT_MAX: usize = 255;

/// A well-formed path as a caller wrote it: `ROOT/rest`, or absolute. Which root it is in is the judge's business.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallPath {
    absolute: bool,
    segments: Vec<String>,
}

impl CallPath {
    /// Parses what a caller wrote. One trailing `/` is harmless; nothing else is repaired: one path has one spelling.
    /// # Errors
    /// `path_malformed`: empty, an empty, `.` or `..` segment, a backslash, control, bidi or zero-width characters, a space at
    /// either end of a segment, not NFC, a segment over 255 or a path over 4096 bytes.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |why: &str| {
            let shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
            Err(Refusal::new(Code::PathMalformed, format!("`{shown}` is not a well-formed path: {why}"))
                .hint("write ROOT/folder/file with plain names, e.g. `work/notes/a.txt`"))
        };
        if text.is_empty() {
            return refuse("it is empty");
        }
        if text.len() > PATH_MAX {
            return refuse("it is longer than 4096 bytes");
        }
        if let Some(bad) = text.chars().find(|c| is_hidden(*c)) {
            return refuse(&format!("it holds the character {}", bad.escape_unicode()));
        }
        if text.contains('\\') {
            return refuse("it holds a backslash; folders are separated by `/`");
        }
        if !is_nfc(text) {
            return refuse("it is not in Unicode normal form C");
        }
        let (absolute, rest) = match text.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.is_empty() {
            return if text == "/" { Ok(Self { absolute, segments: Vec::new() }) } else { refuse("it has an empty segment") };
        }
        let mut segments = Vec::new();
        for segment in rest.split('/') {
            match segment {
                "" => return refuse("it has an empty segment"),
                "." | ".." => return refuse("`.` and `..` are not resolved"),
                _ if segment.len() > SEGMENT_MAX => return refuse("a name in it is longer than 255 bytes"),
                _ if segment.trim() != segment => return refuse("a name in it begins or ends with a space"),
                _ => segments.push(segment.to_owned()),
            }
        }
        Ok(Self { absolute, segments })
    }

    /// Whether it began with `/`.
    pub fn is_absolute(&self) -> bool {
        self.absolute
    }

    /// The names between the slashes.
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// The path below `prefix`, where this path is inside it, segment by segment (so `/data` does not hold `/database`).
    pub fn below(&self, prefix: &[String]) -> Option<RelPath> {
        self.segments.strip_prefix(prefix).map(|rest| RelPath { segments: rest.to_vec() })
    }
}

impl fmt::Display for CallPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.absolute {
            f.write_str("/")?;
        }
        f.write_str(&self.segments.join("/"))
    }
}

/// A path below a root: no empty, `.` or `..` segment can exist in it. The root itself is the empty path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RelPath {
    segments: Vec<String>,
}

impl RelPath {
    /// The root itself.
    pub const ROOT: RelPath = RelPath { segments: Vec::new() };

    /// Reads a path below a root, e.g. `a/b.txt`; the empty text is the root itself.
    /// # Errors  `path_malformed`, as [`CallPath::parse`].
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if text.is_empty() {
            return Ok(Self::ROOT);
        }
        let path = CallPath::parse(text)?;
        if path.absolute {
            return Err(Refusal::new(Code::PathMalformed, "an absolute path where a relative one is wanted"));
        }
        Ok(Self { segments: path.segments })
    }

    /// The names between the slashes.
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// Whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.segments.is_empty()
    }

    /// The folder and the name in it; nothing for the root itself.
    pub fn split_last(&self) -> Option<(RelPath, &str)> {
        let (last, parents) = self.segments.split_last()?;
        Some((RelPath { segments: parents.to_vec() }, last))
    }

    /// This path with one more name, which must be a name as it came from the file system (no `/`).
    #[must_use]
    pub fn join(&self, name: &str) -> RelPath {
        let mut segments = self.segments.clone();
        segments.extend(name.split('/').filter(|part| !matches!(*part, "" | "." | "..")).map(str::to_owned));
        RelPath { segments }
    }

    /// This path moved from below `from` to below `to`; nothing when it is not below `from`.
    pub fn rebased(&self, from: &RelPath, to: &RelPath) -> Option<RelPath> {
        let rest = self.segments.strip_prefix(from.segments.as_slice())?;
        Some(RelPath { segments: to.segments.iter().chain(rest).cloned().collect() })
    }

    /// Whether this path is `other` or below it.
    pub fn is_within(&self, other: &RelPath) -> bool {
        self.segments.starts_with(&other.segments)
    }

    /// Every folder on the way, the root first, this path itself last.
    pub fn ancestors(&self) -> impl Iterator<Item = RelPath> + '_ {
        (0..=self.segments.len()).map(|n| RelPath { segments: self.segments.iter().take(n).cloned().collect() })
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.segments.join("/"))
    }
}

/// A place in a root, as answers speak of it: `ROOT/rest`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The root's name.
    pub root: String,
    /// The path below it.
    pub path: RelPath,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_root() { f.write_str(&self.root) } else { write!(f, "{}/{}", self.root, self.path) }
    }
}

/// Control, bidi and zero-width characters: they make two names look equal, or forge a line of a prompt or log.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_path_has_one_spelling() {
        for text in [
            "",
            "a//b",
            "//",
            "a/./b",
            "a/../b",
            "../x",
            "/data/..",
            "a\\b",
            "a\0b",
            "a\nb",
            "a\u{200b}b",
            "a\u{202e}b",
            " a",
            "a ",
            "a/ b",
            "cafe\u{301}",
            "file:///x",
        ] {
            assert_eq!(CallPath::parse(text).map_err(|r| r.code), Err(Code::PathMalformed), "{text:?}");
        }
        assert!(CallPath::parse(&"a".repeat(256)).is_err());
        assert!(CallPath::parse(&"ab/".repeat(1366)).is_err());
    }

    #[test]
    fn ordinary_names_pass_as_they_are() {
        for text in ["a.txt", "/data/a b/c+d(1).txt", "~/x", "$HOME/x", "/data/%2e%2e/x", "caf\u{e9}/日本語", "/", ".env", "work/"] {
            assert!(CallPath::parse(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_prefix_twin_is_not_inside() {
        let data = CallPath::parse("/data").unwrap();
        assert_eq!(CallPath::parse("/database/x").unwrap().below(data.segments()), None);
        assert_eq!(CallPath::parse("/data/x").unwrap().below(data.segments()), Some(RelPath::parse("x").unwrap()));
        assert_eq!(CallPath::parse("/data/").unwrap().below(data.segments()), Some(RelPath::ROOT));
    }

    #[test]
    fn a_path_is_rebased_with_what_is_below_it() {
        let [a, b, x] = ["a", "b/c", "a/secrets/k"].map(|p| RelPath::parse(p).unwrap());
        assert_eq!(x.rebased(&a, &b).unwrap().to_string(), "b/c/secrets/k");
        assert_eq!(b.rebased(&a, &b), None);
    }

    proptest! {
        #[test]
        fn no_accepted_path_can_climb(text in "[a./\\\\~ \u{200b}\u{301}-]{0,12}|\\PC{0,20}") {
            if let Ok(path) = CallPath::parse(&text) {
                prop_assert!(path.segments().iter().all(|s| !s.is_empty() && s != "." && s != ".." && !s.contains(['/', '\0', '\\'])));
                prop_assert_eq!(CallPath::parse(&path.to_string()).unwrap(), path);
            }
        }
    }
}
