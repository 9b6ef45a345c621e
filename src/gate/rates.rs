//! Counts and budgets: exact sliding windows, kept per principal so that a new session does not reset them.

use std::collections::{HashMap, VecDeque};

/// Milliseconds of the server's own clock, which never runs backwards.
pub type Millis = u64;

/// The span of `rate_limit_per_minute`.
pub(super) const MINUTE: Millis = 60_000;
/// The span of budgets and of `rate_limit_per_hour`.
pub(super) const HOUR: Millis = 3_600_000;

/// What a call can use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Budget {
    /// Bytes written to roots.
    Write,
    /// Bytes sent out.
    Egress,
    /// CPU milliseconds of programs.
    Cpu,
}

/// All windows of one server.
#[derive(Debug, Default)]
pub struct Rates {
    calls: HashMap<(String, Option<&'static str>), VecDeque<Millis>>,
    used: HashMap<(String, Budget), VecDeque<(Millis, u64)>>,
    denials: HashMap<String, VecDeque<Millis>>,
    suspended: HashMap<String, Millis>,
}

impl Rates {
    /// Times of the calls of the last `span` (60 s or an hour): of the principal, or of one tool.
    pub fn calls(&mut self, principal: &str, tool: Option<&'static str>, now: Millis, span: Millis) -> &VecDeque<Millis> {
        let calls = self.calls.entry((principal.to_owned(), tool)).or_default();
        // A call counts for the span that follows it: at exactly its end it no longer does.
        while calls.front().is_some_and(|at| now.saturating_sub(*at) >= span) {
            calls.pop_front();
        }
        calls
    }

    /// Counts a call for the principal and for the tool. Refused calls count as well: probing is limited.
    pub fn count(&mut self, principal: &str, tool: Option<&'static str>, now: Millis, most: usize) {
        for key in [None, tool] {
            let calls = self.calls.entry((principal.to_owned(), key)).or_default();
            calls.push_back(now);
            // Times beyond the limit can never matter; without the cut a flood would grow the list.
            while calls.len() > most.saturating_add(1) {
                calls.pop_front();
            }
            if tool.is_none() {
                break;
            }
        }
    }

    /// What was used of a budget in the last hour.
    pub fn used(&mut self, principal: &str, budget: Budget, now: Millis) -> u64 {
        let Some(uses) = self.used.get_mut(&(principal.to_owned(), budget)) else { return 0 };
        while uses.front().is_some_and(|(at, _)| now.saturating_sub(*at) >= HOUR) {
            uses.pop_front();
        }
        uses.iter().fold(0, |sum, (_, amount)| sum.saturating_add(*amount))
    }

    /// Charges a budget.
    pub fn charge(&mut self, principal: &str, budget: Budget, amount: u64, now: Millis) {
        if amount == 0 {
            return;
        }
        let uses = self.used.entry((principal.to_owned(), budget)).or_default();
        match uses.back_mut() {
            // One entry a second bounds the list at 3600.
            Some((at, sum)) if now.saturating_sub(*at) < 1000 => *sum = sum.saturating_add(amount),
            _ => uses.push_back((now, amount)),
        }
    }

    /// Counts a denial; whether the session is suspended by it.
    pub fn deny(&mut self, session: &str, now: Millis, most: u64, within: Millis) -> bool {
        let denials = self.denials.entry(session.to_owned()).or_default();
        while denials.front().is_some_and(|at| now.saturating_sub(*at) >= within) {
            denials.pop_front();
        }
        denials.push_back(now);
        let tripped = denials.len() as u64 >= most;
        if tripped {
            denials.clear();
            self.suspended.insert(session.to_owned(), now);
        }
        tripped
    }

    /// Since when the session is suspended, if it is.
    pub fn suspended_since(&self, session: &str) -> Option<Millis> {
        self.suspended.get(session).copied()
    }

    /// Ends a suspension.
    pub fn resume(&mut self, session: &str) {
        self.suspended.remove(session);
    }

    /// Whether the session is suspended. A suspension ends by itself after 10 minutes.
    pub fn is_suspended(&mut self, session: &str, now: Millis) -> bool {
        const SUSPENSION: Millis = 600_000;
        match self.suspended.get(session) {
            Some(since) if now.saturating_sub(*since) < SUSPENSION => true,
            Some(_) => {
                self.suspended.remove(session);
                false
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_for_sixty_seconds_and_no_longer() {
        let mut rates = Rates::default();
        for at in [0, 10, 20] {
            rates.count("p", Some("fetch"), at, 100);
        }
        rates.count("p", Some("read_file"), 30, 100);
        assert_eq!(rates.calls("p", None, 59_999, MINUTE).len(), 4);
        assert_eq!(rates.calls("p", None, 60_010, MINUTE), &VecDeque::from([20, 30]));
        assert_eq!(rates.calls("p", Some("fetch"), 60_010, MINUTE), &VecDeque::from([20]));
        assert!(rates.calls("q", None, 1, MINUTE).is_empty(), "another principal has its own count");
    }

    #[test]
    fn a_budget_is_an_hour_long() {
        let mut rates = Rates::default();
        rates.charge("p", Budget::Write, 10, 0);
        rates.charge("p", Budget::Write, 5, 500);
        rates.charge("p", Budget::Write, 7, 5_000);
        assert_eq!(rates.used("p", Budget::Write, 6_000), 22);
        assert_eq!(rates.used("p", Budget::Write, HOUR), 7);
        assert_eq!(rates.used("p", Budget::Egress, 1), 0);
    }

    #[test]
    fn denials_in_a_row_suspend_the_session_for_ten_minutes() {
        let mut rates = Rates::default();
        assert!((0..9).all(|n| !rates.deny("s", n, 10, MINUTE)));
        assert!(!rates.is_suspended("s", 10));
        assert!(rates.deny("s", 10, 10, MINUTE));
        assert!(rates.is_suspended("s", 11) && !rates.is_suspended("t", 11));
        assert!(!rates.is_suspended("s", 600_010));
    }
}
