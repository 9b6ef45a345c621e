//! A reviewer's program: it gets the action on its standard input and answers on its standard output, behind the walls of a jail.

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::Sandbox;
use super::programs::{Bounds, Status};
use crate::gate::Reviewers;
use crate::manifest::Reviewer;

/// A verdict is a line; a reviewer that prints more than this has lost itself.
const OUTPUT: u64 = 16 << 10;

impl Reviewers for Sandbox {
    fn run<'a>(&'a self, reviewer: &'a Reviewer, command: &'a [String], input: &'a str) -> BoxFuture<'a, Result<String, String>> {
        async move {
            // Dropped with the call: whoever does not wait any more ends the reviewer.
            let stop = CancellationToken::new();
            let _guard = stop.clone().drop_guard();
            let bounds = Bounds { wall: reviewer.timeout, output: OUTPUT };
            let outcome = self.reviewers.run(command, input.as_bytes(), bounds, &stop).await.map_err(|no_run| no_run.to_string())?;
            match (outcome.status, outcome.exit_code) {
                (Status::Ok, Some(0)) => Ok(outcome.stdout),
                (status, exit) => {
                    let why = outcome.evidence.unwrap_or_else(|| outcome.stderr.lines().last().unwrap_or_default().to_owned());
                    Err(format!("it ended as {status:?} ({}): {why}", exit.map_or("by a signal".to_owned(), |code| code.to_string())))
                }
            }
        }
        .boxed()
    }
}
