//! A question to a person.

use std::time::Duration;

/// A question with what an answer must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The approval's unguessable id.
    pub id: String,
    /// What the person reads.
    pub text: String,
    /// The code that must be typed, from level 3 on.
    pub code: Option<String>,
    /// How long an answer is waited for.
    pub wait: Duration,
    /// It waits on the operator's channel: the client is only to come back.
    pub by_operator: bool,
}
