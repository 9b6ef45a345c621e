//! A call as it comes in, whichever transport brought it.

use serde_json::{Map, Value};

/// One `tools/call`, before anything is known of it.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The name the caller used.
    pub tool: String,
    /// The arguments as they were sent.
    pub arguments: Map<String, Value>,
    /// What the strict reader found in the message that JSON parsers differ on: a duplicate key, a lone surrogate.
    pub malformed: Option<String>,
    /// The trace the caller is in: a `traceparent` (W3C Trace Context, section 3.2), well formed.
    pub trace: Option<String>,
    /// Who calls.
    pub caller: Caller,
    /// The sealed state and the answers of a repeated call (2026-07-28).
    pub repeat: Option<Repeat>,
}

/// Who calls, and over what they can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The authenticated identity, e.g. `stdio` or `token:ci-bot`. Approvals, grants and rates hang on it.
    pub principal: String,
    /// The session: the process (stdio), the MCP session, or the principal.
    pub session: String,
    /// The one profile the caller maps to, if any.
    pub profile: Option<String>,
    /// What the client says it is: a label, never an identity.
    pub client: ClientLabel,
    /// Where an answer can come from.
    pub channel: Channel,
}

impl Caller {
    /// Whether a suspension is of its session alone: over standard input all clients of all projects have the same principal.
    pub fn is_suspended_by_session(&self) -> bool {
        self.principal == STDIO
    }
}

/// The principal of every caller over standard input.
pub const STDIO: &str = "stdio";

/// Name and version a client gives itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientLabel {
    /// The name, as sent.
    pub name: String,
    /// The version, as sent.
    pub version: String,
}

/// How the client can ask a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// It cannot.
    None,
    /// `elicitation/create` during the call (before 2026-07-28).
    During,
    /// `input_required` and a repeated call (2026-07-28).
    Repeat,
}

/// What a client sends with a repeated call.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat {
    /// The sealed state we gave it. Hostile until opened.
    pub state: String,
    /// Its answer to the request named `approval`: the raw elicitation result.
    pub answer: Option<Value>,
}
