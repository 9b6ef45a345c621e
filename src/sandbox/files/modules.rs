//! Which names are Python modules of a root: what a program that sees the root can import from there.

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
        let roots = python_roots(manifest, profile).into_iter().filter_map(|(name, _)| {
            let (root, hidden) = (self.find(session, name).ok()?, self.hidden(session, name).ok()?);
            Some(ModuleRoot { manifest, name, root, hidden })
        });
        let roots: Vec<_> = roots.collect();
        names.into_iter().filter(|name| roots.iter().any(|root| FOLDERS.iter().any(|folder| root.has(folder, name)))).collect()
    }
}

/// One root in which modules are looked for.
struct ModuleRoot<'p> {
    manifest: &'p Manifest,
    name: &'p str,
    root: std::sync::Arc<Root>,
    hidden: Hidden,
}

impl ModuleRoot<'_> {
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
