//! Has `bwrap` make the namespaces and the root, and joins them: it waits in there as pid 1 and runs nothing.
//!
//! Joining instead of being started by it keeps our own walls, bounds and the exact end of the program: `bwrap` tells a signal only as a
//! number above 128, which a program can leave with as well.

#![expect(clippy::disallowed_methods, reason = "init asks the kernel how far the process that it started has come")]

use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, fstat, open, openat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

use super::{host_folders, root, tie};
use crate::backend::NotStarted;
use crate::layers::Built;
use crate::message::{Call, Plan};
use crate::raw;
use crate::spawner::first::{self, INNER};

/// How long `bwrap` may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts `bwrap` at `program`, waits until it has built everything, and goes on in a new process in its namespaces. The process that calls stays
/// outside, ends with that one, and ends `bwrap`; so this returns in it only where something failed.
///
/// # Errors
/// Why not, and how to fix it.
pub(super) fn enter(
    plan: &Plan,
    call: &Call,
    dirs: &[OwnedFd],
    user: Option<u32>,
    program: &str,
    built: &mut Built,
) -> Result<(), NotStarted> {
    let fault = |e: &dyn std::fmt::Display| NotStarted::fault("starting bwrap", e);
    if !std::path::Path::new(program).is_file() {
        return Err(unavailable("bwrap is not installed; install the package `bubblewrap`"));
    }
    if let Some(user) = user {
        for (folder, dir) in plan.folders.iter().zip(dirs) {
            host_folders::admits(dir, user, folder.writable).map_err(|reason| NotStarted::Folder(folder.name.clone(), reason))?;
        }
        first::become_user(user, true).map_err(|e| fault(&e))?;
        tie()?;
    }
    let arguments = arguments(plan, dirs)?;
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| fault(&e));
    let ((info_from, info), (block, _unblock), (error_from, error)) = (pipe()?, pipe()?, pipe()?);
    let etc = root::etc(INNER);
    let files = etc.iter().map(|(_, text)| text.as_str()).chain([""]).map(file).collect::<Result<Vec<_>, _>>().map_err(|e| fault(&e))?;
    let nothing = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(|e| fault(&e))?;
    let Some(outer) = raw::fork().map_err(|e| fault(&e))? else {
        let given = [&nothing, &nothing, &error, &info, &block].into_iter().chain(&files);
        let _ = become_bwrap(program, &arguments, given, &error);
        // INVARIANT: the child never goes on as its parent would.
        raw::leave(1);
    };
    drop((info, block, error));
    let end_bwrap = || {
        let _ = kill_process(outer, Signal::KILL);
        let _ = rustix::io::retry_on_intr(|| waitpid(Some(outer), WaitOptions::empty()));
    };
    let joined = inner(&info_from).and_then(|pid| built_up(pid).and_then(|()| join(pid)));
    if let Err(reason) = joined {
        end_bwrap();
        let printed = text(&error_from);
        let printed = printed.trim();
        return Err(unavailable(if printed.is_empty() { &reason } else { printed }));
    }
    if let Some(inside) = raw::fork().map_err(|e| fault(&e))? {
        let _ = rustix::io::retry_on_intr(|| waitpid(Some(inside), WaitOptions::empty()));
        // With it ends everything in its namespaces.
        end_bwrap();
        raw::leave(0);
    }
    tie()?;
    furnish(plan, call, dirs, built)
}

