//! Pid 1 of the jail: builds the root, starts the program as pid 2, watches, reaps, and takes everything down with it.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions};

use super::attend::{FOR_EVER, tell, too_long};
use super::layers::Built;
use super::reached::Peaks;
use super::site::Site;
use super::supervisor::Streams;
use super::watch::{self, Watch};
use super::{doorway, enter, program, raw, root, trees, walls};
use crate::sandbox::jail::order::{self, End, Order, Pace, Word};
use crate::sandbox::jail::outcome::Limit;
use crate::sandbox::jail::spec::Layers;

/// So long the spawner may take to say that a program is dead which was killed.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often memory and processor time are looked at. Between two looks a program can take what its rlimits let it take.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Runs the call as pid 1.
pub(super) fn run(order: &Order, handed: Streams, shown: trees::Shown, built: Built, inside: &OwnedFd, counter: Option<File>) -> ExitCode {
    let say = |word: &Word| order::send(inside.as_fd(), word, &[]).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    if !tie(inside) {
        return ExitCode::FAILURE;
    }
    let watch = watch(order, None).telling(handed.is_kept(), inside).charging(counter);
    match started(order, handed, shown, built, inside) {
        Err(word) => say(&word),
        Ok(Step::Program(code)) => code,
        Ok(Step::Init(child, signals)) => {
            // The supervisor keeps the time, and says here that the program is to end: what its processes wrote is known to the process that takes
            // their ends, and none does once init itself is killed (`zap_pid_ns_processes`).
            let mut clock = Clock { call: inside, wall: FOR_EVER, started: None };
            say(&match attend(order, &Program::Child(child), &signals, watch, Reach::All, Some(&mut clock)) {
                Ok(end) => Word::Ended(end),
                Err(fault) => fault,
            })
        }
    }
}

/// Which of the two processes goes on.
enum Step {
    Init(Pid, SignalFd),
    Program(ExitCode),
}

fn started(order: &Order, handed: Streams, shown: trees::Shown, mut built: Built, inside: &OwnedFd) -> Result<Step, Word> {
    let user = shown.user;
    let doorway = furnish(order, shown, &mut built)?;
    if let Some(user) = user {
        walls::drop_bounding_set().map_err(Word::Fault)?;
        enter::become_user(user).map_err(|e| Word::Fault(format!("taking on a user: {e}")))?;
        // A change of user unties (PR_SET_PDEATHSIG(2const)).
        if !tie(inside) {
            return Err(Word::Fault("the supervisor is dead".to_owned()));
        }
    }
    walls::drop_privileges(&mut built).map_err(|e| Word::Fault(format!("dropping capabilities: {e}")))?;
    let signals = listen()?;
    match raw::fork().map_err(|e| Word::Fault(format!("starting the program: {e}")))? {
        None => {
            let others = program::others(order, None);
            Ok(Step::Program(program::run(order, handed, built, inside, doorway.as_ref(), None, others)))
        }
        Some(child) => {
            drop((handed, doorway));
            // The program has the same user: without this it could read init's memory where Landlock is missing.
            let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
            Ok(Step::Init(child, signals))
        }
    }
}

/// Builds the root and says what the namespaces hold; the doorway is for a program that may use the network.
///
/// # Errors
/// The word that refuses the call.
pub(super) fn furnish(order: &Order, shown: trees::Shown, built: &mut Built) -> Result<Option<OwnedFd>, Word> {
    root::build(order, shown, built)?;
    nix::unistd::sethostname("jail").map_err(|e| Word::Fault(format!("naming the host: {e}")))?;
    built.memory((!built.has("proc")).then_some("there is no /proc to add them up; mount /proc unmasked"));
    let unavailable = |reason| Word::Unavailable { layer: "network".to_owned(), reason };
    let doorway = order.kind.network.then(doorway::open).transpose().map_err(unavailable)?;
    built.on("network");
    Ok(doorway)
}

/// Notes what is different where programs see the host's files behind Landlock.
pub(super) fn note_shared(built: &mut Built) {
    built.missing("proc", "off: closed by Landlock");
    let unseen = "`/proc` does not show which processes are whose children (CONFIG_PROC_CHILDREN)";
    built.memory((!watch::can_look_below()).then_some(unseen));
}

/// Scratch space as a program sees it.
const SCRATCH: [&str; 2] = ["/tmp", "/dev/shm"];

