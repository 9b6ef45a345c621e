//! Keeps the clock over one init, and reports when every process below it is dead.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal};

use super::cell::oom;
use super::cgroup::Group;
use super::site::Site;
use super::watch;
use crate::sandbox::jail::order::{self, End, Word};
use crate::sandbox::jail::outcome::{Limit, Usage};

/// To whom a supervisor answers.
#[derive(Debug)]
pub(super) enum Master {
    /// The server, by the channel of one call, which may take this long.
    Call(OwnedFd, Duration),
    /// The spawner, while the jail waits for a call; nothing is said to it, its end ends the jail.
    Seat(OwnedFd),
}

/// Says one word to the server.
pub(super) fn tell(server: &OwnedFd, word: &Word) -> ExitCode {
    match order::send(server.as_fd(), word, &[]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// What there is to end and to clear away besides the child itself.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Whether the child leads a process group and is no init: what it leaves comes to this process, and is ended by it.
    pub(super) grouped: bool,
    /// The scratch folder, where the host lends one.
    pub(super) site: Option<Site>,
}

impl Rest {
    /// Ends and clears away; the child is dead, but still holds its number.
    fn end(&self, child: Pid) {
        if self.grouped {
            let _ = rustix::process::kill_process_group(child, Signal::KILL);
        }
        let _ = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), WaitOptions::empty()));
        if self.grouped {
            watch::end_children();
        }
        if let Some(site) = &self.site {
            site.clear();
        }
    }
}

/// Watches over a child until every process of the call is dead, and reports.
pub(super) fn attend(mut master: Master, inner: &OwnedFd, child: Pid, group: Option<&Group>, rest: &Rest) -> ExitCode {
    let pidfd = match pidfd_open(child, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(e) => {
            let _ = rustix::process::kill_process(child, Signal::KILL);
            rest.end(child);
            return master.answer(&Word::Fault(format!("watching init: {e}")));
        }
    };
    let kill = || {
        if rest.grouped {
            let _ = rustix::process::kill_process_group(child, Signal::KILL);
        }
        let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    };
    let (mut end, mut stopped, mut refused) = (None, None, None);
    // Building the walls has a bound of its own, so that a hanging file system cannot hold the call for ever.
    let mut deadline = Instant::now()
        + match master {
            Master::Call(..) => Duration::from_secs(20),
            Master::Seat(_) => FOR_EVER,
        };
    let mut seat = None;
    let (mut started, mut server_open, mut inner_open) = (false, true, true);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let events = [
            (master.interest(server_open), master.as_fd()),
            (if inner_open { Interest::Words } else { Interest::Nothing }, inner.as_fd()),
            (Interest::Words, pidfd.as_fd()),
        ];
        let [from_server, from_inside, gone] = wait(events, left);
        if from_inside {
            match order::receive::<Word>(inner.as_fd()) {
                Ok(Some((Word::Started(layers), doorway))) => {
                    started = true;
                    deadline = Instant::now() + master.wall();
                    master.pass_on(&Word::Started(layers), &doorway);
                }
                Ok(Some((Word::Taken(wall), fds))) => {
                    // The server's end may be closed already: the new channel is polled as the old one was.
                    if let Some(call) = fds.into_iter().next() {
                        started = true;
                        deadline = Instant::now() + wall;
                        let before = std::mem::replace(&mut master, Master::Call(call, wall));
                        if let Master::Seat(fd) = before {
                            seat = Some(fd);
                        }
                    }
                }
                Ok(Some((Word::Ended(told), _))) => end = Some(told),
                Ok(Some((word, _))) => refused = Some(word),
                Ok(None) => inner_open = false,
                Err(e) => {
                    inner_open = false;
                    refused.get_or_insert(Word::Fault(format!("hearing from init: {e}")));
                }
            }
            continue;
        }
        if gone {
            break;
        }
        if from_server {
            // The server wants the end of it, or is dead itself.
            server_open = false;
            kill();
        }
        if Instant::now() >= deadline && stopped.is_none() {
            // INVARIANT: the flag is set before the kill, and wins over every guess from the way it ended.
            stopped = Some((Limit::Wall, format!("still running after {} ms", master.wall().as_millis())));
            kill();
            deadline = Instant::now() + FOR_EVER;
        }
    }
    rest.end(child);
    if let Some(word) = refused {
        return master.answer(&word);
    }
    if !started {
        return master.answer(&Word::Fault("init ended before the program started".to_owned()));
    }
    // Init was killed before it heard of the program's end: then the word is still there, or about to come.
    let mut end = end.or_else(|| seat.as_ref().and_then(last_word)).unwrap_or_else(|| End { signal: Some(9), ..End::default() });
    if stopped.is_some() && end.stopped.is_none() {
        end.stopped = stopped;
    }
    end.stopped = end.stopped.or_else(|| group.and_then(|group| oom(group.kills())));
    let others = used();
    end.usage.cpu_ms += others.cpu_ms;
    end.usage.max_rss_bytes = end.usage.max_rss_bytes.max(others.max_rss_bytes);
    master.answer(&Word::Ended(end))
}

