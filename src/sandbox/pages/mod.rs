//! Where hostile pages, feeds and PDF files are read: each by a process of its own in a jail, that has no network and little memory, that has seen no
//! other page, and that is killed when it takes too long. What breaks a parser costs that page alone.

mod reader;
mod readers;
mod spec;
mod wire;

pub use reader::enter_if_asked;
pub use readers::Readers;
pub use wire::{Job, Source};

/// The hidden first argument that makes our program a reader. With a second argument it is tried whether a reader can run at all.
const READER_ARGUMENT: &str = "__reader";
