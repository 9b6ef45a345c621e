//! The log of one process: append, and nothing else. A second thread waits for the disk and removes what is too old.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use jiff::{SignedDuration, Timestamp};
use rustix::io::Errno;
use serde_json::{Map, Value, json};

use super::chain::{self, Receipt, Rest, scan};
use super::commit::Commit;
use super::fault::Fault;
use super::file::{self, Disk, Folder, Lock, Medium, Wrap};
use super::record::{Event, Record};
use super::recover;
use super::settings::{Redacted, Settings, Sync};
use super::under_way::UnderWay;

/// Tells the time. The command line passes the system's; tests pass their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + std::marker::Sync>;

/// The log of this process: its own chain in its own files, shared by all threads.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

/// What the callers share with the thread that syncs.
struct Shared {
    folder: Folder,
    settings: Settings,
    clock: Clock,
    commit: Commit,
    wrap: Wrap,
    writer: Mutex<Writer>,
    /// Why nothing more is recorded.
    fault: OnceLock<Fault>,
}

/// The end of the chain, and which calls are under way.
#[derive(Debug)]
struct Writer {
    tail: Tail,
    under_way: UnderWay,
    /// The file has its last record; what comes next begins another one.
    is_over: bool,
    /// Held while this process writes the chain.
    mark: Option<Lock>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("settings", &self.settings).field("fault", &self.fault).finish_non_exhaustive()
    }
}

impl Log {
    /// Opens the log in the state directory: recovers what dead processes left, and begins a chain of its own.
    /// # Errors
    /// Why no record can be kept; no call may be made then.
    pub fn open(state: &Path, settings: Settings, clock: Clock) -> Result<Self, Fault> {
        Self::open_on(state, settings, clock, Arc::new(|file| Arc::new(Disk(file))))
    }

    /// As `open`, on disks that `wrap` makes of the files.
    pub(crate) fn open_on(state: &Path, settings: Settings, clock: Clock, wrap: Wrap) -> Result<Self, Fault> {
        let folder = Folder::create(state)?;
        // Earlier versions kept 5 MiB there for a full disk.
        let _ = folder.remove("spare");
        let found = recover::all(&folder, &clock)?;
        let (chain, mark) = folder.begin(clock())?;
        let id = file::file_id(&chain, 1);
        let begun = begin(&folder, &id, &wrap, &clock, found).inspect_err(|_| {
            // An empty file is recovered as one whose process died; what cannot be removed is left to that.
            let _ = folder.remove(&file::name(&id)).and_then(|()| folder.remove(&file::marker(&id)));
        });
        let writer = Writer { tail: begun?, under_way: UnderWay::default(), is_over: false, mark: Some(mark) };
        let (writer, fault, commit) = (Mutex::new(writer), OnceLock::new(), Commit::default());
        let shared = Arc::new(Shared { folder, settings, clock, commit, wrap, writer, fault });
        let thread = Arc::clone(&shared);
        let keeper = std::thread::Builder::new().name("audit".to_owned()).spawn(move || thread.keep());
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

    /// Whether a call's start could be recorded now, as far as is known. Cheap: one load.
    pub fn healthy(&self) -> bool {
        self.shared.fault.get().is_none()
    }

    /// Records that are in the kernel and not known to be on disk.
    pub fn lag(&self) -> u64 {
        let written = self.shared.writer().map_or(0, |writer| writer.tail.last.seq);
        written.saturating_sub(self.shared.commit.durable())
    }

    /// The form of `args` that may be recorded.
    pub fn redact(&self, args: &Map<String, Value>) -> Redacted {
        let redact = self.shared.settings.redact.as_ref();
        Redacted::new(&redact.map_or_else(|| json!({}), |redact| redact.arguments(args)))
    }

    /// A text as a record may hold it: each secret in it as its kind, its length and its keyed hash.
    pub fn without_secrets(&self, text: &str) -> String {
        self.shared.settings.redact.as_ref().map(|redact| redact.text(text).into_owned()).unwrap_or_default()
    }

    /// Ends the log: calls under way are `unknown`, the last record is on disk. Later appends are refused. Twice is harmless.
    /// # Errors
    /// Why the end is not on disk.
    pub fn close(&self) -> Result<(), Fault> {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(keeper) = keeper else { return Ok(()) };
        self.shared.commit.stop();
        // A thread that panicked has nothing left to say; the end below is written all the same.
        let _ = keeper.join();
        // A task that still waits for the disk is told.
        self.shared.end().inspect_err(|fault| self.shared.broke(fault))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // An end that cannot be written is found and made up by the next start.
        let _ = self.close();
    }
}

/// The first records of a chain.
fn begin(folder: &Folder, id: &str, wrap: &Wrap, clock: &Clock, found: recover::Found) -> Result<Tail, Fault> {
    let mut tail = Tail::new(id.to_owned(), wrap(folder.make(&file::name(id))?), Receipt::START, 0);
    let mut extra = json!({"file": id, "pid": std::process::id(), "version": env!("CARGO_PKG_VERSION")});
    if let (false, Some(fields)) = (found.broken.is_empty(), extra.as_object_mut()) {
        fields.insert("broken".to_owned(), Value::Array(found.broken));
    }
    tail.note(clock(), &Record::of(Event::LogOpened, extra))?;
    for body in found.lost.unknown() {
        tail.put(clock(), &body)?;
    }
    Ok(tail)
}

impl Shared {
    /// The end of the chain, for one thread alone.
    /// # Errors
    /// `Fault::Write` when a thread died while it had the writer: the chain's end is not known any more.
    fn writer(&self) -> Result<MutexGuard<'_, Writer>, Fault> {
        self.writer.lock().map_err(|_| Fault::Write { source: Errno::NOTRECOVERABLE })
    }

