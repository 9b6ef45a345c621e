//! What stands around a session for as long as it lives: a call that would be held by other walls does not go on in it.

use std::time::Duration;

use super::kind::Plan;
use super::native::Native;
use super::spec::{JailRoot, JailSpec, Mask};
use crate::sandbox::below;

/// A masked entry of a root: its name, and which object it was.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Masked {
    root: String,
    path: String,
    object: Option<(u64, u64)>,
}

/// What a session is built with: a manifest that says something else by now is not held by it.
#[derive(Debug)]
pub(super) struct Walls {
    plan: Plan,
    /// Which folders its roots are.
    roots: Vec<Option<(u64, u64)>>,
}

impl Walls {
    /// Those that a call asks for.
    pub(super) fn of(native: &Native, spec: &JailSpec) -> Self {
        let object = |root: &JailRoot| rustix::fs::fstat(&root.dir).ok().map(|facts| (facts.st_dev, facts.st_ino));
        let mut plan = native.plan(spec);
        // What is left of an hour's budget differs from call to call.
        plan.limits.cpu = Duration::ZERO;
        Self { plan, roots: spec.roots.iter().map(object).collect() }
    }

    pub(super) fn are(&self, asked: &Self) -> bool {
        self.plan == asked.plan && self.roots == asked.roots && self.roots.iter().all(Option::is_some)
    }
}

/// Looks at what is to be masked now.
pub(super) fn masked(spec: &JailSpec) -> Vec<Masked> {
    let look = |root: &JailRoot, mask: &Mask| {
        let found = below::look(&root.dir, &mask.path).ok();
        Masked { root: root.name.clone(), path: mask.path.clone(), object: found.as_ref().map(below::object) }
    };
    let mut all: Vec<Masked> = spec.roots.iter().flat_map(|root| root.masked.iter().map(move |mask| look(root, mask))).collect();
    all.sort_by(|a, b| (&a.root, &a.path).cmp(&(&b.root, &b.path)));
    all
}
