//! Pid 2 of the jail: takes on the last walls and becomes the interpreter.

#![expect(clippy::disallowed_methods, reason = "the jail process writes what the kernel keeps of itself")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;

use super::layers::Built;
use super::others::Numbers;
use super::site::Site;
use super::supervisor::Streams;
use super::{commons, enter, fence, raw, syscalls, walls};
use crate::sandbox::jail::ground::{Ground, REDUCED_FILES, REDUCED_PROCESSES};
use crate::sandbox::jail::order::{self, Order, Word};

/// Becomes the program; comes back only when that failed. `others` are processes that the kernel counts with it.
pub(super) fn run(
    order: &Order,
    handed: Streams,
    mut built: Built,
    inside: &OwnedFd,
    doorway: Option<&OwnedFd>,
    site: Option<&Site>,
    others: u64,
) -> ExitCode {
    let Ok(channel) = rustix::io::fcntl_dupfd_cloexec(inside, HIGH) else { return ExitCode::FAILURE };
    // High as well: the numbers below are about to be given away.
    let Ok(doorway) = doorway.map(|doorway| rustix::io::fcntl_dupfd_cloexec(doorway, HIGH)).transpose() else { return ExitCode::FAILURE };
    let word = match become_program(order, handed, &mut built, &channel, doorway.as_ref(), site, others) {
        Ok(never) => match never {},
        Err(word) => word,
    };
    let _ = order::send(channel.as_fd(), &word, &[]);
    ExitCode::FAILURE
}

/// How much less of a processor a program asks for than the processes that watch over it (`nice(2)`).
const BEHIND: i32 = 9;

/// Above every number that the program gets.
const HIGH: i32 = 20;

fn become_program(
    order: &Order,
    handed: Streams,
    built: &mut Built,
    channel: &OwnedFd,
    doorway: Option<&OwnedFd>,
    site: Option<&Site>,
    others: u64,
) -> Result<std::convert::Infallible, Word> {
    let fault = |doing: &str, e: &dyn std::fmt::Display| Word::Fault(format!("{doing}: {e}"));
    if !order.kind.ground.shares_processes() {
        rustix::process::setsid().map_err(|e| fault("starting a process group", &e))?;
    }
    nix::sys::signal::SigSet::empty().thread_set_mask().map_err(|e| fault("clearing the signal mask", &e))?;
    let start = site.map_or_else(|| PathBuf::from(&order.asked.start_dir), |site| site.path(order, &order.asked.start_dir));
    rustix::process::chdir(&start).map_err(|e| fault("entering the start folder", &e))?;
    let ticket = handed.ticket.above(HIGH).map_err(|e| fault("moving a ticket", &e))?;
    let mut high = Vec::new();
    for fd in handed.fds {
        high.push(rustix::io::fcntl_dupfd_cloexec(&fd, HIGH).map_err(|e| fault("moving a descriptor", &e))?);
    }
    // Everything else is closed by execve: what was inherited went at the entry, what came since closes on execution.
    for (at, fd) in (0..).zip(&high) {
        raw::place(fd.as_raw_fd(), at).map_err(|e| fault("placing a descriptor", &e))?;
    }
    if order.kind.ground.shares_processes() {
        // The watch comes first: it would wait for its turn among all the processes that a program can start there between two looks.
        let _ = rustix::process::nice(BEHIND);
    }
    walls::limit(&order.kind.limits, others).map_err(|e| fault("setting limits", &e))?;
    built.on("rlimits");
    if built.has("pid_namespace") {
        enter::note_processes(built);
    }
    // Where the kernel has to kill somebody for memory, it is the program and not its supervisor.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    match site {
        None => walls::landlock(order, built),
        Some(site) => fenced(order, site, built)?,
    }
    match share(order).and_then(|()| syscalls::install(order.kind.network, numbers(order))) {
        Ok(()) => built.on("syscalls"),
        Err(e) => built.missing("syscalls", format!("no system call filter ({e}); enable seccomp in the kernel or the container")),
    }
    if let Some(word) = built.shortage(&order.kind.require) {
        return Err(word);
    }
    let doorway: Vec<BorrowedFd<'_>> = doorway.iter().map(AsFd::as_fd).collect();
    if !ticket.take() {
        // The call was given up.
        return Err(Word::Returned);
    }
    order::send(channel.as_fd(), &Word::Started(built.all()), &doorway).map_err(|e| fault("telling of the start", &e))?;
    let environment = site.map_or_else(|| order.kind.env.clone(), |site| site.environment(order));
    let environment: Vec<String> = environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let arguments = [order.kind.interpreter.argv0.as_str(), "-I", "-S", "-B", "-X", "utf8", "-c", START].map(str::to_owned);
    let arguments = if order.kind.command.is_empty() { arguments.as_slice() } else { order.kind.command.as_slice() };
    raw::execute(&order.kind.interpreter.program, arguments, &environment).map_err(|e| fault("starting the interpreter", &e))
}

/// Processes that the kernel counts together with those of a program that has a supervisor.
pub(super) fn others(order: &Order, site: Option<&Site>) -> u64 {
    match (&order.kind.ground, site) {
        (_, Some(site)) => site.others,
        // The supervisor is another user there.
        (Ground::Rooted, None) => walls::OWN_PROCESSES - 1,
        _ => walls::OWN_PROCESSES,
    }
}

/// Beside `bwrap` other processes than its init may be in the namespace.
fn numbers(order: &Order) -> Numbers {
    if order.kind.ground.has_init() { Numbers::Own } else { Numbers::Shared }
}

/// Refuses what a program could do to what it shares with the host.
fn share(order: &Order) -> Result<(), String> {
    if order.kind.ground.shares_processes() {
        commons::close_attributes()?;
        commons::close_processes()?;
    }
    Ok(())
}

/// Puts up Landlock around a program that sees the host's files, and says what of the walls that leaves.
fn fenced(order: &Order, site: &Site, built: &mut Built) -> Result<(), Word> {
    fence::restrict(order, site)?;
    built.on("landlock");
    built.missing("filesystem", REDUCED_FILES);
    built.missing("processes", REDUCED_PROCESSES);
    Ok(())
}

/// What the interpreter runs before a program.
pub(in crate::sandbox::jail) const BOOTSTRAP: &str = concat!(include_str!("bootstrap.py"), "\n\nfor _ in _toolgate():\n    pass\n");

/// Runs the bootstrap that the interpreter itself compiled when it was found. All calls share the file, so it is read by position.
const START: &str = "import posix, marshal\n_code = posix.pread(5, posix.fstat(5).st_size, 0)\nposix.close(5)\nexec(marshal.loads(_code))";
