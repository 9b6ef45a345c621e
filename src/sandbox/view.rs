//! What a program must not see of a root: computed over the opened folder before the program starts.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::manifest::Manifest;
use crate::model::RelPath;
use crate::policy::paths::{Visible, visible};

/// Most entries of a root that are looked at; a larger tree is refused rather than half masked.
const MOST: usize = 50_000;

/// Why a root cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unshown {
    #[error("it has more than {MOST} entries, too many to judge one by one; give Python a smaller folder")]
    TooMany,
    #[error("a folder in it cannot be read, so its denied entries cannot be masked ({0})")]
    Unreadable(Errno),
    #[error("an entry in it has a name that is not UTF-8, which no pattern can judge")]
    NotText,
}

/// The entries below `root` that must be masked: denied, or matched by no allowed pattern. Below a masked folder nothing more is listed.
pub(super) fn masked(manifest: &Manifest, name: &str, root: &OwnedFd) -> Result<Vec<String>, Unshown> {
    let open_to_all = |root: &crate::manifest::Root| root.denied.is_empty() && root.allowed.iter().any(|pattern| pattern.as_str() == "**");
    if manifest.files.denied.is_empty() && manifest.roots.get(name).is_some_and(open_to_all) {
        return Ok(Vec::new());
    }
    let mut masked = Vec::new();
    let mut seen = 0;
    let mut waiting = vec![RelPath::ROOT];
    while let Some(folder) = waiting.pop() {
        let Some(opened) = descend(root, &folder)? else { continue };
        let entries = Dir::read_from(&opened).map_err(Unshown::Unreadable)?;
        for entry in entries {
            let entry = entry.map_err(Unshown::Unreadable)?;
            let bytes = entry.file_name().to_bytes();
            if matches!(bytes, b"." | b"..") {
                continue;
            }
            seen += 1;
            if seen > MOST {
                return Err(Unshown::TooMany);
            }
            let path = folder.join(std::str::from_utf8(bytes).map_err(|_| Unshown::NotText)?);
            let is_directory = entry.file_type() == FileType::Directory;
            match visible(manifest, name, &path, is_directory) {
                Visible::No => masked.push(path.to_string()),
                Visible::Yes | Visible::OnTheWay if is_directory => waiting.push(path),
                Visible::Yes | Visible::OnTheWay => {}
            }
        }
    }
    Ok(masked)
}

/// Opens a folder below the root without following links. Nothing when it has gone meanwhile.
fn descend(root: &OwnedFd, folder: &RelPath) -> Result<Option<OwnedFd>, Unshown> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(root.as_fd(), ".", flags, Mode::empty()).map_err(Unshown::Unreadable)?;
    for name in folder.segments() {
        at = match openat(&at, name.as_str(), flags, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(Unshown::Unreadable(errno)),
        };
    }
    Ok(Some(at))
}
