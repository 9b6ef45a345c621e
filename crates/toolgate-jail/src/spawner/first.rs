//! The user and the namespaces of the first process of a jail.

#![expect(clippy::disallowed_methods, reason = "the kernel takes the map of a user namespace as a file of `/proc`")]

use nix::sched::CloneFlags;
use nix::unistd::{Gid, Uid};
use rustix::process::{DumpableBehavior, Pid, set_dumpable_behavior};

use crate::backend::NotStarted;
use crate::message::Isolation;
use crate::{diagnostics, raw};

/// The number of the user and of the group inside a user namespace.
pub(crate) const INNER: u32 = 1000;

/// Namespaces beside that of users, each with its name in [`crate::Layers`]. The one of control groups is entered later, from within the group.
pub(crate) const NAMESPACES: [(&str, CloneFlags); 5] = [
    ("mount", CloneFlags::CLONE_NEWNS),
    ("pid", CloneFlags::CLONE_NEWPID),
    ("net", CloneFlags::CLONE_NEWNET),
    ("ipc", CloneFlags::CLONE_NEWIPC),
    ("uts", CloneFlags::CLONE_NEWUTS),
];

/// Forks the first process of a jail, in the namespaces that its isolation has. `None` in the child.
///
/// # Errors
/// Which namespace is not to be had, and how to fix it.
pub(super) fn fork(isolation: &Isolation) -> Result<Option<Pid>, NotStarted> {
    let most = NAMESPACES.iter().fold(CloneFlags::empty(), |all, (_, flag)| all | *flag);
    let wanted = match isolation {
        Isolation::Namespaces => most | CloneFlags::CLONE_NEWUSER,
        Isolation::Rooted => most,
        Isolation::Landlock | Isolation::Bubblewrap(_) => return raw::fork().map_err(|e| NotStarted::fault("starting a process", e)),
    };
    raw::fork_into(wanted).map_err(|e| {
        // Which of them it was is found by asking for one after the other.
        let user = (*isolation == Isolation::Namespaces).then_some(("user", CloneFlags::CLONE_NEWUSER));
        let user_flag = user.map_or(CloneFlags::empty(), |(_, flag)| flag);
        let refused = user.into_iter().chain(NAMESPACES).find_map(|(name, flag)| Some((name, refusal(flag | user_flag)?)));
        let (name, error) = refused.unwrap_or(("process", e));
        diagnostics::no_namespace(name, error)
    })
}

/// Why a process cannot have these namespaces, where it cannot.
fn refusal(flags: CloneFlags) -> Option<nix::Error> {
    match raw::fork_into(flags) {
        Ok(None) => raw::leave(0),
        Ok(Some(child)) => {
            super::finish(child);
            None
        }
        Err(e) => Some(e),
    }
}

/// Maps the one user and the one group of a process to `user`, or to those of this process, and gives up other groups (`user_namespaces(7)`).
///
/// # Errors
/// The error of the system.
pub(super) fn map(process: &str, user: Option<u32>) -> std::io::Result<()> {
    let (own, own_group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let (user, group) = user.map_or((own, own_group), |user| (user, user));
    std::fs::write(format!("/proc/{process}/setgroups"), "deny")?;
    std::fs::write(format!("/proc/{process}/uid_map"), format!("{INNER} {user} 1"))?;
    std::fs::write(format!("/proc/{process}/gid_map"), format!("{INNER} {group} 1"))
}

/// Whether programs have the user of a root that was mapped alone, which the kernel exempts from its bound on processes (`RLIMIT_NPROC` of
/// setrlimit(2)). To be asked before another user namespace is entered.
pub(super) fn is_exempt() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    rustix::process::geteuid().is_root() && map.split_ascii_whitespace().eq(["0", "0", "1"])
}

/// Enters a user and a mount namespace of its own, in which an ordinary user may copy mounts. It is tried in another process first: where a
/// security module lets a user namespace be made that can do nothing, this process stays out of it.
///
/// # Errors
/// Why not, and how to fix it.
pub(super) fn enter_own_mounts() -> Result<(), NotStarted> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let enter = || -> Result<(), nix::Error> {
        nix::sched::unshare(CloneFlags::CLONE_NEWUSER)?;
        let own = || -> std::io::Result<()> {
            std::fs::write("/proc/self/setgroups", "deny")?;
            std::fs::write("/proc/self/uid_map", format!("{INNER} {user} 1"))?;
            std::fs::write("/proc/self/gid_map", format!("{INNER} {group} 1"))
        };
        own().map_err(|e| nix::Error::from_raw(e.raw_os_error().unwrap_or_default()))?;
        nix::sched::unshare(CloneFlags::CLONE_NEWNS)
    };
    match raw::fork().map_err(|e| NotStarted::fault("starting a process", e))? {
        None => raw::leave(enter().map_or_else(|e| u8::try_from(e as i32).unwrap_or(1), |()| 0)),
        Some(child) => {
            let ended = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()));
            let status = ended.ok().flatten().and_then(|(_, status)| status.exit_status()).unwrap_or(1);
            if status != 0 {
                return Err(diagnostics::no_namespace("user", nix::Error::from_raw(status)));
            }
        }
    }
    enter().map_err(|e| diagnostics::no_namespace("user", e))
}

/// In the first process of a jail with a user namespace: becomes the one user there is.
///
/// # Errors
/// The error number.
pub(crate) fn become_inner() -> Result<(), nix::Error> {
    become_user(INNER, false)
}

/// Takes on a user and a group for good, where `drops_groups` without any other group.
///
/// # Errors
/// The error number.
pub(crate) fn become_user(user: u32, drops_groups: bool) -> Result<(), nix::Error> {
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    if drops_groups {
        nix::unistd::setgroups(&[])?;
    }
    nix::unistd::setresgid(gid, gid, gid)?;
    nix::unistd::setresuid(uid, uid, uid)?;
    // A change of user hides /proc/self from its owner.
    set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(|e| nix::Error::from_raw(e.raw_os_error()))
}
