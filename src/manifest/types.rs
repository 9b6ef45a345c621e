//! The sections of `tools.toml`, typed. Every default is the contract's.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::{AllowPattern, DenyPattern, LaterPattern, NamePattern};
use crate::model::{Bytes, Flags, Level};

/// `[clients]`: which caller gets which profile.
#[derive(Debug, Clone, Default)]
pub struct Clients {
    /// The profile of a client that started the server as its child; none: no access.
    pub stdio: Option<String>,
    /// The profile of an HTTP caller without a valid token; none: no access.
    pub http: Option<String>,
    /// Bearer tokens.
    pub tokens: Vec<Token>,
    /// Rules for verified JSON Web Tokens.
    pub oauth: Vec<OAuth>,
}

/// One bearer token, known by its digest alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The caller's name in records.
    pub name: String,
    /// SHA-256 of the token.
    pub sha256: [u8; 32],
    /// Its profile.
    pub profile: String,
}

/// One rule for tokens of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuth {
    /// The `iss` claim, exactly.
    pub issuer: String,
    /// The `aud` claim, exactly: the canonical address of this server.
    pub audience: String,
    /// Where the issuer's keys are: an `https` URL or a file.
    pub jwks: String,
    /// The accepted signature algorithms; empty: every asymmetric one.
    pub algorithms: Vec<String>,
    /// Claims that must hold. A claim that is a list must contain every value.
    pub claims: BTreeMap<String, Vec<String>>,
    /// The profile of a caller that fits.
    pub profile: String,
}

/// Where a root lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A private scratch folder of each session.
    Session,
    /// A folder of this machine: absolute, or relative to the manifest.
    Path(String),
}

/// What may be done in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootMode {
    /// Read only.
    ReadOnly,
    /// Read and write.
    ReadWrite,
}

/// How much a root may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Bytes in all files together.
    pub bytes: Option<Bytes>,
    /// Files and folders.
    pub files: Option<u64>,
}

/// One named folder.
#[derive(Debug, Clone)]
pub struct Root {
    /// Where it lies.
    pub place: Place,
    /// Whether it may be changed.
    pub mode: RootMode,
    /// What may be touched: exact.
    pub allowed: Vec<AllowPattern>,
    /// What may not: folded, with all below it.
    pub denied: Vec<DenyPattern>,
    /// Files whose content is a stranger's, with all below.
    pub untrusted: Vec<DenyPattern>,
    /// Bounds of a session root.
    pub quota: Option<Quota>,
    /// The absolute paths, segment by segment, under which a caller may name it. Filled by [`super::Manifest::resolve_roots`];
    /// a session root has none of its own before its session begins.
    pub paths: Vec<Vec<String>>,
}

impl Root {
    /// Whether it is a session's own scratch folder.
    pub fn is_session(&self) -> bool {
        self.place == Place::Session
    }
}

/// What happens on a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Symlinks {
    /// Refused.
    #[default]
    Deny,
    /// Followed while they stay in the root, and judged by where they lead.
    Inside,
}

/// `[files]`: rules of every root.
#[derive(Debug, Clone)]
pub struct Files {
    /// What may be touched in no root.
    pub denied: Vec<DenyPattern>,
    /// Files whose content is a stranger's, in every root.
    pub untrusted: Vec<DenyPattern>,
    /// Files that other programs run later, in every root that stays: a change of one is level 3.
    pub runs_later: Vec<LaterPattern>,
    /// Whether the manifest names that set itself. Then a program that writes in such a root is level 3 as well; where the key is missing, the
    /// defaults hold for the tools alone and programs stay at the level they had.
    pub names_runs_later: bool,
    /// Largest file that is read whole or written.
    pub max_file_size: Bytes,
    /// Longest answer.
    pub max_answer: Bytes,
    /// What happens on a symbolic link.
    pub symlinks: Symlinks,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            denied: Vec::new(),
            untrusted: Vec::new(),
            runs_later: LaterPattern::defaults(),
            names_runs_later: false,
            max_file_size: Bytes::mib(1),
            max_answer: Bytes::kib(64),
            symlinks: Symlinks::Deny,
        }
    }
}

/// How much the static check of Python judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Check {
    /// Imports and constructs.
    #[default]
    Strict,
    /// Imports alone.
    Imports,
    /// Nothing: the jail stands alone.
    Off,
}

/// A root as a program sees it. The root's own mode and the flags of the profile hold besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootUse {
    /// The root's name.
    pub name: String,
    /// What the program may do in it at most.
    pub mode: RootMode,
    /// Whether the manifest asks for a read-only view by name, and not by the root's own mode.
    pub is_view: bool,
}

impl RootUse {
    /// A root with its own mode.
    pub fn whole(name: impl Into<String>) -> Self {
        Self { name: name.into(), mode: RootMode::ReadWrite, is_view: false }
    }
}

/// What `[python] backend` may name.
pub const BACKENDS: &[&str] = &["auto", "native", "landlock", "bubblewrap", "container"];

/// `[python.container]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// `docker` or `podman`.
    pub engine: &'static str,
    /// The image.
    pub image: String,
    /// `runc`, `crun` or `runsc`; none: the engine's own choice.
    pub runtime: Option<&'static str>,
}

