//! The supervisor of one call: takes the order, enters the namespaces, keeps the clock, reports the end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::sched::CloneFlags;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal};

use super::layers::Built;
use super::{init, raw, trees};
use crate::sandbox::jail::order::{self, End, Order, Way, Word};
use crate::sandbox::jail::outcome::{Limit, Usage};

/// The descriptors of a call, in the order of the message.
#[derive(Debug)]
pub(super) struct Handed {
    /// Standard input, output, error, the program, the report.
    pub(super) program: [OwnedFd; 5],
    /// The roots.
    pub(super) roots: Vec<OwnedFd>,
}

/// Serves the one order that comes over standard input.
pub(super) fn serve() -> ExitCode {
    // Nothing that the server's own parent left open may be seen by a program.
    if raw::close_from(3).is_err() {
        return ExitCode::from(70);
    }
    // A terminal's interrupt is for the server; the server then ends its jails itself.
    let _ = rustix::process::setsid();
    let Ok(server) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else { return ExitCode::from(70) };
    match order::receive::<Order>(server.as_fd()) {
        Ok(Some((order, fds))) => call(&server, &order, fds),
        Ok(None) => ExitCode::SUCCESS,
        Err(e) => tell(&server, &Word::Fault(format!("reading the order: {e}"))),
    }
}

