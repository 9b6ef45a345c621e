//! Whether the log is whole: every record follows from the one before it, every file is there and reaches its signed head.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};

use super::chain::Receipt;
use super::fault::Fault;
use super::folder::{Folder, Place, is_held};
use super::heads::{self, Head};
use super::hex;
use super::record::Event;
use super::scan::{Lines, Rest, scan};
use super::segment;
use super::turn::EARLIER;

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
    /// How many records are whole.
    pub records: u64,
    /// Whether a process has still to end it.
    pub live: bool,
    /// The record up to which a signed head vouches for it.
    pub signed_seq: Option<u64>,
    /// The first fault, if any.
    pub broken: Option<Broken>,
}

impl FileReport {
    /// A file that should be there as another than it is.
    fn faulty(name: String, why: &str) -> Self {
        Self { name, first_seq: None, last_seq: 0, records: 0, live: false, signed_seq: None, broken: broken(1, why) }
    }
}

/// Where a file is broken first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// The first record that cannot be trusted.
    pub seq: u64,
    /// Why.
    pub why: String,
}

/// Verifies every file below `state`. `key`: the verifying key of the heads as 64 hexadecimal digits; without it, the key in the state directory.
/// # Errors
/// `Fault::Absent` where nothing tells of a log, `Fault::Folder` where it cannot be read.
pub fn verify(state: &Path, key: Option<&str>) -> Result<Report, Fault> {
    let folder = Folder::existing(state)?;
    let (own_key, key_fault) = match heads::public(&folder) {
        Ok(own_key) => (own_key, "there are no keys to check its heads with"),
        Err(_) => (None, "it holds no keys to check the heads with"),
    };
    // Servers start, write and stop meanwhile. A file is there before its head is, so the heads are listed first: the file of a listed head is missing
    // only where it was taken away.
    let with_head = heads::ids(&folder)?;
    let listed = folder.names(Place::Audit)?;
    let key = key.or(own_key.as_deref());
    let mut check = Check::new(&folder, key);
    for id in with_head {
        check.links.entry(id).or_default();
    }
    let mut files = Vec::new();
    let mut seen = BTreeSet::new();
    let mut next: BTreeSet<String> = listed.iter().filter_map(|name| name.strip_suffix(".jsonl")).map(str::to_owned).collect();
    while !next.is_empty() {
        let signed: Vec<Signed> = next.iter().map(|id| check.signed(id)).collect();
        files.extend(signed.into_iter().filter_map(|signed| check.file(signed)));
        seen.append(&mut next);
        // A listing of a folder in which names come and go may leave a new one out, and give a newer one that links to it.
        next.extend(check.links.keys().filter(|id| !seen.contains(*id) && folder.exists(Place::Audit, &segment::name(id))).cloned());
    }
    check.missing(&mut files);
    // At its first start a server makes the keys while its file is empty.
    if key.is_none() && files.iter().any(|file| file.records > 0) && !matches!(heads::public(&folder), Ok(Some(_))) {
        files.push(FileReport::faulty(heads::KEYS.to_owned(), key_fault));
    }
    if files.is_empty() {
        // The keys are made after the first file of a log, and the newest file is never removed for its age.
        if own_key.is_none() {
            return Err(Fault::Absent);
        }
        files.push(FileReport::faulty("*.jsonl".to_owned(), "every file of the log is gone: its keys tell that there was one"));
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let records = files.iter().map(|file| file.records).sum();
    Ok(Report { files, records })
}

/// A file, whether a process holds it, whether one has still to end it, and what its head says.
struct Signed {
    id: String,
    locked: bool,
    live: bool,
    head: Result<Option<Head>, &'static str>,
}

struct Check<'a> {
    folder: &'a Folder,
    /// The verifying key that heads must be signed with.
    key: Option<&'a str>,
    /// What other chains say a file holds: file → seq → hash.
    links: BTreeMap<String, BTreeMap<u64, String>>,
    /// Removed for their age: file → hash of the last record.
    expired: BTreeMap<String, String>,
    /// The last file of each chain so far.
    ends: BTreeMap<String, (u32, Receipt)>,
    /// Chains whose first file is gone: file → first seq and the hash it follows.
    orphans: BTreeMap<String, (u64, Vec<u8>)>,
}

