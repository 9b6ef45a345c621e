//! What dead processes left: the end of each file is put in order, and what was under way is marked `unknown`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::sync::Arc;

use jiff::Timestamp;
use rustix::io::Errno;
use serde_json::{Map, Value, json};

use super::chain::{Chain, Receipt};
use super::fault::Fault;
use super::folder::{self, Folder, Lock, Place};
use super::heads::{self, Head, LazyKeys};
use super::hex;
use super::line::Sealed;
use super::log::Clock;
use super::medium::{Disk, Medium as _};
use super::record::{Event, Record};
use super::scan::{Lines, Rest, scan};
use super::segment;
use super::settings::Sync;
use super::under_way::UnderWay;

/// What the first record of a new chain tells about the others.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The latest time any of them names.
    pub(crate) latest: Option<Timestamp>,
    /// Where the newest and the living ones end: a file that is removed later is missed.
    pub(crate) links: Value,
    /// The ones whose chain is broken; they are left as they are.
    pub(crate) broken: Vec<Value>,
    /// A log was here before, and nothing of it is left.
    pub(crate) is_lost: bool,
    /// Calls under way in chains that cannot be continued.
    pub(crate) lost: UnderWay,
}

/// Puts in order what dead processes left, and links to what is there.
/// # Errors
/// `Fault::Folder`, and whatever a record of the recovery cannot be written for.
pub(crate) fn all(folder: &Folder, keys: &LazyKeys, clock: &Clock) -> Result<Found, Fault> {
    let names: BTreeSet<String> = folder.names(Place::Audit)?.into_iter().collect();
    let mut found = Found { is_lost: heads::is_lost(folder)?, ..Found::default() };
    let mut living = BTreeSet::new();
    for id in names.iter().filter_map(|name| name.strip_suffix(".live")) {
        match one(folder, keys, clock, id, &mut found) {
            Ok(Outcome::Lives) => {
                living.insert(id);
            }
            Ok(Outcome::Recovered | Outcome::Gone) => {}
            // A file that cannot even be opened is one that `verify` reports; the log of this process does not depend on it.
            Err(Fault::Folder { .. }) => found.broken.push(json!({"file": id, "after_seq": 0, "why": "it cannot be opened"})),
            Err(fault) => return Err(fault),
        }
    }
    // One in which no record was written is thrown away above.
    let ids = names.iter().rev().filter_map(|name| name.strip_suffix(".jsonl"));
    living.extend(newest(ids.filter(|id| folder.exists(Place::Audit, &segment::name(id)))));
    let links = living.into_iter().filter_map(|id| {
        let (last, time) = last_record(&folder.read(Place::Audit, &segment::name(id)).ok()?)?;
        found.latest = found.latest.max(time);
        Some(json!({"file": id, "seq": last.seq, "hash": last.hash()}))
    });
    found.links = links.collect();
    Ok(found)
}

/// The newest files, and with them each that began in the same second as the last of those. Names tell the order to the second alone: of files
/// of one second none is the newest, and one that nothing names could be taken away unseen.
fn newest<'n>(ids: impl Iterator<Item = &'n str>) -> impl Iterator<Item = &'n str> {
    let mut second = None;
    ids.enumerate()
        .take_while(move |(place, id)| {
            let began = id.split('-').next();
            let is_linked = *place < LINKED || (second == began && *place < MOST_LINKED);
            if *place < LINKED {
                second = began;
            }
            is_linked
        })
        .map(|(_, id)| id)
}

/// Ended files that a new one links to, where no more began in one second; and where more did.
const LINKED: usize = 8;
const MOST_LINKED: usize = 512;

enum Outcome {
    /// Its process is there.
    Lives,
    /// It is ended now, or broken and left.
    Recovered,
    /// There is nothing to recover.
    Gone,
}

