//! What shows on standard error that a long command is at work.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::run::Globals;

/// A sign that turns, with the time that has passed, until it is dropped. Nothing where standard error is no terminal, or with `-q`.
pub(super) fn spinner(what: &'static str, globals: &Globals) -> ProgressBar {
    if globals.quiet {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::new_spinner().with_style(style).with_message(what);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
