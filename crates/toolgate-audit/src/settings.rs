//! How a log is kept: when a new file begins, how long files stay, and in which form arguments are recorded.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::escape;

/// How a log is kept.
#[derive(Debug, Clone)]
pub struct Settings {
    /// A new file begins at this size in bytes.
    pub rotate: u64,
    /// Older closed files are removed.
    pub keep: Duration,
    /// Hides the secrets in what is recorded. Without it no argument is recorded.
    pub redact: Option<Arc<dyn Redact>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rotate: 64 << 20, keep: Duration::from_hours(400 * 24), redact: None }
    }
}

/// Hides the secrets in what is recorded.
pub trait Redact: Send + std::marker::Sync + Debug {
    /// Arguments as they may be recorded.
    fn arguments(&self, arguments: &Map<String, Value>) -> Value;
    /// A text that may be recorded.
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str>;
}

/// Arguments that are safe to keep. Only a log makes them, so nothing else can stand in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    json: String,
    sha256: String,
}

impl Redacted {
    pub(crate) fn new(arguments: &Value) -> Self {
        let json = escape::json(arguments);
        let sha256 = HEXLOWER.encode(&Sha256::digest(&json));
        Self { json, sha256 }
    }

    /// The redacted arguments as compact JSON, exactly as they stand in the record.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// SHA-256 of that JSON, as 64 hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

/// How far a record must get before `append` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// In the kernel: write(2) returned. It survives the death of this process, and is on disk within 50 ms.
    Handed,
    /// On disk: fdatasync(2) returned. It survives the loss of power.
    Durable,
}
