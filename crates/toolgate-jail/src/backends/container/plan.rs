//! What a container is made from: the flags that engines share, and those that one of them needs.

#![expect(clippy::disallowed_methods, reason = "an engine takes paths: where an open folder is has to be asked")]

use std::fs;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use futures::future::BoxFuture;
use rustix::process::{Resource, getegid, geteuid, getrlimit};

use super::engine::{Engine, LABEL};
use super::program::Waiting;
use crate::backend::NotStarted;
use crate::backends::pool::Template;
use crate::spec::{Folder, Limits, Spec};

/// Where a program that waits finds its call.
pub(super) const CALL_FOLDER: &str = "/run/toolgate";
/// The user number of programs when the server is root. No account has it, and engines that map users map it (systemd, `UIDS-GIDS.md`).
pub(super) const USER: u32 = 65_525;
/// Threads of gVisor itself, which the kernel counts with those of the program.
const GVISOR_THREADS: u64 = 64;
/// The most processes of a user that Podman has by its configuration.
const PODMAN_PROCESSES: u64 = 32_768;
/// What the containers of a program are made from.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) engine: Arc<Engine>,
    pub(super) spec: Spec,
    /// Flags, the image, and the arguments of the program.
    pub(super) arguments: Vec<String>,
    /// Where each folder is, and which it is: device and inode.
    folders: Vec<(String, (u64, u64))>,
}

impl Plan {
    /// # Errors
    /// What an engine cannot do.
    pub(super) fn of(engine: &Arc<Engine>, spec: &Spec) -> Result<Self, NotStarted> {
        if spec.network {
            let why = "a container has no way to the gateway; use another backend, or no network";
            return Err(NotStarted::Unavailable("network".to_owned(), why.to_owned()));
        }
        let mut arguments = flags(engine, spec);
        let folders = spec.folders.iter().map(locate).collect::<Result<Vec<_>, _>>()?;
        let shown = spec.folders.iter().zip(&folders);
        arguments.extend(shown.map(|(folder, (path, _))| mount(path, &format!("/roots/{}", folder.name), folder.writable)));
        arguments.extend(spec.shown.iter().map(|path| mount(path, path, false)));
        arguments.extend(spec.environment.iter().map(|(name, value)| format!("--env={name}={value}")));
        arguments.push(format!("--env=TOOLGATE_CALL={CALL_FOLDER}"));
        arguments.extend([format!("--workdir={}", spec.start_dir), format!("--entrypoint={}", spec.program)]);
        arguments.extend(std::iter::once(&engine.settings.image).chain(spec.arguments.iter().skip(1)).cloned());
        Ok(Self { engine: Arc::clone(engine), spec: spec.clone(), arguments, folders })
    }

    /// Whether each folder is still where it was found: an engine takes paths.
    ///
    /// # Errors
    /// [`NotStarted::Folder`]
    pub(super) fn check(&self) -> Result<(), NotStarted> {
        let moved = self.spec.folders.iter().zip(&self.folders).find(|(_, (path, object))| object_at(path) != Some(*object));
        moved.map_or(Ok(()), |(folder, _)| Err(NotStarted::Folder(folder.name.clone(), "it was moved; call again".to_owned())))
    }
}

impl Template for Plan {
    type Program = Waiting;

    fn serves(&self, other: &Self) -> bool {
        (&self.arguments, &self.folders, &self.spec.require) == (&other.arguments, &other.folders, &other.spec.require)
    }

    fn label(&self) -> &str {
        &self.spec.label
    }

    fn build(self: Arc<Self>) -> BoxFuture<'static, Result<Waiting, NotStarted>> {
        Box::pin(async move {
            // Its making would take the processors from the call that took the last one.
            tokio::time::sleep(std::time::Duration::from_millis(150)).await;
            Waiting::begin(&self).await
        })
    }
}

/// The walls, and how much a program may use.
fn flags(engine: &Engine, spec: &Spec) -> Vec<String> {
    let Limits { memory, processes, open_files, file_size, scratch, cpu_share, .. } = spec.limits;
    let root = geteuid().is_root();
    let (user, group) = if root { (USER, USER) } else { (geteuid().as_raw(), getegid().as_raw()) };
    let processes = processes.saturating_add(if engine.gvisor() { GVISOR_THREADS } else { 0 });
    let flags = format!(
        "--pull=never --interactive --read-only --network=none --cap-drop=ALL --security-opt=no-new-privileges --log-driver=none \
         --no-healthcheck --stop-signal=KILL --label={LABEL} --user={user}:{group} --memory={memory} --memory-swap={memory} \
         --pids-limit={processes} --ulimit=core=0:0 --ulimit=nofile={open_files}:{open_files} --ulimit=fsize={file_size}:{file_size} \
         --tmpfs=/tmp:rw,nosuid,nodev,size={scratch},mode=1777 --tmpfs=/dev/shm:rw,nosuid,nodev,size={scratch},mode=1777"
    );
    let mut flags: Vec<String> = flags.split_ascii_whitespace().map(str::to_owned).collect();
    flags.extend(spec.limits.shares().then(|| format!("--cpus={:.2}", f64::from(cpu_share.max(1)) / 100.0)));
    if engine.podman {
        // Else it hands on the server's proxies, makes volumes, and puts scratch space where none was asked for.
        flags.extend(["--http-proxy=false", "--image-volume=ignore", "--read-only-tmpfs=false"].map(str::to_owned));
        // It may not ask for more than it has.
        let most = getrlimit(Resource::Nproc).maximum.map_or(PODMAN_PROCESSES, |own| own.min(PODMAN_PROCESSES));
        flags.push(format!("--ulimit=nproc={most}:{most}"));
        // Without it, an ordinary user would be another one on the host.
        flags.extend((!root).then(|| "--userns=keep-id".to_owned()));
    } else {
        flags.extend(engine.settings.runtime.iter().map(|runtime| format!("--runtime={runtime}")));
    }
    flags
}

/// A folder or file of the host as an engine is given it: one line of comma-separated values, each of which is quoted.
pub(super) fn mount(path: &str, at: &str, writable: bool) -> String {
    let quoted = |text: &str| text.replace('"', "\"\"");
    format!("--mount=type=bind,\"src={}\",\"dst={}\"{}", quoted(path), quoted(at), if writable { "" } else { ",readonly" })
}

/// Where a folder is, and which it is.
fn locate(folder: &Folder) -> Result<(String, (u64, u64)), NotStarted> {
    let refused = |why: &str| NotStarted::Folder(folder.name.clone(), why.to_owned());
    if !folder.covers.is_empty() {
        return Err(refused("a container cannot cover what is denied below it; `native`, `landlock` and `bubblewrap` can"));
    }
    let path = fs::read_link(format!("/proc/self/fd/{}", folder.dir.as_raw_fd())).map_err(|e| refused(&e.to_string()))?;
    let path = path.to_string_lossy().into_owned();
    let object = rustix::fs::fstat(&folder.dir).ok().map(|facts| (facts.st_dev, facts.st_ino));
    let there = object_at(&path).filter(|there| Some(*there) == object);
    there.map(|object| (path, object)).ok_or_else(|| refused("it is not at its path, or that is no text, and an engine takes paths"))
}

fn object_at(path: &str) -> Option<(u64, u64)> {
    rustix::fs::lstat(path).ok().map(|facts| (facts.st_dev, facts.st_ino))
}
