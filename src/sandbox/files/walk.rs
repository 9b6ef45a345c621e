//! The one walk for what lists, searches and counts: breadth first, each folder opened from the root and through no link. The walker of the
//! `ignore` crate reads paths of the host, tells nothing of what it passes over and takes no borrowed judge; its matcher is used alone.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use super::below::{MOST_AT_ONCE, entries};
use super::fault::{fault, missing};
use super::ignored::Ignored;
use super::look::Guard;
use super::pattern::Pattern;
use super::resolve::open;
use super::roots::Root;
use super::stat::Stat;
use super::stop::Stop;
use crate::gate::Opened;
use crate::model::name::is_temporary;
use crate::model::{Code, Failure, Kind, RelPath};
use crate::policy::paths::Visible;

/// Decides for each entry, by its path below the root and whether it is a folder, whether it may be seen.
pub type Judge<'a> = &'a dyn Fn(&RelPath, bool) -> Visible;

/// A walk below a folder, and what it passed over.
pub(super) struct Walk<'a> {
    pub root: &'a Root,
    pub guard: &'a Guard<'a>,
    pub judge: Judge<'a>,
    pub stop: &'a Stop,
    /// Whether entries that `.gitignore` files name are met as well.
    pub meets_ignored: bool,
    /// Levels of folders that are looked in.
    pub depth: usize,
    /// Entries that are looked at.
    pub most: usize,
    /// Entries that may not be seen, or whose name no call can give.
    pub left_out: u64,
    /// Entries that may be seen and that `.gitignore` files name; what is below such a folder is not counted.
    pub ignored: u64,
    /// Whether there is more than was looked at.
    pub is_cut: bool,
    /// Whether the time was up, or more folders wait than are remembered.
    pub is_late: bool,
}

/// What becomes of the walk after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A folder is looked in when its turn comes.
    Enter,
    /// A folder is not looked in.
    Pass,
    /// Nothing more is looked at.
    End,
}

impl<'a> Walk<'a> {
    /// A walk through everything that may be seen.
    pub(super) fn new(root: &'a Root, guard: &'a Guard<'a>, judge: Judge<'a>, stop: &'a Stop) -> Self {
        Self {
            root,
            guard,
            judge,
            stop,
            meets_ignored: false,
            depth: usize::MAX,
            most: usize::MAX,
            left_out: 0,
            ignored: 0,
            is_cut: false,
            is_late: false,
        }
    }

    /// Shows `visit` each entry below the opened folder that may be seen, those of one folder in the order of their names.
    ///
    /// # Errors
    /// `not_found`, `not_a_directory`, `cancelled`; what the system says of the folder itself; what `visit` says.
    pub(super) fn run(
        &mut self,
        opened: &Opened,
        mut visit: impl FnMut(&OwnedFd, &RelPath, &Stat) -> Result<Next, Failure>,
    ) -> Result<(), Failure> {
        let (folder, top) = directory(opened)?;
        let ignored = if self.meets_ignored { Ignored::default() } else { Ignored::above(self.root, &top) };
        // Folders below are opened when their turn comes, from the root and by the path that was judged: no descriptor waits.
        let mut waiting = VecDeque::from([(top, 1, ignored)]);
        while let Some((path, depth, mut ignored)) = waiting.pop_front() {
            let below;
            let handle = if depth == 1 {
                folder
            } else {
                let Ok(handle) = open(&self.root.folder, &path) else { continue };
                below = handle;
                &below
            };
            let (mut inside, more) = match entries(handle, self.most.min(MOST_AT_ONCE)) {
                Ok(found) => found,
                Err(errno) if depth == 1 => return Err(fault(errno, &opened.target, "looked through")),
                // A folder below that went away or that the system keeps closed has no entries to show.
                Err(_) => continue,
            };
            self.most -= inside.len();
            self.is_cut |= more;
            inside.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            if !self.meets_ignored && inside.iter().any(|(name, seen)| name == ".gitignore" && seen.kind == Kind::File) {
                ignored = ignored.with(handle, &path);
            }
            for (name, seen) in inside {
                self.stop.check()?;
                if self.stop.is_late() {
                    self.is_late = true;
                    return Ok(());
                }
                let Some(path) = self.shown(&path, &name, &seen, &ignored) else { continue };
                match visit(handle, &path, &seen)? {
                    Next::End => return Ok(()),
                    Next::Enter if seen.kind == Kind::Directory && depth >= self.depth => {}
                    Next::Enter if seen.kind == Kind::Directory && waiting.len() >= MOST_WAITING => self.is_late = true,
                    Next::Enter if seen.kind == Kind::Directory => waiting.push_back((path, depth + 1, ignored.clone())),
                    Next::Enter | Next::Pass => {}
                }
            }
        }
        Ok(())
    }

    /// The path of an entry that may be seen; every other one is counted.
    fn shown(&mut self, folder: &RelPath, name: &std::ffi::OsStr, seen: &Stat, ignored: &Ignored) -> Option<RelPath> {
        if is_temporary(name.as_encoded_bytes()) {
            return None;
        }
        // What no call can name is shown by none.
        let path = name.to_str().filter(|name| RelPath::parse(name).is_ok()).map(|name| folder.join(name));
        let is_folder = seen.kind == Kind::Directory;
        let may_be_seen = |path: &RelPath| match (self.judge)(path, is_folder) {
            Visible::No => false,
            Visible::OnTheWay => is_folder,
            Visible::Yes => true,
        };
        let Some(path) = path.filter(|path| may_be_seen(path) && !self.guard.holds(path, seen)) else {
            self.left_out += 1;
            return None;
        };
        let is_ignored = ignored.names(&path, is_folder);
        self.ignored += u64::from(is_ignored);
        (!is_ignored).then_some(path)
    }
}

/// The judged folder, open for reading its entries, and its path below the root.
pub(super) fn directory(opened: &Opened) -> Result<(&OwnedFd, RelPath), Failure> {
    let target = &opened.target;
    match (opened.fact.kind, &opened.object) {
        (Kind::Directory, Some(folder)) => Ok((folder, opened.path().clone())),
        (Kind::Absent, _) => Err(missing(target)),
        _ => Err(Failure::new(Code::NotADirectory, format!("`{target}` is no folder")).hint("use read_file or file_info")),
    }
}

/// A caller's glob.
///
/// # Errors
/// `argument_invalid`
pub(super) fn glob(text: Option<&str>) -> Result<Option<Pattern>, Failure> {
    text.map(|text| Pattern::parse(text).map_err(|why| Failure::new(Code::ArgumentInvalid, why))).transpose()
}

/// Whether a glob, where there is one, matches a path below a folder.
pub(super) fn matches(glob: Option<&Pattern>, path: &RelPath, folder: &RelPath) -> bool {
    glob.is_none_or(|glob| path.rebased(folder, &RelPath::ROOT).is_some_and(|path| glob.matches(&path)))
}

/// Folders waiting to be looked in.
const MOST_WAITING: usize = 50_000;