    /// Takes note of a fault: from now on calls are refused.
    fn broke(&self, fault: &Fault) {
        self.commit.fail(self.fault.get_or_init(|| fault.clone()));
    }

    /// Hands a record to the kernel.
    fn hand(&self, record: &Record<'_>) -> Result<Receipt, Fault> {
        let mut body = Vec::with_capacity(512);
        record.write_body(&mut body);
        if body.len() > LONGEST {
            let extra = [("dropped_bytes".to_owned(), json!(body.len()))].into_iter().collect();
            body.clear();
            Record { result: None, extra, ..record.clone() }.write_body(&mut body);
        }
        let mut writer = self.writer()?;
        if let Some(fault) = self.fault.get() {
            return Err(fault.clone());
        }
        let put = self.rotate_when_due(&mut writer, body.len()).and_then(|()| writer.tail.put((self.clock)(), &body));
        // A full disk may have room the next time; nothing else is tried again.
        let receipt = put.inspect_err(|fault| {
            if !fault.is_no_room() {
                self.broke(fault);
            }
        })?;
        writer.under_way.note(receipt.seq, &body);
        Ok(receipt)
    }

    /// Goes on in a new file where `length` more bytes are too many for this one.
    fn rotate_when_due(&self, writer: &mut Writer, length: usize) -> Result<(), Fault> {
        let after = writer.tail.size.saturating_add(u64::try_from(length).unwrap_or(u64::MAX)).saturating_add(FRAME);
        if !writer.is_over && (after <= self.settings.rotate || writer.tail.size <= FRAME) {
            return Ok(());
        }
        let Some((chain, number)) = file::split(&writer.tail.id) else { return Ok(()) };
        let id = file::file_id(chain, number.saturating_add(1));
        if !writer.is_over {
            writer.tail.note((self.clock)(), &Record::of(Event::LogRotated, json!({"next": id})))?;
            writer.is_over = true;
        }
        // The other thread syncs the new file alone from now on.
        writer.tail.medium.sync().map_err(|source| Fault::Sync { source })?;
        let mut next = Tail::new(id.clone(), (self.wrap)(self.folder.make(&file::name(&id))?), writer.tail.last, 0);
        next.note((self.clock)(), &Record::of(Event::LogOpened, json!({"file": id})))?;
        (writer.tail, writer.is_over) = (next, false);
        Ok(())
    }

    /// Brings to the disk what was handed over, until the log closes.
    fn keep(&self) {
        let mut named = String::new();
        while self.commit.next() {
            if let Err(fault) = self.sync(&mut named) {
                self.broke(&fault);
            }
        }
    }

    /// One fdatasync(2). `named`: the file whose name is on disk, too.
    fn sync(&self, named: &mut String) -> Result<(), Fault> {
        let (medium, id, last, is_whole) = {
            let Writer { tail, .. } = &*self.writer()?;
            (Arc::clone(&tail.medium), tail.id.clone(), tail.last, tail.medium.is_whole(&self.folder, &tail.id, tail.size))
        };
        // What is written to a file that was taken away, alone or with its folder, or behind what another process wrote, is no record.
        if !is_whole || !self.folder.is_in_place() {
            return Err(Fault::Changed);
        }
        medium.sync().map_err(|source| Fault::Sync { source })?;
        let is_new = *named != id;
        if is_new {
            self.folder.sync()?;
        }
        self.commit.reached(last.seq);
        if is_new {
            *named = id;
            self.expire()?;
        }
        Ok(())
    }

