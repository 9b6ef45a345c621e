//! Builds the jail's own root and leaves the host's behind.

#![expect(clippy::disallowed_methods, reason = "the jail process builds a root that nobody else can reach yet")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, open, openat2, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change, mount_remount, move_mount,
    open_tree, unmount,
};

use crate::backend::NotStarted;
use crate::diagnostics;
use crate::layers::Built;
use crate::message::{FolderPlan, Plan};
use crate::raw::{self, Attributes};
use crate::spawner::trees::Tree;
use crate::spec::Cover;

/// Builds the root from the trees and makes it `/`. The host's mounts are gone afterwards. `user`: the number of the program's user, as it sees it.
///
/// # Errors
/// Why it cannot be built.
pub(super) fn build(plan: &Plan, trees: &[Tree], user: u32, built: &mut Built) -> Result<(), NotStarted> {
    let fault = |doing: &'static str| move |e: Errno| diagnostics::no_mount(doing, e);
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(fault("making mounts private"))?;
    // Any folder serves: it is only a place to stand on until the old root is gone.
    let base = ["/tmp", "/run", "/mnt", "/usr"].into_iter().find(|path| Path::new(path).is_dir()).unwrap_or("/");
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    mount("jail", base, "tmpfs", safe, Some(c"mode=0755,size=4m,nr_inodes=20k")).map_err(fault("mounting the new root"))?;
    rustix::process::chdir(base).map_err(fault("entering the new root"))?;
    // Before the trees: an interpreter may lie below `/tmp` itself.
    furnish(plan, user, built)?;
    let made = |what: Result<(), String>| what.map_err(NotStarted::Fault);
    for tree in trees {
        made(attach(tree).map_err(|e| format!("attaching `/{}`: {e}", tree.at)))?;
    }
    for (path, target) in &plan.links {
        let path = path.trim_start_matches('/');
        made(parents(path).and_then(|()| symlinkat(target.as_str(), CWD, path).map_err(|e| e.to_string())))?;
    }
    made(places_of_covers())?;
    for folder in &plan.folders {
        made(parents(&format!("roots/{}/x", folder.name)))?;
    }
    mount_remount(".", MountFlags::BIND | MountFlags::RDONLY | safe, "").map_err(fault("making the new root read-only"))?;
    nix::unistd::pivot_root(".", ".").map_err(|e| NotStarted::fault("changing the root", e))?;
    unmount(".", UnmountFlags::DETACH).map_err(fault("leaving the old root"))?;
    rustix::process::chdir("/").map_err(fault("entering `/`"))?;
    built.on("filesystem");
    Ok(())
}

/// Attaches a folder below `/roots`, and covers what must not be seen in it.
///
/// # Errors
/// Why it cannot be shown.
pub(super) fn show(folder: &FolderPlan, covers: &[Cover], mount: BorrowedFd<'_>) -> Result<(), NotStarted> {
    place(mount, &format!("/roots/{}", folder.name)).map_err(|why| NotStarted::Folder(folder.name.clone(), why))?;
    cover_all(folder, covers)
}

/// Scratch space, `/dev`, `/proc`, `/etc` and the folder of the roots.
fn furnish(plan: &Plan, user: u32, built: &mut Built) -> Result<(), NotStarted> {
    let fault = |doing: &'static str| move |e: Errno| NotStarted::fault(doing, e);
    scratch_space(plan)?;
    for (path, target) in [
        ("dev/fd", "/proc/self/fd"),
        ("dev/stdin", "/proc/self/fd/0"),
        ("dev/stdout", "/proc/self/fd/1"),
        ("dev/stderr", "/proc/self/fd/2"),
    ] {
        symlinkat(target, CWD, path).map_err(fault("linking `/dev`"))?;
    }
    mkdirat(CWD, "proc", Mode::from_raw_mode(0o555)).map_err(fault("making `/proc`"))?;
    own_proc(built);
    for (path, text) in etc(user) {
        parents(path).map_err(NotStarted::Fault)?;
        std::fs::write(path, text).map_err(|e| NotStarted::fault("writing below `/etc`", e))?;
    }
    parents("roots/x").map_err(NotStarted::Fault)
}

/// Bounded scratch space at `tmp` and `dev/shm` below the current folder.
///
/// # Errors
/// Why not.
pub(super) fn scratch_space(plan: &Plan) -> Result<(), NotStarted> {
    let fault = |doing: &'static str| move |e: Errno| diagnostics::no_mount(doing, e);
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    let scratch = plan.limits.scratch.max(64 * 1024);
    // A file of 4 KiB needs one inode: more inodes than that would only serve to use up the kernel's memory.
    let inodes = (scratch / 4096).clamp(64, 16 * 1024);
    let options = std::ffi::CString::new(format!("mode=1777,size={scratch},nr_inodes={inodes}"))
        .map_err(|e| NotStarted::fault("mounting scratch space", e))?;
    for place in ["tmp", "dev/shm"] {
        parents(&format!("{place}/x")).map_err(NotStarted::Fault)?;
        mount("scratch", place, "tmpfs", safe, Some(options.as_c_str())).map_err(fault("mounting scratch space"))?;
    }
    Ok(())
}

