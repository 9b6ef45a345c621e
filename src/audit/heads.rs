//! Signed ends of the files, kept apart from them: a chain alone cannot show that its last records were cut off.

use std::io::Read as _;
use std::sync::OnceLock;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use jiff::Timestamp;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::chain::Receipt;
use super::fault::Fault;
use super::folder::{Folder, Place};
use super::hex;
use super::line;
use super::redact::Secret;
use super::settings::Sync;

/// The keys of this installation.
#[derive(Debug)]
pub(crate) struct Keys {
    signing: Ed25519KeyPair,
    /// The key of the keyed hashes.
    pub(crate) secret: Secret,
}

impl Keys {
    /// Reads the keys, making them at the first start. Two first starts at once agree on one key.
    /// # Errors
    /// `Fault::Folder`; `Fault::Key` where a file holds none.
    pub(crate) fn load(folder: &Folder) -> Result<Self, Fault> {
        match read(folder) {
            Err(Fault::Folder { source: Errno::NOENT, .. }) => {
                let mut fresh = [[0; 32]; 2];
                fresh.iter_mut().try_for_each(|key| getrandom::fill(key)).map_err(|_| Fault::Key { name: KEYS })?;
                let [sign, hash] = fresh.map(|key| hex::text(&hex::encode(&key)));
                // One file for both: it is one thing to write, to keep and to lose.
                folder.put_new(Place::Keys, KEYS, format!("sign {sign}\nhash {hash}\n").as_bytes())?;
                read(folder)
            }
            other => other,
        }
    }

    /// The verifying key as 64 hexadecimal digits.
    pub(crate) fn public(&self) -> String {
        hex::long(self.signing.public_key().as_ref())
    }

    /// Signs where a file ends and puts it beside the other heads. The last head of a file is on disk before the file counts as ended.
    /// # Errors
    /// `Fault::Folder`.
    pub(crate) fn sign(&self, folder: &Folder, id: &str, end: Receipt, size: u64, now: Timestamp, sync: Sync) -> Result<(), Fault> {
        let mut head =
            Head { file: id.to_owned(), seq: end.seq, size, hash: end.hash(), ts: line::time(now), key: self.public(), sig: String::new() };
        head.sig = hex::long(self.signing.sign(head.note().as_bytes()).as_ref());
        let text = serde_json::to_string(&head).unwrap_or_default();
        folder.replace(Place::Heads, &name(id), format!("{text}\n").as_bytes(), sync)?;
        if sync == Sync::Durable { folder.sync(Place::Heads) } else { Ok(()) }
    }
}

/// Keys that are read when they are first needed.
pub(crate) type LazyKeys = OnceLock<Keys>;

/// The keys, read or made now if nobody did before.
/// # Errors
/// As `Keys::load`. A fault is not kept: a full disk may have room the next time.
pub(crate) fn lazy<'k>(keys: &'k LazyKeys, folder: &Folder) -> Result<&'k Keys, Fault> {
    if let Some(keys) = keys.get() {
        return Ok(keys);
    }
    // Two threads at once read the same files, so it does not matter whose keys are kept.
    let loaded = Keys::load(folder)?;
    Ok(keys.get_or_init(|| loaded))
}

/// A signed statement: this file has at least this many records, and this is the hash of the last. The first head of a file is signed before its
/// first record; its size is 0, and it names no record of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    pub(crate) file: String,
    pub(crate) seq: u64,
    pub(crate) size: u64,
    pub(crate) hash: String,
    ts: String,
    key: String,
    sig: String,
}

