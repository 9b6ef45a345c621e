//! Python in a jail: the interpreter, its sessions, what it prints, draws and leaves.

mod call;
mod collect;
mod commands;
mod container;
mod facts;
mod facts_cache;
mod harvest;
mod interpreter;
mod mime;
mod outcome;
mod picture;
mod python;
mod report;
mod sessions;
mod spec;
mod streams;
mod verdict;

use std::sync::Arc;

use rustix::process::{Resource, getrlimit};
use tokio_util::sync::CancellationToken;
use toolgate_jail::{Backend, Bubblewrap, Landlock, Native, Spec};

use call::{jail_spec, make};
use sessions::Sessions;

pub(super) use collect::sealed;
pub use commands::{Bounds, Commands};
pub use container::{CONTAINER, container_settings, probe_container};
pub use facts::lacking;
pub use facts_cache::found as on_search_path;
pub use interpreter::Interpreter;
pub(super) use interpreter::shown;
pub use outcome::{Isolation, LeftFile, NoRun, Outcome, Picture, Status};
pub use python::Runner;
pub use spec::{JailRoot, JailSpec, Network, Session, SessionBounds, Settings};
pub(super) use streams::pipe;
pub use streams::{Chunk, Progress, Stream};
pub use toolgate_jail::{Client, Cover, Layer, Layers, Limit, Limits, Probe, Usage, enter_if_asked};

/// What an interpreter runs before a program.
const BOOTSTRAP: &str = include_str!("bootstrap.py");

/// One line of the list of backends.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// The name in `[python] backend` and in answers.
    pub name: &'static str,
    make: fn(&Arc<Client>, Spec) -> Arc<dyn Backend>,
}

/// Every backend that runs programs of the host, strongest first; where an earlier one holds less on a machine than a later one, the later one is taken.
pub const BACKENDS: &[Listed] = &[
    Listed { name: "native", make: |client, trial| Arc::new(Native::new(Arc::clone(client), trial)) },
    Listed { name: "landlock", make: |client, trial| Arc::new(Landlock::new(Arc::clone(client), trial)) },
    Listed { name: "bubblewrap", make: |client, trial| Arc::new(Bubblewrap::new(Arc::clone(client), trial)) },
];

impl Listed {
    /// What it can hold here with this interpreter, found by running a program in it.
    pub async fn probe(&self, client: &Arc<Client>, interpreter: &Interpreter) -> Probe {
        let backend = (self.make)(client, interpreter.trial());
        let probe = backend.probe().await;
        backend.close().await;
        probe
    }
}

/// The strongest backend that runs `trial` on this machine, of all (`auto`) or of that name.
///
/// # Errors
/// [`NoRun::Unavailable`]: none does.
pub(super) async fn strongest(name: &str, client: &Arc<Client>, trial: &Spec) -> Result<(Arc<dyn Backend>, Probe), NoRun> {
    let mut best: Option<(Arc<dyn Backend>, Probe)> = None;
    let mut reasons = Vec::new();
    for listed in BACKENDS.iter().filter(|listed| name == "auto" || name == listed.name) {
        let backend = (listed.make)(client, trial.clone());
        let probe = backend.probe().await;
        if !probe.usable {
            reasons.push(format!("{}: {}", listed.name, probe.why_not.as_deref().unwrap_or("not usable")));
            continue;
        }
        // What bounds memory is the same for all.
        let is_enough = probe.strength() + usize::from(probe.layers.get("memory").is_none_or(|state| state != "on")) >= Layer::ALL.len();
        if best.as_ref().is_none_or(|(_, best)| best.strength() < probe.strength()) {
            best = Some((backend, probe));
        }
        if is_enough {
            break;
        }
    }
    best.ok_or_else(|| {
        if reasons.is_empty() {
            let names: Vec<_> = BACKENDS.iter().map(|listed| listed.name).collect();
            reasons.push(format!("`{name}` is none of {}", names.join(", ")));
        }
        NoRun::Unavailable { layer: "backend".to_owned(), reason: reasons.join("; ") }
    })
}

/// Why programs may not run where this process may open few files, and what mends it.
pub fn too_few_files() -> Option<String> {
    /// Files that a server and its jails have open when one program starts.
    const FEWEST: u64 = 64;
    let few = getrlimit(Resource::Nofile).current.filter(|most| *most < FEWEST)?;
    Some(format!(
        "this server may open {few} files only, and needs {FEWEST} or more to run a program: start it under a higher `ulimit -n`, e.g. 1024"
    ))
}

