//! The clock that a file system stamps with, and whether this process changed files in its present tick.

use std::sync::atomic::{AtomicI64, Ordering};

use rustix::time::ClockId;

/// Seconds and nanoseconds since 1970, as in `st_ctime`.
pub(super) type Tick = (i64, i64);

/// The last moment at which this process had changed a file, in nanoseconds since 1970.
static TOUCHED: AtomicI64 = AtomicI64::new(0);

/// The present tick (`CLOCK_REALTIME_COARSE`, some milliseconds long), and whether what [`touched`] told of may bear a stamp of it.
pub(super) fn now() -> (Tick, bool) {
    let now = read(ClockId::RealtimeCoarse);
    (now, TOUCHED.load(Ordering::Acquire) >= nanoseconds(now))
}

/// Notes that files in a root were changed: by a program that has ended, or by a tool.
pub(super) fn touched() {
    // By the fine clock: a stamp that was asked for is taken from that one, and the coarse one lags behind by more than a tick where the
    // processor that drives it is late.
    TOUCHED.fetch_max(nanoseconds(read(ClockId::Realtime)), Ordering::AcqRel);
}

fn read(clock: ClockId) -> Tick {
    let now = rustix::time::clock_gettime(clock);
    (now.tv_sec, now.tv_nsec)
}

fn nanoseconds((seconds, nanos): Tick) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
