//! What is known besides the manifest, the call and the facts, as plain values: the gate fills it, `simulate` invents it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::scope::Scope;
use super::window::Moment;
use crate::model::Level;

/// The state a call is judged in.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts of the world, each named where it is set")]
pub struct State {
    /// The kill switch is on.
    pub killed: bool,
    /// The audit log cannot be written.
    pub audit_lost: bool,
    /// The caller's session is suspended.
    pub suspended: bool,
    /// Now.
    pub now: Moment,
    /// When this principal called under this profile.
    pub calls_at: Vec<Moment>,
    /// When this principal called this tool.
    pub tool_calls_at: Vec<Moment>,
    /// What was used of each budget within the last hour.
    pub used: Budgets,
    /// What this call will use, at most.
    pub cost: Budgets,
    /// Calls of this principal under way.
    pub under_way: u64,
    /// What was remembered. Others' and dead grants may be among them.
    pub grants: Vec<Grant>,
    /// The manifest's name in grants.
    pub policy: String,
    /// Who can be asked.
    pub channels: Channels,
    /// What the reviewers said; none: they were not asked yet.
    pub reviews: Option<Vec<Review>>,
    /// The answer of a person.
    pub answer: Option<Answer>,
    /// The session has read untrusted content.
    pub untrusted: bool,
    /// Hosts the session has contacted.
    pub contacted: Vec<String>,
    /// The modules of roots that the call's program may import: see [`Capability::modules`](super::Capability::modules).
    pub modules: BTreeSet<String>,
}

/// Amounts of the hourly budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budgets {
    /// Bytes written.
    pub write: u64,
    /// Bytes sent.
    pub egress: u64,
    /// Processor time.
    pub cpu: Duration,
}

/// Who can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Channels {
    /// The client can ask its person.
    pub client: bool,
    /// An operator can be asked.
    pub operator: bool,
}

/// A yes that lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Whose it is.
    pub principal: String,
    /// In which session.
    pub session: String,
    /// For which tool.
    pub tool: String,
    /// For which target: `ROOT/rest` (a move: `FROM -> TO`), the URL, the program, or `envelope`; of a wide one what [`Scope::names`] gives.
    pub target: String,
    /// How far it goes.
    pub scope: Scope,
    /// Under which manifest.
    pub policy: String,
    /// Up to which level, where it says.
    pub level: Option<Level>,
    /// When it ends, where it says; that moment is out.
    pub expires: Option<Moment>,
}

/// What a reviewer said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Review {
    /// Nothing against it.
    Allow,
    /// No.
    Deny,
    /// An error, a doubt, no answer, an answer that cannot be read.
    Doubt,
    /// At least this level.
    Level(Level),
}

/// An answer to a question, with what it was bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Where it came from.
    pub channel: AnswerChannel,
    /// The client's, or one operator's, words.
    pub response: Option<Response>,
    /// The operators who agreed.
    pub approvers: Vec<String>,
    /// The code that was shown.
    pub code: Option<String>,
    /// What was shown: the digest over action, targets and manifest.
    pub binding: String,
    /// The same digest over what is there now.
    pub binding_now: String,
    /// When the question ends; that moment is out. None: it was not said.
    pub expires: Option<Moment>,
    /// When the answer came.
    pub at: Moment,
    /// It was consumed before.
    pub used: bool,
    /// Whom the question was put to.
    pub for_principal: String,
}

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerChannel {
    /// The client.
    Client,
    /// The operator's own channel.
    Operator,
    /// One that nobody named.
    Other,
}

/// An elicitation result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// `accept`; everything else is a no.
    pub action: String,
    /// The fields of the form.
    pub content: BTreeMap<String, serde_json::Value>,
}
