//! What a program asked for: each contact written down before it is made, and summed up for the answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::model::{Bytes, Code, Host, HttpUrl, Refusal};
use crate::sandbox::egress::Denied;

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
pub trait Scribe: Send + Sync + std::fmt::Debug {
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
pub(super) struct Ledger {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    contacts: Mutex<Vec<Contact>>,
    made: AtomicU64,
    sent: AtomicU64,
    upload: u64,
    scribe: Option<Box<dyn Scribe>>,
}

/// One contact that is being made. Dropped, it is over.
#[derive(Debug)]
pub(super) struct Line {
    inner: Arc<Inner>,
    host: String,
    port: u16,
    how: How,
    verdict: Mutex<Code>,
    sent: AtomicU64,
    received: AtomicU64,
}

/// Contacts of one call, refused ones too: each is a record.
const MOST: u64 = 1000;
/// Lines of the summary; what does not fit is counted under the host `…`.
const LINES: usize = 64;

impl Ledger {
    pub(super) fn new(upload: Bytes, scribe: Option<Box<dyn Scribe>>) -> Self {
        let inner = Inner { contacts: Mutex::default(), made: AtomicU64::new(0), sent: AtomicU64::new(0), upload: upload.0, scribe };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn contacts(&self) -> Vec<Contact> {
        self.inner.contacts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a request to a host.
    ///
    /// # Errors
    /// `rate_limited`, `audit_unavailable`.
    pub(super) fn count(&self, url: &HttpUrl) -> Result<(), Denied> {
        self.inner.scribe.as_ref().map_or(Ok(()), |scribe| scribe.counts(url.host_str())).map_err(Denied::from)
    }

    /// Writes down that a contact is about to be made.
    ///
    /// # Errors
    /// `rate_limited` after a thousand contacts of one call, `audit_unavailable`.
    pub(super) fn open(&self, url: &HttpUrl, how: How) -> Result<Line, Denied> {
        let (host, port) = (name(url), url.port());
        if let Err(refusal) = self.inner.begin(&Contact::new(&host, port, Code::Ok), how, None) {
            self.inner.add(Contact::new(&host, port, refusal.code));
            return Err(refusal.into());
        }
        let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Line { inner: Arc::clone(&self.inner), host, port, how, verdict: Mutex::new(Code::Ok), sent, received })
    }

    /// Writes down that a contact was refused; gives the refusal to answer with.
    pub(super) fn refuse(&self, url: Option<&HttpUrl>, how: How, denied: Denied) -> Denied {
        let (host, port) = url.map_or_else(|| ("?".to_owned(), 0), |url| (name(url), url.port()));
        let contact = Contact::new(&host, port, denied.refusal().code);
        let written = self.inner.begin(&contact, how, Some(denied.refusal()));
        self.inner.add(contact);
        written.map_or_else(Denied::from, |()| denied)
    }
}

fn name(url: &HttpUrl) -> String {
    match url.host() {
        Host::Name(name) => name.to_owned(),
        Host::Address(address) => address.to_string(),
    }
}

impl Contact {
    fn new(host: &str, port: u16, verdict: Code) -> Self {
        Self { host: host.to_owned(), port, verdict, count: 1, sent: 0, received: 0 }
    }
}

impl Inner {
    fn begin(&self, contact: &Contact, how: How, refusal: Option<&Refusal>) -> Result<(), Refusal> {
        if self.made.fetch_add(1, Ordering::Relaxed) >= MOST {
            return Err(Refusal::new(Code::RateLimited, format!("a program makes at most {MOST} connections in one call")));
        }
        self.scribe.as_ref().map_or(Ok(()), |scribe| scribe.opens(contact, how, refusal))
    }

