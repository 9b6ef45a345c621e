//! The way through the folders of a root, of whatever depth, with few of them open at a time.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use super::charge;

/// A folder in a folder.
#[derive(Debug)]
pub(super) struct Below {
    /// Its name.
    pub(super) name: CString,
    /// Its owner.
    pub(super) user: u32,
    /// Its mode.
    pub(super) mode: u32,
}

/// Where the next folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// It is open: [`Way::folder`].
    Folder,
    /// There is none.
    End,
    /// There are some, and they cannot be opened in time, or not with the descriptors that are left.
    TooFar,
}

/// A way through all folders, each before those in it.
///
/// A folder is opened from the one that holds it, and no link is followed. The last [`OPEN`] folders stay open; one further up is found again from
/// the root by its names, where there is more to be seen in it.
#[derive(Debug)]
pub(super) struct Way {
    levels: Vec<Level>,
    path: Vec<u8>,
    /// How often a folder may still be opened again.
    again: usize,
    /// Whether there was a folder that is there and cannot be opened.
    pub(super) has_closed: bool,
}

#[derive(Debug)]
struct Level {
    /// None where others needed its place.
    folder: Option<OwnedFd>,
    /// Its name in the one above.
    name: CString,
    /// How long the path to it is.
    path: usize,
    left: std::vec::IntoIter<Below>,
}

/// Folders that are open at a time, besides the root.
const OPEN: usize = 64;
/// Openings of folders that were open before; so many take about a second.
const AGAIN: usize = 400_000;

impl Way {
    /// The way through an opened root, which is the first folder. `name` is what paths begin with.
    pub(super) fn new(root: OwnedFd, name: &str) -> Self {
        let path = name.as_bytes().to_vec();
        let top = Level { folder: Some(root), name: CString::default(), path: path.len(), left: Vec::new().into_iter() };
        Self { levels: vec![top], path, again: AGAIN, has_closed: false }
    }

    /// The folder that it has come to, with its path.
    pub(super) fn folder(&self) -> Option<(&OwnedFd, &[u8])> {
        Some((self.levels.last()?.folder.as_ref()?, &self.path))
    }

    /// Takes note of what is to be seen below the folder that it has come to.
    pub(super) fn go_below(&mut self, folders: Vec<Below>) {
        if let Some(level) = self.levels.last_mut() {
            level.left = folders.into_iter();
        }
    }

    /// Goes on to the next folder.
    pub(super) fn next(&mut self) -> Next {
        while let Some(at) = self.levels.len().checked_sub(1) {
            let Some(level) = self.levels.last_mut() else { break };
            self.path.truncate(level.path);
            let Some(below) = level.left.next() else {
                self.levels.pop();
                continue;
            };
            match self.open_again(at) {
                Ok(true) => {}
                // It is gone, with all that was left of it.
                Ok(false) => {
                    self.levels.pop();
                    continue;
                }
                Err(Stuck::TooFar) => return Next::TooFar,
                Err(Stuck::Closed) => {
                    self.has_closed = true;
                    self.levels.pop();
                    continue;
                }
            }
            let Some(folder) = self.levels.last().and_then(|level| level.folder.as_ref()) else { break };
            match charge::open_folder(folder, &below.name, below.user, below.mode) {
                Ok(Some(opened)) => {
                    self.enter(opened, below.name);
                    return Next::Folder;
                }
                // It is gone, or of another user whose programs alone may write in it.
                Ok(None) => {}
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => return Next::TooFar,
                Err(_) => self.has_closed = true,
            }
        }
        Next::End
    }

    fn enter(&mut self, folder: OwnedFd, name: CString) {
        self.path.push(b'/');
        self.path.extend_from_slice(name.to_bytes());
        self.levels.push(Level { folder: Some(folder), name, path: self.path.len(), left: Vec::new().into_iter() });
        // The root stays open.
        let too_many = self.levels.len().checked_sub(OPEN + 1).filter(|at| *at > 0);
        if let Some(level) = too_many.and_then(|at| self.levels.get_mut(at)) {
            level.folder = None;
        }
    }

