//! The connection log: what callers and their programs ask the web for. A connection of a program is recorded before it is made, summed up for
//! the answer of its call, and counted beside the requests of `fetch`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::{Map, json};

use super::{Denied, Watch};
use crate::audit::{self, Event, Network, NetworkRequest, Record};
use crate::gate::Terms;
use crate::model::{Bytes, Code, Host, HttpUrl, Refusal};

/// The requests of each caller since the server started, in numbers.
#[derive(Debug, Default)]
pub(super) struct Totals(Mutex<BTreeMap<String, Network>>);

impl Totals {
    /// Counts one request of a caller, or one connection of its program.
    pub(super) fn note(&self, principal: &str, request: NetworkRequest) {
        let mut callers = locked(&self.0);
        if callers.len() >= MOST_CALLERS && !callers.contains_key(principal) {
            callers.pop_first();
        }
        callers.entry(principal.to_owned()).or_default().note(request);
    }

    pub(super) fn of(&self, principal: &str) -> Network {
        locked(&self.0).get(principal).cloned().unwrap_or_default()
    }
}

/// Callers whose requests are counted by themselves.
const MOST_CALLERS: usize = 256;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One host, as one program asked for it with one outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contact {
    /// The host, a name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// `ok`, or the code it was refused or ended with.
    pub verdict: Code,
    /// How often.
    pub count: u64,
    /// Bytes that went there.
    pub sent: u64,
    /// Bytes that came from there.
    pub received: u64,
}

/// How a host is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// TLS from end to end, through a tunnel.
    Tunnel,
    /// Plain HTTP, request by request.
    Plain,
}

impl How {
    /// The word of the record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tunnel => "tunnel",
            Self::Plain => "plain",
        }
    }
}

/// Writes contacts into the log, and counts them on the caller's account.
pub trait ConnectionRecorder: Send + Sync + std::fmt::Debug {
    /// A host is about to be asked.
    ///
    /// # Errors
    /// `rate_limited`, `audit_unavailable`: then it is not.
    fn counts(&self, host: &str) -> Result<(), Refusal>;

    /// Bytes are about to be sent out.
    ///
    /// # Errors
    /// `quota`, `audit_unavailable`: then they are not.
    fn sends(&self, bytes: u64) -> Result<(), Refusal>;

    /// A contact is about to be made (`ok`), or is refused.
    ///
    /// # Errors
    /// `audit_unavailable`: then it is not made.
    fn opens(&self, contact: &Contact, how: How, refusal: Option<&Refusal>) -> Result<(), Refusal>;

    /// A contact is over.
    fn closes(&self, contact: &Contact, how: How);
}

/// The contacts of one call.
#[derive(Debug)]
pub(super) struct ConnectionLog {
    contacts: Mutex<Vec<Contact>>,
    made: AtomicU64,
    sent: AtomicU64,
    upload: u64,
    recorder: Option<Box<dyn ConnectionRecorder>>,
}

/// One connection that is being made. Dropped, it is over.
#[derive(Debug)]
pub(super) struct Connection {
    log: Arc<ConnectionLog>,
    how: How,
    contact: Mutex<Contact>,
}

/// Contacts of one call, refused ones too: each is a record.
const MOST: u64 = 1000;
/// Lines of the summary; what does not fit is counted under the host `…`.
const LINES: usize = 64;

impl ConnectionLog {
    pub(super) fn new(upload: Bytes, recorder: Option<Box<dyn ConnectionRecorder>>) -> Arc<Self> {
        Arc::new(Self { contacts: Mutex::default(), made: AtomicU64::new(0), sent: AtomicU64::new(0), upload: upload.0, recorder })
    }

    pub(super) fn contacts(&self) -> Vec<Contact> {
        locked(&self.contacts).clone()
    }

    /// Counts a request to a host.
    ///
    /// # Errors
    /// `rate_limited`, `audit_unavailable`.
    pub(super) fn count(&self, url: &HttpUrl) -> Result<(), Denied> {
        self.recorder.as_ref().map_or(Ok(()), |recorder| recorder.counts(url.host_str())).map_err(Denied::from)
    }

    /// Records that a contact is about to be made.
    ///
    /// # Errors
    /// `rate_limited` after a thousand contacts of one call, `audit_unavailable`.
    pub(super) fn open(self: &Arc<Self>, url: &HttpUrl, how: How) -> Result<Connection, Denied> {
        let contact = Contact::new(Some(url), Code::Ok);
        if let Err(refusal) = self.begin(&contact, how, None) {
            self.add(Contact { verdict: refusal.code, ..contact });
            return Err(refusal.into());
        }
        Ok(Connection { log: Arc::clone(self), how, contact: Mutex::new(contact) })
    }

