//! The engines that run programs, one file each, and what they share.

mod bubblewrap;
mod container;
mod jail;
mod landlock;
mod native;
mod pool;

pub use bubblewrap::Bubblewrap;
pub use container::{Container, ContainerSettings};
pub use landlock::Landlock;
pub use native::Native;

use rustix::fs::{Mode, OFlags, open};

use crate::backend::{Io, NotStarted, Probe, Running};
use crate::end::End;
use crate::spec::Layers;

/// Runs a trial that leaves with 0 to its end, and says what stood around it.
async fn prove(waits: bool, start: impl AsyncFnOnce(Io) -> Result<Box<dyn Running>, NotStarted>) -> Probe {
    let unusable = |layers, why: String| Probe { usable: false, layers, why_not: Some(why) };
    let ran = async {
        let nothing = || open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let nothing = || nothing().map_err(|e| NotStarted::fault("opening /dev/null", e));
        let task = if waits { Some((nothing()?, nothing()?)) } else { None };
        let mut running = start(Io { stdin: nothing()?, stdout: nothing()?, stderr: nothing()?, task }).await?;
        let end = running.end().await;
        Ok::<_, NotStarted>((running.layers().clone(), end))
    };
    match ran.await {
        Ok((layers, End { exit: Some(0), .. })) => Probe { usable: true, layers, why_not: None },
        Ok((layers, end)) => unusable(layers, format!("a program that leaves with 0 ended otherwise: {end:?}")),
        Err(why) => unusable(Layers::new(), why.to_string()),
    }
}
