//! Old files go, and the log says so.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::fault::Fault;
use super::folder::Place;
use super::record::{Event, Record};
use super::shared::Shared;
use super::{heads, recover, segment};

/// Removes ended files whose last record is older than `keep`. What is removed is recorded, on disk, before it goes: `verify` misses every other file.
/// # Errors
/// Why the removal could not be recorded; nothing is removed then.
pub(crate) fn expire(shared: &Shared) -> Result<(), Fault> {
    let keep = SignedDuration::try_from(shared.settings.keep).unwrap_or(SignedDuration::MAX);
    let Ok(limit) = (shared.clock)().checked_sub(keep) else { return Ok(()) };
    let mut old = Vec::new();
    for id in shared.folder.names(Place::Audit)?.iter().filter_map(|name| name.strip_suffix(".jsonl")) {
        // A file is never older than its name says, so most are passed over without a look into them.
        let Some(begun) = begun(id) else { continue };
        if begun > limit {
            break;
        }
        if shared.folder.exists(Place::Audit, &segment::marker(id)) {
            continue;
        }
        let last = shared.folder.read(Place::Audit, &segment::name(id)).ok().and_then(|file| recover::last_record(&file));
        if let Some((last, Some(time))) = last
            && time < limit
        {
            let extra = json!({"file": id, "last_seq": last.seq, "last_hash": last.hash()});
            shared.hand(&Record { extra: extra.as_object().cloned().unwrap_or_default(), ..Record::new(Event::LogExpired) })?;
            old.push(id.to_owned());
        }
    }
    if old.is_empty() {
        return Ok(());
    }
    let medium = shared.with_writer(|writer| std::sync::Arc::clone(&writer.chain.medium))?;
    medium.sync().map_err(|source| Fault::Sync { source })?;
    for id in old {
        shared.folder.remove(Place::Audit, &segment::name(&id))?;
        shared.folder.remove(Place::Audit, &segment::torn(&id))?;
        // The part of a first record with which the next file was thrown away.
        let next = segment::next(&id).filter(|next| !shared.folder.exists(Place::Audit, &segment::name(next)));
        next.map_or(Ok(()), |next| shared.folder.remove(Place::Audit, &segment::torn(&next)))?;
        shared.folder.remove(Place::Heads, &heads::name(&id))?;
    }
    Ok(())
}

/// When the chain of a file began, from its name.
fn begun(id: &str) -> Option<Timestamp> {
    let (time, _) = id.split_once('-')?;
    let (date, clock) = time.strip_suffix('Z')?.split_once('T')?;
    format!("{date}T{clock}Z").parse().ok()
}
