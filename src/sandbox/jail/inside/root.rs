//! Builds the jail's own root and leaves the host's behind.

#![expect(clippy::disallowed_methods, reason = "the jail process builds a root that nobody else can reach yet")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, open, symlinkat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change, mount_remount, move_mount,
    open_tree, unmount,
};

use super::layers::Built;
use super::mend;
use super::raw::{self, Attributes};
use super::trees::{Shown, Tree};
use crate::sandbox::below;
use crate::sandbox::jail::kind::RootOrder;
use crate::sandbox::jail::order::{Order, Word};
use crate::sandbox::jail::spec::Mask;

/// Builds the root from the trees and makes it `/`. The host's mounts are gone afterwards.
///
/// # Errors
/// The word that refuses the call.
pub(super) fn build(order: &Order, shown: Shown, built: &mut Built) -> Result<(), Word> {
    let fault = |doing: &'static str| move |e: rustix::io::Errno| mend::no_mount(doing, e);
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(fault("making mounts private"))?;
    // Any folder serves: it is only a place to stand on until the old root is gone.
    let base = ["/tmp", "/run", "/mnt", "/usr"].into_iter().find(|path| Path::new(path).is_dir()).unwrap_or("/");
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    mount("jail", base, "tmpfs", safe, Some(c"mode=0755,size=4m,nr_inodes=20k")).map_err(fault("mounting the new root"))?;
    rustix::process::chdir(base).map_err(fault("entering the new root"))?;
    // Before the parts: an interpreter may lie below `/tmp` itself.
    furnish(order, shown.user, built)?;
    for tree in shown.parts {
        attach(&tree).map_err(|e| Word::Fault(format!("attaching `/{}`: {e}", tree.at)))?;
    }
    for (path, target) in &order.kind.interpreter.links {
        let path = path.trim_start_matches('/');
        parents(path).and_then(|()| symlinkat(target.as_str(), CWD, path).map_err(|e| e.to_string())).map_err(Word::Fault)?;
    }
    place_of_masks().map_err(Word::Fault)?;
    for root in &order.kind.roots {
        parents(&format!("roots/{}/x", root.name)).map_err(Word::Fault)?;
    }
    show_roots(order, &shown.roots)?;
    mount_remount(".", MountFlags::BIND | MountFlags::RDONLY | safe, "").map_err(fault("making the new root read-only"))?;
    nix::unistd::pivot_root(".", ".").map_err(|e| Word::Fault(format!("changing the root: {e}")))?;
    unmount(".", UnmountFlags::DETACH).map_err(fault("leaving the old root"))?;
    rustix::process::chdir("/").map_err(fault("entering `/`"))?;
    built.on("filesystem");
    Ok(())
}

/// Attaches the roots below the current folder, and covers what is denied in them.
///
/// # Errors
/// The word that refuses the call.
pub(super) fn show_roots(order: &Order, roots: &[Tree]) -> Result<(), Word> {
    for (tree, (root, masked)) in roots.iter().zip(order.roots()) {
        show_root(root, masked, tree.fd.as_fd()).map_err(|why| why.word(&root.name))?;
    }
    Ok(())
}

/// Why a root is not shown.
#[derive(Debug)]
pub(super) enum NotShown {
    /// Something that is masked in it was moved after the look at it.
    Moved,
    /// The text says why.
    For(String),
}

impl NotShown {
    /// The word that refuses the call, of the root with this name.
    pub(super) fn word(self, root: &str) -> Word {
        let root = root.to_owned();
        match self {
            Self::Moved => Word::Moved { root },
            Self::For(reason) => Word::Root { root, reason },
        }
    }
}

impl From<String> for NotShown {
    fn from(reason: String) -> Self {
        Self::For(reason)
    }
}

/// Attaches one root, and covers what is denied in it.
///
/// # Errors
/// The reason why it cannot be shown.
pub(super) fn show_root(root: &RootOrder, masked: &[Mask], tree: BorrowedFd<'_>) -> Result<(), NotShown> {
    place(tree, &format!("roots/{}", root.name))?;
    mask(root, masked)
}

/// Scratch space, `/proc`, `/etc` and the folder of the roots.
fn furnish(order: &Order, user: Option<u32>, built: &mut Built) -> Result<(), Word> {
    let fault = |doing: &'static str| move |e: rustix::io::Errno| Word::Fault(format!("{doing}: {e}"));
    scratch_space(order)?;
    for (path, target) in [
        ("dev/fd", "/proc/self/fd"),
        ("dev/stdin", "/proc/self/fd/0"),
        ("dev/stdout", "/proc/self/fd/1"),
        ("dev/stderr", "/proc/self/fd/2"),
    ] {
        symlinkat(target, CWD, path).map_err(fault("linking `/dev`"))?;
    }
    mkdirat(CWD, "proc", Mode::from_raw_mode(0o555)).map_err(fault("making `/proc`"))?;
    if !built.has("pid_namespace") {
        // Outside a process namespace of its own a new /proc would show the host's processes.
        return etc(user);
    }
    own_proc(built);
    etc(user)
}

