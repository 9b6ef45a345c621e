//! Reading the log back: the records of all files in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::fault::Fault;
use super::folder::{Folder, Place};
use super::scan::Lines;
use super::segment;

/// A record as it stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The file's name below `audit/`.
    pub file: String,
    /// The line, without its end.
    pub line: String,
    /// Its fields.
    pub fields: Map<String, Value>,
}

impl Stored {
    /// Reads a line. `None`: it is no JSON object.
    pub(crate) fn read(file: &str, line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        Some(Self { file: file.to_owned(), line: line.to_owned(), fields: serde_json::from_str(line).ok()? })
    }

    /// A field that is a string, or "".
    pub fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// The field `ts`.
    pub fn time(&self) -> Option<Timestamp> {
        self.text("ts").parse().ok()
    }

    /// The record's number in its chain; 0 where it has none.
    pub fn seq(&self) -> u64 {
        self.fields.get("seq").and_then(Value::as_u64).unwrap_or(0)
    }
}

/// All records below a state directory, merged by time. A file is open only while records of its time are read. Lines that are no records are counted, not
/// returned: `verify` tells what is wrong with them.
pub struct Records {
    folder: Folder,
    /// Files not begun yet, the earliest last.
    waiting: Vec<(String, String)>,
    reading: BinaryHeap<Reverse<Next>>,
    damaged: u64,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("waiting", &self.waiting.len()).field("damaged", &self.damaged).finish_non_exhaustive()
    }
}

impl Records {
    /// Opens the log below `state`.
    /// # Errors
    /// `Fault::Folder` where there is no log.
    pub fn open(state: &Path) -> Result<Self, Fault> {
        let folder = Folder::existing(state)?;
        let mut waiting = Vec::new();
        for id in folder.names(Place::Audit)?.iter().filter_map(|name| name.strip_suffix(".jsonl")) {
            let name = segment::name(id);
            let Ok(file) = folder.read(Place::Audit, &name) else { continue };
            let first = Lines::new(file).next().ok().flatten().and_then(|line| Stored::read(&name, line.bytes));
            waiting.push((first.map(|first| first.text("ts").to_owned()).unwrap_or_default(), name));
        }
        waiting.sort_unstable_by(|one, other| other.cmp(one));
        Ok(Self { folder, waiting, reading: BinaryHeap::new(), damaged: 0 })
    }

    /// How many lines so far were no records.
    pub const fn damaged(&self) -> u64 {
        self.damaged
    }

    fn push(&mut self, mut lines: Lines<File>, file: &str) {
        loop {
            match lines.next() {
                // The last line may still be being written.
                Ok(Some(line)) if !line.ended => return,
                Ok(Some(line)) => match Stored::read(file, line.bytes) {
                    Some(record) => return self.reading.push(Reverse(Next { record, lines })),
                    None => self.damaged = self.damaged.saturating_add(1),
                },
                Ok(None) | Err(_) => return,
            }
        }
    }
}

impl Iterator for Records {
    type Item = Stored;

    fn next(&mut self) -> Option<Stored> {
        // Every file that begins no later than the next record is opened first.
        while let Some((time, file)) =
            self.waiting.pop_if(|(time, _)| self.reading.peek().is_none_or(|next| time.as_str() <= next.0.record.text("ts")))
        {
            drop(time);
            if let Ok(opened) = self.folder.read(Place::Audit, &file) {
                self.push(Lines::new(opened), &file);
            }
        }
        let Reverse(Next { record, lines }) = self.reading.pop()?;
        self.push(lines, &record.file);
        Some(record)
    }
}

struct Next {
    record: Stored,
    lines: Lines<File>,
}

impl Next {
    fn key(&self) -> (&str, &str, u64) {
        (self.record.text("ts"), &self.record.file, self.record.seq())
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Next {}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
