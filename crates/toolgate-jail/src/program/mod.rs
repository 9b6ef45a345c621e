//! The program's process: takes on the last walls, and becomes the program.

#![expect(clippy::disallowed_methods, reason = "the process writes what the kernel keeps of itself")]

mod host_landlock;
mod landlock;
pub(crate) mod limits;
pub(crate) mod seccomp;
pub(crate) mod waiting;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::process::Signal;

use crate::backend::NotStarted;
use crate::init::host_folders::HostFolders;
use crate::layers::Built;
use crate::message::{self, Event, Isolation, Plan};
use crate::raw;
use crate::reasons::{EXEMPT_PROCESSES, REDUCED_FILES, REDUCED_PROCESSES};
use crate::spawner::first;
use crate::spec::{Cover, Layer};
use seccomp::{FilterKind, Filters};

/// What a program's process is given.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) covers: &'a [Vec<Cover>],
    /// The jail's end of its channel.
    pub(crate) channel: &'a OwnedFd,
    /// Standard input, output and error of a program that does not wait.
    pub(crate) io: Vec<OwnedFd>,
    /// Where a program that waits hears of its calls.
    pub(crate) input: Option<OwnedFd>,
    /// The socket of the gateway, for the server.
    pub(crate) gateway: Option<OwnedFd>,
    /// The scratch folder, where the host lends one.
    pub(crate) host: Option<&'a HostFolders>,
    /// The user number that the program has for itself on the host.
    pub(crate) user: Option<u32>,
    /// Whether the kernel exempts its user from the bound on processes.
    pub(crate) is_exempt: bool,
    pub(crate) filters: &'a Filters,
}

/// How much less of a processor a program asks for than the process that watches over it, where no namespace keeps them apart (nice(2)).
const BEHIND: i32 = 9;
/// Above every number that a program gets.
const HIGH: i32 = 20;
/// Where a program that waits finds its channel.
const INPUT: i32 = 3;
/// Init, which the kernel counts as well where it has the same user in the same user namespace.
const INIT: u64 = 1;
/// So many times the processor time of one call a program may use that waits for more: the watch bounds each.
const MOST_CALLS: u64 = 20;

/// Becomes the program; comes back only when that failed, which was said by then.
pub(crate) fn become_program(given: Given<'_>, built: Built) {
    let channel = given.channel;
    let Err(why) = try_to_become(given, built);
    let _ = message::send(channel.as_fd(), &Event::Refused(why), &[]);
}

fn try_to_become(given: Given<'_>, mut built: Built) -> Result<std::convert::Infallible, NotStarted> {
    let Given { plan, covers, channel, io, input, gateway, host, user, is_exempt, filters } = given;
    start_session(host)?;
    // They are placed last: the numbers below are still those of other things.
    let high = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, HIGH).map_err(|e| NotStarted::fault("moving a descriptor", e));
    let first = if input.is_some() { INPUT } else { 0 };
    let placed: Vec<OwnedFd> = io.iter().chain(&input).map(high).collect::<Result<_, _>>()?;
    let channel = high(channel)?;
    drop_privileges(plan, user)?;
    built.on("no_new_privs");
    built.on("capabilities");
    limit_resources(plan, host)?;
    built.on("rlimits");
    match host {
        None => {
            if is_exempt {
                built.missing("processes", EXEMPT_PROCESSES);
            } else {
                built.on("processes");
            }
            landlock::restrict(plan, &mut built);
        }
        Some(host) => restrict_host_files(plan, covers, host, &mut built)?,
    }
    let has_own_numbers = matches!(plan.isolation, Isolation::Namespaces | Isolation::Rooted);
    let kind = FilterKind { network: plan.network, shares_numbers: !has_own_numbers, shares_processes: host.is_some() };
    match filters.install(kind) {
        Ok(()) => built.on("syscalls"),
        Err(e) => built.missing("syscalls", format!("no system call filter ({e}); enable seccomp in the kernel or the container")),
    }
    built.hold(&plan.require)?;
    let gateway: Vec<BorrowedFd<'_>> = gateway.iter().map(AsFd::as_fd).collect();
    message::send(channel.as_fd(), &Event::Ready(built.all()), &gateway).map_err(|e| NotStarted::fault("telling of the start", e))?;
    let environment = host.map_or_else(|| plan.environment.clone(), |host| host.environment(plan));
    let environment: Vec<String> = environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    for (at, fd) in (first..).zip(&placed) {
        raw::place(fd.as_raw_fd(), at).map_err(|e| NotStarted::fault("placing a descriptor", e))?;
    }
    raw::execute(&plan.program, &plan.arguments, &environment).map_err(|e| NotStarted::fault("starting the program", e))
}