impl<'a> Check<'a> {
    fn new(folder: &'a Folder, key: Option<&'a str>) -> Self {
        Self { folder, key, links: BTreeMap::new(), expired: BTreeMap::new(), ends: BTreeMap::new(), orphans: BTreeMap::new() }
    }

    /// What is known of a file before its records are read, with what its first one names.
    fn signed(&mut self, id: &str) -> Signed {
        let signed = self.known(id);
        self.read_links(id);
        signed
    }

    /// What is known of a file beside its records: in this order, so that what its process does meanwhile is no fault.
    fn known(&self, id: &str) -> Signed {
        let locked = self.folder.read(Place::Audit, &segment::name(id)).is_ok_and(|file| is_held(&file));
        // Its process makes the mark before the file, and takes it away after the last head.
        let live = self.folder.exists(Place::Audit, &segment::marker(id));
        let head = Head::read(self.folder, id, self.key);
        Signed { id: id.to_owned(), locked, live, head }
    }

    /// Reads which other files the first record of a file names. What it says is trusted only after the file itself is found whole, but a forged
    /// link can do no more than report a fault.
    fn read_links(&mut self, id: &str) {
        let Ok(file) = self.folder.read(Place::Audit, &segment::name(id)) else { return };
        let mut lines = Lines::new(file);
        let Ok(Some(line)) = lines.next() else { return };
        let Ok(record) = serde_json::from_slice::<Map<String, Value>>(line.bytes) else { return };
        for link in record.get("links").and_then(Value::as_array).into_iter().flatten() {
            if let (Some(file), Some(seq), Some(hash)) = (text(link, "file"), link.get("seq").and_then(Value::as_u64), text(link, "hash")) {
                self.links.entry(file.to_owned()).or_default().insert(seq, hash.to_owned());
            }
        }
    }

    /// `None`: the file went away meanwhile, because of its age.
    fn file(&mut self, signed: Signed) -> Option<FileReport> {
        let id = signed.id.clone();
        let (was_live, said) = (signed.live, self.links.get(&id).cloned());
        let report = self.look(signed)?;
        // A start that found its process dead has put it in order since: what was seen of it is old, and from here on it stays as it is.
        if report.broken.is_none() || !was_live || self.folder.exists(Place::Audit, &segment::marker(&id)) {
            return Some(report);
        }
        if let Some(said) = said {
            self.links.insert(id.clone(), said);
        }
        self.look(self.known(&id))
    }

