//! The jails that wait for calls of one kind, with the interpreter they are filled from.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use super::attend::tell;
use super::cgroup::Group;
use super::supervisor::Handed;
use super::zygote::Zygote;
use super::{enter, trees};
use crate::sandbox::jail::order::{self, End, Go, Order, Word};
use crate::sandbox::jail::outcome::Limit;
use crate::sandbox::jail::tally::Pooled;

/// Jails that wait, at most. Each takes about 1.5 MiB of its own.
const READY: usize = 3;
/// Jails under construction at one time: building takes processor time from the programs that run.
const BUILDING: usize = 2;
/// Calls that wait for a jail; more of them are made from nothing at once.
const WAITING: usize = 64;
/// So long after a call no jail is built, unless one is waited for: the call itself gets the processor.
const QUIET: Duration = Duration::from_millis(3);
/// So many forks, then a new interpreter is started: what its memory looks like does not stay the same for ever.
const FORKS: u32 = 5000;
/// So many jails in a row that came to nothing, and the pool is given up for a while.
const FAILURES: u32 = 3;

/// Waiting jails for one kind of call.
#[derive(Debug)]
pub(super) struct Pool {
    kind: String,
    template: Order,
    zygote: Option<Zygote>,
    zygote_ready: bool,
    forks: u32,
    failures: u32,
    cells: Vec<Cell>,
    queue: VecDeque<(Order, Handed)>,
    /// The jails for which the interpreter was told to fork, in the order in which it will answer.
    forking: VecDeque<Pid>,
    last_call: Instant,
}

/// One jail of a pool.
#[derive(Debug)]
struct Cell {
    supervisor: Pid,
    channel: OwnedFd,
    state: State,
    /// The bound of its memory, where there is one.
    group: Option<Group>,
    /// The forked interpreter, which becomes the spawner's child when the process that forked it leaves.
    program: Option<i32>,
    /// Whether it sits behind all walls. It may say so before its number is known here.
    seated: bool,
}

/// A jail whose pool is gone.
#[derive(Debug)]
pub(super) struct Retired(Cell);

impl Retired {
    /// As [`Pool::close`].
    pub(super) fn close(self) -> Option<Group> {
        self.0.close()
    }

    /// As [`Pool::forget`].
    pub(super) fn forget(self) {
        self.0.forget();
    }

    /// Whether this was its last process.
    pub(super) fn died(&self, pid: Pid, end: &End) -> bool {
        self.0.ended(pid, end);
        self.0.supervisor == pid
    }
}

/// What the kernel's count of kills says.
pub(super) fn oom(kills: u64) -> Option<(Limit, String)> {
    (kills > 0).then(|| (Limit::Memory, format!("oom_kill {kills}: the kernel stopped {kills} of its processes at the memory limit")))
}

impl Cell {
    /// Ends the jail with everything in it.
    fn end(&self) {
        // Its supervisor takes it down in order then; killed itself, it would leave processes behind for a moment.
        let _ = rustix::net::shutdown(&self.channel, rustix::net::Shutdown::Both);
    }

    /// Tells init of the end of its program.
    fn ended(&self, pid: Pid, end: &End) {
        if self.program == Some(pid.as_raw_nonzero().get()) {
            let mut end = end.clone();
            end.stopped = self.group.as_ref().and_then(|group| oom(group.kills()));
            let _ = order::send(self.channel.as_fd(), &Word::Ended(end), &[]);
        }
    }

    /// Whether a call can be given to it. Without the number of its program nobody would hear of the end of a short one, nor would it be in
    /// its memory group from its first line on.
    fn is_made(&self) -> bool {
        self.seated && self.state == State::Building && self.program.is_some_and(|pid| pid > 0)
    }

    fn close(self) -> Option<Group> {
        self.end();
        self.group
    }

    /// In a forked process: closes what belongs to the spawner, and leaves alone what is the spawner's to remove.
    fn forget(self) {
        std::mem::forget(self.group);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Building,
    Ready,
    Taken,
}

/// What the spawner is to do for a pool.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing.
    None,
    /// Start an interpreter.
    Zygote,
    /// Build a jail.
    Cell,
    /// Make a call from nothing: no jail will come for it.
    Cold(Box<Order>, Handed),
}

impl Pool {
    /// A pool for calls like this one.
    pub(super) fn new(order: &Order, kind: String) -> Self {
        Self {
            kind,
            template: order.clone(),
            zygote: None,
            zygote_ready: false,
            forks: 0,
            failures: 0,
            cells: Vec::new(),
            queue: VecDeque::new(),
            forking: VecDeque::new(),
            last_call: Instant::now(),
        }
    }

