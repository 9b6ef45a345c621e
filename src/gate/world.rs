//! What the gate needs of the machine while it decides on one call. The pipeline implements it over the sandbox; the gate alone calls it.

use std::time::Duration;

use futures::future::BoxFuture;

use super::opened::Seen;
use super::preview::Preview;
use crate::manifest::Reviewer;
use crate::model::{Action, Failure};
use crate::policy::Screened;

/// The machine as one call may look at it.
pub(crate) trait World: Sync {
    /// Looks at what an action touches, without any effect, when no earlier call changes the same any more.
    /// # Errors  What cannot be opened or resolved; `cancelled`.
    fn look<'a>(&'a self, action: &'a Action, screened: &'a Screened) -> BoxFuture<'a, Result<Seen, Failure>>;

    /// What a person is shown of the action, without any effect; read within `timeout`.
    fn preview<'a>(&'a self, action: &'a Action, seen: &'a Seen, timeout: Duration) -> BoxFuture<'a, Preview>;

    /// Runs a reviewer's program with `input` on its standard input and gives what it printed.
    /// # Errors  Why there is nothing that could be read as a verdict.
    fn review<'a>(&'a self, reviewer: &'a Reviewer, input: &'a str) -> BoxFuture<'a, Result<String, String>>;
}
