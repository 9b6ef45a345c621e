//! Folders that are made above a new name. They go again where the name is not given in the end.

use std::borrow::Cow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, fsync, mkdirat, unlinkat};
use rustix::io::Errno;

use super::fault::{changed, fault};
use super::look::Guard;
use super::resolve::{open_folder, step};
use super::roots::{Root, Roots};
use super::seen::Seen;
use crate::model::{Code, Failure, Kind, Opened, RelPath, Target};

/// The folders that were made for one name, the topmost first. Dropped without [`keep`](Self::keep), each goes that is still empty.
#[derive(Debug, Default)]
pub(super) struct Above {
    made: Vec<Made>,
}

#[derive(Debug)]
struct Made {
    parent: Arc<OwnedFd>,
    name: String,
    target: Target,
    /// Which object it is, once it was looked at.
    object: Option<(u64, u64)>,
}

impl Above {
    /// The opened place with the folder that holds its name: the judged one, or one that is made with the missing ones above it. A folder that
    /// another call made meanwhile is used where it is a plain folder that no rule of the server protects.
    ///
    /// # Errors
    /// `not_a_directory` (a name on the way is no folder), `conflict`, `no_space`, `path_not_allowed`.
    pub(super) fn make<'o>(roots: &Roots, root: &Root, opened: &'o Opened) -> Result<(Cow<'o, Opened>, Self), Failure> {
        reachable(opened)?;
        let mut above = Self::default();
        let Some((parent, _)) = opened.path().split_last() else { return Ok((Cow::Borrowed(opened), above)) };
        if opened.folder.is_some() {
            return Ok((Cow::Borrowed(opened), above));
        }
        let target = &opened.target;
        let failed = |errno| fault(errno, target, "written");
        let guard = Guard::new(roots, root);
        let there = parent.segments().len().saturating_sub(opened.fact.missing_folders);
        let mut path = parent.ancestors().nth(there).unwrap_or(RelPath::ROOT);
        let mut folder = Arc::new(root.resolver.open(root.folder.as_fd(), &path).map_err(|_| changed(target))?);
        if !path.is_root() {
            usable(&folder, &path, &guard, target)?;
        }
        for name in parent.segments().iter().skip(there) {
            path = path.join(name);
            match mkdirat(&folder, name.as_str(), Mode::from_raw_mode(0o777)) {
                Ok(()) => {
                    let target = Target { root: target.root.clone(), path: path.clone() };
                    above.made.push(Made { parent: Arc::clone(&folder), name: name.clone(), target, object: None });
                }
                // Another call made it between the two.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(errno)),
            }
            let next = step(&folder, name.as_str()).map_err(failed)?;
            let seen = usable(&next, &path, &guard, target)?;
            if let Some(made) = above.made.last_mut().filter(|made| made.target.path == path) {
                made.object = Some(seen.object());
            }
            folder = Arc::new(next);
        }
        Ok((Cow::Owned(Opened { folder: Some(folder), ..opened.clone() }), above))
    }

    /// Lets the folders stay, as the name was given, and tells them. `durable`: their names are on disk before this returns.
    pub(super) fn keep(mut self, durable: bool) -> Vec<Target> {
        let made = std::mem::take(&mut self.made);
        if durable {
            for made in &made {
                // The name was given; that it is not on disk yet is no reason to report it as failed.
                let _ = open_folder(&made.parent).and_then(fsync);
            }
        }
        made.into_iter().map(|made| made.target).collect()
    }
}

impl Drop for Above {
    fn drop(&mut self) {
        for made in self.made.iter().rev() {
            let is_ours = |object| Seen::at(&made.parent, made.name.as_str()).is_ok_and(|seen| seen.object() == object);
            // The kernel removes an empty folder alone: what another call put in meanwhile stays, with the folders above it.
            if made.object.is_none_or(is_ours) {
                let _ = unlinkat(&made.parent, made.name.as_str(), AtFlags::REMOVEDIR);
            }
        }
    }
}

/// Whether a new name can be given at an opened place: its folder is there, or can be made.
///
/// # Errors
/// `not_a_directory`, `root_itself`
pub(super) fn reachable(opened: &Opened) -> Result<(), Failure> {
    if opened.folder.is_some() || opened.fact.missing_folders > 0 {
        return Ok(());
    }
    if opened.path().is_root() {
        return Err(Failure::new(Code::RootItself, format!("`{}` is a root itself", opened.target)));
    }
    let why = format!("`{}` cannot be written: a name on the way is no folder", opened.target);
    Err(Failure::new(Code::NotADirectory, why).hint("list the folders on the way, and write below one of them"))
}

/// A folder on the way, which is a plain folder that nothing protects.
fn usable(folder: &OwnedFd, path: &RelPath, guard: &Guard<'_>, target: &Target) -> Result<Seen, Failure> {
    let seen = Seen::of(folder).map_err(|errno| fault(errno, target, "written"))?;
    if seen.kind != Kind::Directory || guard.holds(path, &seen) {
        return Err(changed(target));
    }
    Ok(seen)
}
