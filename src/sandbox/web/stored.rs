//! Answers that need not be fetched again (RFC 9111): in memory, each caller's own, bounded in number and bytes.
//!
//! Only what any caller would be answered: a GET without credentials, without secrets, without a header that could change the answer beyond its `Vary`.
//! A stored answer is given only after the URL and its addresses were judged as for a request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use http_cache_semantics::{AfterResponse, BeforeRequest, CacheOptions, CachePolicy};
use hyper::header::{HeaderMap, HeaderName};

use super::request::{Outgoing, Page};
use crate::policy::request::Method;
use crate::policy::secret::names_secret;

/// The stored answers of a server.
#[derive(Debug, Default)]
pub(super) struct Stored(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    by_key: HashMap<Key, Answer>,
    bytes: usize,
    turn: u64,
}

/// Whose, and which URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    owner: String,
    url: String,
}

#[derive(Debug, Clone)]
struct Answer {
    policy: CachePolicy,
    /// The headers by which its server can tell it from later ones.
    validators: HeaderMap,
    page: Arc<Page>,
    used: u64,
}

/// A request whose answer may be stored.
#[derive(Debug)]
pub(super) struct Asked {
    key: Key,
    parts: http::request::Parts,
}

/// What is known of a request.
#[derive(Debug)]
pub(super) enum Known {
    /// Its answer.
    Fresh(Arc<Page>),
    /// An answer that its server may still stand by: to be asked with these headers.
    Stale(Vec<(String, String)>),
    /// Nothing.
    Nothing,
}

impl Asked {
    /// The request, where it is one whose answer may be stored.
    pub(super) fn of(owner: &str, outgoing: &Outgoing) -> Option<Self> {
        let plain = |(name, value): &(String, String)| NEUTRAL.contains(&name.to_ascii_lowercase().as_str()) && !names_secret(value);
        if outgoing.method != Method::Get || outgoing.body.is_some() || !outgoing.headers.iter().all(plain) {
            return None;
        }
        let mut request = http::Request::builder().method("GET").uri(outgoing.url.as_str());
        for (name, value) in &outgoing.headers {
            request = request.header(name, value);
        }
        let (parts, ()) = request.body(()).ok()?.into_parts();
        Some(Self { key: Key { owner: owner.to_owned(), url: outgoing.url.as_str().to_owned() }, parts })
    }
}

impl Stored {
    /// What is known of a request, at most `limit` bytes of it.
    pub(super) fn look(&self, asked: &Asked, limit: usize, now: SystemTime) -> Known {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.turn += 1;
        let turn = held.turn;
        let Some(answer) = held.by_key.get_mut(&asked.key).filter(|answer| answer.page.body.len() <= limit) else {
            return Known::Nothing;
        };
        answer.used = turn;
        match answer.policy.before_request(&asked.parts, now) {
            BeforeRequest::Fresh(_) => Known::Fresh(Arc::clone(&answer.page)),
            BeforeRequest::Stale { request, matches: true } => {
                let conditions = ["if-none-match", "if-modified-since"]
                    .into_iter()
                    .filter_map(|name| Some((name.to_owned(), request.headers.get(name)?.to_str().ok()?.to_owned())))
                    .collect::<Vec<_>>();
                if conditions.is_empty() { Known::Nothing } else { Known::Stale(conditions) }
            }
            BeforeRequest::Stale { .. } => Known::Nothing,
        }
    }

