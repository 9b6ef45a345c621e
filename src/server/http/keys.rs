//! The keys of token issuers (RFC 7517): read when first needed, read again when old, and never used past a hard end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use tokio::sync::Mutex;

/// Reads the document of a place: a URL or a file.
pub type Source = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Vec<u8>, String>> + Send + Sync>;

/// The keys that were read, by place.
pub(super) struct Keys {
    source: Source,
    known: Mutex<HashMap<String, Arc<Mutex<Known>>>>,
    clock: fn() -> Instant,
}

#[derive(Default)]
struct Known {
    keys: Vec<Jwk>,
    read: Option<Instant>,
    tried: Option<Instant>,
}

/// After this, keys are read again before they are used.
const FRESH: Duration = Duration::from_mins(10);
/// After this, keys that could not be read again are no longer used: a withdrawn key must not live on because its issuer cannot be reached.
const HARD_END: Duration = Duration::from_hours(1);
/// Between two readings of one place; an unknown key id must not make callers hammer the issuer.
const PAUSE: Duration = Duration::from_secs(30);
/// The largest document, in bytes, and the most keys that are kept of one.
pub(super) const LARGEST: usize = 256 << 10;
const MOST: usize = 64;

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    pub(super) fn new(source: Source) -> Self {
        Self { source, known: Mutex::default(), clock: Instant::now }
    }

    /// No keys at all.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self::new(Arc::new(|_| Box::pin(async { Err("none".to_owned()) })))
    }

    /// The key of a place that a token names, for this algorithm.
    pub(super) async fn find(&self, place: &str, id: Option<&str>, algorithm: Algorithm) -> Option<Jwk> {
        let known = Arc::clone(self.known.lock().await.entry(place.to_owned()).or_default());
        // One reading at a time: the others wait for it and find its keys.
        let mut known = known.lock().await;
        let now = (self.clock)();
        let age = known.read.map(|read| now.saturating_duration_since(read));
        let paused = known.tried.is_some_and(|tried| now.saturating_duration_since(tried) < PAUSE);
        let found = choose(&known.keys, id, algorithm);
        let stale = age.is_none_or(|age| age >= FRESH);
        if (stale || found.is_none()) && !paused {
            known.tried = Some(now);
            match (self.source)(place.to_owned()).await.and_then(|bytes| read(&bytes)) {
                Ok(keys) => (known.keys, known.read) = (keys, Some(now)),
                Err(why) => tracing::warn!(place, why, "the keys of an issuer could not be read"),
            }
        }
        if known.read.is_none_or(|read| now.saturating_duration_since(read) >= HARD_END) {
            known.keys.clear();
        }
        choose(&known.keys, id, algorithm)
    }
}

/// Keys of kinds that are not known here stand beside those that are.
#[derive(serde::Deserialize)]
struct Loose {
    keys: Vec<serde_json::Value>,
}

fn read(bytes: &[u8]) -> Result<Vec<Jwk>, String> {
    if bytes.len() > LARGEST {
        return Err("the document is too large".to_owned());
    }
    let loose: Loose = serde_json::from_slice(bytes).map_err(|_| "it is no JSON Web Key Set".to_owned())?;
    let set = JwkSet { keys: loose.keys.into_iter().take(MOST).filter_map(|key| serde_json::from_value(key).ok()).collect() };
    Ok(set.keys.into_iter().filter(is_for_verifying).collect())
}

/// Public keys for signatures alone: a shared secret in a published document would be everybody's.
fn is_for_verifying(key: &Jwk) -> bool {
    let public =
        matches!(key.algorithm, AlgorithmParameters::RSA(_) | AlgorithmParameters::EllipticCurve(_) | AlgorithmParameters::OctetKeyPair(_));
    let used = key.common.public_key_use.as_ref().is_none_or(|purpose| *purpose == PublicKeyUse::Signature);
    let may = key.common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
    public && used && may
}

/// The key of this id; without one, the only key that fits the algorithm.
fn choose(keys: &[Jwk], id: Option<&str>, algorithm: Algorithm) -> Option<Jwk> {
    let mut fitting = keys.iter().filter(|key| fits(key, algorithm) && (id.is_none() || key.common.key_id.as_deref() == id));
    let found = fitting.next()?;
    if id.is_none() && fitting.next().is_some() {
        return None;
    }
    Some(found.clone())
}

fn fits(key: &Jwk, algorithm: Algorithm) -> bool {
    let named = key.common.key_algorithm.is_none_or(|named| named.to_string() == format!("{algorithm:?}"));
    named && DecodingKey::from_jwk(key).is_ok_and(|key| key.family() == algorithm.family())
}
