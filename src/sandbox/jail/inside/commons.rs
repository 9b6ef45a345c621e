//! The system call filters for a program that shares something with the host: what namespaces and mounts would have made harmless is refused.

use nix::libc;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

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
    compile(ATTRIBUTES)
}

fn processes() -> Result<BpfProgram, String> {
    compile(REFUSED)
}

fn compile(calls: &[i64]) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|e| e.to_string())?;
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).and_then(BpfProgram::try_from).map_err(|e| e.to_string())
}

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
    // fchmodat2, setxattrat and removexattrat, by number: the same on every architecture since Linux 5.
    452,
    463,
    466,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_and_are_short_enough_for_the_kernel() {
        assert!(processes().unwrap().len() < 4096 && attributes().unwrap().len() < 4096, "BPF_MAXINSNS");
    }
}
