//! Private folders of sessions: made when first used, gone at the session's end, and after a crash at the next start. What was in them is wiped
//! in the background: a program may have left more than can be wiped while somebody waits.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{Dir, FlockOperation, Mode, OFlags, fchmod, flock, mkdirat, open, openat, renameat};
use rustix::io::Errno;

use super::below::wipe;
use super::resolve::open_folder;
use super::roots::Root;
use super::stat::Stat;
use crate::manifest::Quota;
use crate::model::Bytes;

/// Every session's folders, below one folder of the state directory.
#[derive(Debug)]
pub struct SessionFolders {
    folder: OwnedFd,
    /// Where folders go that nobody uses any more.
    gone: OwnedFd,
    /// Held by the thread that wipes what is gone: one is enough, and several would hold each other up.
    wipes: Arc<Mutex<()>>,
    living: Mutex<HashMap<(String, String), Living>>,
}

/// The bytes that the disk of the session folders can hold, below this state folder: of a folder with a project quota the kernel tells that.
pub fn disk_of_sessions(state: &Path) -> Option<Bytes> {
    let facts = rustix::fs::statvfs(state.join(PLACE)).or_else(|_| rustix::fs::statvfs(state)).ok()?;
    Some(Bytes(facts.f_blocks.saturating_mul(facts.f_frsize))).filter(|bytes| bytes.0 > 0)
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
        let open = |name| match mkdirat(&state, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => openat(&state, name, FOLDER, Mode::empty()),
            Err(errno) => Err(errno),
        };
        let (folder, gone) = (open(PLACE)?, open(GONE)?);
        let folders = Self { folder, gone, wipes: Arc::default(), living: Mutex::default() };
        folders.sweep()?;
        folders.wipe_gone();
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
            place: Vec::new(),
            mount: Stat::of(&folder)?.mount,
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
                && Stat::at(&self.folder, name.as_str()).ok().map(|seen| seen.object()) == Stat::of(&lock).ok().map(|seen| seen.object())
            {
                return Ok((name, lock));
            }
        }
        Err(Errno::AGAIN)
    }

    /// Takes the session's folders away. What is still held by a running verb goes when the verb ends.
    pub fn end(&self, session: &str) {
        let mut living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        let ended: Vec<_> = living.keys().filter(|(owner, _)| owner == session).cloned().collect();
        let ended: Vec<_> = ended.iter().filter_map(|key| living.remove(key)).collect();
        drop(living);
        for folder in &ended {
            self.remove(&folder.name);
        }
        if !ended.is_empty() {
            self.wipe_gone();
        }
    }

    /// Puts a folder where it is wiped; at once, however much is in it.
    fn remove(&self, name: &str) {
        // A program may have taken its owner's right to write from it, which a move needs (rename(2)).
        if let Ok(folder) = openat(&self.folder, name, FOLDER, Mode::empty()) {
            let _ = fchmod(&folder, Mode::RWXU);
        }
        if let Err(errno) = renameat(&self.folder, name, &self.gone, name) {
            tracing::warn!(%errno, "a session folder could not be removed");
        }
    }

    /// Wipes what is gone on a thread of its own. What comes while that thread ends is wiped at the end of the next session, or at the next start.
    fn wipe_gone(&self) {
        let Ok(gone) = self.gone.try_clone() else { return };
        let wipes = Arc::clone(&self.wipes);
        let wiping = std::thread::Builder::new().name("wipe".to_owned()).spawn(move || {
            let Ok(_alone) = wipes.try_lock() else { return };
            // Everything else comes first (nice(2); a thread has its own).
            let _ = rustix::process::nice(LOW_PRIORITY);
            wipe(&gone, None);
        });
        if let Err(error) = wiping {
            tracing::warn!(%error, "folders of sessions that ended are wiped at the next start");
        }
    }

    /// Takes folders away whose lock nobody holds: their server died.
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
        // A thread would end with this process. What takes longer is left to the next start.
        wipe(&self.gone, Some(Instant::now() + LEAVING));
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
/// Beside it: what nobody uses any more, until it is wiped.
pub(super) const GONE: &str = "sessions-gone";
/// How long the end of this server waits for it.
const LEAVING: Duration = Duration::from_secs(1);
const LOW_PRIORITY: i32 = 10;
/// The folder of Python environments there: many files, none of them secret.
pub(super) const ENVIRONMENTS: &str = "python";
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
