//! What an entry that a program made or changed costs its caller: bytes as far as they take room, its name and inode, its attributes.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, Stat, chmod, fstatvfs, lgetxattr_query, llistxattr, llistxattr_query, openat};
use rustix::io::Errno;

/// What a name and its inode take at least, in bytes.
pub(super) const ENTRY: u64 = 256;

/// What one entry costs.
pub(super) fn of(folder: &OwnedFd, name: &CStr, stat: &Stat) -> u64 {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => taken(stat).saturating_add(attributes(folder, name)),
        // What is in a folder is charged by itself.
        FileType::Directory => ENTRY.saturating_add(attributes(folder, name)),
        _ => ENTRY.max(u64::try_from(stat.st_size).unwrap_or(0)),
    }
}

/// The bytes of a file without its holes, and with what is set aside for it. A small one may lie in its inode and take no block.
fn taken(stat: &Stat) -> u64 {
    const SMALL: u64 = 4096;
    // A file system rounds up, and sets room aside for a file that grows.
    const ROUNDED: u64 = 1024 * 1024;
    let (size, blocks) = (u64::try_from(stat.st_size).unwrap_or(0), u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512));
    let bytes = if blocks > size.saturating_mul(2).saturating_add(ROUNDED) { blocks } else { size.min(blocks.max(SMALL)) };
    bytes.max(ENTRY)
}

/// The names and values of the attributes of an entry (`xattr(7)`), but for those that only the system sets.
pub(super) fn attributes(folder: impl AsFd, name: &CStr) -> u64 {
    // There is no call that takes a folder and a name before Linux 6.13.
    let mut path = format!("/proc/self/fd/{}/", folder.as_fd().as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    if !llistxattr_query(path.as_slice()).is_ok_and(|length| length > 0) {
        return 0;
    }
    let mut names = vec![0_u8; LONGEST];
    let Ok(length) = llistxattr(path.as_slice(), names.as_mut_slice()) else { return LONGEST as u64 };
    names.truncate(length);
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty() && !name.starts_with(b"security."));
    // One that may not be read counts as the largest there can be.
    let sizes = names.map(|name| name.len() + lgetxattr_query(path.as_slice(), name).unwrap_or(LONGEST));
    sizes.sum::<usize>() as u64
}

/// The most that names or one value can be (`xattr(7)`).
const LONGEST: usize = 64 * 1024;

/// What the file system of a folder has in use, in bytes and inodes.
pub(super) fn in_use(folder: &OwnedFd) -> u64 {
    let Ok(facts) = fstatvfs(folder) else { return 0 };
    let bytes = facts.f_blocks.saturating_sub(facts.f_bfree).saturating_mul(facts.f_frsize);
    bytes.saturating_add(facts.f_files.saturating_sub(facts.f_ffree).saturating_mul(ENTRY))
}

/// Opens a folder below another. One that a program closed is opened for this look alone. Nothing where it is gone, or where it belongs to
/// another user and is closed to this one, and so to programs as well. `user` and `mode` are its own.
///
/// # Errors
/// It is there and cannot be opened.
pub(super) fn open_folder(folder: &OwnedFd, name: &CStr, user: u32, mode: u32) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(Errno::ACCESS) if user != rustix::process::geteuid().as_raw() => Ok(None),
        Err(Errno::ACCESS) => {
            // The handle is on the folder itself: a link put in its place is not followed.
            let handle = openat(folder, name, flags.difference(OFlags::RDONLY) | OFlags::PATH, Mode::empty())?;
            let place = format!("/proc/self/fd/{}", handle.as_raw_fd());
            let mode = Mode::from_raw_mode(mode);
            chmod(place.as_str(), mode | Mode::RUSR | Mode::XUSR)?;
            let opened = openat(&handle, c".", flags, Mode::empty());
            chmod(place.as_str(), mode)?;
            opened.map(Some)
        }
        Err(errno) => Err(errno),
    }
}
