//! The log of one process: append, and nothing else.

use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use rustix::io::Errno;
use serde_json::{Map, Value, json};

use super::chain::{Chain, Receipt};
use super::commit::Commit;
use super::fault::Fault;
use super::folder::{Folder, Place};
use super::heads::{self, Keys, LazyKeys};
use super::medium::Disk;
use super::record::{Event, Record};
use super::redact::{Redacted, Redactor};
use super::segment::{self, Wrap};
use super::settings::{Settings, Sync};
use super::under_way::UnderWay;
use super::{keeper, recover};

/// Tells the time. The command line passes the system's; tests pass their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + std::marker::Sync>;

/// The log of this process: its own chain in its own file, shared by all threads.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl Log {
    /// Opens the log in the state directory: recovers what dead processes left, and begins a file of its own.
    /// # Errors
    /// Why no record can be kept; no call may be made then.
    pub fn open(state: &Path, settings: Settings, clock: Clock) -> Result<Self, Fault> {
        Self::open_on(state, settings, clock, Arc::new(|file| Arc::new(Disk(file))))
    }

    /// As `open`, on disks that `wrap` makes of the files.
    pub(crate) fn open_on(state: &Path, settings: Settings, clock: Clock, wrap: Wrap) -> Result<Self, Fault> {
        let folder = Folder::create(state)?;
        let keys = OnceLock::new();
        let found = recover::all(&folder, &keys, &clock)?;
        let chain = segment::fresh_chain(&folder, clock(), &wrap)?;
        let id = chain.id.clone();
        let redactor = Redactor::new(&settings);
        let writer = Writer { chain, number: 1, under_way: UnderWay::default(), latest: found.latest.unwrap_or(Timestamp::UNIX_EPOCH) };
        let shared = Arc::new(Shared {
            folder,
            keys,
            settings,
            clock,
            wrap,
            redactor,
            writer: Mutex::new(writer),
            commit: Commit::default(),
            state: AtomicU8::new(HEALTHY),
            fault: OnceLock::new(),
            open_id: Mutex::new(id),
        });
        shared.begin(found)?;
        let thread = Arc::clone(&shared);
        let keeper = std::thread::Builder::new().name("audit".to_owned()).spawn(move || keeper::run(&thread));
        let keeper = keeper.map_err(|_| Fault::Write { source: Errno::AGAIN })?;
        shared.commit.touch();
        Ok(Self { shared, keeper: Mutex::new(Some(keeper)) })
    }

    /// Appends a record. Returns when it is in the kernel, or on disk.
    /// # Errors
    /// Why it is not; then whatever it announces must not happen.
    pub fn append(&self, record: &Record<'_>, sync: Sync) -> Result<Receipt, Fault> {
        let receipt = self.shared.hand(record)?;
        match sync {
            Sync::Handed => self.shared.commit.touch(),
            Sync::Durable => self.shared.commit.wait(receipt.seq)?,
        }
        Ok(receipt)
    }

    /// Resolves when the record is on disk: `append` with `Sync::Handed`, then this, keeps no thread waiting.
    /// # Errors
    /// `Fault::Sync` when the disk did not confirm.
    pub async fn durable(&self, receipt: Receipt) -> Result<(), Fault> {
        std::future::poll_fn(|context| self.shared.commit.poll(receipt.seq, context)).await
    }

    /// Whether a call's start could be recorded now. Cheap: one load.
    pub fn healthy(&self) -> bool {
        self.shared.state.load(Ordering::Acquire) == HEALTHY
    }

    /// The form of `args` that may be recorded.
    pub fn redact(&self, args: &Map<String, Value>) -> Redacted {
        self.shared.redactor.redact(args, &|| self.shared.keys().ok().map(|keys| &keys.secret))
    }

    /// The keyed hash that stands for a secret `value` in the log, for looking it up.
    /// # Errors
    /// `Fault::Key` where the installation's key cannot be read.
    pub fn keyed(&self, value: &str) -> Result<String, Fault> {
        Ok(self.shared.keys()?.secret.keyed(value.as_bytes()))
    }

    /// What the manifest says about the log.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The later of now and the last record's time: a clock that was set back does not extend what expires.
    pub fn now(&self) -> Timestamp {
        self.shared.with_writer(|writer| writer.latest).unwrap_or(Timestamp::UNIX_EPOCH).max((self.shared.clock)())
    }

    /// Ends the log: calls under way are `unknown`, the last record and the signed head are on disk. Later appends are refused. Twice is harmless.
    /// # Errors
    /// Why the end is not on disk.
    pub fn close(&self) -> Result<(), Fault> {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(keeper) = keeper else { return Ok(()) };
        self.shared.commit.stop();
        // A keeper that panicked has nothing left to say; the end below is written all the same.
        let _ = keeper.join();
        self.shared.end()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // An end that cannot be written is found and made up by the next start.
        let _ = self.close();
    }
}

