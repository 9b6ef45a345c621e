//! What is seen of a change before it is asked about.

use crate::model::Failure;

/// What the object looks like now and would look like then, as far as it can be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Digest of the present content of each target (64 hex digits), where it is a file that can be read.
    pub contents: Vec<Option<String>>,
    /// The present content of the first target, where it is text and not too long to be shown.
    pub before: Option<String>,
    /// The content after the change, where it is text.
    pub after: Option<String>,
    /// The texts of each target, in order, for an action that changes several files; none for one that is too long to be shown.
    pub files: Vec<Option<Texts>>,
    /// How the call will fail, where that can be told already.
    pub doomed: Option<Failure>,
}

/// A text before and after a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// The present content.
    pub before: String,
    /// The content after the change.
    pub after: String,
}
