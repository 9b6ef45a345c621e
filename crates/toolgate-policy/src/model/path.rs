//! Paths as callers write them, and the one form in which the house speaks of files: a root's name and a relative path.

use std::borrow::Cow;
use std::fmt;

use super::name::{self, Found};
use super::{Code, Refusal, Spelling};

/// Longest path and longest segment in bytes (`PATH_MAX` and `NAME_MAX` of Linux, limits.h(0p)).
const PATH_MAX: usize = 4096;
const SEGMENT_MAX: usize = 255;

/// A well-formed path as a caller wrote it: `ROOT/rest`, or absolute. Which root it is in is the judge's business, and whether its spelling
/// is one that an entry vouches for is seen when it is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallPath {
    absolute: bool,
    segments: Vec<String>,
}

impl CallPath {
    /// Parses what a caller wrote. One trailing `/` is harmless; nothing else is repaired.
    /// # Errors
    /// `path_malformed`: empty, an empty, `.` or `..` segment, a backslash, control, bidi or zero-width characters, a joiner or selector
    /// that acts on nothing, a space at either end of a segment, a segment over 255 or a path over 4096 bytes.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        match within(text) {
            Some(path) => Self::read(&path).and_then(|_| Err(malformed(text, "it is not the plain path").hint(format!("write `{path}`")))),
            None => Self::read(text),
        }
    }

    fn read(text: &str) -> Result<Self, Refusal> {
        let refuse = |why: &str| Err(malformed(text, why).hint("write ROOT/folder/file with plain names, e.g. `work/notes/a.txt`"));
        if text.is_empty() {
            return refuse("it is empty");
        }
        if text.len() > PATH_MAX {
            return refuse("it is longer than 4096 bytes");
        }
        if let Some(bad) = name::refused(text) {
            return refuse(&format!("it holds the character {}", bad.escape_unicode()));
        }
        if text.contains('\\') {
            return refuse("it holds a backslash; folders are separated by `/`");
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

    /// Whether no name in it needs an entry that vouches for its spelling.
    pub fn is_plain(&self) -> bool {
        self.segments.iter().all(|name| name::is_plain(name))
    }
}

fn malformed(text: &str, why: &str) -> Refusal {
    let shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    Refusal::new(Code::PathMalformed, format!("`{shown}` is not a well-formed path: {why}"))
}

/// The path in a text that holds it in quotation marks, or as the URL of a file. No root's name begins so.
fn within(text: &str) -> Option<String> {
    if text.starts_with("file://") {
        return url::Url::parse(text).ok()?.to_file_path().ok()?.into_os_string().into_string().ok();
    }
    let quoted = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    ['"', '\'', '`'].into_iter().find_map(quoted).map(str::to_owned)
}

impl fmt::Display for CallPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.absolute { "/" } else { "" }, self.segments.join("/"))
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
        let path = CallPath::read(text)?;
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

    /// The same path in normal form C.
    pub fn nfc(&self) -> Cow<'_, RelPath> {
        let is_other = |name: &String| matches!(name::nfc(name), Cow::Owned(_));
        if self.segments.iter().any(is_other) {
            Cow::Owned(RelPath { segments: self.segments.iter().map(|name| name::nfc(name).into_owned()).collect() })
        } else {
            Cow::Borrowed(self)
        }
    }

    /// Whether no name in it needs an entry that vouches for its spelling.
    pub fn is_plain(&self) -> bool {
        self.segments.iter().all(|name| name::is_plain(name))
    }

    /// Whether a name in it can have more spellings than one.
    pub fn has_spellings(&self) -> bool {
        self.segments.iter().any(|name| name::has_spellings(name))
    }

    /// How the path is spelled in the folders it leads through. `look` tells what a folder holds for a name; `may_be_new` whether an entry
    /// that is not there may be made under a name. Very bytes come first: they are that entry's own spelling, whatever else is equal to it.
    ///
    /// # Errors
    /// What `look` failed with.
    pub fn spelled<E>(
        &self,
        may_be_new: fn(&str) -> bool,
        mut look: impl FnMut(&RelPath, &str) -> Result<Found, E>,
    ) -> Result<Spelling, E> {
        let mut own = RelPath::ROOT;
        for (at, name) in self.segments.iter().enumerate() {
            let found = look(&own, name)?;
            match found {
                Found::Same => own.segments.push(name.clone()),
                Found::Other(name) => own.segments.push(name),
                Found::Several => return Ok(Spelling::Ambiguous),
                Found::Nothing | Found::Beyond => {
                    let rest = self.segments.get(at..).unwrap_or_default();
                    if found == Found::Nothing && !rest.iter().all(|name| may_be_new(name)) {
                        return Ok(Spelling::Unknown);
                    }
                    own.segments.extend_from_slice(rest);
                    break;
                }
            }
        }
        Ok(if own == *self { Spelling::AsWritten } else { Spelling::Own(own) })
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

    /// The last `count` folders above this path, the topmost first; all of them where there are fewer.
    pub fn last_folders(&self, count: usize) -> Vec<RelPath> {
        let folders = self.segments.len().saturating_sub(1);
        self.ancestors().skip(1 + folders.saturating_sub(count)).take(count.min(folders)).collect()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_no_name_may_hold_is_malformed() {
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
            "a/\u{200d}b",
            "file:///x",
        ] {
            assert_eq!(CallPath::parse(text).map_err(|r| r.code), Err(Code::PathMalformed), "{text:?}");
        }
        assert!(CallPath::parse(&"a".repeat(256)).is_err());
        assert!(CallPath::parse(&"ab/".repeat(1366)).is_err());
    }

    #[test]
    fn a_path_in_quotation_marks_or_in_a_url_is_named_in_the_hint() {
        for (text, path) in [("\"work/a b.txt\"", "work/a b.txt"), ("`w/a`", "w/a"), ("file:///home/ann/a%20b.txt", "/home/ann/a b.txt")] {
            assert_eq!(CallPath::parse(text).unwrap_err().hint, Some(format!("write `{path}`")), "{text}");
        }
    }

    #[test]
    fn ordinary_names_pass_as_they_are() {
        for text in ["a.txt", "/data/a b/c+d(1).txt", "~/x", "$HOME/x", "/data/%2e%2e/x", "caf\u{e9}/日本語", "/", ".env", "work/"] {
            assert!(CallPath::parse(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_spelling_becomes_the_entrys_own_and_one_without_an_entry_is_unknown() {
        let spelled = |text: &str| {
            let folders =
                [("", vec!["cafe\u{301}", "x\u{200d}y", "\u{c5}", "A\u{30a}", "link"]), ("cafe\u{301}", vec!["\u{1112}\u{1161}"])];
            let look = |folder: &RelPath, name: &str| {
                let folder = folder.to_string();
                let held = folders.iter().find(|(at, _)| *at == folder).map_or(&[] as &[_], |(_, held)| held);
                Ok::<_, ()>(match () {
                    () if folder == "link" => Found::Beyond,
                    () if held.contains(&name) => Found::Same,
                    () => Found::among(name, held.iter().copied()),
                })
            };
            RelPath::parse(text).unwrap().spelled(name::may_be_new, look).unwrap()
        };
        let own = |text: &str| Spelling::Own(RelPath::parse(text).unwrap());
        for (text, expected) in [
            ("cafe\u{301}/\u{1112}\u{1161}", Spelling::AsWritten),
            ("caf\u{e9}/\u{d558}", own("cafe\u{301}/\u{1112}\u{1161}")),
            ("caf\u{e9}/new/\u{2764}\u{fe0f}", own("cafe\u{301}/new/\u{2764}\u{fe0f}")),
            ("cafe\u{301}/e\u{301}", Spelling::Unknown),
            ("x\u{200d}y", Spelling::AsWritten),
            ("x\u{200c}y", Spelling::Unknown),
            ("new/x\u{200d}y", Spelling::Unknown),
            ("A\u{30a}", Spelling::AsWritten),
            ("\u{212b}", Spelling::Ambiguous),
            ("link/x\u{200d}y", Spelling::AsWritten),
            ("plain", Spelling::AsWritten),
        ] {
            assert_eq!(spelled(text), expected, "{text:?}");
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
