//! Runs a program behind walls, and says how it ended.
//!
//! A [`Spec`] names the program, what it sees and how much it may use; a [`Backend`] starts it, or hands its input to one that waits, and the
//! [`Running`] program comes to an [`End`].

mod backend;
mod backends;
mod client;
mod end;
mod init;
mod layers;
mod mend;
mod message;
mod program;
mod raw;
mod reasons;
mod spawner;
mod spec;

pub use backend::{Backend, Io, NotStarted, Probe, Running};
pub use backends::{Bubblewrap, Landlock, Native};
pub use client::{Client, enter_if_asked};
pub use end::{End, Limit, Usage};
pub use program::waiting::wait_for_call;
pub use spec::{Cover, Folder, GATEWAY_PORT, Layer, Layers, Limits, Spec};

/// What the readers of pages still build their own walls from.
#[doc(hidden)]
pub mod primitives {
    use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

    pub use nix::sys::signalfd::SignalFd;

    /// See [`crate::message::channel`].
    ///
    /// # Errors
    /// The error of the system.
    pub fn channel() -> std::io::Result<(OwnedFd, OwnedFd)> {
        crate::message::channel()
    }

    /// Sends descriptors.
    ///
    /// # Errors
    /// The error of the system.
    pub fn send(socket: BorrowedFd<'_>, fds: &[BorrowedFd<'_>]) -> std::io::Result<()> {
        crate::message::send(socket, &(), fds)
    }

    /// Receives descriptors; none when the peer has closed.
    ///
    /// # Errors
    /// The error of the system.
    pub fn receive(socket: BorrowedFd<'_>) -> std::io::Result<Option<Vec<OwnedFd>>> {
        Ok(crate::message::receive::<()>(socket)?.map(|((), fds)| fds))
    }

    /// Gives up every capability, and the way to any, for good.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub fn give_up_privileges() -> Result<(), String> {
        crate::program::limits::drop_bounding_set()?;
        crate::program::limits::drop_capabilities()
    }

    /// Forks a process of one thread. `None` in the child.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub fn fork_alone() -> Result<Option<rustix::process::Pid>, String> {
        crate::raw::fork()
    }

    /// Puts `fd` at the number `at`.
    ///
    /// # Errors
    /// The error number.
    pub fn place(fd: RawFd, at: RawFd) -> Result<(), nix::Error> {
        crate::raw::place(fd, at)
    }

    /// Closes every descriptor from a number on.
    ///
    /// # Errors
    /// The error number.
    pub fn close_from(first: u32) -> Result<(), nix::Error> {
        crate::raw::close_from(first, [])
    }

    /// Where the ends of children are heard of.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub fn hear_children() -> Result<SignalFd, String> {
        crate::init::listen().map_err(|why| why.to_string())
    }
}
