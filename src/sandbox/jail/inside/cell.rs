//! One jail that waits: built ahead, later with an interpreter in it, or given a call that starts one of its own.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use super::attend::tell;
use super::cgroup::Group;
use super::charge::Charge;
use super::supervisor::Handed;
use super::users::User;
use super::{enter, trees};
use crate::sandbox::jail::order::{self, End, Go, Groups, Order, Word};
use crate::sandbox::jail::outcome::Limit;

/// One jail of a pool.
#[derive(Debug)]
pub(super) struct Cell {
    /// Its pid 1, a child of the spawner.
    init: Pid,
    channel: OwnedFd,
    state: State,
    remains: Remains,
    /// Its namespaces and what else an interpreter needs to come in, until one was asked to.
    ways: Vec<OwnedFd>,
    /// The forked interpreter, which becomes the spawner's child when the process that forked it leaves.
    program: Option<i32>,
    /// Whether it sits behind all walls. It may say so before its number is known here.
    seated: bool,
    /// When the jail was begun, then when an interpreter was asked to come in.
    asked: Instant,
    /// The call it was given.
    charge: Option<Charge>,
}

/// What is left of a jail whose processes are dead, for another.
#[derive(Debug, Default)]
pub(super) struct Remains {
    /// The bound of its memory, where there is one.
    pub(super) group: Option<Group>,
    /// Its network namespace, where that may serve again.
    pub(super) net: Option<OwnedFd>,
    /// Its user number, where no other jail has it.
    pub(super) user: Option<User>,
}

/// How far a jail is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is being built.
    Building,
    /// It stands, with nothing in it but its init.
    Empty,
    /// An interpreter is coming in.
    Seating,
    /// An interpreter waits in it.
    Ready,
    /// It has a call, or comes to its end.
    Taken,
}

/// So long an interpreter may take to come in, and so long init may take to build.
const PATIENCE: Duration = Duration::from_secs(2);
const BUILDING: Duration = Duration::from_secs(10);

/// What the kernel's count of kills says.
pub(super) fn oom(kills: u64) -> Option<(Limit, String)> {
    (kills > 0).then(|| (Limit::Memory, format!("oom_kill {kills}: the kernel stopped {kills} of its processes at the memory limit")))
}

impl Cell {
    /// A jail that is being built by `init`.
    pub(super) fn new(init: Pid, channel: OwnedFd, remains: Remains) -> Self {
        let state = State::Building;
        Self { init, channel, state, remains, ways: Vec::new(), program: None, seated: false, asked: Instant::now(), charge: None }
    }

    /// How far it is.
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Whether this is its init.
    pub(super) fn is_of(&self, init: Pid) -> bool {
        self.init == init
    }

    /// The number of its init.
    pub(super) fn init(&self) -> Pid {
        self.init
    }