/// The watch over a call on its ground.
pub(super) fn watch(order: &Order, site: Option<&Site>) -> Watch {
    let mut watch = Watch::new(order.kind.limits);
    if order.kind.roots.iter().any(|root| root.writable) {
        watch = watch.over_writes();
    }
    for root in order.kind.roots.iter().filter(|root| root.writable) {
        // Each by its own: what a root without a quota holds is none of another one's.
        let most = root.quota.unwrap_or(order.kind.limits.disk);
        if most < u64::MAX {
            let place = format!("/roots/{}", root.name);
            watch = watch.over(site.map_or_else(|| place.clone().into(), |site| site.path(order, &place)), most, site.is_none());
        }
    }
    let places: Vec<String> = SCRATCH
        .map(str::to_owned)
        .into_iter()
        .chain(order.kind.roots.iter().filter(|root| root.writable).map(|root| format!("/roots/{}", root.name)))
        .collect();
    if enter::is_exempt() {
        watch = watch.counting();
    }
    let watch = watch.over_disks(match site {
        Some(site) => Peaks::over(places.iter().map(|place| site.path(order, place)).collect(), Vec::new(), vec![site.scratch.clone()]),
        None if order.kind.ground.has_init() => {
            Peaks::over(places.iter().map(PathBuf::from).collect(), Vec::new(), SCRATCH.map(PathBuf::from).to_vec())
        }
        None => Peaks::over(Vec::new(), places, Vec::new()),
    });
    match site {
        Some(site) => watch.below(site.scratch.clone(), site.others > 0),
        None => watch,
    }
}

/// The deaths of children as something that can be waited for.
///
/// # Errors
/// A fault.
pub(super) fn listen() -> Result<SignalFd, Word> {
    let mut mask = SigSet::empty();
    mask.add(nix::sys::signal::Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&mask), None).map_err(|e| Word::Fault(e.to_string()))?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map_err(|e| Word::Fault(e.to_string()))
}

/// Dies with the supervisor; false when that is dead already.
pub(super) fn tie(inside: &OwnedFd) -> bool {
    // The supervisor may have died before the first line took hold: then its end of the channel is closed.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_ok() && !closed(inside)
}

fn closed(channel: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(channel, PollFlags::IN)];
    let _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    fds.iter().any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

/// Where the end of the program is heard of.
#[derive(Debug)]
pub(super) enum Program {
    /// It is a child of init.
    Child(Pid),
    /// It is a child of the spawner, which tells of its end on this channel: a process that joins a process namespace keeps its
    /// parent outside (`pid_namespaces(7)`). The other descriptor is the process itself (`pidfd_open(2)`), for a spawner that says nothing.
    Joined(OwnedFd, Option<OwnedFd>),
}

/// Who is killed with a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Every process of the namespace but this one.
    All,
    /// This child; the rest is for the supervisor.
    One(Pid),
    /// The same, where the children of this process have a process namespace of their own that another program made.
    Below(Pid),
}

impl Reach {
    /// Ends the program of which nothing can be seen any more, and says why.
    fn give_up(self, doing: &str, why: &dyn std::fmt::Display) -> Word {
        self.kill();
        Word::Fault(format!("{doing}: {why}; the program was ended, since its limits could not be held"))
    }

    /// Stops every process that it reaches, or has them go on. None of them can refuse that, and one that is being forked gets it as well: a fork
    /// is begun again where a signal waits.
    fn pace(self, pace: Pace) {
        let signal = match pace {
            Pace::Stand => nix::sys::signal::Signal::SIGSTOP,
            Pace::Go => nix::sys::signal::Signal::SIGCONT,
        };
        match self {
            Self::All => drop(nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), signal)),
            // The supervisor stops the whole group.
            Self::One(_) => {}
            Self::Below(_) => match raw::fork() {
                Ok(None) => {
                    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), signal);
                    raw::leave(0);
                }
                Ok(Some(helper)) => {
                    let _ = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(helper), WaitOptions::empty()));
                }
                Err(_) => {}
            },
        }
    }

    fn kill(self) {
        match self {
            Self::All => kill_all(),
            Self::One(child) | Self::Below(child) => {
                let _ = rustix::process::kill_process(child, Signal::KILL);
            }
        }
    }
}

