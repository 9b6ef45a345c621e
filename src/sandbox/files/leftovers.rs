//! Temporary files and folders of servers that died. Each server notes the folders in which it makes some, in a file of the state folder that
//! it holds locked; the next one finds by these notes what a dead server left, without a walk through the roots.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, mkdirat, open, openat, unlinkat};
use rustix::io::{Errno, write};

use super::below::wipe;
use super::content::{Whole, read_whole};
use super::resolve::{Resolver, open_folder};
use super::roots::Root;
use super::seen::Seen;
use super::session::random_name;
use crate::model::name::{TEMPORARY, is_temporary};
use crate::model::{Bytes, Kind, Opened, RelPath};

/// What this server noted, and the folders that it has already freed from the temporary files of others.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    known: Mutex<HashSet<(u64, u64)>>,
    /// The folder of all servers' notes; none without a state folder.
    notes: Option<OwnedFd>,
    own: Mutex<Option<Notes>>,
}

/// The notes of this server.
#[derive(Debug)]
struct Notes {
    name: String,
    /// Locked as long as the server lives.
    file: OwnedFd,
}

/// A root that may hold noted folders.
#[derive(Debug)]
struct Kept {
    place: Vec<String>,
    folder: Arc<OwnedFd>,
    resolver: Resolver,
}

impl Leftovers {
    /// Opens the place of the notes in the state folder.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn open(state: Option<&Path>) -> Result<Self, Errno> {
        let Some(state) = state else { return Ok(Self::default()) };
        let state = open(state, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        match mkdirat(&state, PLACE, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        Ok(Self { known: Mutex::default(), notes: Some(openat(&state, PLACE, FOLDER, Mode::empty())?), own: Mutex::default() })
    }

    /// Removes what servers that died left in these roots, on a thread of its own: a large folder that was being deleted takes its time.
    pub(super) fn sweep<'r>(&self, roots: impl Iterator<Item = &'r Arc<Root>>) -> Option<std::thread::JoinHandle<()>> {
        let notes = open_folder(self.notes.as_ref()?).ok()?;
        let kept = |root: &Arc<Root>| Kept { place: root.place.clone(), folder: root.folder.clone(), resolver: root.resolver };
        let roots: Vec<Kept> = roots.map(kept).collect();
        let sweep = move || {
            for entry in Dir::read_from(&notes).into_iter().flatten().flatten() {
                if let Some(name) = entry.file_name().to_str().ok().filter(|name| is_random(name.as_bytes())) {
                    sweep_notes(&notes, name, &roots);
                }
            }
        };
        std::thread::Builder::new().name("leftovers".to_owned()).spawn(sweep).ok()
    }

    /// Gets a folder ready for temporary files: notes it, and removes those whose lock no server holds; once for each folder.
    pub(super) fn clean(&self, root: &Root, opened: &Opened) {
        let Some(folder) = &opened.folder else { return };
        let Ok(seen) = Seen::of(folder) else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > 10_000 {
            known.clear();
        }
        if !known.insert(seen.object()) {
            return;
        }
        drop(known);
        // A session's folder is wiped as a whole.
        if !root.scratch
            && let Err(errno) = self.note(root, opened)
        {
            tracing::warn!(%errno, "a folder could not be noted; a temporary file in it would outlive a kill of this server");
        }
        let Ok(readable) = open_folder(folder) else { return };
        for entry in Dir::read_from(&readable).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !is_temporary(name.to_bytes()) {
                continue;
            }
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let is_ours = Seen::at(&readable, name).is_ok_and(|seen| matches!(seen.kind, Kind::File | Kind::Directory));
            let Some(dead) = is_ours.then(|| openat(&readable, name, flags, Mode::empty()).ok()).flatten() else { continue };
            if flock(&dead, FlockOperation::NonBlockingLockExclusive).is_ok() {
                remove(&readable, name);
            }
        }
    }

    fn note(&self, root: &Root, opened: &Opened) -> Result<(), Errno> {
        let Some(notes) = &self.notes else { return Ok(()) };
        let folder = opened.path().split_last().map(|(folder, _)| folder).unwrap_or_default();
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let own = match own.as_mut() {
            Some(own) => own,
            None => own.insert(Notes::make(notes)?),
        };
        let names = root.place.iter().chain(folder.segments());
        let line = names.map(|name| format!("/{name}")).chain(["\0".to_owned()]).collect::<String>();
        match write(&own.file, line.as_bytes()) {
            Ok(count) if count == line.len() => Ok(()),
            Ok(_) => Err(Errno::NOSPC),
            Err(errno) => Err(errno),
        }
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        let own = self.own.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(notes), Some(own)) = (&self.notes, own) {
            let _ = unlinkat(notes, own.name.as_str(), AtFlags::empty());
        }
    }
}

