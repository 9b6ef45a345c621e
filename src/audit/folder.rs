//! The log's folders in the state directory, held open: `audit` (the files), `heads` (their signed ends), `keys`.

use std::fs::{DirBuilder, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::fault::Fault;
use super::settings::Sync;

/// The three folders. Every access is relative to one of them and follows no link.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Where the state folder was when it was opened.
    place: PathBuf,
    audit: OwnedFd,
    heads: OwnedFd,
    keys: OwnedFd,
}

impl Folder {
    /// Opens the folders below `state`, making what is missing (mode 0700).
    /// # Errors
    /// `Fault::Folder`; `Fault::Foreign` where another user owns one of them.
    pub(crate) fn create(state: &Path) -> Result<Self, Fault> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(state);
        made.map_err(|source| folder_fault("make", ".", Errno::from_io_error(&source).unwrap_or(Errno::IO)))?;
        let stat = rustix::fs::stat(state).map_err(|source| folder_fault("look at", ".", source))?;
        if stat.st_mode & 0o002 != 0 {
            return Err(Fault::Foreign { name: ".".to_owned() });
        }
        Self::open(state, &|parent, name| {
            match rustix::fs::mkdirat(parent, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(source) => return Err(folder_fault("make", name, source)),
            }
            let folder = open_folder(parent, name)?;
            let stat = rustix::fs::fstat(&folder).map_err(|source| folder_fault("look at", name, source))?;
            if stat.st_uid != rustix::process::geteuid().as_raw() {
                return Err(Fault::Foreign { name: name.to_owned() });
            }
            if stat.st_mode & 0o077 != 0 {
                rustix::fs::fchmod(&folder, Mode::RWXU).map_err(|source| folder_fault("close to others", name, source))?;
            }
            Ok(folder)
        })
    }

    /// Opens the folders below `state` to read them, making nothing.
    /// # Errors
    /// `Fault::Absent` where none of them is there, else `Fault::Folder`.
    pub(crate) fn existing(state: &Path) -> Result<Self, Fault> {
        // A missing folder is looked for in another one, where nothing has the names that it would hold.
        Self::open(state, &|parent, name| {
            let named = [name, "audit", "heads", "keys"].into_iter().map(|name| open_folder(parent, name));
            let mut there = named.skip_while(|folder| matches!(folder, Err(Fault::Folder { source: Errno::NOENT, .. })));
            there.next().unwrap_or(Err(Fault::Absent))
        })
    }

    fn open(state: &Path, folder: &dyn Fn(&OwnedFd, &str) -> Result<OwnedFd, Fault>) -> Result<Self, Fault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::fs::openat(CWD, state, flags, Mode::empty()).map_err(|source| match source {
            Errno::NOENT => Fault::Absent,
            source => folder_fault("open", ".", source),
        })?;
        let place =
            std::path::absolute(state).map_err(|source| folder_fault("find", ".", Errno::from_io_error(&source).unwrap_or(Errno::IO)))?;
        // `audit` is made last: where it exists, the other two do.
        let (keys, heads) = (folder(&open, "keys")?, folder(&open, "heads")?);
        Ok(Self { place, audit: folder(&open, "audit")?, heads, keys })
    }

    /// Whether each folder still stands where it was opened: a record in one that was moved away is never read.
    pub(crate) fn is_in_place(&self) -> bool {
        [Place::Audit, Place::Heads, Place::Keys].into_iter().all(|place| {
            let named = rustix::fs::lstat(self.place.join(place.name()));
            let held = rustix::fs::fstat(self.at(place));
            matches!((named, held), (Ok(named), Ok(held)) if (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino))
        })
    }

    /// The bytes that are free on the disk for this process; `None` where the file system does not tell, as one without a bound.
    pub(crate) fn free(&self) -> Option<u64> {
        let facts = rustix::fs::fstatvfs(&self.audit).ok().filter(|facts| facts.f_blocks > 0)?;
        let blocks = if rustix::process::geteuid().is_root() { facts.f_bfree } else { facts.f_bavail };
        Some(blocks.saturating_mul(facts.f_frsize))
    }

    /// The names in a folder, sorted.
    pub(crate) fn names(&self, place: Place) -> Result<Vec<String>, Fault> {
        let fault = |source| folder_fault("list", place.name(), source);
        let mut names = Vec::new();
        for entry in Dir::read_from(self.at(place)).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            names.extend(entry.file_name().to_str().ok().map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Makes a new file (mode 0600) that must not exist, for appending.
    pub(crate) fn create_new(&self, place: Place, name: &str) -> Result<OwnedFd, Fault> {
        self.open_at(place, name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL)
            .map_err(|source| folder_fault("make", name, source))
    }

    /// Opens a regular file for writing, made (mode 0600) where it is missing.
    pub(crate) fn make(&self, place: Place, name: &str) -> Result<OwnedFd, Fault> {
        self.regular(place, name, OFlags::WRONLY | OFlags::CREATE)
    }

    /// Opens a regular file for reading and appending.
    pub(crate) fn append(&self, place: Place, name: &str) -> Result<OwnedFd, Fault> {
        self.regular(place, name, OFlags::RDWR | OFlags::APPEND)
    }

    /// Opens a regular file for reading.
    pub(crate) fn read(&self, place: Place, name: &str) -> Result<File, Fault> {
        Ok(File::from(self.regular(place, name, OFlags::RDONLY)?))
    }

    fn regular(&self, place: Place, name: &str, flags: OFlags) -> Result<OwnedFd, Fault> {
        let fault = |source| folder_fault("open", name, source);
        // O_NONBLOCK: a pipe laid under the name must not hang the opener.
        let file = self.open_at(place, name, flags | OFlags::NONBLOCK).map_err(fault)?;
        let stat = rustix::fs::fstat(&file).map_err(fault)?;
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile {
            Ok(file)
        } else {
            Err(fault(Errno::INVAL))
        }
    }

    fn open_at(&self, place: Place, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        rustix::fs::openat(self.at(place), name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::RUSR | Mode::WUSR)
    }

    /// Whether there is something of that name.
    pub(crate) fn exists(&self, place: Place, name: &str) -> bool {
        rustix::fs::statat(self.at(place), name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// The length of a file in bytes; 0 where there is none.
    pub(crate) fn length(&self, place: Place, name: &str) -> u64 {
        let stat = rustix::fs::statat(self.at(place), name, AtFlags::SYMLINK_NOFOLLOW);
        stat.ok().and_then(|stat| u64::try_from(stat.st_size).ok()).unwrap_or(0)
    }

    /// Whether `file` is what stands under `name`.
    pub(crate) fn is_named(&self, place: Place, name: &str, file: &OwnedFd) -> bool {
        let (Ok(named), Ok(held)) = (rustix::fs::statat(self.at(place), name, AtFlags::SYMLINK_NOFOLLOW), rustix::fs::fstat(file)) else {
            return false;
        };
        (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)
    }

    /// Removes a file; one that is gone already is no fault.
    pub(crate) fn remove(&self, place: Place, name: &str) -> Result<(), Fault> {
        match rustix::fs::unlinkat(self.at(place), name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(source) => Err(folder_fault("remove", name, source)),
        }
    }

    /// Puts `bytes` under `name`, replacing what is there: the old or the new, never half. Only one process at a time may replace one name.
    /// `Sync::Handed`: after a loss of power the file may be empty.
    pub(crate) fn replace(&self, place: Place, name: &str, bytes: &[u8], sync: Sync) -> Result<(), Fault> {
        let temporary = format!(".{name}");
        // What a killed process left half-way.
        self.remove(place, &temporary)?;
        self.fill(place, &temporary, bytes, sync)?;
        rustix::fs::renameat(self.at(place), &temporary, self.at(place), name).map_err(|source| folder_fault("replace", name, source))
    }

    /// Puts `bytes` under `name`, on disk, unless something is there already, which then stays.
    pub(crate) fn put_new(&self, place: Place, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        let temporary = format!(".{}", random()?);
        self.fill(place, &temporary, bytes, Sync::Durable)?;
        let linked = rustix::fs::linkat(self.at(place), &temporary, self.at(place), name, AtFlags::empty());
        self.remove(place, &temporary)?;
        match linked {
            Ok(()) | Err(Errno::EXIST) => self.sync(place),
            Err(source) => Err(folder_fault("make", name, source)),
        }
    }

    fn fill(&self, place: Place, name: &str, bytes: &[u8], sync: Sync) -> Result<(), Fault> {
        let file = self.create_new(place, name)?;
        let synced = || if sync == Sync::Durable { rustix::fs::fdatasync(&file) } else { Ok(()) };
        write_all(&file, bytes).and_then(|()| synced()).map_err(|source| {
            // The fault that is told is the first; what is left is removed by the next attempt.
            let _ = self.remove(place, name);
            folder_fault("write", name, source)
        })
    }

    /// Makes the names in a folder durable.
    pub(crate) fn sync(&self, place: Place) -> Result<(), Fault> {
        rustix::fs::fsync(self.at(place)).map_err(|source| Fault::Sync { source })
    }

    const fn at(&self, place: Place) -> &OwnedFd {
        match place {
            Place::Audit => &self.audit,
            Place::Heads => &self.heads,
            Place::Keys => &self.keys,
        }
    }
}

/// One of the three folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Audit,
    Heads,
    Keys,
}

impl Place {
    const fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Heads => "heads",
            Self::Keys => "keys",
        }
    }
}

