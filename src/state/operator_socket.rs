//! Where operators reach the servers of a state folder: one socket a server, below `operator/`, open to its owner alone.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use rustix::fs::{AtFlags, FileType, Mode, chmodat, fstat, statat};
use rustix::net::sockopt::socket_peercred;

use super::files::Folder;
use super::{StateDir, token};

/// A socket that operators may connect to; its name goes with it.
#[derive(Debug)]
pub struct OperatorSocket {
    folder: Folder,
    name: String,
}

const FOLDER: &str = "operator";

impl StateDir {
    /// Listens for operators on a new socket (mode 0600, in a folder of mode 0700).
    /// # Errors  When no socket can be made there.
    pub fn listen(&self) -> io::Result<(UnixListener, OperatorSocket)> {
        let folder = self.subfolder(FOLDER)?;
        let name = format!("{}.sock", token(8)?);
        // Through the descriptor: a socket's path has at most 107 bytes (unix(7)), a state folder may lie deeper.
        let listener = UnixListener::bind(format!("/proc/self/fd/{}/{name}", folder.fd.as_raw_fd()))?;
        let socket = OperatorSocket { folder, name };
        chmodat(&socket.folder.fd, socket.name.as_str(), Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        Ok((listener, socket))
    }

    /// Connects to some server of this folder that lives. Sockets of dead servers are removed on the way; what is no socket of the folder's
    /// owner, or is served by another user, is passed over: an operator's secret is not for it.
    /// # Errors  `NotFound` when no server lives.
    pub fn reach_server(&self) -> io::Result<UnixStream> {
        let owner = fstat(self.descriptor())?.st_uid;
        let folder = Folder::open(self.descriptor(), FOLDER)?;
        for name in folder.names()?.into_iter().filter(|name| name.strip_suffix(".sock").is_some()) {
            if !is_own(&folder.fd, &name, owner) {
                continue;
            }
            match UnixStream::connect(format!("/proc/self/fd/{}/{name}", folder.fd.as_raw_fd())) {
                // Who listens was set down by the kernel when it began to (unix(7), SO_PEERCRED).
                Ok(stream) if socket_peercred(&stream)?.uid.as_raw() == owner => return Ok(stream),
                Err(fault) if fault.kind() == io::ErrorKind::ConnectionRefused => folder.remove(&name)?,
                Ok(_) | Err(_) => {}
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Whether the name is that of a socket which the owner alone may use, and no link to one.
fn is_own(folder: &OwnedFd, name: &str, owner: u32) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|seen| {
        FileType::from_raw_mode(seen.st_mode) == FileType::Socket && seen.st_uid == owner && seen.st_mode & 0o777 == 0o600
    })
}

impl Drop for OperatorSocket {
    fn drop(&mut self) {
        // A socket that stays is found dead by the next operator.
        let _ = self.folder.remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    use std::os::unix::net::UnixListener;

    use super::super::queue::tests::state;
    use super::*;

    #[test]
    fn a_socket_of_somebody_else_is_never_reached() {
        let (_keep, state) = state();
        let (_listener, socket) = state.listen().unwrap();
        let folder = state.path().join("operator");
        let (own, other) = (folder.join(&socket.name), folder.join("other.sock"));
        let elsewhere = tempfile::tempdir().unwrap();
        let _theirs = UnixListener::bind(elsewhere.path().join("s")).unwrap();
        std::fs::remove_file(&own).unwrap();
        // A link to a socket elsewhere, a file, a socket that everybody may use.
        std::os::unix::fs::symlink(elsewhere.path().join("s"), &other).unwrap();
        assert!(state.reach_server().is_err());
        std::fs::remove_file(&other).unwrap();
        std::fs::write(&other, "").unwrap();
        assert!(state.reach_server().is_err());
        std::fs::remove_file(&other).unwrap();
        let _open = UnixListener::bind(&other).unwrap();
        std::fs::set_permissions(&other, PermissionsExt::from_mode(0o666)).unwrap();
        assert!(state.reach_server().is_err());
        std::fs::set_permissions(&other, PermissionsExt::from_mode(0o600)).unwrap();
        assert!(state.reach_server().is_ok());
        let folder = state.subfolder(FOLDER).unwrap().fd;
        assert!(is_own(&folder, "other.sock", state.owner()) && !is_own(&folder, "other.sock", state.owner() + 1));
    }

    #[test]
    fn the_socket_is_its_owners_alone_and_a_dead_servers_is_cleared_away() {
        let (_keep, state) = state();
        assert!(state.reach_server().is_err());
        let (listener, socket) = state.listen().unwrap();
        let folder = state.path().join("operator");
        let metadata = std::fs::metadata(folder.join(&socket.name)).unwrap();
        assert!(metadata.file_type().is_socket());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(state.reach_server().is_ok());
        // As a killed server leaves it: the name stays, nobody listens.
        drop(listener);
        std::mem::forget(socket);
        assert!(state.reach_server().is_err());
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
}
