//! Looks at what a program left in a root. All of it is hostile: links, pipes, devices, holes of a petabyte, names of any bytes.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use sha2::{Digest, Sha256};

use super::charge::{self, ENTRY};
use super::mime::{PICTURES, mime};
use super::outcome::{LeftFile, Picture};
use super::picture;
use super::spec::JailRoot;
use super::way::{Below, Next, Way};
use crate::filter::escape_line;
use crate::sandbox::tick::{self, Tick};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Harvest {
    /// Files, sorted by path.
    pub(super) files: Vec<LeftFile>,
    /// Whether there are more than are listed.
    pub(super) cut: bool,
    /// The pictures among them.
    pub(super) pictures: Vec<Picture>,
    /// What all entries that were made or changed take, listed or not: `u64::MAX` where that cannot be found out.
    pub(super) written: u64,
    /// The size of the largest file among them, in bytes.
    pub(super) largest: u64,
    /// What this look has seen, for the next call of a session.
    pub(super) seen: Seen,
}

impl Harvest {
    /// Lists the files of another root as well, within the bounds of one list.
    pub(super) fn list_more(&mut self, files: Vec<LeftFile>, cut: bool) {
        self.cut |= cut;
        let mut names = MOST_NAMES.saturating_sub(self.files.iter().map(|file| escape_line(&file.path).len()).sum());
        for file in files {
            let length = escape_line(&file.path).len();
            if self.files.len() >= MOST_FILES || length > names {
                self.cut = true;
                return;
            }
            names -= length;
            self.files.push(file);
        }
    }
}

/// What was seen at the end of a call: when, and what bears a stamp of that very tick.
#[derive(Debug, Default)]
pub(super) struct Seen {
    at: Tick,
    fresh: HashMap<Vec<u8>, Fresh>,
}

impl Seen {
    /// The same of two roots.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.at = self.at.min(other.at);
        self.fresh.extend(other.fresh);
        self
    }
}

/// What the roots of a program were like before it ran.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// The moment from which a change is listed, in the clock that the file system stamps with.
    since: Tick,
    /// The moment from which a change is charged.
    charged_since: Tick,
    /// What was changed in the tick of that moment already, by root and path.
    fresh: HashMap<Vec<u8>, Fresh>,
    /// What the file system of each root had in use.
    in_use: HashMap<String, u64>,
}

/// An entry that was changed just before.
#[derive(Debug)]
struct Fresh {
    facts: Facts,
    /// Of a file whose content was read.
    digest: Option<String>,
}

/// Inode, size and last change of an entry.
type Facts = (u64, i64, Tick);

impl Before {
    /// Looks at the roots that a program may write in. What changed in them since an earlier call is charged as well: a session went on then.
    ///
    /// The clock of the stamps ticks every few milliseconds, and a program may be done within one tick. Where this process changed
    /// files in the tick that is now, they are remembered with their digests, and are not taken for the program's own later. What
    /// others changed in that tick (an editor of the user's) may be listed as changed.
    pub(super) fn look<'a>(roots: impl Iterator<Item = &'a JailRoot>, earlier: Option<Seen>) -> Self {
        let (since, touched) = tick::now();
        let mut before = Self { since, charged_since: since, ..Self::default() };
        for root in roots {
            before.in_use.insert(root.name.clone(), charge::in_use(&root.dir));
            if touched {
                let fresh = Walk::of(&before, &root.name, &root.dir, since).fresh;
                before.fresh.extend(fresh);
            }
        }
        if let Some(Seen { at, fresh }) = earlier {
            before.charged_since = at.min(since);
            // What is known of this moment is newer.
            for (path, known) in fresh {
                before.fresh.entry(path).or_insert(known);
            }
        }
        before
    }

    /// Finds the regular files below `root` that were made or changed since, and what everything takes that was.
    ///
    /// The stamp of the last change (ctime) is compared: a program can set every other stamp back. At most [`MOST_FILES`] are listed where
    /// `lists`, of [`MOST_ENTRIES`] that are looked at; what cannot be read within [`MOST_BYTES`] is left out.
    pub(super) fn gather(&self, name: &str, root: &OwnedFd) -> Harvest {
        let at = tick::now().0;
        let Walk { mut harvest, counted, fresh, .. } = Walk::of(self, name, root, at);
        harvest.seen = Seen { at, fresh };
        match counted {
            Counted::All => {}
            Counted::Some => {
                // The file system has counted what the rest takes.
                let grown = self.in_use.get(name).map_or(0, |before| charge::in_use(root).saturating_sub(*before));
                harvest.written = harvest.written.max(grown);
            }
            Counted::Not => harvest.written = u64::MAX,
        }
        harvest.files.sort_by(|a, b| a.path.cmp(&b.path));
        harvest
    }
}

