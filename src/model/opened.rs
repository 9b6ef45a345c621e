//! A place in a root as it was opened before the judgement: what was judged is what is acted on.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::{Link, PathFact, RelPath, Target};

/// One touched path with the descriptors that were held while it was judged.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Where it is, as answers speak of it.
    pub target: Target,
    /// What was seen there.
    pub fact: PathFact,
    /// The root's own folder.
    pub root: Arc<OwnedFd>,
    /// The folder that holds the last name, where it exists.
    pub folder: Option<Arc<OwnedFd>>,
    /// The object itself, opened for what the access needs, where it exists.
    pub object: Option<Arc<OwnedFd>>,
    /// Reads the folders above it, as they are by then. Few calls need them.
    pub ancestors: fn(&Self) -> Vec<Ancestor>,
}

/// A folder on the way from a root to what was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ancestor {
    /// Device and inode.
    pub object: (u64, u64),
    /// When its entries or its own name changed last, in milliseconds since 1970. Only the kernel sets it.
    pub changed: i128,
}

impl Ancestor {
    /// A folder that no grant knows: what stands for one that cannot be looked at.
    pub const UNKNOWN: Self = Self { object: (0, 0), changed: i128::MAX };

    /// A folder of this identity; the time of its last change in nanoseconds.
    pub const fn new(object: (u64, u64), ctime_ns: i128) -> Self {
        Self { object, changed: ctime_ns.div_euclid(1_000_000) }
    }
}

impl Opened {
    /// The path that was judged: the one asked for, or where a link led.
    pub const fn path(&self) -> &RelPath {
        match &self.fact.link {
            Link::Leads(path) => path,
            _ => &self.target.path,
        }
    }

    /// Where links on the way led, where some were followed.
    pub fn led_to(&self) -> Option<Target> {
        match &self.fact.link {
            Link::Leads(path) => Some(Target { root: self.target.root.clone(), path: path.clone() }),
            _ => None,
        }
    }
}
