//! One file of the log as its writer holds it: the end of the chain, the room set aside, the next line.

use std::sync::Arc;

use jiff::Timestamp;
use rustix::io::Errno;

use super::fault::Fault;
use super::hex::{self, Hex};
use super::line;
use super::medium::Medium;
use super::record::{Event, Record};

/// Where a record stands: its number and its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The record's number in its chain, from 1.
    pub seq: u64,
    hash: Hex,
}

impl Receipt {
    pub(crate) const fn new(seq: u64, hash: Hex) -> Self {
        Self { seq, hash }
    }

    /// The record's hash as 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        hex::text(&self.hash)
    }

    pub(crate) const fn digits(&self) -> &Hex {
        &self.hash
    }
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Chain {
    /// The file's name without its ending.
    pub(crate) id: String,
    pub(crate) medium: Arc<dyn Medium>,
    /// The last record: `seq` 0 and zeros before the first.
    pub(crate) last: Receipt,
    /// The file's length in bytes.
    pub(crate) size: u64,
    /// Up to where room is set aside; `u64::MAX` where the file system cannot.
    reserved: u64,
    line: Vec<u8>,
    /// A part of a line stands at the end and could not be cut off: nothing may follow it.
    torn: bool,
}

impl Chain {
    pub(crate) fn new(id: String, medium: Arc<dyn Medium>, last: Receipt, size: u64) -> Self {
        Self { id, medium, last, size, reserved: size, line: Vec::with_capacity(1024), torn: false }
    }

    /// Appends one record whose body is written; returns when the kernel has it.
    /// # Errors
    /// `Fault::Full` where there is no room for it, `Fault::Write`; the file then ends as before.
    pub(crate) fn put(&mut self, now: Timestamp, body: &[u8]) -> Result<Receipt, Fault> {
        if self.torn {
            return Err(Fault::Write { source: Errno::IO });
        }
        let seq = self.last.seq.saturating_add(1);
        let hash = line::write(&mut self.line, seq, now, body, &self.last.hash);
        if let Err(source) = self.medium.append(&self.line) {
            self.torn = self.medium.truncate(self.size).is_err();
            self.reserved = self.size;
            return Err(if no_room(source) && !self.torn { Fault::Full } else { Fault::Write { source } });
        }
        self.size = self.size.saturating_add(u64::try_from(self.line.len()).unwrap_or(u64::MAX));
        self.last = Receipt { seq, hash };
        Ok(self.last)
    }

    /// Appends a record of the log's own.
    /// # Errors
    /// As `put`.
    pub(crate) fn note(&mut self, now: Timestamp, record: &Record<'_>) -> Result<Receipt, Fault> {
        let mut body = Vec::with_capacity(512);
        record.write_body(&mut body);
        self.put(now, &body)
    }

    /// Whether after `upcoming` more bytes the reserve is still there.
    pub(crate) fn has_reserve(&self, upcoming: usize) -> bool {
        self.size.saturating_add(u64::try_from(upcoming).unwrap_or(u64::MAX)).saturating_add(RESERVE) <= self.reserved
    }

    /// Sees to it that after `upcoming` more bytes the reserve still fits on the disk.
    /// # Errors
    /// `Fault::Full`: what is set aside is kept for records that end something.
    pub(crate) fn keep_reserve(&mut self, upcoming: usize) -> Result<(), Fault> {
        if self.has_reserve(upcoming) {
            return Ok(());
        }
        let wanted = self.size.saturating_add(u64::try_from(upcoming).unwrap_or(u64::MAX)).saturating_add(RESERVE);
        let start = self.reserved.max(self.size);
        match self.medium.reserve(start, wanted.saturating_sub(start).max(RESERVE)) {
            Ok(()) => self.reserved = start.saturating_add(wanted.saturating_sub(start).max(RESERVE)),
            Err(source) if no_room(source) => return Err(Fault::Full),
            // The file system cannot set room aside (EOPNOTSUPP on some network mounts): the log works, without a reserve.
            Err(_) => self.reserved = u64::MAX,
        }
        Ok(())
    }

    /// Ends the file with `event`: gives back what was set aside and waits for the disk.
    /// # Errors
    /// As `put`, and `Fault::Sync`.
    pub(crate) fn finish(
        &mut self,
        now: Timestamp,
        event: Event,
        extra: serde_json::Map<String, serde_json::Value>,
    ) -> Result<Receipt, Fault> {
        let receipt = self.note(now, &Record { extra, ..Record::new(event) })?;
        // Failing to give room back is no reason to doubt the records.
        let _ = self.medium.truncate(self.size);
        self.medium.sync().map_err(|source| Fault::Sync { source })?;
        Ok(receipt)
    }
}

const fn no_room(source: Errno) -> bool {
    matches!(source, Errno::NOSPC | Errno::DQUOT)
}

/// Room kept back on the disk: several thousand records that end something.
const RESERVE: u64 = 1024 * 1024;