/// How much of a root was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    All,
    /// It has more entries than are counted.
    Some,
    /// It holds what cannot be looked at.
    Not,
}

/// One way through a root.
struct Walk<'a> {
    before: &'a Before,
    /// What bears a stamp of this moment or later is remembered.
    now: Tick,
    harvest: Harvest,
    counted: Counted,
    entries: usize,
    /// Bytes that may still be read, and shown of names.
    bytes: u64,
    names: usize,
    /// Files of more names than one that are counted.
    linked: HashSet<(u64, u64)>,
    fresh: HashMap<Vec<u8>, Fresh>,
}

/// What came of reading a changed file.
enum Content {
    Left(LeftFile, Option<Vec<u8>>),
    /// It was like this before.
    Same,
    Not,
}

impl<'a> Walk<'a> {
    /// `now`: the moment from which the next walk counts changes. Read before this one: the clock may tick while it goes on.
    fn of(before: &'a Before, name: &'a str, root: &OwnedFd, now: Tick) -> Self {
        let mut walk = Self {
            before,
            now,
            harvest: Harvest::default(),
            counted: Counted::All,
            entries: 0,
            bytes: MOST_BYTES,
            names: MOST_NAMES,
            linked: HashSet::new(),
            fresh: HashMap::new(),
        };
        let Ok(opened) = openat(root, c".", FOLDER, Mode::empty()) else {
            walk.counted = Counted::Not;
            return walk;
        };
        if fstat(&opened).is_ok_and(|stat| changed(&stat) >= before.charged_since) {
            walk.harvest.written = charge::attributes(&opened, c".");
        }
        let mut way = Way::new(opened, name);
        while let Some((folder, path)) = way.folder() {
            let Some(folders) = walk.folder(folder, path) else {
                walk.leave_out();
                break;
            };
            way.go_below(folders);
            match way.next() {
                Next::Folder => {}
                Next::End => break,
                Next::TooFar => {
                    walk.leave_out();
                    break;
                }
            }
        }
        if way.has_closed {
            walk.counted = Counted::Not;
        }
        walk
    }