/// What the callers and the keeper share.
pub(crate) struct Shared {
    pub(crate) folder: Folder,
    keys: LazyKeys,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) commit: Commit,
    wrap: Wrap,
    redactor: Redactor,
    writer: Mutex<Writer>,
    state: AtomicU8,
    /// Why the log failed, once it has.
    fault: OnceLock<Fault>,
    /// The file whose head may still move.
    open_id: Mutex<String>,
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
    number: u32,
    under_way: UnderWay,
    latest: Timestamp,
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
        let _ = self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
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

    /// The first record of this process's chain.
    fn begin(&self, found: recover::Found) -> Result<(), Fault> {
        self.with_writer(|writer| {
            writer.chain.keep_reserve(FIRST_ROOM)?;
            let mut extra = opened(&writer.chain.id);
            extra.insert("pid".to_owned(), json!(std::process::id()));
            extra.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
            extra.insert("links".to_owned(), found.links);
            if !found.broken.is_empty() {
                extra.insert("broken".to_owned(), Value::Array(found.broken));
            }
            writer.chain.note((self.clock)(), &Record { extra, ..Record::new(Event::LogOpened) })?;
            for body in found.lost.unknown() {
                writer.chain.put((self.clock)(), &body)?;
            }
            Ok(())
        })?
    }

    /// Goes on in a new file. The new one is made first, so that a full disk is noticed while the old can still be used.
    fn rotate(&self, writer: &mut Writer) -> Result<(), Fault> {
        let number = writer.number.saturating_add(1);
        let id = segment::id_of(&writer.chain.id, number);
        let mut next =
            match segment::create(&self.folder, &id, &self.wrap).and_then(|mut next| next.keep_reserve(FIRST_ROOM).map(|()| next)) {
                Ok(next) => next,
                Err(fault) => {
                    segment::discard(&self.folder, &id);
                    // No room for a new file: the old one goes on, with its reserve.
                    return if fault == Fault::Full { Ok(()) } else { Err(fault) };
                }
            };
        let extra = [("next".to_owned(), json!(id))].into_iter().collect();
        let end = writer.chain.finish((self.clock)(), Event::LogRotated, extra)?;
        self.commit.reached(end.seq);
        next.last = end;
        let mut extra = opened(&id);
        extra.insert("under_way".to_owned(), writer.under_way.list());
        next.note((self.clock)(), &Record { extra, ..Record::new(Event::LogOpened) })?;
        next.medium.sync().map_err(|source| Fault::Sync { source })?;
        self.folder.sync(Place::Audit)?;
        self.sign(&writer.chain.id, end, writer.chain.size, Some(&id))?;
        segment::seal(&self.folder, &writer.chain.id)?;
        writer.chain = next;
        writer.number = number;
        Ok(())
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

    /// The last record and the last head.
    fn end(&self) -> Result<(), Fault> {
        let before = self.state.swap(CLOSED, Ordering::AcqRel);
        if before == FAILED {
            return Err(self.fault.get().cloned().unwrap_or(Fault::Closed));
        }
        self.with_writer(|writer| {
            let now = (self.clock)();
            for body in std::mem::take(&mut writer.under_way).unknown() {
                writer.chain.put(now, &body)?;
            }
            let end = writer.chain.finish(now, Event::LogClosed, Map::new()).inspect_err(|fault| self.commit.fail(fault))?;
            self.commit.reached(end.seq);
            self.sign(&writer.chain.id, end, writer.chain.size, None)?;
            segment::seal(&self.folder, &writer.chain.id)
        })?
    }
}

/// What the first record of every file says.
fn opened(id: &str) -> Map<String, Value> {
    [("file".to_owned(), json!(id))].into_iter().collect()
}

const HEALTHY: u8 = 0;
const FULL: u8 = 1;
const FAILED: u8 = 2;
const CLOSED: u8 = 3;

/// No body is longer; with its frame it fits the reserve a few times over.
const LONGEST: usize = 192 * 1024;

/// More than the frame of a line (`seq`, `ts`, `prev`, `hash`) and the last record of a file need.
const FRAME: u64 = 1024;

/// What the first records of a file may need on top of the reserve.
const FIRST_ROOM: usize = 64 * 1024;

/// How often a full disk is looked at again.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(1);