/// What the spawner said of a program that joined from outside.
fn last_word(seat: &OwnedFd) -> Option<End> {
    wait(
        [(Interest::Words, seat.as_fd()), (Interest::Nothing, seat.as_fd()), (Interest::Nothing, seat.as_fd())],
        Duration::from_millis(50),
    );
    match order::receive_now::<Word>(seat.as_fd()) {
        Ok(Some((Word::Ended(end), _))) => Some(end),
        _ => None,
    }
}

const FOR_EVER: Duration = Duration::from_hours(24 * 365);

impl Master {
    fn answer(&self, word: &Word) -> ExitCode {
        match self {
            Self::Call(server, _) => tell(server, word),
            Self::Seat(_) => ExitCode::FAILURE,
        }
    }

    fn pass_on(&self, word: &Word, fds: &[OwnedFd]) {
        if let Self::Call(server, _) = self {
            let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
            // A server that does not hear it is gone, and its end ends the call.
            let _ = order::send(server.as_fd(), word, &fds);
        }
    }

    fn wall(&self) -> Duration {
        match self {
            Self::Call(_, wall) => *wall,
            Self::Seat(_) => FOR_EVER,
        }
    }

    /// The words on a seat are for init; only the end of the spawner concerns its supervisor.
    fn interest(&self, open: bool) -> Interest {
        match self {
            _ if !open => Interest::Nothing,
            Self::Call(..) => Interest::Words,
            Self::Seat(_) => Interest::End,
        }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Call(fd, _) | Self::Seat(fd) => fd.as_fd(),
        }
    }
}

/// What all dead descendants used.
pub(super) fn used() -> Usage {
    let Ok(usage) = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN) else { return Usage::default() };
    let micros = |time: nix::sys::time::TimeVal| {
        use nix::sys::time::TimeValLike;
        u64::try_from(time.num_microseconds()).unwrap_or(0)
    };
    Usage {
        cpu_ms: micros(usage.user_time()).saturating_add(micros(usage.system_time())) / 1000,
        max_rss_bytes: u64::try_from(usage.max_rss()).unwrap_or(0).saturating_mul(1024),
        pids_peak: None,
    }
}

/// What is waited for on a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interest {
    Nothing,
    Words,
    End,
}

/// Waits until one of the descriptors has what is waited for, and says which.
fn wait(from: [(Interest, BorrowedFd<'_>); 3], at_most: Duration) -> [bool; 3] {
    let mut fds: Vec<PollFd<'_>> = Vec::new();
    for (interest, fd) in &from {
        match interest {
            Interest::Words => fds.push(PollFd::from_borrowed_fd(*fd, PollFlags::IN)),
            Interest::End => fds.push(PollFd::from_borrowed_fd(*fd, PollFlags::empty())),
            Interest::Nothing => {}
        }
    }
    let timeout = Timespec::try_from(at_most).ok();
    if poll(&mut fds, timeout.as_ref()).is_err() {
        return [false; 3];
    }
    let mut polled = fds.iter();
    from.map(|(interest, _)| {
        interest != Interest::Nothing
            && polled.next().is_some_and(|fd| fd.revents().intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR))
    })
}
