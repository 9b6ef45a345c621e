//! What is seen of a change before it is asked about.

use crate::model::{Failure, Target};

/// What the object looks like now and would look like then, as far as it can be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Digest of the present content of each target (64 hex digits), where it is a file that can be read, and after those of each of `arriving`.
    pub contents: Vec<Option<String>>,
    /// The present content of the first target, where it is text and not too long to be shown.
    pub before: Option<String>,
    /// The content after the change, where it is text.
    pub after: Option<String>,
    /// The texts of each target, in order, for an action that changes several files; none for one that is too long to be shown.
    pub files: Vec<Option<Texts>>,
    /// What is copied or moved to where it runs later: the file itself, or those of a folder, in the order of their paths.
    pub arriving: Vec<Arriving>,
    /// How the call will fail, where that can be told already.
    pub doomed: Option<Failure>,
}

/// A file that will stand where it runs later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arriving {
    /// Its new place.
    pub target: Target,
    /// Its content, where it is text and not too long to be shown; of a file below a folder that is moved.
    pub text: Option<String>,
}

/// A text before and after a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// The present content.
    pub before: String,
    /// The content after the change.
    pub after: String,
}