    /// One look at a file. `None`: it is gone.
    fn look(&mut self, Signed { id, locked, live, head }: Signed) -> Option<FileReport> {
        let id = id.as_str();
        let name = segment::name(id);
        let mut report = FileReport { name, first_seq: None, last_seq: 0, records: 0, live, signed_seq: None, broken: None };
        let file = match self.folder.read(Place::Audit, &report.name) {
            Ok(file) => file,
            Err(Fault::Folder { source: rustix::io::Errno::NOENT, .. }) => return None,
            Err(_) => {
                report.broken = broken(1, "it cannot be read, or is no regular file");
                return Some(report);
            }
        };
        let (head, head_fault) = match head {
            Ok(head) => (head, None),
            Err(why) => (None, Some(why)),
        };
        let head = head.filter(Head::names_a_record);
        report.signed_seq = head.as_ref().map(|head| head.seq);
        let mut said = self.links.remove(id).unwrap_or_default();
        let mut contradicted: Option<u64> = None;
        if let Some(head) = &head
            && said.insert(head.seq, head.hash.clone()).is_some_and(|hash| hash != head.hash)
        {
            contradicted = Some(head.seq);
        }
        let (mut event, mut named, mut follows, mut tells_of_loss) = (None::<Box<str>>, None, Vec::new(), false);
        let before = self.before(id);
        let expired = &mut self.expired;
        let scanned = scan(&file, before, |sealed, line| {
            if named.is_none() {
                (named, tells_of_loss) = (Some(names_itself(line, id)), tells_of_a_loss(line));
                follows = sealed.prev.to_vec();
            }
            // A number below the file's own names a record that is not there: no such claim may keep later ones from being checked.
            while said.first_key_value().is_some_and(|(seq, _)| *seq <= sealed.seq) {
                if let Some((seq, hash)) = said.pop_first()
                    && (seq < sealed.seq || hash != hex::text(&sealed.hash))
                {
                    contradicted.get_or_insert(seq);
                }
            }
            if event.as_deref() != sealed.event() {
                event = sealed.event().map(Into::into);
            }
            if sealed.event() == Some(Event::LogExpired.as_str()) {
                read_expired(expired, line);
            }
        });
        (report.first_seq, report.last_seq, report.records) = (scanned.first, scanned.last.seq, scanned.records);
        let next = scanned.last.seq.saturating_add(1);
        if let Some((chain, number)) = segment::split(id) {
            self.ends.insert(chain.to_owned(), (number, scanned.last));
        }
        if before.is_none() && !follows.is_empty() {
            self.orphans.insert(id.to_owned(), (scanned.first.unwrap_or(1), follows));
        }
        let is_end = segment::is_end(event.as_deref());
        // Where its process was dead before, a start may be putting the file in order: it has the lock until the last head is written.
        let locked = locked || (live && (is_end || matches!(scanned.rest, Rest::Unended(_) | Rest::Part)) && is_held(&file));
        let cut = || said.keys().next_back().is_some_and(|seq| *seq > scanned.last.seq);
        report.broken = if named == Some(false) {
            broken(scanned.first.unwrap_or(1), "the file was renamed or exchanged: its first record names another")
        } else if tells_of_loss {
            broken(scanned.first.unwrap_or(1), LOST)
        } else if let Some(seq) = contradicted {
            broken(seq, "it is not the record that a signed head or another chain names")
        } else if let Some(why) = wrong(scanned.rest, live && locked, live) {
            broken(next, why)
        } else if let Some(why) = head_fault {
            broken(next, why)
        } else if scanned.records > 0 && !self.has_head(id) {
            broken(report.first_seq.unwrap_or(1), heads::GONE)
        } else if cut() {
            broken(next, "the file ends before a record that its signed head or another chain names")
        } else if scanned.records == 0 && !live {
            broken(1, "the file is empty")
        } else if let Some(why) = self.unended(id, live, event.as_deref()) {
            broken(next, why)
        } else if (!live || (is_end && !locked)) && !self.is_signed_off(id, scanned.last) {
            // Its process signs the last record before it gives the file up. A mark of life without a process is no excuse.
            let first = report.signed_seq.map_or(1, |seq| seq.saturating_add(1)).max(report.first_seq.unwrap_or(1));
            broken(first, if live { UNSIGNED_YET } else { UNSIGNED })
        } else {
            None
        };
        Some(report)
    }

    /// Whether a file has a head of this installation. Read anew: the file may have been empty before.
    fn has_head(&self, id: &str) -> bool {
        matches!(Head::read(self.folder, id, self.key), Ok(Some(_)))
    }

    /// Whether the head of a file vouches for its last record. Read anew: the file may have been recovered since.
    fn is_signed_off(&self, id: &str, last: Receipt) -> bool {
        Head::read(self.folder, id, self.key).is_ok_and(|head| head.is_some_and(|head| head.seq == last.seq && head.hash == last.hash()))
    }

    /// The record that the first of a file must follow; `None` where the file before it is gone.
    fn before(&self, id: &str) -> Option<Receipt> {
        match segment::split(id) {
            Some((_, 1)) | None => Some(Receipt::new(0, hex::NONE)),
            Some((chain, number)) => self.ends.get(chain).filter(|(last, _)| last.checked_add(1) == Some(number)).map(|(_, end)| *end),
        }
    }

