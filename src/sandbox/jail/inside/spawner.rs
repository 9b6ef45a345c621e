//! The one process that forks: small, single-threaded, started by the server and dead when the server is.
//!
//! Each call is either given to a jail that waits, or made from nothing in a fork of this process.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signalfd::SignalFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};

use super::attend::tell;
use super::cell::{Cell, Heard, Remains};
use super::cgroup::{Group, Place};
use super::charge::Charge;
use super::nets::Nets;
use super::pool::{Pool, Step};
use super::retired::Retired;
use super::supervisor::{self, Handed};
use super::trees::Eyes;
use super::users::{User, Users};
use super::zygote::{self, Made};
use super::{enter, init, raw, seat, site, strays, trees};
use crate::sandbox::jail::ground::Ground;
use crate::sandbox::jail::kind::{Kind, Known};
use crate::sandbox::jail::order::{self, Order, Word};
use crate::sandbox::jail::tally::{self, Pooled};

/// What is added to the nice value where shares of processors cannot be bounded.
const LOW_PRIORITY: i32 = 10;
/// The last of the signals (`signal(7)`).
const MOST_SIGNALS: i32 = 64;
/// How many kinds of calls have jails that wait.
const MOST_POOLS: usize = 3;

/// What goes on in which process after a fork.
#[derive(Debug)]
pub(super) enum Turn {
    /// Still the spawner.
    Spawner,
    /// A forked process that has done its work.
    Leave(ExitCode),
}

/// Serves orders over standard input until its other end is closed.
pub(super) fn serve() -> ExitCode {
    // Nothing that the server's own parent left open may be seen by a program.
    if raw::close_from(3).is_err() {
        return ExitCode::from(70);
    }
    // A program finds them as an interpreter does that a shell starts, wherever the server runs: `nohup`, a shell's background. A broken pipe stays
    // an error of whoever writes here; Python has it so as well.
    (1..=MOST_SIGNALS).filter(|signal| *signal != nix::libc::SIGPIPE).for_each(raw::heed);
    // Calls in flight and jails that wait hold some ten descriptors each; programs have a bound of their own.
    let files = rustix::process::getrlimit(Resource::Nofile);
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    // A terminal's interrupt is for the server; the server then ends its jails itself.
    let _ = rustix::process::setsid();
    let Ok(server) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else { return ExitCode::from(70) };
    // Forked processes must not keep the server's channel open by its old number.
    let Ok(nothing) = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) else { return ExitCode::from(70) };
    let Ok(tally) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3) else { return ExitCode::from(70) };
    if raw::place(nothing.as_raw_fd(), 0).is_err() || raw::place(nothing.as_raw_fd(), 1).is_err() {
        return ExitCode::from(70);
    }
    // Programs that were forked from a waiting interpreter become children of this process.
    let Ok(signals) = init::listen() else { return ExitCode::from(70) };
    if rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_err() {
        return ExitCode::from(70);
    }
    // Before the workshop is entered: there the hierarchy is no longer ours.
    let place = Place::find();
    site::sweep();
    if !place.has_cpu() {
        // No bound on the share of a processor, but everything else on the machine comes first.
        let _ = rustix::process::nice(LOW_PRIORITY);
    }
    // Asked before other namespaces are entered.
    enter::is_exempt();
    let mut spawner = Spawner {
        server: Some(server),
        workshop: enter::enter_workshop().is_ok(),
        pools: Vec::new(),
        retired: Vec::new(),
        signals,
        place,
        nets: Nets::default(),
        users: if enter::eyes() == Eyes::Own { None } else { Users::reserve() },
        alone: Vec::new(),
        last_fresh: None,
        tally: Some(tally),
        told: Vec::new(),
        known: Known::default(),
        taken: 0,
    };
    loop {
        match spawner.turn() {
            Turn::Spawner => {}
            Turn::Leave(code) => raw::leave(u8::from(code != ExitCode::SUCCESS)),
        }
    }
}

/// Takes every dead child, and says whether there are living ones.
fn has_children() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// A call that is made from nothing.
#[derive(Debug)]
struct Alone {
    supervisor: Pid,
    /// Whether nothing but a process group holds its processes together.
    grouped: bool,
    /// The bound of its memory.
    group: Group,
    charge: Option<Charge>,
    /// Its user number, until it is dead.
    user: Option<User>,
}

impl Alone {
    fn hear(&mut self, heard: &Heard) {
        if self.charge.as_mut().is_some_and(|charge| charge.is_over(heard)) {
            // What it has built dies with it, though not at once.
            let _ = rustix::process::kill_process(self.supervisor, Signal::KILL);
            if let Some(user) = self.user.take() {
                user.leave();
            }
        }
    }
}

