//! The jails that wait for calls of one kind, with the interpreter they are filled from.

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::cell::{Cell, Heard, Remains, State};
use super::cgroup::Group;
use super::retired::Retired;
use super::supervisor::Handed;
use super::zygote::Zygote;
use crate::sandbox::jail::order::{self, End, Order, Word};
use crate::sandbox::jail::tally::Pooled;

/// Jails in which an interpreter waits, at most. Each takes about 1.5 MiB of its own.
const READY: usize = 3;
/// Jails that stand empty beside them: for calls that start an interpreter of their own, and for when all the others are taken. Each has the
/// hundred KiB of its init.
const EMPTY: usize = 2;
/// Jails under construction at one time, and as many into which an interpreter comes: that takes processor time from the programs that run.
const AT_ONCE: usize = 2;
/// Calls that wait for a jail; more of them are made from nothing at once.
const WAITING: usize = 64;
/// So long after a call no jail is built, unless one is waited for: the call itself gets the processor.
const QUIET: Duration = Duration::from_millis(3);
/// So many forks, then a new interpreter is started: what its memory looks like does not stay the same for ever.
const FORKS: u32 = 5000;
/// So long an interpreter may take to start, with all that is imported into it.
const STARTING: Duration = Duration::from_mins(1);
/// So long after its death a process may be said to have been a program.
const CLAIM: Duration = Duration::from_secs(2);
/// So long after the last call everything that waits is ended: the memory is of more use elsewhere.
const IDLE: Duration = Duration::from_mins(10);
/// So many jails in a row that came to nothing, and the pool is given up for a while.
const FAILURES: u32 = 3;

/// Waiting jails for one kind of call.
#[derive(Debug)]
pub(super) struct Pool {
    template: Rc<Order>,
    /// Whether its jails have user numbers of their own.
    own_users: bool,
    /// Whether calls come that an interpreter may wait for.
    warm: bool,
    zygote: Option<Zygote>,
    /// The one before it, which is dead: what it has forked for calls is still to be heard of.
    former: Option<Zygote>,
    forks: u32,
    failures: u32,
    cells: Vec<Cell>,
    queue: VecDeque<(Order, Handed)>,
    /// Strangers who died while an interpreter forked, and when: a short program may end before its number is known here.
    unclaimed: Vec<(Pid, End, Instant)>,
    last_call: Instant,
}

/// What a pool wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Nothing,
    /// A call made from nothing: no interpreter will come for it.
    Cold,
    /// Start an interpreter.
    Zygote,
    /// Let go of the one there is.
    Renewal,
    /// Have the interpreter fork into an empty jail.
    Seat,
    /// Build a jail.
    Cell,
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
    /// Make a call from nothing.
    Cold(Box<Order>, Handed),
}

impl Pool {
    /// A pool for calls like this one, in jails with user numbers of their own or with the shared one.
    pub(super) fn new(order: &Order, own_users: bool) -> Self {
        Self {
            template: Rc::new(order.clone()),
            own_users,
            warm: false,
            zygote: None,
            former: None,
            forks: 0,
            failures: 0,
            cells: Vec::new(),
            queue: VecDeque::new(),
            unclaimed: Vec::new(),
            last_call: Instant::now(),
        }
    }

    /// Whether the pool is for calls like this one.
    pub(super) fn is_for(&self, order: &Order, own_users: bool) -> bool {
        self.own_users == own_users && self.template.kind.is(&order.kind)
    }

    /// Whether its jails have user numbers of their own.
    pub(super) fn has_own_users(&self) -> bool {
        self.own_users
    }

    /// What a jail of this pool is built from.
    pub(super) fn template(&self) -> Rc<Order> {
        Rc::clone(&self.template)
    }

    /// Everything that may speak: the interpreters, then the jails.
    pub(super) fn channels(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let zygote = self.zygote.iter().chain(&self.former).map(|zygote| zygote.channel.as_fd());
        // Who waits may give up.
        let waiting = self.queue.iter().map(|(_, handed)| handed.call.as_fd());
        zygote.chain(self.cells.iter().filter_map(Cell::channel)).chain(waiting)
    }

    /// Where the server is heard to end a call that a jail has.
    pub(super) fn ears(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.cells.iter().filter_map(Cell::ear)
    }

