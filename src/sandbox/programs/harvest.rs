//! Looks at what a program left in its roots. All of it is hostile: links, pipes, devices, holes of a petabyte, names of any bytes.

use std::ffi::CStr;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest, Sha256};

use super::mime::{PICTURES, mime};
use super::outcome::{LeftFile, Picture};
use super::picture;
use super::spec::JailRoot;
use crate::filter::escape_line;
use crate::model::Kind;
use crate::sandbox::files::Stat;

/// The most files an answer lists, and the most bytes of their names as they are shown.
const MOST_FILES: usize = 100;
const MOST_NAMES: usize = 16 * 1024;
/// The most entries that are looked at, in folders of this depth. What was written beyond them the kernel has counted.
const MOST_ENTRIES: usize = 200_000;
const DEEPEST: usize = 100;
/// The most bytes that are read for digests; 64 MiB take about 50 ms.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// What a name and its inode take at least, in bytes.
const ENTRY: u64 = 256;

/// When a program began, in the clock that file systems stamp with: its ticks are some milliseconds long.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Before {
    /// Nanoseconds since 1970.
    since: i128,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Harvest {
    /// Files that were made or changed, sorted by path in each root.
    pub(super) files: Vec<LeftFile>,
    /// Whether there are more than are listed.
    pub(super) cut: bool,
    /// The pictures among them.
    pub(super) pictures: Vec<Picture>,
    /// What all entries that were made or changed take, listed or not, in bytes.
    pub(super) written: u64,
}

impl Before {
    /// Now, where a program may write in any of these roots. What others changed in the same tick before may be listed as changed.
    pub(super) fn look<'a>(mut roots: impl Iterator<Item = &'a JailRoot>) -> Self {
        let now = roots.next().map(|_| clock_gettime(ClockId::RealtimeCoarse));
        Self { since: now.map_or(0, |now| i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)) }
    }

    fn is_later(self, seen: &Stat) -> bool {
        // The stamp of the last change: a program can set every other stamp back.
        seen.identity.ctime_ns >= self.since
    }
}

