//! What the callers and the keeper share: the end of the chain and the state of the log.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rustix::io::Errno;
use serde_json::json;

use super::chain::{Chain, Receipt};
use super::commit::Commit;
use super::fault::Fault;
use super::folder::Folder;
use super::heads::{self, Keys, LazyKeys};
use super::log::Clock;
use super::record::{Event, Record};
use super::redact::Redactor;
use super::segment::Wrap;
use super::settings::Settings;
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
    /// The keys of this installation: read, or made, when they are first needed, so that a start does not wait for the disk.
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
            self.admit(writer, record.event, body.len())?;
            let now = (self.clock)();
            let receipt = writer.chain.put(now, &body).inspect_err(|fault| self.broke(fault))?;
            writer.latest = writer.latest.max(now);
            writer.under_way.note(record, receipt.seq);
            Ok(receipt)
        })?
    }

    /// Whether a record of this event may be written in the log's present state; makes room for it.
    fn admit(&self, writer: &mut Writer, event: Event, length: usize) -> Result<(), Fault> {
        match self.state.load(Ordering::Acquire) {
            CLOSED => return Err(Fault::Closed),
            // The file may have lost pages, so nothing new is begun; what ends is still worth handing over.
            FAILED if event.is_essential() => return Ok(()),
            FAILED => return Err(self.fault.get().cloned().unwrap_or(Fault::Closed)),
            HEALTHY if self.is_due(writer, length) => self.rotate(writer).inspect_err(|fault| self.broke(fault))?,
            _ => {}
        }
        match self.find_room(writer, length) {
            Err(Fault::Full) if event.is_essential() => Ok(()),
            other => other,
        }
    }

    fn is_due(&self, writer: &Writer, length: usize) -> bool {
        let after = writer.chain.size.saturating_add(u64::try_from(length).unwrap_or(u64::MAX)).saturating_add(FRAME);
        after > self.settings.rotate.0 && writer.chain.size > FRAME
    }

    /// Keeps the reserve behind `length` more bytes, and notes whether the disk is full.
    pub(crate) fn find_room(&self, writer: &mut Writer, length: usize) -> Result<(), Fault> {
        let room = writer.chain.keep_reserve(length.saturating_add(1024));
        let (from, to) = if room.is_ok() { (FULL, HEALTHY) } else { (HEALTHY, FULL) };
        // Only between these two: what has failed stays failed.
        let turned = self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        if room.is_err() && turned.is_ok() {
            // The keeper looks for room from now on.
            self.commit.touch();
        }
        room
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

    /// Signs where the file `id` ends. `next`: the file that follows it; then, and when the log closes, this was its last head.
    /// # Errors
    /// `Fault::Folder`; a full disk is none, for the records have their reserve and the next head makes up for this one.
    pub(crate) fn sign(&self, id: &str, end: Receipt, size: u64, next: Option<&str>) -> Result<(), Fault> {
        let mut open = self.open_id.lock().unwrap_or_else(PoisonError::into_inner);
        // The keeper may come late with an end that is none any more.
        if open.as_str() != id {
            return Ok(());
        }
        let signed = self.keys().and_then(|keys| keys.sign(&self.folder, id, end, size, (self.clock)()));
        next.unwrap_or(id).clone_into(&mut open);
        match signed {
            Err(fault) if fault.is_no_room() => Ok(()),
            other => other,
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

/// How often a full disk is looked at again.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(250);
