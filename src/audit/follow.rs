//! Reading a log that is being written: its last records, then whatever is added.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::fault::Fault;
use super::folder::{Folder, Place};
use super::read::Stored;

/// Remembers how far each file was read.
#[derive(Debug)]
pub struct Follower {
    folder: Folder,
    read: BTreeMap<String, u64>,
}

impl Follower {
    /// Opens the log below `state` at its end, and returns the last `count` records of all files that `wanted` admits, by time. At most the last 4 MiB of each
    /// file are looked through.
    /// # Errors
    /// `Fault::Folder` where there is no log.
    pub fn open(state: &Path, count: usize, wanted: impl Fn(&Stored) -> bool) -> Result<(Self, Vec<Stored>), Fault> {
        let mut follower = Self { folder: Folder::existing(state)?, read: BTreeMap::new() };
        for name in follower.files()? {
            let length = follower.folder.length(Place::Audit, &name);
            let start = length.saturating_sub(WINDOW);
            // From the middle of the file, the rest of a line comes first; it is no record and falls away.
            follower.read.insert(name, start);
        }
        let mut last = follower.poll()?;
        last.retain(|record| wanted(record));
        let skip = last.len().saturating_sub(count);
        Ok((follower, last.split_off(skip)))
    }

    /// The records added since the last look, by time.
    /// # Errors
    /// `Fault::Folder` where the log cannot be read any more.
    pub fn poll(&mut self) -> Result<Vec<Stored>, Fault> {
        let mut records = Vec::new();
        for name in self.files()? {
            let from = self.read.get(&name).copied().unwrap_or(0);
            if self.folder.length(Place::Audit, &name) > from
                && let Ok(file) = self.folder.read(Place::Audit, &name)
            {
                let whole = read_lines(file, from, &name, &mut records).unwrap_or(0);
                self.read.insert(name, from.saturating_add(whole));
            }
        }
        records.sort_by(|one: &Stored, other| (one.text("ts"), &one.file, one.seq()).cmp(&(other.text("ts"), &other.file, other.seq())));
        Ok(records)
    }

    fn files(&self) -> Result<Vec<String>, Fault> {
        let mut names = self.folder.names(Place::Audit)?;
        names.retain(|name| name.strip_suffix(".jsonl").is_some());
        Ok(names)
    }
}

/// Reads the whole lines after `from`; returns how many bytes they take. A line that is still being written is left for the next look.
fn read_lines(mut file: File, from: u64, name: &str, records: &mut Vec<Stored>) -> std::io::Result<u64> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(WINDOW.saturating_mul(4)).read_to_end(&mut bytes)?;
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else { return Ok(0) };
    let (lines, _) = bytes.split_at_checked(end).unwrap_or_default();
    records.extend(lines.split(|byte| *byte == b'\n').filter_map(|line| Stored::read(name, line)));
    Ok(u64::try_from(end).unwrap_or(0).saturating_add(1))
}

const WINDOW: u64 = 4 * 1024 * 1024;