/// The jail of a server: one interpreter, one backend, chosen once.
#[derive(Debug, Clone)]
pub struct Jail {
    backend: Arc<dyn Backend>,
    interpreter: Arc<Interpreter>,
    probe: Arc<Probe>,
    preload: Arc<[String]>,
    sessions: Arc<Sessions>,
}

impl Jail {
    /// Finds the interpreter and the strongest backend that runs a program on this machine.
    ///
    /// # Errors
    /// [`NoRun::Unavailable`] when there is no interpreter or no backend, or this process may open too few files; a backend
    /// that was named is never replaced by a weaker one; [`NoRun::Stopped`] when it was stopped.
    pub async fn new(settings: Settings, stop: &CancellationToken) -> Result<Self, NoRun> {
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(NoRun::Stopped),
            found = Self::find(settings) => found,
        }
    }

    async fn find(settings: Settings) -> Result<Self, NoRun> {
        if let Some(reason) = too_few_files() {
            return Err(NoRun::Unavailable { layer: "files".to_owned(), reason });
        }
        if let Some(reason) = settings.unready {
            return Err(NoRun::Unavailable { layer: "packages".to_owned(), reason });
        }
        if settings.backend == CONTAINER {
            let (backend, interpreter, probe) = container::find(&settings).await?;
            let (preload, sessions) = (settings.preload.into(), Sessions::new(settings.sessions));
            return Ok(Self { backend, interpreter: Arc::new(interpreter), probe: Arc::new(probe), preload, sessions });
        }
        // The spawner starts while the interpreter is looked for.
        let (interpreter, ()) =
            futures::future::join(Interpreter::find(&settings.interpreter, settings.state.as_ref()), settings.client.prepare()).await;
        let interpreter = Arc::new(interpreter?);
        let (backend, probe) = strongest(&settings.backend, &settings.client, &interpreter.trial()).await?;
        let sessions = Sessions::new(settings.sessions);
        Ok(Self { backend, interpreter, probe: Arc::new(probe), preload: settings.preload.into(), sessions })
    }

    /// Runs one program. When the answer is there, every process of it is dead, or stands still in its session.
    ///
    /// # Errors
    /// [`NoRun`]: a required layer or a root cannot be had, or the jail failed.
    pub async fn run(&self, spec: &JailSpec, cancel: &CancellationToken, progress: Progress) -> Result<Outcome, NoRun> {
        if spec.network.is_some() && self.backend.name() == "landlock" {
            let reason = "the backend `landlock` has no way to the gateway; set `[python] network = false`".to_owned();
            return Err(NoRun::Unavailable { layer: "network".to_owned(), reason });
        }
        if spec.session.is_some() && self.backend.name() == CONTAINER {
            let reason = "a container runs one program; leave `session` out, and keep what is to stay in a file of a root".to_owned();
            return Err(NoRun::Unavailable { layer: "sessions".to_owned(), reason });
        }
        let jail = jail_spec(spec, &self.interpreter, &self.preload)?;
        let mut outcome = match &spec.session {
            None => make(&*self.backend, spec, &jail, cancel, &progress).await,
            Some(session) => self.sessions.call(&*self.backend, (session, spec, &jail), cancel, &progress).await,
        }?;
        outcome.stderr = self.interpreter.without_folders(outcome.stderr);
        Ok(outcome)
    }

    /// Has one interpreter wait for calls of this kind; this does not wait for it.
    ///
    /// # Errors
    /// [`NoRun::Root`].
    pub async fn prepare(&self, spec: &JailSpec) -> Result<(), NoRun> {
        self.backend.prepare(&jail_spec(spec, &self.interpreter, &self.preload)?, 1).await;
        Ok(())
    }

    /// Ends everything that is kept running between calls, and waits until it is gone.
    pub async fn close(&self) {
        self.sessions.close();
        self.backend.close().await;
    }

    /// By profile: how many interpreters wait, and how many are being started for that.
    pub fn waiting(&self) -> Vec<(String, usize, usize)> {
        self.backend.waiting()
    }

    /// The profile of each session.
    pub(in crate::sandbox) fn kept(&self) -> Vec<String> {
        self.sessions.profiles()
    }

    /// The name of the backend.
    pub fn backend(&self) -> &'static str {
        self.backend.name()
    }

    /// The interpreter.
    pub fn interpreter(&self) -> &Interpreter {
        &self.interpreter
    }

    /// What the backend can hold here.
    pub fn probe(&self) -> &Probe {
        &self.probe
    }
}