    /// Looks at what is in a folder, and says which folders are. `None` where there is more than is counted.
    fn folder(&mut self, opened: &OwnedFd, path: &[u8]) -> Option<Vec<Below>> {
        let Ok(entries) = Dir::read_from(opened) else {
            self.counted = Counted::Not;
            return Some(Vec::new());
        };
        // By name, so that the pictures come in an order that a program can choose.
        let mut entries: Vec<_> = entries.flatten().take(MOST_COUNTED + 3).collect();
        entries.sort_by(|a, b| a.file_name().cmp(b.file_name()));
        let mut folders = Vec::new();
        for entry in &entries {
            let entry_name = entry.file_name();
            if matches!(entry_name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > MOST_COUNTED {
                return None;
            }
            let Ok(stat) = statat(opened, entry_name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if changed(&stat) >= self.before.charged_since {
                // Nothing of a deeper one is listed or remembered: the paths of all could take more memory than the server has.
                let path = (path.len() < LONGEST_PATH).then(|| below(path, entry_name));
                self.entry(opened, entry_name, path, &stat);
            }
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                folders.push(Below { name: entry_name.to_owned(), user: stat.st_uid, mode: stat.st_mode });
            }
        }
        Some(folders)
    }

    /// Leaves the rest to what the file system has counted.
    fn leave_out(&mut self) {
        if self.counted == Counted::All {
            self.counted = Counted::Some;
        }
    }

    /// Takes note of one entry that was changed.
    fn entry(&mut self, folder: &OwnedFd, name: &std::ffi::CStr, path: Option<Vec<u8>>, stat: &rustix::fs::Stat) {
        let facts = (stat.st_ino, stat.st_size, changed(stat));
        let known = path.as_ref().and_then(|path| self.before.fresh.get(path));
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let mut is_same = !is_file && known.is_some_and(|known| known.facts == facts);
        let mut digest = None;
        let is_new = changed(stat) >= self.before.since;
        if is_file && is_new {
            self.harvest.largest = self.harvest.largest.max(facts.1.unsigned_abs());
        }
        // A name that is no text cannot be said in the answer.
        let text = path.as_ref().and_then(|path| std::str::from_utf8(path).ok());
        if let Some(text) = text.filter(|_| is_file && (is_new || known.is_some())) {
            match self.read(folder, name, text, known.and_then(|known| known.digest.as_deref())) {
                Content::Same => {
                    is_same = true;
                    digest = known.and_then(|known| known.digest.clone());
                }
                Content::Left(file, picture) => {
                    digest = Some(file.sha256.clone());
                    if is_new {
                        self.list(file, picture);
                    }
                }
                Content::Not => self.harvest.cut |= is_new,
            }
        }
        if !is_same {
            let cost = if stat.st_nlink > 1 && is_file && !self.linked.insert((stat.st_dev, stat.st_ino)) {
                ENTRY
            } else {
                charge::of(folder, name, stat)
            };
            self.harvest.written = self.harvest.written.saturating_add(cost);
        }
        if let Some(path) = path.filter(|_| facts.2 >= self.now) {
            self.fresh.insert(path, Fresh { facts, digest });
        }
    }

    fn list(&mut self, file: LeftFile, picture: Option<Vec<u8>>) {
        let length = escape_line(&file.path).len();
        if self.harvest.files.len() >= MOST_FILES || length > self.names {
            self.harvest.cut = true;
            return;
        }
        self.names -= length;
        if let Some(bytes) = picture {
            self.harvest.pictures.push(Picture { mime_type: file.mime_type.clone(), bytes });
        }
        self.harvest.files.push(file);
    }

    fn read(&mut self, folder: &OwnedFd, name: &std::ffi::CStr, path: &str, before: Option<&str>) -> Content {
        if self.entries > MOST_ENTRIES || self.harvest.files.len() >= MOST_FILES {
            return Content::Not;
        }
        let Ok(fd) = openat(folder, name, FILE, Mode::empty()) else { return Content::Not };
        // What was looked at by name may have been swapped: the opened file decides.
        if !fstat(&fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile) {
            return Content::Not;
        }
        let mime_type = mime(path);
        let keep = PICTURES.contains(&mime_type) && self.harvest.pictures.len() < picture::MOST;
        let (mut kept, mut digest, mut size) = (Vec::new(), Sha256::new(), 0_u64);
        let mut file = std::fs::File::from(fd);
        let mut buffer = vec![0_u8; 64 * 1024];
        loop {
            let Ok(count) = file.read(&mut buffer) else { return Content::Not };
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            size += bytes.len() as u64;
            let Some(left) = self.bytes.checked_sub(bytes.len() as u64) else {
                self.bytes = 0;
                return Content::Not;
            };
            self.bytes = left;
            digest.update(bytes);
            if keep && kept.len() <= picture::MOST_BYTES {
                kept.extend_from_slice(bytes);
            }
        }
        let sha256 = hex(&digest.finalize());
        if before == Some(sha256.as_str()) {
            return Content::Same;
        }
        let is_shown = keep && kept.len() <= picture::MOST_BYTES && picture::is_shown(mime_type, &kept);
        Content::Left(LeftFile { path: path.to_owned(), size, sha256, mime_type: mime_type.to_owned() }, is_shown.then_some(kept))
    }
}

fn below(folder: &[u8], name: &std::ffi::CStr) -> Vec<u8> {
    [folder, b"/", name.to_bytes()].concat()
}

fn changed(stat: &rustix::fs::Stat) -> Tick {
    (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0))
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The most files an answer lists, and the most bytes of their names as they are shown.
const MOST_FILES: usize = 100;
const MOST_NAMES: usize = 16 * 1024;
/// The most entries that are looked at for that.
const MOST_ENTRIES: usize = 20_000;
/// The most bytes that are read for digests; 64 MiB take about 50 ms.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// The most entries that are counted; so many take about a third of a second.
const MOST_COUNTED: usize = 200_000;
/// The longest path of a folder of which entries are listed or remembered, in bytes (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
#[path = "harvest_tests.rs"]
mod tests;
