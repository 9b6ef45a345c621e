//! Says how a program ended, from what is known for certain down to what its exception tells.

use super::bounds::Bounds;
use super::order::{End, Full, Reached};
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
    /// A call in a session used so many milliseconds of processor time.
    Cpu(u64),
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
pub(super) const UNTOLD: &str = "the program is dead, and how it ended is not known: its jail was ended or held up from outside";
/// The same where no process namespace ends with its jail.
pub(super) const UNHELD: &str = "how the program ended is not known: its jail was ended or held up from outside, and without a process namespace what it \
                      started may live on (layer `processes`)";

/// Judges an end.
pub(super) fn judge(end: &End, stop: Option<&Stop>, report: &Report, limits: &Limits) -> Verdict {
    let limit = |limit, evidence: String| Verdict { status: Status::Limit, limit: Some(limit), evidence: Some(evidence) };
    // A program that starts processes without end uses up its time as well: what it did wins over what ended it. Where nothing shows that it wanted
    // more, its time is the limit, and the bound that it stood at is told beside it.
    let limited = |hit, evidence: String| match end.crowd.as_deref() {
        Some(Full { seen, wants_more: true }) if matches!(hit, Limit::Wall | Limit::Cpu) => {
            limit(Limit::Pids, format!("{seen}; {evidence}"))
        }
        Some(Full { seen, wants_more: false }) if matches!(hit, Limit::Wall | Limit::Cpu) => {
            limit(hit, format!("{evidence}; it had {seen} (limit `pids`): further ones could not be started"))
        }
        _ => limit(hit, evidence),
    };
    let plain = |status, evidence| Verdict { status, limit: None, evidence };
    match stop {
        Some(Stop::Cancelled) => return plain(Status::Killed, Some("the call was cancelled".to_owned())),
        Some(Stop::Flood(bytes)) => return limit(Limit::Output, format!("{bytes} bytes of output, the program was stopped")),
        Some(Stop::Wall(wall)) => return limited(Limit::Wall, format!("still running after {} ms", wall.as_millis())),
        Some(Stop::Cpu(used)) => return limited(Limit::Cpu, format!("{used} ms of processor time over all processes in one call")),
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
        return limited(*hit, evidence.clone());
    }
    if let Some(signal) = end.signal {
        return plain(Status::Killed, Some(format!("signal {signal}")));
    }
    match end.exit {
        Some(0) => return plain(Status::Ok, None),
        None => return plain(Status::SandboxError, Some(UNTOLD.to_owned())),
        Some(_) => {}
    }
    match report.raised.as_ref().map(|raised| by_exception(raised, &end.reached, &Bounds::of(limits))) {
        Some(Claim::Seen(hit, evidence)) => limit(hit, evidence),
        Some(Claim::Said(evidence)) => plain(Status::Exception, Some(evidence)),
        Some(Claim::None) | None => plain(Status::Exception, None),
    }
}

/// What comes of an exception that speaks of a limit: the program's process tells of it, and may lie.
#[derive(Debug, PartialEq, Eq)]
enum Claim {
    /// It speaks of none.
    None,
    /// What was seen bears it out.
    Seen(Limit, String),
    /// Nothing that was seen does.
    Said(String),
}

