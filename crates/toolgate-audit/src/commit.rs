//! Which records are on disk, and the callers that wait for theirs: many share one fdatasync(2).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::fault::Fault;

/// What the callers and the one thread that syncs share.
#[derive(Debug, Default)]
pub(crate) struct Commit {
    progress: Mutex<Progress>,
    work: Condvar,
    done: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    durable: u64,
    wanted: u64,
    due: Option<Instant>,
    failed: Option<Fault>,
    stop: bool,
    wakers: Vec<std::task::Waker>,
}

impl Commit {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        // Nothing in here can panic half-way through a change.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was written that must be on disk within 50 ms.
    pub(crate) fn touch(&self) {
        let mut progress = self.lock();
        if progress.due.is_none() {
            progress.due = Some(Instant::now() + LAZY);
            self.work.notify_one();
        }
    }

    /// Waits until the record `seq` is on disk.
    /// # Errors
    /// `Fault::Sync` when the disk did not confirm.
    pub(crate) fn wait(&self, seq: u64) -> Result<(), Fault> {
        let mut progress = self.lock();
        loop {
            match self.ask(&mut progress, seq) {
                Some(answer) => return answer,
                None => progress = self.done.wait(progress).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// As `wait`, for a task.
    pub(crate) fn poll(&self, seq: u64, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        let mut progress = self.lock();
        let Some(answer) = self.ask(&mut progress, seq) else {
            progress.wakers.push(context.waker().clone());
            return Poll::Pending;
        };
        Poll::Ready(answer)
    }

    /// Whether the record `seq` is on disk; `None`: not yet, and it is asked for.
    fn ask(&self, progress: &mut Progress, seq: u64) -> Option<Result<(), Fault>> {
        if progress.durable >= seq {
            return Some(Ok(()));
        }
        if let Some(fault) = &progress.failed {
            return Some(Err(fault.clone()));
        }
        if progress.wanted < seq {
            progress.wanted = seq;
            self.work.notify_one();
        }
        None
    }

    /// The last record that is on disk.
    pub(crate) fn durable(&self) -> u64 {
        self.lock().durable
    }

    /// Waits until something is to be brought to the disk. `false`: the log is closing.
    pub(crate) fn next(&self) -> bool {
        let mut progress = self.lock();
        loop {
            if progress.stop {
                return false;
            }
            let now = Instant::now();
            let due = progress.due.filter(|_| progress.failed.is_none());
            if progress.failed.is_none() && (progress.wanted > progress.durable || due.is_some_and(|due| due <= now)) {
                // Before the end of the log is looked at: what is written after that sets it again.
                progress.due = None;
                return true;
            }
            progress = match due {
                None => self.work.wait(progress).unwrap_or_else(PoisonError::into_inner),
                Some(due) => self.work.wait_timeout(progress, due - now).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// Everything up to `seq` is on disk.
    pub(crate) fn reached(&self, seq: u64) {
        self.change(|progress| progress.durable = progress.durable.max(seq));
    }

    /// The disk will not confirm anything any more.
    pub(crate) fn fail(&self, fault: &Fault) {
        self.change(|progress| progress.failed = progress.failed.take().or_else(|| Some(fault.clone())));
    }

    /// Ends the work of the thread that syncs.
    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.work.notify_all();
    }

    fn change(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.lock();
        change(&mut progress);
        let wakers = std::mem::take(&mut progress.wakers);
        drop(progress);
        self.done.notify_all();
        wakers.into_iter().for_each(std::task::Waker::wake);
    }
}

/// How long a record may wait for company before it is synced; with the sync itself it is on disk within 50 ms.
const LAZY: Duration = Duration::from_millis(30);
