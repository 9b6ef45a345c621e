//! Where hostile pages, feeds and PDF files are read: in a process of its own that has no files, no network and little memory, and that is
//! killed when it takes too long. What breaks a parser costs that page alone.

mod host;
mod walls;
mod wire;
mod worker;

pub use host::{Readers, Settings};
pub use wire::{Job, Source};
pub use worker::enter_if_asked;
