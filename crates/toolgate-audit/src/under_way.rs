//! The calls that have started and not finished: what a crash would leave unknown.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::chain::Sealed;
use super::escape;
use super::record::{Event, Record};

/// Calls under way, by their id.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    calls: BTreeMap<String, Started>,
}

#[derive(Debug)]
struct Started {
    seq: u64,
    /// From `,"session":` to `tool`, as it stood in the record of the start.
    identity: Vec<u8>,
}

impl UnderWay {
    /// Takes note of a record that was written.
    pub(crate) fn note(&mut self, record: &Record<'_>, seq: u64) {
        let Some(call) = record.call else { return };
        match record.event {
            Event::CallStarted => {
                let mut identity = Vec::with_capacity(160);
                record.write_identity(&mut identity);
                self.calls.insert(call.to_owned(), Started { seq, identity });
            }
            Event::CallFinished => drop(self.calls.remove(call)),
            _ => {}
        }
    }

    /// Takes note of a record read from a file.
    pub(crate) fn read(&mut self, sealed: &Sealed<'_>, line: &[u8]) {
        let Some(call) = sealed.call() else { return };
        match sealed.event() {
            Some("call.started") => {
                let record: Map<String, Value> = serde_json::from_slice(line).unwrap_or_default();
                let mut identity = Vec::new();
                for field in ["session", "principal", "profile", "client", "tool"] {
                    if let Some(value) = record.get(field) {
                        identity.extend_from_slice(format!(",\"{field}\":").as_bytes());
                        escape::value(&mut identity, value);
                    }
                }
                self.calls.insert(call.to_owned(), Started { seq: sealed.seq, identity });
            }
            Some("call.finished") => drop(self.calls.remove(call)),
            _ => {}
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Adds the calls of `other`.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.calls.extend(other.calls);
    }

    /// One body per call for its end: `call.finished` with `status` `unknown`.
    pub(crate) fn unknown(self) -> impl Iterator<Item = Vec<u8>> {
        self.calls.into_iter().map(|(call, started)| {
            let mut body = Vec::with_capacity(256);
            Record { call: Some(&call), ..Record::new(Event::CallFinished) }.write_body(&mut body);
            body.extend_from_slice(&started.identity);
            body.extend_from_slice(format!(",\"status\":\"unknown\",\"started_seq\":{}", started.seq).as_bytes());
            body
        })
    }
}
