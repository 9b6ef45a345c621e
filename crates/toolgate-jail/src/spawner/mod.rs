//! The one process that forks: small, with one thread, started by the server and dead when the server is.
//!
//! It forks the first process of each jail ([`crate::init`]), copies mounts for it, and takes its end. What a program does is between the
//! server and the jail.

#![expect(clippy::disallowed_methods, reason = "the spawner reads what the kernel shows of sockets and of descriptors")]

pub(crate) mod cgroup;
pub(crate) mod first;
pub(crate) mod trees;
mod users;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::sys::signalfd::SignalFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, pidfd_open};

use crate::backend::NotStarted;
use crate::init::{self, Start, host_folders};
use crate::message::{self, Call, Command, Event, FolderPlan, Isolation, Order, Plan};
use crate::program::seccomp::Filters;
use crate::raw;
use crate::spec::Cover;
use cgroup::{Group, Parents};
use users::Users;

/// What is added to the nice value where shares of processors cannot be bounded.
const LOW_PRIORITY: i32 = 10;
/// The last of the signals (signal(7)).
const LAST_SIGNAL: i32 = 64;
/// How long jails may take to end when the server is gone.
const PATIENCE: Duration = Duration::from_secs(3);

/// A jail.
#[derive(Debug)]
struct Jail {
    first: Pid,
    /// Held until its processes are dead.
    _group: Group,
    user: Option<u32>,
    /// Whether no process namespace ends with its first process.
    is_grouped: bool,
}

#[derive(Debug)]
struct Spawner {
    server: OwnedFd,
    signals: SignalFd,
    place: Parents,
    /// The user numbers of jails, where this process is root.
    users: Option<Users>,
    /// Whether the kernel exempts programs from the bound on processes.
    is_exempt: bool,
    filters: Filters,
    /// Why this process cannot copy mounts, where it cannot.
    no_mounts: Option<NotStarted>,
    jails: Vec<Jail>,
}

/// Serves orders over standard input until its other end is closed.
pub(crate) fn serve() -> ExitCode {
    let Some(mut spawner) = Spawner::new() else { return ExitCode::from(70) };
    loop {
        let mut fds = [PollFd::new(&spawner.server, PollFlags::IN), PollFd::new(&spawner.signals, PollFlags::IN)];
        let _ = poll(&mut fds, None);
        let [server, signals] = fds.map(|fd| !fd.revents().is_empty());
        if signals {
            spawner.reap();
        }
        if server {
            match message::receive::<Order>(spawner.server.as_fd()) {
                Ok(Some((order, fds))) => spawner.take(order, fds.into_iter()),
                Ok(None) => return spawner.close(),
                // One that cannot be read names no jail: whoever sent it hears that its channel is closed.
                Err(_) => {}
            }
        }
    }
}

