//! Whoever can put a question to a person: each front end implements it, the gate alone calls it.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::model::Question;

/// The client's side of an approval: it can be asked during the call, or be given a sealed state to come back with.
pub trait Asker: Send + Sync {
    /// Asks during the call. The raw elicitation result, or nothing when no answer came.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Value>>;

    /// Seals what a repeated call must bring back; nothing when this server cannot.
    fn seal(&self, state: &[u8], ttl: Duration) -> Option<String>;

    /// Opens what a repeated call brought; nothing when it was not sealed by us, was changed, or is too old.
    fn open(&self, sealed: &str) -> Option<Vec<u8>>;
}
