//! Takes on another user and new namespaces.

#![expect(clippy::disallowed_methods, reason = "the jail process reads and writes what the kernel shows of itself")]

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use nix::sched::CloneFlags;

use super::layers::Built;
use super::trees::{self, Eyes};
use crate::sandbox::jail::order::{Order, Word};

/// Takes on the other user and the namespaces, and makes the trees of what will be shown there.
///
/// # Errors
/// The word that refuses the call.
pub(super) fn enter(order: &Order, roots: &[OwnedFd], built: &mut Built) -> Result<trees::Shown, Word> {
    let mut shown = None;
    if let Eyes::Other(user, _) = eyes() {
        shown = Some(trees::make(order, roots, eyes())?);
        become_user(user)
            .map_err(|e| Word::Unavailable { layer: "processes".to_owned(), reason: format!("no other user can be taken on ({e})") })?;
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER).map_err(|e| no_namespace("user", e))?;
    map_self(user, group)
        .map_err(|e| Word::Unavailable { layer: "processes".to_owned(), reason: format!("the user namespace takes no map ({e})") })?;
    built.on("user_namespace");
    for (name, flag) in NAMESPACES {
        nix::sched::unshare(flag).map_err(|e| no_namespace(name, e))?;
    }
    for name in ["mount_namespace", "pid_namespace", "net_namespace", "ipc_namespace", "uts_namespace", "cgroup_namespace"] {
        built.on(name);
    }
    match shown {
        Some(shown) => Ok(shown),
        None => trees::make(order, roots, Eyes::Own),
    }
}

/// For whom this process makes trees: as root for the dedicated user, else for itself.
pub(super) fn eyes() -> Eyes {
    if rustix::process::geteuid().is_root() {
        let user = dedicated_user();
        return Eyes::Other(user, user);
    }
    Eyes::Own
}

/// Enters a user and a mount namespace of its own, where an ordinary user may copy mounts for the jails to come.
///
/// # Errors
/// The text of what went wrong; then each jail is built from nothing, and says so itself.
pub(super) fn enter_workshop() -> Result<(), String> {
    if eyes() != Eyes::Own {
        return Ok(());
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER).map_err(|e| e.to_string())?;
    map_self(user, group).map_err(|e| e.to_string())?;
    nix::sched::unshare(CloneFlags::CLONE_NEWNS).map_err(|e| e.to_string())
}

const NAMESPACES: [(&str, CloneFlags); 6] = [
    ("mount", CloneFlags::CLONE_NEWNS),
    ("pid", CloneFlags::CLONE_NEWPID),
    ("net", CloneFlags::CLONE_NEWNET),
    ("ipc", CloneFlags::CLONE_NEWIPC),
    ("uts", CloneFlags::CLONE_NEWUTS),
    ("cgroup", CloneFlags::CLONE_NEWCGROUP),
];

fn no_namespace(name: &str, error: nix::Error) -> Word {
    let layer = match name {
        "mount" => "filesystem",
        "net" => "network",
        _ => "processes",
    };
    let mend = "allow user namespaces: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns=0, or a container profile that permits them";
    Word::Unavailable { layer: layer.to_owned(), reason: format!("no {name} namespace ({error}); {mend}") }
}

/// The user as whom programs run when the server is root: one that no account has, if it exists in our own user namespace.
///
/// Never 0: the kernel exempts root from its bound on processes, and a file of root is readable for it.
fn dedicated_user() -> u32 {
    static FOUND: OnceLock<u32> = OnceLock::new();
    *FOUND.get_or_init(find_dedicated_user)
}

fn find_dedicated_user() -> u32 {
    const RARE: u32 = 1_993_000_000;
    const SMALL: u32 = 65_432;
    let mapped = |user: u32| {
        std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| {
            map.lines().any(|line| {
                let mut numbers = line.split_ascii_whitespace().filter_map(|number| number.parse::<u64>().ok());
                let (first, _, count) = (numbers.next(), numbers.next(), numbers.next());
                first.zip(count).is_some_and(|(first, count)| (first..first.saturating_add(count)).contains(&u64::from(user)))
            })
        })
    };
    if mapped(RARE) { RARE } else { SMALL }
}

pub(super) fn become_user(user: u32) -> Result<(), nix::Error> {
    let (uid, gid) = (nix::unistd::Uid::from_raw(user), nix::unistd::Gid::from_raw(user));
    nix::unistd::setgroups(&[])?;
    nix::unistd::setresgid(gid, gid, gid)?;
    nix::unistd::setresuid(uid, uid, uid)?;
    // A change of user hides /proc/self from its owner, and the map is written there.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable).map_err(|e| nix::Error::from_raw(e.raw_os_error()))
}

/// Maps one user and one group, to numbers that are not 0, and gives up other groups (`user_namespaces(7)`).
fn map_self(user: u32, group: u32) -> std::io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("1000 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("1000 {group} 1"))
}
