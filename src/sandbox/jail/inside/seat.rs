//! Pid 1 of a jail that waits: builds it, lets a forked interpreter in, and gives it a call when one comes. The spawner is its supervisor.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use super::cgroup::Lacks;
use super::enter::Owner;
use super::layers::Built;
use super::supervisor::{self, Handed};
use super::watch::Watch;
use super::{attend, cell, cgroup, enter, init, nets, program, raw, root, walls, written};
use crate::sandbox::jail::order::{self, Asked, End, Go, Groups, Order, Word};

/// Builds, waits, runs one call. `seat` leads to the spawner.
/// `counter` counts the processor time of its group.
pub(super) fn run(order: &Order, owner: Owner, lacks: &Lacks, seat: &OwnedFd, counter: Option<File>) -> ExitCode {
    let mut built = Built::default();
    supervisor::note(order, lacks, &mut built);
    // A jail that cannot be made ready is not explained: the call is then made from nothing, and explains itself.
    let Ok(jail) = build(order, owner, &mut built, seat) else { return ExitCode::FAILURE };
    // A call may come before the interpreter that is to have it, or instead of one.
    let mut given = None;
    if speaks_first(&jail.program, seat) {
        let Some((go, handed)) = call(seat) else { return ExitCode::SUCCESS };
        if let Some(groups) = &go.new_program {
            return alone(&given_to(order, &go.asked), &mut built, jail, handed, groups, counter);
        }
        // While that one puts up its walls.
        if let Err(word) = show_roots(&given_to(order, &go.asked), &handed.roots) {
            return refused(&handed.call, &word);
        }
        given = Some((go, handed));
    }
    if take_in(&jail, &mut built).is_err() || given.is_none() && order::send(seat.as_fd(), &Word::Seated, &[]).is_err() {
        return ExitCode::FAILURE;
    }
    let Jail { signals, program, doorway } = jail;
    // The first process that came into the namespace.
    let process = Pid::from_raw(2).and_then(|first| pidfd_open(first, PidfdFlags::empty()).ok());
    let shown = given.is_some();
    let Some((go, handed)) = given.or_else(|| call(seat)) else { return ExitCode::SUCCESS };
    let order = &given_to(order, &go.asked);
    let Handed { call, program: streams, roots } = handed;
    let kept = streams.is_kept();
    let started = if shown { Ok(()) } else { show_roots(order, &roots) };
    let started = started
        .and_then(|()| give_up_rights(&built, order))
        .and_then(|()| {
            let fds: Vec<BorrowedFd<'_>> = streams.fds.iter().take(5).map(AsFd::as_fd).chain([streams.ticket.as_fd()]).collect();
            // An interpreter that is gone has begun nothing.
            order::send_bytes(program.as_fd(), order.asked.start_dir.as_bytes(), &fds).map_err(|_| Word::Returned)
        })
        .and_then(|()| {
            // After the program: waking the server takes as long as a part of it.
            if doorway.is_none() && !kept {
                return Ok(Some(built.all()));
            }
            let doorway: Vec<BorrowedFd<'_>> = doorway.iter().map(AsFd::as_fd).collect();
            order::send(call.as_fd(), &Word::Started(built.all()), &doorway).map(|()| None).map_err(starting)
        });
    let started = match started {
        Ok(started) => started,
        Err(word) => return refused(&call, &word),
    };
    drop((streams, roots, program, doorway));
    let Ok(ends) = seat.try_clone() else { return ExitCode::FAILURE };
    let clock = init::Clock { call: &call, wall: order.asked.wall, started };
    let watch = init::watch(order, None).telling(kept, &call).charging(counter);
    told(order, &init::Program::Joined(ends, process), &signals, watch, clock, |_| ())
}

/// Attends the program, and tells of its end. Every other process of the jail is dead by then; what is left is this one, and the taking down of
/// its mounts need not be waited for. The spawner says it again, to nobody.
fn told(
    order: &Order,
    program: &init::Program,
    signals: &nix::sys::signalfd::SignalFd,
    watch: Watch,
    mut clock: init::Clock<'_>,
    more: impl FnOnce(&mut End),
) -> ExitCode {
    let mut end = match init::attend(order, program, signals, watch, init::Reach::All, Some(&mut clock)) {
        Ok(end) => end,
        Err(fault) => return attend::tell(clock.call, &fault),
    };
    more(&mut end);
    let word = match clock.started {
        Some(layers) => Word::Over(Box::new(layers), end),
        None => Word::Ended(end),
    };
    let told = attend::tell(clock.call, &word);
    // Who hears of it comes before who only leaves, where it was woken on this very processor.
    let _ = rustix::process::nice(STEP_BACK);
    told
}

/// How much less of a processor an init asks for that has only to leave (`nice(2)`).
const STEP_BACK: i32 = 10;

/// A jail that stands: the deaths of its processes, the way to its program, and the program's way out, where it has one.
struct Jail {
    signals: nix::sys::signalfd::SignalFd,
    program: OwnedFd,
    doorway: Option<OwnedFd>,
}

