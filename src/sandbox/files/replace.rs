//! Putting a content in the place of another, whole or not at all, and only in the place of what was judged.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, flock, fsync, linkat, openat, renameat,
    renameat_with, unlinkat,
};
use rustix::io::{Errno, write};

use super::leftovers::temporary_name;
use super::resolve::open_folder;
use super::seen::Seen;
use crate::model::{Identity, Kind, PathFact};
use crate::sandbox::tick;

/// Why a content was not put in place. Nothing was changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unplaced {
    /// What stands there is not what was judged.
    Changed,
    /// What the kernel said.
    Errno(Errno),
}

impl From<Errno> for Unplaced {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// Puts `content` at `name` in the held folder. `judged` is what was seen there: nothing, or the file that
/// is replaced, whose mode and owner are kept.
pub(super) fn put(folder: &OwnedFd, name: &str, judged: &PathFact, content: Written<'_>) -> Result<Identity, Unplaced> {
    let Written { content, mode, durable } = content;
    let fill = |file: &OwnedFd| Ok(write_all(file, content)?);
    either(|is_named| attempt(folder, name, judged, durable, &fill, Temporary::new(folder, judged, mode, is_named)))
}

/// The same with a content that `fill` writes to a file that is empty and has no name yet. `fill` may be called twice.
pub(super) fn put_with(
    folder: &OwnedFd,
    name: &str,
    judged: &PathFact,
    durable: bool,
    fill: impl Fn(&OwnedFd) -> Result<(), Unplaced>,
) -> Result<Identity, Unplaced> {
    either(|is_named| attempt(folder, name, judged, durable, &fill, Temporary::new(folder, judged, USUAL, is_named)))
}

/// The permission bits of a new file, less what the umask takes.
pub(super) const USUAL: u32 = 0o666;

/// What is written, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written<'a> {
    pub content: &'a [u8],
    /// The permission bits of a new file, less what the umask takes.
    pub mode: u32,
    /// It is on disk before the writer returns.
    pub durable: bool,
}

impl<'a> Written<'a> {
    /// A content that a new file would have with the usual permissions.
    pub(super) const fn usual(content: &'a [u8], durable: bool) -> Self {
        Self { content, mode: USUAL, durable }
    }
}

/// Tries it with a file that has no name yet, then with one that has, where the file system knows no other.
fn either<T>(attempt: impl Fn(bool) -> Result<T, Unplaced>) -> Result<T, Unplaced> {
    match attempt(false) {
        // No unnamed files on this file system, or no /proc to give them a name by.
        Err(Unplaced::Errno(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT)) => attempt(true),
        answer => answer,
    }
}

/// A content that is written beside the file whose place it is to take, and that file again where it is not to stay there. Until it is dropped
/// what was replaced is kept under a temporary name.
pub(super) struct Swap<'a> {
    temporary: Temporary<'a>,
    name: &'a str,
    judged: &'a PathFact,
    is_placed: bool,
}

impl<'a> Swap<'a> {
    /// Writes the content; the file of that name is untouched.
    pub(super) fn prepare(folder: &'a OwnedFd, name: &'a str, judged: &'a PathFact, content: Written<'_>) -> Result<Self, Unplaced> {
        let Written { content, mode, durable } = content;
        let fill = |file: &OwnedFd| Ok(write_all(file, content)?);
        let temporary = either(|is_named| {
            let mut temporary = written(folder, name, judged, durable, &fill, Temporary::new(folder, judged, mode, is_named))?;
            temporary.named_now()?;
            Ok(temporary)
        })?;
        Ok(Self { temporary, name, judged, is_placed: false })
    }

    /// Puts the content in its place, where what stands there is what was judged.
    pub(super) fn place(&mut self) -> Result<Identity, Unplaced> {
        self.temporary.exchange(self.name, self.judged, Replaced::Kept)?;
        self.is_placed = true;
        tick::touched();
        Ok(Seen::of(&self.temporary.file)?.identity)
    }

    /// Gives what was replaced its place again, and tells whether it has it: another program may have put something else there meanwhile.
    pub(super) fn restore(&mut self) -> bool {
        let (folder, name) = (self.temporary.folder, self.name);
        let Some(old) = self.temporary.name.clone().filter(|_| self.is_placed) else { return !self.is_placed };
        let ours = Seen::of(&self.temporary.file).ok().map(|seen| seen.object());
        let is_ours = |name: &str| Seen::at(folder, name).is_ok_and(|seen| Some(seen.object()) == ours);
        if !is_ours(name) {
            return false;
        }
        match renameat_with(folder, old.as_str(), folder, name, RenameFlags::EXCHANGE) {
            Ok(()) if is_ours(&old) => self.is_placed = false,
            // It was replaced at that very moment: that stays.
            Ok(()) => return renameat_with(folder, old.as_str(), folder, name, RenameFlags::EXCHANGE).is_err(),
            Err(_) if renameat(folder, old.as_str(), folder, name).is_ok() => {
                self.is_placed = false;
                self.temporary.name = None;
            }
            Err(_) => {}
        }
        tick::touched();
        !self.is_placed
    }
}

