//! What a program of ours does that waits for its call ([`crate::Spec::waits`]).

use std::io::Result;

use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};

use super::INPUT;
use crate::{message, raw};

/// Waits for the call, puts what it brings at standard input, output and error, and closes every other descriptor, the task and the report among them.
/// False: no call will come. Nothing else of the process may have a descriptor open.
///
/// # Errors
/// This process was not started as a program that waits.
pub fn wait_for_call() -> Result<bool> {
    // Only a standard descriptor can be named safely.
    raw::place(INPUT, 0)?;
    let (_, fds) = message::receive_bytes(stdin())?;
    let [input, output, errors, ..] = fds.as_slice() else { return Ok(false) };
    dup2_stdin(input)?;
    dup2_stdout(output)?;
    dup2_stderr(errors)?;
    drop(fds);
    raw::close_from(3, [])?;
    Ok(true)
}
