//! Detached copies of what the jail shows, made from descriptors and attached later, inside.

#![expect(clippy::disallowed_methods, reason = "the jail process looks at trees that no program can change yet")]

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::process::Pid;

use super::raw::{self, Attributes};
use super::{mend, site, users};
use crate::sandbox::jail::kind::RootOrder;
use crate::sandbox::jail::order::{Order, Word};

/// A detached mount and where it will stand in the jail, relative to the new root.
#[derive(Debug)]
pub(super) struct Tree {
    /// Where it will stand, without a leading `/`.
    pub(super) at: String,
    /// The mount.
    pub(super) fd: OwnedFd,
    /// Whether it is a folder.
    pub(super) folder: bool,
}

/// Everything that is shown: the interpreter's parts, the devices, then the roots.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The interpreter's parts and the devices.
    pub(super) parts: Vec<Tree>,
    /// The roots in the order of the call.
    pub(super) roots: Vec<Tree>,
    /// The user whom the program has to take on itself.
    pub(super) user: Option<u32>,
}

/// Whose eyes the trees are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eyes {
    /// A privileged process makes them, before it enters the namespaces, for this other user and group.
    Other(u32, u32),
    /// A process makes them for itself, after it entered its namespaces.
    Own,
}

/// Makes the detached trees of an order.
///
/// # Errors
/// The word that refuses the call: a root that cannot be shown, or a fault.
pub(super) fn make(order: &Order, dirs: &[OwnedFd], eyes: Eyes) -> Result<Shown, Word> {
    Ok(Shown { parts: parts(order)?, roots: roots(order, dirs, eyes)?, ..Shown::default() })
}

/// Makes the trees of the interpreter and the devices.
///
/// # Errors
/// A fault.
pub(super) fn parts(order: &Order) -> Result<Vec<Tree>, Word> {
    let mut parts = Vec::new();
    for need in &order.kind.interpreter.needs {
        let attributes = Attributes { read_only: true, ..Attributes::default() };
        let found = open(need.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| Word::Fault(format!("opening the interpreter's `{need}`: {e}")))?;
        parts.push(tree(need, &found, attributes).map_err(|e| mend::no_mount("showing the interpreter", e))?);
    }
    for device in DEVICES {
        let found =
            open(device, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|e| Word::Fault(format!("opening `{device}`: {e}")))?;
        let attributes = Attributes { devices: true, no_exec: true, ..Attributes::default() };
        parts.push(tree(device, &found, attributes).map_err(|e| mend::no_mount("showing the devices", e))?);
    }
    Ok(parts)
}

/// Makes the trees of the roots.
///
/// # Errors
/// The word that refuses the call.
pub(super) fn roots(order: &Order, dirs: &[OwnedFd], eyes: Eyes) -> Result<Vec<Tree>, Word> {
    let mut roots = Vec::new();
    for (root, dir) in order.kind.roots.iter().zip(dirs) {
        let made = match eyes {
            Eyes::Other(user, group) => root_for(root, dir, user, group),
            Eyes::Own => reopen(dir).and_then(|dir| plain(root, &dir)),
        };
        roots.push(made.map_err(|reason| Word::Root { root: root.name.clone(), reason })?);
    }
    Ok(roots)
}

/// The device files of the jail: they hold nothing and give only noise.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

fn tree(at: &str, found: &OwnedFd, attributes: Attributes<'_>) -> Result<Tree, Errno> {
    let folder = FileType::from_raw_mode(fstat(found)?.st_mode) == FileType::Directory;
    let fd = detach(found.as_fd())?;
    raw::mount_setattr(fd.as_fd(), attributes).map_err(|e| Errno::from_raw_os_error(e as i32))?;
    Ok(Tree { at: at.trim_start_matches('/').to_owned(), fd, folder })
}

fn detach(found: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    // Recursive, because a user namespace may not uncover what is mounted below (mount_namespaces(7), locked mounts).
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH | OpenTreeFlags::AT_RECURSIVE;
    open_tree(found, "", flags)
}

fn plain(root: &RootOrder, dir: &OwnedFd) -> Result<Tree, String> {
    tree(&format!("roots/{}", root.name), dir, Attributes { read_only: !root.writable, ..Attributes::default() }).map_err(|e| e.to_string())
}

/// Whether mounts can show the owner of each of these folders as another user.
pub(super) fn can_show_as_another(dirs: &[OwnedFd]) -> bool {
    static CAN: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());
    let mut can = CAN.lock().unwrap_or_else(PoisonError::into_inner);
    dirs.iter().all(|dir| {
        let Ok(facts) = fstat(dir) else { return false };
        if can.contains(&(facts.st_dev, facts.st_ino)) {
            return true;
        }
        let shared = users::shared();
        let tried = id_map((facts.st_uid, shared), (facts.st_gid, shared)).and_then(|map| {
            let fd = detach(dir.as_fd()).map_err(|e| e.to_string())?;
            let attributes = Attributes { id_map: Some(map.as_fd()), ..Attributes::default() };
            raw::mount_setattr(fd.as_fd(), attributes).map_err(|e| e.to_string())?;
            Ok(())
        });
        if tried.is_err() {
            return false;
        }
        if can.len() >= MOST_MAPS {
            can.clear();
        }
        can.insert((facts.st_dev, facts.st_ino))
    })
}

