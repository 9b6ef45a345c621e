//! The backend of last resort, used only where the manifest names it: bounds, the system call filter, a process group.
//! It hides no file of the host from a program, and is for programs that one would run without a jail as well.

use std::sync::Arc;

use super::backend::Backend;
use super::ground::Ground;
use super::interpreter::Interpreter;
use super::native::Native;
use super::spec::Settings;

/// A backend over one interpreter.
pub(super) fn make(settings: &Settings, interpreter: &Arc<Interpreter>) -> Arc<dyn Backend> {
    Arc::new(Native::on("rlimits", vec![Ground::Bounded], settings, interpreter))
}