impl Head {
    /// Reads the head of the file `id`. `Ok(None)`: it has none.
    /// # Errors
    /// Why it cannot be trusted.
    pub(crate) fn read(folder: &Folder, id: &str, key: Option<&str>) -> Result<Option<Self>, &'static str> {
        match folder.read(Place::Heads, &name(id)) {
            Ok(file) => match text(file).map_err(|_| "its signed head cannot be read")?.as_str() {
                // A loss of power can leave it empty. So can a hand, so it vouches for nothing.
                "" => Ok(None),
                text => Self::from_text(text, id, key).map(Some),
            },
            Err(Fault::Folder { source: Errno::NOENT, .. }) => Ok(None),
            Err(_) => Err("its signed head cannot be read"),
        }
    }

    /// Reads the head of the file `id` from its text. `key`: the verifying key it must be signed with.
    /// # Errors
    /// Why it cannot be trusted.
    pub(crate) fn from_text(text: &str, id: &str, key: Option<&str>) -> Result<Self, &'static str> {
        let head: Self = serde_json::from_str(text.trim_end()).map_err(|_| "its signed head is no head")?;
        if head.file != id {
            return Err("its signed head belongs to another file");
        }
        if key.is_some_and(|key| key != head.key) {
            return Err("its head is signed with another key than this installation's");
        }
        let (Some(key), Some(signature)) = (hex::decode(&head.key), hex::decode(&head.sig)) else {
            return Err("its signed head is no head");
        };
        let verified = UnparsedPublicKey::new(&ED25519, key).verify(head.note().as_bytes(), &signature);
        verified.map_err(|_| "the signature of its head is wrong").map(|()| head)
    }

    /// Whether it names a record of its file.
    pub(crate) const fn names_a_record(&self) -> bool {
        self.size > 0
    }

    /// What is signed, in the manner of a checkpoint: origin, place, size, hash, time, a line each.
    fn note(&self) -> String {
        format!("toolgate audit head v1\n{}\n{}\n{}\n{}\n{}\n", self.file, self.seq, self.size, self.hash, self.ts)
    }
}

/// The verifying key of this installation. `Ok(None)`: it has no keys.
/// # Errors
/// `Fault::Folder`, `Fault::Key`.
pub(crate) fn public(folder: &Folder) -> Result<Option<String>, Fault> {
    match read(folder) {
        Ok(keys) => Ok(Some(keys.public())),
        Err(Fault::Folder { source: Errno::NOENT, .. }) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// The name of a file's head.
pub(crate) fn name(id: &str) -> String {
    format!("{id}.head")
}

/// The files that have a head.
/// # Errors
/// `Fault::Folder`.
pub(crate) fn ids(folder: &Folder) -> Result<Vec<String>, Fault> {
    Ok(folder
        .names(Place::Heads)?
        .iter()
        .filter_map(|name| name.strip_suffix(".head"))
        .filter(|id| !id.starts_with('.'))
        .map(str::to_owned)
        .collect())
}

/// Keeps in mind that a record of a log was on disk here. It stands beside the keys, where nothing of a log is removed for its age. What hinders
/// this is tried again by the next process.
pub(crate) fn note_begun(folder: &Folder) {
    if !folder.exists(Place::Keys, BEGUN) {
        let _ = folder.make(Place::Keys, BEGUN);
    }
}

/// Whether a log was here of which nothing is left, neither file nor head. The newest file of a log is never removed for its age, and one without a
/// record is no log.
/// # Errors
/// `Fault::Folder`.
pub(crate) fn is_lost(folder: &Folder) -> Result<bool, Fault> {
    let holds_records = |name: &String| name.strip_suffix(".jsonl").is_some() && folder.length(Place::Audit, name) > 0;
    Ok(folder.exists(Place::Keys, BEGUN) && ids(folder)?.is_empty() && !folder.names(Place::Audit)?.iter().any(holds_records))
}

fn read(folder: &Folder) -> Result<Keys, Fault> {
    let fault = || Fault::Key { name: KEYS };
    let text = text(folder.read(Place::Keys, KEYS)?).map_err(|_| fault())?;
    let key = |name: &str| -> Option<[u8; 32]> {
        let digits = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        hex::decode(digits)?.try_into().ok()
    };
    let (sign, hash) = key("sign").zip(key("hash")).ok_or_else(fault)?;
    let signing = Ed25519KeyPair::from_seed_unchecked(&sign).map_err(|_| fault())?;
    Ok(Keys { signing, secret: Secret::new(&hash) })
}

/// A small file's text; what is longer than any head or key is cut.
fn text(file: std::fs::File) -> std::io::Result<String> {
    std::io::read_to_string(file.take(4096))
}

/// The file of the keys.
pub(crate) const KEYS: &str = "audit.keys";

/// Tells that there was a log.
const BEGUN: &str = "audit.begun";

/// Of a file with records and without a head. Nothing that the file says of its version is signed, so which of the two it was cannot be told.
pub(crate) const GONE: &str = "it has no signed head: the head was taken away, or an older version, which signed the first one after ten seconds, \
    died before that; the two cannot be told apart";
