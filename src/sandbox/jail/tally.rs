//! How many jails wait, and how many orders were taken, written by the spawner into a file that the server can look at: the spawner never waits for anybody who asks.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::MemfdFlags;
use rustix::io::{pread, pwrite};
use serde::{Deserialize, Serialize};

/// The jails of one pool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Pooled {
    /// The profile whose call the pool was made for; others whose programs are the same share it.
    pub(crate) profile: String,
    /// Jails in which an interpreter waits for a call.
    pub(crate) ready: u32,
    /// Jails that stand empty.
    pub(crate) empty: u32,
    /// Jails that are being built.
    pub(crate) building: u32,
    /// Calls that wait for a jail.
    pub(crate) waiting: u32,
}

/// The longest text. It fits one page, and is always written whole.
const LENGTH: usize = 2048;

/// An empty file for a spawner's tally.
///
/// # Errors
/// The error of the system.
pub(crate) fn file() -> rustix::io::Result<OwnedFd> {
    rustix::fs::memfd_create("tally", MemfdFlags::CLOEXEC)
}

/// Writes a tally over the one before.
pub(crate) fn write(file: impl AsFd, pools: &[Pooled]) {
    let Ok(mut text) = serde_json::to_vec(pools) else { return };
    if text.len() <= LENGTH {
        text.resize(LENGTH, b' ');
        // It is for those who watch; no call hangs on it.
        let _ = pwrite(file, &text, 0);
    }
}

/// The last tally that was written; empty where there is none.
pub(crate) fn read(file: impl AsFd) -> Vec<Pooled> {
    let file = file.as_fd();
    // A look in the middle of a write is no JSON, and the next one is.
    for _ in 0..4 {
        let mut text = [0; LENGTH];
        let read = pread(file, &mut text, 0).unwrap_or(0);
        let Some(text) = text.get(..read).filter(|text| !text.is_empty()) else { return Vec::new() };
        if let Ok(pools) = serde_json::from_slice(text) {
            return pools;
        }
    }
    Vec::new()
}

/// Writes down how many orders were taken since the start.
pub(crate) fn note_taken(file: impl AsFd, taken: u64) {
    let _ = pwrite(file, &taken.to_ne_bytes(), LENGTH as u64);
}

/// How many orders were taken.
pub(crate) fn taken(file: impl AsFd) -> u64 {
    let mut number = [0; 8];
    match pread(file, &mut number, LENGTH as u64) {
        Ok(8) => u64::from_ne_bytes(number),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_reads_back_and_a_shorter_one_leaves_nothing_of_a_longer() {
        let file = file().unwrap();
        assert_eq!((read(&file), taken(&file)), (Vec::new(), 0));
        note_taken(&file, 7);
        assert_eq!((read(&file), taken(&file)), (Vec::new(), 7));
        let pool = |profile: &str, ready| Pooled { profile: profile.to_owned(), ready, empty: 3, building: 1, waiting: 2 };
        let both = [pool("standard", 3), pool("a \"quoted\" one", 0)];
        write(&file, &both);
        assert_eq!(read(&file), both);
        write(&file, &both[..1]);
        assert_eq!(read(&file), both[..1]);
        // What does not fit is not written by halves.
        write(&file, &[pool(&"x".repeat(LENGTH), 9)]);
        assert_eq!((read(&file), taken(&file)), (both[..1].to_vec(), 7));
    }
}
