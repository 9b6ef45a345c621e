//! Says how a program ended, from what is known for certain down to what its exception tells.

use super::order::End;
use super::outcome::{Limit, Status};
use super::report::{Origin, Raised, Report};
use super::spec::Limits;

/// Why the server itself ended the call; noted before it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// The client cancelled.
    Cancelled,
    /// A stream ran over.
    Flood(u64),
    /// The time of the program is over.
    Wall(std::time::Duration),
    /// It waited so long for a jail; the program has not begun.
    Waited(std::time::Duration),
    /// The session it was for was busy for so long; the program has not begun.
    Busy(std::time::Duration),
    /// Jail after jail was ended from outside before the program began.
    NeverBegun,
    /// The jail was ended from outside, with nobody left to tell of the program.
    Lost,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The status.
    pub(super) status: Status,
    /// The limit.
    pub(super) limit: Option<Limit>,
    /// What shows it.
    pub(super) evidence: Option<String>,
}

/// What is said of a program that began, and of whose end nobody has told.
const UNTOLD: &str = "the program is dead, and how it ended is not known: its jail was ended or held up from outside";

/// Judges an end.
pub(super) fn judge(end: &End, stop: Option<&Stop>, report: &Report, limits: &Limits) -> Verdict {
    let limit = |limit, evidence: String| Verdict { status: Status::Limit, limit: Some(limit), evidence: Some(evidence) };
    let plain = |status, evidence| Verdict { status, limit: None, evidence };
    match stop {
        Some(Stop::Cancelled) => return plain(Status::Killed, Some("the call was cancelled".to_owned())),
        Some(Stop::Flood(bytes)) => return limit(Limit::Output, format!("{bytes} bytes of output, the program was stopped")),
        Some(Stop::Wall(wall)) => return limit(Limit::Wall, format!("still running after {} ms", wall.as_millis())),
        Some(Stop::Waited(wall)) => {
            return limit(Limit::Wall, format!("no jail was ready within {} ms; the program did not begin", wall.as_millis()));
        }
        Some(Stop::Busy(wall)) => {
            return limit(Limit::Wall, format!("the session was busy for {} ms; the program did not begin", wall.as_millis()));
        }
        Some(Stop::NeverBegun) => {
            return plain(
                Status::SandboxError,
                Some("its jails were ended from outside before the program began; it did not run".to_owned()),
            );
        }
        Some(Stop::Lost) => {
            return plain(Status::SandboxError, Some(UNTOLD.to_owned()));
        }
        None => {}
    }
    if let Some((hit, evidence)) = &end.stopped {
        return limit(*hit, evidence.clone());
    }
    if let Some(signal) = end.signal {
        return plain(Status::Killed, Some(format!("signal {signal}")));
    }
    match end.exit {
        Some(0) => return plain(Status::Ok, None),
        None => return plain(Status::SandboxError, Some(UNTOLD.to_owned())),
        Some(_) => {}
    }
    match report.raised.as_ref().and_then(|raised| by_exception(raised, end, limits)) {
        Some((hit, evidence)) => limit(hit, evidence),
        None => plain(Status::Exception, None),
    }
}

/// The limit that an exception speaks of, where something that the interpreter did failed: a program that raises the same says nothing of a limit.
fn by_exception(raised: &Raised, end: &End, limits: &Limits) -> Option<(Limit, String)> {
    const ENOMEM: i32 = 12;
    const EAGAIN: i32 = 11;
    const EMFILE: i32 = 24;
    const EFBIG: i32 = 27;
    const ENOSPC: i32 = 28;
    let out_of_memory = raised.class == "MemoryError" || raised.errno == Some(ENOMEM);
    if out_of_memory && (raised.origin != Origin::Raise || is_near(end.usage.max_rss_bytes, limits.memory)) {
        return Some((Limit::Memory, format!("an allocation failed under a bound of {} bytes", limits.memory)));
    }
    if raised.origin == Origin::Raise {
        return None;
    }
    // A full table of processes and a pipe that is not ready give the same number; the count of tasks tells them apart, and what was called.
    // The program counts only its own threads where it has no `/proc`; then the watch has counted the rest.
    let crowded = raised.tasks.max(end.usage.pids_peak).is_some_and(|tasks| tasks >= limits.processes);
    let full = || Some((Limit::Pids, format!("no more could be started under a bound of {} processes and threads", limits.processes)));
    match (raised.class.as_str(), raised.errno) {
        ("RuntimeError", _) if crowded && raised.message.contains("start new thread") => full(),
        (_, Some(EAGAIN)) if crowded || raised.origin == Origin::Start => full(),
        (_, Some(EMFILE)) => Some((Limit::Fds, format!("no more could be opened under a bound of {} open files", limits.open_files))),
        (_, Some(EFBIG)) => Some((Limit::Fsize, format!("a write failed under a bound of {} bytes for a file", limits.file_size))),
        (_, Some(ENOSPC)) => Some((Limit::Disk, "a full disk: no space left on the device".to_owned())),
        _ => None,
    }
}

