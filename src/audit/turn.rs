//! Where files of the log begin and end: the first record, rotation, the last record.

use std::sync::atomic::Ordering;

use rustix::io::Errno;
use serde_json::{Map, Value, json};

use super::chain::Chain;
use super::fault::Fault;
use super::folder::Place;
use super::record::{Event, Record};
use super::recover::Found;
use super::segment;
use super::shared::{CLOSED, FAILED, FULL, Shared, Writer};
use super::spare;

impl Shared {
    /// The first record of this process's chain.
    /// # Errors
    /// Why it cannot be kept.
    pub(super) fn begin(&self, found: Found) -> Result<(), Fault> {
        self.with_writer(|writer| {
            if writer.chain.keep_reserve(FIRST_ROOM).is_err() {
                // There is room in spare for what an operator does.
                spare::give(&self.folder, 0);
                writer.chain.keep_reserve(FIRST_ROOM)?;
                self.state.store(FULL, Ordering::Release);
            } else if spare::give_when_full(&self.folder) || spare::take(&self.folder, spare::WHOLE) == Err(Fault::Full) {
                self.state.store(FULL, Ordering::Release);
            }
            let now = (self.clock)();
            match self.sign_first(&writer.chain.id, writer.chain.last, now) {
                Err(fault) if fault.is_no_room() => {
                    spare::give(&self.folder, 0);
                    self.sign_first(&writer.chain.id, writer.chain.last, now)?;
                }
                signed => signed?,
            }
            let mut extra = opened(&writer.chain.id);
            extra.insert("pid".to_owned(), json!(std::process::id()));
            extra.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
            extra.insert("links".to_owned(), found.links);
            if !found.broken.is_empty() {
                extra.insert("broken".to_owned(), Value::Array(found.broken));
            }
            if found.is_lost {
                extra.insert(EARLIER.to_owned(), json!("missing"));
            }
            writer.chain.note(now, &Record { extra, ..Record::new(Event::LogOpened) })?;
            for body in found.lost.unknown() {
                writer.chain.put((self.clock)(), &body)?;
            }
            Ok(())
        })?
    }

    /// Goes on in a new file. The new one is made first, so that a full disk is noticed while the old can still be used.
    /// # Errors
    /// Why neither can be used any more.
    pub(super) fn rotate(&self, writer: &mut Writer) -> Result<(), Fault> {
        let number = writer.number.saturating_add(1);
        let id = segment::id_of(&writer.chain.id, number);
        let Some(mut next) = self.next_file(&id, writer)? else { return Ok(()) };
        let extra = [("next".to_owned(), json!(id))].into_iter().collect();
        let end = writer.chain.finish((self.clock)(), Event::LogRotated, extra)?;
        self.commit.reached(end.seq);
        next.last = end;
        let mut extra = opened(&id);
        extra.insert("under_way".to_owned(), writer.under_way.list());
        next.note((self.clock)(), &Record { extra, ..Record::new(Event::LogOpened) })?;
        next.medium.sync().map_err(|source| Fault::Sync { source })?;
        self.folder.sync(Place::Audit)?;
        self.sign_off(&writer.chain.id, end, writer.chain.size, Some(&id))?;
        writer.chain = next;
        writer.number = number;
        Ok(())
    }

    /// The file to go on in. `None`: not now; the old one goes on, with its reserve.
    fn next_file(&self, id: &str, writer: &Writer) -> Result<Option<Chain>, Fault> {
        match segment::create(&self.folder, id, &self.wrap) {
            Ok(mut next) => {
                match next.keep_reserve(FIRST_ROOM).and_then(|()| self.sign_first(id, writer.chain.last, writer.latest)) {
                    Ok(()) => return Ok(Some(next)),
                    Err(fault) if !fault.is_no_room() => return Err(fault),
                    Err(_) => {}
                }
                // INVARIANT: its lock is held until its names are gone, so nobody who looks for dead files can remove a later file of that name.
                segment::discard(&self.folder, id);
                drop(next);
                Ok(None)
            }
            Err(fault) if fault.is_no_room() => Ok(None),
            // Someone who looks for dead files holds it for a moment, and removes it as empty.
            Err(Fault::Folder { source: Errno::WOULDBLOCK | Errno::EXIST, .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The last record and the last head.
    /// # Errors
    /// Why they are not on disk.
    pub(super) fn end(&self) -> Result<(), Fault> {
        let before = self.state.swap(CLOSED, Ordering::AcqRel);
        if before == FAILED {
            return Err(self.fault.get().cloned().unwrap_or(Fault::Closed));
        }
        let end = self.with_writer(|writer| {
            let now = (self.clock)();
            for body in std::mem::take(&mut writer.under_way).unknown() {
                writer.chain.put(now, &body)?;
            }
            let end = writer.chain.finish(now, Event::LogClosed, Map::new())?;
            self.commit.reached(end.seq);
            if before == FULL {
                // What was taken of it is free again.
                let _ = spare::take(&self.folder, spare::LAST);
            }
            self.sign_off(&writer.chain.id, end, writer.chain.size, None)?;
            super::heads::note_begun(&self.folder);
            Ok(())
        });
        // Whoever still waits for the disk is told.
        end.and_then(|end| end).inspect_err(|fault| self.commit.fail(fault))
    }
}

/// What the first record of every file says.
fn opened(id: &str) -> Map<String, Value> {
    [("file".to_owned(), json!(id))].into_iter().collect()
}

/// In the first record of a chain: what became of the log that was here before.
pub(super) const EARLIER: &str = "earlier";

/// What the first records of a file may need on top of the reserve.
const FIRST_ROOM: usize = 64 * 1024;