    /// Records that a contact was refused; gives the refusal to answer with.
    pub(super) fn refuse(&self, url: Option<&HttpUrl>, how: How, denied: Denied) -> Denied {
        let contact = Contact::new(url, denied.refusal().code);
        let written = self.begin(&contact, how, Some(denied.refusal()));
        self.add(contact);
        written.map_or_else(Denied::from, |()| denied)
    }

    fn begin(&self, contact: &Contact, how: How, refusal: Option<&Refusal>) -> Result<(), Refusal> {
        if self.made.fetch_add(1, Ordering::Relaxed) >= MOST {
            return Err(Refusal::new(Code::RateLimited, format!("a program makes at most {MOST} connections in one call")));
        }
        self.recorder.as_ref().map_or(Ok(()), |recorder| recorder.opens(contact, how, refusal))
    }

    fn charge(&self, bytes: u64) -> Result<(), Refusal> {
        if self.sent.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > self.upload {
            return Err(Refusal::new(Code::Quota, "the program sends out more than it may").rule("limits.egress_per_hour"));
        }
        self.recorder.as_ref().map_or(Ok(()), |recorder| recorder.sends(bytes))
    }

    fn add(&self, mut contact: Contact) {
        let mut contacts = locked(&self.contacts);
        let same = |one: &Contact, other: &Contact| (&one.host, one.port, one.verdict) == (&other.host, other.port, other.verdict);
        if contacts.len() >= LINES - 1 && !contacts.iter().any(|known| same(known, &contact)) {
            contact = Contact { host: "…".to_owned(), port: 0, verdict: Code::Ok, ..contact };
        }
        match contacts.iter_mut().find(|known| same(known, &contact)) {
            Some(known) => {
                known.count += contact.count;
                known.sent = known.sent.saturating_add(contact.sent);
                known.received = known.received.saturating_add(contact.received);
            }
            None => contacts.push(contact),
        }
    }
}

impl Contact {
    /// A contact with a URL's host, or with none that can be read.
    fn new(url: Option<&HttpUrl>, verdict: Code) -> Self {
        let host = url.map_or_else(
            || "?".to_owned(),
            |url| match url.host() {
                Host::Name(name) => name.to_owned(),
                Host::Address(address) => address.to_string(),
            },
        );
        Self { host, port: url.map_or(0, HttpUrl::port), verdict, count: 1, sent: 0, received: 0 }
    }
}

impl Connection {
    /// Counts bytes that are about to go out.
    ///
    /// # Errors
    /// `quota` when they are more than the call may send.
    pub(super) fn send(&self, bytes: usize) -> Result<(), Refusal> {
        self.log.charge(bytes as u64).inspect_err(|refusal| self.end(refusal.code))?;
        locked(&self.contact).sent += bytes as u64;
        Ok(())
    }

    /// Counts bytes that came in.
    ///
    /// # Errors
    /// `response_too_large` when they are more than `most`.
    pub(super) fn receive(&self, bytes: usize, most: Bytes) -> Result<(), Refusal> {
        let received = {
            let mut contact = locked(&self.contact);
            contact.received = contact.received.saturating_add(bytes as u64);
            contact.received
        };
        if received > most.0 {
            self.end(Code::ResponseTooLarge);
            return Err(too_large(most));
        }
        Ok(())
    }

    /// Notes how it ended; the first reason holds.
    pub(super) fn end(&self, code: Code) {
        let mut contact = locked(&self.contact);
        if contact.verdict == Code::Ok {
            contact.verdict = code;
        }
    }
}

/// The refusal of a body or a tunnel that is too long.
pub(super) fn too_large(most: Bytes) -> Refusal {
    Refusal::new(Code::ResponseTooLarge, format!("more than {most} came over one connection")).rule("network.max_response")
}

impl Drop for Connection {
    fn drop(&mut self) {
        let contact = locked(&self.contact).clone();
        if let Some(recorder) = &self.log.recorder {
            recorder.closes(&contact, self.how);
        }
        self.log.add(contact);
    }
}

/// The log and the counts, and whose call it is.
#[derive(Debug)]
pub struct AuditRecorder {
    watch: Watch,
    terms: Arc<Terms>,
}

impl AuditRecorder {
    /// A recorder for the call of these terms.
    pub fn new(watch: Watch, terms: Arc<Terms>) -> Self {
        Self { watch, terms }
    }

