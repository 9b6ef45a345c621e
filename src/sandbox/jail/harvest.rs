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
    /// What this look has seen, for the next call of a session.
    pub(super) seen: Seen,
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
                let fresh = Walk::of(&before, &root.name, &root.dir, true).fresh;
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
    pub(super) fn gather(&self, name: &str, root: &OwnedFd, lists: bool) -> Harvest {
        let at = tick::now().0;
        let Walk { mut harvest, counted, fresh, .. } = Walk::of(self, name, root, lists);
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
    /// It has more entries, or more folders that lie deep, than are counted.
    Some,
    /// It holds what cannot be looked at.
    Not,
}

/// One way through a root.
struct Walk<'a> {
    before: &'a Before,
    /// What bears a stamp of this moment or later is remembered.
    now: Tick,
    lists: bool,
    harvest: Harvest,
    counted: Counted,
    entries: usize,
    /// Bytes that may still be read, and shown of names.
    bytes: u64,
    names: usize,
    /// Files of more names than one that are counted.
    linked: HashSet<(u64, u64)>,
    fresh: HashMap<Vec<u8>, Fresh>,
    /// Folders that lie deeper than one descent goes, with their paths: each is where another descent begins.
    deeper: Vec<(OwnedFd, Vec<u8>)>,
}

/// What came of reading a changed file.
enum Content {
    Left(LeftFile, Option<Vec<u8>>),
    /// It was like this before.
    Same,
    Not,
}

impl<'a> Walk<'a> {
    fn of(before: &'a Before, name: &'a str, root: &OwnedFd, lists: bool) -> Self {
        let mut walk = Self {
            before,
            now: tick::now().0,
            lists,
            harvest: Harvest::default(),
            counted: Counted::All,
            entries: 0,
            bytes: MOST_BYTES,
            names: MOST_NAMES,
            linked: HashSet::new(),
            fresh: HashMap::new(),
            deeper: Vec::new(),
        };
        let Ok(opened) = openat(root, c".", FOLDER, Mode::empty()) else {
            walk.counted = Counted::Not;
            return walk;
        };
        if fstat(&opened).is_ok_and(|stat| changed(&stat) >= before.charged_since) {
            walk.harvest.written = charge::attributes(&opened, c".");
        }
        walk.folder(&opened, name.as_bytes(), 0);
        while let Some((below, path)) = walk.deeper.pop() {
            walk.folder(&below, &path, 0);
        }
        walk
    }

