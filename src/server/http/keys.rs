//! The keys of token issuers (RFC 7517): read when first needed, read again when old, and never used past a hard end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};

/// Reads a JWKS document from a URL or a file.
pub type Source = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Vec<u8>, String>> + Send + Sync>;

/// The keys that were read, by the URL or file they come from.
pub(super) struct Keys {
    source: Source,
    sets: Mutex<HashMap<String, Arc<KeySet>>>,
    clock: Clock,
}

type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

#[derive(Default)]
struct KeySet {
    known: Mutex<Known>,
    /// One reading at a time: others that need its keys wait for it.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    keys: Vec<Jwk>,
    read: Option<Instant>,
    tried: Option<Instant>,
}

/// After this, keys are read again. The call that finds them old is judged by them: an issuer that is slow must not make every caller slow.
const FRESH: Duration = Duration::from_mins(10);
/// After this, keys that could not be read again are no longer used: a withdrawn key must not live on because its issuer cannot be reached.
const HARD_END: Duration = Duration::from_hours(1);
/// Between two readings of one document; an unknown key id must not make callers hammer the issuer.
const PAUSE: Duration = Duration::from_secs(30);
/// The largest document, in bytes, and the most keys that are kept of one.
pub(super) const LARGEST: usize = 256 << 10;
const MOST: usize = 64;

impl Keys {
    pub(super) fn new(source: Source) -> Self {
        Self { source, sets: Mutex::default(), clock: Arc::new(Instant::now) }
    }

    /// No keys at all.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self::new(Arc::new(|_| Box::pin(async { Err("none".to_owned()) })))
    }

    /// The key that a token names in one document, for this algorithm.
    pub(super) async fn find(&self, name: &str, id: Option<&str>, algorithm: Algorithm) -> Option<Jwk> {
        let set = Arc::clone(lock(&self.sets).entry(name.to_owned()).or_default());
        let now = (self.clock)();
        let (found, is_stale) = set.look(now, id, algorithm);
        if found.is_some() {
            if is_stale && set.may_try(now) {
                let (source, name) = (Arc::clone(&self.source), name.to_owned());
                tokio::spawn(async move {
                    let _turn = set.reading.lock().await;
                    set.read(&source, name, now).await;
                });
            }
            return found;
        }
        let _turn = set.reading.lock().await;
        // Whoever had the turn before may have read it.
        let (found, _) = set.look(now, id, algorithm);
        if found.is_some() || !set.may_try(now) {
            return found;
        }
        set.read(&self.source, name.to_owned(), now).await;
        set.look(now, id, algorithm).0
    }
}

impl KeySet {
    /// The key, and whether the keys are to be read again.
    fn look(&self, now: Instant, id: Option<&str>, algorithm: Algorithm) -> (Option<Jwk>, bool) {
        let mut known = lock(&self.known);
        let age = known.read.map(|read| now.saturating_duration_since(read));
        if age.is_none_or(|age| age >= HARD_END) {
            known.keys.clear();
        }
        (choose(&known.keys, id, algorithm), age.is_none_or(|age| age >= FRESH))
    }

    /// Whether the pause is over; then the next begins.
    fn may_try(&self, now: Instant) -> bool {
        let mut known = lock(&self.known);
        let may = known.tried.is_none_or(|tried| now.saturating_duration_since(tried) >= PAUSE);
        if may {
            known.tried = Some(now);
        }
        may
    }

