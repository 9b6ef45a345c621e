//! Calls, budgets and denials of callers, counted in the memory of this server: a restart begins anew, and another server counts for itself.
//!
//! A window of up to 4096 calls is exact: never more than its calls in any span of time. In a larger one old calls leave late, never early. Time is
//! counted from the start of the machine; setting the clock does not change it.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard};

use super::shared::lock;
use crate::state::{Millis, Ticks};

/// So many calls in any span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Calls.
    pub most: u64,
    /// The span.
    pub span: Millis,
}

/// Budgets of an hour: bytes written, bytes sent, processor milliseconds.
pub(super) const BUDGETS: usize = 3;

/// What a call asks of the budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ask {
    /// What it will use.
    pub exactly: [u64; BUDGETS],
    /// What it may use besides, as far as there is any left.
    pub at_most: [u64; BUDGETS],
    /// The budgets.
    pub budget: [u64; BUDGETS],
}

/// Where a principal stands with its budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// What was used or reserved in the last hour, before this call.
    pub used: [u64; BUDGETS],
    /// What is reserved for this call.
    pub reserved: [u64; BUDGETS],
}

/// The counts of one server.
#[derive(Debug)]
pub struct Counts {
    ticks: Ticks,
    calls: Mutex<HashMap<String, Amounts>>,
    budgets: Mutex<HashMap<String, [Amounts; BUDGETS]>>,
}

/// A call as it was counted; dropped, it stays counted.
#[derive(Debug, Default)]
pub struct Counted {
    counts: Option<Arc<Counts>>,
    keys: Vec<String>,
    at: Millis,
}

const HOUR: Millis = 3_600_000;
/// The newest entries of a key, which stay exact. As many older ones may stand before them.
const EXACT: usize = 4096;
/// Keys beyond which those that count nothing any more are removed.
const MOST_KEYS: usize = 4096;

/// What was counted when, the oldest first. Amounts that share an entry have the time of the latest: they leave no window too early.
#[derive(Debug, Default)]
struct Amounts {
    entries: VecDeque<(Millis, u64)>,
    /// An entry older than this counts for no window.
    span: Millis,
}

impl Amounts {
    fn expire(&mut self, now: Millis, span: Millis) {
        self.span = self.span.max(span);
        while self.entries.front().is_some_and(|(at, _)| now.saturating_sub(*at) >= self.span) {
            self.entries.pop_front();
        }
    }

    fn total(&self, now: Millis, span: Millis) -> u64 {
        let inside = self.entries.iter().rev().take_while(|(at, _)| now.saturating_sub(*at) < span);
        inside.fold(0, |sum, (_, amount)| sum.saturating_add(*amount))
    }

    fn add(&mut self, now: Millis, amount: u64) {
        match self.entries.back_mut() {
            _ if amount == 0 => {}
            Some((at, sum)) if *at == now => *sum = sum.saturating_add(amount),
            _ => self.entries.push_back((now, amount)),
        }
        if self.entries.len() > 2 * EXACT {
            let older: Vec<_> = self.entries.drain(..EXACT).collect();
            for pair in older.chunks(2).rev() {
                let sum = pair.iter().fold(0_u64, |sum, (_, amount)| sum.saturating_add(*amount));
                if let Some((at, _)) = pair.last() {
                    self.entries.push_front((*at, sum));
                }
            }
        }
    }

    /// Takes back what was counted too much, the newest first.
    fn take(&mut self, mut amount: u64) {
        while let Some((at, sum)) = self.entries.pop_back() {
            if amount < sum {
                self.entries.push_back((at, sum - amount));
                return;
            }
            amount -= sum;
        }
    }

    /// Takes back one that was counted then.
    fn take_one(&mut self, then: Millis) {
        if let Some(place) = self.entries.iter().position(|(at, _)| *at >= then)
            && let Some((_, sum)) = self.entries.get_mut(place)
        {
            *sum -= 1;
            if *sum == 0 {
                self.entries.remove(place);
            }
        }
    }

    fn is_over(&self, now: Millis) -> bool {
        self.entries.back().is_none_or(|(at, _)| now.saturating_sub(*at) >= self.span)
    }

    /// How long ago each one was that is counted, the oldest first.
    fn ages(&self, now: Millis) -> Vec<Millis> {
        let many = |amount: u64| usize::try_from(amount).unwrap_or(usize::MAX);
        self.entries.iter().flat_map(|(at, amount)| std::iter::repeat_n(now.saturating_sub(*at), many(*amount))).collect()
    }
}

impl Counts {
    /// Counts that begin now.
    pub fn new(ticks: Ticks) -> Self {
        Self { ticks, calls: Mutex::default(), budgets: Mutex::default() }
    }

