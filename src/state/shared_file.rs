//! A short text in one file, e.g. the grants of a session, that every process on a state folder may read and change.
//!
//! One process at a time changes it, under a lock of the kernel; the mutex keeps out the other threads of this process. The text is written in
//! place, with a checksum before it: a text that was torn by the death of a process reads as empty.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, StatxFlags, flock};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

/// The longest text in bytes.
const LONGEST: usize = 1 << 20;
/// The checksum before the text: so many hexadecimal digits of its SHA-256.
const CHECKSUM: usize = 16;
/// A process holds the lock for a few reads and writes. One that keeps it for longer than this was stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// The file.
#[derive(Debug)]
pub(super) struct SharedFile {
    folder: OwnedFd,
    name: String,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: OwnedFd,
    /// The file as it was when its text was read or changed last.
    seen: Option<Version>,
}

/// Changes with every change of the file: its size, and when content and inode were changed last.
type Version = (u64, [(i64, u32); 2]);

impl SharedFile {
    pub(super) fn open(folder: &OwnedFd, name: &str) -> io::Result<Self> {
        let folder = rustix::io::fcntl_dupfd_cloexec(folder, 3)?;
        let open = Mutex::new(Open { file: open(&folder, name)?, seen: None });
        Ok(Self { folder, name: name.to_owned(), open })
    }

    /// Changes the text; `None` leaves it as it is.
    pub(super) fn change<R>(&self, change: impl FnOnce(&[u8]) -> (R, Option<Vec<u8>>)) -> io::Result<R> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.change_open(&mut open, change)
    }

    /// Reads the text, unless the file is as it was when it was last read or changed through this value.
    pub(super) fn read_if_changed(&self, read: impl FnOnce(&[u8])) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.seen.is_some() && open.seen == Some(version(&open.file)?) {
            return Ok(());
        }
        self.change_open(&mut open, |text| (read(text), None))
    }

    fn change_open<R>(&self, Open { file, seen }: &mut Open, change: impl FnOnce(&[u8]) -> (R, Option<Vec<u8>>)) -> io::Result<R> {
        lock(file)?;
        // The file was removed meanwhile: what it held is forgotten.
        if fs::fstat(&*file)?.st_nlink == 0 {
            *file = open(&self.folder, &self.name)?;
            lock(file)?;
        }
        let whole = read(file)?;
        let text = whole.split_at_checked(CHECKSUM).filter(|(sum, text)| *sum == checksum(text)).map_or(&[][..], |(_, text)| text);
        let (done, new) = change(text);
        let written = match new.filter(|new| new.len() <= LONGEST) {
            Some(new) => write(file, &[&checksum(&new), &*new].concat()),
            None => Ok(()),
        };
        *seen = version(file).ok();
        flock(&*file, FlockOperation::Unlock)?;
        written.map(|()| done)
    }
}

fn version(file: &OwnedFd) -> io::Result<Version> {
    let seen = fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
    Ok((seen.stx_size, [seen.stx_mtime, seen.stx_ctime].map(|at| (at.tv_sec, at.tv_nsec))))
}

fn checksum(text: &[u8]) -> [u8; CHECKSUM] {
    *HEXLOWER.encode(&Sha256::digest(text)).as_bytes().first_chunk().unwrap_or(&[0; CHECKSUM])
}

fn read(file: &OwnedFd) -> io::Result<Vec<u8>> {
    let size = usize::try_from(fs::fstat(file)?.st_size).unwrap_or(usize::MAX).min(LONGEST + CHECKSUM);
    let mut bytes = vec![0; size];
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(file, rest, read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(Errno::INTR) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

fn write(file: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pwrite(file, rest, written as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => written += more,
            Err(Errno::INTR) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    Ok(fs::ftruncate(file, bytes.len() as u64)?)
}

fn open(folder: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?;
    if FileType::from_raw_mode(fs::fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(file)
}

fn lock(file: &OwnedFd) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if begun.elapsed() > PATIENCE => return Err(io::ErrorKind::ResourceBusy.into()),
            Err(Errno::AGAIN) => std::thread::sleep(Duration::from_micros(100)),
            Err(fault) => return Err(fault.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, OwnedFd) {
        let folder = tempfile::tempdir().unwrap();
        let open = fs::open(folder.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        (folder, open)
    }

    fn text(file: &SharedFile) -> Vec<u8> {
        file.change(|text| (text.to_vec(), None)).unwrap()
    }

    #[test]
    fn a_text_is_read_by_every_process_and_one_that_is_torn_reads_as_empty() {
        let (keep, folder) = folder();
        let (one, two) = (SharedFile::open(&folder, "f").unwrap(), SharedFile::open(&folder, "f").unwrap());
        assert_eq!(text(&one), b"");
        one.change(|_| ((), Some(b"a longer text".to_vec()))).unwrap();
        two.change(|_| ((), Some(b"a text".to_vec()))).unwrap();
        assert_eq!(text(&one), b"a text");
        let whole = std::fs::read(keep.path().join("f")).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(keep.path().join("f"), &whole[..cut]).unwrap();
            assert_eq!(text(&one), b"", "cut at {cut}");
        }
    }

    #[test]
    fn a_text_is_read_again_once_another_process_changed_it() {
        let (_keep, folder) = folder();
        let (one, two) = (SharedFile::open(&folder, "f").unwrap(), SharedFile::open(&folder, "f").unwrap());
        let read = || {
            let mut found = None;
            one.read_if_changed(|text| found = Some(text.to_vec())).unwrap();
            found
        };
        assert_eq!((read(), read()), (Some(Vec::new()), None));
        one.change(|_| ((), Some(b"own".to_vec()))).unwrap();
        assert_eq!(read(), None);
        two.change(|_| ((), Some(b"another".to_vec()))).unwrap();
        assert_eq!((read(), read()), (Some(b"another".to_vec()), None));
    }

    #[test]
    fn a_file_that_is_gone_is_made_anew() {
        let (keep, folder) = folder();
        let file = SharedFile::open(&folder, "f").unwrap();
        file.change(|_| ((), Some(b"a text".to_vec()))).unwrap();
        std::fs::remove_file(keep.path().join("f")).unwrap();
        assert_eq!(text(&file), b"");
        file.change(|_| ((), Some(b"another".to_vec()))).unwrap();
        assert_eq!(text(&SharedFile::open(&folder, "f").unwrap()), b"another");
    }

    #[test]
    fn a_lock_that_is_never_given_is_a_fault() {
        let (keep, folder) = folder();
        let file = SharedFile::open(&folder, "f").unwrap();
        let stopped = std::fs::File::open(keep.path().join("f")).unwrap();
        stopped.lock().unwrap();
        assert_eq!(file.change(|_| ((), None)).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        drop(stopped);
        assert_eq!(text(&file), b"");
    }

    #[test]
    fn what_is_no_plain_file_is_not_opened() {
        let (keep, folder) = folder();
        std::os::unix::fs::symlink("/etc/passwd", keep.path().join("link")).unwrap();
        std::fs::create_dir(keep.path().join("folder")).unwrap();
        for name in ["link", "folder"] {
            assert!(SharedFile::open(&folder, name).is_err(), "{name}");
        }
    }
}