fn open_folder(parent: &OwnedFd, name: &str) -> Result<OwnedFd, Fault> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty()).map_err(|source| folder_fault("open", name, source))
}

/// Writes all of `bytes`, however often the kernel takes only a part.
pub(crate) fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(source) => return Err(source),
        }
    }
    Ok(())
}

/// Takes the file's lock for as long as it is open, without waiting. `false`: another process holds it.
pub(crate) fn try_lock(file: &impl AsFd, how: Lock) -> Result<bool, Errno> {
    let operation = match how {
        Lock::Exclusive => FlockOperation::NonBlockingLockExclusive,
        Lock::Shared => FlockOperation::NonBlockingLockShared,
    };
    match rustix::fs::flock(file.as_fd(), operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(source) => Err(source),
    }
}

/// Gives a lock back, for all copies of the descriptor.
pub(crate) fn unlock(file: &impl AsFd) {
    // Unlocking an open file cannot fail.
    let _ = rustix::fs::flock(file.as_fd(), FlockOperation::Unlock);
}

/// Whether the process that writes the file lives.
pub(crate) fn is_held(file: &File) -> bool {
    let free = try_lock(file, Lock::Shared) == Ok(true);
    if free {
        unlock(file);
    }
    !free
}

/// How a file is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    Exclusive,
    Shared,
}

/// Eight random bytes as text, for names.
pub(crate) fn random() -> Result<String, Fault> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| folder_fault("name", "a file", Errno::IO))?;
    Ok(super::hex::long(&bytes))
}

/// A `Fault::Folder`.
pub(crate) fn folder_fault(what: &'static str, name: &str, source: Errno) -> Fault {
    Fault::Folder { what, name: name.to_owned(), source }
}
