//! What a file of the log is written to. A seam: the tests put disks behind it that fill up and fail.

use std::fmt;
use std::os::fd::OwnedFd;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::folder::{self, Folder, Place};
use super::segment;

/// An append-only file on a disk.
pub(crate) trait Medium: Send + Sync + fmt::Debug {
    /// Hands all of `bytes` to the kernel.
    fn append(&self, bytes: &[u8]) -> Result<(), Errno>;
    /// Returns when what was appended is on the disk.
    fn sync(&self) -> Result<(), Errno>;
    /// Sets room aside behind the end without changing the length.
    fn reserve(&self, offset: u64, length: u64) -> Result<(), Errno>;
    /// Whether the file still stands under its name and is as long as its writer left it.
    fn is_whole(&self, _folder: &Folder, _id: &str, _length: u64) -> bool {
        true
    }
    /// Cuts the file to `length`, giving back what was set aside.
    fn truncate(&self, length: u64) -> Result<(), Errno>;
}

/// A real file, opened for appending. Its lock goes with it.
#[derive(Debug)]
pub(crate) struct Disk(pub(crate) OwnedFd);

impl Drop for Disk {
    /// Gives the lock back by name: a child between fork(2) and execve(2) holds a copy of the descriptor, and closing ours alone would leave it locked.
    fn drop(&mut self) {
        folder::unlock(&self.0);
    }
}

impl Medium for Disk {
    fn append(&self, bytes: &[u8]) -> Result<(), Errno> {
        folder::write_all(&self.0, bytes)
    }

    fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fdatasync(&self.0)
    }

    fn reserve(&self, offset: u64, length: u64) -> Result<(), Errno> {
        rustix::fs::fallocate(&self.0, FallocateFlags::KEEP_SIZE, offset, length)
    }

    fn is_whole(&self, folder: &Folder, id: &str, length: u64) -> bool {
        folder.is_named(Place::Audit, &segment::name(id), &self.0)
            && rustix::fs::fstat(&self.0).is_ok_and(|seen| u64::try_from(seen.st_size) == Ok(length))
    }

    fn truncate(&self, length: u64) -> Result<(), Errno> {
        rustix::fs::ftruncate(&self.0, length)
    }
}