    /// Counts a call under all keys where it fits the windows of all, else under none: a call that is refused for its rate takes no place from
    /// the next. Gives for each key how long ago its calls were, the oldest first, where they fill one of its windows.
    pub fn call<const N: usize>(self: &Arc<Self>, keys: [(String, &[Window]); N]) -> ([Vec<Millis>; N], Counted) {
        let now = self.ticks.now().up;
        let mut calls = room(&self.calls, |amounts| amounts.is_over(now));
        let mut fits = true;
        let ages = std::array::from_fn(|at| {
            let Some((key, windows)) = keys.get(at) else { return Vec::new() };
            let amounts = calls.entry(key.clone()).or_default();
            amounts.expire(now, windows.iter().map(|window| window.span).max().unwrap_or(0));
            let is_full = windows.iter().any(|window| amounts.total(now, window.span) >= window.most);
            fits &= !is_full;
            if is_full { amounts.ages(now) } else { Vec::new() }
        });
        if !fits {
            return (ages, Counted::default());
        }
        for (key, _) in &keys {
            if let Some(amounts) = calls.get_mut(key) {
                amounts.add(now, 1);
            }
        }
        drop(calls);
        (ages, Counted { counts: Some(Arc::clone(self)), keys: keys.into_iter().map(|(key, _)| key).collect(), at: now })
    }

    /// Counts something where it fits a window, and gives how long it must wait where it does not; then it is not counted.
    pub fn take(&self, key: String, window: Window) -> Option<Millis> {
        let now = self.ticks.now().up;
        let mut calls = room(&self.calls, |amounts| amounts.is_over(now));
        let amounts = calls.entry(key).or_default();
        amounts.expire(now, window.span);
        if amounts.total(now, window.span) < window.most {
            amounts.add(now, 1);
            return None;
        }
        Some(window.span.saturating_sub(amounts.ages(now).first().copied().unwrap_or(0)))
    }

    /// Counts a denial. Whether it is one too many; then they begin anew.
    pub fn deny(&self, key: &str, breaker: Window) -> bool {
        let is_last = self.take(format!("{key}\0denials"), Window { most: breaker.most.saturating_sub(1), ..breaker }).is_some();
        if is_last {
            lock(&self.calls).remove(&format!("{key}\0denials"));
        }
        is_last
    }

    /// Where a principal stands, with what was asked for reserved.
    pub fn reserve(&self, principal: &str, ask: &Ask) -> Standing {
        let now = self.ticks.now().up;
        let mut all = room(&self.budgets, |budgets| budgets.iter().all(|amounts| amounts.is_over(now)));
        let mut standing = Standing::default();
        let budgets = all.entry(principal.to_owned()).or_default();
        let parts = standing.used.iter_mut().zip(&mut standing.reserved).zip(budgets);
        for (((used, reserved), amounts), ((exactly, at_most), budget)) in parts.zip(ask.exactly.iter().zip(&ask.at_most).zip(&ask.budget))
        {
            amounts.expire(now, HOUR);
            *used = amounts.total(now, HOUR);
            let left = budget.saturating_sub(*used).saturating_sub(*exactly);
            *reserved = exactly.saturating_add(left.min(*at_most));
            amounts.add(now, *reserved);
        }
        standing
    }

    /// Puts what was used in the place of what was reserved.
    pub fn settle(&self, principal: &str, reserved: [u64; BUDGETS], used: [u64; BUDGETS]) {
        let now = self.ticks.now().up;
        let mut all = lock(&self.budgets);
        let Some(budgets) = all.get_mut(principal) else { return };
        for ((amounts, reserved), used) in budgets.iter_mut().zip(reserved).zip(used) {
            amounts.take(reserved.saturating_sub(used));
            amounts.add(now, used.saturating_sub(reserved));
        }
    }
}

impl Counted {
    /// The call is counted no more.
    pub fn take_back(self) {
        let most = self.keys.len();
        self.remove(most);
    }

    /// The call is counted no more under its first key, where its parts are counted in its place; under the others it stays.
    pub fn hand_over(self) {
        self.remove(1);
    }

    fn remove(self, most: usize) {
        let Some(counts) = self.counts else { return };
        let mut calls = lock(&counts.calls);
        for key in self.keys.iter().take(most) {
            if let Some(amounts) = calls.get_mut(key) {
                amounts.take_one(self.at);
            }
        }
    }
}

