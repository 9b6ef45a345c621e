//! What a call changes of files that another program runs later (`[files] runs_later`): such a call is level 3, whatever tool makes it.

use std::collections::HashSet;

use super::capability::{Capability, python_roots};
use super::screen::Screened;
use crate::manifest::{FoldedPath, LaterPattern, Manifest};
use crate::model::{Access, Action, Entry, Facts, RelPath, Target};

/// One file or folder that a call changes and that another program runs or obeys later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Later {
    /// Which.
    pub target: Target,
    /// What runs it, as it stands after "by".
    pub by: String,
    /// The pattern that names it.
    pub pattern: String,
}

impl Later {
    /// In words, e.g. "`project/.vscode/tasks.json` is run later by your editor".
    pub fn in_words(&self) -> String {
        format!("`{}` is run later by {}", self.target, self.by)
    }
}

/// The pattern by which an entry of a root runs later. What is in a session's scratch is wiped with it and runs for no other program.
pub fn pattern_of<'m>(manifest: &'m Manifest, root: &str, path: &RelPath) -> Option<&'m LaterPattern> {
    if !manifest.stays(root) || manifest.files.runs_later.is_empty() {
        return None;
    }
    let folded = FoldedPath::of(path);
    manifest.files.runs_later.iter().find(|later| later.pattern().covers(&folded))
}

/// Everything that the action changes and that runs later: its targets as they are written, as they are spelled there and as links lead,
/// and, where a folder is moved or deleted, each entry below it under its old and its new name.
pub fn runs_later(manifest: &Manifest, action: &Action, screened: &Screened, facts: &Facts) -> Vec<Later> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    if manifest.files.runs_later.is_empty() {
        return found;
    }
    // What lies in a bare repository is obeyed as what lies below `.git`, and judged by that path.
    let mut judge = |root: &str, path: &RelPath, obeyed_as: &RelPath| {
        let Some(later) = pattern_of(manifest, root, obeyed_as) else { return };
        let target = Target { root: root.to_owned(), path: path.clone() };
        if known.insert(target.clone()) {
            found.push(Later { target, by: later.by().to_owned(), pattern: later.pattern().as_str().to_owned() });
        }
    };
    let touches = action.touches();
    let all = || touches.iter().zip(&screened.targets).zip(&facts.paths);
    let to = all().find(|((touch, _), _)| touch.access == Access::MoveTo).map(|((_, target), fact)| (target, fact.resolved(&target.path)));
    for ((touch, target), fact) in all().filter(|((touch, _), _)| touch.access.writes()) {
        let (root, last) = (target.root.as_str(), fact.resolved(&target.path));
        for path in [&target.path, fact.spelling.of(&target.path), last] {
            judge(root, path, path);
        }
        if let Some(obeyed_as) = &fact.obeyed_as {
            judge(root, last, obeyed_as);
        }
        let moved = to.filter(|_| touch.access == Access::MoveFrom);
        let renamed = |path: &RelPath| moved.and_then(|(to, new)| Some((to.root.as_str(), path.rebased(last, new)?)));
        for Entry { path, .. } in &fact.below {
            judge(root, path, path);
            if let Some((root, path)) = renamed(path) {
                judge(root, &path, &path);
            }
        }
        for (path, obeyed_as) in in_repositories(&fact.below) {
            if let (Some((root, path)), Some((_, obeyed_as))) = (renamed(&path), renamed(&obeyed_as)) {
                judge(root, &path, &obeyed_as);
            }
            judge(root, &path, &obeyed_as);
        }
    }
    found
}

/// What is obeyed of the bare repositories among entries, each with the path that stands for it in an ordinary one.
fn in_repositories(below: &[Entry]) -> Vec<(RelPath, RelPath)> {
    let heads = below.iter().filter(|entry| entry.path.segments().last().is_some_and(|name| name == "HEAD"));
    let mut folders = heads.filter_map(|head| head.path.split_last().map(|(folder, _)| folder)).peekable();
    if folders.peek().is_none() {
        return Vec::new();
    }
    let there: HashSet<&RelPath> = below.iter().map(|entry| &entry.path).collect();
    let is_repository = |folder: &RelPath| ["objects", "refs"].iter().all(|name| there.contains(&folder.join(name)));
    let repositories: HashSet<RelPath> = folders.filter(is_repository).collect();
    let inside = |entry: &Entry| {
        let repository = entry.path.ancestors().find(|folder| repositories.contains(folder))?;
        let part = entry.path.segments().get(repository.segments().len())?;
        if !part.starts_with("config") && !["hooks", "info"].contains(&part.as_str()) {
            return None;
        }
        Some((entry.path.clone(), entry.path.rebased(&repository, &repository.join(".git"))?))
    };
    below.iter().filter(|_| !repositories.is_empty()).filter_map(inside).collect()
}

/// The roots in which a program of this caller can change files that run later: those that stay, that it writes to directly, while the manifest
/// names a set that is not empty. No call of the gate sees which file a program changes.
pub fn programs_reach(capability: &Capability) -> Vec<String> {
    let manifest = &capability.manifest;
    if manifest.files.runs_later.is_empty() || !manifest.files.names_runs_later {
        return Vec::new();
    }
    let roots = python_roots(manifest, &capability.profile).into_iter();
    roots.filter(|(name, writable)| *writable && manifest.stays(name)).map(|(name, _)| name.to_owned()).collect()
}