    fn add(&self, contact: Contact) {
        let mut contacts = self.contacts.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |one: &Contact, other: &Contact| (&one.host, one.port, one.verdict) == (&other.host, other.port, other.verdict);
        let contact = if contacts.len() >= LINES - 1 && !contacts.iter().any(|known| same(known, &contact)) {
            Contact { host: "…".to_owned(), port: 0, verdict: Code::Ok, ..contact }
        } else {
            contact
        };
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

impl Line {
    /// Counts bytes that are about to go out.
    ///
    /// # Errors
    /// `quota` when they are more than the call may send.
    pub(super) fn send(&self, bytes: usize) -> Result<(), Refusal> {
        let bytes = bytes as u64;
        if self.inner.sent.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > self.inner.upload {
            self.end(Code::Quota);
            return Err(Refusal::new(Code::Quota, "the program sends out more than it may").rule("limits.egress_per_hour"));
        }
        if let Some(scribe) = &self.inner.scribe {
            scribe.sends(bytes).inspect_err(|refusal| self.end(refusal.code))?;
        }
        self.sent.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Counts bytes that came in.
    ///
    /// # Errors
    /// `response_too_large` when they are more than `most`.
    pub(super) fn receive(&self, bytes: usize, most: Bytes) -> Result<(), Refusal> {
        let bytes = bytes as u64;
        if self.received.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > most.0 {
            self.end(Code::ResponseTooLarge);
            return Err(too_large(most));
        }
        Ok(())
    }

    /// Notes how it ended; the first reason holds.
    pub(super) fn end(&self, code: Code) {
        let mut verdict = self.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        if *verdict == Code::Ok {
            *verdict = code;
        }
    }
}

/// The refusal of a body or a tunnel that is too long.
pub(super) fn too_large(most: Bytes) -> Refusal {
    Refusal::new(Code::ResponseTooLarge, format!("more than {most} came over one connection")).rule("network.max_response")
}

impl Drop for Line {
    fn drop(&mut self) {
        let contact = Contact {
            host: std::mem::take(&mut self.host),
            port: self.port,
            verdict: *self.verdict.get_mut().unwrap_or_else(PoisonError::into_inner),
            count: 1,
            sent: *self.sent.get_mut(),
            received: *self.received.get_mut(),
        };
        if let Some(scribe) = &self.inner.scribe {
            scribe.closes(&contact, self.how);
        }
        self.inner.add(contact);
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
        let ledger = Ledger::new(Bytes(100), None);
        for _ in 0..2 {
            let line = ledger.open(&url("https://a.example/"), How::Tunnel).unwrap();
            line.send(10).unwrap();
            line.receive(7, Bytes(10)).unwrap();
        }
        let refused = Refusal::new(Code::DomainNotAllowed, "no");
        ledger.refuse(Some(&url("http://b.example/")), How::Plain, refused.into());
        let contact =
            |host: &str, port, verdict, count, sent, received| Contact { host: host.to_owned(), port, verdict, count, sent, received };
        assert_eq!(
            ledger.contacts(),
            [contact("a.example", 443, Code::Ok, 2, 20, 14), contact("b.example", 80, Code::DomainNotAllowed, 1, 0, 0)]
        );
    }

    #[test]
    fn what_is_too_much_ends_the_line_with_its_reason() {
        let ledger = Ledger::new(Bytes(5), None);
        let line = ledger.open(&url("https://a.example/"), How::Tunnel).unwrap();
        assert_eq!(line.send(6).map_err(|refusal| refusal.code), Err(Code::Quota));
        assert_eq!(line.receive(11, Bytes(10)).map_err(|refusal| refusal.code), Err(Code::ResponseTooLarge));
        drop(line);
        assert_eq!(ledger.contacts().first().map(|contact| contact.verdict), Some(Code::Quota));
    }

    #[test]
    fn neither_the_summary_nor_the_contacts_are_without_end() {
        let ledger = Ledger::new(Bytes(5), None);
        let made = (0..MOST + 5).filter(|number| ledger.open(&url(&format!("https://h{number}.example/")), How::Tunnel).is_ok()).count();
        assert_eq!(made as u64, MOST);
        assert_eq!(ledger.contacts().len(), LINES);
        assert_eq!(ledger.contacts().iter().map(|contact| contact.count).sum::<u64>(), MOST + 5);
    }
}