    /// Counts it beside the requests of `fetch`.
    fn note(&self, contact: &Contact, how: How) {
        let (ts, Contact { host, port, verdict, .. }) = (jiff::Timestamp::now().to_string(), contact);
        let request = audit::connection(ts, how.as_str(), host, u64::from(*port), verdict.as_str());
        self.watch.totals.note(&self.terms.principal, request);
    }

    fn record(&self, event: Event, contact: &Contact, how: How) -> Record<'_> {
        let mut record = Record::new(event);
        record.call = Some(&self.terms.call);
        record.session = Some(&self.terms.session);
        record.principal = Some(&self.terms.principal);
        record.profile = Some(&self.terms.profile);
        record.tool = Some(self.terms.tool);
        let Contact { host, port, .. } = contact;
        record.extra =
            Map::from_iter([("host".to_owned(), json!(host)), ("port".to_owned(), json!(port)), ("how".to_owned(), json!(how.as_str()))]);
        record
    }
}

impl ConnectionRecorder for AuditRecorder {
    fn counts(&self, host: &str) -> Result<(), Refusal> {
        self.watch.meter.host(&self.terms.principal, host, &self.terms.manifest.network)
    }

    fn sends(&self, bytes: u64) -> Result<(), Refusal> {
        self.watch.meter.send(&self.terms.principal, self.terms.upload(), bytes)
    }

    fn opens(&self, contact: &Contact, how: How, refusal: Option<&Refusal>) -> Result<(), Refusal> {
        let mut record = self.record(Event::NetworkContact, contact, how);
        record.decision = Some(if refusal.is_some() { "deny" } else { "allow" });
        record.reason = Some(contact.verdict.as_str());
        record.rule = refusal.and_then(|refusal| refusal.rule.as_deref());
        if refusal.is_some() {
            self.note(contact, how);
        }
        self.watch.log.append(&record, audit::Sync::Handed).map(drop).map_err(|fault| {
            tracing::error!(%fault, call_id = self.terms.call, "a connection could not be recorded");
            Refusal::new(Code::AuditUnavailable, "the connection cannot be recorded, so it is not made")
        })
    }

    fn closes(&self, contact: &Contact, how: How) {
        self.note(contact, how);
        let mut record = self.record(Event::NetworkClosed, contact, how);
        record.reason = Some(contact.verdict.as_str());
        record.extra.extend([("bytes_sent".to_owned(), json!(contact.sent)), ("bytes_received".to_owned(), json!(contact.received))]);
        if let Err(fault) = self.watch.log.append(&record, audit::Sync::Handed) {
            tracing::error!(%fault, call_id = self.terms.call, "the end of a connection could not be recorded");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> HttpUrl {
        HttpUrl::parse(text).unwrap()
    }

    #[test]
    fn contacts_are_summed_up_by_host_port_and_verdict() {
        let log = ConnectionLog::new(Bytes(100), None);
        for _ in 0..2 {
            let connection = log.open(&url("https://a.example/"), How::Tunnel).unwrap();
            connection.send(10).unwrap();
            connection.receive(7, Bytes(10)).unwrap();
        }
        let refused = Refusal::new(Code::DomainNotAllowed, "no");
        log.refuse(Some(&url("http://b.example/")), How::Plain, refused.into());
        let contact =
            |host: &str, port, verdict, count, sent, received| Contact { host: host.to_owned(), port, verdict, count, sent, received };
        assert_eq!(
            log.contacts(),
            [contact("a.example", 443, Code::Ok, 2, 20, 14), contact("b.example", 80, Code::DomainNotAllowed, 1, 0, 0)]
        );
    }

    #[test]
    fn what_is_too_much_ends_the_connection_with_its_reason() {
        let log = ConnectionLog::new(Bytes(5), None);
        let connection = log.open(&url("https://a.example/"), How::Tunnel).unwrap();
        assert_eq!(connection.send(6).map_err(|refusal| refusal.code), Err(Code::Quota));
        assert_eq!(connection.receive(11, Bytes(10)).map_err(|refusal| refusal.code), Err(Code::ResponseTooLarge));
        drop(connection);
        assert_eq!(log.contacts().first().map(|contact| contact.verdict), Some(Code::Quota));
    }

    #[test]
    fn neither_the_summary_nor_the_contacts_are_without_end() {
        let log = ConnectionLog::new(Bytes(5), None);
        let made = (0..MOST + 5).filter(|number| log.open(&url(&format!("https://h{number}.example/")), How::Tunnel).is_ok()).count();
        assert_eq!(made as u64, MOST);
        assert_eq!(log.contacts().len(), LINES);
        assert_eq!(log.contacts().iter().map(|contact| contact.count).sum::<u64>(), MOST + 5);
    }
}