/// Bounded scratch space at `tmp` and `dev/shm` below the current folder.
///
/// # Errors
/// The word that refuses the call.
pub(super) fn scratch_space(order: &Order) -> Result<(), Word> {
    let fault = |doing: &'static str| move |e: rustix::io::Errno| mend::no_mount(doing, e);
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    let scratch = order.kind.limits.scratch.max(64 * 1024);
    // A file of 4 KiB needs one inode: more inodes than that would only serve to use up the kernel's memory.
    let inodes = (scratch / 4096).clamp(64, 16 * 1024);
    let options = std::ffi::CString::new(format!("mode=1777,size={scratch},nr_inodes={inodes}")).map_err(|e| Word::Fault(e.to_string()))?;
    for place in ["tmp", "dev/shm"] {
        parents(&format!("{place}/x")).map_err(Word::Fault)?;
        mount("scratch", place, "tmpfs", safe, Some(options.as_c_str())).map_err(fault("mounting scratch space"))?;
    }
    Ok(())
}

/// A fresh `/proc` at `proc` below the current folder, with nothing in it but processes.
pub(super) fn own_proc(built: &mut Built) {
    match mount("proc", "proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, Some(c"subset=pid")) {
        Ok(()) => built.on("proc"),
        // The host's own /proc is masked (a container): the kernel then gives no new one. None at all is safe.
        Err(e) => built.missing("proc", format!("none: the kernel gives no fresh one here ({e}); {}", mend::PROC)),
    }
}

fn etc(user: Option<u32>) -> Result<(), Word> {
    for (path, text) in ETC {
        parents(path).map_err(Word::Fault)?;
        let text = user.map_or_else(|| text.to_owned(), |user| text.replace(USER, &user.to_string()));
        std::fs::write(path, text).map_err(|e| Word::Fault(format!("writing `/{path}`: {e}")))?;
    }
    parents("roots/x").map_err(Word::Fault)
}

/// What Python's `pwd`, `getpass`, `socket` and `mimetypes` expect to find.
pub(super) const ETC: [(&str, &str); 3] = [
    ("etc/passwd", "user:x:1000:1000:user:/tmp:/usr/sbin/nologin\n"),
    ("etc/group", "user:x:1000:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
];
/// The number of the user in it, where a namespace of users maps it.
const USER: &str = "1000";

fn attach(tree: &Tree) -> Result<(), String> {
    parents(&tree.at)?;
    if tree.folder {
        match mkdirat(CWD, &tree.at, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
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
fn place_of_masks() -> Result<(), String> {
    mkdirat(CWD, MASK_FOLDER, Mode::empty()).map_err(|e| e.to_string())?;
    open(MASK_FILE, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).map(drop).map_err(|e| e.to_string())
}

/// What is put over a masked folder, below the root of a jail, and over a masked file.
pub(super) const MASK_FOLDER: &str = ".nothing-folder";
/// See [`MASK_FOLDER`].
pub(super) const MASK_FILE: &str = ".nothing-file";

/// Covers what is denied in a root that stands below the current folder.
///
/// # Errors
/// The reason why it cannot be shown.
pub(super) fn mask(root: &RootOrder, masked: &[Mask]) -> Result<(), NotShown> {
    if masked.is_empty() {
        return Ok(());
    }
    let base = open(format!("roots/{}", root.name), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|e| e.to_string())?;
    for mask in masked {
        if !cover(&base, mask).map_err(|e| format!("a denied entry cannot be covered ({e})"))? {
            return Err(NotShown::Moved);
        }
    }
    Ok(())
}

/// Covers one entry; false where another one lies there than was looked at, or none: the one that was may have another name by now.
fn cover(base: &OwnedFd, mask: &Mask) -> Result<bool, rustix::io::Errno> {
    let target = match below::open(base, &mask.path, OFlags::PATH) {
        Ok(target) => target,
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) if mask.object.is_some() => return Ok(false),
        // Covered already by a parent, or gone; nothing has said what it was.
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::ACCESS) => return Ok(true),
        Err(e) => return Err(e),
    };
    let facts = rustix::fs::fstat(&target)?;
    // The very object is covered: what renames it from here on takes its cover along.
    if !mask.is(&facts) {
        return Ok(false);
    }
    let kind = rustix::fs::FileType::from_raw_mode(facts.st_mode);
    let source = match kind {
        rustix::fs::FileType::Directory => MASK_FOLDER,
        // A link says only where it leads; what is there is covered under its own name.
        rustix::fs::FileType::Symlink => return Ok(true),
        _ => MASK_FILE,
    };
    let tree = open_tree(CWD, source, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    let attributes = Attributes { read_only: true, no_exec: true, ..Attributes::default() };
    raw::mount_setattr(tree.as_fd(), attributes).map_err(|e| rustix::io::Errno::from_raw_os_error(e as i32))?;
    move_mount(&tree, "", &target, "", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH)?;
    Ok(true)
}