/// A call whose time init keeps itself: its spawner may be held up by a file system that hangs.
#[derive(Debug)]
pub(super) struct Clock<'a> {
    /// The server's channel: what is heard there is that the call is to end.
    pub(super) call: &'a OwnedFd,
    /// How long the program may take from now on.
    pub(super) wall: Duration,
    /// What the server is to hear of the start, where that can wait: most programs have ended before the first look, and to wake it twice would
    /// cost every call.
    pub(super) started: Option<Layers>,
}

/// Reaps and watches until the program has ended, then kills what it left. Without a clock the supervisor keeps the time.
///
/// # Errors
/// The fault for which it cannot watch any more; everything that this process can kill is dead by then.
pub(super) fn attend(
    order: &Order,
    program: &Program,
    signals: &SignalFd,
    mut watch: Watch,
    reach: Reach,
    mut clock: Option<&mut Clock<'_>>,
) -> Result<End, Word> {
    let mut end = End::default();
    let mut next_look = Instant::now() + LOOK_EVERY;
    let deadline = clock.as_ref().map(|clock| Instant::now() + clock.wall);
    // Since when everything is dead that this process can kill, and whether the program had gone by itself.
    let mut ended: Option<Instant> = None;
    let mut gone = false;
    loop {
        if over(program, &mut end) {
            break;
        }
        if ended.is_some_and(|since| since.elapsed() >= PATIENCE) {
            // A program that joined is taken by the spawner, which does not say so. How one ended that was not killed, only that would know.
            end.signal = (!gone).then_some(nix::libc::SIGKILL);
            break;
        }
        let mut fds = vec![PollFd::new(signals, PollFlags::IN)];
        if let Program::Joined(channel, _) = program {
            fds.push(PollFd::new(channel, PollFlags::IN));
        }
        let heard = fds.len();
        if let Some(clock) = clock.as_deref().filter(|_| ended.is_none()) {
            fds.push(PollFd::new(clock.call, PollFlags::IN));
        }
        let left = until(ended, deadline, next_look).saturating_duration_since(Instant::now());
        match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
            // Nothing was heard, and `fds` say so.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(reach.give_up("waiting for the program", &e)),
        }
        let is_told = fds.get(heard).is_some_and(|fd| !fd.revents().is_empty());
        let unwanted = is_told && clock.as_deref().is_none_or(|clock| !paced(clock.call, reach));
        while let Ok(Some(_)) = signals.read_signal() {}
        let late = deadline.is_some_and(|deadline| Instant::now() >= deadline) && ended.is_none();
        if let Some(clock) = clock.as_deref().filter(|_| late) {
            // INVARIANT: the reason is noted before the kill.
            end.stopped = Some(too_long(clock.wall));
        }
        if unwanted || late {
            ended.get_or_insert_with(Instant::now);
            reach.kill();
        }
        // By the clock, not by the silence of the children: a program that makes orphans without end would never be looked at.
        if Instant::now() >= next_look && ended.is_none() {
            next_look = Instant::now() + LOOK_EVERY;
            if let Some(clock) = &mut clock
                && let Some(layers) = clock.started.take()
            {
                tell(clock.call, &Word::Started(layers));
            }
            if let Program::Joined(_, Some(process)) = program
                && speaks(process)
            {
                // Not heard of when it happens: the spawner says it, and to be woken twice would cost every call.
                gone = true;
                ended.get_or_insert_with(Instant::now);
            }
            if let Some(hit) = watch.look().map_err(|e| reach.give_up("looking at the program", &e))? {
                // INVARIANT: the reason is noted before the kill.
                end.stopped = Some(hit);
                ended.get_or_insert_with(Instant::now);
                reach.kill();
                if reach != Reach::All {
                    // Others may start processes as long as this one waits: the supervisor ends the whole group at once when this one is gone.
                    end.signal = Some(nix::libc::SIGKILL);
                    break;
                }
            }
        }
    }
    watch.last_look();
    if reach == Reach::All {
        kill_all();
        while let Ok(Some(_)) = rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::empty())) {}
    }
    if end.stopped.is_none() && end.signal.is_some() {
        end.stopped = by_signal(order, &end, watch.cpu_ms());
    }
    if let (Program::Joined(..), Ok(used)) = (program, nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)) {
        let millis = |time: nix::sys::time::TimeVal| (time.tv_sec() * 1000 + time.tv_usec() / 1000).unsigned_abs();
        end.usage.cpu_ms += millis(used.user_time()) + millis(used.system_time());
        end.usage.max_rss_bytes = end.usage.max_rss_bytes.max(used.max_rss().unsigned_abs().saturating_mul(1024));
        end.written = end.written.saturating_add(raw::blocks(used.block_writes()));
    }
    // What nobody has reaped was seen all the same.
    end.usage.cpu_ms = end.usage.cpu_ms.max(watch.cpu_ms());
    end.written = end.written.max(watch.written());
    end.reached = Box::new(watch.reached());
    end.reached.memory = end.reached.memory.max(end.usage.max_rss_bytes);
    end.usage.pids_peak = Some(watch.pids_peak());
    end.crowd = watch.crowd();
    Ok(end)
}

