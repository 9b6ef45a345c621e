//! The first process of a jail: builds what stands around the program, starts it, watches, takes the dead, and ends everything at the end.
//!
//! It is pid 1 of the process namespace where there is one, and the parent of the program everywhere. The server speaks to it over one channel.

mod bubblewrap;
mod gateway;
pub(crate) mod host_folders;
pub(crate) mod root;
pub(crate) mod watch;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sched::CloneFlags;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigSet, SigmaskHow, kill, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitId, WaitIdOptions, set_dumpable_behavior, set_parent_process_death_signal, waitid,
};

use crate::backend::NotStarted;
use crate::end::{End, Limit, Usage};
use crate::layers::Built;
use crate::message::{self, Call, Command, Event, Isolation, Plan};
use crate::program::seccomp::Filters;
use crate::program::{self, Given, limits};
use crate::raw;
use crate::reasons::SHARED_USER;
use crate::spawner::cgroup::{self, Group};
use crate::spawner::first;
use crate::spawner::trees::Tree;
use crate::spec::Cover;
use host_folders::HostFolders;
use watch::{VisibleProcesses, Watch};

/// What a jail is started with.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) call: &'a Call,
    /// The jail's end of its channel.
    pub(crate) channel: &'a OwnedFd,
    /// Standard input, output and error of a program that does not wait.
    pub(crate) io: Vec<OwnedFd>,
    /// The folders, on grounds that show them from the start.
    pub(crate) dirs: Vec<OwnedFd>,
    /// What is shown, on grounds whose root is built here.
    pub(crate) trees: Vec<Tree>,
    /// The user number that the program has for itself on the host.
    pub(crate) user: Option<u32>,
    /// Whether the kernel exempts its user from the bound on processes.
    pub(crate) is_exempt: bool,
    pub(crate) filters: &'a Filters,
}

/// How often the processes are looked at. Between two looks a program can take what its rlimits let it take.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Runs a jail to its end; the number with which its first process leaves.
pub(crate) fn run(start: Start<'_>, group: &Group) -> u8 {
    let channel = start.channel;
    let last = match build(start, group) {
        Ok(Some(mut jail)) => jail.attend(),
        // This is the program's process, which has said why it could not become the program.
        Ok(None) => return 1,
        Err(why) => Event::Refused(why),
    };
    u8::from(message::send(channel.as_fd(), &last, &[]).is_err())
}

/// A jail whose program was started.
#[derive(Debug)]
struct Init<'a> {
    plan: &'a Plan,
    channel: &'a OwnedFd,
    program: Pid,
    /// Where the program waits for its calls.
    input: Option<OwnedFd>,
    signals: SignalFd,
    watch: Watch,
    /// Counts the processes killed for memory.
    kills: Option<File>,
    /// The scratch folder, where the host lends one.
    host: Option<HostFolders>,
    /// The user that this process takes on once folders are shown, where it does.
    user: Option<u32>,
    /// Whether the folders are shown and no right over the namespaces is needed any more.
    is_settled: bool,
    /// What a call may use, while there is one: until when, of how much time, and how much processor time from the beginning of the jail.
    running: Option<(Instant, Duration, u64)>,
    /// How the program ended, as far as it is known.
    end: End,
    has_ended: bool,
}