impl Spawner {
    fn new() -> Option<Self> {
        // Nothing that the server's own parent left open may be seen by a program.
        raw::close_from(3, []).ok()?;
        // A program finds them as an interpreter does that a shell starts, wherever the server runs: `nohup`, a shell's background. A broken pipe
        // stays an error of whoever writes here; Python has it so as well.
        (1..=LAST_SIGNAL).filter(|signal| *signal != nix::libc::SIGPIPE).for_each(raw::reset_ignored_signal);
        // Each jail holds some descriptors; programs have a bound of their own.
        let files = rustix::process::getrlimit(Resource::Nofile);
        let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
        // A terminal's interrupt is for the server; the server then ends its jails itself.
        let _ = rustix::process::setsid();
        let server = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).ok()?;
        let nothing = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok()?;
        (0..3).try_for_each(|at| raw::place(nothing.as_raw_fd(), at)).ok()?;
        let signals = init::listen().ok()?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok()?;
        // Before another user namespace is entered: there the hierarchy is no longer ours.
        let place = Parents::find();
        host_folders::sweep();
        if !place.has_cpu() {
            // No bound on the share of a processor, but everything else on the machine comes first.
            let _ = rustix::process::nice(LOW_PRIORITY);
        }
        let users = Users::of_this_process();
        if users.is_some() {
            // Those of root may open what a program must not; in a user namespace they can no longer be given up.
            nix::unistd::setgroups(&[]).ok()?;
        }
        let is_exempt = first::is_exempt();
        let no_mounts = if users.is_some() { None } else { first::enter_own_mounts().err() };
        let filters = Filters::compile().ok()?;
        Some(Self { server, signals, place, users, is_exempt, filters, no_mounts, jails: Vec::new() })
    }

    /// Does what an order says.
    fn take(&mut self, order: Order, mut fds: impl Iterator<Item = OwnedFd>) {
        let Some(channel) = fds.next() else { return };
        match order {
            Order::Start(plan, call) => {
                if let Err(why) = self.start(&plan, call, &channel, fds) {
                    // A server that does not hear it is gone.
                    let _ = message::send(channel.as_fd(), &Event::Refused(why), &[]);
                }
            }
            Order::Show(plans, user, covers) => show(&channel, &plans, user, covers, &fds.collect::<Vec<_>>()),
        }
    }

    /// Starts a jail; in its first process this does not return.
    fn start(&mut self, plan: &Plan, mut call: Call, channel: &OwnedFd, mut fds: impl Iterator<Item = OwnedFd>) -> Result<(), NotStarted> {
        let io: Vec<OwnedFd> = if plan.waits { Vec::new() } else { fds.by_ref().take(3).collect() };
        let dirs: Vec<OwnedFd> = fds.collect();
        let builds_root = matches!(plan.isolation, Isolation::Namespaces | Isolation::Rooted);
        if matches!(plan.isolation, Isolation::Bubblewrap(_)) {
            cover_sockets(&mut call.covers, &dirs);
        }
        let user = match &mut self.users {
            Some(users) => Some(users.take().ok_or_else(|| NotStarted::Fault("no user number is left for a further jail".to_owned()))?),
            None => None,
        };
        let group = self.place.make(&plan.limits);
        let trees = match &self.no_mounts {
            Some(why) if builds_root => Err(why.clone()),
            _ if builds_root => trees::shown(plan),
            _ => Ok(Vec::new()),
        };
        let forked = trees.and_then(|trees| {
            let (wait, go) =
                rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| NotStarted::fault("making a pipe", e))?;
            let Some(first) = first::fork(&plan.isolation)? else {
                let kept = [channel.as_raw_fd(), wait.as_raw_fd()].into_iter().chain(group.descriptors());
                let kept = kept.chain(io.iter().chain(&dirs).chain(trees.iter().map(|tree| &tree.fd)).map(AsRawFd::as_raw_fd));
                let is_alone = raw::close_from(3, kept).is_ok();
                // INVARIANT: the child never goes on as its parent would.
                if !is_alone || rustix::io::retry_on_intr(|| rustix::io::read(&wait, &mut [0_u8; 1])) != Ok(1) {
                    raw::leave(1);
                }
                raw::leave(init::run(
                    Start { plan, call: &call, channel, io, dirs, trees, user, is_exempt: self.is_exempt, filters: &self.filters },
                    &group,
                ));
            };
            let begun = begin(&plan.isolation, first, user, &group, channel, &go);
            begun.map(|()| first).inspect_err(|_| finish(first))
        });
        match forked {
            Ok(first) => {
                self.jails.push(Jail { first, _group: group, user, is_grouped: !builds_root });
                Ok(())
            }
            Err(why) => {
                if let (Some(users), Some(user)) = (&mut self.users, user) {
                    users.give_back(user);
                }
                Err(why)
            }
        }
    }

    /// Takes every dead child.
    fn reap(&mut self) {
        while let Ok(Some(_)) = self.signals.read_signal() {}
        while let Some((pid, _)) = raw::reap() {
            let Some(at) = self.jails.iter().position(|jail| jail.first == pid) else { continue };
            let dead = self.jails.swap_remove(at);
            if dead.is_grouped {
                let known: Vec<Pid> = self.jails.iter().map(|jail| jail.first).collect();
                end_orphans(&known);
            }
            if let (Some(users), Some(user)) = (&mut self.users, dead.user) {
                users.give_back(user);
            }
        }
    }

    /// Ends every jail, and stays until they are gone: then their control groups can be removed.
    fn close(mut self) -> ExitCode {
        for jail in &self.jails {
            let _ = rustix::process::kill_process(jail.first, Signal::KILL);
        }
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && !self.jails.is_empty() {
            let _ = poll(&mut [PollFd::new(&self.signals, PollFlags::IN)], Some(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 }));
            self.reap();
        }
        ExitCode::SUCCESS
    }
}

