//! The jail process: our own program, executed again with a hidden first argument, single-threaded from its start.
//!
//! Three processes per call. The *supervisor* takes the order and keeps the clock; it dies with the server because it holds one end of a
//! socket to it. For a jail that waits it is the spawner itself, for a call made from nothing a process of its own, which also enters the new
//! namespaces. *Init* is pid 1 of the new process namespace: it builds the root, watches memory and processor time, reaps. The *program* is
//! pid 2: it takes on the last walls and becomes Python. When init dies, the kernel kills whatever else is in the namespace
//! (`pid_namespaces(7)`).

mod attend;
mod cell;
mod cgroup;
mod charge;
mod commons;
mod cpu_time;
mod crowd;
mod doorway;
mod enter;
mod fence;
mod fill;
mod group;
mod init;
mod ioctls;
mod layers;
mod mend;
mod modes;
mod nets;
mod others;
mod pool;
mod program;
mod raw;
mod reached;
mod retired;
mod root;
mod seat;
mod site;
mod spawner;
mod strays;
mod supervisor;
mod syscalls;
mod trees;
mod unnamed;
mod users;
mod walls;
mod watch;
mod wrap;
mod written;
mod zygote;

use std::os::fd::RawFd;
use std::process::ExitCode;

use nix::sys::signalfd::SignalFd;
use rustix::process::Pid;

pub(super) use program::BOOTSTRAP;

/// The hidden first argument that makes our program the jail process.
pub(super) const JAIL_ARGUMENT: &str = "__jail";

/// Becomes the jail process when the first argument asks for it, and returns only when that is over.
///
/// Call it before anything else in `main`: the jail process forks, which is sound only while it has one thread.
/// `None` means that this is an ordinary start.
#[must_use]
pub fn enter_if_asked() -> Option<ExitCode> {
    // Ignored, it would take the ends of children from whoever waits for them.
    raw::heed(nix::libc::SIGCHLD);
    let first = std::env::args_os().nth(1)?;
    (first == JAIL_ARGUMENT).then(spawner::serve)
}

/// Closes what this process was left open by whoever started ours, beside standard input, output and error.
///
/// # Errors
/// The error number.
pub(in crate::sandbox) fn close_inherited() -> Result<(), nix::Error> {
    raw::close_from(3)
}

/// Gives up every capability, and the way to any, for good.
///
/// # Errors
/// The text of what went wrong.
pub(in crate::sandbox) fn give_up_privileges() -> Result<(), String> {
    walls::drop_bounding_set()?;
    walls::drop_capabilities()
}

/// Forks a process that has one thread from its start. `None` in the child.
///
/// # Errors
/// The text of what went wrong.
pub(in crate::sandbox) fn fork_alone() -> Result<Option<Pid>, String> {
    raw::fork()
}

/// Puts `fd` at the number `at`; whatever stood there is given up.
///
/// # Errors
/// The error number.
pub(in crate::sandbox) fn place(fd: RawFd, at: RawFd) -> Result<(), nix::Error> {
    raw::place(fd, at)
}

/// Closes every descriptor from `first` on; nothing that owns one may be used or dropped afterwards.
///
/// # Errors
/// The error number.
pub(in crate::sandbox) fn close_from(first: RawFd) -> Result<(), nix::Error> {
    raw::close_from(first)
}

/// Where the ends of children are heard of.
///
/// # Errors
/// The text of what went wrong.
pub(in crate::sandbox) fn hear_children() -> Result<SignalFd, String> {
    init::listen().map_err(|word| format!("{word:?}"))
}
