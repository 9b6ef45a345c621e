//! Whether the log is whole: every record follows from the one before it, and every chain ends as a server ends it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustix::io::Errno;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::chain::{Receipt, Rest, Scanned, Sealed, scan};
use super::fault::Fault;
use super::file::{self, Folder};
use super::record::{Event, Record};
use super::settings::Sync;
use super::writer::Log;

/// What `verify` found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Every file, by name; also one that should be there and is not.
    pub files: Vec<FileReport>,
    /// How many records are whole, in all files.
    pub records: u64,
}

impl Report {
    /// The first fault: the file, the first `seq` that is broken, and why. `None`: the log is whole.
    pub fn broken(&self) -> Option<(&str, &Broken)> {
        self.files.iter().find_map(|file| Some((file.name.as_str(), file.broken.as_ref()?)))
    }

    /// The files of servers that died and have no closing record: their last records may be missing.
    pub fn unended(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter(|file| file.end == End::Missing && file.broken.is_none()).map(|file| file.name.as_str())
    }
}

/// One file of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// Its name below `audit/`.
    pub name: String,
    /// Its first record's number, if it has one.
    pub first_seq: Option<u64>,
    /// The last record that is whole; 0 when there is none.
    pub last_seq: u64,
    /// That record's hash as 64 hexadecimal digits.
    pub last_hash: String,
    /// How many records are whole.
    pub records: u64,
    /// How it ends.
    pub end: End,
    /// The first fault, if any.
    pub broken: Option<Broken>,
}

impl FileReport {
    fn new(id: &str) -> Self {
        let (name, last_hash) = (file::name(id), Receipt::START.hash());
        Self { name, first_seq: None, last_seq: 0, last_hash, records: 0, end: End::Missing, broken: None }
    }

    /// A file that should be there as another than it is.
    fn faulty(id: &str, why: &str) -> Self {
        Self { broken: broken(1, why), ..Self::new(id) }
    }
}

/// How a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// With `log.closed`, by the server that wrote it.
    Closed,
    /// With `log.closed`, by a later start: the server died, and its last records may be missing.
    Recovered,
    /// The chain goes on in the next file.
    Continued,
    /// A server still writes it.
    Live,
    /// Without an end: the server died.
    Missing,
}

/// Where a file is broken first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// The first record that cannot be trusted.
    pub seq: u64,
    /// Why.
    pub why: String,
}

/// Verifies every file below `state`. `head`: the digest of a record of the log that was kept elsewhere.
/// # Errors
/// `Fault::Absent` where there is no log, `Fault::Folder` where it cannot be read.
pub fn verify(state: &Path, head: Option<&str>) -> Result<Report, Fault> {
    let folder = Folder::existing(state)?;
    let mut check = Check { folder: &folder, head, expired: BTreeMap::new(), orphans: BTreeMap::new(), pinned: None };
    let mut files = Vec::new();
    for (chain, ids) in folder.chains()? {
        files.extend(check.chain(&chain, &ids));
    }
    if files.is_empty() {
        return Err(Fault::Absent);
    }
    check.orphans(&mut files);
    check.pinned(&mut files);
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let records = files.iter().map(|file| file.records).sum();
    Ok(Report { files, records })
}

struct Check<'a> {
    folder: &'a Folder,
    head: Option<&'a str>,
    /// Removed for their age: file → hash of the last record.
    expired: BTreeMap<String, String>,
    /// Files without the one before them: first seq and the hash it follows.
    orphans: BTreeMap<String, (u64, Vec<u8>)>,
    /// Where files ended when the digest was made; `None` until its record is found.
    pinned: Option<Vec<Pin>>,
}

/// Where a file ended: its name without ending, seq and hash.
type Pin = (String, u64, String);

