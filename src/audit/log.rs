//! The log of one process: append, and nothing else.

use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use jiff::Timestamp;
use rustix::io::Errno;
use serde_json::{Map, Value};

use super::chain::Receipt;
use super::commit::Commit;
use super::fault::Fault;
use super::folder::Folder;
use super::medium::Disk;
use super::record::Record;
use super::redact::{Redacted, Redactor};
use super::segment::{self, Wrap};
use super::settings::{Settings, Sync};
use super::shared::{HEALTHY, Shared, Writer};
use super::under_way::UnderWay;
use super::{keeper, recover, spare};

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
        let chain = match segment::fresh_chain(&folder, clock(), &wrap) {
            Err(fault) if fault.is_no_room() => {
                spare::give(&folder, 0);
                segment::fresh_chain(&folder, clock(), &wrap)?
            }
            made => made?,
        };
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
            begun: Instant::now(),
            looked: AtomicU64::new(0),
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

    /// Looks whether the disk is full, now and then.
    pub fn look(&self) {
        self.shared.look();
    }

    /// Whether only such calls can be recorded that make room.
    pub fn is_full(&self) -> bool {
        self.shared.is_full()
    }

    /// Records that are in the kernel and not known to be on disk.
    pub fn lag(&self) -> u64 {
        let written = self.shared.with_writer(|writer| writer.chain.last.seq).unwrap_or(0);
        written.saturating_sub(self.shared.commit.durable())
    }

    /// The form of `args` that may be recorded.
    pub fn redact(&self, args: &Map<String, Value>) -> Redacted {
        self.shared.redactor.redact(args, &|| self.shared.keys().ok().map(|keys| &keys.secret))
    }

    /// A text as a record may hold it: each secret in it as its kind, its length and its keyed hash.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        self.shared.redactor.text(None, text, &|| self.shared.keys().ok().map(|keys| &keys.secret)).into_owned()
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

    /// The inside, for the tests of its parts.
    #[cfg(test)]
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
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
