//! The sections of `tools.toml` on deciding and recording, typed. Every default is the contract's.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Bounds, Remember};
use crate::model::{Bytes, Level};

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
    /// When a session is suspended.
    pub breaker: Breaker,
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
            breaker: Breaker { denials: 10, within: Duration::from_mins(1) },
        }
    }
}

/// Who a reviewer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewBy {
    /// A program and its arguments; it reads the action as JSON and answers `allow`, `deny` or `ask`.
    Command(Vec<String>),
    /// The client's own model, where the client offers it (sampling, before 2026-07-28).
    ClientModel,
}

/// One reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reviewer {
    /// Who it is.
    pub by: ReviewBy,
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

/// What is on disk before a call acts. Whatever the mode, every record is handed to the kernel first, so it survives the death of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A call that can change or send anything beyond its session's scratch is on disk before it acts, others within 50 ms.
    #[default]
    Effects,
    /// All are on disk before they act.
    Every,
    /// All are on disk within 50 ms.
    Relaxed,
}

/// `[audit]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRules {
    /// What is on disk before a call acts.
    pub durability: Durability,
    /// A file of the log is closed and a new one begun at this size.
    pub rotate: Bytes,
    /// Closed files whose last record is older are removed.
    pub keep: Duration,
    /// Names of arguments stored as length and SHA-256; compared without case.
    pub hash_args: Vec<String>,
    /// Names of arguments stored as a keyed hash; a name matches when one of its words does (`access_token` matches `token`).
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
