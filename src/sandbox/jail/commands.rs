//! Programs of the operator's behind the same walls as Python: no network, no process but their own, nothing of the host's files but the system's
//! programs and what their command names.

#![expect(clippy::disallowed_methods, reason = "an operator's program is looked for before it runs")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::interpreter::Interpreter;
use super::native::Native;
use super::outcome::{NoRun, Outcome};
use super::spec::{JailSpec, Layer, Limits, Settings};
use crate::model::Bytes;

/// Runs programs of the operator's. A process of its own starts with the first of them.
#[derive(Debug)]
pub struct Commands {
    native: Native,
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
        Self { native: Native::new(settings, &Arc::new(Interpreter::none())) }
    }

    /// Runs a program with its arguments and gives what it printed. A name without `/` is looked for in the system's folders.
    ///
    /// # Errors
    /// [`NoRun`]: it is not there, or the walls cannot be had.
    pub async fn run(&self, command: &[String], stdin: &[u8], bounds: Bounds, cancel: &CancellationToken) -> Result<Outcome, NoRun> {
        let mut spec = JailSpec::new("");
        spec.command = command.to_vec();
        spec.stdin = stdin.to_vec();
        spec.fresh = true;
        // A reviewer that cannot be held by every wall is none.
        spec.require = vec![Layer::Filesystem, Layer::Network, Layer::Processes, Layer::Syscalls];
        spec.limits = Limits {
            wall: bounds.wall,
            cpu: bounds.wall,
            output: bounds.output,
            memory: Bytes::mib(1024).0,
            processes: 64,
            ..Limits::default()
        };
        let interpreter = Interpreter::of_command(command)?;
        self.native.call_as(&spec, interpreter, cancel).await
    }

    /// Ends everything that still runs.
    pub async fn close(&self) {
        super::Backend::close(&self.native).await;
    }
}

/// Folders of the system that programs need.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/openssl.cnf"];
/// Where a bare name is looked for.
const PLACES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

impl Interpreter {
    /// In place of Python, where none is asked for.
    fn none() -> Self {
        Self {
            program: String::new(),
            argv0: String::new(),
            version: String::new(),
            needs: Vec::new(),
            links: Vec::new(),
            module_path: Vec::new(),
            certificates: super::interpreter::Certificates::default(),
            code: Vec::new(),
        }
    }

    /// What a command needs to see: the system's programs, its own file, and every file or folder that an argument names by an absolute path.
    fn of_command(command: &[String]) -> Result<Self, NoRun> {
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
        let links = links.iter().filter_map(|link| Some((text(link)?, text(&std::fs::read_link(link).ok()?)?))).collect();
        let needs = super::interpreter::without_nested(&needs).iter().filter_map(|path| text(path)).collect();
        let program = text(&program).ok_or_else(|| unavailable(name, "has a name that is no text"))?;
        Ok(Self { program, argv0: name.to_owned(), needs, links, ..Self::none() })
    }
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
        let found = Interpreter::of_command(&["sh".to_owned(), "-c".to_owned(), file.clone(), "/nowhere/x".to_owned()]).unwrap();
        assert!(found.program.ends_with("/sh") && found.needs.contains(&file), "{found:?}");
        assert!(found.needs.iter().all(|need| need != "/" && !need.starts_with("/root") && !need.starts_with("/home")), "{found:?}");
        for missing in ["no-such-program", "relative/program", "/usr"] {
            assert!(Interpreter::of_command(&[missing.to_owned()]).is_err(), "{missing}");
        }
    }
}
