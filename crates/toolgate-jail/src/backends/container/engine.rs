//! The command line of a container engine: every command has a time within which it answers, and every failure a name.

#![expect(clippy::disallowed_methods, reason = "the engine is started, and what servers left that are gone is removed")]

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;
use tokio::time::{Instant, timeout};

use super::ContainerSettings;
use crate::backend::NotStarted;
use crate::spawner::cgroup;

/// The label of every container that is ours.
pub(super) const LABEL: &str = "toolgate=1";
/// How much of what an engine says of a failure is passed on, in characters.
const MOST_WORDS: usize = 400;
/// What is said of a command that takes too long.
pub(super) const NO_ANSWER: &str = "no answer in its time; see whether its daemon hangs";
/// How often a container is tried to be removed.
const TRIES: usize = 3;
/// An engine that has answered.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) settings: ContainerSettings,
    /// Whether it is Podman; else it is Docker.
    pub(super) podman: bool,
    /// Whether programs have a system call filter.
    pub(super) filters: bool,
}

impl Engine {
    /// Finds out whether the engine answers, and removes what servers left that are gone.
    ///
    /// # Errors
    /// As [`Engine::ask`].
    pub(super) async fn find(settings: &ContainerSettings) -> Result<Self, NotStarted> {
        let mut engine = Self { settings: settings.clone(), podman: settings.engine.ends_with("podman"), filters: false };
        let format = if engine.podman { "seccomp={{.Host.Security.SECCOMPEnabled}}" } else { "{{.SecurityOptions}}" };
        let (options, _) = engine.ask(&["info", "--format", format]).await?;
        engine.filters = options.contains("seccomp") && !options.contains("seccomp=false");
        engine.remove_all(cgroup::is_left_over).await?;
        Ok(engine)
    }

    /// Whether programs have the kernel of gVisor instead of the host's.
    pub(super) fn gvisor(&self) -> bool {
        self.settings.runtime.as_ref().is_some_and(|runtime| runtime.contains("runsc"))
    }

    /// A command of the engine.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.settings.engine);
        if self.podman {
            // Without systemd it has to make control groups itself.
            command.args((!Path::new("/run/systemd/system").exists()).then_some("--cgroup-manager=cgroupfs"));
            command.args(self.settings.runtime.iter().map(|runtime| format!("--runtime={runtime}")));
        }
        // Signals from the server's terminal are not for it.
        command.args(arguments).kill_on_drop(true).process_group(0).stdin(Stdio::null());
        command
    }

    /// What the engine says to a command, on its standard output and error.
    ///
    /// # Errors
    /// [`NotStarted::Unavailable`] where it is missing, does not answer in time or fails, in its own words.
    pub(super) async fn ask(&self, arguments: &[&str]) -> Result<(String, String), NotStarted> {
        let patience = self.settings.patience;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let why = match timeout(patience, self.command(arguments).output()).await {
            Ok(Ok(output)) if output.status.success() => return Ok((text(&output.stdout), text(&output.stderr))),
            Ok(Ok(output)) => text(&output.stderr),
            Ok(Err(e)) if e.kind() == ErrorKind::NotFound => {
                "it is not installed; install Docker or Podman, or name the one that is".to_owned()
            }
            Ok(Err(e)) => format!("it cannot be started: {e}"),
            Err(_) => NO_ANSWER.to_owned(),
        };
        Err(self.failure(arguments.first().unwrap_or(&""), &why))
    }

    /// What is said of a command that failed.
    pub(super) fn failure(&self, command: &str, why: &str) -> NotStarted {
        let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_WORDS).collect();
        NotStarted::Unavailable("engine".to_owned(), format!("`{} {command}`: {why}", self.settings.engine))
    }

    /// What it knows of a container: whether its program runs, whether it saw the kernel kill a process for memory, the number that it ended with.
    ///
    /// # Errors
    /// As [`Engine::ask`].
    pub(super) async fn state(&self, name: &str) -> Result<(bool, bool, Option<i32>), NotStarted> {
        let format = "--format={{.State.Running}} {{.State.OOMKilled}} {{.State.ExitCode}}";
        let (text, _) = self.ask(&["inspect", "--type=container", format, name]).await?;
        let mut words = text.split_whitespace();
        let mut holds = || words.next() == Some("true");
        Ok((holds(), holds(), words.next().and_then(|code| code.parse().ok())))
    }

    /// Removes a container with every process of it. What Podman does at the end of a container may be in the way.
    pub(super) async fn remove(&self, name: &str) {
        for _ in 0..TRIES {
            if self.ask(&["rm", "--force", "--volumes", name]).await.is_ok() {
                return;
            }
        }
    }

    /// Removes the containers of some names with their folders, and waits until they are gone.
    ///
    /// # Errors
    /// As [`Engine::ask`].
    pub(super) async fn remove_all(&self, which: fn(&str) -> bool) -> Result<(), NotStarted> {
        let began = Instant::now();
        loop {
            let (all, _) = self.ask(&["ps", "--all", "--filter", &format!("label={LABEL}"), "--format", "{{.Names}}"]).await?;
            let Some(name) = all.lines().find(|name| which(name) && began.elapsed() <= self.settings.patience) else { return Ok(()) };
            self.remove(name).await;
            let _ = fs::remove_dir_all(std::env::temp_dir().join(name));
        }
    }
}