    /// Removes files whose last record is older than `keep`, but the last one of a chain that is not ended. What is removed is recorded, on disk, before it
    /// goes: `verify` misses every other file.
    fn expire(&self) -> Result<(), Fault> {
        let keep = SignedDuration::try_from(self.settings.keep).unwrap_or(SignedDuration::MAX);
        let Ok(limit) = (self.clock)().checked_sub(keep) else { return Ok(()) };
        let mut old = Vec::new();
        for (chain, mut ids) in self.folder.chains()? {
            // A file is never older than its name says, so most are passed over without a look into them.
            if begun(&chain).is_none_or(|begun| begun > limit) {
                continue;
            }
            if !self.folder.marks(&chain, &ids).is_empty() {
                ids.pop_last();
            }
            for id in ids {
                let Ok(file) = self.folder.read(&file::name(&id)) else { continue };
                let mut time = None;
                let scanned = scan(file, None, |sealed, _| time = sealed.time());
                if scanned.rest == Rest::Nothing && time.is_some_and(|time| time < limit) {
                    let extra = json!({"file": id, "last_seq": scanned.last.seq, "last_hash": scanned.last.hash()});
                    self.hand(&Record::of(Event::LogExpired, extra))?;
                    old.push(id);
                }
            }
        }
        if old.is_empty() {
            return Ok(());
        }
        let medium = Arc::clone(&self.writer()?.tail.medium);
        medium.sync().map_err(|source| Fault::Sync { source })?;
        old.iter().flat_map(|id| [file::name(id), file::torn(id)]).try_for_each(|name| self.folder.remove(&name))
    }

    /// The last record.
    /// # Errors
    /// Why it is not on disk.
    fn end(&self) -> Result<(), Fault> {
        let mut writer = self.writer()?;
        // Given back however this ends: where the mark stays, the next start puts the chain in order.
        let _mark = writer.mark.take();
        if let Some(fault) = self.fault.get() {
            return Err(fault.clone());
        }
        let now = (self.clock)();
        let bodies = std::mem::take(&mut writer.under_way).unknown();
        let tail = &mut writer.tail;
        bodies.into_iter().try_for_each(|body| tail.put(now, &body).map(drop))?;
        let end = tail.note(now, &Record::new(Event::LogClosed))?;
        tail.medium.sync().map_err(|source| Fault::Sync { source })?;
        self.commit.reached(end.seq);
        let _ = self.fault.set(Fault::Closed);
        self.folder.remove(&file::marker(&file::file_id(file::chain_of(&tail.id), 1)))
    }
}

/// When a chain began, from its name.
fn begun(chain: &str) -> Option<Timestamp> {
    let (date, clock) = chain.split_once("Z-")?.0.split_once('T')?;
    format!("{date}T{clock}Z").parse().ok()
}

/// A file of the log as it is written.
#[derive(Debug)]
pub(crate) struct Tail {
    /// The file's name without its ending.
    pub(crate) id: String,
    pub(crate) medium: Arc<dyn Medium>,
    /// The last record.
    pub(crate) last: Receipt,
    /// The file's length in bytes.
    pub(crate) size: u64,
    line: Vec<u8>,
    /// A part of a line stands at the end and could not be cut off: nothing may follow it.
    torn: bool,
}

impl Tail {
    pub(crate) fn new(id: String, medium: Arc<dyn Medium>, last: Receipt, size: u64) -> Self {
        Self { id, medium, last, size, line: Vec::with_capacity(1024), torn: false }
    }

    /// Appends one record whose body is written; returns when the kernel has it.
    /// # Errors
    /// `Fault::Full` where there is no room for it, `Fault::Write`; the file then ends as before.
    pub(crate) fn put(&mut self, now: Timestamp, body: &[u8]) -> Result<Receipt, Fault> {
        if self.torn {
            return Err(Fault::Write { source: Errno::IO });
        }
        let seq = self.last.seq.saturating_add(1);
        let hash = chain::write(&mut self.line, seq, now, body, &self.last.hash);
        if let Err(source) = self.medium.append(&self.line) {
            self.torn = self.medium.truncate(self.size).is_err();
            let is_full = matches!(source, Errno::NOSPC | Errno::DQUOT) && !self.torn;
            return Err(if is_full { Fault::Full } else { Fault::Write { source } });
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
}

/// No body is longer.
const LONGEST: usize = 192 * 1024;

/// More than the frame of a line (`seq`, `ts`, `prev`, `hash`) and the last record of a file need.
const FRAME: u64 = 1024;
