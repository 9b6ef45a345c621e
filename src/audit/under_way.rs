//! The calls that have started and not finished: what a crash would leave unknown.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::escape;
use super::record::{Event, Record};

/// Calls under way, by their id.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct UnderWay {
    calls: BTreeMap<String, Started>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
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
            Event::CallFinished => self.finished(call),
            _ => {}
        }
    }

    /// Takes note of a start as it stands in the log.
    pub(crate) fn started(&mut self, record: &Map<String, Value>) {
        let (Some(call), Some(seq)) = (record.get("call").and_then(Value::as_str), record.get("seq").and_then(Value::as_u64)) else {
            return;
        };
        let mut identity = Vec::new();
        for field in ["session", "principal", "profile", "client", "tool"] {
            if let Some(value) = record.get(field) {
                identity.extend_from_slice(format!(",\"{field}\":").as_bytes());
                escape::value(&mut identity, value);
            }
        }
        self.calls.insert(call.to_owned(), Started { seq, identity });
    }

    /// Takes note of an end.
    pub(crate) fn finished(&mut self, call: &str) {
        self.calls.remove(call);
    }

    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Adds the calls of `other`.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.calls.extend(other.calls);
    }

    /// The list that the first record of the next file carries.
    pub(crate) fn list(&self) -> Value {
        let each = |(call, started): (&String, &Started)| {
            let text = format!("{{\"call\":0{}}}", String::from_utf8_lossy(&started.identity));
            let mut fields: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
            fields.insert("call".to_owned(), json!(call));
            fields.insert("seq".to_owned(), json!(started.seq));
            Value::Object(fields)
        };
        self.calls.iter().map(each).collect()
    }

    /// Reads that list.
    pub(crate) fn read_list(&mut self, list: &Value) {
        for record in list.as_array().into_iter().flatten().filter_map(Value::as_object) {
            self.started(record);
        }
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
