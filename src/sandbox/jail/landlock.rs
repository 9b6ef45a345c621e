//! The backend for machines that withhold namespaces or mounts, as container profiles do: Landlock, the system call filter and a process group.

use std::sync::Arc;

use super::backend::Backend;
use super::ground::Ground;
use super::interpreter::Interpreter;
use super::native::Native;
use super::spec::Settings;

/// A backend over one interpreter.
pub(super) fn make(settings: &Settings, interpreter: &Arc<Interpreter>) -> Arc<dyn Backend> {
    Arc::new(Native::on("landlock", vec![Ground::Bare], settings, interpreter))
}