/// A root for a user who does not own it: its owner is shown as that user.
fn root_for(root: &RootOrder, dir: &OwnedFd, user: u32, group: u32) -> Result<Tree, String> {
    let stat = fstat(dir).map_err(|e| e.to_string())?;
    if stat.st_uid == user {
        return plain(root, dir);
    }
    let at = format!("roots/{}", root.name);
    let mapped = id_map((stat.st_uid, user), (stat.st_gid, group)).and_then(|map| {
        let fd = detach(dir.as_fd()).map_err(|e| e.to_string())?;
        let attributes = Attributes { read_only: !root.writable, id_map: Some(map.as_fd()), ..Attributes::default() };
        raw::mount_setattr(fd.as_fd(), attributes).map_err(|e| e.to_string())?;
        Ok(Tree { at, fd, folder: true })
    });
    match mapped {
        Ok(tree) => Ok(tree),
        // Open to all: the other user may do what anybody may.
        Err(_) if site::admits(dir, user, root.writable).is_ok() => plain(root, dir),
        Err(reason) => Err(format!(
            "it belongs to user {} and its file system gives no id-mapped mount ({reason}); run as an ordinary user, or give the folder to user {user}",
            stat.st_uid
        )),
    }
}

/// From whom to whom: users, groups.
type Owners = ((u32, u32), (u32, u32));

/// A user namespace that shows one user and one group as another.
///
/// It holds no process and nothing but the two numbers, so one serves every call of this process: making one takes a millisecond.
fn id_map(users: (u32, u32), groups: (u32, u32)) -> Result<Arc<OwnedFd>, String> {
    static MADE: Mutex<BTreeMap<Owners, Arc<OwnedFd>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(map) = made.get(&(users, groups)) {
        return Ok(Arc::clone(map));
    }
    let map = Arc::new(new_id_map(users, groups)?);
    if made.len() >= MOST_MAPS {
        made.clear();
    }
    made.insert((users, groups), Arc::clone(&map));
    Ok(map)
}

/// Owners of roots, each as each user of a jail, that are remembered; and roots.
const MOST_MAPS: usize = 64;

fn new_id_map(users: (u32, u32), groups: (u32, u32)) -> Result<OwnedFd, String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let (wait, hold) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| text(&e))?;
    let (ready, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| text(&e))?;
    let Some(child) = raw::fork()? else {
        drop((hold, ready));
        if nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER).is_ok() {
            let _ = rustix::io::write(&tell, b"1");
        }
        drop(tell);
        let _ = rustix::io::read(&wait, &mut [0_u8; 1]);
        // The child only lends its namespace; it must not run what its parent was about to.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        return Err("the lending child lives on".to_owned());
    };
    drop((wait, tell));
    let made = (|| {
        if rustix::io::read(&ready, &mut [0_u8; 1]).map_err(|e| text(&e))? != 1 {
            return Err("no user namespace".to_owned());
        }
        let child = child.as_raw_nonzero();
        std::fs::write(format!("/proc/{child}/uid_map"), format!("{} {} 1", users.0, users.1)).map_err(|e| text(&e))?;
        std::fs::write(format!("/proc/{child}/gid_map"), format!("{} {} 1", groups.0, groups.1)).map_err(|e| text(&e))?;
        open(format!("/proc/{child}/ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(|e| text(&e))
    })();
    drop(hold);
    reap(child);
    made
}

fn reap(child: Pid) {
    let _ = rustix::process::kill_process(child, rustix::process::Signal::KILL);
    let _ = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()));
}

/// Opens the same folder as it stands in this mount namespace.
///
/// A descriptor from outside names a mount of another namespace, which may not be copied from here (`open_tree(2)`), so the folder
/// is found again by its path, and taken only if it is the very same inode.
fn reopen(dir: &OwnedFd) -> Result<OwnedFd, String> {
    use std::os::fd::AsRawFd;
    let path = std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd())).map_err(|e| e.to_string())?;
    let again = openat(CWD, &path, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| format!("it cannot be opened again ({e})"))?;
    let (before, now) = (fstat(dir).map_err(|e| e.to_string())?, fstat(&again).map_err(|e| e.to_string())?);
    if (before.st_dev, before.st_ino) == (now.st_dev, now.st_ino) {
        Ok(again)
    } else {
        Err("it was moved while it was being opened".to_owned())
    }
}
