//! What comes back from the jail: the fields of `run_python`'s answer, and why a call could not be made.

use nix::sys::signal::Signal;
use serde::Serialize;
use toolgate_jail::{Layers, Limit, NotStarted, Usage};

use crate::sandbox::web::Contact;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It ran to its end and left with 0.
    Ok,
    /// It raised, or left with another number.
    Exception,
    /// A limit stopped it or made it fail; `limit` says which.
    Limit,
    /// A signal or a cancellation ended it.
    Killed,
    /// The jail itself failed; the program did not run or its end is unknown.
    SandboxError,
}

/// One file the program left in a root that it may write to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftFile {
    /// `ROOT/rest`.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
    /// Told from the extension.
    pub mime_type: String,
}

/// One picture the program made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// `image/png` or `image/jpeg`.
    pub mime_type: String,
    /// The file as it is.
    pub bytes: Vec<u8>,
}

/// Where it ran and what stood around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Isolation {
    /// The name of the backend.
    pub backend: String,
    /// Each layer: `on`, `off` or the reason.
    pub layers: Layers,
}

/// The answer of `run_python`, field by field as the contract names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Which limit, where one was hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// What shows it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The number it left with; none when a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Its standard output, head and tail.
    pub stdout: String,
    /// Its standard error, head and tail.
    pub stderr: String,
    /// Whether a stream was cut.
    pub truncated: bool,
    /// From the request to the death of the last process, in milliseconds.
    pub duration_ms: u64,
    /// What it used.
    pub usage: Usage,
    /// What it left in the roots that it may write to, the first one first: made or changed during the call.
    pub files: Vec<LeftFile>,
    /// Whether there are more than are listed.
    #[serde(skip)]
    pub files_cut: bool,
    /// What its writes took in all writable roots: bytes, entries and attributes, listed or not.
    #[serde(skip)]
    pub bytes_written: u64,
    /// The handle of its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where it ran.
    pub isolation: Isolation,
    /// What it reached over the network and what it was refused, by host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<Contact>,
    /// Pictures, for image content beside the answer.
    #[serde(skip)]
    pub pictures: Vec<Picture>,
    /// How many more pictures it made than are shown.
    #[serde(skip)]
    pub unshown: usize,
    /// Events of the interpreter that an ordinary program does not cause, for the log. A tripwire: a program can hide or invent them.
    #[serde(skip)]
    pub events: Vec<String>,
}

impl Outcome {
    /// The name of the signal that ended it, as in signal(7).
    pub fn signal_name(&self) -> Option<String> {
        let named = |signal: i32| Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned());
        self.signal.map(named)
    }
}

/// Why a call was not made, or how the jail failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRun {
    /// A required layer cannot be had here (`sandbox_unavailable`).
    #[error("the sandbox layer `{layer}` does not work: {reason}")]
    Unavailable {
        /// The layer.
        layer: String,
        /// Why, and what mends it.
        reason: String,
    },
    /// A root cannot be shown as the manifest wants it (`root_not_enforceable`).
    #[error("root `{root}` cannot be shown to Python: {reason}")]
    Root {
        /// The root's name.
        root: String,
        /// Why, and what mends it.
        reason: String,
    },
    /// A root cannot be shown as it was looked at: something that a program may not see was moved in it meanwhile (`root_not_enforceable`). Nothing
    /// has run, and a new look may show it.
    #[error("root `{root}` cannot be shown to Python: a denied entry was moved while the root was being shown; call again")]
    Moved {
        /// The root's name.
        root: String,
    },
    /// The session is not known, or has ended (`session_unknown`).
    #[error("session `{handle}` {reason}")]
    Session {
        /// The handle that was given.
        handle: String,
        /// What became of it, and what to do.
        reason: String,
    },
    /// The server is ending (`cancelled`).
    #[error("the server is stopping")]
    Stopped,
    /// Our own fault, for the log (`internal`).
    #[error("the jail failed: {0}")]
    Fault(String),
}

impl From<NotStarted> for NoRun {
    fn from(why: NotStarted) -> Self {
        match why {
            NotStarted::Unavailable(layer, reason) => Self::Unavailable { layer, reason },
            NotStarted::Folder(root, reason) => Self::Root { root, reason },
            NotStarted::Moved(root) => Self::Moved { root },
            NotStarted::Fault(why) => Self::Fault(why),
        }
    }
}

impl NoRun {
    /// A fault of ours with what was being done.
    pub(crate) fn fault(doing: &str, why: impl std::fmt::Display) -> Self {
        Self::Fault(format!("{doing}: {why}"))
    }
}
