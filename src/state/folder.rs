//! The state folder: keys, the kill switch and the marks of used approvals, shared by every process that names the same folder.

#![expect(clippy::disallowed_methods, reason = "the state folder is named by a path once, then held open")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use data_encoding::HEXLOWER;
use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::files::Folder;
use super::{Millis, Tick};

/// The open state folder. Everything in it is 0700 or 0600 and reached through its descriptor.
#[derive(Debug)]
pub struct StateDir {
    folder: OwnedFd,
    path: PathBuf,
}

/// The state folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the state folder cannot be used: {what}: {source}")]
pub struct StateFault {
    what: String,
    #[source]
    source: io::Error,
}

impl StateDir {
    /// Opens the folder, made (0700) where it is missing.
    /// # Errors  When it is no folder, belongs to another user, is open to others, or cannot be made.
    pub fn open(path: &Path) -> Result<Self, StateFault> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|e| fault("making", path, e))?;
        let (state, stat) = Self::reach(path)?;
        if stat.st_uid != state.owner() {
            return Err(foreign(path));
        }
        if stat.st_mode & 0o077 != 0 {
            fs::fchmod(&state.folder, Mode::RWXU).map_err(|e| fault("closing to others", path, e.into()))?;
        }
        Ok(state)
    }

    /// Opens a folder that is there already, to reach the servers on it: its owner may, and root may.
    /// # Errors  When it is no folder, or neither ours nor are we root.
    pub fn visit(path: &Path) -> Result<Self, StateFault> {
        let (state, stat) = Self::reach(path)?;
        if ![stat.st_uid, 0].contains(&state.owner()) {
            return Err(foreign(path));
        }
        Ok(state)
    }

    fn reach(path: &Path) -> Result<(Self, fs::Stat), StateFault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = fs::open(path, flags, Mode::empty()).map_err(|e| fault("opening", path, e.into()))?;
        let stat = fs::fstat(&folder).map_err(|e| fault("looking at", path, e.into()))?;
        let path = path.canonicalize().map_err(|e| fault("resolving", path, e))?;
        Ok((Self { folder, path }, stat))
    }

    /// Where the folder is, or would be made, with every link resolved. Makes nothing.
    /// # Errors  When `open` would not take what lies there.
    pub fn examine(path: &Path) -> Result<PathBuf, StateFault> {
        let mut missing = Vec::new();
        let mut there = path;
        let real = loop {
            match there.canonicalize() {
                Ok(real) => break real,
                Err(source) if source.kind() == io::ErrorKind::NotFound => {
                    missing.extend(there.file_name());
                    there = there.parent().ok_or_else(|| fault("resolving", path, source))?;
                    // The parent of a bare name is the empty path: the working folder.
                    there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
                }
                Err(source) => return Err(fault("resolving", path, source)),
            }
        };
        let seen = fs::stat(&real).map_err(|source| fault("looking at", path, source.into()))?;
        if fs::FileType::from_raw_mode(seen.st_mode) != fs::FileType::Directory {
            return Err(fault("opening", path, io::ErrorKind::NotADirectory.into()));
        }
        if is_of_the_kernel(&real) {
            return Err(fault("files cannot be kept in", path, io::ErrorKind::Unsupported.into()));
        }
        if missing.is_empty() && seen.st_uid != rustix::process::geteuid().as_raw() {
            return Err(foreign(path));
        }
        Ok(missing.iter().rev().fold(real, |path, name| path.join(name)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn descriptor(&self) -> &OwnedFd {
        &self.folder
    }

    /// A folder inside it, made (0700) where it is missing.
    pub(super) fn subfolder(&self, name: &str) -> io::Result<Folder> {
        Folder::make(&self.folder, name)
    }

    /// The key of this name: 32 random bytes, made once and shared by every process on the folder.
    /// # Errors  When it can neither be read nor made whole.
    pub fn key(&self, name: &str) -> io::Result<[u8; 32]> {
        let keys = self.subfolder("keys")?;
        if !keys.has(name)? {
            let mut key = [0; 32];
            random(&mut key)?;
            // The first maker wins.
            keys.claim(name, &key)?;
        }
        keys.read(name)?.and_then(|key| key.try_into().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Whether the kill switch of a state folder is on that need not exist; nothing is opened or made.
    pub fn is_stopped(folder: &Path) -> bool {
        fs::statat(fs::CWD, folder.join("KILL"), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether the kill switch is on: the file `KILL` exists, or the folder can no longer be looked at.
    pub fn is_killed(&self) -> bool {
        !matches!(fs::accessat(&self.folder, "KILL", fs::Access::EXISTS, AtFlags::empty()), Err(Errno::NOENT))
    }

    /// Turns the kill switch on; `reason` is kept in the file.
    /// # Errors  When the file cannot be written.
    pub fn kill(&self, reason: &str) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::TRUNC;
        let file = fs::openat(&self.folder, "KILL", flags, Mode::RUSR | Mode::WUSR)?;
        // The file's presence is the switch; a reason cut short by a full disk does not turn it off.
        let _ = rustix::io::write(&file, reason.as_bytes());
        Ok(fs::fsync(&self.folder)?)
    }

    /// Turns the kill switch off. Whether it was on.
    /// # Errors  When the file cannot be removed.
    pub fn resume(&self) -> io::Result<bool> {
        match fs::unlinkat(&self.folder, "KILL", AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Marks that a process watches the kill switch, for as long as the folder is open here. The kernel removes the lock when the process ends.
    /// # Errors  When the file system has no locks.
    pub fn mark_running(&self) -> io::Result<()> {
        Ok(fs::flock(&self.folder, FlockOperation::LockShared)?)
    }

    /// Whether a living process watches the kill switch of this folder.
    /// # Errors  When the lock cannot be tried.
    pub fn has_running(&self) -> io::Result<bool> {
        match fs::flock(&self.folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                fs::flock(&self.folder, FlockOperation::Unlock)?;
                Ok(false)
            }
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Something to wait on for the kill switch: it becomes readable whenever a name appears in the folder itself or goes (inotify(7)).
    /// # Errors  When the kernel gives no watch.
    pub fn watch(&self) -> io::Result<OwnedFd> {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let watch = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let flags = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::ONLYDIR;
        add_watch(&watch, format!("/proc/self/fd/{}", self.folder.as_raw_fd()), flags)?;
        Ok(watch)
    }

    /// The user of this process, whose folder it is.
    pub fn owner(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }

    /// Marks a once-only thing (an approval) as used, on disk before it returns. Whether this was the first time: exactly one caller of any number, in any process, gets `true`.
    /// The mark may go when what it is kept for is over by every clock: nothing that names the thing is taken any more then.
    /// # Errors  When the mark cannot be kept.
    pub fn use_once(&self, id: &str, kept: Kept) -> io::Result<bool> {
        self.subfolder("used")?.claim(id, &serde_json::to_vec(&kept)?)
    }

    /// Whether a once-only thing was used before.
    /// # Errors  When the marks cannot be looked at.
    pub fn was_used(&self, id: &str) -> io::Result<bool> {
        self.subfolder("used")?.has(id)
    }
}

fn fault(what: &str, path: &Path, source: io::Error) -> StateFault {
    StateFault { what: format!("{what} `{}`", path.display()), source }
}

fn foreign(path: &Path) -> StateFault {
    fault("it belongs to another user:", path, io::ErrorKind::PermissionDenied.into())
}

/// For how long a mark is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// From when on.
    pub since: Tick,
    /// For so long.
    pub span: Millis,
}

/// Fills `bytes` with random ones.
/// # Errors  When the kernel has none.
pub fn random(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(|_| io::Error::other("no random bytes"))
}

/// An unguessable name of `bytes` random bytes in hex.
/// # Errors  When the kernel has no random bytes.
pub fn token(bytes: usize) -> io::Result<String> {
    /// Random bytes that no token was made of yet: one system call for many tokens.
    static UNUSED: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
    if unused.len() < bytes {
        unused.resize(bytes.max(1024), 0);
        random(&mut unused)?;
    }
    let rest = unused.len().saturating_sub(bytes);
    Ok(HEXLOWER.encode(&unused.split_off(rest)))
}

/// Whether a folder shows what the kernel knows and keeps no files.
/// # Source
/// statfs(2), and `linux/magic.h` for what it leaves out.
fn is_of_the_kernel(folder: &Path) -> bool {
    // proc, sysfs, cgroup, cgroup2, devpts, securityfs, debugfs, tracefs.
    const KINDS: [u64; 8] = [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x1cd1, 0x7363_6673, 0x6462_6720, 0x7472_6163];
    let kind = fs::statfs(folder).ok().and_then(|facts| u64::try_from(facts.f_type).ok());
    kind.is_some_and(|kind| KINDS.contains(&kind))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn dir() -> (tempfile::TempDir, StateDir) {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("a/state")).unwrap();
        (folder, state)
    }

    #[test]
    fn the_folder_is_closed_to_others() {
        let (_keep, state) = dir();
        std::fs::set_permissions(state.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let again = StateDir::open(state.path()).unwrap();
        assert_eq!(std::fs::metadata(again.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn sixty_four_racers_use_one_approval_exactly_once() {
        let (_keep, state) = dir();
        let wins = std::thread::scope(|scope| {
            let racers: Vec<_> =
                (0..64).map(|_| scope.spawn(|| state.use_once("ap_1", Kept { since: Tick::default(), span: 1 }).unwrap())).collect();
            racers.into_iter().filter_map(|racer| racer.join().unwrap().then_some(())).count()
        });
        assert_eq!(wins, 1);
        assert!(StateDir::open(state.path()).unwrap().was_used("ap_1").unwrap(), "also after a restart");
        assert!(!state.was_used("ap_2").unwrap());
    }

    #[test]
    fn every_process_reads_the_same_key() {
        let (_keep, state) = dir();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..16).map(|_| scope.spawn(|| state.key("seal").unwrap())).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]) && keys[0] != [0; 32]);
        assert_ne!(state.key("other").unwrap(), keys[0]);
    }

    #[test]
    fn the_kill_switch_outlives_the_process_and_is_lifted_by_hand() {
        let (_keep, state) = dir();
        assert!(!state.is_killed());
        state.kill("drill").unwrap();
        assert!(StateDir::open(state.path()).unwrap().is_killed());
        assert!(state.resume().unwrap() && !state.is_killed() && !state.resume().unwrap());
    }

    #[test]
    fn a_switch_is_heeded_while_a_process_says_so_and_no_longer() {
        let (_keep, state) = dir();
        let other = || StateDir::open(state.path()).unwrap();
        assert!(!state.has_running().unwrap());
        let (one, two) = (other(), other());
        one.mark_running().unwrap();
        two.mark_running().unwrap();
        drop(one);
        assert!(state.has_running().unwrap() && state.has_running().unwrap());
        drop(two);
        assert!(!state.has_running().unwrap());
    }

    #[test]
    fn what_would_be_opened_is_told_without_making_anything() {
        let (keep, state) = dir();
        let below = keep.path().join("new/deeper");
        let real = keep.path().canonicalize().unwrap();
        assert_eq!(StateDir::examine(&below).unwrap(), real.join("new/deeper"));
        assert_eq!(StateDir::examine(state.path()).unwrap(), state.path());
        assert!(!keep.path().join("new").exists());
        std::os::unix::fs::symlink(state.path(), keep.path().join("link")).unwrap();
        assert_eq!(StateDir::examine(&keep.path().join("link/x")).unwrap(), state.path().join("x"));
        std::fs::write(keep.path().join("file"), "").unwrap();
        for wrong in ["file", "file/x"] {
            assert!(StateDir::examine(&keep.path().join(wrong)).is_err(), "{wrong}");
        }
    }
}
