//! Which readers see a file as it is: masks stand in what the tools show, and no mask stands before a program.

use super::capability::python_roots;
use crate::manifest::Manifest;
use crate::model::{Flag, Flags};

/// Whether a program of some profile would see what lies in one root, and does not see what lies in the other: a copy from the second into the
/// first would show it what masks hide.
pub fn shows_more(manifest: &Manifest, from: &str, to: &str) -> bool {
    manifest.profiles.iter().any(|(name, rules)| {
        let roots = python_roots(manifest, name);
        let sees = |root: &str| roots.iter().any(|(name, _)| *name == root);
        rules.permissions.contains(Flags::of(&[Flag::ExecuteCode])) && sees(to) && !sees(from)
    })
}