/// Builds everything and starts the program. `None` in the program's process, where it did not become the program.
fn build<'a>(start: Start<'a>, group: &Group) -> Result<Option<Init<'a>>, NotStarted> {
    let Start { plan, call, channel, io, dirs, trees, user, is_exempt, filters } = start;
    tie()?;
    let mut built = Built::default();
    built.groups(&group.enter(), plan.limits.cpu_share);
    match user {
        Some(_) => built.on("own_user"),
        None => built.missing("own_user", SHARED_USER),
    }
    let mut host = None;
    match &plan.isolation {
        Isolation::Namespaces | Isolation::Rooted => own_root(plan, &trees, user, &mut built)?,
        Isolation::Landlock => {
            own_group()?;
            host = Some(HostFolders::make(plan, dirs, user)?);
            note_shared(&mut built);
        }
        Isolation::Bubblewrap(bwrap) => {
            own_group()?;
            bubblewrap::enter(plan, call, &dirs, user, bwrap, &mut built)?;
            own_group()?;
        }
    }
    let gateway = if plan.network && host.is_none() { Some(gateway::open().map_err(unavailable_network)?) } else { None };
    let signals = listen()?;
    let pair = if plan.waits { Some(message::channel().map_err(|e| NotStarted::fault("making a channel", e))?) } else { None };
    let (input, output) = pair.unzip();
    let visible = match (&host, built.has("proc")) {
        (Some(_), _) if watch::can_look_below() => VisibleProcesses::Below,
        (None, true) => VisibleProcesses::All,
        _ => VisibleProcesses::None,
    };
    built.memory((visible == VisibleProcesses::None).then_some("`/proc` does not show the processes"));
    let Some(program) = raw::fork().map_err(|e| NotStarted::fault("starting the program", e))? else {
        let given =
            Given { plan, covers: &call.covers, channel, io, input: output, gateway, host: host.as_ref(), user, is_exempt, filters };
        program::become_program(given, built);
        return Ok(None);
    };
    // The program may have the same user: it shall not read this process's memory.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let copy = |file: Option<&File>| file.and_then(|file| file.try_clone().ok());
    let mut watch = Watch::new(plan.limits, visible, copy(group.cpu_time()), group.kills().is_some());
    watch.scratch = host.as_ref().map(|host| host.scratch.clone());
    watch.unnamed.extend(watch.scratch.clone().map(|scratch| (scratch, plan.limits.scratch)));
    for folder in &plan.folders {
        let inside = format!("/roots/{}", folder.name);
        let place = host.as_ref().map_or_else(|| inside.clone().into(), |host| host.path(plan, &inside));
        watch.unnamed.extend(folder.unnamed.map(|most| (place, most)));
    }
    let mut init = Init {
        plan,
        channel,
        program,
        input,
        signals,
        watch,
        kills: copy(group.kills()),
        // Where it lends a folder to a program of another user, it keeps the rights to clear that and to end its processes.
        is_settled: host.is_some(),
        host,
        user: user.filter(|_| plan.isolation == Isolation::Rooted),
        running: None,
        end: End::default(),
        has_ended: false,
    };
    if !plan.waits || matches!(plan.isolation, Isolation::Bubblewrap(_)) {
        init.settle()?;
    }
    if !plan.waits {
        init.begin(call);
    }
    Ok(Some(init))
}

fn unavailable_network(reason: String) -> NotStarted {
    NotStarted::Unavailable("network".to_owned(), reason)
}

/// Enters the last namespace, takes on the user, and builds the root.
fn own_root(plan: &Plan, trees: &[Tree], user: Option<u32>, built: &mut Built) -> Result<(), NotStarted> {
    let number = if plan.isolation == Isolation::Namespaces {
        first::become_inner().map_err(|e| NotStarted::fault("taking on a user", e))?;
        tie()?;
        built.on("user_namespace");
        first::INNER
    } else {
        built.missing("user_namespace", "off: the program has a user number of its own on the host instead, which owns nothing");
        user.unwrap_or_default()
    };
    nix::sched::unshare(CloneFlags::CLONE_NEWCGROUP).map_err(|e| crate::diagnostics::no_namespace("cgroup", e))?;
    for name in first::NAMESPACES.map(|(name, _)| name).into_iter().chain(["cgroup"]) {
        built.on(&format!("{name}_namespace"));
    }
    root::build(plan, trees, number, built)?;
    nix::unistd::sethostname("jail").map_err(|e| NotStarted::fault("naming the host", e))?;
    built.on("network");
    Ok(())
}

/// Becomes the one to which orphans of the program come, in a session of its own.
fn own_group() -> Result<(), NotStarted> {
    let fault = |e: rustix::io::Errno| NotStarted::fault("starting a session", e);
    rustix::process::setsid().map_err(fault)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(fault)
}

/// Notes what is different where programs see the host's files behind Landlock.
fn note_shared(built: &mut Built) {
    for name in ["user", "mount", "pid", "net", "ipc", "uts", "cgroup"] {
        built.missing(&format!("{name}_namespace"), "off: this backend has no namespaces");
    }
    built.missing("proc", "off: closed by Landlock");
    // No socket but those of the file system can be made, and Landlock closes these and what needs none.
    built.on("network");
}

/// Has this process die with its parent.
fn tie() -> Result<(), NotStarted> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| NotStarted::fault("tying init to its parent", e))
}

/// The deaths of children as something that can be waited for.
///
/// # Errors
/// [`NotStarted::Fault`].
pub(crate) fn listen() -> Result<SignalFd, NotStarted> {
    let fault = |e: nix::Error| NotStarted::fault("waiting for children", e);
    let mut mask = SigSet::empty();
    mask.add(nix::sys::signal::Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&mask), None).map_err(fault)?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map_err(fault)
}

