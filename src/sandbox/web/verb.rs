//! The verb `fetch`: a permit becomes one request.

use std::collections::{BTreeMap, VecDeque};
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
        let key = Key(terms.principal.clone(), terms.profile.clone(), action.url.clone(), action.headers.clone());
        let is_plain = action.method == "GET" && action.save_to.is_none();
        if let Some(page) = self.last_pages.get(&key).filter(|_| is_plain && action.start_index > 0) {
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
            self.last_pages.keep(key, &page);
        }
        Ok(page)
    }
}

/// The last pages of callers: a page that is read in pieces is fetched once, so that the pieces are of one answer.
#[derive(Debug, Default)]
pub(super) struct LastPages(Mutex<VecDeque<(Key, Instant, Page)>>);

/// Principal, profile, URL and headers of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key(String, String, String, BTreeMap<String, String>);

impl LastPages {
    fn get(&self, key: &Key) -> Option<Page> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().find(|(known, since, _)| known == key && since.elapsed() < KEPT).map(|(.., page)| page.clone())
    }

    fn keep(&self, key: Key, page: &Page) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::web::SentSecrets;

    fn page(body: &str) -> Page {
        Page {
            final_url: HttpUrl::parse("https://a.example/").unwrap(),
            status: 200,
            headers: BTreeMap::new(),
            content_type: None,
            body: body.into(),
            truncated: false,
            hops: Vec::new(),
            secrets: SentSecrets::default(),
        }
    }

    fn key(principal: &str, profile: &str, cookie: &str) -> Key {
        let headers = BTreeMap::from([("cookie".to_owned(), cookie.to_owned())]);
        Key(principal.to_owned(), profile.to_owned(), "https://a.example/".to_owned(), headers)
    }

    #[tokio::test(start_paused = true)]
    async fn a_kept_page_is_its_callers_alone_and_only_the_last_ones_are_kept() {
        let pages = LastPages::default();
        let own = key("one", "standard", "a=1");
        pages.keep(own.clone(), &page("first"));
        pages.keep(own.clone(), &page("second"));
        assert_eq!(pages.get(&own).unwrap().body, b"second");
        for other in [key("two", "standard", "a=1"), key("one", "wide", "a=1"), key("one", "standard", "a=2")] {
            assert!(pages.get(&other).is_none(), "{other:?}");
        }
        tokio::time::advance(KEPT).await;
        assert!(pages.get(&own).is_none(), "ten minutes are over");
        pages.keep(own.clone(), &page("third"));
        for number in 0..MOST {
            pages.keep(key(&number.to_string(), "standard", ""), &page("x"));
        }
        assert!(pages.get(&own).is_none() && pages.0.lock().unwrap().len() == MOST);
    }
}
