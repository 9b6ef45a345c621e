//! The folder `audit` of the state directory and the names in it: `CHAIN.NUMBER.jsonl`, and `CHAIN.000001.live` until the process of the chain has
//! ended it. That process holds a lock on the mark.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{DirBuilder, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use rustix::fs::{AtFlags, CWD, Dir, FlockOperation, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::fault::Fault;

/// The folder, held open. Every access is relative to it and follows no link.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Where it was when it was opened.
    path: PathBuf,
    fd: OwnedFd,
}

impl Folder {
    /// Opens the folder below `state`, making what is missing (mode 0700).
    /// # Errors
    /// `Fault::Folder`; `Fault::Foreign` where another user owns it.
    pub(crate) fn create(state: &Path) -> Result<Self, Fault> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(state);
        made.map_err(|source| fault("make", ".", Errno::from_io_error(&source).unwrap_or(Errno::IO)))?;
        let stat = rustix::fs::stat(state).map_err(|source| fault("look at", ".", source))?;
        if stat.st_mode & 0o002 != 0 {
            return Err(Fault::Foreign { name: ".".to_owned() });
        }
        match rustix::fs::mkdir(state.join(NAME), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(source) => return Err(fault("make", NAME, source)),
        }
        let folder = Self::existing(state)?;
        let stat = rustix::fs::fstat(&folder.fd).map_err(|source| fault("look at", NAME, source))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(Fault::Foreign { name: NAME.to_owned() });
        }
        if stat.st_mode & 0o077 != 0 {
            rustix::fs::fchmod(&folder.fd, Mode::RWXU).map_err(|source| fault("close to others", NAME, source))?;
        }
        Ok(folder)
    }

    /// Opens the folder below `state`, making nothing.
    /// # Errors
    /// `Fault::Absent` where it is not there, else `Fault::Folder`.
    pub(crate) fn existing(state: &Path) -> Result<Self, Fault> {
        let path = std::path::absolute(state).map_err(|_| fault("find", ".", Errno::IO))?.join(NAME);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(CWD, &path, flags, Mode::empty()) {
            Ok(fd) => Ok(Self { path, fd }),
            Err(Errno::NOENT) => Err(Fault::Absent),
            Err(source) => Err(fault("open", NAME, source)),
        }
    }

    /// Whether the folder still stands where it was opened: a record in one that was moved away is never read.
    pub(crate) fn is_in_place(&self) -> bool {
        is_same(rustix::fs::lstat(&self.path), rustix::fs::fstat(&self.fd))
    }

    /// The names of the files of the log, sorted.
    pub(crate) fn files(&self) -> Result<Vec<String>, Fault> {
        let failed = |source| fault("list", NAME, source);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            names.extend(entry.file_name().to_str().ok().filter(|name| name.strip_suffix(".jsonl").is_some()).map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The files of each chain, in order.
    pub(crate) fn chains(&self) -> Result<BTreeMap<String, BTreeSet<String>>, Fault> {
        let mut chains = BTreeMap::<_, BTreeSet<_>>::new();
        for id in self.files()?.iter().filter_map(|name| name.strip_suffix(".jsonl")) {
            chains.entry(chain_of(id).to_owned()).or_default().insert(id.to_owned());
        }
        Ok(chains)
    }

    /// The file in which a chain goes on after this one, if it is there.
    pub(crate) fn next(&self, id: &str) -> Option<String> {
        split(id).map(|(chain, number)| file_id(chain, number.saturating_add(1))).filter(|next| self.exists(&name(next)))
    }

    /// Which files of a chain have a mark. Servers of earlier versions marked the file that they wrote, later ones the first of the chain.
    pub(crate) fn marks(&self, chain: &str, ids: &BTreeSet<String>) -> Vec<String> {
        let first = file_id(chain, 1);
        ids.iter().chain((!ids.contains(&first)).then_some(&first)).filter(|id| self.exists(&marker(id))).cloned().collect()
    }

    /// Whether the process lives that made one of these marks. Servers of earlier versions hold a lock on the file itself.
    pub(crate) fn is_held(&self, marks: &[String]) -> bool {
        let is_free = |name: &str| {
            self.read(name)
                .is_ok_and(|file| matches!(Lock::attempt(OwnedFd::from(file), FlockOperation::NonBlockingLockShared), Ok(Some(_))))
        };
        marks.iter().any(|id| [marker(id), name(id)].iter().any(|name| self.exists(name) && !is_free(name)))
    }

    /// Takes the locks of a chain. `None`: a living process holds them.
    pub(crate) fn lock(&self, marks: &[String]) -> Result<Option<Vec<Lock>>, Fault> {
        let mut locks = Vec::new();
        for name in marks.iter().flat_map(|id| [marker(id), name(id)]).filter(|name| self.exists(name)) {
            let lock = Lock::attempt(self.read(&name)?.into(), FlockOperation::NonBlockingLockExclusive)
                .map_err(|source| fault("lock", &name, source))?;
            let Some(lock) = lock else { return Ok(None) };
            locks.push(lock);
        }
        Ok(Some(locks))
    }

    /// Begins a chain under a new name (time, eight random bytes): makes its mark and locks it.
    pub(crate) fn begin(&self, now: Timestamp) -> Result<(String, Lock), Fault> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|_| fault("name", "a file", Errno::IO))?;
        let chain = format!("{}-{}", now.strftime("%Y%m%dT%H%M%SZ"), HEXLOWER.encode(&random));
        let mark = marker(&file_id(&chain, 1));
        let file = self.make(&mark)?;
        // A start that looks for dead processes may hold it for a moment; it leaves a chain without a file as it is.
        retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive)).map_err(|source| fault("lock", &mark, source))?;
        Ok((chain, Lock(file)))
    }

    /// Opens a regular file for reading and appending, made (mode 0600) where it is missing.
    pub(crate) fn make(&self, name: &str) -> Result<OwnedFd, Fault> {
        self.regular(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)
    }

    /// Opens a regular file for reading and appending.
    pub(crate) fn append(&self, name: &str) -> Result<OwnedFd, Fault> {
        self.regular(name, OFlags::RDWR | OFlags::APPEND)
    }

    /// Opens a regular file for reading.
    pub(crate) fn read(&self, name: &str) -> Result<File, Fault> {
        Ok(File::from(self.regular(name, OFlags::RDONLY)?))
    }

    fn regular(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Fault> {
        let failed = |source| fault("open", name, source);
        // O_NONBLOCK: a pipe laid under the name must not hang the opener.
        let flags = flags | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        let stat = rustix::fs::fstat(&file).map_err(failed)?;
        let is_regular = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile;
        if is_regular { Ok(file) } else { Err(failed(Errno::INVAL)) }
    }

    fn stat(&self, name: &str) -> rustix::io::Result<rustix::fs::Stat> {
        rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Whether there is something of that name.
    pub(crate) fn exists(&self, name: &str) -> bool {
        self.stat(name).is_ok()
    }

    /// The length of a file in bytes; 0 where there is none.
    pub(crate) fn length(&self, name: &str) -> u64 {
        self.stat(name).ok().and_then(|stat| u64::try_from(stat.st_size).ok()).unwrap_or(0)
    }

    /// Removes a file; one that is gone already is no fault.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Fault> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(source) => Err(fault("remove", name, source)),
        }
    }

    /// Makes the names in the folder durable.
    pub(crate) fn sync(&self) -> Result<(), Fault> {
        rustix::fs::fsync(&self.fd).map_err(|source| Fault::Sync { source })
    }
}

