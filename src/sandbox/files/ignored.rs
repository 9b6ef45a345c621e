//! What `.gitignore` files name, read through held folders.

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::content::read_whole;
use super::resolve::{open, open_file, step};
use super::roots::Root;
use super::stat::Stat;
use crate::model::{Bytes, Kind, RelPath};

/// The ignore files from the root down to one folder, the innermost first. A clone shares them.
#[derive(Debug, Default, Clone)]
pub(super) struct Ignored(Option<Rc<Level>>);

#[derive(Debug)]
struct Level {
    folder: RelPath,
    rules: Gitignore,
    above: Ignored,
}

impl Ignored {
    /// The ignore files of the folders above `path`.
    pub(super) fn above(root: &Root, path: &RelPath) -> Self {
        let folders = path.ancestors().take(path.segments().len());
        folders.fold(Self::default(), |above, folder| match open(&root.folder, &folder) {
            Ok(handle) => above.with(&handle, &folder),
            Err(_) => above,
        })
    }

    /// The same with the folder's own ignore file, if there is one.
    pub(super) fn with(self, handle: &OwnedFd, folder: &RelPath) -> Self {
        match rules(handle) {
            Some(rules) => Self(Some(Rc::new(Level { folder: folder.clone(), rules, above: self }))),
            None => self,
        }
    }

    /// Whether a path is ignored: the innermost file that says anything decides.
    pub(super) fn names(&self, path: &RelPath, is_folder: bool) -> bool {
        let mut next = self;
        while let Some(level) = &next.0 {
            let path = path.rebased(&level.folder, &RelPath::ROOT).unwrap_or_default();
            match level.rules.matched(path.to_string(), is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = &level.above,
            }
        }
        false
    }
}

fn rules(folder: &OwnedFd) -> Option<Gitignore> {
    let handle = step(folder.as_fd(), c".gitignore").ok()?;
    let seen = Stat::of(&handle).ok()?;
    if seen.kind != Kind::File {
        return None;
    }
    let bytes = read_whole(open_file(&handle).ok()?, seen.size, Bytes::kib(256)).ok()??;
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&bytes).lines().take(5000) {
        // A line that is no pattern ignores nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
