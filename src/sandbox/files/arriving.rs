//! What is copied or moved to where another program runs it later: it is shown before, as what is written there is. No effect.

use super::content::{digest, read_whole};
use super::resolve::open_below;
use super::stop::Stop;
use crate::gate::Arriving;
use crate::gate::Opened;
use crate::manifest::Manifest;
use crate::model::{Bytes, Entry, Kind, RelPath, Target};
use crate::policy::later::pattern_of;

/// The files that will run later at their new place, in the order of their paths, and the digest of each that was read. `opened`: the old place
/// and the new one. The content of a single file is that of the first target and is not read again.
pub(super) fn arriving(manifest: &Manifest, opened: &[Opened], stop: &Stop) -> (Vec<Arriving>, Vec<Option<String>>) {
    let [from, to] = opened else { return (Vec::new(), Vec::new()) };
    let runs = |path: &RelPath| pattern_of(manifest, &to.target.root, path).is_some();
    if from.fact.kind != Kind::Directory {
        let one = is_arriving(manifest, to).then(|| Arriving { target: to.target.clone(), text: None });
        return (one.into_iter().collect(), Vec::new());
    }
    let below = from.fact.below.iter().filter(|entry| entry.kind == Kind::File && !entry.protected);
    let mut found: Vec<(RelPath, &Entry)> =
        below.filter_map(|entry| Some((entry.path.rebased(from.path(), to.path())?, entry))).filter(|(path, _)| runs(path)).collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut room = ALL;
    let mut files = Vec::new();
    let mut digests = Vec::new();
    for (path, entry) in found {
        let is_read = !stop.is_late() && !stop.is_cancelled() && entry.size <= room.0;
        let bytes = if is_read { content(from, entry) } else { None };
        room = Bytes(room.0 - bytes.as_ref().map_or(0, |bytes| room.0.min(bytes.len() as u64)));
        digests.push(bytes.as_deref().map(digest));
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        files.push(Arriving { target: Target { root: to.target.root.clone(), path }, text });
    }
    (files, digests)
}

/// Whether a file at this place runs later.
pub(super) fn is_arriving(manifest: &Manifest, to: &Opened) -> bool {
    [&to.target.path, to.path()].into_iter().any(|path| pattern_of(manifest, &to.target.root, path).is_some())
}

/// The content of an entry below a held folder, where it is the one that was judged.
fn content(from: &Opened, entry: &Entry) -> Option<Vec<u8>> {
    let (file, seen) = open_below(from.object.as_ref()?, &entry.path.rebased(from.path(), &RelPath::ROOT)?).ok()?;
    // A second name may be one that is denied.
    if seen.names != 1 || Some(seen.identity) != entry.identity {
        return None;
    }
    read_whole(&file, seen.size, EACH).ok()?
}

/// The longest file of a folder that is shown, and the most that is read of all of them.
const EACH: Bytes = Bytes::mib(1);
const ALL: Bytes = Bytes::mib(4);
