//! What accompanies one execution.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

/// What accompanies one execution.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Ends the work: the client cancelled, time is up, the server stops or the kill switch is on.
    pub cancel: CancellationToken,
    /// Tells the client how far the work is.
    pub progress: Progress,
}

/// Hears notes: how far, of how much, and in words.
type Listener = dyn Fn(f64, Option<f64>, String) + Send + Sync;

/// A sender of progress notes; without a listener it does nothing.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Listener>>);

impl Progress {
    /// Calls `tell(progress, total, message)` for every note.
    pub fn new(tell: impl Fn(f64, Option<f64>, String) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// Whether anybody listens.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Sends one note; `progress` must grow from note to note.
    pub fn note(&self, progress: f64, total: Option<f64>, message: impl Into<String>) {
        if let Some(tell) = &self.0 {
            tell(progress, total, message.into());
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.0.is_some()).finish()
    }
}