/// Finds the regular files below the roots that were made or changed since, and what everything takes that was.
pub(super) fn gather(before: &Before, roots: &[JailRoot]) -> Harvest {
    let mut walk = Walk { before: *before, found: Harvest::default(), entries: MOST_ENTRIES, bytes: MOST_BYTES, names: MOST_NAMES };
    for root in roots {
        if let Ok(top) = openat(&root.dir, c".", FOLDER, Mode::empty()) {
            walk.folder(&top, root.name.as_bytes(), DEEPEST);
        }
    }
    walk.found
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// One way through the roots, with what of each bound is left.
struct Walk {
    before: Before,
    found: Harvest,
    entries: usize,
    bytes: u64,
    names: usize,
}

impl Walk {
    fn folder(&mut self, folder: &OwnedFd, path: &[u8], depth: usize) {
        let Ok(entries) = Dir::read_from(folder) else { return };
        let mut entries: Vec<_> = entries.flatten().take(self.entries.saturating_add(2)).collect();
        entries.sort_by(|a, b| a.file_name().cmp(b.file_name()));
        for entry in entries.iter().filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b"..")) {
            let Some(left) = self.entries.checked_sub(1) else {
                self.found.cut = true;
                return;
            };
            self.entries = left;
            let name = entry.file_name();
            let Ok(seen) = Stat::at(folder, name) else { continue };
            let path = [path, b"/", name.to_bytes()].concat();
            if self.before.is_later(&seen) {
                // A file without its holes; what is in a folder is counted by itself.
                let taken = if seen.kind == Kind::File { seen.size.min(seen.taken.max(4096)) } else { 0 };
                self.found.written = self.found.written.saturating_add(taken.max(ENTRY));
                if seen.kind == Kind::File && self.list(folder, name, &path).is_none() {
                    self.found.cut = true;
                }
            }
            if seen.kind == Kind::Directory
                && let Some(depth) = depth.checked_sub(1)
                && let Ok(below) = openat(folder, name, FOLDER, Mode::empty())
            {
                self.folder(&below, &path, depth);
            }
        }
    }

    /// Lists a file; none where it cannot be read or said, or there are too many.
    fn list(&mut self, folder: &OwnedFd, name: &CStr, path: &[u8]) -> Option<()> {
        let path = std::str::from_utf8(path).ok().filter(|_| self.found.files.len() < MOST_FILES)?;
        let names = self.names.checked_sub(escape_line(path).len())?;
        // What was looked at by name may have been swapped: the opened file decides.
        let fd = openat(folder, name, FILE, Mode::empty()).ok()?;
        let seen = Stat::of(&fd).ok().filter(|seen| seen.kind == Kind::File)?;
        // One that is too large leaves the budget to those behind it.
        self.bytes.checked_sub(seen.size)?;
        let mime_type = mime(path);
        let keep = PICTURES.contains(&mime_type) && self.found.pictures.len() < picture::MOST;
        let (mut kept, mut digest, mut size) = (Vec::new(), Sha256::new(), 0_u64);
        let mut file = std::fs::File::from(fd);
        let mut buffer = vec![0_u8; 64 * 1024];
        loop {
            let count = file.read(&mut buffer).ok()?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            size += bytes.len() as u64;
            self.bytes = self.bytes.checked_sub(bytes.len() as u64)?;
            digest.update(bytes);
            if keep && kept.len() <= picture::MOST_BYTES {
                kept.extend_from_slice(bytes);
            }
        }
        self.names = names;
        if keep && kept.len() <= picture::MOST_BYTES && picture::is_shown(mime_type, &kept) {
            self.found.pictures.push(Picture { mime_type: mime_type.to_owned(), bytes: kept });
        }
        let sha256 = data_encoding::HEXLOWER.encode(&digest.finalize());
        self.found.files.push(LeftFile { path: path.to_owned(), size, sha256, mime_type: mime_type.to_owned() });
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn root(folder: &std::path::Path) -> JailRoot {
        let dir = Arc::new(OwnedFd::from(std::fs::File::open(folder).unwrap()));
        JailRoot { name: "work".to_owned(), dir, writable: true, masked: Vec::new(), quota: None }
    }

    #[test]
    fn what_was_made_since_is_listed_by_its_content_and_what_is_no_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("before.txt"), "old").unwrap();
        let roots = [root(folder.path())];
        // The clock of files goes in ticks; past this moment what came before is older.
        let made = clock_gettime(ClockId::Realtime);
        while clock_gettime(ClockId::RealtimeCoarse) <= made {
            std::thread::yield_now();
        }
        let before = Before::look(roots.iter());
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/new.csv"), "a,b").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        nix::unistd::mkfifo(&folder.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::fs::File::create(folder.path().join("hole")).unwrap().set_len(1 << 40).unwrap();
        let found = gather(&before, &roots);
        let listed: Vec<_> = found.files.iter().map(|file| (file.path.as_str(), file.size, file.mime_type.as_str())).collect();
        assert_eq!(listed, [("work/sub/new.csv", 3, "text/csv")]);
        assert_eq!(found.files[0].sha256, data_encoding::HEXLOWER.encode(&Sha256::digest("a,b")));
        // The hole of a terabyte is more than is read for digests.
        assert!(found.cut && found.written < 1 << 20, "{found:?}");
    }

    #[test]
    fn more_files_than_are_listed_are_counted_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let roots = [root(folder.path())];
        let before = Before::look(roots.iter());
        for at in 0..MOST_FILES + 5 {
            std::fs::write(folder.path().join(format!("{at:03}")), "x").unwrap();
        }
        let found = gather(&before, &roots);
        assert_eq!((found.files.len(), found.cut), (MOST_FILES, true));
        assert!(found.written >= (MOST_FILES as u64 + 5) * ENTRY);
    }
}