impl Check<'_> {
    /// All files of a chain. Empty: it was removed meanwhile because of its age.
    fn chain(&mut self, chain: &str, ids: &BTreeSet<String>) -> Vec<FileReport> {
        loop {
            // Servers start, write and stop meanwhile. A mark is made before the first file and removed after the last record, so it is looked for first.
            let marks = self.folder.marks(chain, ids);
            let reports = self.look(&marks, ids.clone());
            // A start that found its process dead has put it in order since; from here on it stays as it is.
            let is_old = !marks.is_empty() && self.folder.marks(chain, ids).is_empty();
            if !is_old || reports.iter().all(|report| report.broken.is_none() && report.end != End::Missing) {
                return reports;
            }
        }
    }

    fn look(&mut self, marks: &[String], mut ids: BTreeSet<String>) -> Vec<FileReport> {
        let was_held = self.folder.is_held(marks);
        let (mut reports, mut last, mut pins, mut is_pinned) = (Vec::new(), None, Vec::new(), false);
        while let Some(id) = ids.pop_first() {
            let mut report = FileReport::new(&id);
            // Looked for before the file is read: where the next one is there, this one does not grow any more.
            ids.extend(self.folder.next(&id));
            let is_last = ids.is_empty();
            let number = file::split(&id).map_or(1, |(_, number)| number);
            let before = if number == 1 { Some((0, Receipt::START)) } else { last };
            let before = before.filter(|(last, _)| last + 1 == number).map(|(_, receipt)| receipt);
            let file = match self.folder.read(&report.name) {
                Ok(file) => file,
                Err(Fault::Folder { source: Errno::NOENT, .. }) => continue,
                Err(_) => {
                    report.broken = broken(1, "it cannot be read, or is no regular file");
                    reports.push(report);
                    continue;
                }
            };
            let mut contents = Contents::default();
            let scanned = scan(&file, before, |sealed, line| contents.visit(&id, self.head, sealed, line));
            let writer = if !is_last || marks.is_empty() {
                Writer::Ended
            } else if was_held || self.folder.is_held(marks) {
                // Or a start puts it in order, and has the lock meanwhile.
                Writer::Live
            } else {
                Writer::Dead
            };
            (report.first_seq, report.last_seq, report.records) = (scanned.first, scanned.last.seq, scanned.records);
            report.last_hash = scanned.last.hash();
            report.end = if is_last { contents.end(writer) } else { End::Continued };
            report.broken = contents.fault(&scanned, report.end, writer);
            reports.push(report);
            last = Some((number, scanned.last));
            pins.append(&mut contents.pins);
            is_pinned |= contents.is_pinned;
            self.expired.append(&mut contents.expired);
            if before.is_none() {
                self.orphans.insert(id, (scanned.first.unwrap_or(1), contents.follows));
            }
        }
        if is_pinned {
            self.pinned = Some(pins);
        }
        reports
    }

    /// Chains that do not begin with their first record: the file before was removed for its age, or by hand.
    fn orphans(&self, files: &mut [FileReport]) {
        for (id, (first, follows)) in &self.orphans {
            let before = file::split(id).map(|(chain, number)| file::file_id(chain, number.saturating_sub(1)));
            let is_expired = before.and_then(|before| self.expired.get(&before)).is_some_and(|hash| hash.as_bytes() == follows);
            let report = files.iter_mut().find(|file| file.name == file::name(id) && file.broken.is_none() && !is_expired);
            if let Some(file) = report {
                file.broken = broken(*first, "the file before this one is missing");
            }
        }
    }

    /// What the log was when the digest was made must still be in it.
    fn pinned(self, files: &mut Vec<FileReport>) {
        let Some(head) = self.head else { return };
        let Some(pins) = self.pinned else {
            files.push(FileReport { name: "*.jsonl".to_owned(), ..FileReport::faulty("", &format!("no record has the digest `{head}`")) });
            return;
        };
        for (id, seq, hash) in pins.into_iter().filter(|(id, ..)| !self.expired.contains_key(id)) {
            let name = file::name(&id);
            let mut is_there = false;
            if let Ok(file) = self.folder.read(&name) {
                scan(file, None, |sealed, _| is_there |= sealed.seq == seq && sealed.hash == *hash.as_bytes());
            }
            let why = "the record that stood here when the digest was made is missing or was replaced";
            match files.iter_mut().find(|file| file.name == name) {
                _ if is_there => {}
                Some(file) => file.broken = file.broken.take().or_else(|| broken(seq, why)),
                None => files.push(FileReport::faulty(&id, "the file is missing: it was there when the digest was made")),
            }
        }
    }
}

/// The process that writes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Live,
    /// It died: its mark is there, and no lock on it.
    Dead,
    /// It left no mark.
    Ended,
}

/// What the records of one file say.
#[derive(Debug, Default)]
struct Contents {
    /// Whether the first record names this file.
    is_named: Option<bool>,
    /// The hash that the first record follows.
    follows: Vec<u8>,
    /// The last record's event.
    event: Option<Box<str>>,
    is_recovered: bool,
    expired: BTreeMap<String, String>,
    /// Whether it has the record with the digest that was kept elsewhere.
    is_pinned: bool,
    pins: Vec<Pin>,
}

