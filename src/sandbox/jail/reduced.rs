//! The backend for machines that withhold namespaces or mounts, as container profiles do: each wall is built from what is left.

use std::sync::Arc;

use super::backend::Backend;
use super::ground::Ground;
use super::interpreter::Interpreter;
use super::native::Native;
use super::spec::Settings;

/// A backend over one interpreter: the strongest of its grounds that holds a program here is found out when it is probed.
pub(super) fn make(settings: &Settings, interpreter: &Arc<Interpreter>) -> Arc<dyn Backend> {
    let mut grounds = vec![Ground::Unmounted, Ground::Bare];
    if rustix::process::geteuid().is_root() {
        grounds.insert(0, Ground::Rooted);
    }
    Arc::new(Native::on("native-reduced", grounds, settings, interpreter))
}
