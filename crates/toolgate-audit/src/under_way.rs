//! The calls that have started and not finished: what a crash would leave unknown.

use std::collections::BTreeMap;

use super::chain::head;
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
    /// Takes note of a record by its body.
    pub(crate) fn note(&mut self, seq: u64, body: &[u8]) {
        const ARGS: &[u8] = b",\"args\":";
        let Some((event, Some(call), rest)) = head(body) else { return };
        if event == Event::CallStarted.as_str() {
            // No text holds a bare quote, so this is the field.
            let end = rest.windows(ARGS.len()).position(|part| part == ARGS).unwrap_or(rest.len());
            self.calls.insert(call.to_owned(), Started { seq, identity: rest.get(..end).unwrap_or_default().to_vec() });
        } else if event == Event::CallFinished.as_str() {
            self.calls.remove(call);
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
