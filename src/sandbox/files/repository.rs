//! Bare repositories: a folder that git takes for one by what lies in it, whatever its name. Its `config` and `hooks` are obeyed as those below
//! `.git` are.
//!
//! # Source
//! `is_git_directory` of git's `setup.c`: `HEAD`, `objects` and `refs`.

use rustix::fs::{AtFlags, statat};

use super::resolve::{open, open_folder};
use super::roots::Root;
use crate::model::RelPath;

/// What makes a folder a repository.
const MADE_OF: [&str; 3] = ["HEAD", "objects", "refs"];
/// What of it runs or is obeyed.
const OBEYED: [&str; 2] = ["config", "hooks"];

/// The path that would stand for this one in an ordinary repository: of what is obeyed in a bare one, and of what makes a folder one that holds
/// something to obey.
pub(super) fn obeyed_as(root: &Root, path: &RelPath) -> Option<RelPath> {
    path.segments().iter().enumerate().find_map(|(depth, part)| {
        let is_obeyed = part.starts_with("config") || part == "hooks" || part == "info";
        let is_part = MADE_OF.contains(&part.as_str());
        if !is_obeyed && !is_part {
            return None;
        }
        let place = path.ancestors().nth(depth)?;
        let folder = open_folder(open(&root.folder, &place).ok()?).ok()?;
        let is_there = |name: &str| statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let made = MADE_OF.iter().all(|name| part == name || is_there(name));
        let inside = |rest: &RelPath| rest.rebased(&place, &place.join(".git"));
        match made {
            false => None,
            true if is_obeyed => inside(path),
            // The last part makes the folder a repository: what lay there before is obeyed from now on.
            true if is_there(part) => None,
            true => OBEYED.iter().find(|name| is_there(name)).and_then(|name| inside(&place.join(name))),
        }
    })
}
