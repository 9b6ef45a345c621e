//! Whoever can put a question to a person: each front end implements it, the gate alone calls it.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::model::Question;

/// How a call can wait for an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Not at all: there is no operator's channel where this call comes from.
    Not,
    /// It stays open until the answer is there (before 2026-07-28).
    During,
    /// It is answered at once and repeated with a sealed state (2026-07-28).
    Repeated,
}

/// The client's side of an approval: it can be asked during the call, or be given a sealed state to come back with.
pub trait Asker: Send + Sync {
    /// Asks during the call. The raw elicitation result, or nothing when no answer came.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Value>>;

    /// Seals what a repeated call must carry; nothing when this server cannot.
    fn seal(&self, state: &[u8], ttl: Duration) -> Option<String>;

    /// Opens the state that a repeated call carries; nothing when it was not sealed by us, was changed, or is too old.
    fn open(&self, sealed: &str) -> Option<Vec<u8>>;

    /// How the call can wait for an operator.
    fn waits(&self) -> Waits {
        Waits::Not
    }

    /// Tells the client that the call still waits, `waited` so far.
    fn beat(&self, _waited: Duration) {}

    /// Resolves when nobody waits for the call any more.
    fn gone(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Whether the client itself took the call back. A connection that ended says nothing of what its person wants.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Shows a text to the client's own model (`sampling/createMessage`) and gives what it says; nothing when the client cannot, or did not in time.
    fn sample<'a>(&'a self, _instructions: &'a str, _text: &'a str, _wait: Duration) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}
