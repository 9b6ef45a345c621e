//! The places of a program that has no root of its own: a private folder of the host for scratch, and the roots where they stand.

#![expect(clippy::disallowed_methods, reason = "the jail process makes and clears a folder that only its own program may write to")]

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::watch;
use crate::backend::NotStarted;
use crate::end::Limit;
use crate::message::Plan;

/// The places of one program.
#[derive(Debug)]
pub(crate) struct HostFolders {
    /// Its scratch folder.
    pub(crate) scratch: PathBuf,
    /// The folders of its plan: where they stand, and the very folders.
    pub(crate) folders: Vec<(PathBuf, OwnedFd)>,
    /// Processes that the kernel counts together with those of the program.
    pub(crate) others: u64,
}

/// What the names of scratch folders begin with; the number of the process that clears them follows.
const PREFIX: &str = "toolgate-scratch-";
/// Where scratch folders are made.
const BASE: &str = "/tmp";
/// Processes of the same user that may come while a call runs.
const SLACK: u64 = 1024;
/// Folders in folders in scratch space; more of them could hide from a look.
const DEEPEST: usize = 48;

impl HostFolders {
    /// Makes the scratch folder for `user`, and finds out where the folders stand.
    ///
    /// # Errors
    /// Which folder cannot be shown, and why.
    pub(crate) fn make(plan: &Plan, dirs: Vec<OwnedFd>, user: Option<u32>) -> Result<Self, NotStarted> {
        let mut folders = Vec::new();
        for (folder, dir) in plan.folders.iter().zip(dirs) {
            let refused = |reason: String| NotStarted::Folder(folder.name.clone(), reason);
            if let Some(user) = user {
                admits(&dir, user, folder.writable).map_err(refused)?;
            }
            let place = std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()));
            folders.push((place.map_err(|e| refused(format!("its place is not known ({e})")))?, dir));
        }
        let fault = |e: std::io::Error| NotStarted::fault("making scratch space", e);
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|e| NotStarted::fault("making scratch space", e))?;
        let own = rustix::process::getpid().as_raw_nonzero();
        let scratch = Path::new(BASE).join(format!("{PREFIX}{own}-{:016x}", u64::from_ne_bytes(random)));
        std::fs::DirBuilder::new().mode(0o700).create(&scratch).map_err(fault)?;
        if let Some(user) = user {
            std::os::unix::fs::chown(&scratch, Some(user), Some(user)).map_err(fault)?;
        }
        // Of a user without other processes the kernel counts those of this program alone. Else how many there are changes: the watch counts
        // exactly, and this only bounds what happens between two looks.
        let others = if user.is_some() { 0 } else { watch::own_threads().saturating_add(SLACK) };
        Ok(Self { scratch, folders, others })
    }

    /// Where a path of the jail stands: `/roots/NAME` is that folder, everything else lies in scratch.
    pub(crate) fn path(&self, plan: &Plan, inside: &str) -> PathBuf {
        let below = inside.strip_prefix("/roots/").map(|rest| rest.split_once('/').unwrap_or((rest, "")));
        let found = below.and_then(|(name, rest)| {
            let at = plan.folders.iter().position(|folder| folder.name == name)?;
            Some(self.folders.get(at)?.0.join(rest))
        });
        found.unwrap_or_else(|| self.scratch.clone())
    }

    /// The environment with the scratch folder in the place of `/tmp`, and with the places of the folders by their names.
    pub(crate) fn environment(&self, plan: &Plan) -> BTreeMap<String, String> {
        let scratch = self.scratch.display().to_string();
        let moved = |text: &String| if text == "/tmp" { scratch.clone() } else { text.clone() };
        let mut environment: BTreeMap<_, _> = plan.environment.iter().map(|(name, text)| (name.clone(), moved(text))).collect();
        let places: BTreeMap<_, _> =
            plan.folders.iter().zip(&self.folders).map(|(plan, (path, _))| (plan.name.as_str(), path.display().to_string())).collect();
        if let Ok(text) = serde_json::to_string(&places) {
            environment.insert("TOOLGATE_ROOTS".to_owned(), text);
        }
        environment
    }

    /// Removes the scratch folder with whatever a program put there.
    pub(crate) fn clear(&self) {
        remove(&self.scratch);
    }
}

/// Removes the scratch folders of jails whose first process was killed.
pub(crate) fn sweep() {
    let own = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(BASE).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        let ours = own == 0 || entry.metadata().is_ok_and(|facts| facts.uid() == own);
        if ours && maker.is_some_and(|maker| !Path::new(&format!("/proc/{maker}")).exists()) {
            remove(&entry.path());
        }
    }
}

