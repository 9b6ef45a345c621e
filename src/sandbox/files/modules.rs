//! What lies in the roots that a program sees: which names are Python modules of a root, and at which root a relative path leads to something.

use std::collections::BTreeSet;

use rustix::fs::Dir;

use super::protect::Hidden;
use super::resolve::{open, open_folder};
use super::roots::{Root, Roots};
use super::stat::Stat;
use crate::manifest::Manifest;
use crate::model::{Kind, RelPath};
use crate::policy::paths::{Visible, visible};
use crate::policy::python_roots;

/// The folders of a root in which modules are looked for.
const FOLDERS: [&str; 2] = ["", "src"];
/// Entries of a folder that are looked at for one that ends in `.py`.
const MOST: usize = 4096;

impl Roots {
    /// Those of `names` that are modules of a root which the programs of a profile see: a file `NAME.py`, or a folder `NAME` that holds a file whose name
    /// ends in `.py`, at the root's top or in its folder `src`. What the patterns of the manifest do not show is none, and no link leads to one. Each
    /// name is a plain one, without a slash. A root that cannot be opened has no modules.
    pub fn modules(&self, session: &str, manifest: &Manifest, profile: &str, names: BTreeSet<String>) -> BTreeSet<String> {
        if names.is_empty() {
            return names;
        }
        let roots: Vec<_> = self.program_roots(session, manifest, profile).collect();
        names.into_iter().filter(|name| roots.iter().any(|root| FOLDERS.iter().any(|folder| root.has(folder, name)))).collect()
    }

    /// Where a program finds what it named by this path: in the first root that has it, or in the root that the path begins with, as the paths of other
    /// tools do. Only what the patterns of the manifest show.
    pub(in crate::sandbox) fn in_program_root(&self, session: &str, manifest: &Manifest, profile: &str, path: &RelPath) -> Option<String> {
        let is_there = |root: &ProgramRoot<'_>, path: &RelPath| root.shows(path, Kind::File) || root.shows(path, Kind::Directory);
        self.program_roots(session, manifest, profile).find_map(|root| {
            let without_root = path.rebased(&RelPath::ROOT.join(root.name), &RelPath::ROOT);
            let found = [Some(path.clone()), without_root].into_iter().flatten().find(|path| is_there(&root, path))?;
            Some(format!("/roots/{}/{found}", root.name))
        })
    }

    /// The roots which the programs of a profile see, as far as they can be opened.
    fn program_roots<'m>(&self, session: &str, manifest: &'m Manifest, profile: &str) -> impl Iterator<Item = ProgramRoot<'m>> {
        python_roots(manifest, profile).into_iter().filter_map(move |(name, _)| {
            let (root, hidden) = (self.find(session, name).ok()?, self.hidden(session, name).ok()?);
            Some(ProgramRoot { manifest, name, root, hidden })
        })
    }
}

/// One root that a program sees.
struct ProgramRoot<'p> {
    manifest: &'p Manifest,
    name: &'p str,
    root: std::sync::Arc<Root>,
    hidden: Hidden,
}

impl ProgramRoot<'_> {
    /// Whether the module `name` lies in this folder.
    fn has(&self, folder: &str, name: &str) -> bool {
        let folder = RelPath::ROOT.join(folder);
        if !folder.is_root() && !self.shows(&folder, Kind::Directory) {
            return false;
        }
        let package = folder.join(name);
        self.shows(&folder.join(&format!("{name}.py")), Kind::File) || self.shows(&package, Kind::Directory) && self.has_source(&package)
    }

    /// Whether something of this kind lies there, and a program may see it.
    fn shows(&self, path: &RelPath, kind: Kind) -> bool {
        visible(self.manifest, self.name, path, kind == Kind::Directory) != Visible::No
            && !self.hidden.holds(path)
            && open(&self.root.folder, path).and_then(Stat::of).is_ok_and(|seen| seen.kind == kind && !self.hidden.is_object(seen.object()))
    }

    /// Whether a folder holds a file whose name ends in `.py`, among its first entries.
    fn has_source(&self, folder: &RelPath) -> bool {
        let opened = open(&self.root.folder, folder).and_then(open_folder);
        let Ok(entries) = opened.and_then(Dir::read_from) else { return false };
        let is_source = |name: &str| name.strip_suffix(".py").is_some() && self.shows(&folder.join(name), Kind::File);
        entries.flatten().take(MOST).any(|entry| entry.file_name().to_str().is_ok_and(is_source))
    }
}
