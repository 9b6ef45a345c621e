//! `list`: the entries of the judged folder that may be seen.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use super::below::{MOST_AT_ONCE, entries};
use super::fault::{fault, missing};
use super::ignored::Ignored;
use super::look::Guard;
use super::pattern::Pattern;
use super::roots::Roots;
use super::stop::Stop;
use crate::gate::Permit;
use crate::model::name::is_temporary;
use crate::model::{Code, Failure, Kind, Link, ListDirectory, Opened, RelPath, Target};
use crate::policy::paths::Visible;

/// Decides for each entry, by its path below the root and whether it is a folder, whether it may be seen.
pub type Judge<'a> = &'a dyn Fn(&RelPath, bool) -> Visible;

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
        let opened = opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
        let target = &opened.target;
        let root = self.find(&terms.session, &target.root)?;
        let guard = Guard::new(self, &root);
        let glob = glob(action.glob.as_deref())?;
        let mut listing = Listing { target: target.clone(), entries: Vec::new(), left_out: 0, ignored: 0, truncated: false, late: false };
        let most = usize::try_from(action.limit).unwrap_or(usize::MAX);
        let (folder, top) = directory(&opened)?;
        let mut ignored = Ignored::default();
        if !action.ignored {
            ignored.enter_above(root.resolver, root.folder.as_fd(), &top);
        }
        // Folders below are opened when their turn comes, from the root and by the path that was judged: no descriptor waits.
        let mut left = VecDeque::from([(top.clone(), 1, ignored)]);
        'folders: while let Some((path, depth, mut ignored)) = left.pop_front() {
            let mut list = |folder: &OwnedFd| {
                let found = entries(folder, MOST_AT_ONCE)?;
                if !action.ignored {
                    ignored.enter(folder, &path, found.0.iter().any(|(name, seen)| name == ".gitignore" && seen.kind == Kind::File));
                }
                Ok(found)
            };
            let found =
                if depth == 1 { list(folder) } else { root.resolver.open(root.folder.as_fd(), &path).and_then(|folder| list(&folder)) };
            let (mut found, more) = match found {
                Ok(found) => found,
                Err(errno) if depth == 1 => return Err(fault(errno, target, "listed")),
                // A folder below that went away or that the system keeps closed has no entries to show.
                Err(_) => continue,
            };
            listing.truncated |= more;
            found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            for (name, seen) in found {
                stop.check()?;
                if is_temporary(name.as_encoded_bytes()) {
                    continue;
                }
                let text = name.to_string_lossy();
                let path = path.join(&text);
                // What no call can name is shown by none.
                if name.to_str().is_none() || RelPath::parse(&text).is_err() {
                    listing.left_out += 1;
                    continue;
                }
                let is_folder = seen.kind == Kind::Directory;
                if guard.holds(&path, &seen) || judge(&path, is_folder) == Visible::No {
                    listing.left_out += 1;
                    continue;
                }
                // After the judgement, which knows nothing of it.
                if ignored.names(&path, is_folder) {
                    listing.ignored += 1;
                    continue;
                }
                if glob.as_ref().is_none_or(|glob| below(&path, &top).is_some_and(|path| glob.matches(&path))) {
                    if listing.entries.len() >= most {
                        listing.truncated = true;
                        break 'folders;
                    }
                    listing.entries.push(Listed {
                        path: path.clone(),
                        kind: seen.kind,
                        size: if seen.kind == Kind::File { seen.size } else { 0 },
                    });
                }
                if is_folder && depth < action.depth {
                    if stop.is_late() || left.len() >= MOST_WAITING {
                        listing.late = true;
                        break 'folders;
                    }
                    left.push_back((path, depth + 1, ignored.clone()));
                }
            }
        }
        listing.entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(listing)
    }
}

/// The judged folder, open for reading its entries, and its path below the root.
pub(super) fn directory(opened: &Opened) -> Result<(&Arc<OwnedFd>, RelPath), Failure> {
    let target = &opened.target;
    let path = match &opened.fact.link {
        Link::Leads(path) => path,
        _ => &target.path,
    };
    match (opened.fact.kind, &opened.object) {
        (Kind::Directory, Some(folder)) => Ok((folder, path.clone())),
        (Kind::Absent, _) => Err(missing(target)),
        _ => Err(Failure::new(Code::NotADirectory, format!("`{target}` is no folder")).hint("use read_file or file_info")),
    }
}

pub(super) fn glob(text: Option<&str>) -> Result<Option<Pattern>, Failure> {
    text.map(|text| Pattern::parse(text).map_err(|why| Failure::new(Code::ArgumentInvalid, why))).transpose()
}

/// The path relative to a folder above it.
pub(super) fn below(path: &RelPath, folder: &RelPath) -> Option<RelPath> {
    path.rebased(folder, &RelPath::ROOT)
}

/// Folders waiting to be listed.
const MOST_WAITING: usize = 20_000;
