//! The walls of a reader: it may compute, and talk over the two pipes it was given. No file, no socket, no process.

use std::collections::BTreeMap;

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
use nix::libc;
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter_all_threads};

/// Address space of a reader. A page that needs more ends its reader: an allocation that fails aborts the process.
const MEMORY: u64 = 1 << 30;
/// Processor time of one job, in seconds; the server's patience is shorter, this holds when the server is gone.
const CPU: u64 = 60;
/// What a reader may hold of memory between two jobs, in bytes; a larger one asks to be replaced.
const GROWN: u64 = 384 << 20;

/// Everything that one thread can put around itself and its children: limits, no capability, no new privilege, no file.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn enclose() -> Result<(), String> {
    crate::sandbox::jail::give_up_privileges()?;
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
        (Resource::RLIMIT_NOFILE, 3),
        (Resource::RLIMIT_MEMLOCK, 0),
        (Resource::RLIMIT_MSGQUEUE, 0),
    ] {
        setrlimit(resource, bound, bound).map_err(text)?;
    }
    Ok(())
}

/// The filter of system calls, on all threads of this process, for good. A list of what is allowed: parsers need memory and nothing else.
///
/// # Errors
/// The text of what went wrong; a reader that cannot have it must not read.
pub(super) fn filter() -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|fault| fault.to_string())?;
    let allowed: BTreeMap<i64, Vec<_>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let program: BpfProgram = SeccompFilter::new(allowed, refused, SeccompAction::Allow, arch)
        .and_then(BpfProgram::try_from)
        .map_err(|fault| fault.to_string())?;
    apply_filter_all_threads(&program).map_err(|fault| fault.to_string())
}

/// Gives the next job its share of processor time.
pub(super) fn grant_time() {
    let used = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.user_time().tv_sec() + usage.system_time().tv_sec());
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_CPU) {
        let bound = u64::try_from(used).unwrap_or(0).saturating_add(CPU).min(hard);
        let _ = setrlimit(Resource::RLIMIT_CPU, bound, hard);
    }
}

/// Whether a job has made this process large.
pub(super) fn has_grown() -> bool {
    getrusage(UsageWho::RUSAGE_SELF).is_ok_and(|usage| u64::try_from(usage.max_rss()).unwrap_or(0).saturating_mul(1024) > GROWN)
}

/// What an allocator, a panic, a lock and a pipe need.
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
    libc::SYS_sched_getaffinity,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_prlimit64,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