    /// The stored answer that a server has just stood by (304), and keeps it for longer.
    pub(super) fn confirmed(&self, asked: &Asked, headers: &HeaderMap, now: SystemTime) -> Option<Arc<Page>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = held.by_key.get_mut(&asked.key)?;
        let mut response = response(304, headers)?;
        // A 304 should repeat the validators (RFC 9110, section 15.4.5). One that has none is about those that were asked about.
        if !VALIDATORS.iter().any(|name| headers.contains_key(*name)) {
            response.headers.extend(answer.validators.clone());
        }
        match answer.policy.after_response(&asked.parts, &response, now) {
            AfterResponse::NotModified(policy, _) => {
                answer.policy = policy;
                Some(Arc::clone(&answer.page))
            }
            AfterResponse::Modified(..) => {
                held.take(&asked.key);
                None
            }
        }
    }

    /// Stores an answer, where its server lets it be stored and it can be of any use.
    pub(super) fn keep(&self, asked: &Asked, headers: &HeaderMap, page: &Page, now: SystemTime) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.take(&asked.key);
        let Some(response) = response(page.status, headers) else { return };
        // A cache of one caller; what a server does not call fresh is asked for again.
        let options = CacheOptions { shared: false, cache_heuristic: 0.0, ..CacheOptions::default() };
        let policy = CachePolicy::new_options(&asked.parts, &response, now, options);
        let useful = policy.time_to_live(now).as_secs() > 0 || VALIDATORS.iter().any(|name| headers.contains_key(*name));
        if page.status != 200 || page.truncated || page.body.len() > LARGEST || !policy.is_storable() || !useful {
            return;
        }
        held.turn += 1;
        let used = held.turn;
        held.bytes += cost(page);
        let validators = VALIDATORS.iter().filter_map(|name| Some((HeaderName::from_static(name), headers.get(*name)?.clone()))).collect();
        held.by_key.insert(asked.key.clone(), Answer { policy, validators, page: Arc::new(page.clone()), used });
        while held.by_key.len() > MOST || held.bytes > MOST_BYTES {
            let Some(oldest) = held.by_key.iter().min_by_key(|(_, answer)| answer.used).map(|(key, _)| key.clone()) else { return };
            held.take(&oldest);
        }
    }

    /// Forgets what a request may have changed (RFC 9111, section 4.4).
    pub(super) fn forget(&self, owner: &str, url: &str) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.take(&Key { owner: owner.to_owned(), url: url.to_owned() });
    }
}

impl Answers {
    fn take(&mut self, key: &Key) {
        if let Some(answer) = self.by_key.remove(key) {
            self.bytes = self.bytes.saturating_sub(cost(&answer.page));
        }
    }
}

/// What an answer costs: its body, and some KiB for its headers and URL.
fn cost(page: &Page) -> usize {
    page.body.len() + 4096
}

fn response(status: u16, headers: &HeaderMap) -> Option<http::response::Parts> {
    let (mut parts, ()) = http::Response::builder().status(status).body(()).ok()?.into_parts();
    parts.headers.clone_from(headers);
    Some(parts)
}

