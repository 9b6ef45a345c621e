//! What one call asks of the jail: the program, what it may see, how much it may use.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::link::Early;
use crate::audit::StateDir;
use crate::model::Bytes;

/// A wall that a manifest may insist on (`[python] require`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Nothing of the host's files but the interpreter, its libraries and the named roots.
    Filesystem,
    /// No way to any network, abstract or virtual socket.
    Network,
    /// No view of, no signal to, and no survivor among other processes; a bound on their number.
    Processes,
    /// The system call filter.
    Syscalls,
    /// A bound on memory that holds for all processes of the program together.
    Memory,
}

impl Layer {
    /// Every layer, in the order of the manifest.
    pub const ALL: [Self; 5] = [Self::Filesystem, Self::Network, Self::Processes, Self::Syscalls, Self::Memory];

    /// The name in the manifest and in `isolation.layers`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Filesystem => "filesystem",
            Self::Network => "network",
            Self::Processes => "processes",
            Self::Syscalls => "syscalls",
            Self::Memory => "memory",
        }
    }

    /// The layer of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.as_str() == name)
    }
}

/// What each layer is: `on`, `off`, or the reason why it is not there.
pub type Layers = BTreeMap<String, String>;

/// Where a program that may use the network finds the server's gateway: this TCP port of its own loopback.
pub const DOORWAY_PORT: u16 = 3128;

/// The server's side of a doorway: takes the connections of one program, and decides where each may go.
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
    pub masked: Vec<Mask>,
    /// Its own quota in bytes, where it has one.
    pub quota: Option<u64>,
}

/// A path below a root that a program must not see into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mask {
    /// Relative, `/` between segments.
    pub path: String,
    /// Which object it was when it was looked at: device and inode. A root in which another one lies there by then, or none, is not shown.
    /// Without it whatever lies there is covered.
    pub object: Option<(u64, u64)>,
}

impl Mask {
    /// Whether what has these facts is what was looked at.
    pub(crate) fn is(&self, facts: &rustix::fs::Stat) -> bool {
        self.object.is_none_or(|object| object == (facts.st_dev, facts.st_ino))
    }
}

/// How much one call may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Time on the clock.
    pub wall: Duration,
    /// Processor time of all its processes together.
    pub cpu: Duration,
    /// Share of the processors that all its processes together may take, in hundredths of one core.
    pub cpu_share: u32,
    /// Memory: address space of each process, resident memory of all of them.
    pub memory: u64,
    /// Processes and threads at one time.
    pub processes: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// Largest file it may write, in bytes.
    pub file_size: u64,
    /// Bytes in its private `/tmp` (and as many in `/dev/shm`).
    pub scratch: u64,
    /// Bytes in a writable root that has no quota of its own, and on its disk in files that are held open and have no name any more; `u64::MAX`: no
    /// bound.
    pub disk: u64,
    /// Bytes kept of each output stream.
    pub output: u64,
}

impl Default for Limits {
    /// The values of the manifest's `[python]` where it says nothing.
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(10),
            cpu: Duration::from_secs(10),
            cpu_share: 100,
            memory: Bytes::mib(256).0,
            processes: 16,
            open_files: 256,
            file_size: Bytes::mib(64).0,
            scratch: Bytes::mib(64).0,
            disk: u64::MAX,
            output: Bytes::kib(64).0,
        }
    }
}

