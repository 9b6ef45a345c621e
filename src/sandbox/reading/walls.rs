//! The walls of a reader: it may compute, and talk over the one socket it was given. No file, no further socket, no process.

use std::collections::BTreeMap;

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

/// Address space of a reader. A page that needs more ends its reader: an allocation that fails aborts the process.
const MEMORY: u64 = 1 << 30;
/// Processor time of a reader, in seconds; the server's patience is shorter, this holds when nobody is patient any more.
const CPU: u64 = 60;
/// Stack of a reader, in bytes. Reserved, not used: pages of ordinary depth touch a few hundred KiB of it.
const STACK: u64 = 64 << 20;
/// Descriptors of the nursery: its own, and one for each page that is read.
const NURSERY_FILES: u64 = 256;

/// What the nursery puts around itself and, by that, around its readers: limits, no capability, no new privilege, no file.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn enclose() -> Result<(), String> {
    toolgate_jail::primitives::give_up_privileges()?;
    // Where the kernel has no Landlock the filter below, which knows no call that opens anything, holds alone.
    let abi = ABI::V6;
    let _ = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(|rules| rules.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .map(landlock::RulesetCreated::restrict_self);
    let text = |fault: nix::Error| fault.to_string();
    for (resource, bound) in [
        (Resource::RLIMIT_AS, MEMORY),
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_FSIZE, 0),
        (Resource::RLIMIT_NOFILE, NURSERY_FILES),
        (Resource::RLIMIT_MEMLOCK, 0),
        (Resource::RLIMIT_MSGQUEUE, 0),
    ] {
        setrlimit(resource, bound, bound).map_err(text)?;
    }
    // The stack of the first thread grows as far as this says at the time; where less may be had, deep files find less.
    let (_, most) = getrlimit(Resource::RLIMIT_STACK).map_err(text)?;
    setrlimit(Resource::RLIMIT_STACK, STACK.min(most), most).map_err(text)
}

/// Makes a reader die with its nursery, and gives it its share of processor time.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn tie() -> Result<(), String> {
    let text = |fault: rustix::io::Errno| fault.to_string();
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(text)?;
    setrlimit(Resource::RLIMIT_CPU, CPU, CPU + 1).map_err(|fault| fault.to_string())?;
    setrlimit(Resource::RLIMIT_NOFILE, 1, 1).map_err(|fault| fault.to_string())
}

/// The filter of system calls that every reader puts on. A list of what is allowed: parsers need memory and nothing else.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn filter() -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|fault| fault.to_string())?;
    let allowed: BTreeMap<i64, Vec<_>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(allowed, refused, SeccompAction::Allow, arch).and_then(BpfProgram::try_from).map_err(|fault| fault.to_string())
}

/// Puts the filter on, for good.
///
/// # Errors
/// The text of what went wrong; a reader that cannot have it must not read.
pub(super) fn put_on(filter: &BpfProgram) -> Result<(), String> {
    apply_filter(filter).map_err(|fault| fault.to_string())
}

/// What an allocator, a panic, a lock and a socket need. No signal can be sent, not even to oneself: what aborts ends by a fault instead.
const ALLOWED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
