//! What the callers and the keeper share: the end of the chain and the state of the log.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::io::Errno;
use serde_json::json;

use super::chain::{Chain, Receipt};
use super::commit::Commit;
use super::fault::Fault;
use super::folder::Folder;
use super::heads::{self, Keys, LazyKeys};
use super::log::Clock;
use super::record::{Essential, Record};
use super::redact::Redactor;
use super::segment::{self, Wrap};
use super::settings::{Settings, Sync};
use super::spare;
use super::under_way::UnderWay;

/// What the callers and the keeper share.
pub(crate) struct Shared {
    pub(crate) folder: Folder,
    pub(super) keys: LazyKeys,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) commit: Commit,
    pub(super) wrap: Wrap,
    pub(super) redactor: Redactor,
    pub(super) writer: Mutex<Writer>,
    pub(super) state: AtomicU8,
    /// Why the log failed, once it has.
    pub(super) fault: OnceLock<Fault>,
    /// The file whose head may still move.
    pub(super) open_id: Mutex<String>,
    /// When the log was opened, and how many milliseconds after that the disk was looked at last.
    pub(super) begun: Instant,
    pub(super) looked: AtomicU64,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("settings", &self.settings).field("state", &self.state).finish_non_exhaustive()
    }
}

/// The end of the chain, and who is under way.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) chain: Chain,
    pub(super) number: u32,
    pub(super) under_way: UnderWay,
    pub(super) latest: Timestamp,
}

impl Shared {
    /// The keys of this installation: read, or made at its first start.
    /// # Errors
    /// `Fault::Folder`, `Fault::Key`.
    pub(crate) fn keys(&self) -> Result<&Keys, Fault> {
        heads::lazy(&self.keys, &self.folder)
    }

    /// Hands a record to the kernel.
    pub(crate) fn hand(&self, record: &Record<'_>) -> Result<Receipt, Fault> {
        let mut body = Vec::with_capacity(512);
        record.write_body(&mut body);
        if body.len() > LONGEST {
            let extra = json!({ "dropped_bytes": body.len() });
            body.clear();
            Record { result: None, extra: extra.as_object().cloned().unwrap_or_default(), ..record.clone() }.write_body(&mut body);
        }
        self.with_writer(|writer| {
            self.admit(writer, record.is_essential(), body.len())?;
            let now = (self.clock)();
            let put = match writer.chain.put(now, &body) {
                Err(Fault::Full) if record.is_essential() != Essential::No => {
                    spare::give(&self.folder, 0);
                    writer.chain.put(now, &body)
                }
                put => put,
            };
            let receipt = put.inspect_err(|fault| self.broke(fault))?;
            writer.latest = writer.latest.max(now);
            writer.under_way.note(record, receipt.seq);
            Ok(receipt)
        })?
    }

    /// Whether a record may be written in the log's present state; makes room for it.
    fn admit(&self, writer: &mut Writer, essential: Essential, length: usize) -> Result<(), Fault> {
        match self.state.load(Ordering::Acquire) {
            CLOSED => return Err(Fault::Closed),
            // The file may have lost pages, so nothing new is begun; what ends is still worth handing over.
            FAILED if essential == Essential::Ends => return Ok(()),
            FAILED => return Err(self.fault.get().cloned().unwrap_or(Fault::Closed)),
            HEALTHY if self.is_due(writer, length) => self.rotate(writer).inspect_err(|fault| self.broke(fault))?,
            _ => {}
        }
        match self.find_room(writer, length) {
            Err(Fault::Full) if essential != Essential::No => Ok(()),
            other => other,
        }
    }

    fn is_due(&self, writer: &Writer, length: usize) -> bool {
        let after = writer.chain.size.saturating_add(u64::try_from(length).unwrap_or(u64::MAX)).saturating_add(FRAME);
        after > self.settings.rotate.0 && writer.chain.size > FRAME
    }

    /// Keeps the reserve behind `length` more bytes, and notes whether the disk is full: then a part of what is kept in spare is given
    /// back, for what makes room or stops something.
    pub(crate) fn find_room(&self, writer: &mut Writer, length: usize) -> Result<(), Fault> {
        let length = length.saturating_add(1024);
        if writer.chain.has_reserve(length) && !self.is_full() {
            return Ok(());
        }
        let room = spare::take(&self.folder, spare::WHOLE).and_then(|()| writer.chain.keep_reserve(length));
        let (from, to) = if room.is_ok() { (FULL, HEALTHY) } else { (HEALTHY, FULL) };
        // Only between these two: what has failed stays failed.
        let turned = self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        if room.is_err() && turned.is_ok() {
            spare::give(&self.folder, spare::LAST);
            // The keeper looks for room from now on.
            self.commit.touch();
        }
        room
    }

