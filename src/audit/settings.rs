//! What the manifest's `[audit]` means for a record: whether the call waits for the disk.

pub use crate::manifest::{AuditRules as Settings, Durability};

/// How far a call's effect can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It reads, or changes only its session's own scratch.
    Contained,
    /// It can change or send something beyond that.
    Beyond,
}

impl Reach {
    /// How far the record of a call with this reach must get before the call acts.
    pub const fn sync(self, durability: Durability) -> Sync {
        match (durability, self) {
            (Durability::Every, _) | (Durability::Effects, Self::Beyond) => Sync::Durable,
            (Durability::Relaxed, _) | (Durability::Effects, Self::Contained) => Sync::Handed,
        }
    }
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
            .map(|mode| [Reach::Contained, Reach::Beyond].map(|reach| reach.sync(mode)));
        assert_eq!(table, [[Sync::Handed, Sync::Durable], [Sync::Durable, Sync::Durable], [Sync::Handed, Sync::Handed]]);
    }
}