    fn unended(&self, id: &str, live: bool, event: Option<&str>) -> Option<&'static str> {
        if event == Some(Event::LogRotated.as_str()) {
            // It is given up after the first record of the next one.
            let there = live || segment::next(id).is_some_and(|next| self.folder.length(Place::Audit, &segment::name(&next)) > 0);
            return (!there).then_some("the file that continues this one is missing");
        }
        let ended = live || event == Some(Event::LogClosed.as_str());
        (!ended).then_some("the file ends without its closing record")
    }

    /// Files that others name and that are not there, and chains that do not begin with their first record.
    fn missing(self, files: &mut Vec<FileReport>) {
        for (id, said) in self.links {
            // A file in which nothing was written is thrown away, its head first.
            let is_discarded = said.is_empty() && !self.folder.exists(Place::Heads, &heads::name(&id));
            if !self.expired.contains_key(&id) && !is_discarded {
                files.push(FileReport::faulty(segment::name(&id), "the file is missing: its signed head or another chain names it"));
            }
        }
        for (id, (first, follows)) in self.orphans {
            let explained =
                segment::before(&id).and_then(|before| self.expired.get(&before)).is_some_and(|hash| hash.as_bytes() == follows);
            let name = segment::name(&id);
            if let Some(file) = files.iter_mut().find(|file| file.name == name && file.broken.is_none() && !explained) {
                file.broken = broken(first, "the file before this one is missing");
            }
        }
    }
}

const LOST: &str = "a new chain begins here, and the log before it is missing with its heads: both were removed between two starts; where that was meant, \
    put the state folder away whole, keys and all";
const UNSIGNED: &str = "the file has ended, and no signed head vouches for its last record";
const UNSIGNED_YET: &str =
    "its process died, or had no room on the disk, before it signed the last record; the next start puts it in order";

/// What is wrong with what follows the last whole record, if anything. `locked`: the process that writes the file lives.
fn wrong(rest: Rest, locked: bool, live: bool) -> Option<&'static str> {
    match rest {
        Rest::Nothing => None,
        Rest::Wrong(why) => Some(why),
        Rest::Unreadable => Some("it cannot be read"),
        // Its process may be in the middle of writing it.
        Rest::Unended(_) | Rest::Part if locked => None,
        Rest::Unended(_) | Rest::Part if live => Some("the record is torn; its process died, and the next start puts it in order"),
        Rest::Unended(_) | Rest::Part => Some("the record is torn"),
    }
}

fn names_itself(line: &[u8], id: &str) -> bool {
    serde_json::from_slice::<Map<String, Value>>(line).is_ok_and(|record| record.get("file").and_then(Value::as_str) == Some(id))
}

/// Whether the first record of a file says that the log before it is missing.
fn tells_of_a_loss(line: &[u8]) -> bool {
    serde_json::from_slice::<Map<String, Value>>(line).is_ok_and(|record| record.contains_key(EARLIER))
}

fn read_expired(expired: &mut BTreeMap<String, String>, line: &[u8]) {
    if let Ok(record) = serde_json::from_slice::<Value>(line)
        && let (Some(file), Some(hash)) = (text(&record, "file"), text(&record, "last_hash"))
    {
        expired.insert(file.to_owned(), hash.to_owned());
    }
}

fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field).and_then(Value::as_str)
}

