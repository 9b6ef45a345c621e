//! The clock that a file system stamps with, and whether this process changed files in its present tick.

use std::sync::atomic::{AtomicI64, Ordering};

/// Seconds and nanoseconds since 1970, as in `st_ctime`.
pub(super) type Tick = (i64, i64);

/// The last tick in which this process changed a file, in nanoseconds since 1970.
static TOUCHED: AtomicI64 = AtomicI64::new(0);

/// The present tick (`CLOCK_REALTIME_COARSE`, 1 to 10 ms long), and whether [`touched`] was called in it.
pub(super) fn now() -> (Tick, bool) {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    ((now.tv_sec, now.tv_nsec), TOUCHED.load(Ordering::Acquire) >= nanoseconds(now.tv_sec, now.tv_nsec))
}

/// Notes that files in a root were changed: by a program that has ended, or by a tool.
pub(super) fn touched() {
    let ((seconds, nanos), _) = now();
    TOUCHED.fetch_max(nanoseconds(seconds, nanos), Ordering::AcqRel);
}

fn nanoseconds(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