/// What becomes of the file whose place another one takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replaced {
    /// It goes.
    Gone,
    /// It keeps the temporary name.
    Kept,
}

fn attempt(
    folder: &OwnedFd,
    name: &str,
    judged: &PathFact,
    durable: bool,
    fill: &impl Fn(&OwnedFd) -> Result<(), Unplaced>,
    temporary: Result<Temporary<'_>, Errno>,
) -> Result<Identity, Unplaced> {
    let mut temporary = written(folder, name, judged, durable, fill, temporary)?;
    if judged.kind == Kind::File {
        temporary.exchange(name, judged, Replaced::Gone)?;
    } else {
        temporary.place(name)?;
    }
    tick::touched();
    if durable {
        fsync(open_folder(folder)?)?;
    }
    Ok(Seen::of(&temporary.file)?.identity)
}

/// The temporary file with the content, and with mode and owner of the file whose place it is to take.
fn written<'t>(
    folder: &OwnedFd,
    name: &str,
    judged: &PathFact,
    durable: bool,
    fill: &impl Fn(&OwnedFd) -> Result<(), Unplaced>,
    temporary: Result<Temporary<'t>, Errno>,
) -> Result<Temporary<'t>, Unplaced> {
    let temporary = temporary?;
    // Says to others that this temporary file is alive.
    flock(&temporary.file, FlockOperation::NonBlockingLockExclusive)?;
    fill(&temporary.file)?;
    if judged.kind == Kind::File {
        let before = Seen::at(folder, name).map_err(|_| Unplaced::Changed)?;
        if !before.is_as_judged(judged) {
            return Err(Unplaced::Changed);
        }
        let now = Seen::of(&temporary.file)?;
        if now.owner != before.owner {
            // Without the right to give files away the new file is ours; its mode is what matters then.
            let _ = fchown(&temporary.file, Some(Uid::from_raw(before.owner.0)), Some(Gid::from_raw(before.owner.1)));
        }
        // Never set-user-ID: new content does not inherit a privilege.
        fchmod(&temporary.file, Mode::from_raw_mode(before.mode & 0o777))?;
    }
    if durable {
        fsync(&temporary.file)?;
    }
    Ok(temporary)
}

/// A file that is not in its place yet; it goes when it is dropped.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    file: OwnedFd,
    name: Option<String>,
}

impl<'a> Temporary<'a> {
    /// A file without a name, which the kernel takes back when we die, or one that has a temporary name.
    fn new(folder: &'a OwnedFd, judged: &PathFact, wanted: u32, is_named: bool) -> Result<Self, Errno> {
        if !is_named {
            let file = openat(folder, c".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode(judged, wanted))?;
            return Ok(Self { folder, file, name: None });
        }
        let name = temporary_name()?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(folder, name.as_str(), flags, mode(judged, wanted))?;
        Ok(Self { folder, file, name: Some(name) })
    }

    fn link(&self, name: &str) -> Result<(), Errno> {
        linkat(CWD, format!("/proc/self/fd/{}", self.file.as_raw_fd()), self.folder, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Gives the file its name, where nothing has that name.
    fn place(&mut self, name: &str) -> Result<(), Unplaced> {
        let Some(own) = self.name.clone() else { return self.link(name).map_err(taken) };
        match rename_to_new(self.folder, &own, self.folder, name) {
            Ok(()) => {
                self.name = None;
                Ok(())
            }
            Err(errno) => Err(taken(errno)),
        }
    }

    /// Changes places with the file of that name, looks at what came out, and changes back if it is not what was judged.
    fn exchange(&mut self, name: &str, judged: &PathFact, replaced: Replaced) -> Result<(), Unplaced> {
        let own = self.named_now()?;
        match renameat_with(self.folder, own.as_str(), self.folder, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Unplaced::Changed),
            // A file system without the exchange: looked at just before instead.
            Err(Errno::INVAL | Errno::NOSYS) => {
                return self.rename_over(&own, name, judged, replaced);
            }
            Err(errno) => return Err(errno.into()),
        }
        if Seen::at(self.folder, own.as_str()).is_ok_and(|seen| seen.is_as_judged_renamed(judged)) {
            return Ok(());
        }
        // Until it is back in its place, what came out is not ours to remove.
        self.name = None;
        renameat_with(self.folder, own.as_str(), self.folder, name, RenameFlags::EXCHANGE)?;
        self.name = Some(own);
        Err(Unplaced::Changed)
    }
}

impl Temporary<'_> {
    /// Its temporary name, which it is given where it has none.
    fn named_now(&mut self) -> Result<String, Unplaced> {
        if let Some(own) = &self.name {
            return Ok(own.clone());
        }
        let own = temporary_name()?;
        self.link(&own)?;
        Ok(self.name.insert(own).clone())
    }

    /// Takes the place of the judged file without an exchange. To keep that one it is given a temporary name before.
    fn rename_over(&mut self, own: &str, name: &str, judged: &PathFact, replaced: Replaced) -> Result<(), Unplaced> {
        if !Seen::at(self.folder, name).is_ok_and(|seen| seen.is_as_judged(judged)) {
            return Err(Unplaced::Changed);
        }
        let mut kept = None;
        if replaced == Replaced::Kept {
            let old = temporary_name()?;
            linkat(self.folder, name, self.folder, old.as_str(), AtFlags::empty())?;
            kept = Some(old);
        }
        let placed = renameat(self.folder, own, self.folder, name);
        if placed.is_ok() {
            self.name = kept;
        } else if let Some(old) = kept {
            let _ = unlinkat(self.folder, old.as_str(), AtFlags::empty());
        }
        Ok(placed?)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After an exchange this is what was replaced.
        if let Some(name) = self.name.take() {
            let _ = unlinkat(self.folder, name.as_str(), AtFlags::empty());
        }
    }
}

/// Renames where nothing has the new name. On file systems without `RENAME_NOREPLACE`: a file by a second name, which fails
/// where one is, and a folder after a look, for a folder can only take the place of an empty one.
pub(super) fn rename_to_new(from: &OwnedFd, old: &str, to: &OwnedFd, new: &str) -> Result<(), Errno> {
    match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {}
        answer => return answer,
    }
    if Seen::at(from, old)?.kind == Kind::File {
        linkat(from, old, to, new, AtFlags::empty())?;
        return unlinkat(from, old, AtFlags::empty());
    }
    match Seen::at(to, new) {
        Err(Errno::NOENT) => renameat(from, old, to, new),
        Ok(_) => Err(Errno::EXIST),
        Err(errno) => Err(errno),
    }
}