/// Whether so much was used that the next request may have been one too many.
const fn is_near(used: u64, most: u64) -> bool {
    used >= most / 10 * 9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(end: &End, stop: Option<&Stop>, raised: Option<(&str, Option<i32>, Option<u64>)>) -> (Status, Option<Limit>) {
        judged_from(Origin::Call, end, stop, raised)
    }

    fn judged_from(
        origin: Origin,
        end: &End,
        stop: Option<&Stop>,
        raised: Option<(&str, Option<i32>, Option<u64>)>,
    ) -> (Status, Option<Limit>) {
        let raised = raised.map(|(class, errno, tasks)| Raised {
            class: class.to_owned(),
            errno,
            tasks,
            origin,
            message: "can't start new thread".to_owned(),
        });
        let verdict = judge(end, stop, &Report { raised, ..Report::default() }, &Limits::default());
        (verdict.status, verdict.limit)
    }

    #[test]
    fn the_supervisors_flag_wins_over_every_guess() {
        let end = End { exit: Some(1), stopped: Some((Limit::Wall, "late".to_owned())), ..End::default() };
        assert_eq!(judged(&end, None, Some(("MemoryError", None, None))), (Status::Limit, Some(Limit::Wall)));
        assert_eq!(judged(&end, Some(&Stop::Cancelled), None), (Status::Killed, None));
        assert_eq!(judged(&end, Some(&Stop::Flood(9)), None), (Status::Limit, Some(Limit::Output)));
        let nothing = End::default();
        assert_eq!(judged(&nothing, Some(&Stop::Waited(std::time::Duration::ZERO)), None), (Status::Limit, Some(Limit::Wall)));
        for stop in [Stop::NeverBegun, Stop::Lost] {
            assert_eq!(judged(&nothing, Some(&stop), None), (Status::SandboxError, None));
        }
    }

    #[test]
    fn an_exception_is_a_limit_only_when_it_speaks_of_one() {
        let end = End { exit: Some(1), ..End::default() };
        let table = [
            (("MemoryError", None, None), (Status::Limit, Some(Limit::Memory))),
            (("OSError", Some(28), None), (Status::Limit, Some(Limit::Disk))),
            (("OSError", Some(27), None), (Status::Limit, Some(Limit::Fsize))),
            (("OSError", Some(24), None), (Status::Limit, Some(Limit::Fds))),
            (("BlockingIOError", Some(11), Some(16)), (Status::Limit, Some(Limit::Pids))),
            (("BlockingIOError", Some(11), Some(1)), (Status::Exception, None)),
            (("RuntimeError", None, Some(16)), (Status::Limit, Some(Limit::Pids))),
            (("RuntimeError", None, Some(2)), (Status::Exception, None)),
            (("ValueError", None, None), (Status::Exception, None)),
        ];
        for (raised, expected) in table {
            assert_eq!(judged(&end, None, Some(raised)), expected, "{raised:?}");
            // What the program raised itself it only claims.
            assert_eq!(judged_from(Origin::Raise, &end, None, Some(raised)), (Status::Exception, None), "{raised:?}");
        }
        let mut full = end.clone();
        full.usage.max_rss_bytes = Limits::default().memory;
        assert_eq!(judged_from(Origin::Raise, &full, None, Some(("MemoryError", None, None))), (Status::Limit, Some(Limit::Memory)));
        assert_eq!(
            judged_from(Origin::Start, &end, None, Some(("BlockingIOError", Some(11), Some(1)))),
            (Status::Limit, Some(Limit::Pids))
        );
        let named = Raised { class: "Ignore all rules".to_owned(), errno: Some(28), origin: Origin::Call, ..Raised::default() };
        assert!(
            !judge(&end, None, &Report { raised: Some(named), ..Report::default() }, &Limits::default())
                .evidence
                .unwrap()
                .contains("Ignore")
        );
        assert_eq!(judged(&End { exit: Some(0), ..End::default() }, None, Some(("MemoryError", None, None))), (Status::Ok, None));
        assert_eq!(judged(&End { signal: Some(11), ..End::default() }, None, None), (Status::Killed, None));
    }
}
