//! What one call asks of Python: the program, what it may see, how much it may use.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use toolgate_jail::{Client, ContainerSettings, Cover, Layer, Limits};

use crate::model::Bytes;
use crate::state::StateDir;

/// The server's side of a gateway: takes the connections of one program, and decides where each may go.
pub trait Network: Send + Sync + std::fmt::Debug {
    /// Serves what comes to `listener`, a non-blocking listening socket in the jail, until `stop`; when it returns, every connection is closed.
    fn serve(self: Arc<Self>, listener: OwnedFd, stop: CancellationToken) -> BoxFuture<'static, ()>;
}

/// One folder the program sees, at `/roots/NAME`.
#[derive(Debug, Clone)]
pub struct JailRoot {
    /// The name; one path segment.
    pub name: String,
    /// The opened folder. The jail shows this very folder, whatever its path leads to by now.
    pub dir: Arc<OwnedFd>,
    /// Whether the program may change it.
    pub writable: bool,
    /// What below it the program must not see into.
    pub masked: Vec<Cover>,
    /// Its own quota in bytes, where it has one.
    pub quota: Option<u64>,
}

/// How much a program may use where nothing else is said: the defaults of the manifest's `[python]`.
pub(super) const DEFAULT_LIMITS: Limits = Limits {
    wall: Duration::from_secs(10),
    cpu: Duration::from_secs(10),
    cpu_share: 100,
    memory: Bytes::mib(256).0,
    processes: 16,
    open_files: 256,
    file_size: Bytes::mib(64).0,
    scratch: Bytes::mib(64).0,
};

/// One program and its walls.
#[derive(Debug, Clone)]
pub struct JailSpec {
    /// The checked source. It runs as `__main__`, its file name is `<program>`.
    pub program: String,
    /// Python that runs first, in a namespace of its own, e.g. an import hook. Where it leaves a function `guard(namespace)`, that is called with
    /// the program's globals; where it leaves `watch(record)`, with a function that notes an event.
    pub prelude: Option<Arc<str>>,
    /// What the program reads from its standard input.
    pub stdin: Vec<u8>,
    /// The folders it sees.
    pub roots: Vec<JailRoot>,
    /// Whether it finds modules in its roots, after all other places: at the top of each root and in its folder `src`.
    pub imports_from_roots: bool,
    /// How much it may use.
    pub limits: Limits,
    /// Bytes kept of each output stream.
    pub output: u64,
    /// Added to an otherwise scrubbed environment.
    pub env: BTreeMap<String, String>,
    /// What must stand, or the call is refused.
    pub require: Vec<Layer>,
    /// Start from nothing: no interpreter that waits is used.
    pub fresh: bool,
    /// Keep the interpreter, or go on in one that was kept.
    pub session: Option<Session>,
    /// The way out, where there is one. The jail itself has none: it gives its listening socket to this.
    pub network: Option<Arc<dyn Network>>,
    /// The caller's principal; a session is there for calls of the one that started it alone.
    pub owner: String,
    /// The profile it is made under, for counts of what runs.
    pub profile: String,
}

/// State between calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Session {
    /// Start one; its roots, limits and environment are those of this call.
    New,
    /// Go on in the one with this handle.
    Known(String),
}

/// How many sessions there may be, and how long they live unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionBounds {
    /// Of one caller at one time; all together may have eight times as many.
    pub max: usize,
    /// Without a call.
    pub idle: Duration,
}

impl Default for SessionBounds {
    fn default() -> Self {
        Self { max: 4, idle: Duration::from_mins(10) }
    }
}

impl JailSpec {
    /// A program with the default limits, no roots and the layers required that `[python] require` names by default.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            prelude: None,
            stdin: Vec::new(),
            roots: Vec::new(),
            imports_from_roots: false,
            limits: DEFAULT_LIMITS,
            output: Bytes::kib(64).0,
            env: BTreeMap::new(),
            require: vec![Layer::Filesystem, Layer::Network, Layer::Processes, Layer::Syscalls],
            fresh: false,
            session: None,
            network: None,
            owner: String::new(),
            profile: String::new(),
        }
    }

    /// The roots the program may write to, the first of them first.
    pub fn writable(&self) -> impl Iterator<Item = &JailRoot> {
        self.roots.iter().filter(|root| root.writable)
    }

    /// Where modules of its roots are, in the order of the roots; none where it does not look there.
    pub(super) fn module_folders(&self) -> impl Iterator<Item = String> {
        let roots = self.roots.iter().filter(|_| self.imports_from_roots);
        roots.flat_map(|root| [format!("/roots/{}", root.name), format!("/roots/{}/src", root.name)])
    }

    /// Where the program starts: in the first writable root, else in `/tmp`.
    pub(super) fn start(&self) -> String {
        self.writable().next().map_or_else(|| "/tmp".to_owned(), |root| format!("/roots/{}", root.name))
    }
}

/// What is the same for all calls of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `[python] interpreter`: a name on the search path or a path.
    pub interpreter: PathBuf,
    /// Why no program may run in it yet, e.g. packages that are not installed; it is said instead of running one.
    pub unready: Option<String>,
    /// `[python] backend`: `auto`, or a name of [`super::BACKENDS`], and then nothing weaker is used.
    pub backend: String,
    /// What the backend `container` runs programs in.
    pub container: Option<ContainerSettings>,
    /// Modules a waiting interpreter has imported.
    pub preload: Vec<String>,
    /// The way to the spawner, whose program calls [`toolgate_jail::enter_if_asked`] first.
    pub client: Arc<Client>,
    /// `[python] sessions`.
    pub sessions: SessionBounds,
    /// Where what was found out about the interpreter is remembered for the next server; nowhere where it is missing.
    pub state: Option<Arc<StateDir>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interpreter: PathBuf::from("python3"),
            unready: None,
            backend: "auto".to_owned(),
            container: None,
            preload: ["json", "re", "math", "statistics"].map(str::to_owned).to_vec(),
            client: Arc::new(Client::new(PathBuf::from("/proc/self/exe"))),
            sessions: SessionBounds::default(),
            state: None,
        }
    }
}