impl Limits {
    /// Whether the share is less than the whole machine.
    pub(crate) fn shares(&self) -> bool {
        let cores = std::thread::available_parallelism().map_or(u32::MAX, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
        self.cpu_share < cores.saturating_mul(100)
    }
}

/// One program and its walls.
#[derive(Debug, Clone)]
pub struct JailSpec {
    /// The checked source. It runs as `__main__`, its file name is `<program>`.
    pub program: String,
    /// Python that runs first, in a namespace of its own, e.g. an import hook. Where it leaves a function `guard(namespace, record)`, that is called
    /// with the program's globals and a function that notes an event.
    pub prelude: Option<Arc<str>>,
    /// What the program reads from its standard input.
    pub stdin: Vec<u8>,
    /// The folders it sees.
    pub roots: Vec<JailRoot>,
    /// Whether it finds modules in its roots, after all other places: at the top of each root and in its folder `src`.
    pub imports_from_roots: bool,
    /// Matplotlib's list of fonts: the name of its file on the first line, then its content. It is laid into the program's scratch space.
    pub fonts: Option<Arc<str>>,
    /// How much it may use.
    pub limits: Limits,
    /// Added to an otherwise scrubbed environment.
    pub env: BTreeMap<String, String>,
    /// What must stand, or the call is refused.
    pub require: Vec<Layer>,
    /// Where it starts, as a path in the jail; without it the first writable root, else `/tmp`.
    pub start_dir: Option<String>,
    /// Start from nothing: no interpreter that waits is used.
    pub fresh: bool,
    /// Keep the interpreter, or go on in one that was kept.
    pub session: Option<Session>,
    /// The way out, where there is one. The jail itself has none: it gives the listening socket of a doorway to this.
    pub network: Option<Arc<dyn Network>>,
    /// The caller's principal; a session is there for calls of the one that started it alone.
    pub owner: String,
    /// The profile it is made under, for counts of what runs.
    pub profile: String,
    /// What its caller may still use of processor time in this hour; a session goes on using it after the call.
    pub cpu_left: Duration,
    /// A program of the operator's with its arguments, instead of Python: see [`super::Commands`].
    pub command: Vec<String>,
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
            fonts: None,
            limits: Limits::default(),
            env: BTreeMap::new(),
            require: vec![Layer::Filesystem, Layer::Network, Layer::Processes, Layer::Syscalls],
            start_dir: None,
            fresh: false,
            session: None,
            network: None,
            owner: String::new(),
            profile: String::new(),
            cpu_left: Duration::MAX,
            command: Vec::new(),
        }
    }

    /// The first root the program may write to.
    pub fn first_writable(&self) -> Option<&JailRoot> {
        self.writable().next()
    }

    /// The roots the program may write to.
    pub fn writable(&self) -> impl Iterator<Item = &JailRoot> {
        self.roots.iter().filter(|root| root.writable)
    }

    /// Where modules of its roots are, in the order of the roots; none where it does not look there.
    pub(super) fn module_folders(&self) -> impl Iterator<Item = String> {
        let roots = self.roots.iter().filter(|_| self.imports_from_roots);
        roots.flat_map(|root| [format!("/roots/{}", root.name), format!("/roots/{}/src", root.name)])
    }

    /// Where the program starts.
    pub fn start(&self) -> String {
        self.start_dir
            .clone()
            .unwrap_or_else(|| self.first_writable().map_or_else(|| "/tmp".to_owned(), |root| format!("/roots/{}", root.name)))
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
    /// Modules a waiting interpreter has imported.
    pub preload: Vec<String>,
    /// Our own program, which is re-executed as the jail; [`super::enter_if_asked`] must be the first thing it calls.
    pub helper: PathBuf,
    /// `[python] sessions`.
    pub sessions: SessionBounds,
    /// Where what was found out about the interpreter is remembered for the next server; nowhere where it is missing.
    pub state: Option<Arc<StateDir>>,
    /// A spawner that is running already, where there is one.
    pub early: Early,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interpreter: PathBuf::from("python3"),
            unready: None,
            backend: "auto".to_owned(),
            preload: ["json", "re", "math", "statistics"].map(str::to_owned).to_vec(),
            helper: PathBuf::from("/proc/self/exe"),
            sessions: SessionBounds::default(),
            state: None,
            early: Early::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_reads_back_from_its_name() {
        for layer in Layer::ALL {
            assert_eq!(Layer::parse(layer.as_str()), Some(layer));
        }
        assert_eq!(Layer::parse("walls"), None);
    }

    #[test]
    fn a_program_without_a_writable_root_starts_in_tmp() {
        assert_eq!(JailSpec::new("1").start(), "/tmp");
    }
}
