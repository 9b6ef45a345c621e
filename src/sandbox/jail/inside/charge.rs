//! A call in a jail that waited for it: the spawner is its supervisor. Init keeps the time and hears the server itself; the spawner does as well,
//! in case init is held up, and answers where init cannot.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use super::attend::{killed, tell, too_long};
use super::cell::{Heard, oom};
use super::cgroup::Group;
use crate::sandbox::jail::order::{End, Word};
use crate::sandbox::jail::outcome::Limit;

/// A call that a jail was given.
#[derive(Debug)]
pub(super) struct Charge {
    /// The server's channel; init has it as well, and answers itself as long as it lives.
    channel: OwnedFd,
    wall: Duration,
    deadline: Instant,
    /// Whether the server may still have something to say, which can only be that the call is to end.
    open: bool,
    /// For which limit it was ended.
    stopped: Option<(Limit, String)>,
    /// How the program ended, once it has.
    pub(super) ended: Option<End>,
}

impl Charge {
    /// A call that begins now.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(super) fn new(channel: &OwnedFd, wall: Duration) -> Result<Self, String> {
        let channel = channel.try_clone().map_err(|e| e.to_string())?;
        Ok(Self { channel, wall, deadline: Instant::now() + wall, open: true, stopped: None, ended: None })
    }

    /// Where the server is heard.
    pub(super) fn ear(&self) -> Option<BorrowedFd<'_>> {
        self.open.then(|| self.channel.as_fd())
    }

    /// The same as a number.
    pub(super) fn descriptor(&self) -> RawFd {
        self.channel.as_raw_fd()
    }

    /// When its time is over.
    pub(super) fn due(&self) -> Option<Instant> {
        self.stopped.is_none().then_some(self.deadline)
    }

    /// Whether it is to be ended now: its time is over, or the server wants the end of it or is dead itself.
    pub(super) fn is_over(&mut self, heard: &Heard) -> bool {
        let unwanted = self.open && heard.has(self.channel.as_fd());
        if unwanted {
            self.open = false;
        }
        let late = self.stopped.is_none() && Instant::now() >= self.deadline;
        if late {
            // INVARIANT: noted before the kill, and it wins over every guess from the way it ended.
            self.stopped = Some(too_long(self.wall));
        }
        unwanted || late
    }

    /// Answers after the death of init, which used `init` with all that it took. Where init has answered before it died, nobody listens.
    pub(super) fn answer(self, init: &End, group: Option<&Group>) {
        let mut end = self.ended.unwrap_or_else(killed);
        end.stopped = self.stopped.or(end.stopped).or_else(|| group.and_then(|group| oom(group.kills())));
        end.usage.cpu_ms += init.usage.cpu_ms;
        end.usage.max_rss_bytes = end.usage.max_rss_bytes.max(init.usage.max_rss_bytes);
        tell(&self.channel, &Word::Ended(end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::jail::order;

    fn now(charge: &Charge) -> Heard {
        Heard::wait(charge.ear().into_iter(), Some(Duration::ZERO))
    }

    fn last_word(server: &OwnedFd) -> End {
        match order::receive_now::<Word>(server.as_fd()) {
            Ok(Some((Word::Ended(end), _))) => end,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_call_whose_time_is_over_is_ended_once_and_answered_with_that_limit() {
        let (server, ours) = order::channel().unwrap();
        let mut charge = Charge::new(&ours, Duration::ZERO).unwrap();
        assert!(charge.due().is_some());
        let heard = now(&charge);
        assert!(charge.is_over(&heard) && !charge.is_over(&heard) && charge.due().is_none());
        let mut ended = killed();
        ended.usage.cpu_ms = 3;
        // A guess from the way it ended does not win.
        ended.stopped = Some((Limit::Memory, "a guess".to_owned()));
        charge.ended = Some(ended);
        let mut init = End::default();
        (init.usage.cpu_ms, init.usage.max_rss_bytes) = (4, 4096);
        charge.answer(&init, None);
        let end = last_word(&server);
        assert_eq!((end.stopped.unwrap().0, end.signal, end.usage.cpu_ms, end.usage.max_rss_bytes), (Limit::Wall, Some(9), 7, 4096));
    }

    #[test]
    fn a_call_that_the_server_gives_up_is_ended_and_its_silence_is_not() {
        let (server, ours) = order::channel().unwrap();
        let mut charge = Charge::new(&ours, Duration::from_hours(1)).unwrap();
        let silence = now(&charge);
        assert!(!charge.is_over(&silence) && charge.ear().is_some());
        rustix::net::shutdown(&server, rustix::net::Shutdown::Write).unwrap();
        let heard = now(&charge);
        assert!(charge.is_over(&heard) && charge.ear().is_none() && !charge.is_over(&heard));
        charge.answer(&End::default(), None);
        assert_eq!(last_word(&server), killed());
    }
}