    /// Where the jail is heard until it has a call.
    pub(super) fn channel(&self) -> Option<BorrowedFd<'_>> {
        (self.charge.is_none() && self.state != State::Taken).then(|| self.channel.as_fd())
    }

    /// Where it is heard that the server ends its call.
    pub(super) fn ear(&self) -> Option<BorrowedFd<'_>> {
        self.charge.as_ref().and_then(Charge::ear)
    }

    /// Ends the jail with everything in it.
    pub(super) fn end(&mut self) {
        self.state = State::Taken;
        // The kernel ends everything in its process namespace with it. Its number is not given away before it is taken by us.
        let _ = rustix::process::kill_process(self.init, Signal::KILL);
    }

    /// What is left of a jail whose processes are dead.
    pub(super) fn into_remains(self) -> Remains {
        self.remains
    }

    /// Ends the jail; its group is to be removed when it is dead.
    pub(super) fn close(mut self) -> Option<Group> {
        self.end();
        self.remains.group
    }

    /// In a forked process: what is to be closed there.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let charge = self.charge.iter().flat_map(Charge::descriptors);
        let group = self.remains.group.iter().flat_map(Group::descriptors).chain(self.remains.net.iter().map(AsRawFd::as_raw_fd));
        [self.channel.as_raw_fd()].into_iter().chain(self.ways.iter().map(AsRawFd::as_raw_fd)).chain(charge).chain(group)
    }

    /// Whether a child of the spawner with this number would be of it.
    pub(super) fn knows(&self, pid: Pid) -> bool {
        self.init == pid || self.program == Some(pid.as_raw_nonzero().get())
    }

    /// Takes note of a dead process. The end of its program is told to init; that of init is the end of the jail, and answers its call.
    pub(super) fn died(&mut self, pid: Pid, end: &End) {
        if self.program == Some(pid.as_raw_nonzero().get()) {
            // The next process may have the number.
            self.program = None;
            let mut end = end.clone();
            end.stopped = self.remains.group.as_ref().and_then(|group| oom(group.kills()));
            let _ = order::send(self.channel.as_fd(), &Word::Ended(end.clone()), &[]);
            match &mut self.charge {
                Some(charge) => charge.program_ended(end),
                // No call may come to it any more.
                None => self.end(),
            }
        }
        if self.init == pid
            && let Some(charge) = self.charge.take()
        {
            charge.answer(end, self.remains.group.as_ref());
        }
    }

    /// Hears what is said, if something is said, and keeps the time of its call.
    pub(super) fn hear(&mut self, heard: &Heard) {
        if let Some(charge) = &mut self.charge {
            if charge.is_over(heard) {
                self.end();
            } else if charge.has_begun() {
                // Its number may never be heard, where who forked it was stopped.
                self.state = State::Taken;
            }
            return;
        }
        if self.state == State::Taken || !heard.has(self.channel.as_fd()) {
            return;
        }
        match order::receive::<Word>(self.channel.as_fd()) {
            Ok(Some((Word::Built(has_net), mut ways))) => {
                self.remains.net = if has_net { ways.pop() } else { self.remains.net.take() };
                (self.state, self.ways) = (State::Empty, ways);
            }
            Ok(Some((Word::Seated, _))) => self.seated = true,
            // A jail that closes its channel dies, and is taken out of the list then.
            Ok(None) => self.state = State::Taken,
            _ => self.end(),
        }
        self.settle();
    }

    /// Takes note of the number of its program: without it nobody would hear of the end of a short one.
    pub(super) fn has_program(&mut self, pid: i32) {
        self.program = Some(pid);
        self.settle();
    }

    fn settle(&mut self) {
        if self.state == State::Seating && self.program.is_some() {
            if self.charge.is_some() {
                self.state = State::Taken;
            } else if self.seated {
                self.state = State::Ready;
            }
        }
    }

    /// Whether it can be given a call: an interpreter waits in it, or comes and has none yet.
    pub(super) fn may_be_given_one(&self) -> bool {
        self.state == State::Ready || self.state == State::Seating && self.charge.is_none()
    }

    /// Asks an interpreter to fork a program into it, on its channel, in a hurry where a call waits for it.
    pub(super) fn seat(&mut self, interpreter: BorrowedFd<'_>, hurry: bool) {
        let ways = std::mem::take(&mut self.ways);
        // A program outside its group would be bounded by the other means alone; that is not what was said.
        let Ok(doors) = self.remains.group.as_ref().map_or(Ok(Vec::new()), Group::doors) else { return self.end() };
        let fds: Vec<BorrowedFd<'_>> = ways.iter().map(AsFd::as_fd).chain(doors.iter().map(AsFd::as_fd)).collect();
        let _ = order::send_bytes(interpreter, format!("fork {} {}", doors.len(), u8::from(hurry)).as_bytes(), &fds);
        (self.state, self.asked) = (State::Seating, Instant::now());
    }

    /// When it will have taken too long to be built, or waited too long for an interpreter. Where it has a call, that one keeps the time: its
    /// program may run by now.
    pub(super) fn late(&self) -> Option<Instant> {
        match self.state {
            State::Building => Some(self.asked + BUILDING),
            State::Seating if self.charge.is_none() => Some(self.asked + PATIENCE),
            _ => None,
        }
    }

    /// Whether it waits for a word of the interpreter that is to fork.
    pub(super) fn is_unanswered(&self) -> bool {
        self.state == State::Seating && self.program.is_none()
    }

    /// When something has to be done without anything being said: for too late an interpreter, or too long a call.
    pub(super) fn due(&self) -> Option<Instant> {
        self.late().or_else(|| self.charge.as_ref().and_then(Charge::due))
    }

    /// Hands a call to the interpreter that waits in it, or is about to come: init then has it when that one sits. False where nobody is there
    /// any more.
    pub(super) fn give(&mut self, order: &Order, handed: &Handed) -> bool {
        let coming = self.state == State::Seating;
        let given = self.hand_over(order, handed, None, &[]);
        if coming && self.charge.is_some() {
            self.state = State::Seating;
            self.settle();
        }
        given
    }

    /// Hands over a call that starts an interpreter of its own; false where it cannot be bounded here, or nobody is there any more.
    pub(super) fn give_to_new(&mut self, order: &Order, handed: &Handed) -> bool {
        let Ok(doors) = self.remains.group.as_ref().map_or(Ok(Vec::new()), Group::doors) else {
            self.end();
            return false;
        };
        let Ok(counter) = self.remains.group.as_ref().map_or(Ok(None), Group::counter) else {
            self.end();
            return false;
        };
        let groups = Groups { doors: doors.len(), counted: counter.is_some() };
        let more: Vec<BorrowedFd<'_>> = doors.iter().map(AsFd::as_fd).chain(counter.iter().map(AsFd::as_fd)).collect();
        let given = self.hand_over(order, handed, Some(groups), &more);
        // Not before: init would take it for the end of an interpreter that was about to come.
        self.ways.clear();
        given
    }

    /// Whether it was given a call that did not begin in it.
    pub(super) fn did_not_begin(&self) -> bool {
        self.charge.as_ref().is_some_and(Charge::did_not_begin)
    }

    /// Hands a call over, with its roots as detached mounts; false where it is still to be given to somebody.
    fn hand_over(&mut self, order: &Order, handed: &Handed, new_program: Option<Groups>, more: &[BorrowedFd<'_>]) -> bool {
        self.state = State::Taken;
        let roots = match trees::roots(order, &handed.roots, enter::eyes_of(self.remains.user.as_ref().map(|user| user.number))) {
            Ok(roots) => roots,
            Err(word) => {
                tell(&handed.call, &word);
                self.end();
                return true;
            }
        };
        let mut fds = vec![handed.call.as_fd(), handed.program.ticket.as_fd()];
        fds.extend(handed.program.fds.iter().map(AsFd::as_fd));
        fds.extend(roots.iter().map(|tree| tree.fd.as_fd()));
        fds.extend(more);
        let go = Go { asked: order.asked.clone(), new_program };
        if order::send(self.channel.as_fd(), &go, &fds).is_err() {
            // It is dead, and has heard of nothing.
            self.end();
            return false;
        }
        if let Ok(charge) = Charge::new(handed, order.asked.wall) {
            self.charge = Some(charge);
        } else {
            tell(&handed.call, &Word::Returned);
            self.end();
        }
        true
    }
}

