//! A reviewer's program: it gets the action on its standard input and answers on its standard output, behind the walls of a jail.

use tokio_util::sync::CancellationToken;

use super::Sandbox;
use super::programs::{Bounds, Status};
use crate::manifest::Reviewer;

/// A verdict is a line; a reviewer that prints more than this has lost itself.
const OUTPUT: u64 = 16 << 10;

impl Sandbox {
    /// Runs a reviewer's program with `input` on its standard input and gives what it printed.
    /// # Errors  Why there is nothing that could be read as a verdict.
    pub async fn review(&self, reviewer: &Reviewer, input: &str) -> Result<String, String> {
        // Dropped with the call: whoever does not wait any more ends the reviewer.
        let stop = CancellationToken::new();
        let _guard = stop.clone().drop_guard();
        let bounds = Bounds { wall: reviewer.timeout, output: OUTPUT };
        let outcome = self.reviewers.run(&reviewer.command, input.as_bytes(), bounds, &stop).await.map_err(|no_run| no_run.to_string())?;
        match (outcome.status, outcome.exit_code) {
            (Status::Ok, Some(0)) => Ok(outcome.stdout),
            (status, exit) => {
                let why = outcome.evidence.unwrap_or_else(|| outcome.stderr.lines().last().unwrap_or_default().to_owned());
                Err(format!("it ended as {status:?} ({}): {why}", exit.map_or("by a signal".to_owned(), |code| code.to_string())))
            }
        }
    }
}
