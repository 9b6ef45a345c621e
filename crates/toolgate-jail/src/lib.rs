//! Runs a program behind walls, and says how it ended.
//!
//! A [`Spec`] names the program, what it sees and how much it may use; a [`Backend`] starts it, or hands its input to one that waits, and the
//! [`Running`] program comes to an [`End`].

mod backend;
mod backends;
mod client;
mod diagnostics;
mod end;
mod init;
mod layers;
mod message;
mod program;
mod raw;
mod reasons;
mod spawner;
mod spec;

pub use backend::{Backend, Io, NotStarted, Probe, Running};
pub use backends::{Bubblewrap, Container, ContainerSettings, Landlock, Native};
pub use client::{Client, enter_if_asked};
pub use end::{End, Limit, Usage};
pub use program::waiting::wait_for_call;
pub use spec::{Cover, Folder, GATEWAY_PORT, Layer, Layers, Limits, Spec};
