//! Looks at what a program left in a root. All of it is hostile: links, pipes, devices, holes of a petabyte, names of any bytes.

use std::collections::HashMap;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat2, statat};
use sha2::{Digest, Sha256};

use super::outcome::{LeftFile, Picture};
use super::picture;
use super::spec::JailRoot;
use crate::sandbox::tick;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Harvest {
    /// Files, sorted by path.
    pub(super) files: Vec<LeftFile>,
    /// The pictures among them.
    pub(super) pictures: Vec<Picture>,
    /// Bytes in all files that were made or changed, listed or not, without their holes.
    pub(super) written: u64,
}

/// What a root was like before a program ran.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// The moment from which a change counts, in the clock that the file system stamps with.
    since: tick::Tick,
    /// The digests of the files that were changed in that very tick already, by their paths.
    fresh: HashMap<String, String>,
}

impl Before {
    /// Looks at the root that a program may write in, if there is one.
    ///
    /// The clock of the stamps ticks every few milliseconds, and a program may be done within one tick. Where this process changed
    /// files in the tick that is now, they are remembered with their digests, and are not taken for the program's own later. What
    /// others changed in that tick (an editor of the user's) may be listed as changed.
    pub(super) fn look(root: Option<&JailRoot>) -> Self {
        let (since, touched) = tick::now();
        let found = root.filter(|_| touched).map(|root| Self { since, fresh: HashMap::new() }.gather(&root.name, &root.dir));
        Self { since, fresh: found.into_iter().flat_map(|found| found.files).map(|file| (file.path, file.sha256)).collect() }
    }

    /// Finds the regular files below `root` that were made or changed since.
    ///
    /// The stamp of the last change (ctime) is compared: a program can set every other stamp back. At most [`MOST_FILES`] are listed,
    /// and [`MOST_ENTRIES`] looked at; what cannot be read within [`MOST_BYTES`] is left out.
    pub(super) fn gather(&self, name: &str, root: &OwnedFd) -> Harvest {
        let mut harvest = Harvest::default();
        let mut budget = Budget { entries: MOST_ENTRIES, bytes: MOST_BYTES };
        let mut folders = vec![(String::new(), 0_u32)];
        while let Some((folder, depth)) = folders.pop() {
            let Ok(opened) = open(root, if folder.is_empty() { "." } else { &folder }, OFlags::DIRECTORY) else { continue };
            let Ok(entries) = Dir::read_from(&opened) else { continue };
            // By name, so that the pictures come in an order that a program can choose.
            let mut entries: Vec<_> = entries.flatten().take(MOST_ENTRIES as usize + 2).collect();
            entries.sort_by(|a, b| a.file_name().cmp(b.file_name()));
            for entry in entries {
                // A name that is no text cannot be said in the answer.
                let Ok(entry_name) = entry.file_name().to_str() else { continue };
                if matches!(entry_name, "." | "..") {
                    continue;
                }
                let Some(left) = budget.entries.checked_sub(1) else { return harvest };
                budget.entries = left;
                let path = if folder.is_empty() { entry_name.to_owned() } else { format!("{folder}/{entry_name}") };
                let Ok(stat) = statat(&opened, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
                let changed = (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)) >= self.since;
                let kind = FileType::from_raw_mode(stat.st_mode);
                if kind == FileType::RegularFile && changed && !self.fresh.contains_key(&format!("{name}/{path}")) {
                    harvest.written = harvest.written.saturating_add(taken(&stat));
                }
                match kind {
                    FileType::Directory if depth < DEEPEST => folders.push((path, depth + 1)),
                    FileType::RegularFile if changed && harvest.files.len() < MOST_FILES => {
                        self.take(name, root, &path, &mut budget, &mut harvest);
                    }
                    _ => {}
                }
            }
        }
        harvest.files.sort_by(|a, b| a.path.cmp(&b.path));
        harvest
    }

