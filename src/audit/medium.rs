//! What a file of the log is written to. A seam: the tests put disks behind it that fill up and fail.

use std::fmt;
use std::os::fd::OwnedFd;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::folder;

/// An append-only file on a disk.
pub(crate) trait Medium: Send + Sync + fmt::Debug {
    /// Hands all of `bytes` to the kernel.
    fn append(&self, bytes: &[u8]) -> Result<(), Errno>;
    /// Returns when what was appended is on the disk.
    fn sync(&self) -> Result<(), Errno>;
    /// Sets room aside behind the end without changing the length.
    fn reserve(&self, offset: u64, length: u64) -> Result<(), Errno>;
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

    fn truncate(&self, length: u64) -> Result<(), Errno> {
        rustix::fs::ftruncate(&self.0, length)
    }
}