/// The map, with room for one more key.
fn room<K: Hash + Eq, V>(map: &Mutex<HashMap<K, V>>, is_over: impl Fn(&V) -> bool) -> MutexGuard<'_, HashMap<K, V>> {
    let mut map = lock(map);
    if map.len() >= MOST_KEYS {
        map.retain(|_, value| !is_over(value));
    }
    map
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use proptest::prelude::*;

    use super::*;
    use crate::state::Tick;

    const MINUTE: Window = Window { most: 10, span: 60_000 };

    fn counts() -> (Arc<Counts>, Arc<AtomicU64>) {
        let clock = Arc::new(AtomicU64::new(0));
        let read = Arc::clone(&clock);
        let ticks = Ticks::new(move || Tick { up: read.load(Ordering::Relaxed), ..Tick::default() });
        (Arc::new(Counts::new(ticks)), clock)
    }

    fn call(counts: &Arc<Counts>, key: &str, window: Window) -> Vec<Millis> {
        let ([ages], _) = counts.call([(key.to_owned(), &[window])]);
        ages
    }

    #[test]
    fn a_call_leaves_its_window_after_the_span_and_one_that_is_refused_takes_no_place() {
        let (counts, clock) = counts();
        for n in 0..10 {
            clock.store(n * 1000, Ordering::Relaxed);
            assert_eq!(call(&counts, "p", MINUTE), [0; 0], "call {n}");
        }
        clock.store(59_999, Ordering::Relaxed);
        let ages: Vec<Millis> = (0..10).map(|n| 59_999 - n * 1000).collect();
        assert_eq!((call(&counts, "p", MINUTE), call(&counts, "p", MINUTE)), (ages.clone(), ages));
        assert_eq!(call(&counts, "q", MINUTE), [0; 0], "another key");
        clock.store(60_000, Ordering::Relaxed);
        assert_eq!((call(&counts, "p", MINUTE).len(), call(&counts, "p", MINUTE).len()), (0, 10));
    }

    #[test]
    fn a_call_that_one_key_refuses_is_counted_under_none_and_one_taken_back_frees_its_place() {
        let (counts, _) = counts();
        let (one, two) = ([Window { most: 1, ..MINUTE }], [Window { most: 2, ..MINUTE }]);
        let both = || counts.call([("all".to_owned(), &two[..]), ("tool".to_owned(), &one[..])]);
        let ([all, tool], first) = both();
        assert!(all.is_empty() && tool.is_empty());
        let ([all, tool], _) = both();
        assert_eq!((all.len(), tool.len()), (0, 1));
        first.hand_over();
        let ([all, tool], _) = counts.call([("all".to_owned(), &one[..]), ("tool".to_owned(), &one[..])]);
        assert_eq!((all.len(), tool.len()), (0, 1), "its first key counts it no more");
        let ([_], last) = counts.call([("all".to_owned(), &one[..])]);
        last.take_back();
        assert_eq!(call(&counts, "all", one[0]), [0; 0]);
    }

    #[test]
    fn so_many_calls_are_kept_in_bounded_space_and_never_counted_too_low() {
        let (counts, clock) = counts();
        let most = 3 * EXACT as u64;
        let window = Window { most, span: 3_600_000 };
        for n in 0..most {
            clock.store(n * 10, Ordering::Relaxed);
            assert!(call(&counts, "p", window).is_empty(), "call {n}");
        }
        assert_eq!(call(&counts, "p", window).len() as u64, most);
        assert!(lock(&counts.calls)["p"].entries.len() <= 2 * EXACT);
        clock.store(window.span + most * 10, Ordering::Relaxed);
        assert!(call(&counts, "p", window).is_empty());
    }

    #[test]
    fn a_budget_is_reserved_before_and_settled_after() {
        let (counts, clock) = counts();
        let ask = Ask { exactly: [10, 0, 0], at_most: [100, 0, 5], budget: [60, 60, 60] };
        assert_eq!(counts.reserve("p", &ask), Standing { used: [0; 3], reserved: [60, 0, 5] });
        assert_eq!(counts.reserve("p", &Ask::default()).used, [60, 0, 5]);
        counts.settle("p", [60, 0, 5], [20, 0, 7]);
        assert_eq!(counts.reserve("p", &ask), Standing { used: [20, 0, 7], reserved: [40, 0, 5] });
        clock.store(HOUR, Ordering::Relaxed);
        assert_eq!(counts.reserve("p", &Ask::default()).used, [0; 3]);
    }

    #[test]
    fn the_denial_that_is_one_too_many_says_so_and_they_begin_anew() {
        let (counts, clock) = counts();
        let breaker = Window { most: 3, span: 1000 };
        assert_eq!([0; 3].map(|_| counts.deny("p", breaker)), [false, false, true]);
        assert!(!counts.deny("p", breaker) && !counts.deny("p", breaker));
        clock.store(1000, Ordering::Relaxed);
        assert!(!counts.deny("p", breaker), "the two before are over");
    }

    proptest! {
        #[test]
        fn no_span_ever_holds_more_calls_than_the_window(steps in prop::collection::vec(0_u64..15_000, 1..80), most in 1_u64..6) {
            let (counts, clock) = counts();
            let window = Window { most, span: 60_000 };
            let mut passed: Vec<Millis> = Vec::new();
            let mut now = 0;
            for step in steps {
                now += step;
                clock.store(now, Ordering::Relaxed);
                let inside = passed.iter().filter(|at| now - **at < window.span).count() as u64;
                let passes = call(&counts, "p", window).is_empty();
                prop_assert_eq!(passes, inside < most);
                if passes {
                    passed.push(now);
                }
            }
        }
    }
}