    async fn read(&self, source: &Source, name: String, now: Instant) {
        match source(name.clone()).await.and_then(|bytes| read(&bytes)) {
            Ok(keys) => {
                let mut known = lock(&self.known);
                (known.keys, known.read) = (keys, Some(now));
            }
            Err(why) => tracing::warn!(document = name, why, "the keys of an issuer could not be read"),
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keys of kinds that are not known here stand beside those that are.
#[derive(serde::Deserialize)]
struct Loose {
    keys: Vec<serde_json::Value>,
}

/// Whether a document is a JSON Web Key Set with a key by which a token can be verified.
/// # Errors  Why not.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let keys = read(bytes)?;
    if keys.iter().any(|key| DecodingKey::from_jwk(key).is_ok()) {
        return Ok(());
    }
    Err("no key in it is a public one that verifies signatures, so every token would be refused".to_owned())
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    /// An issuer that shows what it is told to, and a clock that goes when it is told to.
    struct Issuer {
        shown: Mutex<Result<Vec<u8>, String>>,
        asked: AtomicUsize,
        seconds: AtomicU64,
    }

    impl Issuer {
        fn new(ids: &[&str]) -> (Arc<Self>, Keys) {
            let issuer =
                Arc::new(Self { shown: Mutex::new(Err(String::new())), asked: AtomicUsize::default(), seconds: AtomicU64::default() });
            issuer.shows(ids);
            let (asked, clock, start) = (Arc::clone(&issuer), Arc::clone(&issuer), Instant::now());
            let source: Source = Arc::new(move |_| {
                asked.asked.fetch_add(1, Ordering::SeqCst);
                let shown = lock(&asked.shown).clone();
                Box::pin(async move { shown })
            });
            let clock = Arc::new(move || start + Duration::from_secs(clock.seconds.load(Ordering::SeqCst)));
            (Arc::clone(&issuer), Keys { clock, ..Keys::new(source) })
        }

        fn shows(&self, ids: &[&str]) {
            let key = |id: &&str| json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "alg": "EdDSA", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
            let set = json!({"keys": ids.iter().map(key).collect::<Vec<_>>()});
            *lock(&self.shown) = Ok(set.to_string().into_bytes());
        }

        fn is_gone(&self) {
            *lock(&self.shown) = Err("it cannot be reached".to_owned());
        }

        fn after(&self, seconds: u64) {
            self.seconds.fetch_add(seconds, Ordering::SeqCst);
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::SeqCst)
        }
    }

    async fn has(keys: &Keys, id: &str) -> bool {
        keys.find("https://id.example/keys", Some(id), Algorithm::EdDSA).await.is_some()
    }

    /// Lets what was spawned run to its end: nothing of it waits for anything.
    async fn rest() {
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_new_key_is_found_and_an_unknown_one_does_not_hammer_the_issuer() {
        let (issuer, keys) = Issuer::new(&["old"]);
        assert!(has(&keys, "old").await && !has(&keys, "new").await);
        issuer.shows(&["new"]);
        for _ in 0..100 {
            assert!(!has(&keys, "new").await && !has(&keys, "invented").await);
        }
        assert_eq!(issuer.asked(), 1, "within the pause it is not asked again");
        issuer.after(30);
        assert!(has(&keys, "new").await && !has(&keys, "old").await, "the old key is withdrawn");
        assert_eq!(issuer.asked(), 2);
    }

    #[tokio::test]
    async fn a_withdrawn_key_is_gone_after_the_next_reading_though_nobody_asked_for_a_new_one() {
        let (issuer, keys) = Issuer::new(&["old"]);
        assert!(has(&keys, "old").await);
        issuer.shows(&["new"]);
        issuer.after(599);
        assert!(has(&keys, "old").await);
        rest().await;
        assert_eq!(issuer.asked(), 1);
        issuer.after(1);
        // Old enough to be read again: the call that finds it so does not wait.
        assert!(has(&keys, "old").await);
        rest().await;
        assert!(!has(&keys, "old").await && has(&keys, "new").await);
        assert_eq!(issuer.asked(), 2);
    }

    #[tokio::test]
    async fn keys_of_an_issuer_that_cannot_be_reached_end_after_an_hour() {
        let (issuer, keys) = Issuer::new(&["k"]);
        assert!(has(&keys, "k").await);
        issuer.is_gone();
        for _ in 0..119 {
            issuer.after(30);
            assert!(has(&keys, "k").await);
            rest().await;
        }
        issuer.after(30);
        assert!(!has(&keys, "k").await, "an hour after they were read");
        let before = issuer.asked();
        for _ in 0..100 {
            assert!(!has(&keys, "k").await);
        }
        assert_eq!(issuer.asked(), before);
        issuer.shows(&["k"]);
        issuer.after(30);
        assert!(has(&keys, "k").await, "it is back");
    }

    #[tokio::test]
    async fn of_many_callers_at_once_one_reads() {
        let (issuer, keys) = Issuer::new(&["k"]);
        let all = futures::future::join_all((0..64).map(|_| has(&keys, "k"))).await;
        assert!(all.into_iter().all(|found| found));
        assert_eq!(issuer.asked(), 1);
    }

    #[test]
    fn what_is_no_key_for_verifying_is_left_out() {
        let set = |keys: serde_json::Value| read(json!({"keys": keys}).to_string().as_bytes()).map(|keys| keys.len());
        let ed = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        let with = |name: &str, value: serde_json::Value| {
            let mut key = ed.clone();
            key[name] = value;
            key
        };
        assert_eq!(set(json!([ed, with("use", json!("sig")), with("key_ops", json!(["verify"]))])), Ok(3));
        assert_eq!(
            set(json!([with("use", json!("enc")), with("key_ops", json!(["sign"])), {"kty": "oct", "k": "c2VjcmV0"}, {"kty": "new"}, 7])),
            Ok(0)
        );
        for no_set in ["", "[]", "{}", "{\"keys\": 1}", "<html>"] {
            assert!(read(no_set.as_bytes()).is_err(), "{no_set}");
        }
        assert!(read(&vec![b' '; LARGEST + 1]).is_err());
    }
}
