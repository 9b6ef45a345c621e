//! Takes on another user and new namespaces.

#![expect(clippy::disallowed_methods, reason = "the jail process reads and writes what the kernel shows of itself")]

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use nix::sched::CloneFlags;
use rustix::process::Pid;

use super::layers::Built;
use super::trees::{self, Eyes};
use super::{group, mend, raw, users};
use crate::sandbox::jail::ground::{EXEMPT_PROCESSES, Ground, SHARED_USER};
use crate::sandbox::jail::order::{Order, Word};

/// Takes on the other user and the namespaces that its ground has, and makes the trees of what will be shown there. `user` is the number that
/// no other jail has, where there is one.
///
/// # Errors
/// The word that refuses the call.
pub(super) fn enter(order: &Order, roots: &[OwnedFd], user: Option<u32>, built: &mut Built) -> Result<trees::Shown, Word> {
    match order.kind.ground {
        Ground::Rooted => enter_as_root(order, roots, user, built),
        _ => enter_all(order, roots, user, built),
    }
}

fn enter_all(order: &Order, roots: &[OwnedFd], user: Option<u32>, built: &mut Built) -> Result<trees::Shown, Word> {
    let mut shown = None;
    let eyes = eyes_of(user);
    if let Eyes::Other(number, _) = eyes {
        shown = Some(trees::make(order, roots, eyes)?);
        take_on(number)?;
    }
    own_user_namespace(built)?;
    note_user(user, built);
    take_namespaces(&NAMESPACES, built)?;
    match shown {
        Some(shown) => Ok(shown),
        None => trees::make(order, roots, Eyes::Own),
    }
}

/// The namespaces without that of users: only root may, and it stays root until everything is built. The program gets a user number of its
/// own, since the kernel counts processes by it.
fn enter_as_root(order: &Order, roots: &[OwnedFd], user: Option<u32>, built: &mut Built) -> Result<trees::Shown, Word> {
    let number = user.unwrap_or_else(users::shared);
    let mut shown = trees::make(order, roots, Eyes::Other(number, number))?;
    shown.user = Some(number);
    take_namespaces(&NAMESPACES, built)?;
    let whose = if user.is_some() { "a user number of its own" } else { "the user number of all programs" };
    built.missing("user_namespace", format!("off: the program has {whose} on the host instead, which owns nothing"));
    note_user(user, built);
    Ok(shown)
}

/// Notes whether the kernel counts for a jail alone what it counts by users.
pub(super) fn note_user(user: Option<u32>, built: &mut Built) {
    if user.is_some() {
        built.on("own_user");
    } else {
        built.missing("own_user", SHARED_USER);
    }
}

/// For whom the first process of a jail that waits is forked.
#[derive(Debug)]
pub(super) struct Owner {
    /// The user, as the process that forks sees it.
    user: u32,
    /// The group.
    group: u32,
    /// The number that no other jail has.
    own: Option<u32>,
    /// The parts of the root, where only the process that forks can make them; it maps the user as well then.
    parts: Option<Vec<trees::Tree>>,
    /// Whether it is in a network namespace of its own already.
    pub(super) has_net: bool,
}

impl Owner {
    /// What has to stay open for it.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.parts.iter().flatten().map(|tree| tree.fd.as_raw_fd())
    }
}

