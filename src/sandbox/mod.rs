//! Floor 4: the only code that touches disk, network and processes on behalf of a call.

pub mod egress;
pub mod jail;
mod python;
pub mod reading;
pub mod root;
mod view;

use std::net::IpAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::gate::{Permit, Preview};
use crate::manifest::Symlinks;
use crate::model::{Access, Action, Failure, Fetch, HttpUrl, Opened, RunPython, Stage, Target};
use egress::{Egress, Page};
use jail::Outcome;
use python::Room;
use root::Roots;

/// The world as tools may reach it, each part behind verbs that ask for a permit.
#[derive(Debug)]
pub struct Sandbox {
    /// The files, whose verbs each spend a permit.
    pub roots: Arc<Roots>,
    egress: Arc<Egress>,
    python: Room,
}

impl Sandbox {
    /// A sandbox of opened roots, a way out, and a jail that is looked for when the first program comes.
    pub fn new(roots: Roots, egress: Egress, jail: jail::Settings) -> Self {
        let roots = Arc::new(roots);
        let egress = Arc::new(egress);
        Self { python: Room::new(jail, Arc::clone(&roots), Arc::clone(&egress)), roots, egress }
    }

    /// Looks at each target without any effect, and holds what it looked at.
    /// # Errors  When the folder of a session cannot be made, or the look itself fails.
    pub fn look(&self, session: &str, targets: &[Target], accesses: &[Access], symlinks: Symlinks) -> Result<Vec<Opened>, Failure> {
        self.roots.look(session, targets, accesses, symlinks)
    }

    /// The addresses of a URL's host.
    /// # Errors  `fetch_failed`, `timeout`: the name does not resolve.
    pub async fn resolve(&self, url: &HttpUrl) -> Result<Vec<IpAddr>, Failure> {
        self.egress.resolve(url).await
    }

    /// What a person is shown of a change before they are asked.
    pub fn preview(&self, action: &Action, opened: &[Opened]) -> Preview {
        root::preview::preview(action, opened)
    }

    /// Fetches what the permit names.
    /// # Errors  What the web said no with, or a hop that may not be gone to.
    pub async fn fetch(&self, permit: Permit<Fetch>, cancel: &CancellationToken) -> Result<Page, Failure> {
        self.egress.spend(permit, cancel).await
    }

    /// Runs the program the permit names. When the answer is there, every process of it is dead.
    /// # Errors  `sandbox_unavailable`, `root_not_enforceable`, `session_unknown`, `internal`.
    pub async fn run_python(&self, permit: Permit<RunPython>, stage: &Stage) -> Result<Outcome, Failure> {
        self.python.run(permit, stage).await
    }

    /// Ends everything that is kept running between calls: nothing outlives the server.
    pub async fn close(&self) {
        self.python.close().await;
    }

    /// Wipes what hangs on a session.
    pub fn end_session(&self, session: &str) {
        self.roots.end_session(session);
    }
}
