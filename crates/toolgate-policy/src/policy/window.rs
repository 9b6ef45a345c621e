//! Exact counts: never more than N in any span of time, unlike buckets, which let up to 2N-1 through.

use std::time::Duration;

/// A point in time in nanoseconds, from a beginning of the caller's choice. Monotonic in the server, invented in `simulate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub i64);

impl Moment {
    /// So many seconds after the beginning, saturating; what is no number is the beginning.
    #[expect(clippy::cast_possible_truncation, reason = "a float becomes an integer by saturating, which is what is wanted")]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as i64)
    }

    /// How long after `earlier` this is; nothing when it is not later.
    pub fn since(self, earlier: Self) -> Duration {
        let nanoseconds = i128::from(self.0) - i128::from(earlier.0);
        u64::try_from(nanoseconds).map(Duration::from_nanos).unwrap_or_default()
    }
}

/// Whole seconds, at least 1, until one more call fits into `limit` calls in any `span`; none when it fits now. A call exactly `span` ago is out;
/// one in the future (a clock set back) is in. A limit of 0 never fits: the span itself is given.
pub fn window_of(times: &[Moment], now: Moment, limit: u64, span: Duration) -> Option<u64> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut inside: Vec<Moment> = times.iter().copied().filter(|then| *then > now || now.since(*then) < span).collect();
    if inside.len() < limit {
        return None;
    }
    // The call fits once all but `limit - 1` of those inside have left.
    let leaving = inside.len() - limit;
    inside.sort_unstable();
    let wait = match inside.get(leaving) {
        Some(then) if limit > 0 => (span + then.since(now)).saturating_sub(now.since(*then)),
        _ => span,
    };
    Some((wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(times: &[Moment], now: Moment, limit: u64) -> Option<u64> {
        window_of(times, now, limit, Duration::from_mins(1))
    }

    fn at(seconds: &[f64]) -> Vec<Moment> {
        seconds.iter().map(|seconds| Moment::from_seconds(*seconds)).collect()
    }

    #[test]
    fn ten_a_minute_is_ten_in_any_minute() {
        let now = |seconds: f64| Moment::from_seconds(seconds);
        assert_eq!(window(&at(&[100.0; 10]), now(106.0), 10), Some(54));
        assert_eq!(window(&at(&[100.0; 10]), now(159.999), 10), Some(1));
        assert_eq!(window(&at(&[100.0; 10]), now(160.0), 10), None);
        assert_eq!(window(&at(&[100.0; 9]), now(106.0), 10), None);
        assert_eq!(window(&at(&[90.0, 95.0, 99.5]), now(100.0), 2), Some(55));
        assert_eq!(window(&[], now(0.0), 0), Some(60));
        assert_eq!(window(&at(&[200.0]), now(100.0), 1), Some(160), "a clock set back frees nothing");
    }

    proptest! {
        #[test]
        fn the_wait_is_exact(mut times in prop::collection::vec(0_i64..120, 0..30), now in 60_i64..180, limit in 1_u64..12) {
            let seconds = |n: i64| Moment(n * 1_000_000_000);
            times.retain(|then| *then <= now);
            let moments: Vec<Moment> = times.iter().map(|then| seconds(*then)).collect();
            match window(&moments, seconds(now), limit) {
                None => prop_assert!((times.iter().filter(|then| now - **then < 60).count() as u64) < limit),
                Some(wait) => {
                    let wait = i64::try_from(wait).unwrap();
                    prop_assert_eq!(window(&moments, seconds(now + wait), limit), None);
                    prop_assert!(window(&moments, seconds(now + wait - 1), limit).is_some());
                }
            }
        }
    }
}