    /// Looks whether the disk is full, at most ten times a second: others fill it without a word to the log.
    pub(crate) fn look(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let looked = self.looked.load(Ordering::Relaxed);
        if now < looked.saturating_add(BETWEEN_LOOKS)
            || self.looked.compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        if spare::give_when_full(&self.folder) {
            self.broke(&Fault::Full);
        }
    }

    /// Whether only the reserve is left.
    pub(crate) fn is_full(&self) -> bool {
        self.state.load(Ordering::Acquire) == FULL
    }

    /// Takes note of a fault: from now on calls are refused.
    pub(crate) fn broke(&self, fault: &Fault) {
        if *fault == Fault::Full {
            let _ = self.state.compare_exchange(HEALTHY, FULL, Ordering::AcqRel, Ordering::Acquire);
            // The keeper looks for room from now on.
            self.commit.touch();
        } else {
            // In this order: whoever is told of the fault finds the log failed, and whoever finds it failed finds the fault.
            let fault = self.fault.get_or_init(|| fault.clone());
            self.state.store(FAILED, Ordering::Release);
            self.commit.fail(fault);
        }
    }

    /// Does something with the end of the chain, alone.
    /// # Errors
    /// `Fault::Write` when a thread died while it had the writer: the chain's end is not known any more.
    pub(crate) fn with_writer<T>(&self, action: impl FnOnce(&mut Writer) -> T) -> Result<T, Fault> {
        match self.writer.lock() {
            Ok(mut writer) => Ok(action(&mut writer)),
            Err(_) => Err(Fault::Write { source: Errno::NOTRECOVERABLE }),
        }
    }

    /// Signs that the file `id` has begun, before its first record: a file with records and without a head has lost it. `after`: the record that
    /// its first one follows. It is on disk before a record is: a loss of power must not look as if it had been taken away.
    /// # Errors
    /// `Fault::Folder`, `Fault::Key`.
    pub(super) fn sign_first(&self, id: &str, after: Receipt, now: Timestamp) -> Result<(), Fault> {
        self.keys()?.sign(&self.folder, id, after, 0, now, Sync::Durable)
    }

    /// Signs where the file `id` ends, for now. Whether that was done.
    /// # Errors
    /// `Fault::Folder`; a full disk is none, for the records have their reserve and the next head makes up for this one.
    pub(crate) fn sign(&self, id: &str, end: Receipt, size: u64) -> Result<bool, Fault> {
        self.sign_with(id, end, size, Sync::Handed, id)
    }

    /// Signs the end of the file `id`, on disk, and gives the file up. On a disk too full for the head the mark of life stays: the next start signs
    /// the file and ends it. `next`: the file that follows.
    /// # Errors
    /// `Fault::Folder`.
    pub(super) fn sign_off(&self, id: &str, end: Receipt, size: u64, next: Option<&str>) -> Result<(), Fault> {
        if self.sign_with(id, end, size, Sync::Durable, next.unwrap_or(id))? { segment::seal(&self.folder, id) } else { Ok(()) }
    }

    fn sign_with(&self, id: &str, end: Receipt, size: u64, sync: Sync, next: &str) -> Result<bool, Fault> {
        let mut open = self.open_id.lock().unwrap_or_else(PoisonError::into_inner);
        // The keeper may come late with an end that is none any more.
        if open.as_str() != id {
            return Ok(false);
        }
        let signed = self.keys().and_then(|keys| keys.sign(&self.folder, id, end, size, (self.clock)(), sync));
        next.clone_into(&mut open);
        match signed {
            Err(fault) if fault.is_no_room() => Ok(false),
            other => other.map(|()| true),
        }
    }
}

pub(super) const HEALTHY: u8 = 0;
pub(super) const FULL: u8 = 1;
pub(super) const FAILED: u8 = 2;
pub(super) const CLOSED: u8 = 3;

/// No body is longer; with its frame it fits the reserve a few times over.
const LONGEST: usize = 192 * 1024;

/// More than the frame of a line (`seq`, `ts`, `prev`, `hash`) and the last record of a file need.
const FRAME: u64 = 1024;

/// Milliseconds between two looks at a disk that may be full.
const BETWEEN_LOOKS: u64 = 100;

/// How often a full disk is looked at again.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(250);
