//! When a long verb must end.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::model::{Code, Failure};

/// The end of a verb's time, or of the wish for its answer.
#[derive(Debug, Clone)]
pub struct Stop {
    cancel: CancellationToken,
    deadline: Instant,
}

impl Stop {
    /// Ends when `cancel` says so, and for verbs that can answer with a part of the whole at nine tenths of `timeout`.
    pub fn new(cancel: CancellationToken, timeout: Duration) -> Self {
        let now = Instant::now();
        Self { cancel, deadline: now.checked_add(timeout.mul_f64(0.9)).unwrap_or(now) }
    }

    /// Whether the time is up: what was found so far is the answer.
    pub fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Nobody waits for the answer any more.
    ///
    /// # Errors
    /// `cancelled`
    pub fn check(&self) -> Result<(), Failure> {
        if self.cancel.is_cancelled() { Err(Failure::new(Code::Cancelled, "the call was cancelled")) } else { Ok(()) }
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