#[derive(Debug)]
struct Spawner {
    server: Option<OwnedFd>,
    workshop: bool,
    pools: Vec<Pool>,
    retired: Vec<Retired>,
    signals: SignalFd,
    place: Place,
    nets: Nets,
    /// The user numbers that jails have for themselves, where this process is root.
    users: Option<Users>,
    /// Calls that are made from nothing, by supervisors of their own.
    alone: Vec<Alone>,
    /// The last call that was to start its own interpreter and found no pool.
    last_fresh: Option<Arc<Kind>>,
    /// Where those who watch find what waits here, and what stands there.
    tally: Option<OwnedFd>,
    told: Vec<Pooled>,
    known: Known,
    /// How many orders were taken.
    taken: u64,
}

impl Spawner {
    /// Waits for something, and does it.
    fn turn(&mut self) -> Turn {
        let heard = self.wait();
        if self.server.as_ref().is_some_and(|server| heard.has(server.as_fd())) {
            let known = &mut self.known;
            match self.server.as_ref().map(|server| order::receive_order(server.as_fd(), known)) {
                Some(Ok(Some((order, fds)))) => {
                    return match self.take(order, fds) {
                        // At once: what it waits for is not to wait for a turn. Nothing is heard before, see [`Pool::hear`].
                        Turn::Spawner => self.step_all(),
                        leave @ Turn::Leave(_) => leave,
                    };
                }
                Some(Err(_)) => {}
                Some(Ok(None)) | None => return self.close(),
            }
        }
        self.pools.iter_mut().for_each(|pool| pool.hear(&heard));
        self.retired.iter_mut().for_each(|retired| retired.hear(&heard));
        self.alone.iter_mut().for_each(|alone| alone.hear(&heard));
        if heard.has(self.signals.as_fd()) {
            while let Ok(Some(_)) = self.signals.read_signal() {}
        }
        while let Some((pid, end)) = raw::reap() {
            let stranger = !self.knows(pid);
            for Remains { group, net, user: _ } in self.pools.iter_mut().filter_map(|pool| pool.died(pid, &end, stranger)) {
                if let Some(group) = group {
                    self.place.take_back(group);
                }
                if let Some(net) = net {
                    self.nets.take_back(net);
                }
            }
            self.retired.retain_mut(|retired| !retired.died(pid, &end));
            let dead: Vec<Alone> = self.alone.extract_if(.., |alone| alone.supervisor == pid).collect();
            // INVARIANT: what it left is ended before the call is answered.
            if dead.iter().any(|dead| dead.grouped) {
                strays::end(|pid| self.knows(pid));
            }
            for dead in dead {
                if let Some(charge) = dead.charge {
                    charge.answer(&end, Some(&dead.group));
                }
            }
        }
        if let Some(over) = self.pools.iter().position(|pool| pool.is_broken() || pool.is_idle(Instant::now())) {
            self.retired.extend(self.pools.remove(over).retire());
        }
        self.step_all()
    }

    /// Whether a child with this number belongs to something that is told of here.
    fn knows(&self, pid: Pid) -> bool {
        self.pools.iter().any(|pool| pool.knows(pid))
            || self.retired.iter().any(|retired| retired.knows(pid))
            || self.alone.iter().any(|alone| alone.supervisor == pid)
    }

    /// Does what the pools want.
    fn step_all(&mut self) -> Turn {
        for index in 0..self.pools.len() {
            if let leave @ Turn::Leave(_) = self.step(index) {
                return leave;
            }
        }
        self.tell_tally();
        Turn::Spawner
    }

    /// Writes down what waits, where it is not what was written last.
    fn tell_tally(&mut self) {
        let now: Vec<Pooled> = self.pools.iter().map(Pool::tally).collect();
        if let Some(file) = self.tally.as_ref().filter(|_| now != self.told) {
            tally::write(file, &now);
            self.told = now;
        }
    }

