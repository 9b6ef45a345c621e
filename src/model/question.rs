//! A question to a person, and whoever can put it to one.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

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
}

/// The client's side of an approval: it can be asked during the call, or be given a sealed state to come back with.
pub trait Asker: Send + Sync {
    /// Asks during the call. The raw elicitation result, or nothing when no answer came.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Value>>;

    /// Seals what a repeated call must bring back; nothing when this server cannot.
    fn seal(&self, state: &[u8], ttl: Duration) -> Option<String>;

    /// Opens what a repeated call brought; nothing when it was not sealed by us, was changed, or is too old.
    fn open(&self, sealed: &str) -> Option<Vec<u8>>;
}
