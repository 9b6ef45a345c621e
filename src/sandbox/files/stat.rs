//! What the kernel says of one object.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, statx};
use rustix::io::Errno;

use crate::model::{Entry, Identity, Kind, PathFact};

/// Facts of one object, from one `statx(2)` on a descriptor or on a name in a held folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sandbox) struct Stat {
    pub kind: Kind,
    pub size: u64,
    /// The bytes it takes on the disk: fewer than its size where it has holes, more where room was set aside for it (`fallocate(2)`).
    pub taken: u64,
    pub names: u64,
    pub identity: Identity,
    /// Permission bits, owner and group.
    pub mode: u32,
    pub owner: (u32, u32),
    /// The mount it is on; 0 where the kernel does not tell (before 5.8).
    pub mount: u64,
}

impl Stat {
    /// The object that the descriptor holds.
    pub(in crate::sandbox) fn of(object: impl AsFd) -> Result<Self, Errno> {
        statx(object, c"", AtFlags::EMPTY_PATH, WANTED).map(|facts| Self::from_statx(&facts))
    }

    /// The object of this name in a held folder; a link is seen as a link.
    pub(in crate::sandbox) fn at(folder: impl AsFd, name: impl rustix::path::Arg) -> Result<Self, Errno> {
        statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, WANTED).map(|facts| Self::from_statx(&facts))
    }

    fn from_statx(facts: &Statx) -> Self {
        let told = facts.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        Self {
            kind: kind_of(FileType::from_raw_mode(facts.stx_mode.into())),
            size: facts.stx_size,
            taken: facts.stx_blocks.saturating_mul(512),
            names: u64::from(facts.stx_nlink),
            identity: Identity {
                device: rustix::fs::makedev(facts.stx_dev_major, facts.stx_dev_minor),
                inode: facts.stx_ino,
                mtime_ns: i128::from(facts.stx_mtime.tv_sec) * 1_000_000_000 + i128::from(facts.stx_mtime.tv_nsec),
                ctime_ns: i128::from(facts.stx_ctime.tv_sec) * 1_000_000_000 + i128::from(facts.stx_ctime.tv_nsec),
            },
            mode: u32::from(facts.stx_mode) & 0o7777,
            owner: (facts.stx_uid, facts.stx_gid),
            mount: if told { facts.stx_mnt_id } else { 0 },
        }
    }

    /// Device and inode: the object, whatever its content.
    pub(in crate::sandbox) fn object(&self) -> (u64, u64) {
        (self.identity.device, self.identity.inode)
    }

    /// Whether it is the very object, unchanged, that was judged.
    pub(in crate::sandbox) fn is_as_judged(&self, fact: &PathFact) -> bool {
        let same = |judged: Identity| match self.kind {
            Kind::File => judged == self.identity && (self.size, self.names) == (fact.size, fact.names),
            // A folder's times change with its entries, which are compared one by one.
            _ => (judged.device, judged.inode) == self.object(),
        };
        self.kind == fact.kind && fact.identity.is_some_and(same)
    }

    /// Whether it is an entry below a judged folder, unchanged.
    pub(in crate::sandbox) fn is_entry(&self, entry: &Entry) -> bool {
        self.kind == entry.kind && self.size == entry.size && Some(self.identity) == entry.identity
    }
}

/// What a type of the kernel is for the judge.
pub(in crate::sandbox) const fn kind_of(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        _ => Kind::Other,
    }
}

const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::MNT_ID);