    /// What must be the same for a waiting jail to serve a call: all but the time, the start folder, the masks and whose it is.
    pub(super) fn kind(order: &Order) -> String {
        let mut order = order.clone();
        order.limits.wall = Duration::ZERO;
        order.start_dir.clear();
        order.profile.clear();
        order.roots.iter_mut().for_each(|root| root.masked.clear());
        serde_json::to_string(&order).unwrap_or_default()
    }

    /// Whether the pool is for this kind.
    pub(super) fn is_for(&self, kind: &str) -> bool {
        self.kind == kind
    }

    /// What a jail of this pool is built from.
    pub(super) fn template(&self) -> &Order {
        &self.template
    }

    /// Everything that may speak: the interpreter, then the jails.
    pub(super) fn channels(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let zygote = self.zygote.iter().map(|zygote| zygote.channel.as_fd());
        zygote.chain(self.cells.iter().filter(|cell| cell.state != State::Taken).map(|cell| cell.channel.as_fd()))
    }

    /// When something is to be done without anything being said.
    pub(super) fn due(&self) -> Option<Instant> {
        let building = self.count(State::Building);
        if !self.queue.is_empty() {
            // A call waits: at once, unless enough is being built already, which says itself when it is done.
            return (!self.zygote_ready || building < BUILDING.min(self.queue.len())).then(Instant::now);
        }
        let short = self.zygote_ready && self.count(State::Ready) + building < READY && building < BUILDING;
        (short || self.zygote.is_none()).then(|| self.last_call + QUIET)
    }

    /// What waits in it.
    pub(super) fn tally(&self) -> Pooled {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Pooled {
            profile: self.template.profile.clone(),
            ready: number(self.count(State::Ready)),
            building: number(self.count(State::Building)),
            waiting: number(self.queue.len()),
        }
    }

    fn count(&self, state: State) -> usize {
        self.cells.iter().filter(|cell| cell.state == state).count()
    }

    /// Takes a call: gives it to a jail, or has it wait for one, or gives it back.
    pub(super) fn call(&mut self, order: Order, handed: Handed) -> Option<(Order, Handed)> {
        self.last_call = Instant::now();
        if let Some(cell) = self.cells.iter_mut().find(|cell| cell.state == State::Ready) {
            cell.state = State::Taken;
            give(cell, &order, &handed);
            return None;
        }
        if self.zygote_ready && self.queue.len() < WAITING {
            self.queue.push_back((order, handed));
            return None;
        }
        Some((order, handed))
    }

    /// Takes note of a dead child.
    pub(super) fn died(&mut self, pid: Pid, end: &End) {
        self.cells.iter().for_each(|cell| cell.ended(pid, end));
        if self.zygote.as_ref().is_some_and(|zygote| zygote.pid == pid) {
            self.failures += u32::from(!self.zygote_ready);
            (self.zygote, self.zygote_ready) = (None, false);
            self.forking.clear();
        }
        if self.cells.iter().any(|cell| cell.supervisor == pid && cell.state == State::Building) {
            self.failures += 1;
        }
        self.cells.retain(|cell| cell.supervisor != pid);
    }

    /// Ends the pool and every jail of it; what is left are the memory groups, to be removed when all are dead.
    pub(super) fn close(self) -> impl Iterator<Item = Group> {
        self.cells.into_iter().filter_map(Cell::close)
    }

    /// In a forked process: closes the pool's channels.
    pub(super) fn forget(self) {
        self.cells.into_iter().for_each(Cell::forget);
    }

    /// Gives the pool up. What it leaves must be kept until the supervisors are dead: closing the channel of a jail that has just
    /// been given a call would end the call.
    pub(super) fn retire(self) -> impl Iterator<Item = Retired> {
        self.cells.iter().filter(|cell| cell.state != State::Taken).for_each(Cell::end);
        self.cells.into_iter().map(Retired)
    }

    /// Whether calls wait for a jail of it; giving it up would drop them.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether nothing good comes of it any more.
    pub(super) fn is_broken(&self) -> bool {
        self.failures >= FAILURES && self.queue.is_empty()
    }