/// Headers of a caller that leave an answer everybody's; `Vary` is heeded for them.
const NEUTRAL: [&str; 4] = ["accept", "accept-language", "cache-control", "user-agent"];
const VALIDATORS: [&str; 2] = ["etag", "last-modified"];
/// Answers that are stored, their bytes together, and of one.
const MOST: usize = 256;
const MOST_BYTES: usize = 32 << 20;
const LARGEST: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::model::HttpUrl;

    fn asked(owner: &str, url: &str, headers: &[(&str, &str)]) -> Option<Asked> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let url = HttpUrl::parse(url).unwrap();
        let outgoing = Outgoing { url, pinned: Vec::new(), method: Method::Get, headers, body: None };
        Asked::of(owner, &outgoing)
    }

    fn page(size: usize) -> Page {
        Page {
            final_url: HttpUrl::parse("https://a.example/").unwrap(),
            status: 200,
            headers: BTreeMap::new(),
            content_type: None,
            body: vec![b'x'; size],
            truncated: false,
            from_cache: false,
            hops: Vec::new(),
            secrets: crate::sandbox::web::SentSecrets::default(),
        }
    }

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn is_fresh(stored: &Stored, asked: &Asked, now: SystemTime) -> bool {
        matches!(stored.look(asked, usize::MAX, now), Known::Fresh(_))
    }

    #[test]
    fn an_answer_is_given_again_to_the_same_caller_while_it_is_fresh() {
        let (stored, now) = (Stored::default(), SystemTime::now());
        let mine = asked("p", "https://a.example/", &[]).unwrap();
        stored.keep(&mine, &headers(&[("cache-control", "max-age=60"), ("vary", "accept-language")]), &page(9), now);
        assert!(is_fresh(&stored, &mine, now));
        assert!(!is_fresh(&stored, &mine, now + Duration::from_secs(61)));
        for other in [
            asked("q", "https://a.example/", &[]),
            asked("p", "https://a.example/?x", &[]),
            asked("p", "https://a.example/", &[("accept-language", "de")]),
            asked("p", "https://a.example/", &[("cache-control", "no-cache")]),
        ] {
            assert!(!is_fresh(&stored, &other.unwrap(), now));
        }
        assert!(matches!(stored.look(&mine, 8, now), Known::Nothing), "what is larger than may be read now is read anew");
        stored.forget("p", "https://a.example/");
        assert!(!is_fresh(&stored, &mine, now));
    }

    #[test]
    fn what_carries_a_credential_or_may_not_be_stored_is_not() {
        let (stored, now) = (Stored::default(), SystemTime::now());
        for header in
            [("authorization", "x"), ("x-api-key", "x"), ("range", "bytes=0-1"), ("accept", "${secret:a}"), ("if-none-match", "x")]
        {
            assert!(asked("p", "https://a.example/", &[header]).is_none(), "{header:?}");
        }
        let mine = asked("p", "https://a.example/", &[]).unwrap();
        for list in [&[("cache-control", "no-store"), ("etag", "x")][..], &[], &[("vary", "*"), ("cache-control", "max-age=60")]] {
            stored.keep(&mine, &headers(list), &page(9), now);
            assert!(!is_fresh(&stored, &mine, now), "{list:?}");
        }
        stored.keep(&mine, &headers(&[("cache-control", "max-age=60")]), &Page { truncated: true, ..page(9) }, now);
        assert!(!is_fresh(&stored, &mine, now));
    }

    #[test]
    fn a_stale_answer_is_asked_about_and_kept_when_its_server_stands_by_it() {
        let (stored, now) = (Stored::default(), SystemTime::now());
        let mine = asked("p", "https://a.example/", &[]).unwrap();
        stored.keep(&mine, &headers(&[("cache-control", "max-age=60"), ("etag", "\"1\"")]), &page(9), now);
        let later = now + Duration::from_secs(100);
        let Known::Stale(conditions) = stored.look(&mine, usize::MAX, later) else { panic!("it is stale") };
        assert_eq!(conditions, [("if-none-match".to_owned(), "\"1\"".to_owned())]);
        assert!(stored.confirmed(&mine, &headers(&[("etag", "\"1\""), ("cache-control", "max-age=60")]), later).is_some());
        assert!(is_fresh(&stored, &mine, later));
        let bare = headers(&[("date", "Mon, 06 May 2024 07:08:09 GMT")]);
        assert!(stored.confirmed(&mine, &bare, later).is_some(), "what has no validator is about the one that was sent");
        assert!(stored.confirmed(&mine, &headers(&[("etag", "\"2\"")]), later).is_none());
        assert!(matches!(stored.look(&mine, usize::MAX, later), Known::Nothing));
    }

    #[test]
    fn answers_are_bounded_in_number_and_bytes_and_the_unused_go_first() {
        let (stored, now) = (Stored::default(), SystemTime::now());
        let fresh = headers(&[("cache-control", "max-age=60")]);
        let at = |n: usize| asked("p", &format!("https://a.example/{n}"), &[]).unwrap();
        for n in 0..=MOST {
            stored.keep(&at(n), &fresh, &page(9), now);
            assert!(is_fresh(&stored, &at(1), now) || n == 0);
        }
        assert!(!is_fresh(&stored, &at(0), now) && is_fresh(&stored, &at(1), now));
        for n in 1000..1020 {
            stored.keep(&at(n), &fresh, &page(LARGEST), now);
        }
        stored.keep(&at(2000), &fresh, &page(LARGEST + 1), now);
        let held = stored.0.lock().unwrap();
        assert!(held.bytes <= MOST_BYTES && held.by_key.len() < 10, "{} {}", held.bytes, held.by_key.len());
        assert_eq!(held.bytes, held.by_key.values().map(|answer| cost(&answer.page)).sum::<usize>());
    }
}