/// Init's death is the program's; what it started ends with the namespace, or by its group.
fn tie_to_init() -> Result<(), NotStarted> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| NotStarted::fault("tying the program to init", e))
}

/// A process group of its own, no blocked signals, and the scratch folder as the working directory.
fn start_session(host: Option<&HostFolders>) -> Result<(), NotStarted> {
    tie_to_init()?;
    rustix::process::setsid().map_err(|e| NotStarted::fault("starting a process group", e))?;
    nix::sys::signal::SigSet::empty().thread_set_mask().map_err(|e| NotStarted::fault("clearing the signal mask", e))?;
    let scratch = host.map_or(Path::new("/tmp"), |host| &host.scratch);
    rustix::process::chdir(scratch).map_err(|e| NotStarted::fault("entering the scratch folder", e))
}

/// Takes on the program's user where no user namespace maps it, and gives up all capabilities.
fn drop_privileges(plan: &Plan, user: Option<u32>) -> Result<(), NotStarted> {
    limits::drop_bounding_set().map_err(NotStarted::Fault)?;
    if let Some(user) = user.filter(|_| matches!(plan.isolation, Isolation::Rooted | Isolation::Landlock)) {
        first::become_user(user, true).map_err(|e| NotStarted::fault("taking on a user", e))?;
        // A change of user unties (PR_SET_PDEATHSIG(2const)).
        tie_to_init()?;
    }
    limits::drop_capabilities().map_err(NotStarted::Fault)
}

/// Sets priority, resource limits and the preference of the OOM killer.
fn limit_resources(plan: &Plan, host: Option<&HostFolders>) -> Result<(), NotStarted> {
    if host.is_some() {
        // The watch comes first: it would wait for its turn among all the processes that a program can start there between two looks.
        let _ = rustix::process::nice(BEHIND);
    }
    let others = match (host, &plan.isolation) {
        (Some(host), _) => host.others,
        // The process that holds `bwrap`, and its pid 1.
        (None, Isolation::Bubblewrap(_)) => INIT + 2,
        (None, _) => INIT,
    };
    limits::limit(&plan.limits, others, if plan.waits { MOST_CALLS } else { 1 }).map_err(|e| NotStarted::fault("setting limits", e))?;
    // Where the kernel has to kill a process for memory, it is the program and not init.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    Ok(())
}

/// Puts Landlock around a program that sees the host's own files.
fn restrict_host_files(plan: &Plan, covers: &[Vec<Cover>], host: &HostFolders, built: &mut Built) -> Result<(), NotStarted> {
    // A spec that names what must hold, and no files, runs without it.
    let needs_fence = plan.require.is_empty() || plan.require.contains(&Layer::Filesystem) || !plan.folders.is_empty();
    match host_landlock::restrict(plan, covers, host) {
        Ok(()) => {
            built.on("landlock");
            built.missing("filesystem", REDUCED_FILES);
            built.missing("processes", REDUCED_PROCESSES);
        }
        Err(NotStarted::Unavailable(_, why)) if !needs_fence => {
            for layer in ["landlock", "filesystem", "processes"] {
                built.missing(layer, format!("off: {why}"));
            }
        }
        Err(why) => return Err(why),
    }
    Ok(())
}
