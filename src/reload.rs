//! Floor 6: the manifest is looked at before every call, and by the server now and then; a change of it is taken as far as it is tighter,
//! told, and applied when the operator says so.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::audit::{Event, Record};
use crate::gate::{Taken, Waiting, hex};
use crate::house::House;
use crate::manifest::Manifest;
use crate::sandbox::root::Place;

/// Where the manifest comes from, as the command line chose it.
pub trait Source: fmt::Debug + Send + Sync {
    /// What became of the manifest since it was last asked.
    fn look(&self) -> Look;

    /// Whether the operator has applied what lies there now and has this digest.
    fn is_applied(&self, sha256: &[u8; 32]) -> bool;

    /// Tells the operator's commands what waits, or that nothing does any more.
    fn tell(&self, waiting: Option<&Waiting>);

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
    /// It is another one, and valid.
    Changed(Box<Offer>),
    /// It cannot be used.
    Faulty(String),
}

/// A new manifest with its places on this machine.
#[derive(Debug)]
pub struct Offer {
    /// The manifest, its roots placed.
    pub manifest: Manifest,
    /// Where its roots are.
    pub places: Vec<Place>,
    /// What no call may touch, by canonical paths.
    pub guarded: Vec<PathBuf>,
}

/// The manifest's source, what waits, and who is told of a change.
#[derive(Debug)]
pub struct Reload {
    source: Option<Box<dyn Source>>,
    /// Held from the look to the taking: no call is judged by the old manifest once the new one was seen. With the places and guarded paths of what waits.
    places: Mutex<(Vec<Place>, Vec<PathBuf>)>,
    changes: watch::Sender<u64>,
}

impl Default for Reload {
    fn default() -> Self {
        Self { source: None, places: Mutex::default(), changes: watch::Sender::new(0) }
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
    pub async fn refresh(&self, house: &House) {
        let Some(source) = self.source.as_deref() else { return };
        let settled = async {
            while !self.take(source, house) {
                tokio::time::sleep(MOMENT).await;
            }
        };
        if tokio::time::timeout(SETTLING, settled).await.is_err() {
            tracing::warn!("the manifest is written all the time; the one in force holds on");
        }
    }

    /// Whether the manifest was settled.
    fn take(&self, source: &dyn Source, house: &House) -> bool {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        match source.look() {
            Look::Unsettled => return false,
            Look::Same => {}
            Look::Faulty(why) => refuse(source, house, &why),
            Look::Changed(offer) => {
                *places = (offer.places, offer.guarded);
                let (new, guarded) = &*places;
                // What is tighter holds in any case, and before the manifest is in force.
                if let Err((path, errno)) = house.sandbox().roots.tighten(new, guarded) {
                    refuse(source, house, &format!("`{}` cannot be opened: {errno}", path.display()));
                    return true;
                }
                self.offer(source, house, offer.manifest, new, guarded);
            }
        }
        if let Some(waiting) = house.gate().waiting()
            && source.is_applied(&waiting.manifest.sha256)
        {
            self.apply(source, house, &waiting, &places);
        }
        true
    }

    fn offer(&self, source: &dyn Source, house: &House, new: Manifest, places: &[Place], guarded: &[PathBuf]) {
        match house.gate().offer(new) {
            Taken::Same => source.tell(None),
            Taken::InForce => {
                source.tell(None);
                if let Err((path, errno)) = house.sandbox().roots.replace(places, guarded) {
                    tracing::error!("`{}` cannot be opened ({errno}); the roots of the manifest before stay open", path.display());
                }
                tracing::warn!("the manifest changed; it is tighter and in force");
                house.manifest_loaded(&source.name());
                self.changes.send_modify(|n| *n += 1);
            }
            Taken::Waits { waiting, tightened } => {
                source.tell(Some(&waiting));
                let part = if tightened { "; what it tightens is in force" } else { "" };
                tracing::warn!(
                    "the manifest changed and would loosen {}{part}; it waits for `toolgate policy apply`",
                    waiting.looser.join("; ")
                );
                let facts = [
                    ("from", json!(source.name())),
                    ("waits", json!(hex(&waiting.manifest.sha256))),
                    ("looser", json!(waiting.looser)),
                    ("tightened", json!(tightened)),
                ];
                told(house, Event::ManifestLoaded, facts);
                if tightened {
                    self.changes.send_modify(|n| *n += 1);
                }
            }
        }
    }

    fn apply(&self, source: &dyn Source, house: &House, waiting: &Waiting, (places, guarded): &(Vec<Place>, Vec<PathBuf>)) {
        // New roots are open before the manifest that names them is in force.
        if let Err((path, errno)) = house.sandbox().roots.replace(places, guarded) {
            return refuse(source, house, &format!("the root `{}` cannot be opened: {errno}", path.display()));
        }
        if house.gate().apply(&waiting.manifest.sha256).is_some() {
            source.tell(None);
            tracing::warn!("the manifest that waited is in force, as the operator said");
            told(house, Event::ManifestLoosened, [("from", json!(source.name())), ("looser", json!(waiting.looser))]);
            self.changes.send_modify(|n| *n += 1);
        }
    }
}

fn refuse(source: &dyn Source, house: &House, why: &str) {
    tracing::error!("the manifest changed and cannot be used; the one in force holds on: {}", crate::filter::escape(why));
    // The record is for a person who looks later; the whole is on standard error.
    let short: String = why.chars().take(1000).collect();
    told(house, Event::ManifestRefused, [("from", json!(source.name())), ("why", json!(short))]);
}

fn told<const N: usize>(house: &House, event: Event, facts: [(&str, Value); N]) {
    let sha256 = house.gate().door().manifest_sha256().to_owned();
    let mut record = Record::new(event);
    record.manifest_sha256 = Some(&sha256);
    record.extra = Map::from_iter(facts.map(|(name, value)| (name.to_owned(), value)));
    house.record(&record);
}

/// The folder of the state folder where servers tell what waits, and the one where the operator's word lies.
pub const WAITING: &str = "waiting";
/// See [`WAITING`].
pub const APPLIED: &str = "applied";

/// The file of a manifest in one of these folders, by its canonical path.
pub fn note_of(manifest: &std::path::Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let digest: [u8; 32] = <sha2::Sha256 as sha2::Digest>::digest(manifest.as_os_str().as_bytes()).into();
    PathBuf::from(hex(&digest))
}