/// Builds it, and hands the ways into it to the spawner.
fn build(order: &Order, owner: Owner, built: &mut Built, seat: &OwnedFd) -> Result<Jail, String> {
    let makes_net = !owner.has_net && !order.kind.network;
    let shown = enter::settle(order, owner, built).map_err(|word| format!("{word:?}"))?;
    if !init::tie(seat) {
        return Err("the spawner is dead".to_owned());
    }
    // All its namespaces are entered by this one (setns(2), since Linux 5.8).
    let mut ways = vec![pidfd_open(getpid(), PidfdFlags::empty()).map_err(|e| e.to_string())?];
    let net = makes_net.then(nets::own).flatten();
    let doorway = init::furnish(order, shown, built).map_err(|word| format!("{word:?}"))?;
    let signals = init::listen().map_err(|word| format!("{word:?}"))?;
    let (program, channel) = order::channel()?;
    ways.push(channel);
    ways.extend(walls::landlock_rules(order, built));
    let with_net = net.is_some();
    ways.extend(net);
    let fds: Vec<BorrowedFd<'_>> = ways.iter().map(AsFd::as_fd).collect();
    order::send(seat.as_fd(), &Word::Built(with_net), &fds).map_err(|e| e.to_string())?;
    Ok(Jail { signals, program, doorway })
}

/// Waits for an interpreter or for a call, whichever comes first; whether it is the call (or the end).
fn speaks_first(program: &OwnedFd, seat: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(seat, PollFlags::IN), PollFd::new(program, PollFlags::IN)];
    let _ = rustix::io::retry_on_intr(|| poll(&mut fds, None));
    fds.first().is_some_and(|fd| !fd.revents().is_empty())
}

/// Takes the interpreter in that has come.
fn take_in(jail: &Jail, built: &mut Built) -> Result<(), String> {
    if !matches!(order::receive::<Word>(jail.program.as_fd()), Ok(Some((Word::Seated, _)))) {
        return Err("no interpreter came".to_owned());
    }
    // It has told so only after the last of them.
    for layer in ["rlimits", "syscalls", "no_new_privs", "capabilities"] {
        built.on(layer);
    }
    enter::note_processes(built);
    walls::drop_bounding_set()?;
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    Ok(())
}

/// The order of the call that a jail of this kind was given.
fn given_to(order: &Order, asked: &Asked) -> Order {
    Order { kind: Arc::clone(&order.kind), asked: asked.clone() }
}

/// The call that comes, with what comes with it.
fn call(seat: &OwnedFd) -> Option<(Go, Handed)> {
    let (go, fds) = order::receive::<Go>(seat.as_fd()).ok()??;
    Some((go, Handed::sort(fds)?))
}

/// Runs a call that starts an interpreter of its own.
fn alone(order: &Order, built: &mut Built, jail: Jail, handed: Handed, groups: &Groups, cpu_time: Option<File>) -> ExitCode {
    let Handed { call, program, mut roots } = handed;
    let mut files: Vec<File> = roots.split_off(order.kind.roots.len().min(roots.len())).into_iter().map(File::from).collect();
    let counter = files.split_off(groups.doors.min(files.len())).pop();
    let Jail { signals, program: unused, doorway } = jail;
    drop(unused);
    let prepared = show_roots(order, &roots)
        .and_then(|()| walls::drop_privileges(built).map_err(|e| Word::Fault(format!("dropping capabilities: {e}"))))
        .and_then(|()| {
            // The program has the same user, and this memory is a copy of the spawner's.
            let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
            raw::fork().map_err(|e| Word::Fault(format!("starting the program: {e}")))
        });
    match prepared {
        Err(word) => {
            let _ = order::send(call.as_fd(), &word, &[]);
            ExitCode::FAILURE
        }
        Ok(None) => {
            // It writes to its own /proc/self yet; the interpreter is another memory.
            let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
            if let Err(reason) = cgroup::go_through(files) {
                let _ = order::send(call.as_fd(), &Word::Fault(format!("entering its group: {reason}")), &[]);
                return ExitCode::FAILURE;
            }
            // What it has to say before it is the program goes to the server.
            program::run(order, program, built.clone(), &call, doorway.as_ref(), None, walls::INIT_ALONE)
        }
        Ok(Some(child)) => {
            let kept = program.is_kept();
            drop((program, roots, files, doorway));
            // What there is to say of its start, it says itself.
            let clock = init::Clock { call: &call, wall: order.asked.wall, started: None };
            let watch = init::watch(order, None).telling(kept, &call).charging(cpu_time);
            told(order, &init::Program::Child(child), &signals, watch, clock, |end| {
                end.stopped = end.stopped.take().or_else(|| counter.as_ref().and_then(|counter| cell::oom(cgroup::counted(counter))));
                let used = attend::used();
                end.usage.cpu_ms = end.usage.cpu_ms.max(used.cpu_ms);
                end.usage.max_rss_bytes = end.usage.max_rss_bytes.max(used.max_rss_bytes);
                end.written = end.written.max(written::by_the_dead());
            })
        }
    }
}

/// Shows the roots of a call.
fn show_roots(order: &Order, mounts: &[OwnedFd]) -> Result<(), Word> {
    for ((root, masked), fd) in order.roots().zip(mounts) {
        root::show_root(root, masked, fd.as_fd()).map_err(|why| why.word(&root.name))?;
    }
    Ok(())
}

/// Gives up the last privileges, where nothing is missing that the call requires.
fn give_up_rights(built: &Built, order: &Order) -> Result<(), Word> {
    built.shortage(&order.kind.require).map_or(Ok(()), Err)?;
    walls::drop_capabilities().map_err(Word::Fault)
}

/// Says why there is no call.
fn refused(call: &OwnedFd, word: &Word) -> ExitCode {
    let _ = order::send(call.as_fd(), word, &[]);
    ExitCode::FAILURE
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn starting(e: std::io::Error) -> Word {
    Word::Fault(format!("starting a program that waits: {e}"))
}
