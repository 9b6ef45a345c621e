//! Reading the log back: the records of all files in the order of their times.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::chain::Lines;
use super::fault::Fault;
use super::file::Folder;

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

/// The records below a state directory, merged by time. A file is open only while records of its time are read. Lines that are no records are counted, not
/// returned: `verify` tells what is wrong with them.
pub struct Records {
    folder: Folder,
    /// How far each file was read, in bytes.
    read: BTreeMap<String, u64>,
    /// Files not begun yet, the earliest last.
    waiting: Vec<(String, String)>,
    reading: Vec<(Stored, Lines<File>)>,
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
    /// `Fault::Absent` where there is no log, `Fault::Folder` where it cannot be read.
    pub fn open(state: &Path) -> Result<Self, Fault> {
        let folder = Folder::existing(state)?;
        let mut records = Self { folder, read: BTreeMap::new(), waiting: Vec::new(), reading: Vec::new(), damaged: 0 };
        records.look()?;
        Ok(records)
    }

    /// Opens the log at the last 4 MiB of each file.
    /// # Errors
    /// As `open`.
    pub fn tail(state: &Path) -> Result<Self, Fault> {
        let mut records = Self::open(state)?;
        for (_, name) in &records.waiting {
            // From the middle of the file, the rest of a line comes first; it is no record and falls away.
            records.read.insert(name.clone(), records.folder.length(name).saturating_sub(WINDOW));
        }
        records.look()?;
        Ok(records)
    }

    /// Goes on with what was added since the last record was read.
    /// # Errors
    /// `Fault::Folder` where the log cannot be read any more.
    pub fn look(&mut self) -> Result<(), Fault> {
        self.waiting.clear();
        for name in self.folder.files()? {
            if self.read.get(&name).is_some_and(|read| self.folder.length(&name) <= *read) {
                continue;
            }
            let first = self.lines(&name).and_then(|mut lines| {
                let line = lines.next().ok()??;
                Some(Stored::read(&name, line.bytes).map(|first| first.text("ts").to_owned()).unwrap_or_default())
            });
            self.waiting.extend(first.map(|time| (time, name)));
        }
        self.waiting.sort_unstable_by(|one, other| other.cmp(one));
        Ok(())
    }

    /// How many lines so far were no records.
    pub const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// What was not read yet of a file.
    fn lines(&self, name: &str) -> Option<Lines<File>> {
        let mut file = self.folder.read(name).ok()?;
        file.seek(SeekFrom::Start(self.read.get(name).copied().unwrap_or(0))).ok()?;
        Some(Lines::new(file))
    }

    fn push(&mut self, mut lines: Lines<File>, file: &str) {
        while let Ok(Some(line)) = lines.next() {
            // The last line may still be being written.
            if !line.ended {
                return;
            }
            let read = self.read.entry(file.to_owned()).or_default();
            *read = read.saturating_add(line.length);
            match Stored::read(file, line.bytes) {
                Some(record) => return self.reading.push((record, lines)),
                None => self.damaged = self.damaged.saturating_add(1),
            }
        }
    }
}

impl Iterator for Records {
    type Item = Stored;

    fn next(&mut self) -> Option<Stored> {
        // Every file that begins no later than the next record is opened first.
        loop {
            let key = |(record, _): &(Stored, _)| (record.text("ts").to_owned(), record.file.clone(), record.seq());
            let next = self.reading.iter().map(key).enumerate().min_by(|one, other| one.1.cmp(&other.1));
            if let Some((_, file)) = self.waiting.pop_if(|(time, _)| next.as_ref().is_none_or(|(_, (ts, ..))| *time <= *ts)) {
                if let Some(lines) = self.lines(&file) {
                    self.push(lines, &file);
                }
                continue;
            }
            let (record, lines) = self.reading.swap_remove(next?.0);
            self.push(lines, &record.file);
            return Some(record);
        }
    }
}

/// How much of a file's end `tail` looks through.
const WINDOW: u64 = 4 * 1024 * 1024;
