//! A folder of small files that several processes share. Each is written whole or not at all; one process of many makes a file, or changes one.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use serde::de::DeserializeOwned;

use super::token;

/// No file is longer in bytes; one that is was not written by us.
pub(super) const LONGEST: u64 = 1 << 20;
/// The lock is held for a few reads and writes. A process that keeps it for longer than this was stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) fd: OwnedFd,
    /// A lock of the kernel keeps out other processes, this one the other threads.
    alone: Mutex<()>,
}

impl Folder {
    /// A folder in another one, which is there already and is no link.
    pub(super) fn open(above: &impl AsFd, name: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { fd: fs::openat(above, name, flags, Mode::empty())?, alone: Mutex::default() })
    }

    /// The same, made (0700) where it is missing.
    pub(super) fn make(above: &impl AsFd, name: &str) -> io::Result<Self> {
        match fs::mkdirat(above, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Self::open(above, name),
            Err(fault) => Err(fault.into()),
        }
    }

    /// What a file holds, if it is there.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        // A pipe laid under the name must not hang the reader.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(fault) => return Err(fault.into()),
        };
        if FileType::from_raw_mode(fs::fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut bytes = Vec::new();
        std::fs::File::from(file).take(LONGEST).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// What a file says, if it is there and says such a thing.
    pub(super) fn read_as<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        Ok(self.read(name)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub(super) fn has(&self, name: &str) -> io::Result<bool> {
        match fs::accessat(&self.fd, name, fs::Access::EXISTS, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Makes a file, on disk before it returns. Whether it was not there: exactly one caller of any number, in any process, gets `true`.
    pub(super) fn claim(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let made = self.draft(bytes, true, |draft| match fs::linkat(&self.fd, draft, &self.fd, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(fault) => Err(fault.into()),
        })?;
        self.sync()?;
        Ok(made)
    }

    /// Writes a file, in place of one that is there. It may be lost with the machine's power.
    pub(super) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.draft(bytes, false, |draft| Ok(fs::renameat(&self.fd, draft, &self.fd, name)?))
    }

    fn draft<R>(&self, bytes: &[u8], durable: bool, publish: impl FnOnce(&str) -> io::Result<R>) -> io::Result<R> {
        let draft = format!(".{}", token(8)?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = std::fs::File::from(fs::openat(&self.fd, &draft, flags, Mode::RUSR | Mode::WUSR)?);
        let written = file.write_all(bytes).and_then(|()| if durable { file.sync_data() } else { Ok(()) });
        let done = written.and_then(|()| publish(&draft));
        if durable || done.is_err() {
            self.remove(&draft)?;
        }
        done
    }

    /// Removes a file; one that is gone already is no fault.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(fault) => Err(fault.into()),
        }
    }

    /// The names in the folder, less drafts.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::Dir::read_from(&self.fd)?.flatten();
        Ok(entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned)).filter(|name| !name.starts_with('.')).collect())
    }

    /// Brings the names to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(fs::fsync(&self.fd)?)
    }

    /// Keeps everybody else from changing files until dropped.
    pub(super) fn lock(&self) -> io::Result<Lock<'_>> {
        let alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Instant::now();
        loop {
            match flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { folder: &self.fd, _alone: alone }),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if begun.elapsed() > PATIENCE => return Err(io::ErrorKind::ResourceBusy.into()),
                Err(Errno::AGAIN) => std::thread::sleep(Duration::from_micros(100)),
                Err(fault) => return Err(fault.into()),
            }
        }
    }
}

/// The one change of a folder's files that goes on.
#[derive(Debug)]
pub(super) struct Lock<'a> {
    folder: &'a OwnedFd,
    _alone: MutexGuard<'a, ()>,
}

impl Drop for Lock<'_> {
    /// By name: a child between fork(2) and execve(2) holds a copy of the descriptor.
    fn drop(&mut self) {
        let _ = flock(self.folder, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let keep = tempfile::tempdir().unwrap();
        let folder = Folder::open(&fs::CWD, keep.path().to_str().unwrap()).unwrap();
        (keep, folder)
    }

    #[test]
    fn a_file_is_made_once_and_replaced_whole_and_leaves_no_draft() {
        let (keep, folder) = folder();
        assert_eq!(folder.read("f").unwrap(), None);
        assert!(folder.claim("f", b"one").unwrap() && !folder.claim("f", b"two").unwrap());
        assert_eq!(folder.read("f").unwrap().as_deref(), Some(b"one".as_slice()));
        folder.replace("f", b"three").unwrap();
        assert_eq!(folder.read("f").unwrap().as_deref(), Some(b"three".as_slice()));
        assert_eq!(std::fs::read_dir(keep.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_lock_that_is_never_given_is_a_fault() {
        let (keep, folder) = folder();
        let stopped = Folder::open(&fs::CWD, keep.path().to_str().unwrap()).unwrap();
        let held = stopped.lock().unwrap();
        assert_eq!(folder.lock().unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        drop(held);
        folder.lock().unwrap();
    }

    #[test]
    fn what_is_no_plain_file_is_not_read() {
        let (keep, folder) = folder();
        std::os::unix::fs::symlink("/etc/passwd", keep.path().join("link")).unwrap();
        std::fs::create_dir(keep.path().join("folder")).unwrap();
        rustix::fs::mkfifoat(&folder.fd, "pipe", Mode::RUSR | Mode::WUSR).unwrap();
        for name in ["link", "folder", "pipe"] {
            assert!(folder.read(name).is_err(), "{name}");
        }
    }
}
