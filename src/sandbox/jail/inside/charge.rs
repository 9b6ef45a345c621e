//! A call that was given away: to a jail that waited for it, or to a supervisor of its own. Who has it keeps the time and hears the server itself;
//! the spawner does as well, in case that one is held up, and answers where it cannot.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use super::attend::{counted, killed, tell, too_long};
use super::cell::{Heard, oom};
use super::cgroup::Group;
use super::supervisor::Handed;
use crate::sandbox::jail::order::{End, Word};
use crate::sandbox::jail::ticket::Ticket;

/// So much later than the one who has the call the spawner ends it: that one knows more of it to tell.
const GRACE: Duration = Duration::from_millis(1250);
/// So long a jail that stands may take to begin; a call is taken back from it then, and can be made in another.
const BEGIN: Duration = Duration::from_secs(2);
/// So long init may take to tell of the end of its program.
const PATIENCE: Duration = Duration::from_secs(1);
/// Bounded where it is done; this is for a supervisor that does nothing any more.
const BUILDING: Duration = Duration::from_secs(25);

/// A call that was given away.
#[derive(Debug)]
pub(super) struct Charge {
    /// The server's channel; who has the call has it as well, and answers itself as long as it lives.
    channel: OwnedFd,
    ticket: Ticket,
    wall: Duration,
    /// When its time is over.
    late: Instant,
    /// When it is ended from here.
    deadline: Instant,
    /// When it has to have begun, until that was looked at.
    begins: Option<Instant>,
    /// Whether the server may still say that the call is to end.
    open: bool,
    /// Whether it was ended from here.
    over: bool,
    /// Whether it was taken back before it had begun.
    returned: bool,
    /// How the program ended, once it has, and whether its time was over by then.
    ended: Option<(End, bool)>,
}

impl Charge {
    /// A call that is given to a jail now.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(super) fn new(handed: &Handed, wall: Duration) -> Result<Self, String> {
        Self::made(handed, wall, Duration::ZERO, Some(Instant::now() + BEGIN)).map_err(|e| e.to_string())
    }

    /// A call for which a supervisor builds a jail now.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(super) fn of_supervisor(handed: &Handed, wall: Duration) -> Result<Self, String> {
        Self::made(handed, wall, BUILDING, None).map_err(|e| e.to_string())
    }

    fn made(handed: &Handed, wall: Duration, before: Duration, begins: Option<Instant>) -> std::io::Result<Self> {
        let (channel, ticket) = (handed.call.try_clone()?, handed.program.ticket.share()?);
        let late = Instant::now() + before + wall;
        let deadline = late + GRACE;
        Ok(Self { channel, ticket, wall, late, deadline, begins, open: true, over: false, returned: false, ended: None })
    }

    /// Where the server is heard to end the call. Once the program has ended, that says only that it has its answer.
    pub(super) fn ear(&self) -> Option<BorrowedFd<'_>> {
        (self.open && self.ended.is_none()).then(|| self.channel.as_fd())
    }

    /// What is to be closed in a forked process.
    pub(super) fn descriptors(&self) -> [RawFd; 2] {
        [self.channel.as_raw_fd(), self.ticket.descriptor()]
    }

    /// When something is to be done about it without anything being said.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.over).then(|| self.begins.map_or(self.deadline, |begins| begins.min(self.deadline)))
    }

    /// Whether it was taken back because it did not begin.
    pub(super) fn did_not_begin(&self) -> bool {
        self.returned
    }

    /// Whether it was seen to have begun, when it had to.
    pub(super) fn has_begun(&self) -> bool {
        self.begins.is_none() && !self.returned
    }

    /// Takes note of the end of the program. Init is to tell of it.
    pub(super) fn program_ended(&mut self, end: End) {
        let now = Instant::now();
        self.ended = Some((end, now >= self.late));
        self.deadline = self.deadline.min(now + PATIENCE);
    }

    /// Whether who has it is to be ended now: its time is over or the server does not want it any more, and nothing came of that; or it does not begin.
    pub(super) fn is_over(&mut self, heard: &Heard) -> bool {
        if self.over {
            return false;
        }
        let now = Instant::now();
        if self.open && heard.has(self.channel.as_fd()) {
            self.open = false;
            self.deadline = self.deadline.min(now + GRACE);
        }
        if self.begins.is_some_and(|begins| now >= begins) {
            self.begins = None;
            // From here on it cannot begin there any more.
            self.returned = self.ticket.take();
        }
        self.over = self.returned || now >= self.deadline;
        self.over
    }

    /// Answers after the death of who had it, which used `dead` with all that it took. Where that one has answered before, nobody listens.
    pub(super) fn answer(self, dead: &End, group: Option<&Group>) {
        if self.returned {
            self.ticket.give_back();
        }
        // INVARIANT: noted before the kill, and it wins over every guess from the way it ended.
        let late = match &self.ended {
            Some((_, late)) => *late,
            None => self.over && self.open && !self.returned && Instant::now() >= self.late,
        };
        if !late && self.ticket.is_there() {
            tell(&self.channel, &Word::Returned);
            return;
        }
        let mut end = self.ended.map_or_else(killed, |(end, _)| end);
        end.stopped = late.then(|| too_long(self.wall)).or(end.stopped).or_else(|| group.and_then(|group| oom(group.kills())));
        // All that was in the group, which those that its jail could not take are not missing from.
        end.usage.cpu_ms = (end.usage.cpu_ms + dead.usage.cpu_ms).max(counted(group).cpu_ms);
        end.written = end.written.saturating_add(dead.written);
        end.reached.memory = end.reached.memory.max(end.usage.max_rss_bytes);
        end.usage.max_rss_bytes = end.usage.max_rss_bytes.max(dead.usage.max_rss_bytes);
        tell(&self.channel, &Word::Ended(end));
    }
}