/// In the namespaces: what `bwrap` cannot bound, and what it would cover by name.
fn furnish(plan: &Plan, call: &Call, dirs: &[OwnedFd], built: &mut Built) -> Result<(), NotStarted> {
    rustix::process::chdir("/").map_err(|e| NotStarted::fault("entering `/`", e))?;
    for ((folder, covers), dir) in plan.folders.iter().zip(&call.covers).zip(dirs) {
        let refused = |reason: String| NotStarted::Folder(folder.name.clone(), reason);
        // It finds folders by their path: what it shows must be the very folders that were opened.
        let shown = openat(CWD, format!("/roots/{}", folder.name), OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        let (opened, shown) = (fstat(dir).map_err(|e| refused(e.to_string()))?, shown.and_then(fstat).map_err(|e| refused(e.to_string()))?);
        if (opened.st_dev, opened.st_ino) != (shown.st_dev, shown.st_ino) {
            return Err(refused("it was moved while it was being shown".to_owned()));
        }
        root::cover_all(folder, covers)?;
    }
    if plan.shown.iter().all(|path| !path.starts_with("/tmp/")) {
        root::scratch_space(plan)?;
    } else {
        built.missing("scratch", "bounded in bytes by each file alone: the interpreter lies in `/tmp`");
    }
    root::own_proc(built);
    for name in ["user", "mount", "pid", "net", "ipc", "uts", "cgroup"] {
        built.on(&format!("{name}_namespace"));
    }
    built.on("filesystem");
    built.on("network");
    Ok(())
}

/// A file in memory, for `bwrap` to read.
fn file(text: &str) -> std::io::Result<OwnedFd> {
    let mut file = std::fs::File::from(rustix::fs::memfd_create("etc", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    std::io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

fn unavailable(reason: &str) -> NotStarted {
    NotStarted::Unavailable("filesystem".to_owned(), format!("{reason}; {}", crate::diagnostics::namespaces()))
}

fn become_bwrap<'a>(
    program: &str,
    arguments: &[String],
    given: impl Iterator<Item = &'a OwnedFd>,
    says: &OwnedFd,
) -> Result<std::convert::Infallible, String> {
    // Above every number that is given away.
    const HIGH: i32 = 40;
    let say = rustix::io::fcntl_dupfd_cloexec(says, HIGH).map_err(|e| e.to_string())?;
    let high = given.map(|fd| rustix::io::fcntl_dupfd_cloexec(fd, HIGH)).collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    for (at, fd) in (0..).zip(&high) {
        raw::place(fd.as_raw_fd(), at).map_err(|e| e.to_string())?;
    }
    let failed = raw::execute(program, arguments, &[]);
    if let Err(why) = &failed {
        let _ = rustix::io::write(&say, why.as_bytes());
    }
    failed
}

/// What `bwrap` is told. It reports on descriptor 3 and waits on 4; the small files of `/etc` come from 5 on, and then an empty one.
fn arguments(plan: &Plan, dirs: &[OwnedFd]) -> Result<Vec<String>, NotStarted> {
    let mut all: Vec<String> = FIXED.iter().map(|word| (*word).to_owned()).collect();
    let mut add = |words: &[&str]| all.extend(words.iter().map(|word| (*word).to_owned()));
    for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"] {
        add(&["--dev-bind", device, device]);
    }
    for (at, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        add(&["--symlink", &format!("/proc/self/fd{target}"), &format!("/dev/{at}")]);
    }
    for need in &plan.shown {
        add(&["--ro-bind", need, need]);
    }
    for (path, target) in &plan.links {
        add(&["--symlink", target, path]);
    }
    for (number, (path, _)) in (5..).zip(root::etc(INNER)) {
        add(&["--ro-bind-data", &number.to_string(), &format!("/{path}")]);
    }
    for (folder, dir) in plan.folders.iter().zip(dirs) {
        let refused = |reason: String| NotStarted::Folder(folder.name.clone(), reason);
        let place = std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd())).map_err(|e| refused(e.to_string()))?;
        let place = place.to_str().ok_or_else(|| refused("its path is no text".to_owned()))?;
        let at = format!("/roots/{}", folder.name);
        add(&[if folder.writable { "--bind" } else { "--ro-bind" }, place, &at]);
    }
    // What is put over denied entries.
    add(&["--perms", "0000", "--dir", &format!("/{}", root::COVER_FOLDER)]);
    add(&["--perms", "0000", "--file", &(5 + root::etc(INNER).len()).to_string(), &format!("/{}", root::COVER_FILE)]);
    add(&["--remount-ro", "/dev", "--remount-ro", "/", "--", "/nothing"]);
    Ok(all)
}

const FIXED: [&str; 32] = [
    "bwrap",
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup",
    "--uid",
    "1000",
    "--gid",
    "1000",
    "--hostname",
    "jail",
    "--die-with-parent",
    "--info-fd",
    "3",
    "--block-fd",
    "4",
    "--tmpfs",
    "/tmp",
    "--tmpfs",
    "/dev",
    "--tmpfs",
    "/dev/shm",
    "--proc",
    "/proc",
    "--dir",
    "/roots",
    "--dir",
    "/etc",
    "--chdir",
    "/",
];

/// The number of the process that waits in there, once `bwrap` tells it.
fn inner(told: &OwnedFd) -> Result<u32, String> {
    let line = text(told);
    let (_, rest) = line.split_once("\"child-pid\":").ok_or("bwrap did not start")?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| "bwrap told no process".to_owned())
}

/// What comes over a pipe until its end.
fn text(from: &OwnedFd) -> String {
    let mut bytes = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut fds = [PollFd::new(from, PollFlags::IN)];
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
        let mut buffer = [0_u8; 1024];
        if poll(&mut fds, left.as_ref()) != Ok(1) {
            break;
        }
        match rustix::io::read(from, &mut buffer) {
            Ok(count) if count > 0 && bytes.len() < 16 * 1024 => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            _ => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits until everything is mounted: the last that `bwrap` does before it waits itself is to give up its rights.
fn built_up(pid: u32) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(|_| "bwrap ended early".to_owned())?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if field("State:").is_some_and(|state| state.starts_with('Z')) {
            return Err("bwrap ended early".to_owned());
        }
        if field("CapEff:").is_some_and(|rights| rights.trim_start_matches('0').is_empty()) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err("bwrap did not finish in time".to_owned());
        }
        let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: 200_000 }));
    }
}

/// The namespaces in the order in which they are entered.
const NAMESPACES: [(&str, CloneFlags); 7] = [
    ("user", CloneFlags::CLONE_NEWUSER),
    ("mnt", CloneFlags::CLONE_NEWNS),
    ("pid", CloneFlags::CLONE_NEWPID),
    ("net", CloneFlags::CLONE_NEWNET),
    ("ipc", CloneFlags::CLONE_NEWIPC),
    ("uts", CloneFlags::CLONE_NEWUTS),
    ("cgroup", CloneFlags::CLONE_NEWCGROUP),
];

fn join(pid: u32) -> Result<(), String> {
    let mut opened = Vec::new();
    for (name, flag) in NAMESPACES {
        let path = format!("/proc/{pid}/ns/{name}");
        let (theirs, ours) = (std::fs::read_link(&path), std::fs::read_link(format!("/proc/self/ns/{name}")));
        if theirs.is_ok() && theirs.ok() == ours.ok() {
            return Err(format!("bwrap made no {name} namespace"));
        }
        let fd = open(path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| format!("joining bwrap's {name} namespace: {e}"))?;
        opened.push((name, fd, flag));
    }
    for (name, fd, flag) in opened {
        setns(fd.as_fd(), flag).map_err(|e| format!("joining bwrap's {name} namespace: {e}"))?;
    }
    Ok(())
}
