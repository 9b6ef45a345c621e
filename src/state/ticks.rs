//! What time it is, by a clock that nobody sets.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Milliseconds.
pub type Millis = u64;

/// One reading of the clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tick {
    /// Since 1970, by the wall clock.
    pub wall: Millis,
    /// Since the machine started, sleep included (`clock_gettime(2)`, `CLOCK_BOOTTIME`): the same for every process, set by nobody.
    pub up: Millis,
    /// Which start of the machine that was.
    pub boot: u64,
}

impl Tick {
    /// Seconds since 1970, by the wall clock.
    pub const fn seconds(self) -> u64 {
        self.wall / 1000
    }

    /// Whether `span` has passed since an earlier reading, by whichever clock says so first. After a restart of the machine the wall clock
    /// alone can tell, and one that stands before the earlier reading was set back: then it counts as passed.
    pub const fn is_past(self, earlier: Self, span: Millis) -> bool {
        let same_start = self.boot == earlier.boot && self.up >= earlier.up;
        self.wall.saturating_sub(earlier.wall) >= span || if same_start { self.up - earlier.up >= span } else { self.wall < earlier.wall }
    }

    /// How much of `span` is left since an earlier reading, by whichever clock leaves least.
    pub fn left(self, earlier: Self, span: Millis) -> Millis {
        if self.is_past(earlier, span) {
            return 0;
        }
        let by_up = if self.boot == earlier.boot { self.up.saturating_sub(earlier.up) } else { 0 };
        span.saturating_sub(by_up.max(self.wall.saturating_sub(earlier.wall)))
    }

    /// Whether `span` has passed since an earlier reading by every clock that can tell: for what must not be forgotten too early.
    pub const fn is_long_past(self, earlier: Self, span: Millis) -> bool {
        let same_start = self.boot == earlier.boot && self.up >= earlier.up;
        self.wall.saturating_sub(earlier.wall) >= span && (!same_start || self.up - earlier.up >= span)
    }
}

/// Reads the clocks.
#[derive(Clone)]
pub struct Ticks(Arc<dyn Fn() -> Tick + Send + Sync>);

impl fmt::Debug for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticks")
    }
}

impl Ticks {
    /// Any clock.
    pub fn new(read: impl Fn() -> Tick + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// The machine's.
    pub fn of_this_machine() -> Self {
        let boot = boot();
        Self::new(move || Tick { wall: wall(), up: up(), boot })
    }

    /// A reading.
    pub fn now(&self) -> Tick {
        (self.0)()
    }
}

fn wall() -> Millis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn up() -> Millis {
    let since = clock_gettime(ClockId::Boottime);
    let (seconds, nanoseconds) = (u64::try_from(since.tv_sec).unwrap_or(0), u64::try_from(since.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1000).saturating_add(nanoseconds / 1_000_000)
}

/// The name the kernel gave this start of the machine (`random(4)`, `boot_id`); where it cannot be read every start looks alike, and a clock
/// that runs behind what was seen before tells them apart.
fn boot() -> u64 {
    use rustix::fs::{Mode, OFlags, open};
    let mut id = [0; 64];
    let read = open("/proc/sys/kernel/random/boot_id", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| rustix::io::read(&file, &mut id));
    if read.is_err() {
        return 0;
    }
    u64::from_le_bytes(Sha256::digest(id).first_chunk().copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_over_by_the_clock_that_says_so_first_and_forgotten_by_the_last() {
        let tick = |wall, up, boot| Tick { wall, up, boot };
        let asked = tick(1_000_000, 500, 1);
        for (now, over, forgotten) in [
            (tick(1_000_099, 599, 1), false, false),
            (tick(1_000_100, 600, 1), true, true),
            (tick(0, 600, 1), true, false),
            (tick(900_000, 599, 1), false, false),
            (tick(1_000_100, 510, 1), true, false),
            (tick(1_000_050, 10, 2), false, false),
            (tick(1_000_100, 10, 2), true, true),
            (tick(999_999, 10, 2), true, false),
            (tick(999_999, 499, 1), true, false),
        ] {
            assert_eq!((now.is_past(asked, 100), now.is_long_past(asked, 100)), (over, forgotten), "{now:?}");
        }
        assert!(tick(1_800_000_000_000, 500, 1).is_past(Tick::default(), 3_600_000), "what has no time is over");
    }
}