    /// Opens the folder of a level again where it was closed, with those right above it; false where it is gone.
    fn open_again(&mut self, at: usize) -> Result<bool, Stuck> {
        if self.levels.get(at).is_none_or(|level| level.folder.is_some()) {
            return Ok(true);
        }
        let open = |above: &OwnedFd, name: &CString| -> Result<Option<OwnedFd>, Stuck> {
            let Ok(facts) = statat(above, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) else { return Ok(None) };
            match charge::open_folder(above, name, facts.st_uid, facts.st_mode) {
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Err(Stuck::TooFar),
                opened => opened.map_err(|_| Stuck::Closed),
            }
        };
        let mut last: Option<OwnedFd> = None;
        for index in 1..=at {
            self.again = self.again.checked_sub(1).ok_or(Stuck::TooFar)?;
            let (above, here) = self.levels.split_at_mut(index);
            let (Some(above), Some(here)) = (above.last(), here.first_mut()) else { return Ok(false) };
            let Some(above) = last.as_ref().or(above.folder.as_ref()) else { return Ok(false) };
            let Some(opened) = open(above, &here.name)? else { return Ok(false) };
            if index + OPEN / 2 > at {
                here.folder = Some(opened);
                last = None;
            } else {
                last = Some(opened);
            }
        }
        Ok(true)
    }
}

/// Why a folder could not be opened again.
enum Stuck {
    TooFar,
    Closed,
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn root(path: &std::path::Path) -> OwnedFd {
        rustix::fs::open(path, rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap()
    }

    fn below(folder: &OwnedFd) -> Vec<Below> {
        let entries = rustix::fs::Dir::read_from(folder).unwrap().flatten();
        let named = entries.map(|entry| entry.file_name().to_owned()).filter(|name| ![c".", c".."].contains(&name.as_c_str()));
        let mut all: Vec<Below> = named
            .map(|name: CString| {
                let facts =
                    statat(folder, CStr::from_bytes_with_nul(name.as_bytes_with_nul()).unwrap(), AtFlags::SYMLINK_NOFOLLOW).unwrap();
                Below { name, user: facts.st_uid, mode: facts.st_mode }
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Every path, and the most folders that were open at a time.
    fn paths(top: &std::path::Path) -> (Vec<String>, usize) {
        let (mut way, mut found, mut most) = (Way::new(root(top), "r"), Vec::new(), 0);
        loop {
            let (folder, path) = way.folder().unwrap();
            found.push(String::from_utf8(path.to_vec()).unwrap());
            let folders = below(folder);
            way.go_below(folders);
            most = most.max(way.levels.iter().filter(|level| level.folder.is_some()).count());
            match way.next() {
                Next::Folder => {}
                Next::End => return (found, most),
                Next::TooFar => panic!("{found:?}"),
            }
        }
    }

    #[test]
    fn every_folder_is_come_to_once_however_deep_with_few_of_them_open() {
        let folder = tempfile::tempdir().unwrap();
        let mut expected = vec!["r".to_owned()];
        let (mut at, mut path) = (folder.path().to_owned(), "r".to_owned());
        let mut after = Vec::new();
        for _ in 0..300 {
            std::fs::create_dir(at.join("z")).unwrap();
            after.push(format!("{path}/z"));
            (at, path) = (at.join("d"), format!("{path}/d"));
            std::fs::create_dir(&at).unwrap();
            expected.push(path.clone());
        }
        expected.extend(after.into_iter().rev());
        let (found, most) = paths(folder.path());
        assert_eq!(found, expected);
        assert!(most <= OPEN + 2, "{most}");
    }

    #[test]
    fn a_folder_that_is_gone_takes_what_was_left_of_it_along_and_the_way_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let deep = (0..OPEN * 2).fold(folder.path().join("a"), |at, _| at.join("d"));
        std::fs::create_dir_all(deep.join("x")).unwrap();
        std::fs::create_dir(folder.path().join("b")).unwrap();
        std::fs::create_dir(folder.path().join("a/e")).unwrap();
        let mut way = Way::new(root(folder.path()), "r");
        let mut last;
        loop {
            let (folder_now, path) = way.folder().unwrap();
            last = path.to_vec();
            let folders = below(folder_now);
            way.go_below(folders);
            if last.ends_with(b"/x") {
                std::fs::rename(folder.path().join("a"), folder.path().join("c")).unwrap();
            }
            if way.next() != Next::Folder {
                break;
            }
        }
        assert_eq!((String::from_utf8(last).unwrap(), way.has_closed), ("r/b".to_owned(), false));
    }
}
