//! Floor 4: the only code that touches disk, network and processes on behalf of a call.

mod below;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub mod databases;
pub mod files;
#[cfg(feature = "mail")]
pub mod mail;
pub mod pages;
mod pool;
mod printed;
pub mod processes;
pub mod programs;
mod review;
mod stage;
mod view;
pub mod web;

pub use stage::{Progress, Stage};

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::gate::{Opened, Preview};
use crate::manifest::{Manifest, NetworkRules, Symlinks};
use crate::model::{Access, Action, Bytes, Code, Failure, HttpUrl, Target};
use crate::policy::request::Method;
use files::Roots;
use pages::Readers;
use programs::Runner;
use web::{Denied, Egress, EgressRequest, Overflow};

/// Contents of this many bytes together are read faster than a thread for them begins.
const SMALL: u64 = 256 * 1024;

/// The largest document the server reads for itself, and the time it has for it.
const DOCUMENT: Bytes = Bytes::kib(256);
const DOCUMENT_TIME: Duration = Duration::from_secs(10);

/// The world as tools may reach it, each part behind verbs that ask for a permit.
#[derive(Debug)]
pub struct Sandbox {
    /// The files, whose verbs each spend a permit.
    pub roots: Arc<Roots>,
    /// The web.
    pub egress: Arc<Egress>,
    /// Programs of models.
    pub python: Runner,
    reviewers: programs::Commands,
    /// Readers of pages and PDF files.
    pub readers: Readers,
}

impl Sandbox {
    /// A sandbox of opened roots, a way out, and a jail that is looked for when it is wanted.
    pub fn new(roots: Roots, egress: Egress, jail: programs::Settings) -> Self {
        let roots = Arc::new(roots);
        let egress = Arc::new(egress);
        let readers = Readers::new(Arc::clone(&jail.client));
        let reviewers = programs::Commands::new(&jail);
        Self { reviewers, python: Runner::new(jail, Arc::clone(&roots), Arc::clone(&egress)), roots, egress, readers }
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

    /// What a person is shown of a change before they are asked, and what their answer is bound to: every content is read whole within the time
    /// of a call, and large ones on a thread of their own.
    pub async fn preview(&self, action: &Action, opened: &[Opened], manifest: &Arc<Manifest>, timeout: Duration) -> Preview {
        let cancel = CancellationToken::new();
        let is_small = opened.iter().fold(0, |sum: u64, opened| sum.saturating_add(opened.fact.size)) <= SMALL;
        if is_small && opened.iter().all(|opened| opened.fact.below.is_empty()) {
            // One that has become large since is not read here.
            return files::preview(&self.roots, action, opened, &files::Stop::new(cancel, Duration::ZERO), manifest);
        }
        let stop = files::Stop::new(cancel.clone(), timeout);
        let (roots, action, opened, manifest) = (Arc::clone(&self.roots), action.clone(), opened.to_vec(), Arc::clone(manifest));
        // Ended with the call, where that ends first.
        let _ended = cancel.drop_guard();
        let look = move || files::preview(&roots, &action, &opened, &stop, &manifest);
        tokio::task::spawn_blocking(look).await.unwrap_or_else(|fault| {
            tracing::error!(%fault, "a preview could not be made");
            Preview { doomed: Some(Failure::new(Code::Internal, "the content could not be looked at")), ..Preview::default() }
        })
    }

    /// Reads a document for the server itself: the address stands in the manifest, no call names it. Small, over https, without redirects, from
    /// a public address or one that `internal` opens.
    /// # Errors  What the network's rules or the world said no with.
    pub async fn fetch_document(&self, url: &HttpUrl, network: &NetworkRules) -> Result<Vec<u8>, Denied> {
        let rules = web::of_named_host(network, url);
        let request = EgressRequest {
            principal: String::new(),
            url: url.clone(),
            method: Method::Get,
            headers: Vec::new(),
            body: None,
            pinned: Vec::new(),
            rules: Arc::new(rules),
            deadline: tokio::time::Instant::now() + DOCUMENT_TIME,
            max_response: DOCUMENT,
            overflow: Overflow::Refuse,
            hosts: None,
            upload: Bytes(0),
            sent: None,
        };
        let page = self.egress.fetch(request, &CancellationToken::new()).await?;
        if page.status != 200 {
            return Err(Failure::new(Code::FetchFailed, format!("the answer was {}", page.status)).into());
        }
        Ok(page.body)
    }

    /// The wall for want of which `check = "imports"` acts as `strict` here, in words. The jail is looked for where the manifest does not
    /// require the walls by itself.
    pub async fn lacking_wall(&self, manifest: &crate::manifest::Manifest) -> Option<String> {
        self.python.lacking_wall(&manifest.python).await
    }

    /// Gets ready for a first request to the web, in the background.
    pub fn prepare_fetch(&self) {
        let egress = Arc::clone(&self.egress);
        // The certificates of the machine are read from its disk.
        tokio::task::spawn_blocking(move || egress.prepare());
    }

    /// Ends everything that is kept running between calls: nothing outlives the server.
    pub async fn close(&self) {
        self.python.close().await;
        self.reviewers.close().await;
        self.readers.close().await;
    }

    /// Kills everything that is kept running between calls, and readers also with the page they have; a later call begins anew.
    pub async fn stop(&self) {
        tokio::join!(self.readers.stop(), self.python.close(), self.reviewers.close());
    }

    /// Wipes what hangs on a session.
    pub fn end_session(&self, session: &str) {
        self.roots.end_session(session);
    }
}