#[expect(clippy::unnecessary_wraps, reason = "every use fills an optional field")]
fn broken(seq: u64, why: &str) -> Option<Broken> {
    Some(Broken { seq, why: why.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::folder::{Lock, try_lock, unlock};
    use super::super::log::Log;
    use super::super::record::Record;
    use super::super::settings::{Settings, Sync};
    use super::*;

    /// The log of a process that was killed, its file, and the bytes of that before and after a start has put it in order.
    fn killed() -> (tempfile::TempDir, String, Vec<u8>, Vec<u8>) {
        let (living, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let clock = || Arc::new(jiff::Timestamp::now);
        let log = Log::open(living.path(), Settings::default(), clock()).unwrap();
        log.append(&Record::new(Event::KillOn), Sync::Durable).unwrap();
        for place in ["audit", "heads", "keys"] {
            std::fs::create_dir(state.path().join(place)).unwrap();
            for entry in std::fs::read_dir(living.path().join(place)).unwrap() {
                let entry = entry.unwrap();
                std::fs::copy(entry.path(), state.path().join(place).join(entry.file_name())).unwrap();
            }
        }
        let folder = Folder::existing(state.path()).unwrap();
        let names = folder.names(Place::Audit).unwrap();
        let id = names.iter().find_map(|name| name.strip_suffix(".live")).unwrap().to_owned();
        let before = std::fs::read(state.path().join("audit").join(segment::name(&id))).unwrap();
        let head = std::fs::read(state.path().join("heads").join(heads::name(&id))).unwrap();
        Log::open(state.path(), Settings::default(), clock()).unwrap().close().unwrap();
        let after = std::fs::read(state.path().join("audit").join(segment::name(&id))).unwrap();
        assert!(after.len() > before.len());
        std::fs::write(state.path().join("heads").join(heads::name(&id)), head).unwrap();
        std::fs::write(state.path().join("audit").join(segment::marker(&id)), "").unwrap();
        std::fs::write(state.path().join("audit").join(segment::name(&id)), &before).unwrap();
        (state, id, before, after)
    }

    /// What a look finds that asks about the file before `meanwhile`, and reads it after.
    fn looked(state: &Path, id: &str, meanwhile: impl FnOnce(&Path)) -> Option<String> {
        let folder = Folder::existing(state).unwrap();
        let key = heads::public(&folder).unwrap();
        let mut check = Check::new(&folder, key.as_deref());
        let signed = check.signed(id);
        assert!(signed.live && !signed.locked);
        meanwhile(&state.join("audit").join(segment::name(id)));
        check.file(signed).unwrap().broken.map(|broken| broken.why)
    }

    #[test]
    fn a_file_that_a_start_is_putting_in_order_is_whole_and_one_that_only_looks_so_is_not() {
        let (state, id, before, after) = killed();
        let mut held = None;
        for length in before.len()..=after.len() {
            let found = looked(state.path(), &id, |file| {
                std::fs::write(file, &after[..length]).unwrap();
                let lock = std::fs::File::open(file).unwrap();
                assert!(try_lock(&lock, Lock::Exclusive).unwrap());
                held = Some(lock);
            });
            assert_eq!(found, None, "{length} bytes");
            unlock(held.as_ref().unwrap());
        }
        // The same bytes without a process: nothing vouches for them.
        assert_eq!(looked(state.path(), &id, |_| {}).as_deref(), Some(UNSIGNED_YET));
    }

    #[test]
    fn a_file_that_was_put_in_order_between_two_looks_at_it_is_looked_at_again() {
        let (state, id, before, _) = killed();
        // A torn end, which was read before the start and the rest after it.
        let folder = Folder::existing(state.path()).unwrap();
        let key = heads::public(&folder).unwrap();
        let file = state.path().join("audit").join(segment::name(&id));
        std::fs::write(&file, before.get(..before.len() - 1).unwrap()).unwrap();
        let mut check = Check::new(&folder, key.as_deref());
        let mut signed = check.signed(&id);
        assert!(signed.live && !signed.locked);
        Log::open(state.path(), Settings::default(), Arc::new(jiff::Timestamp::now)).unwrap().close().unwrap();
        // As if its head had been read in the middle of a write of another kind.
        signed.head = Err("its signed head is no head");
        assert_eq!(check.file(signed).unwrap().broken, None);
        // A fault that is there still is told.
        std::fs::write(&file, before.get(..before.len() - 1).unwrap()).unwrap();
        let signed = check.signed(&id);
        assert!(check.file(signed).unwrap().broken.is_some());
    }
}
