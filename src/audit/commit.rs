//! Who waits for the disk, and how far it is: many callers share one fdatasync(2).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::fault::Fault;

/// The meeting point of the callers and the keeper, the one thread that syncs.
#[derive(Debug, Default)]
pub(crate) struct Commit {
    progress: Mutex<Progress>,
    work: Condvar,
    done: Condvar,
    /// Something was handed to the kernel since the last sync began. Spares callers the lock: only the first of 30 ms takes it.
    dirty: AtomicBool,
}

#[derive(Debug, Default)]
struct Progress {
    durable: u64,
    wanted: u64,
    due: Option<Instant>,
    failed: Option<Fault>,
    stop: bool,
    wakers: Vec<std::task::Waker>,
    /// Threads that wait.
    waiting: usize,
    /// Who waited when the last sync ended.
    company: usize,
}

/// What the keeper is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// Bring everything written to the disk.
    Sync,
    /// The time that was given has come.
    Alarm,
    /// The log is closing.
    Stop,
}

impl Commit {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        // Nothing in here can panic half-way through a change.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was written that must be on disk within 50 ms.
    pub(crate) fn touch(&self) {
        if !self.dirty.swap(true, Ordering::AcqRel) {
            self.lock().due = Some(Instant::now() + LAZY);
            self.work.notify_one();
        }
    }

    /// Waits until the record `seq` is on disk.
    /// # Errors
    /// `Fault::Sync` when the disk did not confirm.
    pub(crate) fn wait(&self, seq: u64) -> Result<(), Fault> {
        let mut progress = self.lock();
        loop {
            if progress.durable >= seq {
                return Ok(());
            }
            if let Some(fault) = &progress.failed {
                return Err(fault.clone());
            }
            if progress.wanted < seq {
                progress.wanted = seq;
                self.work.notify_one();
            }
            progress.waiting += 1;
            progress = self.done.wait(progress).unwrap_or_else(PoisonError::into_inner);
            progress.waiting -= 1;
        }
    }

    /// Waits a moment for those whom the last sync let go and who come again, so that the next one is not for the first of them alone. One
    /// caller alone waits for nobody.
    pub(crate) fn gather(&self) {
        let mut seen = None;
        for _ in 0..MOMENTS {
            let (waiting, company) = {
                let progress = self.lock();
                (progress.waiting + progress.wakers.len(), progress.company)
            };
            if company < 2 || waiting >= company || seen.is_some_and(|seen| waiting <= seen) {
                return;
            }
            seen = Some(waiting);
            std::thread::sleep(MOMENT);
        }
    }

    /// The last record that is on disk.
    pub(crate) fn durable(&self) -> u64 {
        self.lock().durable
    }

    /// As `wait`, for a task.
    pub(crate) fn poll(&self, seq: u64, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let mut progress = self.lock();
        if progress.durable >= seq {
            return Poll::Ready(Ok(()));
        }
        if let Some(fault) = &progress.failed {
            return Poll::Ready(Err(fault.clone()));
        }
        if progress.wanted < seq {
            progress.wanted = seq;
            self.work.notify_one();
        }
        progress.wakers.push(context.waker().clone());
        Poll::Pending
    }

    /// The keeper's wait for work; `alarm`: when to wake it in any case.
    pub(crate) fn next(&self, alarm: Option<Instant>) -> Job {
        let mut progress = self.lock();
        loop {
            if progress.stop {
                return Job::Stop;
            }
            if progress.failed.is_some() {
                progress = self.work.wait(progress).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let now = Instant::now();
            if progress.wanted > progress.durable || progress.due.is_some_and(|due| due <= now) {
                progress.due = None;
                // Before the end of the log is looked at: what is written after that sets it again.
                self.dirty.store(false, Ordering::Release);
                return Job::Sync;
            }
            let until = match (progress.due, alarm) {
                (Some(due), Some(alarm)) => Some(due.min(alarm)),
                (due, alarm) => due.or(alarm),
            };
            match until {
                None => progress = self.work.wait(progress).unwrap_or_else(PoisonError::into_inner),
                Some(until) if until <= now => return Job::Alarm,
                Some(until) => {
                    progress = self.work.wait_timeout(progress, until - now).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// Everything up to `seq` is on disk.
    pub(crate) fn reached(&self, seq: u64) {
        self.tell(|progress| {
            progress.durable = progress.durable.max(seq);
            progress.company = progress.waiting + progress.wakers.len();
        });
    }

    /// The disk will not confirm anything any more.
    pub(crate) fn fail(&self, fault: &Fault) {
        self.tell(|progress| {
            progress.failed.get_or_insert_with(|| fault.clone());
        });
    }

    /// Ends the keeper's work.
    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.work.notify_all();
    }

    fn tell(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.lock();
        change(&mut progress);
        let wakers = std::mem::take(&mut progress.wakers);
        drop(progress);
        self.done.notify_all();
        wakers.into_iter().for_each(std::task::Waker::wake);
    }
}

/// How long, and how often at most, the next of a company is waited for: together less than a quick disk takes for a sync.
const MOMENT: Duration = Duration::from_micros(50);
const MOMENTS: usize = 4;

/// How long a record may wait for company before it is synced; with the sync itself it is on disk within 50 ms.
const LAZY: Duration = Duration::from_millis(30);
