//! Pid 2 of the jail: takes on the last walls and becomes the interpreter.

#![expect(clippy::disallowed_methods, reason = "the jail process writes what the kernel keeps of itself")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;

use super::layers::Built;
use super::{raw, syscalls, walls};
use crate::sandbox::jail::order::{self, Order, Word};

/// Becomes the program; comes back only when that failed.
pub(super) fn run(order: &Order, handed: [OwnedFd; 6], mut built: Built, inside: &OwnedFd, doorway: Option<&OwnedFd>) -> ExitCode {
    let Ok(channel) = rustix::io::fcntl_dupfd_cloexec(inside, HIGH) else { return ExitCode::FAILURE };
    // High as well: the numbers below are about to be given away.
    let Ok(doorway) = doorway.map(|doorway| rustix::io::fcntl_dupfd_cloexec(doorway, HIGH)).transpose() else { return ExitCode::FAILURE };
    let word = match become_program(order, handed, &mut built, &channel, doorway.as_ref()) {
        Ok(never) => match never {},
        Err(word) => word,
    };
    let _ = order::send(channel.as_fd(), &word, &[]);
    ExitCode::FAILURE
}

/// Above every number that the program gets.
const HIGH: i32 = 20;

fn become_program(
    order: &Order,
    handed: [OwnedFd; 6],
    built: &mut Built,
    channel: &OwnedFd,
    doorway: Option<&OwnedFd>,
) -> Result<std::convert::Infallible, Word> {
    let fault = |doing: &str, e: &dyn std::fmt::Display| Word::Fault(format!("{doing}: {e}"));
    rustix::process::setsid().map_err(|e| fault("starting a process group", &e))?;
    nix::sys::signal::SigSet::empty().thread_set_mask().map_err(|e| fault("clearing the signal mask", &e))?;
    rustix::process::chdir(order.start_dir.as_str()).map_err(|e| fault("entering the start folder", &e))?;
    let mut high = Vec::new();
    for fd in handed {
        high.push(rustix::io::fcntl_dupfd_cloexec(&fd, HIGH).map_err(|e| fault("moving a descriptor", &e))?);
    }
    // Everything else is closed by execve: what was inherited went at the entry, what came since closes on execution.
    for (at, fd) in (0..).zip(&high) {
        raw::place(fd.as_raw_fd(), at).map_err(|e| fault("placing a descriptor", &e))?;
    }
    walls::limit(&order.limits).map_err(|e| fault("setting limits", &e))?;
    built.on("rlimits");
    if built.has("pid_namespace") && built.has("user_namespace") {
        built.on("processes");
    }
    // Where the kernel has to kill somebody for memory, it is the program and not its supervisor.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    walls::landlock(order, built);
    match syscalls::install(order.network) {
        Ok(()) => built.on("syscalls"),
        Err(e) => built.missing("syscalls", format!("no system call filter ({e}); enable seccomp in the kernel or the container")),
    }
    if let Some(word) = built.shortage(&order.require) {
        return Err(word);
    }
    let doorway: Vec<BorrowedFd<'_>> = doorway.iter().map(AsFd::as_fd).collect();
    order::send(channel.as_fd(), &Word::Started(built.all()), &doorway).map_err(|e| fault("telling of the start", &e))?;
    let environment: Vec<String> = order.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let arguments = [order.interpreter.argv0.as_str(), "-I", "-S", "-B", "-X", "utf8", "-c", START].map(str::to_owned);
    let arguments = if order.command.is_empty() { arguments.as_slice() } else { order.command.as_slice() };
    raw::execute(&order.interpreter.program, arguments, &environment).map_err(|e| fault("starting the interpreter", &e))
}

/// What the interpreter runs before a program.
pub(in crate::sandbox::jail) const BOOTSTRAP: &str = concat!(include_str!("bootstrap.py"), "\n\n_toolgate()\n");

/// Runs the bootstrap that the interpreter itself compiled when it was found. All calls share the file, so it is read by position.
const START: &str = "import posix, marshal\n_code = posix.pread(5, posix.fstat(5).st_size, 0)\nposix.close(5)\nexec(marshal.loads(_code))";