    /// Ends every jail, and stays until they are gone: then their memory groups can be removed.
    fn close(&mut self) -> Turn {
        let supervisors: Vec<Pid> = self.alone.iter().map(|alone| alone.supervisor).collect();
        let mut groups: Vec<Group> = self.alone.drain(..).map(|alone| alone.group).collect();
        groups.extend(self.pools.drain(..).flat_map(Pool::close));
        groups.extend(self.retired.drain(..).filter_map(Retired::close));
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) && has_children() {
            if begun.elapsed() > Duration::from_millis(300) {
                // They hear the end of the server themselves. With those that do not, all dies that they have built.
                for supervisor in &supervisors {
                    if matches!(rustix::process::waitpid(Some(*supervisor), WaitOptions::NOHANG), Ok(None)) {
                        let _ = rustix::process::kill_process(*supervisor, Signal::KILL);
                    }
                }
            }
            let _ = poll(&mut [PollFd::new(&self.signals, PollFlags::IN)], Some(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 }));
            while let Ok(Some(_)) = self.signals.read_signal() {}
        }
        strays::end(|_| false);
        drop(groups);
        self.place.clear();
        Turn::Leave(ExitCode::SUCCESS)
    }

    /// Waits for something to be said, or done.
    fn wait(&self) -> Heard {
        let retired = || self.retired.iter().map(Retired::cell);
        let own = self.server.iter().map(AsFd::as_fd).chain([self.signals.as_fd()]);
        let channels = own.chain(self.pools.iter().flat_map(Pool::channels)).chain(retired().filter_map(Cell::channel));
        let cells = self.pools.iter().flat_map(Pool::ears).chain(retired().filter_map(Cell::ear));
        let ears = cells.chain(self.alone.iter().filter_map(|alone| alone.charge.as_ref()?.ear()));
        let due = self.pools.iter().filter_map(Pool::due).chain(retired().filter_map(Cell::due));
        let due = due.chain(self.alone.iter().filter_map(|alone| alone.charge.as_ref()?.due())).min();
        Heard::wait(channels, ears, due.map(|due| due.saturating_duration_since(Instant::now()).max(Duration::from_micros(100))))
    }

    fn step(&mut self, index: usize) -> Turn {
        let Some(pool) = self.pools.get_mut(index) else { return Turn::Spawner };
        match pool.step() {
            Step::None => Turn::Spawner,
            Step::Cold(order, handed) if pool.call_alone(&order, &handed) => {
                drop(order);
                Turn::Spawner
            }
            Step::Cold(order, handed) => self.cold(&order, handed),
            Step::Zygote => {
                match zygote::start(&pool.template()) {
                    Ok(Made::Zygote(zygote)) => pool.add_zygote(zygote),
                    Ok(Made::Leave(code)) => return Turn::Leave(code),
                    Err(_) => pool.fail(),
                }
                Turn::Spawner
            }
            Step::Cell => {
                let order = pool.template();
                let Ok((channel, seat)) = order::channel() else {
                    // Out of descriptors, and the calls that wait hold some: made from nothing, they give them back.
                    pool.fail();
                    return Turn::Spawner;
                };
                let group = self.place.make(&order.kind.limits);
                let net = if order.kind.network { None } else { self.nets.step_in() };
                let user = if pool.has_own_users() { self.users.as_ref().and_then(Users::take) } else { None };
                let forked = enter::fork_first(&order, net.is_some(), user.as_ref().map(|user| user.number));
                if net.is_some() && !matches!(forked, Ok((None, _))) {
                    self.nets.come_home();
                }
                match forked {
                    Ok((None, owner)) => {
                        let counter = group.cpu_time();
                        let kept = owner.descriptors().chain([seat.as_raw_fd()]).chain(counter.as_ref().map(AsRawFd::as_raw_fd));
                        let code = raw::close_all_but(kept)
                            .map_or(ExitCode::FAILURE, |()| seat::run(&order, owner, &group.lacks(), &seat, counter));
                        // Nothing else of it is this process's to close or to remove, the group least of all.
                        std::mem::forget((group, channel, net, user));
                        Turn::Leave(code)
                    }
                    Ok((Some(pid), _)) => {
                        if let Some(pool) = self.pools.get_mut(index) {
                            pool.add_cell(pid, channel, Remains { group: Some(group), net, user });
                        }
                        Turn::Spawner
                    }
                    Err(_) => {
                        if let Some(pool) = self.pools.get_mut(index) {
                            pool.fail();
                        }
                        Turn::Spawner
                    }
                }
            }
        }
    }

    fn take(&mut self, order: Order, fds: Vec<OwnedFd>) -> Turn {
        self.taken += 1;
        if let Some(file) = &self.tally {
            tally::note_taken(file, self.taken);
        }
        let Some(handed) = Handed::sort(fds) else { return Turn::Spawner };
        if !handed.program.ticket.is_there() {
            // It was given up on its way.
            return Turn::Spawner;
        }
        if handed.roots.len() != order.kind.roots.len() || order.asked.masked.len() != order.kind.roots.len() {
            tell(&handed.call, &Word::Fault(format!("{} roots came for {}", handed.roots.len(), order.kind.roots.len())));
            return Turn::Spawner;
        }
        if order.asked.ahead && (!order.kind.command.is_empty() || !self.workshop || order.kind.ground != Ground::Whole) {
            return Turn::Spawner;
        }
        if !order.kind.command.is_empty() || !self.workshop || order.kind.ground != Ground::Whole {
            return self.cold(&order, handed);
        }
        let own_users = self.has_own_users(&order, &handed);
        let found = self.pools.iter().position(|pool| pool.is_for(&order, own_users));
        if order.asked.ahead {
            // Pools that are there have had calls; they do not make room for one that may get none.
            if found.is_none() && self.pools.len() < MOST_POOLS {
                self.pools.push(Pool::new(&order, own_users));
            }
            if let Some(pool) = self.pools.iter_mut().find(|pool| pool.is_for(&order, own_users)) {
                pool.call_ahead();
            }
            return Turn::Spawner;
        }
        if order.asked.fresh && found.is_none() && !self.last_fresh.as_ref().is_some_and(|last| last.is(&order.kind)) {
            // One such call may be the only one, as those are that find out what this machine can do.
            self.last_fresh = Some(Arc::clone(&order.kind));
            return self.cold(&order, handed);
        }
        let index = if let Some(found) = found {
            found
        } else {
            if self.pools.len() >= MOST_POOLS {
                // The oldest makes room, unless calls wait for it.
                let Some(oldest) = self.pools.iter().position(|pool| !pool.is_waited_for()) else { return self.cold(&order, handed) };
                self.retired.extend(self.pools.remove(oldest).retire());
            }
            self.pools.push(Pool::new(&order, own_users));
            self.pools.len() - 1
        };
        let Some(pool) = self.pools.get_mut(index) else { return Turn::Spawner };
        let back = if order.asked.fresh { Some((order, handed)) } else { pool.call(order, handed) };
        match back {
            Some((order, handed)) if !pool.call_alone(&order, &handed) => self.cold(&order, handed),
            _ => Turn::Spawner,
        }
    }

    /// Whether a call is made under a user number that no other jail has. Where mounts show the owner of a root as that user, every root has to
    /// let them; else what one program makes in it the next could not change.
    fn has_own_users(&self, order: &Order, handed: &Handed) -> bool {
        self.users.is_some()
            && match order.kind.ground {
                Ground::Whole => trees::can_show_as_another(&handed.roots),
                Ground::Rooted | Ground::Bare => true,
                Ground::Wrapped(_) => false,
            }
    }

    /// Makes a call from nothing, in a fork.
    fn cold(&mut self, order: &Order, handed: Handed) -> Turn {
        let group = self.place.make(&order.kind.limits);
        let user = if self.has_own_users(order, &handed) { self.users.as_ref().and_then(Users::take) } else { None };
        match self.fork() {
            Ok(None) => {
                let code = supervisor::serve(order, handed, user.as_ref().map(|user| user.number), &group);
                std::mem::forget((group, user));
                Turn::Leave(code)
            }
            Ok(Some(supervisor)) => {
                // It goes on without one as well.
                let charge = Charge::of_supervisor(&handed, order.asked.wall).ok();
                self.alone.push(Alone { supervisor, grouped: !order.kind.ground.has_init(), group, charge, user });
                Turn::Spawner
            }
            Err(e) => {
                tell(&handed.call, &Word::Fault(format!("starting a supervisor: {e}")));
                Turn::Spawner
            }
        }
    }

    /// Forks; the child keeps no channel of the spawner's open.
    fn fork(&mut self) -> Result<Option<Pid>, String> {
        let child = raw::fork()?;
        if child.is_none() {
            self.close_in_child();
        }
        Ok(child)
    }

    /// In a forked process: closes what is the spawner's. Nothing is freed: the child would have to copy what it frees first.
    fn close_in_child(&mut self) {
        let own = self.server.iter().chain(&self.tally).map(AsRawFd::as_raw_fd);
        let jails = self.retired.iter().flat_map(|retired| retired.cell().descriptors());
        let alone = self.alone.iter().flat_map(|alone| alone.group.descriptors().chain(alone.charge.iter().flat_map(Charge::descriptors)));
        for fd in own
            .chain(self.place.descriptors())
            .chain(self.nets.descriptors())
            .chain(self.pools.iter().flat_map(Pool::descriptors))
            .chain(jails)
            .chain(alone)
        {
            let _ = nix::unistd::close(fd);
        }
        std::mem::forget((self.server.take(), self.tally.take()));
        std::mem::forget((std::mem::take(&mut self.pools), std::mem::take(&mut self.retired), std::mem::take(&mut self.alone)));
    }
}
