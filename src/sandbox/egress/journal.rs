//! What this server has asked the web for, by caller, in numbers.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use jiff::Timestamp;

use super::{Denied, EgressRequest, Page};
use crate::audit::{Network, NetworkRequest, bare_url};

/// The numbers of each caller.
#[derive(Debug, Default)]
pub(super) struct Journal(Mutex<BTreeMap<String, Network>>);

/// A request under way. Dropped without an end (its call was abandoned), it counts as cancelled.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    journal: &'a Journal,
    principal: String,
    request: NetworkRequest,
    begun: Instant,
}

impl Journal {
    pub(super) fn begin(&self, request: &EgressRequest) -> Entry<'_> {
        let request_of = NetworkRequest {
            ts: Timestamp::now().to_string(),
            method: request.method.as_str().to_owned(),
            url: bare_url(request.url.as_str()),
            status: "cancelled".to_owned(),
            ms: None,
        };
        Entry { journal: self, principal: request.principal.clone(), request: request_of, begun: Instant::now() }
    }

    /// Counts one request of a caller, or one connection of its program.
    pub(super) fn note(&self, principal: &str, request: NetworkRequest) {
        let mut callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= MOST_CALLERS && !callers.contains_key(principal) {
            callers.pop_first();
        }
        callers.entry(principal.to_owned()).or_default().note(request);
    }

    pub(super) fn of(&self, principal: &str) -> Network {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(principal).cloned().unwrap_or_default()
    }
}

impl Entry<'_> {
    pub(super) fn end(mut self, done: &Result<Page, Denied>) {
        self.request.status = match done {
            Ok(page) => page.status.to_string(),
            Err(denied) => denied.refusal().code.as_str().to_owned(),
        };
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.request.ms = u64::try_from(self.begun.elapsed().as_millis()).ok();
        self.journal.note(&self.principal, std::mem::take(&mut self.request));
    }
}

/// Callers whose requests are counted by themselves.
const MOST_CALLERS: usize = 256;