impl Contents {
    fn visit(&mut self, id: &str, head: Option<&str>, sealed: &Sealed<'_>, line: &[u8]) {
        if self.is_named.is_none() {
            self.is_named = Some(field(&parsed(line), "file") == Some(id));
            self.follows = sealed.prev.to_vec();
        }
        self.is_pinned |= head.is_some_and(|head| head.as_bytes() == sealed.hash);
        let event = sealed.event();
        if self.event.as_deref() != event {
            self.event = event.map(Into::into);
        }
        let is = |kind: Event| event == Some(kind.as_str());
        self.is_recovered |= is(Event::LogRecovered);
        if is(Event::LogExpired) {
            let record = parsed(line);
            let both = field(&record, "file").zip(field(&record, "last_hash"));
            self.expired.extend(both.map(|(file, hash)| (file.to_owned(), hash.to_owned())));
        }
        if head.is_some() && is(Event::LogHead) {
            self.pins.extend(read_pins(&parsed(line)));
        }
    }

    fn ends_with(&self, event: Event) -> bool {
        self.event.as_deref() == Some(event.as_str())
    }

    /// How the last file of a chain ends.
    fn end(&self, writer: Writer) -> End {
        match writer {
            _ if self.ends_with(Event::LogClosed) && self.is_recovered => End::Recovered,
            _ if self.ends_with(Event::LogClosed) => End::Closed,
            Writer::Live => End::Live,
            Writer::Dead | Writer::Ended => End::Missing,
        }
    }

    fn fault(&self, scanned: &Scanned, end: End, writer: Writer) -> Option<Broken> {
        if self.is_named == Some(false) {
            return broken(scanned.first.unwrap_or(1), "the file was renamed or exchanged: its first record names another");
        }
        let next = scanned.last.seq.saturating_add(1);
        match (scanned.rest, writer) {
            (Rest::Wrong(why), _) => broken(next, why),
            (Rest::Unreadable, _) => broken(next, "it cannot be read"),
            (Rest::Unended(_) | Rest::Part, Writer::Live) | (Rest::Nothing, Writer::Live | Writer::Dead) => None,
            (Rest::Unended(_) | Rest::Part, Writer::Dead) => {
                broken(next, "the record is torn; its process died, and the next start puts it in order")
            }
            (Rest::Unended(_) | Rest::Part, Writer::Ended) => broken(next, "the record is torn"),
            (Rest::Nothing, Writer::Ended) if scanned.records == 0 => broken(1, "the file is empty"),
            (Rest::Nothing, Writer::Ended) if end != End::Missing => None,
            (Rest::Nothing, Writer::Ended) if self.ends_with(Event::LogRotated) => {
                broken(next, "the file that continues this one is missing")
            }
            (Rest::Nothing, Writer::Ended) => broken(next, "the file ends without its closing record"),
        }
    }
}

/// Records where the files of a log end, and returns the digest of that record. Kept elsewhere, it lets `verify` miss what stood in the log.
/// # Errors
/// Why nothing was recorded.
pub fn head(log: &Log, report: &Report) -> Result<String, Fault> {
    let ends: Vec<Value> = (report.files.iter().filter(|file| file.records > 0))
        .map(|file| json!({"file": file.name.trim_end_matches(".jsonl"), "seq": file.last_seq, "hash": file.last_hash}))
        .collect();
    let mut digest = String::new();
    // So many fit in one record; the digest of the last covers those before it.
    for part in ends.chunks(1000) {
        digest = log.append(&Record::of(Event::LogHead, json!({"ends": part})), Sync::Durable)?.hash();
    }
    Ok(digest)
}

fn read_pins(record: &Map<String, Value>) -> Vec<Pin> {
    let ends = record.get("ends").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    ends.filter_map(|end| Some((field(end, "file")?.to_owned(), end.get("seq")?.as_u64()?, field(end, "hash")?.to_owned()))).collect()
}

fn parsed(line: &[u8]) -> Map<String, Value> {
    serde_json::from_slice(line).unwrap_or_default()
}

fn field<'r>(record: &'r Map<String, Value>, name: &str) -> Option<&'r str> {
    record.get(name).and_then(Value::as_str)
}

#[expect(clippy::unnecessary_wraps, reason = "every use fills an optional field")]
fn broken(seq: u64, why: &str) -> Option<Broken> {
    Some(Broken { seq, why: why.to_owned() })
}