/// Lets the first process of a jail go on, and says that it is there.
fn begin(isolation: &Isolation, first: Pid, user: Option<u32>, group: &Group, channel: &OwnedFd, go: &OwnedFd) -> Result<(), NotStarted> {
    if *isolation == Isolation::Namespaces {
        first::map(&first.as_raw_nonzero().to_string(), user).map_err(|e| NotStarted::fault("mapping a user", e))?;
    }
    let process = pidfd_open(first, PidfdFlags::empty()).map_err(|e| NotStarted::fault("watching init", e))?;
    let fds: Vec<BorrowedFd<'_>> = [process.as_fd()].into_iter().chain(group.kills().map(AsFd::as_fd)).collect();
    message::send(channel.as_fd(), &Event::Begun(user), &fds).map_err(|e| NotStarted::fault("telling of init", e))?;
    rustix::io::write(go, b"1").map(drop).map_err(|e| NotStarted::fault("starting init", e))
}

/// Hands the mounts of folders to a jail.
fn show(jail: &OwnedFd, plans: &[FolderPlan], user: Option<u32>, mut covers: Vec<Vec<Cover>>, dirs: &[OwnedFd]) {
    cover_sockets(&mut covers, dirs);
    let sent = trees::folders(plans, dirs, user).and_then(|mounts| {
        let fds: Vec<BorrowedFd<'_>> = mounts.iter().map(AsFd::as_fd).collect();
        message::send(jail.as_fd(), &Command::Show(covers), &fds).map_err(|e| NotStarted::fault("handing over folders", e))
    });
    if let Err(why) = sent {
        // Only init can be spoken to over this end, and says it to the server. One that is dead says it by that.
        let _ = message::send(jail.as_fd(), &Command::Refuse(why), &[]);
    }
}

/// Adds covers over the sockets of the host that lie in folders: a program could connect to who listens there, whatever its own namespaces. Those
/// that are bound later stay open to it.
fn cover_sockets(covers: &mut [Vec<Cover>], dirs: &[OwnedFd]) {
    let bound = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    for (dir, covers) in dirs.iter().zip(covers) {
        let Ok(place) = std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd())) else { continue };
        // The path is the eighth field and may hold spaces (proc_net(5)).
        let paths = bound.lines().filter_map(|line| Some(line.split_at_checked(line.find(" /")? + 1)?.1));
        let below = paths.filter_map(|path| std::path::Path::new(path).strip_prefix(&place).ok()?.to_str());
        covers.extend(below.map(|path| Cover { path: path.to_owned(), object: None }));
    }
}

/// Ends one process and takes it.
fn finish(child: Pid) {
    let _ = rustix::process::kill_process(child, Signal::KILL);
    let _ = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), WaitOptions::empty()));
}

/// Ends the process groups of children of this process that are no jail's first process and are of another session: the orphans of a jail that
/// has no process namespace. A program cannot leave the group that it was started in.
fn end_orphans(known: &[Pid]) {
    use rustix::process::{getpgid, getpgrp, getsid, kill_process_group};
    let (Ok(own), own_group) = (getsid(None), getpgrp()) else { return };
    for pid in init::watch::own_children().into_iter().filter(|pid| !known.contains(pid)) {
        let (Ok(session), Ok(group)) = (getsid(Some(pid)), getpgid(Some(pid))) else { continue };
        if session != own && group != own_group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
