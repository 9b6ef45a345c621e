//! Room on the disk that is kept for when the disk is full: a file beside the log that takes space and holds nothing. Half of it is given back
//! then, for the small files of what makes room and of what an operator does, and half of the rest where that is used up; a record that has no
//! room otherwise gets all of it. It is taken again when there is room.

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::fault::Fault;
use super::folder::{Folder, Place};

/// What is kept while there is room: some logs of short-lived commands with their reserves, and thousands of small files. A quarter of it, which is left
/// where half was given back twice, holds one such log.
pub(crate) const WHOLE: u64 = 5 * 1024 * 1024;
/// What a short-lived log leaves of it on a full disk.
pub(crate) const LAST: u64 = 2 * 1024 * 1024;

/// Sees to it that the file takes `size` bytes, or what there is.
/// # Errors
/// `Fault::Full` where that is less.
pub(crate) fn take(folder: &Folder, size: u64) -> Result<(), Fault> {
    let taken = folder.length(Place::Audit, NAME);
    if taken >= size {
        return Ok(());
    }
    // Nothing is taken that would have to be given back at once.
    let margin = if size == WHOLE { MARGIN } else { LOW };
    let wanted = folder.free().map_or(size, |free| size.min(taken.saturating_add(free.saturating_sub(margin))));
    if wanted < size && size == WHOLE {
        return Err(Fault::Full);
    }
    let file = folder.make(Place::Audit, NAME)?;
    match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, wanted.max(1)) {
        Err(Errno::NOSPC | Errno::DQUOT) => Err(Fault::Full),
        _ if wanted < size => Err(Fault::Full),
        // Where the file system cannot set room aside (EOPNOTSUPP on some network mounts), the log works without.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Gives back all but `kept` bytes of it. Where that cannot be done, there is no more room than before.
pub(crate) fn give(folder: &Folder, kept: u64) {
    if folder.length(Place::Audit, NAME) > kept
        && let Ok(file) = folder.make(Place::Audit, NAME)
    {
        let _ = rustix::fs::ftruncate(&file, kept);
    }
}

/// Gives back half of it where the disk is full. Whether it is.
pub(crate) fn give_when_full(folder: &Folder) -> bool {
    let is_full = folder.free().is_some_and(|free| free < LOW);
    if is_full {
        give(folder, folder.length(Place::Audit, NAME) / 2);
    }
    is_full
}

const NAME: &str = "spare";
/// A disk with less is full: small files are written before anything is found out by failing.
const LOW: u64 = 256 * 1024;
/// So much has to be free besides: a file of the log sets aside as much at a time.
const MARGIN: u64 = 2 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn it_takes_space_gives_it_back_and_takes_it_again() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folder::create(state.path()).unwrap();
        let taken = || std::fs::metadata(state.path().join("audit").join(NAME)).map_or(0, |facts| facts.blocks() * 512);
        give(&folder, 0);
        assert_eq!(taken(), 0);
        for (size, kept) in [(WHOLE, LAST), (WHOLE, 0), (LAST, 0), (WHOLE, WHOLE)] {
            take(&folder, size).unwrap();
            assert!((size..size + LAST).contains(&taken()), "{}", taken());
            take(&folder, size).unwrap();
            give(&folder, kept);
            assert!((kept..kept + LAST).contains(&taken()), "{}", taken());
        }
    }
}
