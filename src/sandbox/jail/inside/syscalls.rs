//! The system call filter: what no ordinary Python program needs, and what has broken out of sandboxes before.
//!
//! A list of what is refused, not of what is allowed: lists of allowed calls have broken numpy at each release (measured in other
//! sandboxes), while the walls below (namespaces, no capabilities, Landlock) already bound what an unlisted call can reach.

use std::collections::BTreeMap;
use std::fmt::Write;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
    sock_filter,
};

use super::others::Numbers;
use super::{ioctls, modes, others};

/// Puts the filter on this process and what it starts, for good. With `network` there are TCP sockets, for the doorway of the jail.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn install(network: bool, numbers: Numbers) -> Result<(), String> {
    for program in programs(network, numbers)? {
        apply_filter(&program).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Puts on this process what an interpreter that waits, and each of its children, can do without from the start. It is most of the
/// filter, and the kernel tries every call number on a filter that is new to a process, which takes longer than a fork.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn install_waiting() -> Result<(), String> {
    for program in waiting()? {
        apply_filter(&program).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// The rest of the filter as one line of hexadecimal instructions, for a child of such an interpreter, once it sits in its jail.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn seated_line(network: bool) -> Result<String, String> {
    Ok(seated(network)?.iter().fold(String::new(), |mut line, step| {
        let [c0, c1] = step.code.to_ne_bytes();
        for byte in [c0, c1, step.jt, step.jf].into_iter().chain(step.k.to_ne_bytes()) {
            let _ = write!(line, "{byte:02x}");
        }
        line
    }))
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The filters in the order of their installation; the kernel asks all of them and takes the strictest answer (seccomp(2)).
fn programs(network: bool, numbers: Numbers) -> Result<Vec<BpfProgram>, String> {
    with_the_rest(compile(refused(network, numbers)?, libc::EPERM)?)
}

/// Those for an interpreter that waits.
fn waiting() -> Result<Vec<BpfProgram>, String> {
    with_the_rest(compile(early()?, libc::EPERM)?)
}

/// What [`waiting`] leaves out of [`refused`].
fn seated(network: bool) -> Result<BpfProgram, String> {
    let mut rules = refused(network, Numbers::Own)?;
    for call in early()?.keys() {
        rules.remove(call);
    }
    compile(rules, libc::EPERM)
}

/// What a process can do without before it sits in its jail: it enters that by `setns`, and which sockets it may have is for its call to say.
fn early() -> Result<Rules, String> {
    let whatever = REFUSED.iter().filter(|call| ![libc::SYS_setns, libc::SYS_socket].contains(call)).map(|call| (*call, Vec::new()));
    Ok(whatever.chain(by_arguments(Numbers::Own)?).collect())
}

/// What is refused with certain arguments, the same for every call.
fn by_arguments(numbers: Numbers) -> Result<Rules, String> {
    let mut rules = modes::refused()?;
    rules.extend(others::refused(numbers)?);
    rules.insert(libc::SYS_ioctl, ioctls::refused()?);
    Ok(rules)
}

fn compile(rules: Rules, errno: i32) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|e| e.to_string())?;
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, arch).and_then(BpfProgram::try_from).map_err(|e| e.to_string())
}

/// The same whatever else is refused: calls that the kernel is not to have, and numbers that pass every list.
fn with_the_rest(refused: BpfProgram) -> Result<Vec<BpfProgram>, String> {
    let whole = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect();
    let mut programs = vec![refused, compile(whole(ABSENT), libc::ENOSYS)?, compile(whole(UNSUPPORTED), libc::EOPNOTSUPP)?];
    if cfg!(target_arch = "x86_64") {
        programs.push(no_x32());
    }
    Ok(programs)
}

/// Kills a process that uses the x32 numbers, which pass every list of 64-bit numbers (seccomp(2), caveats).
fn no_x32() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        line(LOAD_WORD, 0, 0, 0),
        line(JUMP_IF_AT_LEAST, 0, 1, X32),
        line(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        line(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

fn refused(network: bool, numbers: Numbers) -> Result<Rules, String> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).chain(by_arguments(numbers)?).collect();
    let when = |index: u8, op: SeccompCmpOp, value: u64| rule(&[(index, op, value)]);
    // A pair of connected sockets stays inside; a socket could reach AF_VSOCK, which no network namespace covers, a netlink
    // family, or a listening socket file that lies in a root.
    // A pair for datagrams is none: either end can be sent or connected to any other address (unix(7)).
    let mut pairs = vec![when(0, SeccompCmpOp::Ne, unsigned(libc::AF_UNIX))?];
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        pairs.push(when(1, SeccompCmpOp::MaskedEq(0xf), unsigned(kind))?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    if network {
        rules.insert(libc::SYS_socket, all_but_tcp()?);
    }
    let bits = CLONE_FLAGS.iter().map(|flag| when(0, SeccompCmpOp::MaskedEq(*flag), *flag));
    rules.insert(libc::SYS_clone, bits.collect::<Result<_, _>>()?);
    // A process with a cookie of its own keeps everything else off the other half of its core, and is not charged for it.
    let commands = [libc::PR_SET_MM, libc::PR_SCHED_CORE].map(|command| when(0, SeccompCmpOp::Eq, unsigned(command)));
    rules.insert(libc::SYS_prctl, commands.into_iter().collect::<Result<_, _>>()?);
    // Asking for the personality is harmless, changing it switches off protections.
    rules.insert(libc::SYS_personality, vec![when(0, SeccompCmpOp::Ne, 0xffff_ffff)?]);
    Ok(rules)
}

/// When every one of these holds: number of the argument, comparison, value.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, String> {
    let condition = |(index, op, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*index, SeccompCmpArgLen::Dword, op.clone(), *value).map_err(|e| e.to_string())
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?).map_err(|e| e.to_string())
}

