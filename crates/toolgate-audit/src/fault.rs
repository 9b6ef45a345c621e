//! Why the log cannot be used. Every one of them means: no call is made (`audit_unavailable`).

use rustix::io::Errno;

/// The log cannot be opened, written or trusted. The model sees only `audit_unavailable`; the words here are the operator's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A folder or file of the log cannot be opened or made.
    #[error("the audit log cannot {what} `{name}` in the state directory; check its owner and mode, and free space")]
    Folder {
        /// What was tried.
        what: &'static str,
        /// The name below the state directory.
        name: String,
        /// What the system said.
        #[source]
        source: Errno,
    },
    /// Nothing was recorded yet: the state directory does not exist.
    #[error("there is no audit log here; the first `toolgate serve` begins one, in `[state] dir` of `tools.toml` or `TOOLGATE_STATE_DIR`")]
    Absent,
    /// A folder of the state directory belongs to another user, or others may write to it.
    #[error("`{name}` in the state directory belongs to another user or others may write to it; give `[state] dir` a folder of your own")]
    Foreign {
        /// The name below the state directory.
        name: String,
    },
    /// There is no room on the disk.
    #[error("the disk of the audit log is full; free some space (the log goes on by itself)")]
    Full,
    /// A record could not be written whole.
    #[error("a record could not be written to the audit log; check the disk and restart")]
    Write {
        /// What the system said.
        #[source]
        source: Errno,
    },
    /// The disk did not confirm what was written. It is not asked again: after a failed fsync(2) the kernel may have dropped the pages, and a
    /// second call would report success.
    #[error("the disk did not confirm the audit log; check the disk and restart")]
    Sync {
        /// What the system said.
        #[source]
        source: Errno,
    },
    /// Somebody else removed, replaced, cut or wrote the file of the log that is being written.
    #[error("the audit log was removed or changed while it was written; find out by whom, and restart")]
    Changed,
    /// The log was closed.
    #[error("the audit log is closed")]
    Closed,
}

impl Fault {
    /// Whether the system said that there is no room.
    pub(crate) const fn is_no_room(&self) -> bool {
        matches!(self, Self::Full | Self::Folder { source: Errno::NOSPC | Errno::DQUOT, .. })
    }
}
