//! Wrong secrets are counted over all processes, so that nobody guesses by trying.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};

use super::queue::read;

/// Wrong secrets after which an operator's name is closed for a while …
const MOST: usize = 5;
/// … that is until the oldest of them is this many seconds old.
const SPAN: u64 = 60;

/// The recent failures of one operator, held alone while a secret is being checked.
#[derive(Debug)]
pub(super) struct Failures<'a> {
    folder: &'a OwnedFd,
    name: String,
    _lock: OwnedFd,
    times: Vec<u64>,
}

impl<'a> Failures<'a> {
    /// The failures within the last minute before `now`.
    /// # Errors  When they cannot be read.
    pub(super) fn open(folder: &'a OwnedFd, operator: &str, now: u64) -> io::Result<Self> {
        let lock = lock(folder)?;
        let name = format!("{operator}.wrong");
        let text = read(folder, &name)?.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        // One from the future: the clock was set back; it counts.
        let times = text.lines().filter_map(|line| line.parse().ok()).filter(|at: &u64| at.saturating_add(SPAN) > now).collect();
        Ok(Self { folder, name, _lock: lock, times })
    }

    /// Seconds until a secret is looked at again, where there were too many wrong ones.
    pub(super) fn closed(&self, now: u64) -> Option<u64> {
        let oldest = self.times.iter().min().filter(|_| self.times.len() >= MOST)?;
        Some(oldest.saturating_add(SPAN).saturating_sub(now).clamp(1, SPAN))
    }

    /// Keeps one more failure.
    /// # Errors  When it cannot be kept: then no secret may be right either.
    pub(super) fn add(mut self, now: u64) -> io::Result<()> {
        self.times.push(now);
        let text: String = self.times.iter().flat_map(|at| [at.to_string(), "\n".to_owned()]).collect();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(self.folder, &self.name, flags, Mode::RUSR | Mode::WUSR)?;
        let written = rustix::io::write(&file, text.as_bytes())?;
        if written == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }
}

/// Keeps every other process from the operators' secrets until dropped.
/// # Errors  When there can be no lock.
pub(super) fn lock(folder: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = openat(folder, ".lock", flags, Mode::RUSR | Mode::WUSR)?;
    flock(&lock, FlockOperation::LockExclusive)?;
    Ok(lock)
}