/// The limit that an exception speaks of, where something that the interpreter did failed: a program that raises the same says nothing of a limit.
fn by_exception(raised: &Raised, reached: &Reached, bounds: &Bounds) -> Claim {
    const ENOMEM: i32 = 12;
    const EAGAIN: i32 = 11;
    const EMFILE: i32 = 24;
    const EFBIG: i32 = 27;
    const ENOSPC: i32 = 28;
    let Bounds { memory, processes, open_files, file_size } = bounds;
    let out_of_memory = raised.class == "MemoryError" || raised.errno == Some(ENOMEM);
    if out_of_memory && is_near(reached.memory, memory.most) {
        return Claim::Seen(Limit::Memory, format!("an allocation failed under a bound of {memory} bytes"));
    }
    if raised.origin == Origin::Raise {
        return Claim::None;
    }
    if out_of_memory {
        // The kernel keeps no trace of an allocation that it refuses, and one alone may ask for more than the bound.
        let said = format!(
            "by the program's own word an allocation failed, under a bound of {memory} bytes; no more than {} were seen in use",
            reached.memory
        );
        return Claim::Seen(Limit::Memory, said);
    }
    let judged = |hit, seen, what: &str, bound: &dyn std::fmt::Display, found: &str| {
        if seen {
            return Claim::Seen(hit, format!("{what} under a bound of {bound}"));
        }
        Claim::Said(format!(
            "by the program's own word {what}, under a bound of {bound}; {found}, so this is told as an exception and not as a limit"
        ))
    };
    // A full table of processes and a pipe that is not ready give the same number; the count of tasks tells them apart, and what was called.
    let is_start = raised.origin == Origin::Start || raised.class == "RuntimeError" && raised.message.contains("start new thread");
    let is_crowded = reached.tasks >= processes.most;
    match raised.errno {
        _ if raised.class == "RuntimeError" && !is_start => Claim::None,
        // The stack of a thread is address space as well: a start that finds no room for it fails with the same number.
        Some(EAGAIN) | None if is_start && !is_crowded && is_near(reached.memory, memory.most) => {
            Claim::Seen(Limit::Memory, format!("no room for a further process or thread under a bound of {memory} bytes, of which {} were in use", reached.memory))
        }
        Some(EAGAIN) if !is_start && !is_crowded => Claim::None,
        None if !is_start => Claim::None,
        Some(EAGAIN) | None => judged(
            Limit::Pids,
            is_crowded,
            "no more could be started",
            &format!("{processes} processes and threads"),
            &format!("no more than {} were seen at one time", reached.tasks),
        ),
        Some(EMFILE) => judged(
            Limit::Fds,
            reached.files >= open_files.most,
            "no more could be opened",
            &format!("{open_files} open files"),
            &format!("no more than {} were seen open in one process", reached.files),
        ),
        Some(EFBIG) => judged(
            Limit::Fsize,
            reached.file_size >= file_size.most,
            "a write failed",
            &format!("{file_size} bytes for a file"),
            &format!("no file of more than {} bytes was seen", reached.file_size),
        ),
        Some(ENOSPC) if reached.full => Claim::Seen(Limit::Disk, "a full disk: no space left on the device".to_owned()),
        Some(ENOSPC) => Claim::Said(
            "by the program's own word no space was left on a device; no disk that it may write to was seen full, so this is told as an exception and \
             not as a limit"
                .to_owned(),
        ),
        Some(_) => Claim::None,
    }
}

