//! System calls on another process. The one that watches over a program has its user number in most jails: it could be starved of processor
//! time or of descriptors, and a limit that is looked at would be none.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// Whose processes a program can name by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Those of its own namespace, in which pid 1 alone is not the program's.
    Own,
    /// Others as well, among them one that watches. A filter cannot tell a program's own number from theirs, so its own is said as 0.
    Shared,
}

/// Refuses bounds, priorities, processors and scheduling of every process that is not the program's, and signals to pid 1.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn refused(numbers: Numbers) -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let of_another = |argument| match numbers {
        Numbers::Own => when(argument, SeccompCmpOp::Eq, 1),
        Numbers::Shared => when(argument, SeccompCmpOp::Ne, 0),
    };
    let mut rules = BTreeMap::new();
    for call in OWN_ONLY {
        rules.insert(*call, vec![of_another(0)?]);
    }
    for (call, process) in BY_KIND {
        // Of these the second argument is a process, a group or a user. In its group, and of its user, the one that watches may be.
        rules.insert(*call, vec![of_another(1)?, when(0, SeccompCmpOp::Ne, *process)?]);
    }
    for call in SIGNALS {
        rules.insert(*call, vec![when(0, SeccompCmpOp::Eq, 1)?]);
    }
    Ok(rules)
}

fn when(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompRule, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(|e| e.to_string())
}

/// The first argument is a process, 0 the caller.
const OWN_ONLY: &[i64] =
    &[libc::SYS_prlimit64, libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr];

/// The first argument says what the second one is; here the number for a process: `PRIO_PROCESS` (`setpriority(2)`) and `IOPRIO_WHO_PROCESS`
/// (`ioprio_set(2)`).
const BY_KIND: &[(i64, u64)] = &[(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

/// Init of a process namespace gets only signals that it handles (`pid_namespaces(7)`), which is the death of its children, and no such news is
/// to be forged. The first argument is the process.
const SIGNALS: &[i64] =
    &[libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo, libc::SYS_pidfd_open];