/// Forks the first process of a jail that waits, in a new user and process namespace. Those belong to whoever this process is in effect at that
/// moment, and may be entered by all processes of that user: for root it has to be the shared one, as whom the interpreter waits
/// (`user_namespaces(7)`). What is in there is of the user `own` all the same, where there is one: the one user inside is mapped to that.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn fork_first(order: &Order, has_net: bool, own: Option<u32>) -> Result<(Option<Pid>, Owner), String> {
    let Eyes::Other(user, group) = eyes() else {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let owner = Owner { user, group, own, parts: None, has_net };
        return Ok((raw::fork_first()?, owner));
    };
    let owner = Owner { user, group, own, has_net, parts: Some(trees::parts(order).map_err(|word| format!("{word:?}"))?) };
    // Those of root may open what the program must not; inside they can no longer be given up.
    nix::unistd::setgroups(&[]).map_err(|e| format!("giving up groups: {e}"))?;
    let own_group = rustix::process::getegid().as_raw();
    let (wait, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| e.to_string())?;
    let forked = in_effect(user, group).and_then(|()| raw::fork_first());
    if !matches!(forked, Ok(None)) {
        in_effect(0, own_group)?;
    }
    let Some(first) = forked? else {
        drop(tell);
        // INVARIANT: the child never goes on as its parent would.
        if rustix::io::retry_on_intr(|| rustix::io::read(&wait, &mut [0_u8; 1])) != Ok(1) {
            raw::leave(1);
        }
        return Ok((None, owner));
    };
    let number = own.unwrap_or(user);
    let mapped = map(&first.as_raw_nonzero().to_string(), number, number).map_err(|e| format!("mapping a user: {e}"));
    if let Err(reason) = mapped.and_then(|()| rustix::io::write(&tell, b"1").map_err(|e| e.to_string())) {
        group::finish(first);
        return Err(reason);
    }
    Ok((Some(first), owner))
}

/// Changes the user and the group in effect, and no other.
fn in_effect(user: u32, group: u32) -> Result<(), String> {
    use nix::unistd::{Gid, Uid, setresgid, setresuid};
    let (same, same_group) = (Uid::from_raw(u32::MAX), Gid::from_raw(u32::MAX));
    let take_user = || setresuid(same, Uid::from_raw(user), same);
    let take_group = || setresgid(same_group, Gid::from_raw(group), same_group);
    // Only root in effect may change the group.
    let done = if user == 0 { take_user().and_then(|()| take_group()) } else { take_group().and_then(|()| take_user()) };
    done.map_err(|e| format!("changing the user in effect: {e}"))
}

/// In that first process: takes on its user for good and the other namespaces, and has what will be shown there.
///
/// # Errors
/// The word that says what cannot be had.
pub(super) fn settle(order: &Order, owner: Owner, built: &mut Built) -> Result<trees::Shown, Word> {
    let fault = |doing: &str, e: &dyn std::fmt::Display| Word::Fault(format!("{doing}: {e}"));
    // A change of user hides /proc/self from its owner, and the map is written there.
    let shown = || rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
    shown().map_err(|e| fault("showing itself", &e))?;
    if owner.parts.is_none() {
        map("self", owner.user, owner.group).map_err(|e| fault("mapping a user", &e))?;
    }
    let (uid, gid) = (nix::unistd::Uid::from_raw(INNER), nix::unistd::Gid::from_raw(INNER));
    nix::unistd::setresgid(gid, gid, gid)
        .and_then(|()| nix::unistd::setresuid(uid, uid, uid))
        .map_err(|e| fault("taking on a user", &e))?;
    shown().map_err(|e| fault("showing itself", &e))?;
    let is_new = |name: &str| name != "pid" && !(owner.has_net && name == "net");
    let others = NAMESPACES.iter().filter(|(name, _)| is_new(name)).fold(CloneFlags::empty(), |all, (_, flag)| all | *flag);
    nix::sched::unshare(others).map_err(|e| mend::no_namespace("mount", e))?;
    built.on("user_namespace");
    note_user(owner.own, built);
    for (name, _) in NAMESPACES {
        built.on(&format!("{name}_namespace"));
    }
    let parts = match owner.parts {
        Some(parts) => parts,
        None => trees::parts(order)?,
    };
    Ok(trees::Shown { parts, ..trees::Shown::default() })
}

fn take_on(user: u32) -> Result<(), Word> {
    become_user(user)
        .map_err(|e| Word::Unavailable { layer: "processes".to_owned(), reason: format!("no other user can be taken on ({e})") })
}