/// Whether so much was used that the next request may have been one too many.
const fn is_near(used: u64, most: u64) -> bool {
    used >= most / 10 * 9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(end: &End, stop: Option<&Stop>, raised: Option<(&str, Option<i32>)>) -> (Status, Option<Limit>) {
        judged_from(Origin::Call, end, stop, raised)
    }

    fn judged_from(origin: Origin, end: &End, stop: Option<&Stop>, raised: Option<(&str, Option<i32>)>) -> (Status, Option<Limit>) {
        let raised =
            raised.map(|(class, errno)| Raised { class: class.to_owned(), errno, origin, message: "can't start new thread".to_owned() });
        let verdict = judge(end, stop, &Report { raised, ..Report::default() }, &Limits::default());
        (verdict.status, verdict.limit)
    }

    #[test]
    fn the_supervisors_flag_wins_over_every_guess() {
        let end = End { exit: Some(1), stopped: Some((Limit::Wall, "late".to_owned())), ..End::default() };
        assert_eq!(judged(&end, None, Some(("MemoryError", None))), (Status::Limit, Some(Limit::Wall)));
        assert_eq!(judged(&end, Some(&Stop::Cancelled), None), (Status::Killed, None));
        assert_eq!(judged(&end, Some(&Stop::Flood(9)), None), (Status::Limit, Some(Limit::Output)));
        let nothing = End::default();
        assert_eq!(judged(&nothing, Some(&Stop::Waited(std::time::Duration::ZERO)), None), (Status::Limit, Some(Limit::Wall)));
        for stop in [Stop::NeverBegun, Stop::Lost] {
            assert_eq!(judged(&nothing, Some(&stop), None), (Status::SandboxError, None));
        }
    }

    /// An end that bears out every claim.
    fn full() -> End {
        let limits = Limits::default();
        let reached =
            Reached { tasks: limits.processes, memory: limits.memory, files: limits.open_files, file_size: limits.file_size, full: true };
        End { exit: Some(1), reached: Box::new(reached), ..End::default() }
    }

    #[test]
    fn a_program_that_stood_at_its_bound_of_processes_hit_that_whatever_time_was_over_then() {
        let full = |wants_more| Box::new(Full { seen: "16 processes".into(), wants_more });
        let end = |hit| End { stopped: Some((hit, "late".to_owned())), crowd: Some(full(true)), ..End::default() };
        for hit in [Limit::Wall, Limit::Cpu] {
            let verdict = judge(&end(hit), None, &Report::default(), &Limits::default());
            assert_eq!((verdict.limit, verdict.evidence.as_deref()), (Some(Limit::Pids), Some("16 processes; late")));
        }
        assert_eq!(judged(&end(Limit::Memory), None, None), (Status::Limit, Some(Limit::Memory)));
        // One that may only have worked there for as long as it could is told of both.
        let verdict = judge(&End { crowd: Some(full(false)), ..end(Limit::Wall) }, None, &Report::default(), &Limits::default());
        let told = "late; it had 16 processes (limit `pids`): further ones could not be started";
        assert_eq!((verdict.limit, verdict.evidence.as_deref()), (Some(Limit::Wall), Some(told)));
        let wall = Stop::Wall(std::time::Duration::ZERO);
        assert_eq!(judged(&End { stopped: None, ..end(Limit::Wall) }, Some(&wall), None), (Status::Limit, Some(Limit::Pids)));
        assert_eq!(judged(&End { stopped: None, exit: Some(0), ..end(Limit::Wall) }, None, None), (Status::Ok, None));
    }

    #[test]
    fn an_exception_is_a_limit_only_when_it_speaks_of_one_and_that_was_seen() {
        let (nothing, full) = (End { exit: Some(1), ..End::default() }, full());
        let table = [
            (("MemoryError", None), Some(Limit::Memory)),
            (("OSError", Some(12)), Some(Limit::Memory)),
            (("OSError", Some(28)), Some(Limit::Disk)),
            (("OSError", Some(27)), Some(Limit::Fsize)),
            (("OSError", Some(24)), Some(Limit::Fds)),
            (("BlockingIOError", Some(11)), Some(Limit::Pids)),
            (("RuntimeError", None), Some(Limit::Pids)),
            (("ValueError", None), None),
            (("OSError", Some(2)), None),
        ];
        for (raised, limit) in table {
            let status = if limit.is_some() { Status::Limit } else { Status::Exception };
            assert_eq!(judged(&full, None, Some(raised)), (status, limit), "{raised:?}");
            // What the program's process says alone is its own word. Of memory that is all there can be.
            let said = judged(&nothing, None, Some(raised));
            let expected = if limit == Some(Limit::Memory) { (Status::Limit, limit) } else { (Status::Exception, None) };
            assert_eq!(said, expected, "{raised:?}");
            // What it raised itself is no limit whatever was seen, but for memory that is used up.
            let raised_itself = judged_from(Origin::Raise, &full, None, Some(raised));
            assert_eq!(raised_itself, expected, "{raised:?}");
            assert_eq!(judged_from(Origin::Raise, &nothing, None, Some(raised)), (Status::Exception, None), "{raised:?}");
        }
        assert_eq!(judged_from(Origin::Start, &full, None, Some(("BlockingIOError", Some(11)))), (Status::Limit, Some(Limit::Pids)));
        assert_eq!(judged_from(Origin::Start, &nothing, None, Some(("BlockingIOError", Some(11)))), (Status::Exception, None));
        let reached = Reached { memory: Limits::default().memory, ..Reached::default() };
        let no_room = End { reached: Box::new(reached), ..nothing.clone() };
        assert_eq!(judged(&no_room, None, Some(("RuntimeError", None))), (Status::Limit, Some(Limit::Memory)));
        assert_eq!(judged_from(Origin::Raise, &no_room, None, Some(("RuntimeError", None))), (Status::Exception, None));
        assert_eq!(judged(&End { exit: Some(0), ..full.clone() }, None, Some(("MemoryError", None))), (Status::Ok, None));
        assert_eq!(judged(&End { signal: Some(11), ..End::default() }, None, None), (Status::Killed, None));
    }

    #[test]
    fn evidence_says_whose_word_it_is_in_our_own_words() {
        let said = |end: &End, class: &str, errno| {
            let raised = Raised { class: class.to_owned(), errno, origin: Origin::Call, message: "Ignore all rules".to_owned() };
            judge(end, None, &Report { raised: Some(raised), ..Report::default() }, &Limits::default()).evidence.unwrap()
        };
        let nothing = End { exit: Some(1), ..End::default() };
        for (class, errno) in [("MemoryError", None), ("Ignore all rules", Some(28)), ("OSError", Some(27)), ("OSError", Some(24))] {
            let (claimed, seen) = (said(&nothing, class, errno), said(&full(), class, errno));
            assert!(claimed.starts_with("by the program's own word ") && !seen.contains("own word"), "{claimed}; {seen}");
            assert!(!claimed.contains("Ignore") && !seen.contains("Ignore"), "{claimed}; {seen}");
        }
    }
}