/// A fresh `/proc` at `proc` below the current folder, with nothing in it but processes.
pub(super) fn own_proc(built: &mut Built) {
    match mount("proc", "proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, Some(c"subset=pid")) {
        Ok(()) => built.on("proc"),
        // The host's own /proc is masked (a container): the kernel then gives no new one. None at all is safe.
        Err(e) => built.missing("proc", format!("none: the kernel gives no fresh one here ({e}); {}", diagnostics::PROC)),
    }
}

/// What Python's `pwd`, `getpass`, `socket` and `mimetypes` expect to find.
pub(super) fn etc(user: u32) -> [(&'static str, String); 3] {
    [
        ("etc/passwd", format!("user:x:{user}:{user}:user:/tmp:/usr/sbin/nologin\n")),
        ("etc/group", format!("user:x:{user}:\n")),
        ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n".to_owned()),
    ]
}

fn attach(tree: &Tree) -> Result<(), String> {
    parents(&tree.at)?;
    if tree.folder {
        match mkdirat(CWD, &tree.at, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(e.to_string()),
        }
    } else {
        open(tree.at.as_str(), OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::from_raw_mode(0o644)).map_err(|e| e.to_string())?;
    }
    place(tree.fd.as_fd(), &tree.at)
}

fn place(tree: BorrowedFd<'_>, at: &str) -> Result<(), String> {
    move_mount(tree, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).map_err(|e| e.to_string())
}

fn parents(path: &str) -> Result<(), String> {
    let Some(parent) = Path::new(path).parent() else { return Ok(()) };
    std::fs::create_dir_all(parent).map_err(|e| format!("making `/{}`: {e}", parent.display()))
}

/// The empty file and the empty folder that are put over what must not be seen.
fn places_of_covers() -> Result<(), String> {
    mkdirat(CWD, COVER_FOLDER, Mode::empty()).map_err(|e| e.to_string())?;
    open(COVER_FILE, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).map(drop).map_err(|e| e.to_string())
}

/// What is put over a folder, below the root of a jail, and over anything else.
pub(super) const COVER_FOLDER: &str = ".nothing-folder";
/// See [`COVER_FOLDER`].
pub(super) const COVER_FILE: &str = ".nothing-file";

/// Covers what must not be seen in a folder that stands below `/roots`.
///
/// # Errors
/// Why it cannot be shown.
pub(super) fn cover_all(folder: &FolderPlan, covers: &[Cover]) -> Result<(), NotStarted> {
    if covers.is_empty() {
        return Ok(());
    }
    let refused = |e: Errno| NotStarted::Folder(folder.name.clone(), format!("a denied entry cannot be covered ({e})"));
    let base = open(format!("/roots/{}", folder.name), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(refused)?;
    for cover in covers {
        if !cover_one(&base, cover).map_err(refused)? {
            return Err(NotStarted::Moved(folder.name.clone()));
        }
    }
    Ok(())
}

/// Opens what lies at a path below a folder; a link is no way to it.
pub(crate) fn below(base: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(base, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// Covers one entry; false where another one lies there than was looked at, or none: the one that was may have another name by now.
fn cover_one(base: &OwnedFd, cover: &Cover) -> Result<bool, Errno> {
    let target = match below(base, &cover.path) {
        Ok(target) => target,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::AGAIN) if cover.object.is_some() => return Ok(false),
        // Covered already by a parent, or gone; nothing has said what it was.
        Err(Errno::NOENT | Errno::ACCESS) => return Ok(true),
        Err(e) => return Err(e),
    };
    let facts = rustix::fs::fstat(&target)?;
    // The very object is covered: what renames it from here on takes its cover along.
    if !cover.is(&facts) {
        return Ok(false);
    }
    let source = match FileType::from_raw_mode(facts.st_mode) {
        FileType::Directory => COVER_FOLDER,
        // A link says only where it leads; what is there is covered under its own name.
        FileType::Symlink => return Ok(true),
        _ => COVER_FILE,
    };
    let tree = open_tree(CWD, format!("/{source}"), OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    let attributes = Attributes { read_only: true, no_exec: true, ..Attributes::default() };
    raw::mount_setattr(tree.as_fd(), attributes).map_err(|e| Errno::from_raw_os_error(e as i32))?;
    move_mount(&tree, "", &target, "", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH)?;
    Ok(true)
}