    fn take(&self, name: &str, root: &OwnedFd, path: &str, budget: &mut Budget, harvest: &mut Harvest) {
        let Ok(fd) = open(root, path, OFlags::empty()) else { return };
        // What was looked at by name may have been swapped: the opened file decides.
        let Ok(stat) = fstat(&fd) else { return };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return;
        }
        let mime_type = mime(path);
        let keep = PICTURES.contains(&mime_type) && harvest.pictures.len() < picture::MOST;
        let (mut kept, mut digest, mut size) = (Vec::new(), Sha256::new(), 0_u64);
        let mut file = std::fs::File::from(fd);
        let mut buffer = vec![0_u8; 64 * 1024];
        loop {
            let Ok(count) = file.read(&mut buffer) else { return };
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            size += bytes.len() as u64;
            let Some(left) = budget.bytes.checked_sub(bytes.len() as u64) else {
                budget.bytes = 0;
                return;
            };
            budget.bytes = left;
            digest.update(bytes);
            if keep && kept.len() <= picture::MOST_BYTES {
                kept.extend_from_slice(bytes);
            }
        }
        let (path, sha256) = (format!("{name}/{path}"), hex(&digest.finalize()));
        if self.fresh.get(&path) == Some(&sha256) {
            return;
        }
        if keep && kept.len() <= picture::MOST_BYTES && picture::is_shown(mime_type, &kept) {
            harvest.pictures.push(Picture { mime_type: mime_type.to_owned(), bytes: kept });
        }
        harvest.files.push(LeftFile { path, size, sha256, mime_type: mime_type.to_owned() });
    }
}

struct Budget {
    entries: u32,
    bytes: u64,
}

/// The most files an answer lists.
const MOST_FILES: usize = 100;
/// The most entries that are looked at.
const MOST_ENTRIES: u32 = 20_000;
/// The most bytes that are read for digests; 64 MiB take about 50 ms.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
const DEEPEST: u32 = 32;

/// The bytes of a file without its holes; a small one may lie in its inode and take no block.
fn taken(stat: &rustix::fs::Stat) -> u64 {
    const SMALL: u64 = 4096;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    size.min(u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512)).max(size.min(SMALL))
}

fn open(root: &OwnedFd, path: &str, extra: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | extra;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    openat2(root.as_fd(), path, flags, Mode::empty(), resolve)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

const PICTURES: [&str; 3] = ["image/png", "image/jpeg", "image/svg+xml"];

fn mime(path: &str) -> &'static str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "py" => "text/x-python",
        "js" => "text/javascript",
        "json" => "application/json",
        "jsonl" => "application/jsonl",
        "xml" => "application/xml",
        "toml" => "application/toml",
        "yaml" | "yml" => "application/yaml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "tar" => "application/x-tar",
        "parquet" => "application/vnd.apache.parquet",
        "sqlite" | "db" => "application/vnd.sqlite3",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "svg" => "image/svg+xml",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        _ => "application/octet-stream",
    }
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
        let before = Before::look(Some(&root(folder.path())));
        std::fs::write(folder.path().join("changed.csv"), "new").unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/new.csv"), "a").unwrap();
        let harvest = before.gather("work", &opened(folder.path()));
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
        let harvest = Before::default().gather("work", &opened(folder.path()));
        assert_eq!((harvest.files.len(), harvest.written), (MOST_FILES, (MOST_FILES as u64 + 20) * 2 + 4096));
    }

    #[test]
    fn links_pipes_and_holes_are_left_out_and_nothing_hangs() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("/etc/passwd", path("link.txt")).unwrap();
        nix::unistd::mkfifo(&path("pipe.txt"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::fs::File::create(path("hole.bin")).unwrap().set_len(1 << 40).unwrap();
        std::fs::write(path("good.txt"), "good").unwrap();
        let harvest = Before::default().gather("work", &opened(folder.path()));
        let names: Vec<_> = harvest.files.iter().map(|file| file.path.as_str()).collect();
        assert!(names.iter().all(|name| *name == "work/good.txt"), "{names:?}");
    }
}
