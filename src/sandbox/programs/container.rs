//! Python in a container: the image brings the interpreter, and nothing of the host's is shown.

use std::sync::Arc;

use toolgate_jail::{Backend, Container, ContainerSettings, Probe, Spec};

use super::interpreter::Interpreter;
use super::outcome::NoRun;
use super::spec::Settings;
use crate::manifest::Python;

/// The name in `[python] backend` and in answers.
pub const CONTAINER: &str = "container";

/// What a manifest says of its containers. An engine that hangs is named within the time of a call.
pub fn container_settings(python: &Python) -> Option<ContainerSettings> {
    python.container.as_ref().map(|container| ContainerSettings {
        engine: container.engine.clone(),
        image: container.image.clone(),
        runtime: container.runtime.clone(),
        patience: python.timeout / 2,
    })
}

/// What the containers of a server can hold here, found by running a program in one.
pub async fn probe_container(settings: ContainerSettings) -> Probe {
    let (backend, _) = made(settings);
    let probe = backend.probe().await;
    backend.close().await;
    probe
}

/// The backend with the interpreter of its image.
fn made(settings: ContainerSettings) -> (Arc<dyn Backend>, Interpreter) {
    let interpreter = Interpreter::of_image();
    let code = "import sys; sys.exit(not sys.stdin.readline())";
    let arguments = ["python3", "-ISB", "-c", code].map(str::to_owned).to_vec();
    let trial = Spec { arguments, waits: true, ..interpreter.trial() };
    (Arc::new(Container::new(settings, trial)), interpreter)
}

/// The backend, its interpreter, and what it can hold here.
///
/// # Errors
/// [`NoRun::Unavailable`] where no program runs in a container.
pub(super) async fn find(settings: &Settings) -> Result<(Arc<dyn Backend>, Interpreter, Probe), NoRun> {
    let unavailable = |why: String| NoRun::Unavailable { layer: "backend".to_owned(), reason: format!("{CONTAINER}: {why}") };
    let container = settings.container.clone().ok_or_else(|| unavailable("there is no `[python.container]`".to_owned()))?;
    let (backend, interpreter) = made(container);
    let mut probe = backend.probe().await;
    match probe.why_not.take() {
        None => Ok((backend, interpreter, probe)),
        Some(why) => {
            backend.close().await;
            Err(unavailable(why))
        }
    }
}
