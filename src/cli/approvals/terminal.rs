//! Asks for a secret: from a terminal without echo, else the next line of the input, so that scripts can give one.

use std::io::{self, BufRead, IsTerminal};

/// The secret, or nothing when none was given.
/// # Errors  When it cannot be read.
pub(super) fn secret(prompt: &str, input: &mut dyn BufRead) -> io::Result<Option<String>> {
    let secret = if io::stdin().is_terminal() {
        rpassword::prompt_password(prompt)?
    } else {
        let mut line = String::new();
        input.read_line(&mut line)?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    Ok((!secret.is_empty()).then_some(secret))
}
