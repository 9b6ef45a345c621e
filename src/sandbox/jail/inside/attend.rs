//! Keeps the clock over one init, and reports when every process below it is dead.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal};

use super::cell::oom;
use super::cgroup::Group;
use super::site::Site;
use super::{watch, written};
use crate::sandbox::jail::order::{self, End, Pace, Spent, Word};
use crate::sandbox::jail::outcome::{Limit, Usage};
use crate::sandbox::jail::ticket::Ticket;

/// The call of a supervisor: where it is answered, and how long it may take.
#[derive(Debug)]
pub(super) struct Call {
    /// The server's channel.
    pub(super) channel: OwnedFd,
    /// The right to begin.
    pub(super) ticket: Ticket,
    /// The bound of its time.
    pub(super) wall: Duration,
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
    /// Whether its program is in namespaces that another program made: a process group does not hold it.
    pub(super) wrapped: bool,
    /// The scratch folder, where the host lends one.
    pub(super) site: Option<Site>,
}

impl Rest {
    /// Has every process of the call stand still or go on: the group with the child that leads it, or the child does it where all is below it.
    /// What stands is told to the server by the process that stopped it.
    fn pace(&self, child: Pid, inner: &OwnedFd, pace: Pace, server: &OwnedFd) {
        if !self.grouped || self.wrapped {
            let _ = order::send_now(inner.as_fd(), &pace);
            return;
        }
        let signal = match pace {
            Pace::Stand => Signal::STOP,
            Pace::Go => Signal::CONT,
        };
        if rustix::process::kill_process_group(child, signal).is_ok() && pace == Pace::Stand {
            tell(server, &Word::Stands);
        }
    }

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
pub(super) fn attend(call: &Call, inner: &OwnedFd, child: Pid, group: Option<&Group>, rest: &Rest) -> ExitCode {
    let pidfd = match pidfd_open(child, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(e) => {
            let _ = rustix::process::kill_process(child, Signal::KILL);
            rest.end(child);
            return tell(&call.channel, &Word::Fault(format!("watching init: {e}")));
        }
    };
    let kill = || {
        if rest.grouped {
            let _ = rustix::process::kill_process_group(child, Signal::KILL);
        }
        let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    };
    // An init ends everything below it itself and tells what that has used; one that does not is killed.
    let end_it = || {
        if rest.grouped || rustix::net::shutdown(inner, rustix::net::Shutdown::Write).is_err() {
            kill();
        }
        Instant::now() + GRACE
    };
    let (mut end, mut stopped, mut refused) = (None, None, None);
    // Building the walls has a bound of its own, so that a hanging file system cannot hold the call for ever.
    let mut deadline = Instant::now() + Duration::from_secs(20);
    let (mut started, mut server_open, mut inner_open) = (false, true, true);
    let mut ending = None;
    let mut spent = Spent::default();
    loop {
        let left = ending.map_or(deadline, |ending: Instant| ending.min(deadline)).saturating_duration_since(Instant::now());
        let heard = wait([server_open.then_some(&call.channel), inner_open.then_some(inner), Some(&pidfd)], left);
        let [from_server, from_inside, gone] = match heard {
            Ok(heard) => heard,
            Err(e) => {
                kill();
                refused = Some(Word::Fault(format!("watching init: {e}; the program was ended, since its time could not be kept")));
                break;
            }
        };
        if from_inside {
            match order::receive::<Word>(inner.as_fd()) {
                Ok(Some((Word::Started(layers), doorway))) => {
                    started = true;
                    deadline = Instant::now() + call.wall;
                    call.pass_on(&Word::Started(layers), &doorway);
                }
                Ok(Some((Word::Ended(told), _))) => end = Some(told),
                // Between two calls of a session nobody may read it.
                Ok(Some((word @ (Word::Used(_) | Word::Reached(_) | Word::Crowd(_) | Word::Stands), _))) => {
                    if let Word::Used(used) = &word {
                        spent = spent.max(*used);
                    }
                    drop(order::send_now(call.channel.as_fd(), &word));
                }
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
        if from_server && let Ok(Some((pace, _))) = order::receive_now::<Pace>(call.channel.as_fd()) {
            rest.pace(child, inner, pace, &call.channel);
        } else if from_server {
            // The server wants the end of it, or is dead itself.
            server_open = false;
            ending.get_or_insert_with(end_it);
        }
        if Instant::now() >= deadline && stopped.is_none() {
            // INVARIANT: the flag is set before the kill, and wins over every guess from the way it ended.
            stopped = Some(too_long(call.wall));
            ending.get_or_insert_with(end_it);
            deadline = Instant::now() + FOR_EVER;
        }
        if ending.is_some_and(|ending| Instant::now() >= ending) {
            kill();
            ending = Some(Instant::now() + FOR_EVER);
        }
    }
    rest.end(child);
    if let Some(word) = refused {
        return tell(&call.channel, &word);
    }
    if !started && stopped.is_some() {
        return tell(&call.channel, &Word::Fault("building the jail took too long".to_owned()));
    }
    if !started && call.ticket.is_there() {
        return tell(&call.channel, &Word::Returned);
    }
    // Init was killed before it could say how the program ended.
    let mut end = end.unwrap_or_else(|| End { usage: counted(group), ..killed() });
    if stopped.is_some() && end.stopped.is_none() {
        end.stopped = stopped;
    }
    end.stopped = end.stopped.or_else(|| group.and_then(|group| oom(group.kills())));
    let others = used();
    // Init has seen the same processes.
    end.usage.cpu_ms = end.usage.cpu_ms.max(others.cpu_ms);
    end.usage.max_rss_bytes = end.usage.max_rss_bytes.max(others.max_rss_bytes);
    end.written = end.written.max(written::by_the_dead()).max(spent.written);
    end.reached.memory = end.reached.memory.max(others.max_rss_bytes);
    tell(&call.channel, &Word::Ended(end))
}

/// The limit of a call that takes longer than this, and what shows it.
pub(super) fn too_long(wall: Duration) -> (Limit, String) {
    (Limit::Wall, format!("still running after {} ms", wall.as_millis()))
}

/// What the groups of a call have counted of a program whose jail does not tell it.
pub(super) fn counted(group: Option<&Group>) -> Usage {
    Usage { cpu_ms: group.map_or(0, Group::spent_ms), ..Usage::default() }
}

/// The end of a program of which nothing is known but that it was killed.
pub(super) fn killed() -> End {
    End { signal: Some(9), ..End::default() }
}

/// So long an init may take to end what it holds. It has the processor share of its program.
const GRACE: Duration = Duration::from_secs(1);

/// Longer than any call.
pub(super) const FOR_EVER: Duration = Duration::from_hours(24 * 365);

impl Call {
    fn pass_on(&self, word: &Word, fds: &[OwnedFd]) {
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        // A server that does not hear it is gone, and its end ends the call.
        let _ = order::send(self.channel.as_fd(), word, &fds);
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

/// Waits until one of the descriptors has something to read or is closed, and says which.
fn wait(from: [Option<&OwnedFd>; 3], at_most: Duration) -> Result<[bool; 3], Errno> {
    let mut fds: Vec<PollFd<'_>> = from.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::IN)).collect();
    let timeout = Timespec::try_from(at_most).ok();
    match poll(&mut fds, timeout.as_ref()) {
        // Nothing was heard, and `fds` say so.
        Ok(_) | Err(Errno::INTR) => {}
        Err(e) => return Err(e),
    }
    let mut polled = fds.iter();
    Ok(from.map(|fd| fd.is_some() && polled.next().is_some_and(|fd| !fd.revents().is_empty())))
}
