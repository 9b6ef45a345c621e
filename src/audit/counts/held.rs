//! A small file that one process at a time changes.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{self, AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

/// The file. The lock of the kernel holds other processes off, the mutex the threads of this one.
#[derive(Debug)]
pub(super) struct Held {
    folder: OwnedFd,
    name: String,
    file: Mutex<OwnedFd>,
}

/// The file while nobody else changes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Content<'f>(&'f OwnedFd);

/// Who holds a lock does a few reads and writes under it. One that is not given within this time is held by a process that was stopped.
const PATIENCE: Duration = Duration::from_secs(2);

impl Held {
    pub(super) fn open(folder: &OwnedFd, name: &str) -> io::Result<Self> {
        let folder = rustix::io::fcntl_dupfd_cloexec(folder, 3)?;
        let file = Mutex::new(open(&folder, name)?);
        Ok(Self { folder, name: name.to_owned(), file })
    }

    /// Runs `change` while no other thread or process is in the file.
    pub(super) fn alone<R>(&self, change: impl FnOnce(Content<'_>) -> io::Result<R>) -> io::Result<R> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..8 {
            lock(&file)?;
            // A file that was swept away is one that nobody else looks at any more.
            if fs::fstat(&*file)?.st_nlink > 0 {
                let done = change(Content(&file));
                flock(&*file, FlockOperation::Unlock)?;
                return done;
            }
            *file = open(&self.folder, &self.name)?;
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }
}

impl Content<'_> {
    /// Reads what is there from an offset on; the rest of the buffer stays as it is. How much was there.
    pub(super) fn read(self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while let Some(rest) = buffer.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match rustix::io::pread(self.0, rest, at + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(Errno::INTR) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
        Ok(read)
    }

    /// Writes all of it.
    pub(super) fn write(self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            match rustix::io::pwrite(self.0, rest, at + written as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => written += more,
                Err(Errno::INTR) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
        Ok(())
    }

    /// Whether nothing was ever written.
    pub(super) fn is_empty(self) -> io::Result<bool> {
        Ok(fs::fstat(self.0)?.st_size == 0)
    }
}

fn open(folder: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = |flags| fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR);
    // When it was read is nobody's business, and noting it would cost each call a change of the inode; only its owner may say so (open(2)).
    let file = match open(flags | OFlags::NOATIME) {
        Err(Errno::PERM) => open(flags)?,
        opened => opened?,
    };
    if FileType::from_raw_mode(fs::fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(file)
}

fn lock(file: &OwnedFd) -> io::Result<()> {
    let mut begun = None;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let begun: &Instant = begun.get_or_insert_with(Instant::now);
                if begun.elapsed() > PATIENCE {
                    return Err(io::ErrorKind::ResourceBusy.into());
                }
                std::thread::sleep(Duration::from_micros(20));
            }
            Err(fault) => return Err(fault.into()),
        }
    }
}

/// Removes a file, if it is there.
pub(super) fn remove(folder: &OwnedFd, name: &str) -> io::Result<()> {
    match fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(fault) => Err(fault.into()),
    }
}

/// Removes files that were not written for so long, each under its lock.
pub(super) fn sweep(folder: &OwnedFd, stale: Duration) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") && is_stale(folder, name, stale) {
            let Ok(file) = fs::openat(folder, name, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
            else {
                continue;
            };
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() && is_stale(folder, name, stale) {
                let _ = fs::unlinkat(folder, name, AtFlags::empty());
            }
        }
    }
}

fn is_stale(folder: &OwnedFd, name: &CStr, stale: Duration) -> bool {
    let Ok(seen) = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    // A wall clock set forward makes files look old; a day's grace is cheap, and a wrong guess costs one window.
    u64::try_from(seen.st_mtime).is_ok_and(|written| now.saturating_sub(written) > stale.as_secs() + 24 * 3600)
}

/// A sum that a torn or foreign text does not have (FNV-1a over words). It tells damage, not malice: whoever can write here owns the house.
pub(super) fn sum(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0xcbf2_9ce4_8422_2325, |sum, word| (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29))
}
