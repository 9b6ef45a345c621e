//! Pid 1 of a jail that waits: builds it, lets a forked interpreter in, and gives it a call when one comes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};

use super::layers::Built;
use super::supervisor::Handed;
use super::{init, root, trees, walls};
use crate::sandbox::jail::order::{self, Go, Order, RootOrder, Word};

/// Builds, waits, runs one call.
pub(super) fn run(order: &Order, shown: trees::Shown, mut built: Built, inside: &OwnedFd, seat: &OwnedFd) -> ExitCode {
    if !init::tie(inside) {
        return ExitCode::FAILURE;
    }
    // A jail that cannot be made ready is not explained: the call is then made from nothing, and explains itself.
    let Ok(Prepared { signals, program, doorway }) = prepare(order, shown, &mut built, seat) else { return ExitCode::FAILURE };
    let Ok(Some((go, fds))) = order::receive::<Go>(seat.as_fd()) else { return ExitCode::SUCCESS };
    let Some(Handed { call, program: streams, roots }) = Handed::sort(fds) else { return ExitCode::FAILURE };
    let started = start(order, &go, &call, &roots, &mut built, inside, doorway.as_ref()).and_then(|()| {
        let fds: Vec<BorrowedFd<'_>> = streams.iter().take(5).map(AsFd::as_fd).collect();
        order::send_bytes(program.as_fd(), go.start_dir.as_bytes(), &fds)
            .map_err(|e| Word::Fault(format!("starting a program that waits: {e}")))
    });
    if let Err(word) = started {
        let _ = order::send(call.as_fd(), &word, &[]);
        return ExitCode::FAILURE;
    }
    drop((streams, roots, program, doorway));
    let Ok(ends) = seat.try_clone() else { return ExitCode::FAILURE };
    let end = init::attend(order, &init::Program::Joined(ends), &signals, init::watch(order, None), init::Reach::All);
    // Every other process of the jail is dead by now; what is left is this one, and the taking down of its mounts need not be
    // waited for. The supervisor says it again, to nobody.
    let _ = order::send(call.as_fd(), &Word::Ended(end.clone()), &[]);
    order::send(inside.as_fd(), &Word::Ended(end), &[]).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// In the order in which they are entered: the user namespace first, it gives the right to enter the others.
const NAMESPACES: [&str; 7] = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];

/// A finished jail: the deaths of its processes, the way to its program, and the program's way out, where it has one.
struct Prepared {
    signals: nix::sys::signalfd::SignalFd,
    program: OwnedFd,
    doorway: Option<OwnedFd>,
}

fn prepare(order: &Order, shown: trees::Shown, built: &mut Built, seat: &OwnedFd) -> Result<Prepared, String> {
    let mut namespaces = Vec::new();
    for name in NAMESPACES {
        namespaces.push(open(format!("/proc/self/ns/{name}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(|e| e.to_string())?);
    }
    let doorway = init::furnish(order, shown, built).map_err(|word| format!("{word:?}"))?;
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
    walls::drop_bounding_set()?;
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    order::send(seat.as_fd(), &Word::Seated, &[]).map_err(|e| e.to_string())?;
    Ok(Prepared { signals, program, doorway })
}

/// Whether something comes within a few seconds.
fn answers(channel: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(channel, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 10, tv_nsec: 0 })) == Ok(1)
}

/// Shows the roots, gives up the last privileges, and has the supervisor keep the time.
fn start(
    order: &Order,
    go: &Go,
    call: &OwnedFd,
    mounts: &[OwnedFd],
    built: &mut Built,
    inside: &OwnedFd,
    doorway: Option<&OwnedFd>,
) -> Result<(), Word> {
    if let Some(word) = built.shortage(&order.require) {
        return Err(word);
    }
    for ((root, masked), fd) in order.roots.iter().zip(&go.masked).zip(mounts) {
        let root = RootOrder { masked: masked.clone(), ..root.clone() };
        root::show_root(&root, fd.as_fd()).map_err(|reason| Word::Root { root: root.name.clone(), reason })?;
    }
    walls::drop_capabilities().map_err(Word::Fault)?;
    let fault = |e: std::io::Error| Word::Fault(format!("starting a program that waits: {e}"));
    let doorway: Vec<BorrowedFd<'_>> = doorway.iter().map(AsFd::as_fd).collect();
    order::send(call.as_fd(), &Word::Started(built.all()), &doorway).map_err(fault)?;
    order::send(inside.as_fd(), &Word::Taken(go.wall), &[call.as_fd()]).map_err(fault)
}