fn taken(errno: Errno) -> Unplaced {
    if errno == Errno::EXIST { Unplaced::Changed } else { Unplaced::Errno(errno) }
}

fn mode(judged: &PathFact, wanted: u32) -> Mode {
    // What will take a private file's place is private from the beginning; a new file follows the umask.
    Mode::from_raw_mode(if judged.kind == Kind::File { 0o600 } else { wanted })
}

fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(&file, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, OwnedFd) {
        let dir = tempfile::tempdir().unwrap();
        let folder = openat(CWD, dir.path(), OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        (dir, folder)
    }

    fn fact(folder: &OwnedFd, name: &str) -> PathFact {
        let seen = Seen::at(folder, name).unwrap();
        PathFact { size: seen.size, identity: Some(seen.identity), ..PathFact::of(seen.kind) }
    }

    #[test]
    fn a_file_system_without_unnamed_files_is_served_by_named_ones() {
        let (dir, folder) = folder();
        let by_name = |judged: &PathFact, content: &[u8]| {
            let fill = |file: &OwnedFd| Ok(write_all(file, content)?);
            attempt(&folder, "a", judged, true, &fill, Temporary::new(&folder, judged, USUAL, true))
        };
        by_name(&PathFact::ABSENT, b"one").unwrap();
        assert_eq!(by_name(&PathFact::ABSENT, b"two"), Err(Unplaced::Changed));
        by_name(&fact(&folder, "a"), b"three").unwrap();
        assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"three");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    fn file(dir: &tempfile::TempDir, name: &str) -> String {
        std::fs::read_to_string(dir.path().join(name)).unwrap()
    }

    #[test]
    fn what_was_replaced_takes_its_place_again_with_and_without_an_exchange() {
        for has_exchange in [true, false] {
            let (dir, folder) = folder();
            std::fs::write(dir.path().join("a"), "old").unwrap();
            let judged = fact(&folder, "a");
            let judged = PathFact { names: 1, ..judged };
            let mut swap = Swap::prepare(&folder, "a", &judged, Written::usual(b"new", true)).unwrap();
            assert_eq!(file(&dir, "a"), "old", "it is only prepared");
            if has_exchange {
                swap.place().unwrap();
            } else {
                let own = swap.temporary.named_now().unwrap();
                swap.temporary.rename_over(&own, "a", &judged, Replaced::Kept).unwrap();
                swap.is_placed = true;
            }
            assert_eq!((file(&dir, "a"), std::fs::read_dir(dir.path()).unwrap().count()), ("new".to_owned(), 2));
            assert!(swap.restore() && swap.restore());
            drop(swap);
            assert_eq!((file(&dir, "a"), std::fs::read_dir(dir.path()).unwrap().count()), ("old".to_owned(), 1));
        }
    }

    #[test]
    fn what_another_program_put_there_meanwhile_stays() {
        let (dir, folder) = folder();
        std::fs::write(dir.path().join("a"), "old").unwrap();
        let judged = PathFact { names: 1, ..fact(&folder, "a") };
        let mut swap = Swap::prepare(&folder, "a", &judged, Written::usual(b"new", false)).unwrap();
        swap.place().unwrap();
        std::fs::write(dir.path().join("b"), "theirs").unwrap();
        std::fs::rename(dir.path().join("b"), dir.path().join("a")).unwrap();
        assert!(!swap.restore());
        drop(swap);
        assert_eq!((file(&dir, "a"), std::fs::read_dir(dir.path()).unwrap().count()), ("theirs".to_owned(), 1));
    }
}
