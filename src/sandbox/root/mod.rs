//! Files: roots held as directory handles, and everything below them reached through descriptors, never through a path
//! that was judged before.

mod pattern;

pub use pattern::{Pattern, line_matcher};
