//! Says how a program ended, from what the kernel and our own clocks say down to what its exception says.

use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use toolgate_jail::{End, Limit, Limits};

use super::outcome::Status;
use super::report::{Raised, Report};

/// Why the server itself ended the call; noted before it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The client cancelled.
    Cancelled,
    /// A stream ran over at so many bytes.
    Flood(u64),
    /// It waited so long for a jail; the program has not begun.
    Waited(Duration),
    /// The session it was for was busy for so long; the program has not begun.
    Busy(Duration),
}

/// How it ended: the status, the limit, what shows it.
pub(super) type Verdict = (Status, Option<Limit>, Option<String>);

/// What is said of a program that began, and of whose end nobody has told.
const UNKNOWN: &str = "the program is dead, and how it ended is not known: its jail was ended from outside";
/// The same where no process namespace ends with its jail.
const UNHELD: &str = "how the program ended is not known: its jail was ended from outside, and without a process namespace what it started may live on \
                      (layer `processes`)";

/// Judges an end. `is_held`: every process of the program ends with its jail.
pub(super) fn judge(end: &End, stop: Option<Stop>, report: &Report, limits: &Limits, is_held: bool) -> Verdict {
    let limit = |limit, evidence: String| (Status::Limit, Some(limit), Some(evidence));
    match stop {
        Some(Stop::Cancelled) => return (Status::Killed, None, Some("the call was cancelled".to_owned())),
        Some(Stop::Flood(bytes)) => return limit(Limit::Output, format!("{bytes} bytes of output, the program was stopped")),
        Some(Stop::Waited(wall)) => {
            return limit(Limit::Wall, format!("no jail was ready within {} ms; the program did not begin", wall.as_millis()));
        }
        Some(Stop::Busy(wall)) => {
            return limit(Limit::Wall, format!("the session was busy for {} ms; the program did not begin", wall.as_millis()));
        }
        None => {}
    }
    if let Some((hit, evidence)) = &end.limit {
        return limit(*hit, evidence.clone());
    }
    match (end.signal, end.exit) {
        (Some(signal), _) => (Status::Killed, None, Some(format!("signal {signal}"))),
        (None, Some(0)) => (Status::Ok, None, None),
        (None, None) => (Status::SandboxError, None, Some(if is_held { UNKNOWN } else { UNHELD }.to_owned())),
        (None, Some(_)) => match report.raised.as_ref().and_then(|raised| by_exception(raised, end, limits)) {
            Some((hit, evidence)) => limit(hit, evidence),
            None => (Status::Exception, None, None),
        },
    }
}

/// The limit that an exception speaks of. The program's process says it, and may say so falsely: it then lies about itself alone.
fn by_exception(raised: &Raised, end: &End, limits: &Limits) -> Option<(Limit, String)> {
    use nix::libc::{EAGAIN, EDQUOT, EFBIG, EMFILE, ENOMEM, ENOSPC};
    let Limits { memory, processes, file_size, .. } = limits;
    // The server may have been started with a lower one, which holds for all that it starts.
    let open_files = getrlimit(Resource::Nofile).maximum.map_or(limits.open_files, |most| most.min(limits.open_files));
    // The same number says that a pipe is not ready and that no process can be started; the stack of a thread is memory as well.
    let is_thread = raised.class == "RuntimeError" && raised.message.contains("start new thread");
    let is_crowded = end.usage.pids_peak.unwrap_or(0).max(raised.threads) >= *processes;
    match raised.errno {
        _ if raised.class == "MemoryError" => {}
        Some(ENOMEM) => {}
        _ if is_thread && !is_crowded => {}
        errno if is_thread || errno == Some(EAGAIN) && raised.starts => {
            return Some((Limit::Pids, format!("no more could be started under a bound of {processes} processes and threads")));
        }
        Some(EMFILE) => return Some((Limit::Fds, format!("no more could be opened under a bound of {open_files} open files"))),
        Some(EFBIG) => return Some((Limit::Fsize, format!("a write failed under a bound of {file_size} bytes for a file"))),
        Some(ENOSPC | EDQUOT) => return Some((Limit::Disk, "a full disk: no space left on the device".to_owned())),
        _ => return None,
    }
    Some((Limit::Memory, format!("an allocation failed under a bound of {memory} bytes")))
}

#[cfg(test)]
mod tests {
    use super::super::spec::DEFAULT_LIMITS;
    use super::*;

    fn judged(end: &End, stop: Option<Stop>, raised: Option<(&str, Option<i32>, bool)>) -> (Status, Option<Limit>) {
        let message = "can't start new thread".to_owned();
        let raised = raised.map(|(class, errno, starts)| Raised { class: class.to_owned(), errno, starts, threads: 0, message });
        let (status, limit, _) = judge(end, stop, &Report { raised, ..Report::default() }, &DEFAULT_LIMITS, true);
        (status, limit)
    }

    #[test]
    fn what_was_noted_before_the_end_wins_over_every_guess() {
        let end = End { exit: Some(1), limit: Some((Limit::Wall, "late".to_owned())), ..End::default() };
        assert_eq!(judged(&end, None, Some(("MemoryError", None, false))), (Status::Limit, Some(Limit::Wall)));
        assert_eq!(judged(&end, Some(Stop::Cancelled), None), (Status::Killed, None));
        assert_eq!(judged(&end, Some(Stop::Flood(9)), None), (Status::Limit, Some(Limit::Output)));
        let nothing = End::default();
        assert_eq!(judged(&nothing, Some(Stop::Waited(Duration::ZERO)), None), (Status::Limit, Some(Limit::Wall)));
        assert_eq!(judged(&nothing, None, None), (Status::SandboxError, None));
        assert_eq!(judged(&End { signal: Some(11), ..End::default() }, None, None), (Status::Killed, None));
        assert_eq!(judged(&End { exit: Some(0), ..End::default() }, None, Some(("MemoryError", None, false))), (Status::Ok, None));
    }

    #[test]
    fn an_exception_is_a_limit_only_when_it_speaks_of_one() {
        let end = |peak| {
            let usage = toolgate_jail::Usage { pids_peak: Some(peak), ..toolgate_jail::Usage::default() };
            End { exit: Some(1), usage, ..End::default() }
        };
        let full = DEFAULT_LIMITS.processes;
        for (raised, peak, limit) in [
            (("MemoryError", None, false), 1, Some(Limit::Memory)),
            (("OSError", Some(12), false), 1, Some(Limit::Memory)),
            (("OSError", Some(28), false), 1, Some(Limit::Disk)),
            (("OSError", Some(122), false), 1, Some(Limit::Disk)),
            (("OSError", Some(27), false), 1, Some(Limit::Fsize)),
            (("OSError", Some(24), false), 1, Some(Limit::Fds)),
            (("BlockingIOError", Some(11), true), 1, Some(Limit::Pids)),
            (("BlockingIOError", Some(11), false), full, None),
            (("RuntimeError", None, false), full, Some(Limit::Pids)),
            (("RuntimeError", None, false), 1, Some(Limit::Memory)),
            (("ValueError", None, false), full, None),
            (("OSError", Some(2), false), full, None),
        ] {
            let status = if limit.is_some() { Status::Limit } else { Status::Exception };
            assert_eq!(judged(&end(peak), None, Some(raised)), (status, limit), "{raised:?} {peak}");
        }
    }
}
