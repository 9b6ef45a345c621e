//! Where hostile pages, feeds and PDF files are read: each in a process of its own that has no files, no network and little memory, that has
//! seen no other page, and that is killed when it takes too long. What breaks a parser costs that page alone.

mod host;
mod nursery;
mod walls;
mod wire;
mod worker;

use std::process::ExitCode;

pub use host::{Readers, Settings};
pub use wire::{Job, Source};

/// The hidden first argument that makes our program a nursery of readers.
const READER_ARGUMENT: &str = "__reader";

/// Becomes a nursery of readers, or one of its readers, when the first argument asks for it, and returns only when that is over.
///
/// Call it before a second thread exists: the nursery forks. `None` means that this is an ordinary start.
#[must_use]
pub fn enter_if_asked() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1)?;
    (first == READER_ARGUMENT).then(nursery::serve)
}
