//! How often each host is asked, over all callers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::model::{Code, HttpUrl, Refusal};
use crate::policy::network::NetworkRules;

/// The span of `domain_rate_limit_per_minute`.
const MINUTE: Duration = Duration::from_mins(1);
/// Hosts that are counted at one time; a caller who asks more of them than that within a minute is asked to wait.
const HOSTS: usize = 4096;

/// Exact sliding windows, one for each host.
#[derive(Debug, Default)]
pub(super) struct Pace {
    asked: Mutex<HashMap<String, VecDeque<Instant>>>,
}

impl Pace {
    /// Counts a request to the host of `url`, where the manifest bounds them.
    ///
    /// # Errors
    /// `rate_limited`, with the seconds until the next one may go.
    pub(super) fn count(&self, rules: &NetworkRules, url: &HttpUrl, now: Instant) -> Result<(), Refusal> {
        let Some(most) = rules.domain_rate else { return Ok(()) };
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() >= HOSTS {
            asked.retain(|_, times| times.back().is_some_and(|last| now.duration_since(*last) < MINUTE));
        }
        let host = url.host_str();
        if asked.len() >= HOSTS && !asked.contains_key(host) {
            return Err(limited(host, most, MINUTE));
        }
        let times = asked.entry(host.to_owned()).or_default();
        while times.front().is_some_and(|at| now.duration_since(*at) >= MINUTE) {
            times.pop_front();
        }
        if times.len() >= most as usize {
            let wait = times.front().map_or(MINUTE, |first| MINUTE.saturating_sub(now.duration_since(*first)));
            return Err(limited(host, most, wait));
        }
        times.push_back(now);
        Ok(())
    }
}

fn limited(host: &str, most: u32, wait: Duration) -> Refusal {
    let mut refusal = Refusal::new(Code::RateLimited, format!("the host `{host}` is asked at most {most} times in any 60 s"))
        .rule("network.domain_rate_limit_per_minute");
    refusal.retry_after_s = Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_a_sliding_minute_of_its_own() {
        let pace = Pace::default();
        let rules = NetworkRules { domain_rate: Some(2), ..NetworkRules::default() };
        let url = |host: &str| HttpUrl::parse(&format!("https://{host}/x")).unwrap();
        let begin = Instant::now();
        let ask = |host: &str, after: u64| {
            let answer = pace.count(&rules, &url(host), begin + Duration::from_secs(after));
            answer.map_err(|refusal| (refusal.code, refusal.retry_after_s))
        };
        assert_eq!([ask("a.example", 0), ask("A.example.", 10)], [Ok(()), Ok(())]);
        assert_eq!(ask("a.example", 20), Err((Code::RateLimited, Some(40))));
        assert_eq!(ask("b.example", 20), Ok(()));
        assert_eq!([ask("a.example", 60), ask("a.example", 61)], [Ok(()), Err((Code::RateLimited, Some(9)))]);
        let open = NetworkRules::default();
        assert_eq!(pace.count(&open, &url("a.example"), begin), Ok(()), "no bound, no count");
    }

    #[test]
    fn hosts_without_end_are_not_remembered_without_end() {
        let pace = Pace::default();
        let rules = NetworkRules { domain_rate: Some(1), ..NetworkRules::default() };
        let begin = Instant::now();
        let ask = |number: usize, at: Instant| pace.count(&rules, &HttpUrl::parse(&format!("https://h{number}.example/")).unwrap(), at);
        let refused = (0..HOSTS + 10).filter(|number| ask(*number, begin).is_err()).count();
        assert_eq!(refused, 10);
        assert!(ask(HOSTS + 20, begin + MINUTE).is_ok());
        assert_eq!(pace.asked.lock().unwrap().len(), 1);
    }
}