impl Init<'_> {
    /// Serves the server and watches until the program has ended or is to end, then ends what is left. Returns the last event.
    fn attend(&mut self) -> Event {
        let mut next_look = Instant::now() + LOOK_EVERY;
        loop {
            // Nothing wakes a jail that waits or stands still but its server.
            let due = self.running.as_ref().map(|(deadline, ..)| next_look.min(*deadline));
            let left = due.and_then(|due| Timespec::try_from(due.saturating_duration_since(Instant::now())).ok());
            let mut fds = [PollFd::new(self.channel, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
            let polled = poll(&mut fds, left.as_ref());
            let [commands, signals] = fds.map(|fd| !fd.revents().is_empty());
            if let Err(e) = polled
                && e != rustix::io::Errno::INTR
            {
                return self.give_up("waiting for the program", &e);
            }
            if signals {
                self.reap();
            }
            if self.has_ended {
                break;
            }
            if commands {
                match message::receive::<Command>(self.channel.as_fd()) {
                    Ok(Some((Command::Show(covers), mounts))) => {
                        if let Err(why) = self.show(&covers, &mounts) {
                            self.end_all();
                            return Event::Refused(why);
                        }
                    }
                    Ok(Some((Command::Call(call), fds))) => {
                        if let Err(why) = self.take(&call, &fds) {
                            self.end_all();
                            return Event::Refused(why);
                        }
                        next_look = Instant::now() + LOOK_EVERY;
                    }
                    Ok(Some((Command::Pause, _))) => self.pause(),
                    Ok(Some((Command::Refuse(why), _))) => {
                        self.end_all();
                        return Event::Refused(why);
                    }
                    // The server wants the end of it, or is dead.
                    Ok(None) | Err(_) => break,
                }
            }
            let Some((deadline, wall, most)) = self.running else { continue };
            let now = Instant::now();
            if now >= deadline {
                self.end.limit = Some((Limit::Wall, format!("still running after {} ms", wall.as_millis())));
                break;
            }
            // By the clock, not by the silence of the children: a program that makes orphans without end would never be looked at.
            if now >= next_look {
                next_look = now + LOOK_EVERY;
                match self.watch.look(most) {
                    Ok(None) => {}
                    Ok(hit) => {
                        self.end.limit = hit;
                        break;
                    }
                    Err(e) => return self.give_up("looking at the program", &e),
                }
            }
        }
        self.finish()
    }

    /// Ends the program of which nothing can be seen any more, and says why.
    fn give_up(&mut self, doing: &str, why: &dyn std::fmt::Display) -> Event {
        self.end_all();
        Event::Refused(NotStarted::fault(doing, format!("{why}; the program was ended, since its limits could not be held")))
    }

    /// Ends what is left, and says how the program ended.
    fn finish(&mut self) -> Event {
        // What nobody will have reaped was seen all the same.
        let cpu_ms = self.watch.cpu_ms();
        self.end_all();
        let mut end = std::mem::take(&mut self.end);
        (end.usage.max_rss_bytes, end.written) = dead();
        end.usage.cpu_ms = cpu_ms.max(self.watch.cpu_ms()).max(watch::reaped_ms());
        end.usage.pids_peak = Some(self.watch.peak());
        let kills = self.kills.as_ref().map_or(0, cgroup::kills);
        if end.limit.is_none() && kills > 0 {
            end.limit = Some(cgroup::out_of_memory(kills));
        }
        // The second is that of the hard limit, for a program that ignores the first. A program may send itself any signal.
        let is_spent = end.usage.cpu_ms >= self.running.map_or(u64::MAX, |(.., most)| most);
        if end.limit.is_none() && is_spent && matches!(end.signal, Some(nix::libc::SIGXCPU | nix::libc::SIGKILL)) {
            let signal = end.signal.unwrap_or_default();
            end.limit = Some((Limit::Cpu, format!("signal {signal} after {} ms of processor time", end.usage.cpu_ms)));
        }
        Event::Ended(end)
    }

    /// Takes dead children.
    fn reap(&mut self) {
        while let Ok(Some(_)) = self.signals.read_signal() {}
        // A program may make orphans as fast as they are taken; the next turn takes the rest.
        for (pid, ended) in std::iter::from_fn(raw::reap).take(1024) {
            if pid == self.program {
                (self.end.exit, self.end.signal, self.has_ended) = (ended.exit, ended.signal, true);
            }
        }
    }

    /// Shows the folders, and covers what must not be seen in them.
    fn show(&mut self, covers: &[Vec<Cover>], mounts: &[OwnedFd]) -> Result<(), NotStarted> {
        for ((folder, covers), mount) in self.plan.folders.iter().zip(covers).zip(mounts) {
            root::show(folder, covers, mount.as_fd())?;
        }
        self.settle()?;
        message::send(self.channel.as_fd(), &Event::Shown, &[]).map_err(|e| NotStarted::fault("telling of folders", e))
    }

    /// Hands a call to the program, and starts its time.
    fn take(&mut self, call: &Call, fds: &[OwnedFd]) -> Result<(), NotStarted> {
        self.settle()?;
        let Some(input) = &self.input else { return Err(NotStarted::Fault("a call came for a program that does not wait".to_owned())) };
        let fault = |e: std::io::Error| NotStarted::fault("handing over a call", e);
        // Before the program has it: where this was not said, nothing has run.
        message::send(self.channel.as_fd(), &Event::Started, &[]).map_err(fault)?;
        self.signal(nix::sys::signal::Signal::SIGCONT);
        let start = self.host.as_ref().map_or_else(|| call.start_dir.clone().into(), |host| host.path(self.plan, &call.start_dir));
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        // A program that is gone is taken by the next turn.
        let _ = message::send_bytes(input.as_fd(), start.as_os_str().as_encoded_bytes(), &fds);
        self.begin(call);
        Ok(())
    }

    /// Gives up every right that was needed to show folders.
    fn settle(&mut self) -> Result<(), NotStarted> {
        if std::mem::replace(&mut self.is_settled, true) {
            return Ok(());
        }
        let fault = |e: String| NotStarted::fault("giving up rights", e);
        limits::drop_bounding_set().map_err(fault)?;
        if let Some(user) = self.user {
            first::become_user(user, true).map_err(|e| fault(e.to_string()))?;
            // A change of user unties (PR_SET_PDEATHSIG(2const)), and shows memory again.
            tie()?;
            let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        }
        limits::drop_capabilities().map_err(fault)
    }

    /// Starts the time of a call.
    fn begin(&mut self, call: &Call) {
        let cpu = u64::try_from(call.cpu.as_millis()).unwrap_or(u64::MAX);
        self.running = Some((Instant::now() + call.wall, call.wall, self.watch.cpu_ms().saturating_add(cpu)));
    }

    /// Has every process stand still, and says what they used so far.
    fn pause(&mut self) {
        self.signal(nix::sys::signal::Signal::SIGSTOP);
        self.running = None;
        // What it adds up is what counts here.
        let _ = self.watch.look(u64::MAX);
        let (max_rss_bytes, written) = dead();
        let usage = Usage { cpu_ms: self.watch.cpu_ms(), max_rss_bytes, pids_peak: Some(self.watch.peak()) };
        let paused = Event::Paused(usage, written.saturating_add(self.watch.written()));
        let _ = message::send(self.channel.as_fd(), &paused, &[]);
    }

    /// Sends a signal to every process of the program. None can refuse these, and one that is being forked gets it as well: a fork is begun again
    /// where a signal waits.
    fn signal(&self, signal: nix::sys::signal::Signal) {
        let program = nix::unistd::Pid::from_raw(self.program.as_raw_nonzero().get());
        // With a process namespace all but this process and pid 1; without one the group that nothing can leave.
        let _ = if self.host.is_some() { nix::sys::signal::killpg(program, signal) } else { kill(nix::unistd::Pid::from_raw(-1), signal) };
    }

    /// Ends every process but this one, and takes it.
    fn end_all(&mut self) {
        self.signal(nix::sys::signal::Signal::SIGKILL);
        loop {
            if self.host.is_some() {
                // What left its parent comes to this process, and what was started meanwhile with it.
                for pid in watch::own_children() {
                    let _ = rustix::process::kill_process(pid, Signal::KILL);
                }
            }
            let dead = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            if rustix::io::retry_on_intr(|| waitid(WaitId::All, dead)).is_err() {
                break;
            }
            self.reap();
        }
        if let Some(host) = &self.host {
            host.clear();
        }
    }
}

/// Of the dead children of this process: the largest resident memory of one, and what all of them wrote to files on disks, in bytes.
fn dead() -> (u64, u64) {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or((0, 0), |used| {
        let bytes = |count: i64, unit: u64| count.unsigned_abs().saturating_mul(unit);
        (bytes(used.max_rss(), 1024), bytes(used.block_writes(), 512))
    })
}
