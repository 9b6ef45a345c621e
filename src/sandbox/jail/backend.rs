//! The list of backends, strongest first, and what each must be able to do.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::interpreter::Interpreter;
use super::native::Native;
use super::outcome::{NoRun, Outcome};
use super::spec::{JailSpec, Layer, Layers, Settings};
use super::{bubblewrap, landlock};

/// Output of a program that is still running, as it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Which stream it came from.
    pub stream: Stream,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether something before them was not passed on.
    pub after_gap: bool,
}

/// An output stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Where the output goes while the program runs; what does not fit is left out there, never in the answer.
pub type Progress = Option<mpsc::Sender<Chunk>>;

/// What a backend can hold on this machine, found by running a program in it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Probe {
    /// Whether programs run in it here.
    pub usable: bool,
    /// Each layer: `on`, `off` or the reason.
    pub layers: Layers,
    /// Why not, and what mends it, where it is not usable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

impl Probe {
    /// Whether no other backend can hold more here: what bounds memory is the same for all.
    pub(super) fn is_best(&self) -> bool {
        let is_there = |layer: &&Layer| self.layers.get(layer.as_str()).is_some_and(|state| state == "on");
        Layer::ALL.iter().filter(|layer| **layer != Layer::Memory).all(|layer| is_there(&layer))
    }

    /// How many of the layers that a manifest can require it holds.
    pub fn strength(&self) -> usize {
        Layer::ALL.iter().filter(|layer| self.layers.get(layer.as_str()).is_some_and(|state| state == "on")).count()
    }
}

/// A way to run a program inside walls.
pub trait Backend: Send + Sync + std::fmt::Debug {
    /// The name in `[python] backend` and in answers.
    fn name(&self) -> &'static str;

    /// Finds out by doing what it can hold here.
    fn probe(&self) -> BoxFuture<'_, Probe>;

    /// Whether a program in it can have a doorway ([`JailSpec::network`]).
    fn has_doorway(&self) -> bool {
        false
    }

    /// Gets jails ready for calls of this kind, where it has any that wait. They come by themselves; this does not wait for them.
    fn prepare<'a>(&'a self, spec: &'a JailSpec) -> BoxFuture<'a, Result<(), NoRun>> {
        let _ = spec;
        Box::pin(std::future::ready(Ok(())))
    }

    /// Runs one program. Cancelling kills every process of it. When the answer is there, all of them are dead.
    fn run<'a>(&'a self, spec: &'a JailSpec, cancel: &'a CancellationToken, progress: Progress) -> BoxFuture<'a, Result<Outcome, NoRun>>;

    /// Interpreters by profile and what they do, where any are kept.
    fn pool(&self) -> BoxFuture<'_, Vec<(String, &'static str, u32)>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Ends everything it keeps running between calls, and waits until it is gone.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// One line of the list.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// The name.
    pub name: &'static str,
    /// Makes it.
    pub make: fn(&Settings, &Arc<Interpreter>) -> Arc<dyn Backend>,
}

impl Listed {
    /// Whether `[python] backend` lets it be used: `auto`, or its name.
    pub fn is_wanted(&self, named: &str) -> bool {
        named == "auto" || named == self.name
    }
}

/// Every backend, strongest first; where an earlier one holds less on a machine than a later one, the later one is taken.
pub const BACKENDS: &[Listed] = &[
    Listed { name: "native", make: |settings, interpreter| Arc::new(Native::new(settings, interpreter)) },
    Listed { name: "landlock", make: landlock::make },
    Listed { name: "bubblewrap", make: bubblewrap::make },
];