fn own_user_namespace(built: &mut Built) -> Result<(), Word> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER).map_err(|e| mend::no_namespace("user", e))?;
    map("self", user, group).map_err(|e| Word::Unavailable {
        layer: "processes".to_owned(),
        reason: format!("the user namespace takes no map ({e}); {}", mend::namespaces()),
    })?;
    built.on("user_namespace");
    Ok(())
}

fn take_namespaces(which: &[(&'static str, CloneFlags)], built: &mut Built) -> Result<(), Word> {
    for (name, flag) in which {
        nix::sched::unshare(*flag).map_err(|e| mend::no_namespace(name, e))?;
        built.on(&format!("{name}_namespace"));
    }
    Ok(())
}

/// For whom this process makes trees: as root for the shared user, else for itself.
pub(super) fn eyes() -> Eyes {
    if rustix::process::geteuid().is_root() && !is_alone() {
        let user = users::shared();
        return Eyes::Other(user, user);
    }
    Eyes::Own
}

/// For whom this process makes the trees of a jail: for the user of that jail, where it has one.
pub(super) fn eyes_of(user: Option<u32>) -> Eyes {
    user.map_or_else(eyes, |user| Eyes::Other(user, user))
}

/// Whether this is the only user there is: root of a user namespace of its own (`unshare -r`). No program can have another.
fn is_alone() -> bool {
    std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| one_user(&map).is_some())
}

/// The number outside of the one user that is mapped.
fn one_user(map: &str) -> Option<&str> {
    match map.split_ascii_whitespace().collect::<Vec<_>>().as_slice() {
        [_, outside, "1"] => Some(outside),
        _ => None,
    }
}

/// Whether programs have the user of a root that was mapped alone, which the kernel exempts from its bound on processes (`setrlimit(2)`,
/// `RLIMIT_NPROC`). As it is when this is asked first: a process that enters another namespace has other numbers.
pub(super) fn is_exempt() -> bool {
    static EXEMPT: OnceLock<bool> = OnceLock::new();
    *EXEMPT.get_or_init(|| {
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        rustix::process::geteuid().is_root() && one_user(&map) == Some("0")
    })
}

/// Notes whether processes are held: where the kernel bounds their number as well.
pub(super) fn note_processes(built: &mut Built) {
    if is_exempt() {
        built.missing("processes", EXEMPT_PROCESSES);
    } else {
        built.on("processes");
    }
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
    map("self", user, group).map_err(|e| e.to_string())?;
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

/// Takes on a user and a group, and gives up every other group.
///
/// # Errors
/// The error number.
pub(super) fn become_user(user: u32) -> Result<(), nix::Error> {
    let (uid, gid) = (nix::unistd::Uid::from_raw(user), nix::unistd::Gid::from_raw(user));
    nix::unistd::setgroups(&[])?;
    nix::unistd::setresgid(gid, gid, gid)?;
    nix::unistd::setresuid(uid, uid, uid)?;
    // A change of user hides /proc/self from its owner, and the map is written there.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable).map_err(|e| nix::Error::from_raw(e.raw_os_error()))
}

/// Maps one user and one group of a process, to numbers that are not 0, and gives up other groups (`user_namespaces(7)`).
fn map(process: &str, user: u32, group: u32) -> std::io::Result<()> {
    std::fs::write(format!("/proc/{process}/setgroups"), "deny")?;
    std::fs::write(format!("/proc/{process}/uid_map"), format!("{INNER} {user} 1"))?;
    std::fs::write(format!("/proc/{process}/gid_map"), format!("{INNER} {group} 1"))
}

/// The number of the user and of the group inside.
const INNER: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_of_a_namespace_of_one_user_is_that_user_and_any_other_root_is_root() {
        for (map, expected) in [
            ("         0       1000          1\n", Some("1000")),
            ("         0          0          1\n", Some("0")),
            ("         0          0 4294967295\n", None),
            ("         0       1000          1\n         1     100000      65536\n", None),
            ("", None),
        ] {
            assert_eq!(one_user(map), expected, "{map}");
        }
    }
}