/// Every `socket` that is not TCP over IPv4 or IPv6: other families, other kinds (the low four bits, socket(2)), other protocols that have
/// the kind of a stream (MPTCP, SCTP, SMC).
fn all_but_tcp() -> Result<Vec<SeccompRule>, String> {
    const KIND: u64 = 0xf;
    let stream = unsigned(libc::SOCK_STREAM);
    let mut rules = vec![
        rule(&[(0, SeccompCmpOp::Ne, unsigned(libc::AF_INET)), (0, SeccompCmpOp::Ne, unsigned(libc::AF_INET6))])?,
        rule(&[(2, SeccompCmpOp::Ne, 0), (2, SeccompCmpOp::Ne, unsigned(libc::IPPROTO_TCP))])?,
    ];
    for kind in (0..=KIND).filter(|kind| *kind != stream) {
        rules.push(rule(&[(1, SeccompCmpOp::MaskedEq(KIND), kind)])?);
    }
    Ok(rules)
}

const fn unsigned(number: i32) -> u64 {
    number.unsigned_abs() as u64
}

/// `CLONE_NEW*` for user, mount, cgroup, uts, ipc, pid, net (clone(2)): new namespaces give new capabilities over new kernel code. And
/// `CLONE_PARENT`: a child that is handed to the parent of its maker is reaped by that, and its time is charged to nobody of the jail.
const CLONE_FLAGS: [u64; 8] =
    [0x1000_0000, 0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x2000_0000, 0x4000_0000, unsigned(libc::CLONE_PARENT)];

/// Answered as if the kernel did not have them, so that callers fall back: `clone3` hides its flags behind a pointer that no filter
/// can follow, and so does `openat2` with the mode of a new file; the memory of a `memfd` belongs to no process that could be counted; 451 is
/// `cachestat`, the same number on every architecture.
const ABSENT: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    // They would tell which files others open; where they are missing, watchers look for themselves.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    libc::SYS_inotify_init1,
    // Which pages of a file others have read.
    451,
    // Rules of a program's own keep the files that they are about on the disk, named or not, and nobody could count them.
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Answered as if the file system could not do it: it takes any room at once, which neither a bound on what is written nor a look now and then
/// holds. The C library then writes instead (`posix_fallocate(3)`).
const UNSUPPORTED: &[i64] = &[libc::SYS_fallocate];

/// Refused whatever the arguments are.
const REFUSED: &[i64] = &[
    // Network.
    libc::SYS_socket,
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // open_tree_attr, statmount and listmount, by number: the same on every architecture.
    467,
    457,
    458,
    // file_setattr: flags, projects, and how much is set aside at a time.
    469,
    // Namespaces; listns.
    470,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Other processes' memory and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Kernel code with a long record of holes.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_setup,
    libc::SYS_io_submit,
    libc::SYS_fanotify_init,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_vmsplice,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // System V memory, queues and semaphores outlive their maker and are counted to no process.
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    // Files by handle, past every path.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_sync,
    libc::SYS_syncfs,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_and_are_short_enough_for_the_kernel() {
        for network in [false, true] {
            let programs = programs(network, Numbers::Own).unwrap();
            assert_eq!(programs.len(), 4);
            assert!(programs.iter().all(|program| program.len() < 4096), "BPF_MAXINSNS");
        }
    }

    #[test]
    fn what_a_waiting_interpreter_is_refused_early_and_late_is_together_what_a_new_one_is_refused() {
        let early = early().unwrap();
        for network in [false, true] {
            let mut late = refused(network, Numbers::Own).unwrap();
            let all = late.clone();
            late.retain(|call, _| !early.contains_key(call));
            assert!(late.contains_key(&libc::SYS_setns) && late.contains_key(&libc::SYS_socket));
            let together: Rules = early.clone().into_iter().chain(late).collect();
            assert_eq!(together, all);
        }
    }

    #[test]
    fn no_call_stands_in_two_lists() {
        let mut all: Vec<i64> = [REFUSED, ABSENT, UNSUPPORTED].concat();
        all.extend([modes::refused().unwrap(), others::refused(Numbers::Own).unwrap()].into_iter().flat_map(BTreeMap::into_keys));
        all.extend([libc::SYS_ioctl, libc::SYS_socketpair, libc::SYS_clone, libc::SYS_prctl, libc::SYS_personality]);
        all.sort_unstable();
        let before = all.len();
        all.dedup();
        assert_eq!(all.len(), before);
    }
}
