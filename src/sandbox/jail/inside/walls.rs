//! The walls that a process puts around itself: limits, capabilities, Landlock.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::layers::Built;
use crate::sandbox::jail::order::Order;
use crate::sandbox::jail::spec::{DOORWAY_PORT, Limits};

/// Bounds this process and what it starts; `others` are processes that the kernel counts with them. None can be raised again: soft and hard are the same, and no capability is left.
///
/// # Errors
/// The error number.
pub(super) fn limit(limits: &Limits, others: u64) -> Result<(), nix::Error> {
    for (resource, bound) in bounds(limits, others) {
        setrlimit(resource, bound, bound)?;
    }
    // One second between the signal that may be caught and the one that may not.
    let seconds = within(Resource::RLIMIT_CPU, seconds(limits));
    setrlimit(Resource::RLIMIT_CPU, seconds, within(Resource::RLIMIT_CPU, seconds.saturating_add(1)))
}

/// As much of a bound as this process may still have: whoever started the server may have set a lower one for all that it starts.
fn within(resource: Resource, bound: u64) -> u64 {
    getrlimit(resource).map_or(bound, |(_, hard)| bound.min(hard))
}

/// Twice the limit where the watch can look, which holds the limit over all processes: the kernel counts this bound by ticks, and on a machine
/// that is shared they run ahead of what was used.
fn seconds(limits: &Limits) -> u64 {
    static CAN_LOOK: OnceLock<bool> = OnceLock::new();
    let limit = limits.cpu.as_secs().saturating_add(u64::from(limits.cpu.subsec_nanos() > 0)).max(1);
    if *CAN_LOOK.get_or_init(super::watch::can_look_below) { limit.saturating_mul(2) } else { limit }
}

/// The same bounds as lines `number bound`, for a process that is to take them on itself, in a jail that waited; the hard bound of processor
/// time is one more.
pub(super) fn limit_lines(limits: &Limits) -> String {
    let cpu = (Resource::RLIMIT_CPU, seconds(limits));
    let lines: Vec<String> =
        bounds(limits, INIT_ALONE).into_iter().chain([cpu]).map(|(resource, bound)| format!("{} {bound}", resource as u32)).collect();
    lines.join("\n")
}

fn bounds(limits: &Limits, others: u64) -> [(Resource, u64); 11] {
    let processes = limits.processes.saturating_add(others);
    let bounds = [
        (Resource::RLIMIT_AS, limits.memory),
        (Resource::RLIMIT_NPROC, processes),
        (Resource::RLIMIT_NOFILE, limits.open_files),
        (Resource::RLIMIT_FSIZE, limits.file_size),
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_MEMLOCK, 64 * 1024),
        (Resource::RLIMIT_MSGQUEUE, 0),
        (Resource::RLIMIT_SIGPENDING, 256),
        // Whoever started the server may have been given real-time priorities; a program that had them would starve its own watch.
        (Resource::RLIMIT_RTPRIO, 0),
        (Resource::RLIMIT_NICE, 0),
        (Resource::RLIMIT_STACK, STACK.min(limits.memory)),
    ];
    bounds.map(|(resource, bound)| (resource, within(resource, bound)))
}

/// The supervisor and init count as well where they have the same user in the same user namespace.
pub(super) const OWN_PROCESSES: u64 = 2;
/// A jail that waited has no supervisor of its own.
pub(super) const INIT_ALONE: u64 = 1;
/// Each thread reserves this much address space (`pthread_create(3)`); 8 MiB would let 14 threads into 512 MiB. Python's own bound
/// on recursion is reached far below it.
const STACK: u64 = 4 * 1024 * 1024;

/// Gives up every capability for good, also for programs with set-user-id or file capabilities.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn drop_privileges(built: &mut Built) -> Result<(), String> {
    drop_bounding_set()?;
    drop_capabilities()?;
    built.on("no_new_privs");
    built.on("capabilities");
    Ok(())
}

/// Makes it impossible to win a capability, and keeps those that are there.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn drop_bounding_set() -> Result<(), String> {
    rustix::thread::set_no_new_privs(true).map_err(|e| e.to_string())?;
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        match rustix::thread::remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // The first number that the kernel does not know ends the list; without the capability to shorten it, there is
            // nothing in the permitted set either.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::PERM) => break,
            Err(e) => return Err(e.to_string()),
        }
    }
    Ok(())
}

/// Gives up every capability that is there.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn drop_capabilities() -> Result<(), String> {
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(|e| e.to_string())
}

/// Restricts files, TCP, abstract sockets and signals with Landlock, as far as the kernel has it.
pub(super) fn landlock(order: &Order, built: &mut Built) {
    match restrict(order) {
        Ok(RulesetStatus::FullyEnforced) => built.on("landlock"),
        Ok(RulesetStatus::PartiallyEnforced) => {
            built.missing("landlock", "partly: this kernel knows an older Landlock; the namespaces hold the rest");
        }
        Ok(RulesetStatus::NotEnforced) => built.missing("landlock", "off: the kernel has no Landlock; the own root holds alone"),
        Err(e) => built.missing("landlock", format!("off: {e}; the own root holds alone")),
    }
}

fn restrict(order: &Order) -> Result<RulesetStatus, String> {
    let rules = rules(order, CompatLevel::BestEffort)?;
    rules.restrict_self().map(|status| status.ruleset).map_err(|e| e.to_string())
}

/// The same restriction as a descriptor, for a process that is to take it on itself.
pub(super) fn landlock_rules(order: &Order, built: &mut Built) -> Option<OwnedFd> {
    if let Ok(rules) = rules(order, CompatLevel::HardRequirement) {
        built.on("landlock");
        return rules.into();
    }
    let rules: Option<OwnedFd> = rules(order, CompatLevel::BestEffort).ok()?.into();
    let state = if rules.is_some() { "partly: this kernel knows an older Landlock" } else { "off: the kernel has no Landlock" };
    built.missing("landlock", format!("{state}; the own root and the namespaces hold the rest"));
    rules
}

fn rules(order: &Order, level: CompatLevel) -> Result<RulesetCreated, String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let abi = ABI::V6;
    let read = AccessFs::from_read(abi);
    let write = AccessFs::from_all(abi) & !AccessFs::MakeBlock & !AccessFs::MakeChar;
    let mut rules = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(|rules| rules.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .map_err(|e| text(&e))?;
    if order.kind.network {
        (&mut rules).add_rule(NetPort::new(DOORWAY_PORT, AccessNet::ConnectTcp)).map(drop).map_err(|e| text(&e))?;
    }
    let mut allow = |path: &str, access| -> Result<(), String> {
        let fd = PathFd::new(path).map_err(|e| text(&e))?;
        (&mut rules).add_rule(PathBeneath::new(fd, access)).map(drop).map_err(|e| text(&e))
    };
    allow("/", read)?;
    for scratch in ["/tmp", "/dev/shm"] {
        allow(scratch, write)?;
    }
    // The mounts decide which of the roots can be written; a jail that waits does not have them yet.
    if order.kind.roots.iter().any(|root| root.writable) {
        allow("/roots", write)?;
    }
    for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"] {
        allow(device, AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    Ok(rules)
}
