//! Where operators reach the servers of a state folder: one socket a server, below `operator/`, open to its owner alone.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use rustix::fs::{AtFlags, Mode, chmodat};

use super::super::{StateDir, token};
use super::queue::{names, remove};

/// A socket that operators may connect to; its name goes with it.
#[derive(Debug)]
pub struct Place {
    folder: OwnedFd,
    name: String,
}

const FOLDER: &str = "operator";

impl StateDir {
    /// Listens for operators on a new socket (mode 0600, in a folder of mode 0700).
    /// # Errors  When no socket can be made there.
    pub fn listen(&self) -> io::Result<(UnixListener, Place)> {
        let folder = self.subfolder(FOLDER)?;
        let name = format!("{}.sock", token(8)?);
        // Through the descriptor: a socket's path has at most 107 bytes (unix(7)), a state folder may lie deeper.
        let listener = UnixListener::bind(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))?;
        let place = Place { folder, name };
        chmodat(&place.folder, place.name.as_str(), Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        Ok((listener, place))
    }

    /// Connects to some server of this folder that lives. Sockets of dead servers are removed on the way.
    /// # Errors  `NotFound` when no server lives.
    pub fn reach_server(&self) -> io::Result<UnixStream> {
        let folder = self.existing(FOLDER)?;
        for name in names(&folder)?.into_iter().filter(|name| name.strip_suffix(".sock").is_some()) {
            match UnixStream::connect(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd())) {
                Ok(stream) => return Ok(stream),
                Err(fault) if fault.kind() == io::ErrorKind::ConnectionRefused => remove(&folder, &name)?,
                Err(_) => {}
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A socket that stays is found dead by the next operator.
        let _ = remove(&self.folder, &self.name);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};

    use super::super::queue::tests::state;

    #[test]
    fn the_socket_is_its_owners_alone_and_a_dead_servers_is_cleared_away() {
        let (_keep, state) = state();
        assert!(state.reach_server().is_err());
        let (listener, place) = state.listen().unwrap();
        let folder = state.path().join("operator");
        let metadata = std::fs::metadata(folder.join(&place.name)).unwrap();
        assert!(metadata.file_type().is_socket());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(state.reach_server().is_ok());
        // As a killed server leaves it: the name stays, nobody listens.
        drop(listener);
        std::mem::forget(place);
        assert!(state.reach_server().is_err());
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
}
