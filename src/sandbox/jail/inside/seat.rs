//! Pid 1 of a jail that waits: builds it, lets a forked interpreter in, and gives it a call when one comes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};

use super::layers::Built;
use super::supervisor::Handed;
use super::{init, root, trees, walls};
use crate::sandbox::jail::order::{self, Order, Word};

/// Builds, waits, runs one call.
pub(super) fn run(order: &Order, shown: trees::Shown, mut built: Built, inside: &OwnedFd, seat: &OwnedFd) -> ExitCode {
    if !init::tie(inside) {
        return ExitCode::FAILURE;
    }
    // A jail that cannot be made ready is not explained: the call is then made from nothing, and explains itself.
    let Ok((signals, program)) = prepare(order, shown, &mut built, seat) else { return ExitCode::FAILURE };
    let Ok(Some((order, fds))) = order::receive::<Order>(seat.as_fd()) else { return ExitCode::SUCCESS };
    let Some(handed) = Handed::sort(fds) else { return ExitCode::FAILURE };
    if let Err(word) = start(&order, &handed, &mut built, inside, &program) {
        let _ = order::send(handed.call.as_fd(), &word, &[]);
        return ExitCode::FAILURE;
    }
    drop((handed, program));
    let Ok(ends) = seat.try_clone() else { return ExitCode::FAILURE };
    let end = init::attend(&order, &init::Program::Joined(ends), &signals);
    order::send(inside.as_fd(), &Word::Ended(end), &[]).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// In the order in which they are entered: the user namespace first, it gives the right to enter the others.
const NAMESPACES: [&str; 7] = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];

fn prepare(
    order: &Order,
    shown: trees::Shown,
    built: &mut Built,
    seat: &OwnedFd,
) -> Result<(nix::sys::signalfd::SignalFd, OwnedFd), String> {
    let mut namespaces = Vec::new();
    for name in NAMESPACES {
        namespaces.push(open(format!("/proc/self/ns/{name}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(|e| e.to_string())?);
    }
    init::furnish(order, shown, built).map_err(|word| format!("{word:?}"))?;
    let signals = init::listen().map_err(|word| format!("{word:?}"))?;
    let (program, channel) = order::channel()?;
    namespaces.push(channel);
    namespaces.extend(walls::landlock_rules(order, built));
    let fds: Vec<BorrowedFd<'_>> = namespaces.iter().map(AsFd::as_fd).collect();
    order::send(seat.as_fd(), &Word::Built, &fds).map_err(|e| e.to_string())?;
    drop(namespaces);
    if !answers(&program) || !matches!(order::receive::<Word>(program.as_fd()), Ok(Some((Word::Seated, _)))) {
        return Err("no interpreter came".to_owned());
    }
    // It has told so only after the last of them.
    for layer in ["rlimits", "processes", "syscalls", "no_new_privs", "capabilities"] {
        built.on(layer);
    }
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    order::send(seat.as_fd(), &Word::Seated, &[]).map_err(|e| e.to_string())?;
    Ok((signals, program))
}

/// Whether something comes within a few seconds.
fn answers(channel: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(channel, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 10, tv_nsec: 0 })) == Ok(1)
}

/// Shows the roots, gives up the last privileges, and lets the program go.
fn start(order: &Order, handed: &Handed, built: &mut Built, inside: &OwnedFd, program: &OwnedFd) -> Result<(), Word> {
    if let Some(word) = built.shortage(&order.require) {
        return Err(word);
    }
    let mut roots = Vec::new();
    for (root, fd) in order.roots.iter().zip(&handed.roots) {
        let fd = fd.try_clone().map_err(|e| Word::Fault(e.to_string()))?;
        roots.push(trees::Tree { at: format!("roots/{}", root.name), fd, folder: true });
    }
    root::show_roots(order, &roots)?;
    drop(roots);
    walls::drop_privileges(built).map_err(Word::Fault)?;
    let fault = |e: std::io::Error| Word::Fault(format!("starting a program that waits: {e}"));
    order::send(handed.call.as_fd(), &Word::Started(built.all()), &[]).map_err(fault)?;
    order::send(inside.as_fd(), &Word::Taken(order.limits.wall), &[handed.call.as_fd()]).map_err(fault)?;
    let fds: Vec<BorrowedFd<'_>> = handed.program.iter().map(AsFd::as_fd).collect();
    order::send_bytes(program.as_fd(), order.start_dir.as_bytes(), &fds).map_err(fault)
}
