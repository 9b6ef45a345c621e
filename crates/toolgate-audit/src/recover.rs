//! What dead processes left: the end of each chain is put in order, and what was under way is marked `unknown`.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use rustix::io::Errno;
use serde_json::{Value, json};

use super::chain::{Lines, Receipt, Rest, Scanned, Sealed, scan};
use super::fault::Fault;
use super::file::{self, Disk, Folder, Medium as _};
use super::record::{Event, Record};
use super::under_way::UnderWay;
use super::writer::{Clock, Tail};

/// What the first record of a new chain tells about others.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The ones that are broken; they are left as they are.
    pub(crate) broken: Vec<Value>,
    /// Calls under way in them.
    pub(crate) lost: UnderWay,
}

/// Puts in order what dead processes left.
/// # Errors
/// `Fault::Folder`, and whatever a record of the recovery cannot be written for.
pub(crate) fn all(folder: &Folder, clock: &Clock) -> Result<Found, Fault> {
    let mut found = Found::default();
    for (chain, ids) in folder.chains()? {
        let marks = folder.marks(&chain, &ids);
        if marks.is_empty() {
            continue;
        }
        match one(folder, clock, &marks, ids.into_iter().collect(), &mut found) {
            // A file that cannot even be opened is one that `verify` reports; the log of this process does not depend on it.
            Err(Fault::Folder { .. }) => found.broken.push(json!({"file": chain, "after_seq": 0, "why": "it cannot be opened"})),
            done => done?,
        }
    }
    Ok(found)
}

fn one(folder: &Folder, clock: &Clock, marks: &[String], mut ids: Vec<String>, found: &mut Found) -> Result<(), Fault> {
    let Some(_locks) = folder.lock(marks)? else { return Ok(()) };
    // Another start may have ended it between the listing and the lock; its process may have gone on in another file and died.
    if !marks.iter().all(|id| folder.exists(&file::marker(id))) {
        return Ok(());
    }
    while let Some(next) = ids.last().and_then(|id| folder.next(id)) {
        ids.push(next);
    }
    let (mut under_way, mut event, mut last) = (UnderWay::default(), None, None);
    for (at, id) in ids.iter().enumerate() {
        let before = last.or_else(|| id.ends_with(".000001").then_some(Receipt::START));
        let file = folder.append(&file::name(id))?;
        let mut reader = folder.read(&file::name(id))?;
        let scanned = scan(&reader, before, |sealed, _| {
            under_way.note(sealed.seq, sealed.body());
            event = sealed.event().map(str::to_owned);
        });
        last = Some(scanned.last);
        let is_last = at + 1 == ids.len();
        if is_broken(&mut reader, &scanned, is_last) {
            let why = "a record in its middle is not what its hash says";
            found.broken.push(json!({"file": id, "after_seq": scanned.last.seq, "why": why}));
            found.lost.absorb(under_way);
            break;
        }
        if is_last {
            let (mut tail, dropped) = mend(folder, id, Disk(file), &mut reader, &scanned)?;
            if event.as_deref() != Some(Event::LogClosed.as_str()) {
                // It names its file, for it is the first record where even that was torn.
                let extra = json!({"file": id, "dropped_bytes": dropped, "unknown": under_way.len()});
                tail.note(clock(), &Record::of(Event::LogRecovered, extra))?;
                for body in std::mem::take(&mut under_way).unknown() {
                    tail.put(clock(), &body)?;
                }
                tail.note(clock(), &Record::new(Event::LogClosed))?;
            }
            tail.medium.sync().map_err(|source| Fault::Sync { source })?;
        }
    }
    marks.iter().try_for_each(|id| folder.remove(&file::marker(id)))
}

/// Whether more than the end is damaged: a crash tears the end of the last file off, it does not damage the middle.
fn is_broken(file: &mut std::fs::File, scanned: &Scanned, is_last: bool) -> bool {
    match scanned.rest {
        Rest::Nothing => false,
        Rest::Unended(_) | Rest::Part => !is_last,
        Rest::Unreadable => true,
        Rest::Wrong(_) => !is_last || file.seek(SeekFrom::Start(scanned.good)).is_err() || has_record(&mut Lines::new(file)),
    }
}

/// Whether one of the lines is a whole record.
fn has_record<R: std::io::Read>(lines: &mut Lines<R>) -> bool {
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

/// Makes a file end with its last whole record. What is cut off is kept beside it first; its length is told.
fn mend(folder: &Folder, id: &str, disk: Disk, reader: &mut std::fs::File, scanned: &Scanned) -> Result<(Tail, usize), Fault> {
    let failed = |source| Fault::Write { source };
    let (mut last, mut size, mut cut) = (scanned.last, scanned.good, Vec::new());
    match scanned.rest {
        Rest::Nothing | Rest::Unreadable => {}
        Rest::Unended(receipt) => {
            disk.append(b"\n").map_err(failed)?;
            (last, size) = (receipt, reader.metadata().map_or(size, |data| data.len()));
        }
        Rest::Part | Rest::Wrong(_) => {
            let read = reader.seek(SeekFrom::Start(size)).and_then(|_| reader.take(LONGEST_TAIL).read_to_end(&mut cut));
            read.map_err(|_| failed(Errno::IO))?;
            let kept = Disk(folder.make(&file::torn(id))?);
            // What a start kept that died before it had cut the file is replaced.
            kept.truncate(0).and_then(|()| kept.append(&cut)).and_then(|()| kept.sync()).map_err(failed)?;
            disk.truncate(size).map_err(failed)?;
        }
    }
    Ok((Tail::new(id.to_owned(), Arc::new(disk), last, size), cut.len()))
}

/// All that is kept of a torn end; more than the longest line.
const LONGEST_TAIL: u64 = 512 * 1024;
