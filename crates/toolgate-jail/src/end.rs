//! How a program ended.

use serde::{Deserialize, Serialize};

/// A limit that a program reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Memory.
    Memory,
    /// Processor time.
    Cpu,
    /// Time on the clock.
    Wall,
    /// Processes and threads.
    Pids,
    /// The size of a file.
    Fsize,
    /// Scratch space, or the disk below a folder.
    Disk,
    /// Open files.
    Fds,
    /// What was printed.
    Output,
}

/// What a program used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time of all its processes, in milliseconds.
    pub cpu_ms: u64,
    /// The largest resident memory of one of its processes, in bytes.
    pub max_rss_bytes: u64,
    /// The most processes and threads seen at one time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids_peak: Option<u64>,
}

/// How a program ended. When this is there, every process of it is dead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The number it left with.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The limit for which it was ended, and what showed it: noted before it was.
    pub limit: Option<(Limit, String)>,
    /// What it used.
    pub usage: Usage,
    /// Bytes that its reaped processes wrote to files on disks (`ru_oublock` of getrusage(2)).
    pub written: u64,
}
