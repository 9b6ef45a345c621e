//! The verb `fetch`: a permit becomes one request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Egress, EgressRequest, Overflow, Page};
use crate::gate::Permit;
use crate::model::{Code, Failure, Fetch, HttpUrl};
use crate::policy::request::Method;

impl Egress {
    /// Sends the request the permit names, at first to the very addresses it was judged on.
    ///
    /// # Errors
    /// As [`Egress::fetch`]; a refusal of a later hop is a failure of the call.
    pub async fn spend(&self, permit: Permit<Fetch>, cancel: &CancellationToken) -> Result<Page, Failure> {
        let pinned = permit.addresses().to_vec();
        let (action, _, terms) = permit.spend();
        let key = format!("{}\n{}\n{}\n{:?}", terms.principal, terms.profile, action.url, action.headers);
        let is_plain = action.method == "GET" && action.save_to.is_none();
        if let Some(page) = self.begun.get(&key).filter(|_| is_plain && action.start_index > 0) {
            // It is given only where it might be asked for now; the first URL was judged for this call.
            self.judged(&terms.manifest.network, &page.final_url, &[]).await.map_err(super::Denied::into_failure)?;
            return Ok(page);
        }
        let fault = |what: &str| Failure::new(Code::Internal, what.to_owned());
        let request = EgressRequest {
            url: HttpUrl::parse(&action.url).map_err(Failure)?,
            pinned,
            method: Method::parse(&action.method).ok_or_else(|| fault("the method was not checked"))?,
            headers: action.headers.into_iter().collect(),
            body: action.body.map(String::into_bytes),
            principal: terms.principal.clone(),
            rules: Arc::new(terms.manifest.network.clone()),
            deadline: Instant::now() + terms.timeout,
            max_response: terms.manifest.network.max_response,
            overflow: if action.save_to.is_some() { Overflow::Refuse } else { Overflow::Cut },
            hosts: terms.hosts.clone(),
            upload: terms.upload(),
            sent: Some(Arc::clone(&terms.sent)),
        };
        let page = self.fetch(request, cancel).await.map_err(super::Denied::into_failure)?;
        if is_plain && page.status == 200 && page.secrets.is_empty() && page.body.len() <= LARGEST {
            self.begun.keep(key, &page);
        }
        Ok(page)
    }
}

/// The last pages of callers: a page that is read in pieces is fetched once, so that the pieces are of one answer.
#[derive(Debug, Default)]
pub(super) struct Begun(Mutex<VecDeque<(String, Instant, Page)>>);

impl Begun {
    fn get(&self, key: &str) -> Option<Page> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().find(|(known, since, _)| known == key && since.elapsed() < KEPT).map(|(.., page)| page.clone())
    }

    fn keep(&self, key: String, page: &Page) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|(known, ..)| *known != key);
        held.push_back((key, Instant::now(), page.clone()));
        if held.len() > MOST {
            held.pop_front();
        }
    }
}

/// How long a page is kept, of how many bytes, and how many are.
const KEPT: Duration = Duration::from_mins(10);
const LARGEST: usize = 4 << 20;
const MOST: usize = 8;