fn one(folder: &Folder, keys: &LazyKeys, clock: &Clock, id: &str, found: &mut Found) -> Result<Outcome, Fault> {
    let disk = match folder.append(Place::Audit, &segment::name(id)) {
        Ok(file) => Disk(file),
        Err(Fault::Folder { source: Errno::NOENT, .. }) => {
            // Its process is just being born between marker and file, or died there. An old marker alone does no harm.
            return Ok(Outcome::Gone);
        }
        Err(fault) => return Err(fault),
    };
    if !folder::try_lock(&disk.0, Lock::Exclusive).map_err(|source| folder::folder_fault("lock", id, source))? {
        return Ok(Outcome::Lives);
    }
    // Another recovery may have ended it between the listing and the lock.
    if !folder.exists(Place::Audit, &segment::marker(id)) {
        return Ok(Outcome::Gone);
    }
    let copy = disk.0.try_clone().map_err(|_| folder::folder_fault("open", id, Errno::MFILE))?;
    let mut reader = File::from(copy);
    let mut under_way = UnderWay::default();
    let mut event = None;
    let before = segment::split(id).filter(|(_, number)| *number == 1).map(|_| Receipt::new(0, hex::NONE));
    let scanned = scan(&reader, before, |sealed, line| {
        note(&mut under_way, sealed, line);
        event = sealed.event().map(str::to_owned);
        found.latest = found.latest.max(sealed.time());
    });
    let keys = heads::lazy(keys, folder)?;
    let size = reader.metadata().map_or(0, |data| data.len());
    let is_broken = is_broken(&mut reader, scanned.good, scanned.rest);
    let head = Head::read(folder, id, Some(&keys.public()));
    let is_unwritten = scanned.records == 0 && matches!(scanned.rest, Rest::Nothing | Rest::Part | Rest::Wrong(_)) && !is_broken;
    let fault = match head {
        // A file ends only after the first record of the next is on disk, so that record was taken away.
        Ok(_) if is_unwritten && follows_an_ended(folder, id) => Some("its first record is gone: the file before it was ended after that"),
        // Its process died before the first record.
        Ok(head) if is_unwritten && is_to_go(head.as_ref(), id, size) => {
            keep_torn(folder, id, &disk, &mut reader, 0)?;
            segment::discard(folder, id);
            return Ok(Outcome::Gone);
        }
        // A head may be ahead by the record whose line end is missing.
        Ok(Some(head))
            if head.names_a_record() && head.seq > scanned.last.seq.saturating_add(u64::from(matches!(scanned.rest, Rest::Unended(_)))) =>
        {
            Some("it ends before its signed head")
        }
        // A head is signed before the first record. To sign the file now would vouch for whatever was done to it.
        Ok(None) => Some(heads::GONE),
        Err(why) => Some(why),
        _ if is_broken => Some("a record in its middle is not what its hash says"),
        _ => None,
    };
    if let Some(why) = fault {
        found.broken.push(json!({"file": id, "after_seq": scanned.last.seq, "why": why}));
        found.lost.absorb(under_way);
        segment::seal(folder, id)?;
        return Ok(Outcome::Recovered);
    }
    let mut chain = mend(folder, id, disk, &mut reader, &scanned.rest, scanned.last, scanned.good)?;
    let next = segment::next(id);
    let has_next = next.as_deref().is_some_and(|next| holds_a_record(folder, next));
    let ended = segment::is_end(event.as_deref()) && (event.as_deref() != Some(Event::LogRotated.as_str()) || has_next);
    if !ended {
        let dropped = folder.length(Place::Audit, &segment::torn(id));
        // It names its file, for it is the first record where even that was torn.
        let extra = json!({"file": id, "dropped_bytes": dropped, "unknown": under_way.len()});
        let mut extra = extra.as_object().cloned().unwrap_or_default();
        // Its process died while it went on in a next file, which holds a part of its first record.
        if let Some(next) = next.filter(|next| !has_next && folder.length(Place::Audit, &segment::name(next)) > 0) {
            let bytes = folder.length(Place::Audit, &segment::name(&next));
            extra.insert("dropped_next".to_owned(), json!({"file": next, "bytes": bytes}));
        }
        chain.note(clock(), &Record { extra, ..Record::new(Event::LogRecovered) })?;
        for body in under_way.unknown() {
            chain.put(clock(), &body)?;
        }
        chain.finish(clock(), Event::LogClosed, Map::new())?;
    }
    keys.sign(folder, id, chain.last, chain.size, clock(), Sync::Durable)?;
    segment::seal(folder, id)?;
    Ok(Outcome::Recovered)
}

/// Takes note of a record read from a file.
fn note(under_way: &mut UnderWay, sealed: &Sealed<'_>, line: &[u8]) {
    let parsed = || serde_json::from_slice::<Map<String, Value>>(line).unwrap_or_default();
    match sealed.event() {
        Some("call.started") => under_way.started(&parsed()),
        Some("call.finished") => sealed.call().into_iter().for_each(|call| under_way.finished(call)),
        Some("log.opened") => parsed().get("under_way").into_iter().for_each(|list| under_way.read_list(list)),
        _ => {}
    }
}

/// Whether a whole record comes after the first wrong line: a crash tears the end off, it does not damage the middle.
fn is_broken(file: &mut File, good: u64, rest: Rest) -> bool {
    if !matches!(rest, Rest::Wrong(_)) || file.seek(SeekFrom::Start(good)).is_err() {
        return rest == Rest::Unreadable;
    }
    has_record(&mut Lines::new(file))
}

