//! Programs of the operator's behind the same walls as Python: no network, no process but their own, nothing of the host's files but the system's
//! programs and what their command names.

#![expect(clippy::disallowed_methods, reason = "an operator's program is looked for before it runs")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolgate_jail::{Backend, Layer, Limits, Native, Spec};

use super::call;
use super::interpreter::without_nested;
use super::outcome::{NoRun, Outcome};
use super::spec::{DEFAULT_LIMITS, JailSpec, Settings};
use crate::model::Bytes;

/// Runs programs of the operator's. A process of its own starts with the first of them.
#[derive(Debug)]
pub struct Commands {
    backend: Native,
}

/// How much a program may use.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Time on the clock.
    pub wall: Duration,
    /// Bytes of each output stream; more ends the program.
    pub output: u64,
}

impl Commands {
    /// Nothing runs yet.
    pub fn new(settings: &Settings) -> Self {
        let nothing = Bounds { wall: Duration::from_secs(10), output: 0 };
        let trial = spec(&["true".to_owned()], nothing).unwrap_or_else(|_| bare(nothing));
        Self { backend: Native::new(Arc::clone(&settings.client), trial) }
    }

    /// Runs a program with its arguments and gives what it printed. A name without `/` is looked for in the system's folders.
    ///
    /// # Errors
    /// [`NoRun`]: it is not there, or the walls cannot be had.
    pub async fn run(&self, command: &[String], stdin: &[u8], bounds: Bounds, cancel: &CancellationToken) -> Result<Outcome, NoRun> {
        let mut outer = JailSpec::new("");
        outer.stdin = stdin.to_vec();
        (outer.limits.wall, outer.output) = (bounds.wall, bounds.output);
        self.prove().await?;
        call::make(&self.backend, &outer, &spec(command, bounds)?, cancel, &None).await
    }

    /// Finds out once on which ground programs run here.
    async fn prove(&self) -> Result<(), NoRun> {
        if self.backend.is_proven() {
            return Ok(());
        }
        let probe = self.backend.probe().await;
        let why = probe.why_not.unwrap_or_default();
        if probe.usable { Ok(()) } else { Err(NoRun::Unavailable { layer: "backend".to_owned(), reason: why }) }
    }

    /// Ends everything that still runs.
    pub async fn close(&self) {
        self.backend.close().await;
    }
}

/// Folders of the system that programs need.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/openssl.cnf"];
/// Where a bare name is looked for.
const PLACES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// The walls of a command without the command.
fn bare(bounds: Bounds) -> Spec {
    Spec {
        program: String::new(),
        arguments: Vec::new(),
        environment: BTreeMap::from(
            [("PATH", "/usr/bin:/bin"), ("HOME", "/tmp"), ("TMPDIR", "/tmp"), ("LANG", "C.UTF-8")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        ),
        shown: Vec::new(),
        links: Vec::new(),
        folders: Vec::new(),
        start_dir: "/tmp".to_owned(),
        limits: Limits { wall: bounds.wall, cpu: bounds.wall, memory: Bytes::mib(1024).0, processes: 64, ..DEFAULT_LIMITS },
        // A reviewer that cannot be held by every wall is none.
        require: vec![Layer::Filesystem, Layer::Network, Layer::Processes, Layer::Syscalls],
        network: false,
        waits: false,
        label: String::new(),
    }
}

/// A command with what it needs to see: the system's programs, its own file, and every file or folder that an argument names by an absolute path.
fn spec(command: &[String], bounds: Bounds) -> Result<Spec, NoRun> {
    let unavailable = |name: &str, why: &str| NoRun::Unavailable { layer: "command".to_owned(), reason: format!("`{name}` {why}") };
    let name = command.first().map(String::as_str).unwrap_or_default();
    let program = if name.contains('/') { vec![PathBuf::from(name)] } else { PLACES.map(|place| Path::new(place).join(name)).to_vec() };
    let program = program.into_iter().find(|path| path.is_absolute() && path.is_file());
    let program = program.ok_or_else(|| unavailable(name, "is no program; give its absolute path"))?;
    let system = SYSTEM.iter().map(PathBuf::from).filter(|path| path.exists());
    let (links, folders): (Vec<PathBuf>, Vec<PathBuf>) = system.partition(|path| path.is_symlink());
    let mut needs: BTreeSet<PathBuf> = folders.into_iter().collect();
    let named = command.iter().skip(1).map(PathBuf::from).filter(|path| path.is_absolute() && path.exists());
    for path in std::iter::once(program.clone()).chain(named) {
        // Shown where the command names it, whatever links lead there.
        let covered = needs.iter().any(|need| path.starts_with(need)) || links.iter().any(|link| path.starts_with(link));
        if !covered && path.components().count() > 2 {
            needs.insert(path);
        }
    }
    let text = |path: &Path| path.to_str().map(str::to_owned);
    Ok(Spec {
        program: text(&program).ok_or_else(|| unavailable(name, "has a name that is no text"))?,
        arguments: command.to_vec(),
        links: links.iter().filter_map(|link| Some((text(link)?, text(&std::fs::read_link(link).ok()?)?))).collect(),
        shown: without_nested(&needs).iter().filter_map(|path| text(path)).collect(),
        ..bare(bounds)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_sees_the_system_and_what_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rules.json");
        std::fs::write(&file, "{}").unwrap();
        let file = file.to_str().unwrap().to_owned();
        let bounds = Bounds { wall: Duration::from_secs(1), output: 1 };
        let found = spec(&["sh".to_owned(), "-c".to_owned(), file.clone(), "/nowhere/x".to_owned()], bounds).unwrap();
        assert!(found.program.ends_with("/sh") && found.shown.contains(&file), "{found:?}");
        assert!(found.shown.iter().all(|need| need != "/" && !need.starts_with("/root") && !need.starts_with("/home")), "{found:?}");
        for missing in ["no-such-program", "relative/program", "/usr"] {
            assert!(spec(&[missing.to_owned()], bounds).is_err(), "{missing}");
        }
    }
}
