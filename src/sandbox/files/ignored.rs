//! What `.gitignore` files name, read through held folders.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::content::{Whole, read_whole};
use super::resolve::{Resolver, open_file, step};
use super::seen::Seen;
use crate::model::{Bytes, Kind, RelPath};

/// The ignore files from the root down to one folder, outermost first. A clone shares the files.
#[derive(Debug, Default, Clone)]
pub(super) struct Ignored(Vec<(RelPath, Rc<Gitignore>)>);

impl Ignored {
    /// Takes the ignore files of the folders above `path`.
    pub(super) fn enter_above(&mut self, resolver: Resolver, root: BorrowedFd<'_>, path: &RelPath) {
        for folder in path.ancestors().take(path.segments().len()) {
            if let Ok(handle) = resolver.open(root, &folder) {
                self.enter(&handle, &folder, true);
            }
        }
    }

    /// Takes the folder's own ignore file, if there is one; then the folder must be left again.
    pub(super) fn enter(&mut self, folder: &OwnedFd, path: &RelPath, exists: bool) -> bool {
        let rules = if exists { rules(folder) } else { None };
        let entered = rules.is_some();
        self.0.extend(rules.map(|rules| (path.clone(), Rc::new(rules))));
        entered
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// Whether a path is ignored: the innermost file that says anything decides.
    pub(super) fn names(&self, path: &RelPath, is_folder: bool) -> bool {
        for (folder, rules) in self.0.iter().rev() {
            let Some(path) = path.rebased(folder, &RelPath::ROOT) else { continue };
            match rules.matched(path.to_string(), is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

fn rules(folder: &OwnedFd) -> Option<Gitignore> {
    let handle = step(folder, c".gitignore").ok()?;
    let seen = Seen::of(&handle).ok()?;
    if seen.kind != Kind::File {
        return None;
    }
    let file = open_file(&handle, folder.as_fd(), c".gitignore").ok()?;
    let Whole::Bytes(bytes) = read_whole(&file, seen.size, Bytes::kib(256)).ok()? else { return None };
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&bytes).lines().take(5000) {
        // A line that is no pattern ignores nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