#[cfg(test)]
impl Cell {
    /// As if everything that it waits for were overdue.
    pub(super) fn grow_old(&mut self) {
        let now = Instant::now();
        self.asked = now.checked_sub(BUILDING).unwrap_or(now);
        if let Some(charge) = &mut self.charge {
            charge.grow_old();
        }
    }
}

/// The channels on which there is something to read, or whose other end is closed.
#[derive(Debug, Default)]
pub(super) struct Heard(Vec<RawFd>);

impl Heard {
    /// Waits until there is something on one of the channels, or one of the ears hears that its other end is closed, or no longer writes; at most
    /// this long, for ever without a bound. What is said to an ear is for the process that has the call.
    pub(super) fn wait<'a>(
        channels: impl Iterator<Item = BorrowedFd<'a>>,
        ears: impl Iterator<Item = BorrowedFd<'a>>,
        at_most: Option<Duration>,
    ) -> Self {
        let mut fds: Vec<PollFd<'_>> = channels.map(|channel| PollFd::from_borrowed_fd(channel, PollFlags::IN)).collect();
        fds.extend(ears.map(|ear| PollFd::from_borrowed_fd(ear, PollFlags::RDHUP)));
        let timeout = at_most.and_then(|left| Timespec::try_from(left).ok());
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return Self::default();
        }
        Self(fds.iter().filter(|fd| !fd.revents().is_empty()).map(|fd| fd.as_fd().as_raw_fd()).collect())
    }

    /// Whether there is something on this one.
    pub(super) fn has(&self, channel: BorrowedFd<'_>) -> bool {
        self.0.contains(&channel.as_raw_fd())
    }
}
