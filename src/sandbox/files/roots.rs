//! The roots of the manifest as handles.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::known::Known;
use super::protect::{Hidden, Protected};
use super::session::SessionFolders;
use super::stat::Stat;
use super::temporary::Cleaned;
use crate::manifest::Quota;
use crate::model::{Code, Failure, Target};
use crate::sandbox::below;

/// One root of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootConfig {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub at: Location,
    /// What it may hold; only session roots have one.
    pub quota: Option<Quota>,
}

/// Where a root is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A folder, by its canonical path.
    Folder(PathBuf),
    /// A private folder for each session.
    Session,
}

/// All roots, opened once.
///
/// INVARIANT: no verb opens a path from `/`; all begin at a handle held here.
#[derive(Debug)]
pub struct Roots {
    open: RwLock<Open>,
    state: Option<PathBuf>,
    folders: OnceLock<SessionFolders>,
    protected: RwLock<Arc<Protected>>,
    pub(super) cleaned: Cleaned,
    pub(super) known: Known,
}

/// What is open now: another set after another manifest came into force.
#[derive(Debug, Default)]
struct Open {
    fixed: BTreeMap<String, Arc<Root>>,
    sessions: BTreeMap<String, Option<Quota>>,
}

/// One root as a handle.
#[derive(Debug)]
pub(super) struct Root {
    pub folder: Arc<OwnedFd>,
    /// The names of its canonical path: text to read absolute links by.
    pub place: Vec<String>,
    pub mount: u64,
    /// The protected places below it, folded.
    pub protected: Vec<Vec<String>>,
    /// Whether one of them is a folder.
    pub protected_folder: bool,
    pub quota: Option<Quota>,
    /// Its content dies with the session, so it need not be on disk.
    pub scratch: bool,
}

impl Roots {
    /// Opens every root once. `protected` are the canonical paths of what no call may touch (the manifest, and where it could
    /// be made; their last names may be missing); the state folder is one of them and holds the session folders.
    ///
    /// # Errors
    /// What the kernel said of the first root or protected place that cannot be opened, with its path: for the operator.
    pub fn open(places: &[RootConfig], protected: &[PathBuf], state: Option<&Path>) -> Result<Self, (PathBuf, Errno)> {
        let roots = Self {
            open: RwLock::default(),
            state: state.map(Path::to_owned),
            folders: OnceLock::new(),
            protected: RwLock::default(),
            cleaned: Cleaned::default(),
            known: Known::default(),
        };
        roots.replace(places, protected)?;
        Ok(roots)
    }

    /// Opens the roots of another manifest in the place of these, and takes what it protects. Sessions keep their folders.
    ///
    /// # Errors
    /// As [`open`](Self::open); then nothing is changed.
    pub fn replace(&self, places: &[RootConfig], protected: &[PathBuf]) -> Result<(), (PathBuf, Errno)> {
        let guarded: Vec<PathBuf> = protected.iter().cloned().chain(self.state.clone()).collect();
        let protected = Protected::open(&guarded).map_err(|errno| (guarded.first().cloned().unwrap_or_default(), errno))?;
        let mut open = Open::default();
        for place in places {
            match &place.at {
                Location::Folder(path) => {
                    let root = root(path, place.quota, &protected).map_err(|errno| (path.clone(), errno))?;
                    open.fixed.insert(place.name.clone(), Arc::new(root));
                }
                Location::Session => {
                    open.sessions.insert(place.name.clone(), place.quota);
                }
            }
        }
        if let Some(state) = self.state.as_ref().filter(|_| !open.sessions.is_empty() && self.folders.get().is_none()) {
            let folders = SessionFolders::open(state).map_err(|errno| (state.clone(), errno))?;
            // Only the first opening counts; a second one would be the same folder.
            let _ = self.folders.set(folders);
        }
        // What is protected holds before the roots are reached that it lies in.
        *self.protected.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(protected);
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = open;
        Ok(())
    }

    /// What no call may touch, as the manifest in force has it.
    pub(super) fn protected(&self) -> Arc<Protected> {
        Arc::clone(&self.protected.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The folder of a root, for what mounts it whole; a session's folder is made when it is first asked for.
    ///
    /// # Errors
    /// `internal` for a root that is not in the manifest or a session folder that cannot be made.
    pub fn folder(&self, session: &str, root: &str) -> Result<Arc<OwnedFd>, Failure> {
        self.find(session, root).map(|root| root.folder.clone())
    }

    /// What a program must not see of a root that is mounted whole.
    ///
    /// # Errors
    /// As [`folder`](Self::folder).
    pub(in crate::sandbox) fn hidden(&self, session: &str, root: &str) -> Result<Hidden, Failure> {
        let root = self.find(session, root)?;
        let protected = self.protected();
        Ok(Hidden { paths: root.protected.clone(), objects: protected.objects(), is_linked: protected.is_linked() })
    }

    /// Wipes what the session had in session roots.
    pub fn end_session(&self, session: &str) {
        if let Some(folders) = self.folders.get() {
            folders.end(session);
        }
    }

    pub(super) fn find(&self, session: &str, name: &str) -> Result<Arc<Root>, Failure> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(root) = open.fixed.get(name) {
            return Ok(root.clone());
        }
        let quota = open.sessions.get(name).ok_or_else(|| Failure::new(Code::Internal, format!("there is no root `{name}`")))?;
        let folders = self.folders.get().ok_or_else(|| Failure::new(Code::Internal, "there is no state folder for session roots"))?;
        folders
            .root(session, name, *quota)
            .map_err(|errno| super::fault::fault(errno, &Target { root: name.to_owned(), path: crate::model::RelPath::ROOT }, "made"))
    }

    /// The same roots, changed for a test: nothing waits for the disk.
    #[cfg(test)]
    pub(super) fn change(&mut self, change: impl Fn(&mut Root)) {
        self.open.get_mut().unwrap_or_else(PoisonError::into_inner).fixed.values_mut().filter_map(Arc::get_mut).for_each(change);
    }
}

/// Opens one root. What is protected cannot be one.
fn root(path: &Path, quota: Option<Quota>, guard: &Protected) -> Result<Root, Errno> {
    if guard.holds_folder(path) {
        return Err(Errno::PERM);
    }
    let folder = open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    // Fails at the start where the kernel does not know openat2(2), and not at each call.
    below::open(&folder, ".", OFlags::PATH)?;
    let place = path.to_string_lossy().split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    Ok(Root {
        place,
        mount: Stat::of(&folder)?.mount,
        protected: guard.inside(path),
        protected_folder: guard.has_folder_inside(path),
        quota,
        scratch: false,
        folder: Arc::new(folder),
    })
}
