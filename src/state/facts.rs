//! What a server found out about the machine, kept for the next one: files of the state folder that may be lost at any time, and are believed only
//! where they are whole and lie where no other user can write.

use std::io;

use rustix::fs::{self, AtFlags, FileType, Stat};

use super::StateDir;
use super::files::{Folder, LONGEST};
use super::store::{checked, with_checksum};

/// The folder they lie in.
const FOLDER: &str = "facts";
/// Files that are kept: a server has one, and other manifests may name other interpreters.
const MOST: usize = 16;

impl StateDir {
    /// What was kept under this name (a file name); none where that is missing, broken, or could have been written by another user.
    pub fn recall(&self, name: &str) -> Option<Vec<u8>> {
        let folder = Folder::open(self.descriptor(), FOLDER).ok()?;
        let is_trusted = is_own(&fs::fstat(&folder.fd).ok()?, FileType::Directory)
            && is_own(&fs::statat(&folder.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?, FileType::RegularFile);
        // It is replaced without waiting for the disk: after a power cut it may hold anything.
        is_trusted.then(|| checked(&folder.read(name).ok()??).map(<[u8]>::to_vec))?
    }

    /// Keeps something under this name (a file name), in place of what was kept there.
    /// # Errors  When it is longer than one MiB, or cannot be written.
    pub fn remember(&self, name: &str, body: &[u8]) -> io::Result<()> {
        let text = with_checksum(body);
        if text.len() as u64 > LONGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let folder = self.subfolder(FOLDER)?;
        let names = folder.names()?;
        // Where there are too many all go, for none is missed.
        if names.len() >= MOST {
            names.iter().try_for_each(|name| folder.remove(name))?;
        }
        folder.replace(name, &text)
    }
}

/// Whether it is of this kind, has one name, and this user alone may write to it.
fn is_own(seen: &Stat, kind: FileType) -> bool {
    let is_only = kind == FileType::Directory || seen.st_nlink == 1;
    let is_open = seen.st_mode & 0o077 != 0 || seen.st_uid != rustix::process::geteuid().as_raw();
    FileType::from_raw_mode(seen.st_mode) == kind && is_only && !is_open
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::{Path, PathBuf};

    use rustix::fs::Mode;

    use super::*;

    fn kept() -> (tempfile::TempDir, StateDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        assert_eq!(state.recall("a"), None);
        state.remember("a", b"one").unwrap();
        state.remember("a", b"two").unwrap();
        assert_eq!(state.recall("a").as_deref(), Some(b"two".as_slice()));
        let file = state.path().join(FOLDER).join("a");
        (folder, state, file)
    }

    fn names(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn what_is_kept_is_read_back_and_only_so_much_of_it_is_kept() {
        let (_folder, state, file) = kept();
        for number in 0..100 {
            state.remember(&number.to_string(), b"x").unwrap();
        }
        assert!(names(file.parent().unwrap()) <= MOST);
        assert!(state.remember("a", &vec![0; 1 << 20]).is_err());
        assert_eq!(state.recall("99").as_deref(), Some(b"x".as_slice()));
    }

    #[test]
    fn what_is_broken_is_as_if_it_were_not_there() {
        let (_folder, state, file) = kept();
        let whole = std::fs::read(&file).unwrap();
        let mut other = whole.clone();
        *other.last_mut().unwrap() ^= 1;
        for text in [Vec::new(), whole[..10].to_vec(), whole[..17].to_vec(), other, vec![b'0'; 2 << 20], b"\xff\0".to_vec()] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(state.recall("a"), None);
        }
        std::fs::write(&file, whole).unwrap();
        assert!(state.recall("a").is_some());
    }

    #[test]
    fn what_others_could_have_written_is_not_believed() {
        let (folder, state, file) = kept();
        let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        for open in [0o620, 0o602, 0o640] {
            mode(&file, open);
            assert_eq!(state.recall("a"), None, "{open:o}");
        }
        mode(&file, 0o600);
        mode(file.parent().unwrap(), 0o770);
        assert_eq!(state.recall("a"), None, "an open folder");
        mode(file.parent().unwrap(), 0o700);
        assert!(state.recall("a").is_some());
        std::fs::hard_link(&file, folder.path().join("second")).unwrap();
        assert_eq!(state.recall("a"), None, "a second name");
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(folder.path().join("second"), &file).unwrap();
        assert_eq!(state.recall("a"), None, "a link");
        std::fs::remove_file(&file).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &file, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(state.recall("a"), None, "a pipe, which is not waited for");
        // What is kept anew is believed again.
        state.remember("a", b"three").unwrap();
        assert_eq!(state.recall("a").as_deref(), Some(b"three".as_slice()));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
            assert_eq!(state.recall("a"), None, "another user's");
        }
    }
}
