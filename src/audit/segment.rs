//! The files of the log and their names: `CHAIN.NUMBER.jsonl`, beside it `CHAIN.NUMBER.live` while its process has not ended it.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use jiff::Timestamp;
use rustix::io::Errno;

use super::chain::{Chain, Receipt};
use super::fault::Fault;
use super::folder::{self, Folder, Lock, Place};
use super::heads;
use super::hex;
use super::medium::Medium;
use super::record::Event;

/// Makes a disk of an opened file.
pub(crate) type Wrap = Arc<dyn Fn(OwnedFd) -> Arc<dyn Medium> + Send + Sync>;

/// Begins a chain under a new name: time, eight random bytes.
/// # Errors
/// `Fault::Folder`.
pub(crate) fn fresh_chain(folder: &Folder, now: Timestamp, wrap: &Wrap) -> Result<Chain, Fault> {
    let mut tries = 0;
    loop {
        let id = format!("{}-{}.000001", now.strftime("%Y%m%dT%H%M%SZ"), folder::random()?);
        match create(folder, &id, wrap) {
            // Someone who looks for dead files held it for a moment and threw it away as empty.
            Err(Fault::Folder { source: Errno::WOULDBLOCK, .. }) if tries < 16 => tries += 1,
            other => return other,
        }
    }
}

/// Makes the file `id`, marked as live and locked for this process.
/// # Errors
/// `Fault::Folder`.
pub(crate) fn create(folder: &Folder, id: &str, wrap: &Wrap) -> Result<Chain, Fault> {
    // The marker first: a file without one is taken for ended.
    drop(folder.create_new(Place::Audit, &marker(id))?);
    let file = match folder.create_new(Place::Audit, &name(id)) {
        Ok(file) => file,
        Err(fault) => {
            // A marker alone means nothing; where it cannot be removed it stays so.
            let _ = folder.remove(Place::Audit, &marker(id));
            return Err(fault);
        }
    };
    let locked = folder::try_lock(&file, Lock::Exclusive).map_err(|source| folder::folder_fault("lock", id, source))?;
    // INVARIANT: whoever removes a file as empty holds its lock, so after the lock the names tell whether that happened.
    if !locked || !folder.is_named(Place::Audit, &name(id), &file) || !folder.exists(Place::Audit, &marker(id)) {
        return Err(folder::folder_fault("lock", id, Errno::WOULDBLOCK));
    }
    Ok(Chain::new(id.to_owned(), wrap(file), Receipt::new(0, hex::NONE), 0))
}

/// Throws away a file in which nothing was written.
pub(crate) fn discard(folder: &Folder, id: &str) {
    // The head first: a head names a file that must be there. What cannot be removed now is found empty, and removed, by the next start.
    let _ = folder.remove(Place::Heads, &heads::name(id));
    let _ = folder.remove(Place::Audit, &name(id));
    let _ = folder.remove(Place::Audit, &marker(id));
}

/// Marks a file as ended.
/// # Errors
/// `Fault::Folder`.
pub(crate) fn seal(folder: &Folder, id: &str) -> Result<(), Fault> {
    folder.remove(Place::Audit, &marker(id))
}

/// Whether a record of this event is the last of its file.
pub(crate) fn is_end(event: Option<&str>) -> bool {
    [Event::LogClosed, Event::LogRotated].iter().any(|end| Some(end.as_str()) == event)
}

/// A chain's file with another number.
pub(crate) fn id_of(id: &str, number: u32) -> String {
    format!("{}.{number:06}", chain_of(id))
}

/// The chain a file belongs to, and its number in it.
pub(crate) fn split(id: &str) -> Option<(&str, u32)> {
    let (chain, number) = id.rsplit_once('.')?;
    Some((chain, number.parse().ok()?))
}

/// The file in which a chain goes on after this one.
pub(crate) fn next(id: &str) -> Option<String> {
    split(id).map(|(_, number)| id_of(id, number.saturating_add(1)))
}

/// The file of a chain before this one; `None` for its first.
pub(crate) fn before(id: &str) -> Option<String> {
    split(id).filter(|(_, number)| *number > 1).map(|(_, number)| id_of(id, number.saturating_sub(1)))
}

/// The chain a file belongs to.
pub(crate) fn chain_of(id: &str) -> &str {
    split(id).map_or(id, |(chain, _)| chain)
}

/// The file's name.
pub(crate) fn name(id: &str) -> String {
    format!("{id}.jsonl")
}

/// The name of what marks it as live.
pub(crate) fn marker(id: &str) -> String {
    format!("{id}.live")
}

/// The name of what was cut off its end.
pub(crate) fn torn(id: &str) -> String {
    format!("{id}.torn")
}
