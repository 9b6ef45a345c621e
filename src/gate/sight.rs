//! What a grant compares: a target's name, its object, and its root.

use super::opened::Opened;
use crate::model::{Identity, Target};

/// Device, inode, and the times of the last change of content and inode, as texts: JSON numbers are not that long.
pub(super) type Object = Option<(u64, u64, String, String)>;

/// One target of a call as it was seen: its name, its object, and the object of its root.
#[derive(Debug, Clone)]
pub struct Sight {
    pub(super) name: String,
    pub(super) object: Object,
    /// Device and inode of the root's folder. None where it cannot be told; then no wide grant fits.
    pub(super) root: Option<(u64, u64)>,
}

impl Sight {
    /// What was opened, as a grant compares it.
    pub fn of(opened: &Opened) -> Self {
        let root = rustix::fs::fstat(&opened.root).ok().map(|stat| (stat.st_dev, stat.st_ino));
        let target = Target { root: opened.target.root.clone(), path: opened.path().clone() };
        Self::new(target.to_string(), opened.fact.identity, root)
    }

    pub(super) fn new(name: String, identity: Option<Identity>, root: Option<(u64, u64)>) -> Self {
        Self { name, object: object(identity.as_ref()), root }
    }
}

fn object(identity: Option<&Identity>) -> Object {
    identity.map(|identity| (identity.device, identity.inode, identity.mtime_ns.to_string(), identity.ctime_ns.to_string()))
}
