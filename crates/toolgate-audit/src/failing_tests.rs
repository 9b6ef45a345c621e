//! Disks that fill up and fail, and what the log does on them.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jiff::Timestamp;
use rustix::io::Errno;
use serde_json::json;

use super::file::{Disk, Medium};
use super::{Event, Fault, Log, Record, Settings, Sync, verify};

/// What goes wrong, and what was asked of the disk.
#[derive(Debug, Default)]
struct Knobs {
    sync_fails: AtomicBool,
    sync_waits: AtomicBool,
    /// The error of the next appends, after half of the bytes.
    append_fails: AtomicU64,
    truncate_fails: AtomicBool,
    syncs: AtomicU64,
    appends: AtomicU64,
}

#[derive(Debug)]
struct Failing {
    disk: Disk,
    knobs: Arc<Knobs>,
}

impl Medium for Failing {
    fn append(&self, bytes: &[u8]) -> Result<(), Errno> {
        self.knobs.appends.fetch_add(1, Ordering::SeqCst);
        match self.knobs.append_fails.load(Ordering::SeqCst) {
            0 => self.disk.append(bytes),
            error => {
                self.disk.append(&bytes[..bytes.len() / 2])?;
                Err(Errno::from_raw_os_error(i32::try_from(error).unwrap()))
            }
        }
    }

    fn sync(&self) -> Result<(), Errno> {
        self.knobs.syncs.fetch_add(1, Ordering::SeqCst);
        while self.knobs.sync_waits.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        if self.knobs.sync_fails.load(Ordering::SeqCst) { Err(Errno::IO) } else { self.disk.sync() }
    }

    fn truncate(&self, length: u64) -> Result<(), Errno> {
        if self.knobs.truncate_fails.load(Ordering::SeqCst) { Err(Errno::IO) } else { self.disk.truncate(length) }
    }
}

fn open(state: &Path) -> (Log, Arc<Knobs>) {
    let knobs = Arc::new(Knobs::default());
    let shared = Arc::clone(&knobs);
    let wrap = Arc::new(move |file: OwnedFd| -> Arc<dyn Medium> { Arc::new(Failing { disk: Disk(file), knobs: Arc::clone(&shared) }) });
    let log = Log::open_on(state, Settings::default(), Arc::new(Timestamp::now), wrap).unwrap();
    (log, knobs)
}

fn append(log: &Log, event: Event, sync: Sync) -> Result<u64, Fault> {
    log.append(&Record { call: Some("c1"), ..Record::new(event) }, sync).map(|receipt| receipt.seq)
}

#[test]
fn after_a_failed_sync_no_call_begins_and_the_disk_is_not_asked_again() {
    let state = tempfile::tempdir().unwrap();
    let (log, knobs) = open(state.path());
    append(&log, Event::CallStarted, Sync::Durable).unwrap();
    knobs.sync_fails.store(true, Ordering::SeqCst);
    let fault = Fault::Sync { source: Errno::IO };
    assert_eq!(append(&log, Event::ToolDenied, Sync::Durable), Err(fault.clone()));
    let syncs = knobs.syncs.load(Ordering::SeqCst);
    knobs.sync_fails.store(false, Ordering::SeqCst);
    assert!(!log.healthy());
    assert_eq!(append(&log, Event::CallStarted, Sync::Handed), Err(fault.clone()));
    assert_eq!(append(&log, Event::CallFinished, Sync::Durable), Err(fault.clone()));
    assert_eq!(log.close(), Err(fault));
    assert_eq!(knobs.syncs.load(Ordering::SeqCst), syncs, "a failed sync must not be tried again");
}

#[test]
fn a_record_written_by_half_is_taken_back() {
    let state = tempfile::tempdir().unwrap();
    let (log, knobs) = open(state.path());
    knobs.append_fails.store(u64::try_from(Errno::NOSPC.raw_os_error()).unwrap(), Ordering::SeqCst);
    assert_eq!(append(&log, Event::CallStarted, Sync::Handed), Err(Fault::Full));
    knobs.append_fails.store(0, Ordering::SeqCst);
    assert_eq!(append(&log, Event::CallStarted, Sync::Handed), Ok(2));
    log.close().unwrap();
    assert_eq!(verify(state.path(), None).unwrap().broken(), None);
}

#[test]
fn a_failed_write_ends_the_log_and_the_next_start_mends_it() {
    let state = tempfile::tempdir().unwrap();
    let (log, knobs) = open(state.path());
    append(&log, Event::CallStarted, Sync::Handed).unwrap();
    knobs.append_fails.store(u64::try_from(Errno::IO.raw_os_error()).unwrap(), Ordering::SeqCst);
    knobs.truncate_fails.store(true, Ordering::SeqCst);
    let fault = Fault::Write { source: Errno::IO };
    assert_eq!(append(&log, Event::CallStarted, Sync::Handed), Err(fault.clone()));
    knobs.append_fails.store(0, Ordering::SeqCst);
    assert_eq!(append(&log, Event::CallFinished, Sync::Handed), Err(fault), "nothing may follow half a record");
    drop(log);
    assert!(verify(state.path(), None).unwrap().broken().is_some());
    open(state.path()).0.close().unwrap();
    assert_eq!(verify(state.path(), None).unwrap().broken(), None);
}

#[test]
fn sixty_four_callers_share_one_sync() {
    let state = tempfile::tempdir().unwrap();
    let (log, knobs) = open(state.path());
    append(&log, Event::CallStarted, Sync::Durable).unwrap();
    knobs.sync_waits.store(true, Ordering::SeqCst);
    let (syncs, appends) = (knobs.syncs.load(Ordering::SeqCst), knobs.appends.load(Ordering::SeqCst));
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| append(&log, Event::CallStarted, Sync::Durable).unwrap());
        }
        while knobs.appends.load(Ordering::SeqCst) < appends + 64 {
            std::thread::yield_now();
        }
        knobs.sync_waits.store(false, Ordering::SeqCst);
    });
    let syncs = knobs.syncs.load(Ordering::SeqCst) - syncs;
    assert!(syncs <= 3, "{syncs} syncs for 64 records");
}

#[test]
fn a_task_waits_for_the_disk_without_a_thread() {
    let state = tempfile::tempdir().unwrap();
    let (log, knobs) = open(state.path());
    let receipt = log.append(&Record::new(Event::KillOn), Sync::Handed).unwrap();
    assert_eq!(wait(log.durable(receipt)), Ok(()));
    knobs.sync_fails.store(true, Ordering::SeqCst);
    let receipt = log.append(&Record::new(Event::KillOff), Sync::Handed).unwrap();
    assert_eq!(wait(log.durable(receipt)), Err(Fault::Sync { source: Errno::IO }));
}

/// Runs a future to its end on this thread, which sleeps until it is woken.
fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Thread(std::thread::Thread);
    impl std::task::Wake for Thread {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = std::pin::pin!(future);
    let waker = Arc::new(Thread(std::thread::current())).into();
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(done) => return done,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn a_record_too_long_for_a_line_loses_its_extra_fields_not_its_place() {
    let state = tempfile::tempdir().unwrap();
    let (log, _) = open(state.path());
    let extra = json!({"status": "x".repeat(1 << 20)}).as_object().unwrap().clone();
    let name = "t".repeat(1 << 20);
    log.append(&Record { extra, tool: Some(&name), ..Record::new(Event::CallFinished) }, Sync::Handed).unwrap();
    log.close().unwrap();
    let report = verify(state.path(), None).unwrap();
    assert_eq!((report.records, report.broken()), (3, None));
}
