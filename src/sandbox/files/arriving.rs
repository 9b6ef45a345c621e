//! What is copied or moved to where another program runs it later: it is shown before, as what is written there is. No effect.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;

use super::content::{Whole, digest, read_whole};
use super::resolve::{open_file, step};
use super::seen::Seen;
use super::stop::Stop;
use crate::gate::Arriving;
use crate::manifest::Manifest;
use crate::model::{Bytes, Entry, Kind, Opened, RelPath, Target};
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
        let bytes = if is_read { content(from, entry).ok().flatten() } else { None };
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
fn content(from: &Opened, entry: &Entry) -> Result<Option<Vec<u8>>, Errno> {
    let (Some(top), Some(inside)) = (&from.object, entry.path.segments().strip_prefix(from.path().segments())) else { return Ok(None) };
    let Some((name, folders)) = inside.split_last() else { return Ok(None) };
    let mut folder: Option<OwnedFd> = None;
    for name in folders {
        folder = Some(step(folder.as_ref().map_or(top.as_fd(), AsFd::as_fd), name.as_str())?);
    }
    let folder = folder.as_ref().map_or(top.as_fd(), AsFd::as_fd);
    let handle = step(folder, name.as_str())?;
    let seen = Seen::of(&handle)?;
    // A second name may be one that is denied.
    if seen.kind != Kind::File || seen.names != 1 || Some(seen.identity) != entry.identity {
        return Ok(None);
    }
    let file = open_file(&handle, folder, name.as_str())?;
    Ok(match read_whole(&file, seen.size, EACH)? {
        Whole::Bytes(bytes) => Some(bytes),
        Whole::TooLarge => None,
    })
}

/// The longest file of a folder that is shown, and the most that is read of all of them.
const EACH: Bytes = Bytes::mib(1);
const ALL: Bytes = Bytes::mib(4);
