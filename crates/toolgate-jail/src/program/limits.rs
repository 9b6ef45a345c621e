//! The bounds that a process takes on itself, and the rights that it gives up.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::spec::Limits;

/// Bounds this process and what it starts; `others` are processes that the kernel counts with
/// them, `calls` how many calls it may get, each with the processor time of one. None can be raised again: no capability is left. The memory of all
/// processes together is bounded by the control group, where there is one (`spawner/cgroup`).
///
/// # Errors
/// The error number.
pub(crate) fn limit(limits: &Limits, others: u64, calls: u64) -> Result<(), nix::Error> {
    for (resource, bound) in bounds(limits, others) {
        setrlimit(resource, bound, bound)?;
    }
    // One second between the signal that may be caught and the one that may not.
    let seconds = within(Resource::RLIMIT_CPU, seconds(limits).saturating_mul(calls));
    setrlimit(Resource::RLIMIT_CPU, seconds, within(Resource::RLIMIT_CPU, seconds.saturating_add(1)))
}

/// As much of a bound as this process may still have: whoever started the server may have set a lower one for all that it starts.
fn within(resource: Resource, bound: u64) -> u64 {
    getrlimit(resource).map_or(bound, |(_, hard)| bound.min(hard))
}

/// Twice the limit: the watch holds that over all processes, and the kernel counts this bound by ticks, which on a machine that is shared run ahead
/// of what was used.
fn seconds(limits: &Limits) -> u64 {
    limits.cpu.as_secs().saturating_add(u64::from(limits.cpu.subsec_nanos() > 0)).max(1).saturating_mul(2)
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

/// Each thread reserves this much address space (`pthread_create(3)`); 8 MiB would let 14 threads into 512 MiB. Python's own bound
/// on recursion is reached far below it.
const STACK: u64 = 4 * 1024 * 1024;

/// Makes it impossible to win a capability, and keeps those that are there.
///
/// # Errors
/// The text of what went wrong.
pub(crate) fn drop_bounding_set() -> Result<(), String> {
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
pub(crate) fn drop_capabilities() -> Result<(), String> {
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(|e| e.to_string())
}
