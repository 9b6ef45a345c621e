//! The system call filter for a program that shares the host's process numbers, its user, or its System V objects with others: what
//! namespaces would have made harmless is refused.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

/// Puts the filter on this process and what it starts, for good.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn install() -> Result<(), String> {
    apply_filter(&program()?).map_err(|e| e.to_string())
}

fn program() -> Result<BpfProgram, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    for call in OWN_ONLY {
        rules.insert(*call, vec![when(0, SeccompCmpOp::Ne, 0)?]);
    }
    // Of these the second argument is the process or group; the first says which, and may also say: every process of the user.
    for (call, user) in [(libc::SYS_setpriority, u64::from(libc::PRIO_USER)), (libc::SYS_ioprio_set, IOPRIO_WHO_USER)] {
        rules.insert(call, vec![when(1, SeccompCmpOp::Ne, 0)?, when(0, SeccompCmpOp::Eq, user)?]);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|e| e.to_string())?;
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).and_then(BpfProgram::try_from).map_err(|e| e.to_string())
}

/// `ioprio_set(2)`.
const IOPRIO_WHO_USER: u64 = 3;

fn when(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompRule, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(|e| e.to_string())
}

const REFUSED: &[i64] = &[
    // The process group is what everything is killed by.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // System V objects and message queues of others, by number or name.
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// The first argument is a process, 0 the caller; another of the same user could be slowed down or starved by them.
const OWN_ONLY: &[i64] =
    &[libc::SYS_prlimit64, libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles_and_is_short_enough_for_the_kernel() {
        assert!(program().unwrap().len() < 4096, "BPF_MAXINSNS");
    }
}
