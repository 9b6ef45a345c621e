//! A place in a root as it was opened before the judgement: what was judged is what is acted on.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::model::{Facts, Link, PathFact, RelPath, Target};

/// What was seen of the world for one call, without any effect.
#[derive(Debug)]
pub struct Seen {
    /// What the action touches, in the order of its touches.
    pub opened: Vec<Opened>,
    /// The same as the judge reads it, and the addresses of a URL.
    pub facts: Facts,
}

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
