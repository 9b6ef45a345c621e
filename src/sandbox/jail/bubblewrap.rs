//! The backend that has `bwrap` make the namespaces and the root, for machines where it may and our own program may not
//! (a profile of `AppArmor` that names it). Our own walls, bounds and clocks stand inside.

use std::path::Path;
use std::sync::Arc;

use super::backend::Backend;
use super::ground::Ground;
use super::interpreter::Interpreter;
use super::native::Native;
use super::spec::Settings;

/// A backend over one interpreter.
pub(super) fn make(settings: &Settings, interpreter: &Arc<Interpreter>) -> Arc<dyn Backend> {
    let found = PLACES.iter().find(|place| Path::new(place).is_file()).copied();
    // Where it is nowhere, starting it at its usual place says so.
    let program = found.unwrap_or("/usr/bin/bwrap").to_owned();
    Arc::new(Native::on("bubblewrap", vec![Ground::Wrapped(program)], settings, interpreter))
}

/// Not the search path: what is run here decides what a program may reach.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
