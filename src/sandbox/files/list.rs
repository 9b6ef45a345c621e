//! `list`: the entries of the judged folder that may be seen.

use super::look::{Guard, single};
use super::roots::Roots;
use super::stop::Stop;
use super::walk::{Judge, Next, Walk, glob, matches};
use crate::gate::Permit;
use crate::model::{Failure, Kind, ListDirectory, RelPath, Target};

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its path below the root.
    pub path: RelPath,
    /// What it is.
    pub kind: Kind,
    /// Size in bytes of a file.
    pub size: u64,
}

/// What a folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The folder.
    pub target: Target,
    /// Entries in order of their paths.
    pub entries: Vec<Listed>,
    /// Entries that were met and may not be seen, or whose name no call can give.
    pub left_out: u64,
    /// Entries that may be seen and that `.gitignore` files name; what is below such a folder is not counted.
    pub ignored: u64,
    /// Whether there are more entries than the limit.
    pub truncated: bool,
    /// Whether the time was up before everything was looked at.
    pub late: bool,
}

impl Roots {
    /// Lists the folder the permit names, breadth first, so that a cut leaves out what is deepest. Unless the action asks for
    /// them, entries that `.gitignore` files name are left out and counted, and folders among them are not entered.
    ///
    /// # Errors
    /// `not_found`, `not_a_directory`, `cancelled`, `argument_invalid` (the glob).
    pub fn list(&self, permit: Permit<ListDirectory>, judge: Judge<'_>, stop: &Stop) -> Result<Listing, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = single(opened)?;
        let root = self.find(&terms.session, &opened.target.root)?;
        let guard = Guard::new(self, &root);
        let glob = glob(action.glob.as_deref())?;
        let most = usize::try_from(action.limit).unwrap_or(usize::MAX);
        let (mut entries, mut is_full) = (Vec::new(), false);
        let depth = usize::try_from(action.depth).unwrap_or(usize::MAX);
        let mut walk = Walk { meets_ignored: action.ignored, depth, ..Walk::new(&root, &guard, judge, stop) };
        walk.run(&opened, |_, path, seen| {
            if matches(glob.as_ref(), path, opened.path()) {
                if entries.len() >= most {
                    is_full = true;
                    return Ok(Next::End);
                }
                let size = if seen.kind == Kind::File { seen.size } else { 0 };
                entries.push(Listed { path: path.clone(), kind: seen.kind, size });
            }
            Ok(Next::Enter)
        })?;
        entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        let Walk { left_out, ignored, is_cut, is_late, .. } = walk;
        Ok(Listing { target: opened.target.clone(), entries, left_out, ignored, truncated: is_full || is_cut, late: is_late })
    }
}
