//! A note on the desktop that a question waits, where notify-send(1) is.

#![expect(clippy::disallowed_methods, reason = "notify-send(1) is the way of a desktop to show a note")]

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The program of this machine that shows notes, if there is one.
pub(super) fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join("notify-send")).find(|file| file.is_file())
}

/// Shows a note, and does not wait for it. One that cannot be shown is left out: the terminal shows the question.
pub(super) fn show(program: &std::path::Path, title: &str, body: &str) {
    let mut command = Command::new(program);
    command.args(["--app-name=toolgate", "--", title, &plain_body(body)]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        std::thread::spawn(move || child.wait());
    }
}

/// The body of a note is markup: what would be read as such is written out.
fn plain_body(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_note_is_markup() {
        assert_eq!(plain_body("Change <b>a</b> & b"), "Change &lt;b&gt;a&lt;/b&gt; &amp; b");
    }
}
