//! `[roots]` and `[files]`: named folders, and the rules that hold in all of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::fault::Ledger;
use super::form::entries;
use super::places::segments_of;
use super::{AllowPattern, DenyPattern, Fault, LaterPattern, Manifest};
use crate::model::Bytes;

/// Where a root lies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "String")]
pub enum Place {
    /// A private scratch folder of each session.
    Session,
    /// A folder of this machine: absolute, or relative to the manifest.
    Path(String),
}

impl From<String> for Place {
    fn from(path: String) -> Self {
        if path == "session" { Self::Session } else { Self::Path(path) }
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::Path(String::new())
    }
}

/// Whether a root may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum RootMode {
    /// Read only.
    #[default]
    #[serde(rename = "ro")]
    ReadOnly,
    /// Read and write.
    #[serde(rename = "rw")]
    ReadWrite,
}

/// Limits of a session folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Quota {
    /// Size of all files together, e.g. `200 MiB`.
    pub bytes: Option<Bytes>,
    /// Number of files and folders.
    pub files: Option<u64>,
}

/// A named folder.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Root {
    /// The folder: an absolute path, a path relative to this file, or `session`. `session` is an empty private folder for each session,
    /// which is deleted when the session ends.
    #[serde(rename = "path")]
    pub place: Place,
    /// `ro`: files may be read. `rw`: files may be read and changed.
    pub mode: RootMode,
    /// Patterns of the paths that calls may use, relative to the root. `*` stays inside one folder, `**` crosses folders; `**` alone is
    /// everything. Without this key, no path is allowed.
    #[serde(rename = "allowed_paths")]
    pub allowed: Vec<AllowPattern>,
    /// Patterns of the paths that calls may not use, even where `allowed_paths` allows them. Upper and lower case are the same. A denied
    /// folder includes all that is below it.
    #[serde(rename = "denied_paths")]
    pub denied: Vec<DenyPattern>,
    /// Patterns of files that others wrote, such as downloads or mail. The model is told that their content is untrusted, and `[approvals]
    /// after_untrusted` applies once one of them was read.
    #[serde(rename = "untrusted_paths")]
    pub untrusted: Vec<DenyPattern>,
    /// Limits of a session folder.
    pub quota: Option<Quota>,
    /// The absolute paths, segment by segment, under which a caller may name it. Filled by [`super::Manifest::resolve_roots`];
    /// a session root has none of its own before its session begins.
    #[serde(skip)]
    pub paths: Vec<Vec<String>>,
}

impl Root {
    /// Whether it is a session's own scratch folder.
    pub fn is_session(&self) -> bool {
        self.place == Place::Session
    }
}

/// What happens on a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Symlinks {
    /// Refused.
    #[default]
    Deny,
    /// Followed while they stay in the root, and judged by where they lead.
    Inside,
}

/// Rules that hold inside every root.
#[derive(Debug, Clone, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct Files {
    /// Patterns of the paths that calls may not use in any root.
    #[serde(rename = "denied_paths")]
    pub denied: Vec<DenyPattern>,
    /// Patterns of files that others wrote, such as downloads or mail. The model is told that their content is untrusted, and `[approvals]
    /// after_untrusted` applies once one of them was read.
    #[serde(rename = "untrusted_paths")]
    pub untrusted: Vec<DenyPattern>,
    /// Files that other programs run or obey later; a call that changes one has level 3. `defaults`: hooks, CI, settings of editors and
    /// agents, shell profiles and the like. `builds`: files of build tools. Other entries are patterns. Without this key: `defaults`.
    /// Empty: none.
    #[serde(deserialize_with = "LaterPattern::all")]
    #[schemars(with = "Vec<String>", extend("items" = entries("later pattern")))]
    #[default(LaterPattern::defaults())]
    pub runs_later: Vec<LaterPattern>,
    /// Whether the manifest names that set itself. Then a program that writes in such a root is level 3 as well; where the key is missing, the
    /// defaults hold for the tools alone and programs stay at the level they had.
    #[serde(skip)]
    pub names_runs_later: bool,
    /// Largest file that a call may write or read whole, e.g. `1 MiB`.
    #[default(Bytes::mib(1))]
    pub max_file_size: Bytes,
    /// Longest answer of a call, e.g. `64 KiB`. A longer one is cut, and says where to go on.
    #[default(Bytes::kib(64))]
    pub max_answer: Bytes,
    /// `deny`: symbolic links are refused. `inside`: a link is followed while it stays in the root, and the rules apply to its target.
    pub symlinks: Symlinks,
}

impl Manifest {
    /// A warning for each root without a profile or an allowed path, and those on databases; each says what to add.
    pub fn warnings(&self) -> Vec<Fault> {
        let mut warnings = Vec::new();
        for (name, root) in &self.roots {
            let at = format!("roots.{name}");
            if !self.profiles.values().any(|profile| profile.has_root(name)) {
                warnings.push(self.fault(&at, format!("no profile has this root; add `\"{name}\"` to `roots` of a profile")));
            }
            if root.allowed.is_empty() {
                warnings.push(self.fault(&at, "this root allows no path; add `allowed_paths = [\"**\"]`, or narrower patterns"));
            }
        }
        warnings.extend(self.database_warnings());
        warnings
    }
}

impl Ledger<'_> {
    pub(super) fn roots(&mut self, roots: &mut BTreeMap<String, Root>) {
        for (name, root) in roots {
            let at = format!("roots.{name}");
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if name.is_empty() || name.len() > 64 || !name.chars().all(plain) || name.starts_with(['.', '-']) {
                self.fault(&at, format!("`{}` is no name for a root; write 1 to 64 letters, digits, `_`, `-`, `.`", name.escape_debug()));
            }
            if let Place::Path(path) = &root.place {
                root.paths = self.root_path(&format!("{at}.path"), path);
                if root.quota.is_some() {
                    self.fault(&format!("{at}.quota"), "only a root with `path = \"session\"` has a quota");
                }
            }
        }
    }

    /// The absolute path a root states, segment by segment; none for a relative one, which is placed later.
    fn root_path(&mut self, at: &str, path: &str) -> Vec<Vec<String>> {
        self.required(at, path);
        if path.starts_with('~') || path.starts_with('$') {
            self.fault(at, format!("`{path}` is not expanded; write the folder out, or a path relative to this file"));
        } else if path.starts_with('/') {
            match segments_of(path) {
                Some(segments) if !segments.is_empty() => return vec![segments],
                Some(_) => self.fault(at, "`/` would open the whole machine; name a folder"),
                None => self.fault(at, format!("`{path}` climbs with `..`; write the folder as it is")),
            }
        }
        Vec::new()
    }
}