fn tell(server: &OwnedFd, word: &Word) -> ExitCode {
    match order::send(server.as_fd(), word, &[]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn call(server: &OwnedFd, order: &Order, fds: Vec<OwnedFd>) -> ExitCode {
    let mut fds = fds.into_iter();
    let program: Vec<OwnedFd> = fds.by_ref().take(5).collect();
    let Ok(program) = program.try_into() else { return tell(server, &Word::Fault("descriptors are missing".to_owned())) };
    let handed = Handed { program, roots: fds.collect() };
    let mut built = Built::default();
    let shown = match enter(order, &handed, &mut built) {
        Ok(shown) => shown,
        Err(word) => return tell(server, &word),
    };
    let (inner, inside) = match order::channel() {
        Ok(pair) => pair,
        Err(e) => return tell(server, &Word::Fault(e)),
    };
    match raw::fork() {
        Err(e) => tell(server, &Word::Fault(format!("starting init: {e}"))),
        Ok(None) => {
            drop(inner);
            init::run(order, handed, shown, built, &inside)
        }
        Ok(Some(child)) => {
            drop((inside, handed, shown));
            attend(server, &inner, child, order.limits.wall)
        }
    }
}

/// Takes on the other user and the namespaces.
fn enter(order: &Order, handed: &Handed, built: &mut Built) -> Result<trees::Shown, Word> {
    if order.way != Way::Native {
        return Err(Word::Fault("this way is not built".to_owned()));
    }
    let privileged = rustix::process::geteuid().is_root();
    let mut shown = None;
    if privileged {
        let user = dedicated_user();
        shown = Some(trees::make(order, &handed.roots, trees::Eyes::Other(user, user))?);
        become_user(user)
            .map_err(|e| Word::Unavailable { layer: "processes".to_owned(), reason: format!("no other user can be taken on ({e})") })?;
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER).map_err(|e| no_namespace("user", e))?;
    map_self(user, group)
        .map_err(|e| Word::Unavailable { layer: "processes".to_owned(), reason: format!("the user namespace takes no map ({e})") })?;
    built.on("user_namespace");
    for (name, flag) in NAMESPACES {
        nix::sched::unshare(flag).map_err(|e| no_namespace(name, e))?;
    }
    for name in ["mount_namespace", "pid_namespace", "net_namespace", "ipc_namespace", "uts_namespace", "cgroup_namespace"] {
        built.on(name);
    }
    match shown {
        Some(shown) => Ok(shown),
        None => trees::make(order, &handed.roots, trees::Eyes::Own),
    }
}

const NAMESPACES: [(&str, CloneFlags); 6] = [
    ("mount", CloneFlags::CLONE_NEWNS),
    ("pid", CloneFlags::CLONE_NEWPID),
    ("net", CloneFlags::CLONE_NEWNET),
    ("ipc", CloneFlags::CLONE_NEWIPC),
    ("uts", CloneFlags::CLONE_NEWUTS),
    ("cgroup", CloneFlags::CLONE_NEWCGROUP),
];

fn no_namespace(name: &str, error: nix::Error) -> Word {
    let layer = match name {
        "mount" => "filesystem",
        "net" => "network",
        _ => "processes",
    };
    let mend = "allow user namespaces: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns=0, or a container profile that permits them";
    Word::Unavailable { layer: layer.to_owned(), reason: format!("no {name} namespace ({error}); {mend}") }
}

/// The user as whom programs run when the server is root: one that no account has, if it exists in our own user namespace.
///
/// Never 0: the kernel exempts root from its bound on processes, and a file of root is readable for it.
fn dedicated_user() -> u32 {
    const RARE: u32 = 1_993_000_000;
    const SMALL: u32 = 65_432;
    let mapped = |user: u32| {
        std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| {
            map.lines().any(|line| {
                let mut numbers = line.split_ascii_whitespace().filter_map(|number| number.parse::<u64>().ok());
                let (first, _, count) = (numbers.next(), numbers.next(), numbers.next());
                first.zip(count).is_some_and(|(first, count)| (first..first.saturating_add(count)).contains(&u64::from(user)))
            })
        })
    };
    if mapped(RARE) { RARE } else { SMALL }
}

fn become_user(user: u32) -> Result<(), nix::Error> {
    let (uid, gid) = (nix::unistd::Uid::from_raw(user), nix::unistd::Gid::from_raw(user));
    nix::unistd::setgroups(&[])?;
    nix::unistd::setresgid(gid, gid, gid)?;
    nix::unistd::setresuid(uid, uid, uid)?;
    // A change of user hides /proc/self from its owner, and the map is written there.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable).map_err(|e| nix::Error::from_raw(e.raw_os_error()))
}

/// Maps one user and one group, to numbers that are not 0, and gives up other groups (`user_namespaces(7)`).
fn map_self(user: u32, group: u32) -> std::io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("1000 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("1000 {group} 1"))
}

/// Watches over init until every process of the call is dead, and reports.
fn attend(server: &OwnedFd, inner: &OwnedFd, child: Pid, wall: Duration) -> ExitCode {
    let pidfd = match pidfd_open(child, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(e) => {
            let _ = rustix::process::kill_process(child, Signal::KILL);
            return tell(server, &Word::Fault(format!("watching init: {e}")));
        }
    };
    let kill = || {
        let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    };
    let (mut end, mut stopped, mut refused) = (None, None, None);
    // Building the walls has a bound of its own, so that a hanging file system cannot hold the call for ever.
    let mut deadline = Instant::now() + Duration::from_secs(20);
    let (mut started, mut server_open, mut inner_open) = (false, true, true);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let events = [(server_open, server.as_fd()), (inner_open, inner.as_fd()), (true, pidfd.as_fd())];
        let [from_server, from_inside, gone] = wait(events, left);
        if from_inside {
            match order::receive::<Word>(inner.as_fd()) {
                Ok(Some((Word::Started(layers), _))) => {
                    started = true;
                    deadline = Instant::now() + wall;
                    let _ = order::send(server.as_fd(), &Word::Started(layers), &[]);
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
            stopped = Some((Limit::Wall, format!("still running after {} ms", wall.as_millis())));
            kill();
            deadline = Instant::now() + Duration::from_hours(1);
        }
    }
    let _ = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), WaitOptions::empty()));
    if let Some(word) = refused {
        return tell(server, &word);
    }
    if !started {
        return tell(server, &Word::Fault("init ended before the program started".to_owned()));
    }
    let mut end = end.unwrap_or_else(|| End { signal: Some(9), ..End::default() });
    if stopped.is_some() && end.stopped.is_none() {
        end.stopped = stopped;
    }
    end.usage = Usage { pids_peak: end.usage.pids_peak, ..used() };
    tell(server, &Word::Ended(end))
}

/// What all dead descendants used.
fn used() -> Usage {
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

/// Waits until one of the descriptors has something, and says which.
fn wait(from: [(bool, BorrowedFd<'_>); 3], at_most: Duration) -> [bool; 3] {
    let mut fds = from.map(|(open, fd)| PollFd::from_borrowed_fd(fd, if open { PollFlags::IN } else { PollFlags::empty() }));
    let timeout = Timespec::try_from(at_most).ok();
    if poll(&mut fds, timeout.as_ref()).is_err() {
        return [false; 3];
    }
    let ready = |index: usize| -> bool {
        let open = from.get(index).is_some_and(|(open, _)| *open);
        open && fds.get(index).is_some_and(|fd| fd.revents().intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR))
    };
    [ready(0), ready(1), ready(2)]
}
