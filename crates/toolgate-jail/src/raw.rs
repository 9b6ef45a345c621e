//! The system calls of the jail process that no safe interface offers.
#![expect(
    unsafe_code,
    reason = "fork, clone, mount_setattr, close_range, wait4, dup2, sigaction and _exit have no safe wrapper that fits; each is one call with checked arguments"
)]

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use nix::libc;
use nix::sched::CloneFlags;
use rustix::process::Pid;

use crate::end::{End, Usage};

/// Forks. `None` in the child.
///
/// # Errors
/// The error number's text.
pub(crate) fn fork() -> Result<Option<Pid>, String> {
    // SAFETY: the jail process is single-threaded from its start (it is entered before any runtime is built and starts no
    // thread), so the child holds no lock that another thread owned, and everything that is safe before is safe after.
    // JUSTIFICATION: a spawned command cannot be pid 1 of a new namespace and go on to build its own root.
    match unsafe { nix::unistd::fork() } {
        Ok(nix::unistd::ForkResult::Child) => Ok(None),
        Ok(nix::unistd::ForkResult::Parent { child }) => Pid::from_raw(child.as_raw()).map(Some).ok_or_else(|| "no process id".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

/// Forks the first process of these new namespaces (`clone(2)`). `None` in the child.
///
/// # Errors
/// The error number.
pub(crate) fn fork_into(namespaces: CloneFlags) -> Result<Option<Pid>, nix::Error> {
    let flags = namespaces.bits() | libc::SIGCHLD;
    // SAFETY: without a stack of its own and without CLONE_VM this is fork(2) with namespaces; what is said at `fork` holds here. The C
    // library's own work around a fork is for other threads and for atfork handlers, and this process has neither.
    // JUSTIFICATION: only clone(2) makes namespaces and their first process at once; nix's wrapper wants a stack and a closure.
    let done = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(flags), 0_usize, 0_usize, 0_usize, 0_usize) };
    let number = nix::Error::result(done)?;
    if number == 0 {
        return Ok(None);
    }
    i32::try_from(number).ok().and_then(Pid::from_raw).map(Some).ok_or(nix::Error::EINVAL)
}

/// Ends this process at once, with nothing taken down: what a forked process frees it would first have to copy.
pub(crate) fn leave(code: u8) -> ! {
    // SAFETY: _exit(2) takes a number and does not return; no destructor of ours has to run in a forked process.
    // JUSTIFICATION: `std::process::exit` runs what the C library does at the end of a program.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Attributes of a mount (`mount_setattr(2)`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Attributes<'a> {
    /// No writing.
    pub(crate) read_only: bool,
    /// Device files work.
    pub(crate) devices: bool,
    /// No execution of files.
    pub(crate) no_exec: bool,
    /// Owners are shown through this user namespace.
    pub(crate) id_map: Option<BorrowedFd<'a>>,
}

/// Sets attributes on a whole detached tree; set-user-id bits are always switched off.
///
/// # Errors
/// The error number.
pub(crate) fn mount_setattr(tree: BorrowedFd<'_>, attributes: Attributes<'_>) -> Result<(), nix::Error> {
    let mut set = libc::MOUNT_ATTR_NOSUID;
    if !attributes.devices {
        set |= libc::MOUNT_ATTR_NODEV;
    }
    if attributes.read_only {
        set |= libc::MOUNT_ATTR_RDONLY;
    }
    if attributes.no_exec {
        set |= libc::MOUNT_ATTR_NOEXEC;
    }
    let mut user_namespace: u64 = 0;
    if let Some(fd) = attributes.id_map {
        set |= libc::MOUNT_ATTR_IDMAP;
        user_namespace = u64::try_from(fd.as_raw_fd()).map_err(|_| nix::Error::EBADF)?;
    }
    let request = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: user_namespace };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is a valid empty C string, `request` lives through the call and its true size is given; the kernel only reads them.
    // JUSTIFICATION: neither rustix 1.1 nor nix 0.31 wraps mount_setattr(2).
    let done = unsafe {
        libc::syscall(libc::SYS_mount_setattr, tree.as_raw_fd(), c"".as_ptr(), flags, &raw const request, size_of::<libc::mount_attr>())
    };
    nix::Error::result(done).map(drop)
}