#[cfg(test)]
impl Charge {
    /// As if it should have begun by now.
    pub(super) fn grow_old(&mut self) {
        self.begins = self.begins.map(|_| Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::jail::order;
    use crate::sandbox::jail::outcome::Limit;

    /// A call with what belongs to it, and the server's end of its channel.
    fn call() -> (OwnedFd, Handed) {
        let (server, theirs) = order::channel().unwrap();
        let mut fds = vec![theirs, Ticket::new().unwrap().as_fd().try_clone_to_owned().unwrap()];
        fds.extend((0..6).map(|_| server.try_clone().unwrap()));
        (server, Handed::sort(fds).unwrap())
    }

    /// A charge at the end of what it waits for.
    fn later(mut charge: Charge) -> Charge {
        let now = Instant::now();
        (charge.late, charge.deadline) = (now.min(charge.late), now.min(charge.deadline));
        charge.begins = charge.begins.map(|_| now);
        charge
    }

    fn now(charge: &Charge) -> Heard {
        Heard::wait(std::iter::empty(), charge.ear().into_iter(), Some(Duration::ZERO))
    }

    fn last_word(server: &OwnedFd) -> Word {
        order::receive_now::<Word>(server.as_fd()).unwrap().unwrap().0
    }

    fn last_end(server: &OwnedFd) -> End {
        match last_word(server) {
            Word::Ended(end) => end,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_call_whose_time_is_over_is_ended_once_and_answered_with_that_limit() {
        let (server, handed) = call();
        assert!(handed.program.ticket.take());
        let mut charge = Charge::new(&handed, Duration::ZERO).unwrap();
        // Who has it speaks first.
        let silence = now(&charge);
        assert!(!charge.is_over(&silence) && charge.due().is_some());
        charge = later(charge);
        assert!(charge.is_over(&silence) && !charge.is_over(&silence) && charge.due().is_none());
        let mut init = killed();
        (init.usage.cpu_ms, init.usage.max_rss_bytes) = (4, 4096);
        charge.answer(&init, None);
        let end = last_end(&server);
        assert_eq!((end.stopped.unwrap().0, end.signal, end.usage.cpu_ms, end.usage.max_rss_bytes), (Limit::Wall, Some(9), 4, 4096));
    }

    #[test]
    fn the_end_of_a_program_that_init_does_not_tell_is_told_as_it_was() {
        let (server, handed) = call();
        assert!(handed.program.ticket.take());
        let mut charge = Charge::new(&handed, Duration::from_hours(1)).unwrap();
        let due = charge.due().unwrap();
        charge.program_ended(End { exit: Some(3), ..End::default() });
        assert!(charge.due().unwrap() <= due);
        charge = later(charge);
        let silence = now(&charge);
        assert!(charge.is_over(&silence));
        charge.answer(&End::default(), None);
        assert_eq!(last_end(&server), End { exit: Some(3), ..End::default() });
    }

    #[test]
    fn a_call_that_the_server_gives_up_is_ended_and_its_silence_is_not() {
        let (server, handed) = call();
        assert!(handed.program.ticket.take());
        let mut charge = Charge::new(&handed, Duration::from_hours(1)).unwrap();
        let silence = now(&charge);
        assert!(!charge.is_over(&silence) && charge.ear().is_some());
        rustix::net::shutdown(&server, rustix::net::Shutdown::Write).unwrap();
        let heard = now(&charge);
        assert!(!charge.is_over(&heard) && charge.ear().is_none());
        charge = later(charge);
        assert!(charge.is_over(&silence) && !charge.is_over(&silence));
        charge.answer(&End::default(), None);
        assert_eq!(last_end(&server), killed());
    }

    #[test]
    fn a_call_that_does_not_begin_is_taken_back_and_one_that_began_is_left_alone() {
        let (server, handed) = call();
        let mut charge = later(Charge::new(&handed, Duration::from_hours(1)).unwrap());
        charge.deadline += Duration::from_hours(1);
        let silence = now(&charge);
        assert!(charge.is_over(&silence) && !handed.program.ticket.is_there());
        charge.answer(&killed(), None);
        assert!(matches!(last_word(&server), Word::Returned) && handed.program.ticket.take());
        let mut charge = later(Charge::new(&handed, Duration::from_hours(1)).unwrap());
        charge.deadline += Duration::from_hours(1);
        assert!(!charge.is_over(&silence) && charge.due().is_some());
    }

    #[test]
    fn the_death_of_a_jail_is_no_end_of_a_program_that_did_not_begin() {
        for began in [false, true] {
            let (server, handed) = call();
            let charge = Charge::new(&handed, Duration::from_hours(1)).unwrap();
            assert!(!began || handed.program.ticket.take());
            charge.answer(&killed(), None);
            match last_word(&server) {
                Word::Returned => assert!(!began),
                Word::Ended(end) => assert!(began && end == killed()),
                other => panic!("{other:?}"),
            }
        }
    }
}