/// `[python]`
#[derive(Debug, Clone)]
pub struct Python {
    /// The interpreter: a name on the search path, or a path.
    pub interpreter: String,
    /// Requirements of the environment that `toolgate packages sync` builds.
    pub packages: Vec<String>,
    /// Modules imported once and shared by every program.
    pub preload: Vec<String>,
    /// How much the static check judges.
    pub check: Check,
    /// Modules a program may import; `*`: any.
    pub allowed_imports: Vec<String>,
    /// Modules that the packages named in `packages` brought into the environment on this machine; a program may import these as well.
    pub installed: Vec<String>,
    /// Calls the strict check lets through by name.
    pub allowed_calls: Vec<String>,
    /// Attributes the strict check lets through by name.
    pub allowed_attributes: Vec<String>,
    /// The roots a program sees.
    pub roots: Vec<RootUse>,
    /// Whether a program reaches what `[network]` allows.
    pub network: bool,
    /// Wall-clock time of one program.
    pub timeout: Duration,
    /// Processor time of one program.
    pub cpu: Duration,
    /// Percent of one core.
    pub cpu_share: u32,
    /// Memory of one program with all its processes.
    pub memory: Bytes,
    /// Processes and threads.
    pub processes: u32,
    /// Open descriptors of one process.
    pub open_files: u32,
    /// Largest file it may write.
    pub file_size: Bytes,
    /// Its private `/tmp`.
    pub scratch: Bytes,
    /// Longest standard output and standard error, each.
    pub output: Bytes,
    /// Living interpreters at one time.
    pub max_sessions: u32,
    /// When an unused interpreter ends.
    pub idle: Duration,
    /// The environment, otherwise empty.
    pub env: BTreeMap<String, String>,
    /// `auto`, or the one backend to use.
    pub backend: String,
    /// What the backend `container` runs programs in.
    pub container: Option<Container>,
    /// Layers without which no program runs.
    pub require: Vec<String>,
}

impl Default for Python {
    fn default() -> Self {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        Self {
            interpreter: "python3".to_owned(),
            packages: Vec::new(),
            preload: texts(&["json", "re", "math", "statistics"]),
            check: Check::Strict,
            allowed_imports: Vec::new(),
            installed: Vec::new(),
            allowed_calls: Vec::new(),
            allowed_attributes: Vec::new(),
            roots: Vec::new(),
            network: false,
            timeout: Duration::from_secs(10),
            cpu: Duration::from_secs(10),
            cpu_share: 100,
            memory: Bytes::mib(256),
            processes: 16,
            open_files: 256,
            file_size: Bytes::mib(64),
            scratch: Bytes::mib(64),
            output: Bytes::kib(64),
            max_sessions: 4,
            idle: Duration::from_mins(10),
            env: BTreeMap::new(),
            backend: "auto".to_owned(),
            container: None,
            // `memory` is partial on a machine that gives no memory control group; who wants more than that writes it.
            require: texts(&["filesystem", "network", "processes", "syscalls"]),
        }
    }
}

/// Limits a profile or tool may set below those of `[limits]` and `[files]`. None: nothing said here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Calls in any 60 seconds.
    pub rate_per_minute: Option<u64>,
    /// Calls in any hour.
    pub rate_per_hour: Option<u64>,
    /// Largest file that is read whole or written.
    pub max_file_size: Option<Bytes>,
    /// Longest answer.
    pub max_answer: Option<Bytes>,
    /// Longest run time of a call.
    pub timeout: Option<Duration>,
    /// Bytes written in any hour.
    pub write_per_hour: Option<Bytes>,
    /// Bytes sent in any hour.
    pub egress_per_hour: Option<Bytes>,
    /// Processor time in any hour.
    pub cpu_per_hour: Option<Duration>,
    /// Calls under way at one time.
    pub concurrent_calls: Option<u64>,
}

/// One profile.
#[derive(Debug, Clone)]
pub struct Profile {
    /// What it is trusted with.
    pub permissions: Flags,
    /// Tools it may call.
    pub allowed_tools: Vec<NamePattern>,
    /// Tools it may not call; wins.
    pub denied_tools: Vec<NamePattern>,
    /// Its roots; none: every root of the manifest.
    pub roots: Option<Vec<String>>,
    /// What it may use at most.
    pub bounds: Bounds,
}

/// What an argument may be.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentRule {
    /// One of these values, exactly; an absent argument takes the first.
    Listed(Vec<Value>),
    /// A number from `min` to `max`, both included.
    Range {
        /// Least.
        min: Option<serde_json::Number>,
        /// Most.
        max: Option<serde_json::Number>,
    },
    /// A text of this many bytes.
    Length {
        /// Least.
        min: Option<u64>,
        /// Most.
        max: Option<u64>,
    },
}

/// How long a yes lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remember {
    /// For this tool and target, until the session ends or the manifest changes.
    #[default]
    Session,
    /// For the walls of the jail instead of the exact program.
    Envelope,
    /// Not at all.
    Off,
}

/// `[tools.NAME]`: tightening of one tool.
#[derive(Debug, Clone, Default)]
pub struct ToolRules {
    /// Raises the level of every call.
    pub level: Option<Level>,
    /// How long a yes lasts; none: as `[approvals]` says.
    pub remember: Option<Remember>,
    /// What arguments may be, by name.
    pub arguments: BTreeMap<String, ArgumentRule>,
    /// Refuses arguments without a rule.
    pub only_listed: bool,
    /// What it may use at most.
    pub bounds: Bounds,
}