    /// When something is to be done without anything being said.
    pub(super) fn due(&self) -> Option<Instant> {
        let starting = self.zygote.iter().filter(|zygote| !zygote.ready).map(|zygote| zygote.since + STARTING);
        let late = self.cells.iter().filter_map(Cell::due).chain(starting).min();
        let next = match self.want() {
            Want::Nothing => None,
            // A call waits: at once.
            _ if !self.queue.is_empty() => Some(Instant::now()),
            _ => Some(self.last_call + QUIET),
        };
        let idle = self.may_be_idle().then_some(self.last_call + IDLE);
        next.into_iter().chain(late).chain(idle).min()
    }

    /// Whether there is no call: none waits, and no program runs in a jail.
    fn may_be_idle(&self) -> bool {
        !self.is_waited_for() && self.count(State::Taken) == 0
    }

    /// Whether no call came for so long that nothing is to wait for the next one.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.may_be_idle() && now.saturating_duration_since(self.last_call) >= IDLE
    }

    /// What waits in it.
    pub(super) fn tally(&self) -> Pooled {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Pooled {
            profile: self.template.asked.profile.clone(),
            ready: number(self.count(State::Ready)),
            empty: number(self.count(State::Empty)),
            building: number(self.count(State::Building) + self.count(State::Seating)),
            waiting: number(self.queue.len()),
        }
    }

    fn count(&self, state: State) -> usize {
        self.cells.iter().filter(|cell| cell.state() == state).count()
    }

    /// Whether there is an interpreter that can fork.
    fn has_interpreter(&self) -> bool {
        self.zygote.as_ref().is_some_and(|zygote| zygote.ready)
    }

    fn want(&self) -> Want {
        let [building, empty, seating] = [State::Building, State::Empty, State::Seating].map(|state| self.count(state));
        if !self.queue.is_empty() {
            if !self.has_interpreter() || self.failures >= FAILURES {
                return Want::Cold;
            }
            return match (AT_ONCE.saturating_sub(seating), empty) {
                (1.., 1..) => Want::Seat,
                _ if self.queue.len() > empty + building && building < AT_ONCE => Want::Cell,
                _ => Want::Nothing,
            };
        }
        if self.failures >= FAILURES {
            return Want::Nothing;
        }
        if self.warm && self.zygote.is_none() {
            return Want::Zygote;
        }
        if self.forks >= FORKS && building + seating == 0 {
            return Want::Renewal;
        }
        let free = self.cells.iter().filter(|cell| cell.may_be_given_one()).count();
        let missing = if self.has_interpreter() { READY.saturating_sub(free) } else { 0 };
        if missing > 0 && empty > 0 && seating < AT_ONCE {
            return Want::Seat;
        }
        if empty + building < missing + EMPTY && building < AT_ONCE { Want::Cell } else { Want::Nothing }
    }

    /// Takes a call, for the next step to give it to a jail, or gives it back where none will come.
    pub(super) fn call(&mut self, order: Order, handed: Handed) -> Option<(Order, Handed)> {
        self.last_call = Instant::now();
        self.warm = true;
        let may_be_given = self.has_interpreter() || self.cells.iter().any(Cell::may_be_given_one);
        if may_be_given && self.queue.len() < WAITING {
            self.queue.push_back((order, handed));
            return None;
        }
        Some((order, handed))
    }

    /// Takes note that calls are to come.
    pub(super) fn call_ahead(&mut self) {
        self.last_call = Instant::now();
        self.warm = true;
    }

    /// Gives a call that starts its own interpreter to an empty jail; false where there is none.
    pub(super) fn call_alone(&mut self, order: &Order, handed: &Handed) -> bool {
        self.last_call = Instant::now();
        self.cells.iter_mut().find(|cell| cell.state() == State::Empty).is_some_and(|cell| cell.give_to_new(order, handed))
    }

    /// Whether a child of the spawner with this number is of the pool.
    pub(super) fn knows(&self, pid: Pid) -> bool {
        self.zygote.iter().chain(&self.former).any(|zygote| zygote.pid == pid) || self.cells.iter().any(|cell| cell.knows(pid))
    }

    /// Takes note of a dead child, which may be a stranger to everybody; what is left of a jail that is gone with it.
    pub(super) fn died(&mut self, pid: Pid, end: &End, stranger: bool) -> Option<Remains> {
        self.cells.iter_mut().for_each(|cell| cell.died(pid, end));
        if let Some(zygote) = self.zygote.take_if(|zygote| zygote.pid == pid) {
            self.failures += u32::from(!zygote.ready);
            self.do_without(zygote);
        }
        if self.cells.iter().any(|cell| cell.is_of(pid) && !matches!(cell.state(), State::Taken | State::Ready)) {
            self.failures += 1;
        }
        if stranger && self.awaits_numbers() {
            // Nobody else is in there: numbers are given away again, and quickly where many programs run.
            self.unclaimed.retain(|(_, _, when)| when.elapsed() < CLAIM);
            self.unclaimed.push((pid, end.clone(), Instant::now()));
        }
        let gone = self.cells.iter().position(|cell| cell.is_of(pid))?;
        let remains = self.cells.remove(gone).into_remains();
        let cells = &self.cells;
        self.former.take_if(|former| !cells.iter().any(|cell| former.forking.contains(&cell.init())));
        if !self.awaits_numbers() {
            self.unclaimed.clear();
        }
        Some(remains)
    }

    /// Whether an interpreter has yet to say what it forked.
    fn awaits_numbers(&self) -> bool {
        self.zygote.iter().chain(&self.former).any(|zygote| !zygote.forking.is_empty())
    }

    /// Ends the interpreter: it may do nothing any more.
    fn let_go(&mut self) {
        if let Some(zygote) = self.zygote.take() {
            let _ = rustix::process::kill_process(zygote.pid, rustix::process::Signal::KILL);
            self.do_without(zygote);
        }
    }

    /// Does without an interpreter that is dead or dying. The jails in which a fork of it waits stay good, and so do those that have a call
    /// already: their programs may run by now.
    fn do_without(&mut self, zygote: Zygote) {
        self.forks = 0;
        self.cells.iter_mut().filter(|cell| cell.state() == State::Seating && cell.may_be_given_one()).for_each(Cell::end);
        if !zygote.forking.is_empty() {
            self.former = Some(zygote);
        }
    }

    /// Ends the pool and every jail of it; what is left are the memory groups, to be removed when all are dead.
    pub(super) fn close(mut self) -> impl Iterator<Item = Group> {
        self.let_go();
        self.cells.into_iter().filter_map(Cell::close)
    }

    /// In a forked process: what is to be closed there.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let zygote = self.zygote.iter().chain(&self.former).map(|zygote| zygote.channel.as_raw_fd());
        let queue = self.queue.iter().flat_map(|(_, handed)| handed.descriptors());
        zygote.chain(queue).chain(self.cells.iter().flat_map(Cell::descriptors))
    }

    /// Gives the pool up. What it leaves must be kept until the inits are dead: calls run in some.
    pub(super) fn retire(mut self) -> impl Iterator<Item = Retired> {
        self.let_go();
        self.cells.iter_mut().filter(|cell| cell.state() != State::Taken).for_each(Cell::end);
        self.cells.into_iter().map(Retired::new)
    }

    /// Whether calls wait for a jail of it, or for an interpreter that comes into one; giving it up would drop them.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.queue.is_empty() || self.cells.iter().any(|cell| cell.state() == State::Seating && !cell.may_be_given_one())
    }

    /// Whether nothing good comes of it any more.
    pub(super) fn is_broken(&self) -> bool {
        self.failures >= FAILURES && !self.is_waited_for()
    }

    /// Says what is to be done.
    pub(super) fn step(&mut self) -> Step {
        let now = Instant::now();
        let mut mute = self.zygote.as_ref().is_some_and(|zygote| !zygote.ready && zygote.since + STARTING <= now);
        for cell in self.cells.iter_mut().filter(|cell| cell.late().is_some_and(|late| late <= now)) {
            mute |= cell.is_unanswered();
            cell.end();
            self.failures += 1;
        }
        if mute {
            // It will not come to anything more: the calls that wait are made without it, and another is started.
            self.let_go();
        }
        loop {
            self.hand_out();
            let want = self.want();
            if self.queue.is_empty() && self.last_call.elapsed() < QUIET {
                return Step::None;
            }
            match want {
                Want::Nothing => return Step::None,
                Want::Cold => return self.queue.pop_front().map_or(Step::None, |(order, handed)| Step::Cold(Box::new(order), handed)),
                Want::Zygote => return Step::Zygote,
                Want::Cell => return Step::Cell,
                Want::Renewal => self.let_go(),
                Want::Seat => self.seat(),
            }
        }
    }

    /// Gives the calls that wait to the jails that can have one, first to those in which an interpreter sits.
    fn hand_out(&mut self) {
        while !self.queue.is_empty() {
            let at = self.cells.iter().position(|cell| cell.state() == State::Ready);
            let at = at.or_else(|| self.cells.iter().position(Cell::may_be_given_one));
            let Some(cell) = at.and_then(|at| self.cells.get_mut(at)) else { return };
            let Some((order, handed)) = self.queue.pop_front() else { return };
            // A call that was given up takes no jail.
            if handed.program.ticket.is_there() && !cell.give(&order, &handed) {
                self.queue.push_front((order, handed));
            }
        }
    }

    fn seat(&mut self) {
        let (Some(zygote), Some(cell)) = (&mut self.zygote, self.cells.iter_mut().find(|cell| cell.state() == State::Empty)) else {
            return;
        };
        cell.seat(zygote.channel.as_fd(), !self.queue.is_empty());
        if cell.state() == State::Seating {
            zygote.forking.push_back(cell.init());
            self.forks += 1;
        }
    }

    /// Takes in the interpreter that was started.
    pub(super) fn add_zygote(&mut self, zygote: Zygote) {
        self.zygote = Some(zygote);
    }

    /// Takes in the jail that is being built.
    pub(super) fn add_cell(&mut self, init: Pid, channel: OwnedFd, remains: Remains) {
        self.cells.push(Cell::new(init, channel, remains));
    }

    /// Notes that something could not be started.
    pub(super) fn fail(&mut self) {
        self.failures += 1;
    }

    /// Takes note of what an interpreter forked for the jail of this init; without a number that jail comes to nothing, and this is false.
    fn forked(&mut self, init: Option<Pid>, pid: i32) -> bool {
        let cell = self.cells.iter_mut().find(|cell| Some(cell.init()) == init);
        let good = pid > 0 || cell.is_none();
        if let Some(cell) = cell {
            if good {
                cell.has_program(pid);
            } else {
                cell.end();
            }
            if let Some(at) = self.unclaimed.iter().position(|(dead, ..)| dead.as_raw_nonzero().get() == pid) {
                let (dead, end, _) = self.unclaimed.swap_remove(at);
                cell.died(dead, &end);
            }
        }
        if !self.awaits_numbers() {
            self.unclaimed.clear();
        }
        good
    }

    /// Takes note of what was said. Nothing may have been opened since it was: a number would then be another channel's.
    pub(super) fn hear(&mut self, heard: &Heard) {
        if let Some(zygote) = self.zygote.as_mut().filter(|zygote| heard.has(zygote.channel.as_fd())) {
            match order::receive::<Word>(zygote.channel.as_fd()) {
                Ok(Some((Word::Seated, _))) => zygote.ready = true,
                Ok(Some((Word::Forked(pid), _))) => {
                    let init = zygote.forking.pop_front();
                    self.failures += u32::from(!self.forked(init, pid));
                }
                _ => {}
            }
        }
        if let Some(former) = self.former.as_mut().filter(|former| heard.has(former.channel.as_fd())) {
            let pid = match order::receive::<Word>(former.channel.as_fd()) {
                Ok(Some((Word::Forked(pid), _))) => Some(pid),
                // With the last process that may speak the channel is closed.
                Ok(None) => Some(0),
                // That it died with something unread is told before what it said (unix(7), ECONNRESET).
                _ => None,
            };
            if let Some(pid) = pid {
                let init = former.forking.pop_front();
                self.former.take_if(|former| former.forking.is_empty());
                self.forked(init, pid);
            }
        }
        let mut mute = false;
        for cell in &mut self.cells {
            let waited = cell.is_unanswered();
            cell.hear(heard);
            mute |= waited && cell.did_not_begin();
        }
        if mute {
            self.let_go();
        }
        if self.cells.iter().any(Cell::did_not_begin) {
            // Whatever held that one up holds up the others, too.
            self.cells.iter_mut().filter(|cell| matches!(cell.state(), State::Ready | State::Empty)).for_each(Cell::end);
        }
        self.queue.retain(|(_, handed)| !heard.has(handed.call.as_fd()));
        if self.cells.iter().any(|cell| cell.state() == State::Ready) {
            self.failures = 0;
        }
    }
}

#[cfg(test)]
#[path = "pool_waits.rs"]
mod waits;

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
