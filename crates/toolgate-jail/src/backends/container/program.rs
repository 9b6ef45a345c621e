//! A program in a container that was made for it, while it waits and while it runs.

#![expect(clippy::disallowed_methods, reason = "the folder of a call is made, written and removed here; the program cannot change it")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Take, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use nix::libc::SIGKILL;
use tokio::process::Child;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::engine::{Engine, NO_ANSWER};
use super::plan::{CALL_FOLDER, Plan, USER, mount};
use crate::backend::{Io, NotStarted, Running};
use crate::end::{End, Limit, Usage};
use crate::layers::Built;
use crate::spawner::cgroup;
use crate::spec::{Layers, Limits};

/// The name of a container, and its folder on the host. Dropping it removes both.
#[derive(Debug)]
struct Owned {
    engine: Arc<Engine>,
    name: String,
    /// The program can write into the report that lies here, and into nothing else.
    folder: PathBuf,
}

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        let (engine, name) = (Arc::clone(&self.engine), std::mem::take(&mut self.name));
        // Without the runtime the next server removes it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { engine.remove(&name).await });
        }
    }
}

/// A program that waits in its container. Dropping it removes that.
#[derive(Debug)]
pub(super) struct Waiting {
    owned: Owned,
    layers: Layers,
    report: File,
    /// The engine's own process that holds the program's standard streams.
    client: Child,
    input: PipeWriter,
    output: [PipeReader; 2],
}

impl Waiting {
    /// Makes a container and starts it.
    ///
    /// # Errors
    /// Why its program has not begun.
    pub(super) async fn begin(plan: &Plan) -> Result<Self, NotStarted> {
        let fault = |e: io::Error| NotStarted::fault("making a container", e);
        let (engine, name) = (Arc::clone(&plan.engine), cgroup::new_name().map_err(|e| fault(io::Error::other(e)))?);
        let folder = std::env::temp_dir().join(&name);
        fs::DirBuilder::new().mode(0o700).create(&folder).map_err(fault)?;
        let owned = Owned { engine, name, folder };
        let place = owned.folder.join("report");
        let report = give(&owned.folder).and_then(|()| new_file(&place)).map_err(fault)?;
        let own = [
            format!("--name={}", owned.name),
            mount(&owned.folder.to_string_lossy(), CALL_FOLDER, false),
            mount(&place.to_string_lossy(), &format!("{CALL_FOLDER}/report"), true),
        ];
        let arguments = std::iter::once("create").chain(own.iter().chain(&plan.arguments).map(String::as_str));
        let (_, warnings) = owned.engine.ask(&arguments.collect::<Vec<_>>()).await?;
        let built = built(&owned.engine, &warnings);
        built.hold(&plan.spec.require)?;
        let mut waiting = start(owned, built.all(), report).map_err(fault)?;
        let began = Instant::now();
        while !plan.engine.state(&waiting.owned.name).await?.0 {
            if !waiting.lives() {
                let [_, errors] = waiting.output;
                return Err(plan.engine.failure("start", &io::read_to_string(errors).unwrap_or_default()));
            } else if began.elapsed() > plan.engine.settings.patience {
                return Err(plan.engine.failure("start", NO_ANSWER));
            }
        }
        plan.check()?;
        Ok(waiting)
    }

    /// Whether it still waits.
    pub(super) fn lives(&mut self) -> bool {
        matches!(self.client.try_wait(), Ok(None))
    }

    /// Hands its call to it.
    ///
    /// # Errors
    /// What was to be handed over could not be read or written.
    pub(super) async fn call(self, limits: Limits, io: Io) -> Result<Program, NotStarted> {
        let Self { owned, layers, report, client, mut input, output } = self;
        let Io { stdin, stdout, stderr, task } = io;
        let (task, report_to) = task.unzip();
        let files = [("task", task), ("stdin", Some(stdin))].map(|(name, content)| (owned.folder.join(name), content));
        let write = move || {
            for (path, content) in files {
                io::copy(&mut content.map(File::from).ok_or(io::ErrorKind::InvalidInput)?, &mut new_file(&path)?)?;
            }
            input.write_all(b"\n")
        };
        let written = spawn_blocking(write).await.map_err(io::Error::from).flatten();
        written.map_err(|e| NotStarted::fault("handing over a call", e))?;
        output.into_iter().zip([stdout, stderr]).for_each(|(from, to)| copy(from, to));
        let report = report_to.map(|to| (report.take(limits.file_size), to));
        Ok(Program { owned, layers, client, limits, began: Instant::now(), report, killed: false, limit: None, end: None })
    }
}