/// Closes every descriptor from a number on but these.
///
/// # Errors
/// The error number.
pub(crate) fn close_from(mut first: libc::c_uint, kept: impl IntoIterator<Item = RawFd>) -> Result<(), nix::Error> {
    let mut kept: Vec<libc::c_uint> = kept.into_iter().filter_map(|fd| libc::c_uint::try_from(fd).ok()).filter(|fd| *fd >= first).collect();
    kept.sort_unstable();
    for last in kept.into_iter().map(Some).chain([None]) {
        let before = last.map_or(libc::c_uint::MAX, |last| last.saturating_sub(1));
        if first <= before {
            // SAFETY: called only at the entry of our own program, before a descriptor is opened, in a program that waited and has opened none, and in
            // a forked process that uses nothing but what is kept and runs no destructor (`leave`).
            // JUSTIFICATION: closing what was inherited by number cannot be said with owned descriptors.
            nix::Error::result(unsafe { libc::syscall(libc::SYS_close_range, first, before, 0) })?;
        }
        first = last.unwrap_or_default().saturating_add(1);
    }
    Ok(())
}

/// Puts `fd` at the number `at`, kept over execve.
///
/// # Errors
/// The error number.
pub(crate) fn place(fd: RawFd, at: RawFd) -> Result<(), nix::Error> {
    // SAFETY: dup2 on numbers; the caller gives up whatever stood at `at`, as every caller is about to execute another program, or is one that waits
    // for its call and has owned nothing at `at`.
    // JUSTIFICATION: owned descriptors cannot name the number they shall have in the next program.
    nix::Error::result(unsafe { libc::dup2(fd, at) }).map(drop)
}

/// Has a signal do again what it does by default where whoever started us had it ignored: that is handed down over execve.
pub(crate) fn reset_ignored_signal(signal: libc::c_int) {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the pointers lead to places of the right type that live through the calls, a null one says that there is nothing to set or to tell;
    // a zeroed sigaction is a valid one, and the default action runs no code of ours.
    // JUSTIFICATION: nix and rustix offer no safe way to ask for or to set the action of a signal, since a handler may be set.
    unsafe {
        if libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0 && action.assume_init().sa_sigaction == libc::SIG_IGN {
            let default = MaybeUninit::<libc::sigaction>::zeroed();
            libc::sigaction(signal, default.as_ptr(), std::ptr::null_mut());
        }
    }
}

/// Takes a dead child, if there is one: its number, how it ended, and what it and its own children used. The kernel counts
/// the pages of files on disks that they changed, even if these never reached the disk (`task_io_get_oublock`).
pub(crate) fn reap() -> Option<(Pid, End)> {
    let mut status: libc::c_int = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers lead to places of the right type that live through the call; a zeroed rusage is a valid one.
    // JUSTIFICATION: no safe wrapper gives the status and the usage of one child together.
    let (pid, usage) = unsafe { (libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()), usage.assume_init()) };
    if pid <= 0 {
        return None;
    }
    let pid = Pid::from_raw(pid)?;
    let millis = |time: libc::timeval| u64::try_from(time.tv_sec * 1000 + time.tv_usec / 1000).unwrap_or(0);
    let end = End {
        exit: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        limit: None,
        usage: Usage {
            cpu_ms: millis(usage.ru_utime) + millis(usage.ru_stime),
            max_rss_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
            pids_peak: None,
        },
        written: usage.ru_oublock.unsigned_abs().saturating_mul(512),
    };
    Some((pid, end))
}

/// Replaces this process by another program.
///
/// # Errors
/// The error number; on success it does not return.
pub(crate) fn execute(program: &str, arguments: &[String], environment: &[String]) -> Result<std::convert::Infallible, String> {
    let text =
        |words: &[String]| words.iter().map(|word| CString::new(word.as_str())).collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string());
    let program = CString::new(program).map_err(|e| e.to_string())?;
    nix::unistd::execve(&program, &text(arguments)?, &text(environment)?).map_err(|e| e.to_string())
}
