//! The system call filters for a program that shares something with the host: what namespaces and mounts would have made harmless is refused.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

/// Closes what reaches processes, users and System V objects of others, on this process and what it starts, for good.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn close_processes() -> Result<(), String> {
    apply_filter(&processes()?).map_err(|e| e.to_string())
}

/// Closes what Landlock leaves open of files: modes, owners, dates, attributes and being told of changes (landlock(7), current limitations).
/// Also through an open file, since a root without writing is no mount without writing here.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn close_attributes() -> Result<(), String> {
    apply_filter(&attributes()?).map_err(|e| e.to_string())
}

fn attributes() -> Result<BpfProgram, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ATTRIBUTES.iter().map(|call| (*call, Vec::new())).collect();
    let controls = [FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR].map(|control| when(1, SeccompCmpOp::Eq, control));
    rules.insert(libc::SYS_ioctl, controls.into_iter().collect::<Result<_, _>>()?);
    compile(rules)
}

fn processes() -> Result<BpfProgram, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    for call in OWN_ONLY {
        rules.insert(*call, vec![when(0, SeccompCmpOp::Ne, 0)?]);
    }
    // Of these the second argument is the process or group; the first says which, and may also say: every process of the user.
    for (call, user) in [(libc::SYS_setpriority, u64::from(libc::PRIO_USER)), (libc::SYS_ioprio_set, IOPRIO_WHO_USER)] {
        rules.insert(call, vec![when(1, SeccompCmpOp::Ne, 0)?, when(0, SeccompCmpOp::Eq, user)?]);
    }
    compile(rules)
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>) -> Result<BpfProgram, String> {
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

/// `ioctl_fs(2)`: flags and project of a file.
const FS_IOC_SETFLAGS: u64 = 0x4008_6602;
const FS_IOC_FSSETXATTR: u64 = 0x401c_5820;

const ATTRIBUTES: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    // fchmodat2, setxattrat, removexattrat and file_setattr, by number: the same on every architecture since Linux 5.
    452,
    463,
    466,
    469,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_inotify_add_watch,
];

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
    fn the_filters_compile_and_are_short_enough_for_the_kernel() {
        assert!(processes().unwrap().len() < 4096 && attributes().unwrap().len() < 4096, "BPF_MAXINSNS");
    }
}