/// Whether one of the lines is a whole record.
fn has_record<R: Read>(lines: &mut Lines<R>) -> bool {
    while let Ok(Some(line)) = lines.next() {
        // A loss of power leaves holes where pages had not reached the disk, even before others that had. No record holds a zero byte.
        if line.bytes.contains(&0) {
            return false;
        }
        if Sealed::read(line.bytes).is_ok() {
            return true;
        }
    }
    false
}

/// Makes the file end with its last whole record. What is cut off is kept beside it first.
fn mend(folder: &Folder, id: &str, disk: Disk, reader: &mut File, rest: &Rest, last: Receipt, good: u64) -> Result<Chain, Fault> {
    let write = |source| Fault::Write { source };
    let (last, size) = match rest {
        Rest::Nothing | Rest::Unreadable => (last, good),
        Rest::Unended(receipt) => {
            disk.append(b"\n").map_err(write)?;
            (*receipt, reader.metadata().map_or(good, |data| data.len()))
        }
        Rest::Part | Rest::Wrong(_) => {
            keep_torn(folder, id, &disk, reader, good)?;
            (last, good)
        }
    };
    Ok(Chain::new(id.to_owned(), Arc::new(disk), last, size))
}

/// Cuts a file to its first `good` bytes; the rest, if there is any, is kept beside it first.
fn keep_torn(folder: &Folder, id: &str, disk: &Disk, reader: &mut File, good: u64) -> Result<(), Fault> {
    let write = |source| Fault::Write { source };
    let mut tail = Vec::new();
    let read = reader.seek(SeekFrom::Start(good)).and_then(|_| reader.take(LONGEST_TAIL).read_to_end(&mut tail));
    read.map_err(|_| write(Errno::IO))?;
    if tail.is_empty() {
        return Ok(());
    }
    folder.replace(Place::Audit, &segment::torn(id), &tail, Sync::Durable)?;
    disk.truncate(good).map_err(write)
}

/// Whether a file without a record is thrown away: its head, which is signed before the first record, names none. A later file of a chain goes with the part
/// of a record that it holds, for the file before it is ended instead; the first one is kept, and begins with the record of its recovery.
fn is_to_go(head: Option<&Head>, id: &str, size: u64) -> bool {
    let is_later = segment::split(id).is_some_and(|(_, number)| number > 1);
    head.map_or(size == 0, |head| !head.names_a_record() && (size == 0 || is_later))
}

/// Whether the file before this one has ended by going on in this one, and been given up.
fn follows_an_ended(folder: &Folder, id: &str) -> bool {
    let Some(before) = segment::before(id).filter(|before| !folder.exists(Place::Audit, &segment::marker(before))) else { return false };
    let file = folder.read(Place::Audit, &segment::name(&before)).ok();
    file.and_then(|file| last(&file, |sealed| sealed.event() == Some(Event::LogRotated.as_str()))).unwrap_or(false)
}

/// Whether a file holds a whole record, be it without its line end.
fn holds_a_record(folder: &Folder, id: &str) -> bool {
    folder.read(Place::Audit, &segment::name(id)).is_ok_and(|file| has_record(&mut Lines::new(file)))
}

/// The last whole record of a file, and its time.
pub(crate) fn last_record(file: &File) -> Option<(Receipt, Option<Timestamp>)> {
    last(file, |sealed| (Receipt::new(sealed.seq, sealed.hash), sealed.time()))
}

/// What is made of the last whole record of a file, read from its end.
fn last<T>(mut file: &File, read: impl FnOnce(&Sealed<'_>) -> T) -> Option<T> {
    let size = file.metadata().ok()?.len();
    let mut tail = Vec::new();
    // Most records are short.
    for length in [SHORT_TAIL, LONGEST_TAIL] {
        tail.clear();
        file.seek(SeekFrom::Start(size.saturating_sub(length))).ok()?;
        file.take(length).read_to_end(&mut tail).ok()?;
        let whole = tail.iter().rposition(|byte| *byte == b'\n').and_then(|end| tail.get(..end));
        let line = whole.and_then(|whole| whole.rsplit(|byte| *byte == b'\n').next().map(|line| (line, line.len() < whole.len())));
        if let Some((line, is_whole)) = line
            && (is_whole || length >= size)
        {
            return Sealed::read(line).ok().map(|sealed| read(&sealed));
        }
    }
    let whole = tail.iter().rposition(|byte| *byte == b'\n').and_then(|end| tail.get(..end))?;
    let line = whole.rsplit(|byte| *byte == b'\n').next()?;
    Sealed::read(line).ok().map(|sealed| read(&sealed))
}

/// How much of a file's end is read first.
const SHORT_TAIL: u64 = 8 * 1024;

/// More than the longest line, and all that is kept of a torn end.
const LONGEST_TAIL: u64 = 512 * 1024;
