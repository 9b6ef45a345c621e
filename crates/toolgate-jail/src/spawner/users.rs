//! The user numbers of the host as which programs run when the server is root: one for each jail at a time, that no account has.
//!
//! What the kernel counts by users (files on their way through sockets, pages of pipes, processes) a program then has for itself alone.

#![expect(clippy::disallowed_methods, reason = "the spawner reads what the kernel shows of itself")]

use std::collections::BTreeSet;

/// The numbers of one spawner. Another spawner has others, unless their numbers as processes differ by a multiple of [`BLOCKS`] or [`FEW_BLOCKS`].
#[derive(Debug)]
pub(super) struct Users {
    first: u32,
    taken: BTreeSet<u32>,
}

/// Numbers of one spawner, as many as jails may stand at one time.
const BLOCK: u32 = 256;
/// Above the numbers of SSSD (`ldap_idmap_range_max`), below those of foreign disk images (systemd, `UIDS-GIDS.md`).
const FIRST: u32 = 2_001_000_000;
const BLOCKS: u32 = 571_000;
/// In a container with few users.
const FEW_FIRST: u32 = 60_416;
const FEW_BLOCKS: u32 = 19;

impl Users {
    /// The numbers of this process. `None` where it is not root, or there are too few users.
    pub(super) fn of_this_process() -> Option<Self> {
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let (first, blocks) =
            [(FIRST, BLOCKS), (FEW_FIRST, FEW_BLOCKS)].into_iter().find(|(first, blocks)| maps(&map, *first, blocks * BLOCK))?;
        let own = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
        Some(Self { first: first + own % blocks * BLOCK, taken: BTreeSet::new() })
    }

    /// The lowest number that no jail has: what was made for it before is found again.
    pub(super) fn take(&mut self) -> Option<u32> {
        (self.first..self.first + BLOCK).find(|number| self.taken.insert(*number))
    }

    /// Gives a number back: all processes of its jail are dead.
    pub(super) fn give_back(&mut self, number: u32) {
        self.taken.remove(&number);
    }
}

/// Whether these users exist in a user namespace with this map, in a row.
fn maps(map: &str, first: u32, count: u32) -> bool {
    let (first, end) = (u64::from(first), u64::from(first) + u64::from(count));
    map.lines().any(|line| {
        let mut numbers = line.split_ascii_whitespace().filter_map(|number| number.parse::<u64>().ok());
        let (from, _, count) = (numbers.next(), numbers.next(), numbers.next());
        from.zip(count).is_some_and(|(from, count)| from <= first && end <= from.saturating_add(count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_had_once_at_a_time() {
        let mut users = Users { first: 1000, taken: BTreeSet::new() };
        let all: BTreeSet<u32> = std::iter::from_fn(|| users.take()).collect();
        assert_eq!((all.len(), all.first(), all.last()), (BLOCK as usize, Some(&1000), Some(&1255)));
        users.give_back(1007);
        assert_eq!((users.take(), users.take()), (Some(1007), None));
    }

    #[test]
    fn users_are_there_only_where_all_of_them_are_mapped_together() {
        let map = "         0          0       1000\n      1000     100000      65536\n";
        for (first, count, expected) in [(0, 1000, true), (999, 2, false), (1000, 65_536, true), (1000, 65_537, false), (70_000, 1, false)]
        {
            assert_eq!(maps(map, first, count), expected, "{first} {count}");
        }
        assert!(maps("         0          0 4294967295\n", FIRST, BLOCKS * BLOCK) && !maps("", 0, 1));
    }
}