    fn folder(&mut self, opened: &OwnedFd, path: &[u8], depth: usize) {
        let Ok(entries) = Dir::read_from(opened) else {
            self.counted = Counted::Not;
            return;
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
                self.leave_out();
                return;
            }
            let Ok(stat) = statat(opened, entry_name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let path = [path, b"/", entry_name.to_bytes()].concat();
            if changed(&stat) >= self.before.charged_since {
                self.entry(opened, entry_name, path.clone(), &stat);
            }
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                folders.push((entry_name, path, stat));
            }
        }
        for (entry_name, path, stat) in folders {
            match charge::open_folder(opened, entry_name, &stat) {
                Ok(Some(below)) if depth < DEEPEST => self.folder(&below, &path, depth + 1),
                Ok(Some(below)) if self.deeper.len() < MOST_DEEPER && path.len() < LONGEST_PATH => self.deeper.push((below, path)),
                Ok(Some(_)) => self.leave_out(),
                // It is gone, or of another user whose programs alone may write in it.
                Ok(None) => {}
                Err(_) => self.counted = Counted::Not,
            }
        }
    }

    /// Leaves the rest to what the file system has counted.
    fn leave_out(&mut self) {
        if self.counted == Counted::All {
            self.counted = Counted::Some;
        }
    }

    /// Takes note of one entry that was changed.
    fn entry(&mut self, folder: &OwnedFd, name: &std::ffi::CStr, path: Vec<u8>, stat: &rustix::fs::Stat) {
        let facts = (stat.st_ino, stat.st_size, changed(stat));
        let known = self.before.fresh.get(&path);
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let mut is_same = !is_file && known.is_some_and(|known| known.facts == facts);
        let mut digest = None;
        let is_new = changed(stat) >= self.before.since;
        // A name that is no text cannot be said in the answer.
        if let Some(text) = std::str::from_utf8(&path).ok().filter(|_| is_file && (is_new && self.lists || known.is_some())) {
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
                Content::Not => self.harvest.cut |= self.lists && is_new,
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
        if facts.2 >= self.now {
            self.fresh.insert(path, Fresh { facts, digest });
        }
    }

    fn list(&mut self, file: LeftFile, picture: Option<Vec<u8>>) {
        if !self.lists {
            return;
        }
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
        let keep = self.lists && PICTURES.contains(&mime_type) && self.harvest.pictures.len() < picture::MOST;
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
/// Folders in folders of one descent; each holds a descriptor while it is looked through.
const DEEPEST: usize = 64;
/// Folders that wait for a descent of their own; each holds a descriptor.
const MOST_DEEPER: usize = 64;
/// The longest path of such a folder, in bytes: the path of each entry is made from that of its folder.
const LONGEST_PATH: usize = 64 * 1024;

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(path: &std::path::Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    fn root(path: &std::path::Path) -> JailRoot {
        JailRoot { name: "work".to_owned(), dir: opened(path).into(), writable: true, masked: Vec::new() }
    }

    #[test]
    fn new_files_are_listed_with_size_digest_and_type_and_old_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("old.txt"), "old").unwrap();
        std::fs::write(folder.path().join("changed.csv"), "old").unwrap();
        tick::touched();
        // Whether all of this is one tick or not, the answer is the same.
        let before = Before::look(std::iter::once(&root(folder.path())), None);
        std::fs::write(folder.path().join("changed.csv"), "new").unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/new.csv"), "a").unwrap();
        let harvest = before.gather("work", &opened(folder.path()), true);
        let changed = LeftFile {
            path: "work/changed.csv".to_owned(),
            size: 3,
            sha256: "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437".to_owned(),
            mime_type: "text/csv".to_owned(),
        };
        let new = LeftFile {
            path: "work/sub/new.csv".to_owned(),
            size: 1,
            sha256: "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb".to_owned(),
            mime_type: "text/csv".to_owned(),
        };
        assert_eq!(harvest.files, [changed, new]);
    }

    #[test]
    fn what_is_not_listed_was_written_all_the_same_and_holes_were_not() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MOST_FILES + 20 {
            std::fs::write(folder.path().join(format!("{number}")), "ab").unwrap();
        }
        let hole = std::fs::File::create(folder.path().join("hole")).unwrap();
        hole.set_len(1 << 30).unwrap();
        let harvest = Before::default().gather("work", &opened(folder.path()), true);
        assert_eq!((harvest.files.len(), harvest.written), (MOST_FILES, (MOST_FILES as u64 + 20) * ENTRY + 4096));
        assert!(harvest.cut);
    }

    #[test]
    fn links_pipes_and_holes_are_left_out_and_nothing_hangs() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("/etc/passwd", path("link.txt")).unwrap();
        nix::unistd::mkfifo(&path("pipe.txt"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::fs::File::create(path("hole.bin")).unwrap().set_len(1 << 40).unwrap();
        std::fs::write(path("good.txt"), "good").unwrap();
        let harvest = Before::default().gather("work", &opened(folder.path()), true);
        let names: Vec<_> = harvest.files.iter().map(|file| file.path.as_str()).collect();
        assert!(names.iter().all(|name| *name == "work/good.txt"), "{names:?}");
    }

    /// What is charged for what `write` does to a folder.
    fn charged(write: impl FnOnce(&std::path::Path)) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        Before::default().gather("work", &opened(folder.path()), true).written
    }

    #[test]
    fn writes_are_charged_whatever_their_name_depth_number_and_kind() {
        use std::os::unix::ffi::OsStrExt;
        let large = vec![7_u8; 2 << 20];
        let is_charged = |written: u64| (2 << 20..3 << 20).contains(&written);
        assert!(is_charged(charged(|root| std::fs::write(root.join(std::ffi::OsStr::from_bytes(b"\xff")), &large).unwrap())));
        assert!(is_charged(charged(|root| {
            let deep = (0..40).fold(root.to_owned(), |at, _| at.join("d"));
            std::fs::create_dir_all(&deep).unwrap();
            std::fs::write(deep.join("f"), &large).unwrap();
        })));
        let behind = charged(|root| {
            (0..20_100).for_each(|at| drop(std::fs::File::create(root.join(format!("{at:05}"))).unwrap()));
            std::fs::write(root.join("z"), &large).unwrap();
        });
        assert_eq!(behind, 20_100 * ENTRY + (2 << 20));
        let many = |make: fn(&std::path::Path)| charged(|root| (0..500).for_each(|at| make(&root.join(at.to_string()))));
        assert_eq!(many(|path| std::os::unix::fs::symlink("x", path).unwrap()), 500 * ENTRY);
        assert_eq!(many(|path| std::fs::create_dir(path).unwrap()), 500 * ENTRY);
        assert_eq!(many(|path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap()), 500 * ENTRY);
        // Deeper than one descent.
        let chain = |root: &std::path::Path| (0..3 * DEEPEST).fold(root.to_owned(), |at, _| at.join("d"));
        assert_eq!(charged(|root| std::fs::create_dir_all(chain(root)).unwrap()), 3 * DEEPEST as u64 * ENTRY);
        assert!(is_charged(charged(|root| {
            std::fs::create_dir_all(chain(root)).unwrap();
            std::fs::write(chain(root).join("f"), &large).unwrap();
        })));
        // More of them than descents of their own: the file system has counted them.
        let wide = charged(|root| {
            let edge = (0..DEEPEST).fold(root.to_owned(), |at, _| at.join("d"));
            (0..3 * MOST_DEEPER).for_each(|at| std::fs::create_dir_all(edge.join(at.to_string()).join("d")).unwrap());
        });
        assert!((DEEPEST as u64 * ENTRY..u64::MAX).contains(&wide), "{wide}");
        // One file of many names is one file.
        let linked = charged(|root| {
            std::fs::write(root.join("0"), &large).unwrap();
            (1..10).for_each(|at| std::fs::hard_link(root.join("0"), root.join(at.to_string())).unwrap());
        });
        assert_eq!(linked, (2 << 20) + 9 * ENTRY);
    }

    #[test]
    fn attributes_are_charged_where_the_file_system_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let set = |path: &std::path::Path, name: &str| rustix::fs::setxattr(path, name, &[7; 1000], rustix::fs::XattrFlags::empty());
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        for (path, name) in [("", "user.a"), ("sub", "user.b")] {
            match set(&folder.path().join(path), name) {
                Err(rustix::io::Errno::OPNOTSUPP) => return,
                done => done.unwrap(),
            }
        }
        let harvest = Before::default().gather("work", &opened(folder.path()), true);
        assert!((2000..4000).contains(&harvest.written), "{}", harvest.written);
    }

    #[test]
    fn what_the_server_wrote_in_the_same_tick_is_not_charged_to_the_program_and_a_change_of_it_is() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("a"), "old").unwrap();
        tick::touched();
        let before = Before::look(std::iter::once(&root(folder.path())), None);
        assert_eq!(before.gather("work", &opened(folder.path()), true).written, 0);
        std::fs::write(folder.path().join("a"), "new").unwrap();
        assert_eq!(before.gather("work", &opened(folder.path()), true).written, ENTRY);
    }

    #[test]
    fn what_a_session_writes_between_two_calls_is_charged_to_the_later_one_and_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let look = |earlier| Before::look(std::iter::once(&root(folder.path())), earlier);
        let gather = |before: &Before| before.gather("work", &opened(folder.path()), true);
        let before = look(None);
        std::fs::write(folder.path().join("a"), "in the call").unwrap();
        let first = gather(&before);
        // Within the same tick, mostly.
        std::fs::write(folder.path().join("b"), "between the calls").unwrap();
        // Past the fine clock, from which a stamp may be taken: the coarse one lags behind where its processor is late.
        let written = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        while tick::now().0 <= (written.tv_sec, written.tv_nsec) {
            std::thread::yield_now();
        }
        assert_eq!((first.written, gather(&look(None)).written), (ENTRY, 0));
        let second = gather(&look(Some(first.seen)));
        assert_eq!((second.written, second.files), (ENTRY, Vec::new()));
    }

    #[test]
    fn the_names_of_an_answer_have_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        for at in 0..MOST_FILES {
            std::fs::write(folder.path().join(format!("{at:03}{}", "\u{202e}".repeat(80))), "").unwrap();
        }
        let harvest = Before::default().gather("work", &opened(folder.path()), true);
        let shown: usize = harvest.files.iter().map(|file| escape_line(&file.path).len()).sum();
        assert!(harvest.cut && !harvest.files.is_empty() && shown <= MOST_NAMES, "{shown}");
    }
}
