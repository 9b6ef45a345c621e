//! What an engine that runs programs behind walls must be able to do.

use std::os::fd::OwnedFd;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::end::{End, Usage};
use crate::spec::{Layer, Layers, Spec};

/// What a program gets: at its start, or when it waits for it ([`Spec::waits`]).
#[derive(Debug)]
pub struct Io {
    /// What it reads from standard input: a file or a pipe.
    pub stdin: OwnedFd,
    /// The writing end of its standard output.
    pub stdout: OwnedFd,
    /// The writing end of its standard error.
    pub stderr: OwnedFd,
    /// For a program that waits: the file that says what it is to do, and the writing end of the pipe on which it reports.
    pub task: Option<(OwnedFd, OwnedFd)>,
}

/// What a backend can hold on this machine, found by running a program in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// Whether programs run in it here.
    pub usable: bool,
    /// Each layer: `on`, or why it is not.
    pub layers: Layers,
    /// Why not, and how to fix it, where it is not usable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

impl Probe {
    /// How many of the layers that a caller can require it holds.
    pub fn strength(&self) -> usize {
        Layer::ALL.iter().filter(|layer| self.layers.get(layer.as_str()).is_some_and(|state| state == "on")).count()
    }
}

/// Why a program was not started. Nothing of it has run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotStarted {
    /// A required layer cannot be had: its name, and why.
    Unavailable(String, String),
    /// A folder cannot be shown: its name, and why.
    Folder(String, String),
    /// Something that is to be covered in the folder of this name was moved between the look at it and this. Another look may show it.
    Moved(String),
    /// The jail failed.
    Fault(String),
}

impl std::fmt::Display for NotStarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unavailable(layer, reason) => write!(f, "the sandbox layer `{layer}` does not work: {reason}"),
            Self::Folder(name, reason) => write!(f, "root `{name}` cannot be shown: {reason}"),
            Self::Moved(name) => write!(f, "root `{name}` cannot be shown: a denied entry was moved while it was being shown; call again"),
            Self::Fault(why) => write!(f, "the jail failed: {why}"),
        }
    }
}

impl std::error::Error for NotStarted {}

impl NotStarted {
    /// A fault, with what was being done.
    pub(crate) fn fault(doing: &str, why: impl std::fmt::Display) -> Self {
        Self::Fault(format!("{doing}: {why}"))
    }
}

/// A way to run programs behind walls.
pub trait Backend: Send + Sync + std::fmt::Debug {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Finds out by doing what it can hold here.
    fn probe(&self) -> BoxFuture<'_, Probe>;

    /// Has `count` jails wait for programs of this kind, where it can start any ahead ([`Spec::waits`]).
    fn prepare<'a>(&'a self, spec: &'a Spec, count: usize) -> BoxFuture<'a, ()> {
        let _ = (spec, count);
        Box::pin(std::future::ready(()))
    }

    /// Starts a program, or hands its input to one that waits. `fresh`: none that waits is taken.
    fn start<'a>(&'a self, spec: &'a Spec, io: Io, fresh: bool) -> BoxFuture<'a, Result<Box<dyn Running>, NotStarted>>;

    /// Programs that wait, by [`Spec::label`]: how many are ready, and how many are being started.
    fn waiting(&self) -> Vec<(String, usize, usize)> {
        Vec::new()
    }

    /// Ends everything that it keeps, and waits until it is gone.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A program that runs. Dropping it ends every process of it.
pub trait Running: Send + std::fmt::Debug {
    /// What stands around it.
    fn layers(&self) -> &Layers;

    /// The listening socket on the loopback of a jail whose program has [`Spec::network`]. The first call takes it; a later one returns `None`.
    fn gateway(&mut self) -> Option<OwnedFd> {
        None
    }

    /// Hands the next input to a program that waits for more after its first; its time begins anew.
    ///
    /// # Errors
    /// It is gone, or takes no more than one.
    fn feed<'a>(&'a mut self, spec: &'a Spec, io: Io) -> BoxFuture<'a, std::io::Result<()>> {
        let _ = (spec, io);
        Box::pin(std::future::ready(Err(std::io::ErrorKind::Unsupported.into())))
    }

    /// Has every process of it stand still until the next input, and says what all of them used so far ([`End::usage`], [`End::written`]).
    /// `None`: it is gone, or did not stand still in time, and is to be ended.
    fn pause(&mut self) -> BoxFuture<'_, Option<(Usage, u64)>> {
        Box::pin(std::future::ready(None))
    }

    /// Waits for its end. Safe to drop and to ask again.
    fn end(&mut self) -> BoxFuture<'_, End>;

    /// Ends every process of it; [`Running::end`] then says what it used.
    fn kill(&mut self);
}
