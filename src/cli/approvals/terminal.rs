//! Asks for a secret: from a terminal without echo, else the first line of standard input, so that scripts can give one.

#![expect(clippy::disallowed_methods, reason = "stty(1) is the terminal's own way to stop its echo")]

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{Command, Stdio};

/// The secret, or nothing when none was given.
/// # Errors  When it cannot be read.
pub(in crate::cli) fn secret(prompt: &str) -> io::Result<Option<String>> {
    let stdin = io::stdin();
    let quiet = stdin.is_terminal().then(|| {
        let _ = write!(io::stderr(), "{prompt}");
        let _ = io::stderr().flush();
        Quiet::begin()
    });
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    if quiet.is_some() {
        let _ = writeln!(io::stderr());
    }
    drop(quiet);
    let secret = line.trim_end_matches(['\r', '\n']);
    Ok((!secret.is_empty()).then(|| secret.to_owned()))
}

/// A terminal without echo, until dropped.
pub(super) struct Quiet;

impl Quiet {
    pub(super) fn begin() -> Self {
        echo("-echo");
        Self
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        echo("echo");
    }
}

fn echo(how: &str) {
    // A terminal that keeps its echo shows the secret to whoever typed it.
    let _ = Command::new("stty").arg(how).stdin(Stdio::inherit()).stderr(Stdio::null()).status();
}
