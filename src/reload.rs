//! Floor 6: the manifest is looked at before every call, and by the server now and then; a valid change of it is in force at once, and told.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, json};
use tokio::sync::watch;

use crate::audit::{Event, Record};
use crate::context::ServerContext;
use crate::manifest::Manifest;
use crate::sandbox::files::RootConfig;

/// Where the manifest comes from, as the command line chose it.
pub trait Source: fmt::Debug + Send + Sync {
    /// What became of the manifest since it was last asked. `in_force`: the digest of the one in force.
    fn look(&self, in_force: &[u8; 32]) -> Look;

    /// Its name for records.
    fn name(&self) -> String;
}

/// What became of a manifest.
#[derive(Debug)]
pub enum Look {
    /// Nothing.
    Same,
    /// It was written a moment ago, and perhaps not to its end.
    Unsettled,
    /// It is another one, valid, and may be used.
    Changed(Box<Offer>),
    /// It cannot be used, or not yet.
    Refused(String),
}

/// A new manifest with its places on this machine.
#[derive(Debug)]
pub struct Offer {
    /// The manifest, its roots placed.
    pub manifest: Manifest,
    /// Where its roots are.
    pub places: Vec<RootConfig>,
    /// What no call may touch, by canonical paths.
    pub guarded: Vec<PathBuf>,
}

/// The manifest's source, and who is told of a change.
#[derive(Debug)]
pub struct Reload {
    source: Option<Box<dyn Source>>,
    /// Held from the look to the taking: no call is judged by the old manifest once the new one was seen.
    turn: Mutex<()>,
    changes: watch::Sender<u64>,
}

impl Default for Reload {
    fn default() -> Self {
        Self { source: None, turn: Mutex::default(), changes: watch::Sender::new(0) }
    }
}

/// How long a manifest that is being written is waited for, all in all and at a time.
const SETTLING: Duration = Duration::from_secs(2);
const MOMENT: Duration = Duration::from_millis(10);

impl Reload {
    /// A manifest that may change.
    pub fn of(source: Box<dyn Source>) -> Self {
        Self { source: Some(source), ..Self::default() }
    }

    /// Told after every change of what is in force.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Looks whether the manifest changed, and takes what may be taken. Costs one look at a file where it did not.
    pub async fn refresh(&self, server: &ServerContext) {
        let Some(source) = self.source.as_deref() else { return };
        let settled = async {
            while !self.take(source, server) {
                tokio::time::sleep(MOMENT).await;
            }
        };
        if tokio::time::timeout(SETTLING, settled).await.is_err() {
            tracing::warn!("the manifest file changes too often to be read; the former one stays in force until the file rests");
        }
    }

    /// Whether the manifest was settled.
    fn take(&self, source: &dyn Source, server: &ServerContext) -> bool {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match source.look(&server.gate().manifest().sha256) {
            Look::Unsettled => return false,
            Look::Same => {}
            Look::Refused(why) => refuse(source, server, &why),
            Look::Changed(offer) => self.put(source, server, *offer),
        }
        true
    }

    fn put(&self, source: &dyn Source, server: &ServerContext, Offer { manifest, places, guarded }: Offer) {
        // New roots are open before the manifest that names them is in force.
        if let Err((path, errno)) = server.sandbox().roots.replace(&places, &guarded) {
            return refuse(source, server, &format!("`{}` cannot be opened: {errno}", path.display()));
        }
        server.gate().put(manifest);
        tracing::warn!("the manifest changed; the new one is in force");
        server.manifest_loaded(&source.name());
        self.changes.send_modify(|n| *n += 1);
    }
}

fn refuse(source: &dyn Source, server: &ServerContext, why: &str) {
    tracing::error!("the manifest changed and is not used; the former one stays in force: {}", crate::filter::escape(why));
    // The record is for a person who looks later; the whole is on standard error.
    let short: String = why.chars().take(1000).collect();
    let sha256 = server.gate().for_call().manifest_sha256().to_owned();
    let mut record = Record::new(Event::ManifestRefused);
    record.manifest_sha256 = Some(&sha256);
    record.extra = Map::from_iter([("from".to_owned(), json!(source.name())), ("why".to_owned(), json!(short))]);
    server.record(&record);
}