/// A program that has its call. Dropping it removes its container.
#[derive(Debug)]
pub(super) struct Program {
    owned: Owned,
    layers: Layers,
    client: Child,
    limits: Limits,
    began: Instant,
    /// What it reports, and where that goes.
    report: Option<(Take<File>, OwnedFd)>,
    killed: bool,
    /// For which limit it was ended from here.
    limit: Option<(Limit, String)>,
    end: Option<End>,
}

impl Program {
    /// What is known of the end of a program, once nothing is attached any more. Safe to drop and to ask again.
    async fn finish(&mut self, exit: Option<i32>) -> End {
        let Owned { engine, name, .. } = &self.owned;
        if self.killed {
            engine.remove(name).await;
        }
        self.report.take().into_iter().for_each(|(from, to)| copy(from, to));
        // An engine counts no processor time: this is the most that the program can have had.
        let cpu = self.began.elapsed().saturating_mul(self.limits.cpu_share) / 100;
        let usage = Usage { cpu_ms: u64::try_from(cpu.as_millis()).unwrap_or(u64::MAX), ..Usage::default() };
        let mut end = End { limit: self.limit.clone(), usage, ..End::default() };
        if self.killed {
            end.signal = Some(SIGKILL);
        } else if exit == Some(0) {
            end.exit = exit;
        } else if let Ok((runs, out_of_memory, code)) = engine.state(name).await {
            match code {
                _ if runs => tracing::warn!(name, "the container engine lost a running program; the program is ended"),
                // Engines add 128 to the number of a signal.
                Some(code @ 129..=192) => end.signal = Some(code - 128),
                code => end.exit = code,
            }
            // The first process of a container is killed from outside alone, and not every engine sees why.
            if out_of_memory || end.signal == Some(SIGKILL) {
                end.limit = Some((Limit::Memory, "the kernel stopped one of its processes at the memory limit".to_owned()));
            }
        }
        end
    }

    async fn wait_for_end(&mut self) -> End {
        let Limits { wall, cpu, cpu_share, .. } = self.limits;
        let busy = cpu.saturating_mul(100) / cpu_share.max(1);
        loop {
            if let Some(end) = &self.end {
                return end.clone();
            }
            tokio::select! {
                status = self.client.wait() => self.end = Some(self.finish(status.ok().and_then(|status| status.code())).await),
                () = sleep_until(self.began + wall.min(busy)), if !self.killed => {
                    let limit = if busy < wall { (Limit::Cpu, "all processor time may be used") } else { (Limit::Wall, "still running") };
                    self.limit = Some((limit.0, format!("{} after {} ms", limit.1, wall.min(busy).as_millis())));
                    self.kill();
                }
            }
        }
    }
}

impl Running for Program {
    fn layers(&self) -> &Layers {
        &self.layers
    }

    fn end(&mut self) -> BoxFuture<'_, End> {
        Box::pin(self.wait_for_end())
    }

    fn kill(&mut self) {
        if self.end.is_none() {
            self.killed = true;
            let _ = self.client.start_kill();
        }
    }
}

/// Has a container start, by the engine's own process that holds its streams.
fn start(owned: Owned, layers: Layers, report: File) -> io::Result<Waiting> {
    let ((stdin, input), (output, stdout), (error, stderr)) = (io::pipe()?, io::pipe()?, io::pipe()?);
    let mut command = owned.engine.command(&["start", "--attach", "--interactive", &owned.name]);
    // Podman's monitor leaves files where it was started.
    let client = command.stdin(stdin).stdout(stdout).stderr(stderr).current_dir(&owned.folder).spawn()?;
    Ok(Waiting { owned, layers, report, client, input, output: [output, error] })
}

/// What stands around a program, by what the engine said when it made the container.
fn built(engine: &Engine, warnings: &str) -> Built {
    // That swap is not counted is said of machines that have none as well.
    let lacks = warnings.lines().find(|line| line.contains("imit") && !line.contains("swap"));
    let bounds = lacks.map_or("on".to_owned(), |line| format!("off: the engine says: {}", line.trim()));
    let filter = "off: the engine has no system call filter; start it with its default seccomp profile";
    let filter = if engine.gvisor() || engine.filters { "on" } else { filter };
    Built::of([("filesystem", "on"), ("network", "on"), ("syscalls", filter), ("memory", &bounds), ("processes", &bounds)])
}

/// Copies to a pipe on a detached thread: the copy blocks while the pipe is full.
fn copy(mut from: impl Read + Send + 'static, to: OwnedFd) {
    std::thread::spawn(move || io::copy(&mut from, &mut File::from(to)));
}

/// Makes a file that the program may read.
fn new_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    give(path)?;
    Ok(file)
}

/// Makes the user of programs the owner. No other can reach what lies in a folder of ours.
fn give(path: &Path) -> io::Result<()> {
    if rustix::process::geteuid().is_root() { chown(path, Some(USER), Some(USER)) } else { Ok(()) }
}
