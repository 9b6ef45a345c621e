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
    /// The answers that are offered, the no first.
    pub choices: Vec<Choice>,
    /// How long an answer is waited for.
    pub wait: Duration,
    /// It waits on the operator's channel: the client is only to come back.
    pub by_operator: bool,
}

/// One answer that a question offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What an answer holds, e.g. `session_folder`.
    pub value: String,
    /// What a person reads on the button.
    pub title: String,
}
