//! The sections of `tools.toml`, typed. Every default is the contract's.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{AllowPattern, DenyPattern, NamePattern};
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

/// How much a session may put into its scratch folder.
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
    /// Largest file that is read whole or written.
    pub max_file_size: Bytes,
    /// Longest answer.
    pub max_answer: Bytes,
    /// What happens on a symbolic link.
    pub symlinks: Symlinks,
}

impl Default for Files {
    fn default() -> Self {
        Self { denied: Vec::new(), max_file_size: Bytes::mib(1), max_answer: Bytes::kib(64), symlinks: Symlinks::Deny }
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
    /// Calls the strict check lets through by name.
    pub allowed_calls: Vec<String>,
    /// Attributes the strict check lets through by name.
    pub allowed_attributes: Vec<String>,
    /// The roots a program sees.
    pub roots: Vec<String>,
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
            require: texts(&["filesystem", "network", "processes", "syscalls", "memory"]),
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

/// Who decides on a call of a level. A later one is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Nobody: it is allowed.
    None,
    /// A person, once for a target.
    First,
    /// A person, every time.
    Every,
    /// An operator on their own channel.
    Operator,
    /// It is denied.
    Deny,
}

impl Mode {
    /// The mode as the manifest writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::None => "none",
            Mode::First => "first",
            Mode::Every => "every",
            Mode::Operator => "operator",
            Mode::Deny => "deny",
        }
    }
}

/// What happens when the client cannot ask a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NoClientChannel {
    /// The call is denied.
    #[default]
    Deny,
    /// It waits in the operator's queue.
    Operator,
}

/// `[approvals]`
#[derive(Debug, Clone)]
pub struct Approvals {
    /// The mode of each level. A level takes the strictest of its own and all lower ones: [`Approvals::mode`].
    pub modes: [Mode; 5],
    /// How long a yes lasts.
    pub remember: Remember,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// What happens when the client cannot ask.
    pub no_client_channel: NoClientChannel,
    /// Tools that need two different operators.
    pub two_persons: Vec<String>,
    /// Whether calls of level 2 and above rise one level once the session has read untrusted content.
    pub raise_after_untrusted: bool,
}

impl Approvals {
    /// The mode of a level: the strictest of its own and all lower ones, so that a higher level is never laxer.
    pub fn mode(&self, level: Level) -> Mode {
        self.modes.iter().take(usize::from(u8::from(level)) + 1).copied().max().unwrap_or(Mode::Deny)
    }
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            modes: [Mode::None, Mode::None, Mode::First, Mode::Every, Mode::Operator],
            remember: Remember::Session,
            timeout: Duration::from_secs(50),
            no_client_channel: NoClientChannel::Deny,
            two_persons: Vec::new(),
            raise_after_untrusted: false,
        }
    }
}

/// When a session that only runs into walls is suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    /// This many denials …
    pub denials: u64,
    /// … within this time.
    pub within: Duration,
}

/// `[limits]`
#[derive(Debug, Clone)]
pub struct Limits {
    /// Calls in any 60 seconds, where neither `[limits]` nor the profile says otherwise.
    pub default_rate: u64,
    /// What was written in `[limits]`, for every session.
    pub bounds: Bounds,
    /// Longest run time of a call.
    pub timeout: Duration,
    /// Calls under way at one time.
    pub concurrent_calls: u64,
    /// Bytes written in any hour.
    pub write_per_hour: Bytes,
    /// Bytes sent in any hour.
    pub egress_per_hour: Bytes,
    /// Processor time in any hour.
    pub cpu_per_hour: Duration,
    /// When a session is suspended; none: never.
    pub breaker: Option<Breaker>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            default_rate: 10,
            bounds: Bounds::default(),
            timeout: Duration::from_secs(10),
            concurrent_calls: 4,
            write_per_hour: Bytes::mib(50),
            egress_per_hour: Bytes::mib(20),
            cpu_per_hour: Duration::from_mins(10),
            breaker: Some(Breaker { denials: 10, within: Duration::from_mins(1) }),
        }
    }
}

/// One reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reviewer {
    /// The program and its arguments; it reads the action as JSON and answers `allow` or `deny`.
    pub command: Vec<String>,
    /// How long it is waited for.
    pub timeout: Duration,
}

/// `[review]`: can only make a verdict stricter.
#[derive(Debug, Clone)]
pub struct ReviewRules {
    /// Calls of this level and above are shown to the reviewers.
    pub from_level: Level,
    /// Who is asked.
    pub reviewers: Vec<Reviewer>,
}

impl Default for ReviewRules {
    fn default() -> Self {
        Self { from_level: Level::Destroy, reviewers: Vec::new() }
    }
}

/// What is on disk before a call acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Calls that can change or send anything beyond their session's scratch.
    #[default]
    Effects,
    /// All.
    Every,
    /// None: all within 50 ms.
    Relaxed,
}

/// `[audit]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRules {
    /// What is on disk before a call acts.
    pub durability: Durability,
    /// A new file at this size.
    pub rotate: Bytes,
    /// Older closed files are removed.
    pub keep: Duration,
    /// Arguments stored as length and digest.
    pub hash_args: Vec<String>,
    /// Arguments stored as a keyed hash.
    pub redact: Vec<String>,
}

impl Default for AuditRules {
    fn default() -> Self {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        Self {
            durability: Durability::Effects,
            rotate: Bytes::mib(64),
            keep: Duration::from_hours(400 * 24),
            hash_args: texts(&["content", "code", "body"]),
            redact: texts(&["password", "token", "authorization"]),
        }
    }
}

/// One `[[test]]`: a call and what must become of it.
#[derive(Debug, Clone)]
pub struct Test {
    /// What the test is about.
    pub name: Option<String>,
    /// The caller's profile.
    pub profile: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// `allow`, `ask` or `deny`.
    pub expect: String,
    /// The code, where the test names one.
    pub reason: Option<String>,
    /// The level, where the test names one.
    pub level: Option<u64>,
    /// The world as `simulate` describes it.
    pub state: Option<Value>,
}
