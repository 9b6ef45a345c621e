//! Private folders of sessions: made when first used, wiped at the session's end, and after a crash at the next start.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, mkdirat, open, openat, unlinkat};
use rustix::io::Errno;

use super::below::wipe;
use super::resolve::{Resolver, open_folder};
use super::roots::Root;
use super::seen::Seen;
use crate::manifest::Quota;

/// Every session's folders, below one folder of the state directory.
#[derive(Debug)]
pub struct SessionFolders {
    folder: OwnedFd,
    resolver: Resolver,
    living: Mutex<HashMap<(String, String), Living>>,
}

#[derive(Debug)]
struct Living {
    root: Arc<Root>,
    name: String,
    /// Holds the lock by which another server sees that this folder lives.
    _lock: OwnedFd,
}

impl SessionFolders {
    /// Opens the place of the session folders in the state folder and wipes those whose server is gone.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn open(state: &Path) -> Result<Self, Errno> {
        let state = open(state, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        match mkdirat(&state, PLACE, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let folder = openat(&state, PLACE, FOLDER, Mode::empty())?;
        let folders = Self { resolver: Resolver::detect(&folder), folder, living: Mutex::default() };
        folders.sweep()?;
        Ok(folders)
    }

    /// The session's folder for this root; made when it is first asked for: 0700, with a name nobody can guess.
    pub(super) fn root(&self, session: &str, root: &str, quota: Option<Quota>) -> Result<Arc<Root>, Errno> {
        let mut living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (session.to_owned(), root.to_owned());
        if let Some(known) = living.get(&key) {
            return Ok(known.root.clone());
        }
        let (name, lock) = self.make()?;
        let folder = openat(&lock, c".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let made = Arc::new(Root {
            resolver: self.resolver,
            place: Vec::new(),
            mount: Seen::of(&folder)?.mount,
            protected: Vec::new(),
            protected_folder: false,
            quota,
            scratch: true,
            folder: Arc::new(folder),
        });
        living.insert(key, Living { root: made.clone(), name, _lock: lock });
        Ok(made)
    }

    /// A new folder with its lock held. The sweep of a server that starts at this moment may take the folder away while it is
    /// empty and not yet locked; then another is made.
    fn make(&self) -> Result<(String, OwnedFd), Errno> {
        for _ in 0..8 {
            let name = random_name()?;
            // Fails where the name exists: nothing that stands there already is ever taken over.
            mkdirat(&self.folder, name.as_str(), Mode::RWXU)?;
            let Ok(lock) = openat(&self.folder, name.as_str(), FOLDER, Mode::empty()) else { continue };
            let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
            if locked
                && Seen::at(&self.folder, name.as_str()).ok().map(|seen| seen.object()) == Seen::of(&lock).ok().map(|seen| seen.object())
            {
                return Ok((name, lock));
            }
        }
        Err(Errno::AGAIN)
    }

    /// Wipes the session's folders. What is still held by a running verb goes when the verb ends.
    pub fn end(&self, session: &str) {
        let mut living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        let ended: Vec<_> = living.keys().filter(|(owner, _)| owner == session).cloned().collect();
        let ended: Vec<_> = ended.iter().filter_map(|key| living.remove(key)).collect();
        drop(living);
        for folder in ended {
            self.remove(&folder.name);
        }
    }

    fn remove(&self, name: &str) {
        if let Ok(folder) = openat(&self.folder, name, FOLDER, Mode::empty()) {
            wipe(&folder);
        }
        if let Err(errno) = unlinkat(&self.folder, name, AtFlags::REMOVEDIR) {
            tracing::warn!(%errno, "a session folder could not be removed");
        }
    }

    /// Wipes folders whose lock nobody holds: their server died.
    fn sweep(&self) -> Result<(), Errno> {
        let readable = open_folder(&self.folder)?;
        for entry in Dir::read_from(&readable)?.flatten() {
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.len() != NAME_LENGTH || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                continue;
            }
            let Ok(folder) = openat(&self.folder, name, FOLDER, Mode::empty()) else { continue };
            if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
                self.remove(name);
            }
        }
        Ok(())
    }
}

impl Drop for SessionFolders {
    fn drop(&mut self) {
        let living = std::mem::take(self.living.get_mut().unwrap_or_else(PoisonError::into_inner));
        for folder in living.into_values() {
            self.remove(&folder.name);
        }
    }
}

/// 128 random bits in hexadecimal.
pub(super) fn random_name() -> Result<String, Errno> {
    let mut bytes = [0u8; NAME_LENGTH / 2];
    getrandom::fill(&mut bytes).map_err(|_| Errno::IO)?;
    Ok(bytes.iter().fold(String::with_capacity(NAME_LENGTH), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

const NAME_LENGTH: usize = 32;
/// Below the state folder; exempt from its protection, for each session owns its part.
pub(super) const PLACE: &str = "sessions";
/// The folder of Python environments there: many files, none of them secret.
pub(super) const ENVIRONMENTS: &str = "python";
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
