//! Starts the interpreter that waits and is forked: in an own root, without rights, with nothing of a caller in it.

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::ExitCode;
use std::time::Instant;

use nix::sched::CloneFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal};

use super::enter;
use super::layers::Built;
use super::trees::{self, Eyes, Shown};
use super::{raw, root, syscalls, walls};
use crate::sandbox::jail::collect::sealed;
use crate::sandbox::jail::order::{self, Order};

/// A waiting interpreter.
#[derive(Debug)]
pub(super) struct Zygote {
    /// Its process.
    pub(super) pid: Pid,
    /// Where it is told to fork.
    pub(super) channel: OwnedFd,
    /// When it was started.
    pub(super) since: Instant,
    /// Whether it can fork.
    pub(super) ready: bool,
    /// The inits of the jails for which it was told to fork, in the order in which it will answer.
    pub(super) forking: VecDeque<Pid>,
}

impl Zygote {
    /// One that was started just now.
    pub(super) fn new(pid: Pid, channel: OwnedFd) -> Self {
        Self { pid, channel, since: Instant::now(), ready: false, forking: VecDeque::new() }
    }
}

/// Either side of the fork that makes one.
#[derive(Debug)]
pub(super) enum Made {
    /// In the spawner.
    Zygote(Zygote),
    /// In the new process, which must leave now.
    Leave(ExitCode),
}

/// Starts one for calls like `order`.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn start(order: &Order) -> Result<Made, String> {
    let (channel, theirs) = order::channel()?;
    let profile = [
        order.kind.interpreter.module_path.join("\n"),
        order.kind.preload.join(" "),
        walls::limit_lines(&order.kind.limits),
        syscalls::seated_line(order.kind.network)?,
        order.kind.prelude.clone().unwrap_or_default(),
    ];
    let profile = sealed(&[profile.join("\n\n").as_bytes()]).map_err(|e| e.to_string())?;
    let source = sealed(&[PROGRAM.as_bytes()]).map_err(|e| e.to_string())?;
    if let Some(pid) = raw::fork()? {
        return Ok(Made::Zygote(Zygote::new(pid, channel)));
    }
    drop(channel);
    let _ = become_zygote(order, &theirs, [&profile, &source]);
    Ok(Made::Leave(ExitCode::FAILURE))
}

fn become_zygote(order: &Order, channel: &OwnedFd, [profile, source]: [&OwnedFd; 2]) -> Result<std::convert::Infallible, String> {
    let mut built = Built::default();
    let word = |word| format!("{word:?}");
    let eyes = enter::eyes();
    let mut parts = None;
    if eyes != Eyes::Own {
        parts = Some(trees::parts(order).map_err(word)?);
    }
    for flag in [CloneFlags::CLONE_NEWNS, CloneFlags::CLONE_NEWNET, CloneFlags::CLONE_NEWIPC, CloneFlags::CLONE_NEWUTS] {
        nix::sched::unshare(flag).map_err(|e| e.to_string())?;
    }
    let parts = match parts {
        Some(parts) => parts,
        None => trees::parts(order).map_err(word)?,
    };
    root::build(order, Shown { parts, ..Shown::default() }, &mut built).map_err(word)?;
    if let Eyes::Other(user, _) = eyes {
        enter::become_user(user).map_err(|e| e.to_string())?;
    }
    walls::drop_privileges(&mut built)?;
    nix::sys::signal::SigSet::empty().thread_set_mask().map_err(|e| e.to_string())?;
    syscalls::install_waiting()?;
    // After the last change of user, which would clear it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| e.to_string())?;
    rustix::process::setsid().map_err(|e| e.to_string())?;
    // Streams of the kind that programs get: an interpreter looks once at its streams, when it starts.
    let (input, output) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| e.to_string())?;
    let mut high = Vec::new();
    for fd in [input.as_fd(), output.as_fd(), output.as_fd(), channel.as_fd(), profile.as_fd(), source.as_fd()] {
        high.push(rustix::io::fcntl_dupfd_cloexec(fd, 20).map_err(|e| e.to_string())?);
    }
    for (at, fd) in (0..).zip(&high) {
        raw::place(fd.as_raw_fd(), at).map_err(|e| e.to_string())?;
    }
    let environment: Vec<String> = order.kind.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let arguments = [order.kind.interpreter.argv0.as_str(), "-I", "-S", "-B", "-X", "utf8", "-c", START].map(str::to_owned);
    raw::execute(&order.kind.interpreter.program, &arguments, &environment)
}

/// Has a child compile what the zygote runs: what that takes and leaves of memory, every program would be forked with.
const START: &str = r#"
def _compiled(source, name):
    import posix, marshal
    told, tell = posix.pipe()
    child = posix.fork()
    if child == 0:
        try:
            code = marshal.dumps(compile(source(), name, "exec", 0, True))
            while code:
                code = code[posix.write(tell, code):]
        finally:
            posix._exit(0)
    posix.close(tell)
    parts = [posix.read(told, 1 << 16)]
    while parts[-1]:
        parts.append(posix.read(told, 1 << 16))
    posix.close(told)
    posix.waitpid(child, 0)
    return marshal.loads(b"".join(parts))

def _zygote_source():
    import posix
    return posix.pread(5, posix.fstat(5).st_size, 0)

_code = _compiled(_zygote_source, "<string>")
__import__("posix").close(5)
exec(_code)
"#;

/// What the zygote runs.
const PROGRAM: &str = concat!(include_str!("bootstrap.py"), "\n\n", include_str!("zygote.py"));
