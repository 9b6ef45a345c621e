//! Detached copies of mounts of what a jail shows, made from descriptors and attached later, inside.

#![expect(clippy::disallowed_methods, reason = "the jail process looks at trees that no program can change yet")]

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::process::Pid;

use crate::backend::NotStarted;
use crate::diagnostics;
use crate::init::host_folders;
use crate::message::{FolderPlan, Plan};
use crate::raw::{self, Attributes};

/// A detached mount and where it will stand in the jail, relative to the new root.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Where it will stand, without a leading `/`.
    pub(crate) at: String,
    /// The mount.
    pub(crate) fd: OwnedFd,
    /// Whether it is a folder.
    pub(crate) folder: bool,
}

/// Makes the trees of what a plan shows of the host, and of the devices.
///
/// # Errors
/// Why not.
pub(super) fn shown(plan: &Plan) -> Result<Vec<Tree>, NotStarted> {
    let read_only = Attributes { read_only: true, ..Attributes::default() };
    let device = Attributes { devices: true, no_exec: true, ..Attributes::default() };
    let all = plan.shown.iter().map(|path| (path.as_str(), read_only)).chain(DEVICES.map(|path| (path, device)));
    all.map(|(path, attributes)| {
        let found = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| NotStarted::fault("opening what is shown", format!("`{path}`: {e}")))?;
        tree(path, &found, attributes).map_err(|e| diagnostics::no_mount("copying a mount", e))
    })
    .collect()
}

/// Makes the mounts of folders, whose owners are shown as `user` where there is one.
///
/// # Errors
/// Why not.
pub(super) fn folders(plans: &[FolderPlan], dirs: &[OwnedFd], user: Option<u32>) -> Result<Vec<OwnedFd>, NotStarted> {
    let make = |(plan, dir): (&FolderPlan, &OwnedFd)| {
        let made = match user {
            Some(user) => shown_as(plan, dir, user),
            None => reopen(dir).and_then(|dir| plain(plan, &dir)),
        };
        made.map_err(|reason| NotStarted::Folder(plan.name.clone(), reason))
    };
    plans.iter().zip(dirs).map(make).collect()
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

fn plain(plan: &FolderPlan, dir: &OwnedFd) -> Result<OwnedFd, String> {
    let attributes = Attributes { read_only: !plan.writable, ..Attributes::default() };
    tree("", dir, attributes).map(|tree| tree.fd).map_err(|e| e.to_string())
}

/// A folder for a user who may not own it: its owner is shown as that user.
fn shown_as(plan: &FolderPlan, dir: &OwnedFd, user: u32) -> Result<OwnedFd, String> {
    let stat = fstat(dir).map_err(|e| e.to_string())?;
    if stat.st_uid == user {
        return plain(plan, dir);
    }
    let mapped = id_map((stat.st_uid, user), (stat.st_gid, user)).and_then(|map| {
        let attributes = Attributes { read_only: !plan.writable, id_map: Some(map.as_fd()), ..Attributes::default() };
        tree("", dir, attributes).map(|tree| tree.fd).map_err(|e| e.to_string())
    });
    match mapped {
        Ok(mount) => Ok(mount),
        // Open to all: the other user may do what anybody may.
        Err(_) if host_folders::admits(dir, user, plan.writable).is_ok() => plain(plan, dir),
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

/// Owners of folders, each as each user of a jail, that are remembered.
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