/// Whether a folder of another user is open to this one: without mounts no owner can be shown as another.
///
/// # Errors
/// Why not, and how to fix it.
pub(crate) fn admits(dir: &OwnedFd, user: u32, writable: bool) -> Result<(), String> {
    let stat = fstat(dir).map_err(|e| e.to_string())?;
    let wanted = if writable { 0o007 } else { 0o005 };
    if stat.st_uid == user || stat.st_mode & wanted == wanted {
        return Ok(());
    }
    Err(format!(
        "it belongs to user {}, programs run as user {user}, and without id-mapped mounts its owner cannot be shown as that user; \
         run the server as an ordinary user, or open the folder to all",
        stat.st_uid
    ))
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder that the program may have closed against its own user.
fn enter(parent: &OwnedFd, name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    openat(parent, name, FOLDER, Mode::empty()).or_else(|errno| {
        if errno != Errno::ACCESS {
            return Err(errno);
        }
        // chmod(2) follows links, and a program may put one in the folder's place at any moment: the handle is on the folder itself.
        let handle = openat(parent, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        rustix::fs::chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::RWXU)?;
        openat(&handle, c".", FOLDER, Mode::empty())
    })
}

/// Removes a tree of hostile shape: no link is followed, and a folder is lifted to the top before it is entered, so that depth costs nothing.
fn remove(top: &Path) {
    let Ok(folder) = rustix::fs::open(top, FOLDER, Mode::empty()) else { return };
    let mut lifted = 0_u64;
    loop {
        let Ok(entries) = Dir::read_from(&folder) else { break };
        let mut is_empty = true;
        for entry in entries.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            is_empty = false;
            if unlinkat(&folder, name, AtFlags::empty()).is_ok() || unlinkat(&folder, name, AtFlags::REMOVEDIR).is_ok() {
                continue;
            }
            let Ok(below) = enter(&folder, name) else { return };
            let _ = rustix::fs::fchmod(&below, Mode::RWXU);
            for inner in Dir::read_from(&below).into_iter().flatten().flatten() {
                let inner = inner.file_name();
                if matches!(inner.to_bytes(), b"." | b"..") || unlinkat(&below, inner, AtFlags::empty()).is_ok() {
                    continue;
                }
                lifted += 1;
                let _ = rustix::fs::renameat(&below, inner, &folder, format!(".lifted-{lifted}"));
            }
        }
        if is_empty {
            break;
        }
    }
    let _ = std::fs::remove_dir(top);
}

/// Adds up what lies in a scratch folder. A bound that is passed comes back with what showed it.
pub(crate) fn weigh(scratch: &Path, most: u64) -> Option<(Limit, String)> {
    let most_entries = (most / 4096).clamp(64, 16 * 1024);
    let (mut bytes, mut entries) = (0_u64, 0_u64);
    let mut open = vec![Dir::read_from(rustix::fs::open(scratch, FOLDER, Mode::empty()).ok()?).ok()?];
    loop {
        let depth = open.len();
        let folder = open.last_mut()?;
        let Some(entry) = folder.next() else {
            open.pop();
            continue;
        };
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(own) = folder.fd() else { continue };
        let Ok(facts) = statat(own.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        entries += 1;
        bytes += u64::try_from(facts.st_blocks).unwrap_or(0) * 512;
        if bytes > most || entries > most_entries {
            return Some((Limit::Disk, format!("{bytes} bytes in {entries} entries of scratch space")));
        }
        if FileType::from_raw_mode(facts.st_mode) == FileType::Directory {
            if depth >= DEEPEST {
                return Some((Limit::Disk, format!("folders {DEEPEST} deep in scratch space")));
            }
            let below = own.try_clone_to_owned().ok().and_then(|own| enter(&own, name).ok());
            open.extend(below.and_then(|below| Dir::read_from(below).ok()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_hostile_shape_is_removed_and_what_it_links_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kept"), "x").unwrap();
        let top = folder.path().join("top");
        let mut at = top.clone();
        for _ in 0..200 {
            at = at.join("d");
        }
        std::fs::create_dir_all(&at).unwrap();
        std::os::unix::fs::symlink(folder.path(), at.join("link")).unwrap();
        std::os::unix::fs::symlink(folder.path(), top.join("link")).unwrap();
        std::fs::create_dir(top.join("closed")).unwrap();
        std::fs::write(top.join("closed/file"), "x").unwrap();
        std::fs::set_permissions(top.join("closed"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        remove(&top);
        assert!(!top.exists() && folder.path().join("kept").exists());
    }

    #[test]
    fn scratch_space_is_weighed_by_what_it_takes_also_in_closed_folders_and_not_by_holes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::File::create(folder.path().join("hole")).unwrap().set_len(1 << 40).unwrap();
        std::fs::write(folder.path().join("small"), [1; 1000]).unwrap();
        assert_eq!(weigh(folder.path(), 1 << 20), None);
        std::fs::create_dir(folder.path().join("closed")).unwrap();
        std::fs::write(folder.path().join("closed/big"), vec![1; 2 << 20]).unwrap();
        std::fs::set_permissions(folder.path().join("closed"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        assert!(matches!(weigh(folder.path(), 1 << 20), Some((Limit::Disk, _))));
    }

    #[test]
    fn folders_deeper_than_can_be_looked_at_pass_the_bound() {
        let folder = tempfile::tempdir().unwrap();
        let at = (0..DEEPEST + 2).fold(folder.path().to_owned(), |at, _| at.join("d"));
        std::fs::create_dir_all(at).unwrap();
        assert!(matches!(weigh(folder.path(), 64 << 20), Some((Limit::Disk, _))));
    }
}