/// When there is something to do without anything being said. Once everything is dead, only the end of the patience is left.
fn until(ended: Option<Instant>, deadline: Option<Instant>, next_look: Instant) -> Instant {
    match ended {
        Some(since) => since + PATIENCE,
        None => deadline.map_or(next_look, |deadline| deadline.min(next_look)),
    }
}

/// So many dead children are taken at one time.
const MOST_AT_ONCE: usize = 1024;

/// Takes dead children, and says whether the program has ended.
fn over(program: &Program, end: &mut End) -> bool {
    let mut over = false;
    // A program may make orphans as fast as they are taken; the next look takes the rest.
    for (pid, ended) in std::iter::from_fn(raw::reap).take(MOST_AT_ONCE) {
        if matches!(program, Program::Child(child) if *child == pid) {
            over = true;
            (end.exit, end.signal) = (ended.exit, ended.signal);
        }
    }
    if let Program::Joined(channel, _) = program
        && speaks(channel)
    {
        // A spawner that is gone can tell nothing any more, and with it goes the jail.
        if let Ok(Some((Word::Ended(ended), _))) = order::receive::<Word>(channel.as_fd()) {
            (end.exit, end.signal, end.usage, end.written) = (ended.exit, ended.signal, ended.usage, ended.written);
            // What was noted before a kill wins.
            end.stopped = end.stopped.take().or(ended.stopped);
        }
        over = true;
    }
    over
}

/// Whether there is something to read, or the other end is closed.
pub(super) fn speaks(channel: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(channel, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
}

/// A signal that only a limit sends, `seen` being the processor time that the watch saw. A program may send itself any signal.
fn by_signal(order: &Order, end: &End, seen: u64) -> Option<(Limit, String)> {
    let used = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).ok()?;
    let millis = |time: nix::sys::time::TimeVal| (time.tv_sec() * 1000 + time.tv_usec() / 1000).unsigned_abs();
    let used = (millis(used.user_time()) + millis(used.system_time()) + end.usage.cpu_ms).max(seen);
    let is_spent = u128::from(used) >= order.kind.limits.cpu.as_millis();
    // The second is that of the hard limit, for a program that ignores the first.
    let sent = matches!(end.signal, Some(nix::libc::SIGXCPU | nix::libc::SIGKILL));
    (sent && is_spent).then(|| (Limit::Cpu, format!("signal {} after {used} ms of processor time", end.signal.unwrap_or_default())))
}

/// Does what the server says of the pace of a session; false where it says that the program is to end.
fn paced(call: &OwnedFd, reach: Reach) -> bool {
    match order::receive_now::<Pace>(call.as_fd()) {
        Ok(Some((pace, _))) => {
            reach.pace(pace);
            if pace == Pace::Stand {
                tell(call, &Word::Stands);
            }
            true
        }
        Ok(None) => false,
        // Another process has this end as well, and has taken what was there.
        Err(_) => !closed(call),
    }
}

/// Kills every process of the namespace but this one.
fn kill_all() {
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), nix::sys::signal::Signal::SIGKILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_end_nothing_is_waited_for_that_lies_in_the_past() {
        let now = Instant::now();
        let (past, soon) = (now.checked_sub(Duration::from_millis(1)).unwrap(), now + Duration::from_millis(1));
        assert_eq!([until(None, Some(soon), past), until(None, Some(past), soon), until(None, None, soon)], [past, past, soon]);
        // A look or an end of time that is over would be waited for without sleep, until the spawner speaks.
        for (deadline, look) in [(None, past), (Some(past), soon), (Some(past), past)] {
            assert_eq!(until(Some(now), deadline, look), now + PATIENCE);
        }
    }
}