fn is_same(one: rustix::io::Result<rustix::fs::Stat>, other: rustix::io::Result<rustix::fs::Stat>) -> bool {
    matches!((one, other), (Ok(one), Ok(other)) if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

/// A lock on a file.
#[derive(Debug)]
pub(crate) struct Lock(OwnedFd);

impl Lock {
    /// Takes it without waiting. `None`: another process holds it.
    fn attempt(file: OwnedFd, operation: FlockOperation) -> Result<Option<Self>, Errno> {
        match rustix::fs::flock(&file, operation) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(source) => Err(source),
        }
    }
}

impl Drop for Lock {
    /// Gives the lock back by name: a child between fork(2) and execve(2) holds a copy of the descriptor, and closing ours alone would leave it locked.
    fn drop(&mut self) {
        // Unlocking an open file cannot fail.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

/// An append-only file on a disk. A seam: the tests put disks behind it that fill up and fail.
pub(crate) trait Medium: Send + Sync + fmt::Debug {
    /// Hands all of `bytes` to the kernel.
    fn append(&self, bytes: &[u8]) -> Result<(), Errno>;
    /// Returns when what was appended is on the disk.
    fn sync(&self) -> Result<(), Errno>;
    /// Cuts the file to `length`.
    fn truncate(&self, length: u64) -> Result<(), Errno>;
    /// Whether the file still stands under its name and is as long as its writer left it.
    fn is_whole(&self, _folder: &Folder, _id: &str, _length: u64) -> bool {
        true
    }
}

/// Makes a disk of an opened file.
pub(crate) type Wrap = Arc<dyn Fn(OwnedFd) -> Arc<dyn Medium> + Send + Sync>;

/// A real file, opened for appending.
#[derive(Debug)]
pub(crate) struct Disk(pub(crate) OwnedFd);

impl Medium for Disk {
    /// Writes all of `bytes`, however often the kernel takes only a part.
    fn append(&self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match retry_on_intr(|| rustix::io::write(&self.0, bytes))? {
                0 => return Err(Errno::IO),
                written => bytes = bytes.get(written..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fdatasync(&self.0)
    }

    fn truncate(&self, length: u64) -> Result<(), Errno> {
        rustix::fs::ftruncate(&self.0, length)
    }

    fn is_whole(&self, folder: &Folder, id: &str, length: u64) -> bool {
        let own = rustix::fs::fstat(&self.0);
        is_same(folder.stat(&name(id)), own) && own.is_ok_and(|own| u64::try_from(own.st_size) == Ok(length))
    }
}

/// A file of a chain.
pub(crate) fn file_id(chain: &str, number: u32) -> String {
    format!("{chain}.{number:06}")
}

/// The chain a file belongs to, and its number in it.
pub(crate) fn split(id: &str) -> Option<(&str, u32)> {
    let (chain, number) = id.rsplit_once('.')?;
    Some((chain, number.parse().ok()?))
}

/// The chain a file belongs to.
pub(crate) fn chain_of(id: &str) -> &str {
    split(id).map_or(id, |(chain, _)| chain)
}

/// The file's name.
pub(crate) fn name(id: &str) -> String {
    format!("{id}.jsonl")
}

/// The name of its mark.
pub(crate) fn marker(id: &str) -> String {
    format!("{id}.live")
}

/// The name of what was cut off its end.
pub(crate) fn torn(id: &str) -> String {
    format!("{id}.torn")
}

fn fault(what: &'static str, name: &str, source: Errno) -> Fault {
    Fault::Folder { what, name: name.to_owned(), source }
}

const NAME: &str = "audit";
