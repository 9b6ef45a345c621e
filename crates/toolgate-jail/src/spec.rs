//! What is asked of a jail: a program, what it sees, how much it may use, which walls must stand.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A wall that a caller may insist on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Nothing of the host's files but what the spec names.
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
    /// Every layer, in the order in which manifests name them.
    pub const ALL: [Self; 5] = [Self::Filesystem, Self::Network, Self::Processes, Self::Syscalls, Self::Memory];

    /// The name, as in [`Layers`].
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

/// What each layer is: `on`, or why it is not.
pub type Layers = BTreeMap<String, String>;

/// The TCP port of the jail's own loopback on which the caller listens for a program that has [`Spec::network`].
pub const GATEWAY_PORT: u16 = 3128;

/// A folder that the program sees at `/roots/NAME`.
#[derive(Debug, Clone)]
pub struct Folder {
    /// The name; one path segment.
    pub name: String,
    /// The opened folder. The jail shows this very folder, whatever its path leads to by now.
    pub dir: Arc<OwnedFd>,
    /// Whether the program may change it.
    pub writable: bool,
    /// What below it the program must not see into.
    pub covers: Vec<Cover>,
    /// Bytes that may lie on its disk in open files without a name; `None`: no bound.
    pub unnamed: Option<u64>,
}

/// A path below a folder that a program must not see into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cover {
    /// Relative, `/` between segments.
    pub path: String,
    /// Which object it was when it was looked at: device and inode. A folder in which another one lies there by then, or none, is not shown.
    /// Without it whatever lies there is covered.
    pub object: Option<(u64, u64)>,
}

impl Cover {
    /// Whether what has these facts is what was looked at.
    pub(crate) fn is(&self, facts: &rustix::fs::Stat) -> bool {
        self.object.is_none_or(|object| object == (facts.st_dev, facts.st_ino))
    }
}

/// How much a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Time on the clock, from the moment its input was handed to it.
    pub wall: Duration,
    /// Processor time of all its processes together.
    pub cpu: Duration,
    /// Share of the processors that all its processes together may take, in hundredths of one core.
    pub cpu_share: u32,
    /// Memory in bytes: the address space of each process, the resident memory of all of them.
    pub memory: u64,
    /// Processes and threads at one time.
    pub processes: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// The largest file it may write, in bytes.
    pub file_size: u64,
    /// Bytes in its private `/tmp`, and as many in `/dev/shm`.
    pub scratch: u64,
}

impl Limits {
    /// Whether the share is less than the whole machine.
    pub(crate) fn shares(&self) -> bool {
        let cores = std::thread::available_parallelism().map_or(u32::MAX, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
        self.cpu_share < cores.saturating_mul(100)
    }
}

/// A program and its walls.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The file that is executed: an absolute path, shown to the program.
    pub program: String,
    /// Its arguments, its own name first.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// Files and folders of the host that it sees where they are and cannot change; none lies below another.
    pub shown: Vec<String>,
    /// Symbolic links that it sees: where each stands, and where it leads.
    pub links: Vec<(String, String)>,
    /// Folders that it sees below `/roots`.
    pub folders: Vec<Folder>,
    /// Where it starts, as a path in the jail.
    pub start_dir: String,
    /// How much it may use.
    pub limits: Limits,
    /// What must stand, or it is not started.
    pub require: Vec<Layer>,
    /// Whether it reaches the caller's gateway at [`GATEWAY_PORT`].
    pub network: bool,
    /// Whether it waits on descriptor 3 for its input ([`crate::Io`]), so that it can be started ahead and be fed more than once.
    /// A program in Rust that takes one call waits in [`crate::wait_for_call`].
    pub waits: bool,
    /// For whom it waits, for those who count ([`crate::Backend::waiting`]).
    pub label: String,
}