    /// Hears what was said, and says what is to be done.
    pub(super) fn step(&mut self) -> Step {
        self.hear();
        while let Some(cell) = self.cells.iter_mut().find(|cell| cell.state == State::Ready) {
            let Some((order, handed)) = self.queue.pop_front() else { break };
            cell.state = State::Taken;
            give(cell, &order, &handed);
        }
        if self.failures >= FAILURES || (!self.zygote_ready && !self.queue.is_empty()) {
            return self.queue.pop_front().map_or(Step::None, |(order, handed)| Step::Cold(Box::new(order), handed));
        }
        let quiet = self.last_call.elapsed() >= QUIET;
        if self.zygote.is_none() {
            return if quiet { Step::Zygote } else { Step::None };
        }
        if self.forks >= FORKS && self.queue.is_empty() && self.count(State::Building) == 0 {
            // Its channel is closed with it, and it leaves; the jails that wait stay good.
            (self.zygote, self.zygote_ready, self.forks) = (None, false, 0);
            self.forking.clear();
            return Step::None;
        }
        let (ready, building) = (self.count(State::Ready), self.count(State::Building));
        let wanted =
            if self.queue.is_empty() { usize::from(quiet && ready + building < READY) } else { self.queue.len().saturating_sub(building) };
        if self.zygote_ready && wanted > 0 && building < BUILDING { Step::Cell } else { Step::None }
    }

    /// Takes in the interpreter that was started.
    pub(super) fn add_zygote(&mut self, zygote: Zygote) {
        self.zygote = Some(zygote);
    }

    /// Takes in the jail that is being built.
    pub(super) fn add_cell(&mut self, supervisor: Pid, channel: OwnedFd, group: Option<Group>) {
        self.cells.push(Cell { supervisor, channel, group, state: State::Building, program: None, seated: false });
    }

    /// Notes that something could not be started.
    pub(super) fn fail(&mut self) {
        self.failures += 1;
    }

    fn hear(&mut self) {
        if let Some(zygote) = &self.zygote
            && has_words(&zygote.channel)
        {
            match order::receive::<Word>(zygote.channel.as_fd()) {
                Ok(Some((Word::Seated, _))) => self.zygote_ready = true,
                Ok(Some((Word::Forked(pid), _))) => {
                    let supervisor = self.forking.pop_front();
                    if let Some(cell) = self.cells.iter_mut().find(|cell| Some(cell.supervisor) == supervisor) {
                        cell.program = Some(pid);
                    }
                }
                _ => {}
            }
        }
        for cell in &mut self.cells {
            if cell.state == State::Taken || !has_words(&cell.channel) {
                continue;
            }
            match order::receive::<Word>(cell.channel.as_fd()) {
                Ok(Some((Word::Built, fds))) => {
                    // A program outside its group would be bounded by the other means alone; that is not what was said.
                    let Ok(doors) = cell.group.as_ref().map_or(Ok(Vec::new()), Group::doors) else {
                        cell.end();
                        continue;
                    };
                    if let Some(zygote) = &self.zygote {
                        let word = format!("fork {}", doors.len());
                        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).chain(doors.iter().map(AsFd::as_fd)).collect();
                        let _ = order::send_bytes(zygote.channel.as_fd(), word.as_bytes(), &fds);
                        self.forking.push_back(cell.supervisor);
                        self.forks += 1;
                    }
                }
                Ok(Some((Word::Seated, _))) => cell.seated = true,
                // A jail that closes its channel dies, and is taken out of the list then.
                _ => cell.state = State::Taken,
            }
        }
        for cell in self.cells.iter_mut().filter(|cell| cell.is_made()) {
            cell.state = State::Ready;
            self.failures = 0;
        }
    }
}

fn has_words(channel: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(channel, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
}

/// Hands a call to a jail that waits, with its roots as detached mounts.
fn give(cell: &Cell, order: &Order, handed: &Handed) {
    let roots = match trees::roots(order, &handed.roots, enter::eyes()) {
        Ok(roots) => roots,
        Err(word) => {
            tell(&handed.call, &word);
            cell.end();
            return;
        }
    };
    let mut fds = vec![handed.call.as_fd()];
    fds.extend(handed.program.iter().map(AsFd::as_fd));
    fds.extend(roots.iter().map(|tree| tree.fd.as_fd()));
    let masked = order.roots.iter().map(|root| root.masked.clone()).collect();
    let go = Go { start_dir: order.start_dir.clone(), wall: order.limits.wall, masked };
    if let Err(e) = order::send(cell.channel.as_fd(), &go, &fds) {
        tell(&handed.call, &Word::Fault(format!("handing over a call: {e}")));
    }
}
