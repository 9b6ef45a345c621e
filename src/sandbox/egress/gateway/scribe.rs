//! Writes the contacts of a program into the log of the server, and counts them with everything else its caller does.

use std::sync::Arc;

use serde_json::{Map, json};

use super::{Contact, How, Scribe};
use crate::audit::{Event, Record, Sync, connection};
use crate::gate::Terms;
use crate::model::{Code, Refusal};
use crate::sandbox::egress::Watch;

/// The log and the counts, and whose call it is.
#[derive(Debug)]
pub struct LogScribe {
    watch: Watch,
    terms: Arc<Terms>,
}

impl LogScribe {
    /// A scribe for the call of these terms.
    pub fn new(watch: Watch, terms: Arc<Terms>) -> Self {
        Self { watch, terms }
    }

    /// Counts it beside the requests of `fetch`.
    fn note(&self, contact: &Contact, how: How) {
        let (ts, Contact { host, port, verdict, .. }) = (jiff::Timestamp::now().to_string(), contact);
        let request = connection(ts, how.as_str(), host, u64::from(*port), verdict.as_str());
        self.watch.journal.note(&self.terms.principal, request);
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

impl Scribe for LogScribe {
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
        self.watch.log.append(&record, Sync::Handed).map(drop).map_err(|fault| {
            tracing::error!(%fault, call_id = self.terms.call, "a connection could not be recorded");
            Refusal::new(Code::AuditUnavailable, "the connection cannot be recorded, so it is not made")
        })
    }

    fn closes(&self, contact: &Contact, how: How) {
        self.note(contact, how);
        let mut record = self.record(Event::NetworkClosed, contact, how);
        record.reason = Some(contact.verdict.as_str());
        record.extra.extend([("bytes_sent".to_owned(), json!(contact.sent)), ("bytes_received".to_owned(), json!(contact.received))]);
        if let Err(fault) = self.watch.log.append(&record, Sync::Handed) {
            tracing::error!(%fault, call_id = self.terms.call, "the end of a connection could not be recorded");
        }
    }
}
