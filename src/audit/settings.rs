//! What the manifest says about the log: `[audit]`.

use std::time::Duration;

use crate::model::Bytes;

/// The values of `[audit]` in the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What is on disk before a call acts.
    pub durability: Durability,
    /// A file of the log is closed and a new one begun at this size.
    pub rotate: Bytes,
    /// Closed files whose last record is older are removed.
    pub keep: Duration,
    /// Names of arguments stored as length and SHA-256; compared without case.
    pub hash_args: Vec<String>,
    /// Names of arguments stored as a keyed hash; a name matches when one of its words does (`access_token` matches `token`).
    pub redact: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let words = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        Self {
            durability: Durability::Effects,
            rotate: Bytes::mib(64),
            keep: Duration::from_hours(400 * 24),
            hash_args: words(&["content", "code", "body"]),
            redact: words(&["password", "token", "authorization"]),
        }
    }
}

/// What is on disk before a call acts. Whatever the mode, every record is handed to the kernel first, so it survives the death of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A call that can change or send anything beyond its session's scratch is on disk before it acts, others within 50 ms.
    #[default]
    Effects,
    /// All are on disk before they act.
    Every,
    /// All are on disk within 50 ms.
    Relaxed,
}

impl Durability {
    /// How far the record of a call with this reach must get before the call acts.
    pub const fn before(self, reach: Reach) -> Sync {
        match (self, reach) {
            (Self::Every, _) | (Self::Effects, Reach::Beyond) => Sync::Durable,
            (Self::Relaxed, _) | (Self::Effects, Reach::Contained) => Sync::Handed,
        }
    }
}

/// How far a call's effect can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It reads, or changes only its session's own scratch.
    Contained,
    /// It can change or send something beyond that.
    Beyond,
}

/// How far a record must get before `append` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// In the kernel: write(2) returned. It survives the death of this process, and is on disk within 50 ms.
    Handed,
    /// On disk: fdatasync(2) returned. It survives the loss of power.
    Durable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_names_what_waits_for_the_disk() {
        let table = [Durability::Effects, Durability::Every, Durability::Relaxed]
            .map(|mode| [Reach::Contained, Reach::Beyond].map(|reach| mode.before(reach)));
        assert_eq!(table, [[Sync::Handed, Sync::Durable], [Sync::Durable, Sync::Durable], [Sync::Handed, Sync::Handed]]);
    }
}