impl Notes {
    /// New notes with their lock held. A server that starts at this moment may take them away before they are locked; then others are made.
    fn make(notes: &OwnedFd) -> Result<Self, Errno> {
        for _ in 0..8 {
            let name = name_of_ours()?;
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(notes, name.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() && Seen::of(&file)?.names == 1 {
                return Ok(Self { name, file });
            }
        }
        Err(Errno::AGAIN)
    }
}

/// Removes what the server of these notes left, where it is dead. Notes of other roots stay for a server that has them.
fn sweep_notes(notes: &OwnedFd, name: &str, roots: &[Kept]) {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file) = openat(notes, name, flags, Mode::empty()) else { return };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    let Ok(seen) = Seen::of(&file) else { return };
    let Ok(Whole::Bytes(text)) = read_whole(&file, seen.size, MOST_NOTES) else { return };
    let Some(server) = name.get(..SERVER) else { return };
    let mut is_done = true;
    for place in text.split(|byte| *byte == 0).filter(|place| !place.is_empty()) {
        let names: Vec<String> = String::from_utf8_lossy(place).split('/').skip(1).map(str::to_owned).collect();
        let Some((root, rest)) = roots.iter().find_map(|root| Some((root, names.strip_prefix(root.place.as_slice())?))) else {
            is_done = false;
            continue;
        };
        // What cannot be found or read any more holds nothing that this server could remove.
        let Ok(path) = RelPath::parse(&rest.join("/")) else { continue };
        let Ok(folder) = root.resolver.open(root.folder.as_fd(), &path).and_then(open_folder) else { continue };
        for entry in Dir::read_from(&folder).into_iter().flatten().flatten() {
            if is_temporary_of(server.as_bytes(), entry.file_name().to_bytes()) {
                remove(&folder, entry.file_name());
            }
        }
    }
    if is_done {
        let _ = unlinkat(notes, name, AtFlags::empty());
    }
}

/// Removes a regular file, or a folder with all below it.
fn remove(folder: &OwnedFd, name: &std::ffi::CStr) {
    let kind = Seen::at(folder, name).map(|seen| seen.kind);
    if kind == Ok(Kind::Directory)
        && let Ok(inner) = openat(folder, name, FOLDER, Mode::empty())
    {
        wipe(&inner, None);
    }
    let _ = match kind {
        Ok(Kind::Directory) => unlinkat(folder, name, AtFlags::REMOVEDIR),
        Ok(Kind::File) => unlinkat(folder, name, AtFlags::empty()),
        _ => Ok(()),
    };
}

/// A name that no caller is shown and that a later server knows for a leftover of this one.
pub(super) fn temporary_name() -> Result<String, Errno> {
    let (before, after) = TEMPORARY;
    Ok(format!("{before}{}{after}", name_of_ours()?))
}

/// Whether a name is one of this server's.
fn is_temporary_of(server: &[u8], name: &[u8]) -> bool {
    is_temporary(name) && name.strip_prefix(TEMPORARY.0.as_bytes()).is_some_and(|random| random.starts_with(server))
}

/// 128 random bits in hexadecimal, of which the first half is the same for all names of this process.
fn name_of_ours() -> Result<String, Errno> {
    static OURS: OnceLock<String> = OnceLock::new();
    let fresh = random_name()?;
    let (server, own) = fresh.split_at_checked(SERVER).ok_or(Errno::IO)?;
    Ok(format!("{}{own}", OURS.get_or_init(|| server.to_owned())))
}

fn is_random(name: &[u8]) -> bool {
    name.len() == 2 * SERVER && name.iter().all(u8::is_ascii_hexdigit)
}

/// Digits of a random name that are the server's.
const SERVER: usize = 16;
/// The folder of the notes, below the state folder.
const PLACE: &str = "temporaries";
const MOST_NOTES: Bytes = Bytes::mib(64);
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_made_is_one_of_this_server() {
        let (own, other) = (temporary_name().unwrap(), temporary_name().unwrap());
        let server = own.strip_prefix(TEMPORARY.0).unwrap().get(..SERVER).unwrap();
        assert!(own != other && is_temporary(own.as_bytes()) && is_temporary_of(server.as_bytes(), other.as_bytes()));
        assert!(!is_temporary_of(b"x", own.as_bytes()));
    }
}
