//! What the processes of a jail have written to files on disks, those among them that have ended, whatever became of the files.

#![expect(clippy::disallowed_methods, reason = "the jail process reads what the kernel shows of its children")]

use std::collections::BTreeMap;

use super::cpu_time::Id;
use super::raw;

/// Adds up what is seen at each look, in bytes.
///
/// The kernel counts what a process writes with what the children wrote whose end it took (`wait(2)`). Where `SIGCHLD` is ignored, no process has
/// the count of a child any more: what was seen of a process stays counted when it is gone.
#[derive(Debug, Default)]
pub(super) struct Written {
    total: u64,
    seen: BTreeMap<Id, u64>,
    reaped: u64,
    /// What was seen of processes that were gone at the last look, and that no other process had taken over by then: a parent may have been looked at before
    /// it took the end of its child.
    owed: u64,
}

impl Written {
    /// Takes note of every process there is with what it has written, where that may be read, and of what those wrote that this process has reaped.
    pub(super) fn note(&mut self, living: BTreeMap<Id, Option<u64>>, reaped: u64) {
        let mut seen = BTreeMap::new();
        // What may have been taken over from processes that have ended.
        let mut grown = reaped.saturating_sub(self.reaped);
        for (id, now) in living {
            let before = self.seen.remove(&id);
            // One that hides itself is counted when it ends.
            let now = now.or(before).unwrap_or(0);
            match before {
                Some(before) => grown = grown.saturating_add(now.saturating_sub(before)),
                // What its children wrote was never seen: they are younger.
                None => self.total = self.total.saturating_add(now),
            }
            seen.insert(id, now);
        }
        let gone: u64 = self.seen.values().sum();
        self.total = self.total.saturating_add(grown.saturating_sub(gone.saturating_add(self.owed)));
        self.owed = gone.saturating_sub(grown);
        (self.seen, self.reaped) = (seen, self.reaped.max(reaped));
    }

    /// How much had been written by the last look.
    pub(super) fn total(&self) -> u64 {
        self.total
    }
}

/// What a process and the children whose end it took have made dirty of files on disks (`proc_pid_io(5)`, `write_bytes`). `None` where that may
/// not be read, or is not counted.
pub(super) fn by(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("write_bytes: "))?.trim().parse().ok()
}

/// What all dead descendants of this process wrote whose end was taken ([`order::End::written`]).
///
/// [`order::End::written`]: crate::sandbox::jail::order::End::written
pub(super) fn by_the_dead() -> u64 {
    nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| raw::blocks(usage.block_writes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(written: &mut Written, living: &[(u32, Option<u64>)], reaped: u64) -> u64 {
        written.note(living.iter().map(|(pid, bytes)| ((*pid, 1), *bytes)).collect(), reaped);
        written.total()
    }

    #[test]
    fn what_a_child_wrote_is_counted_once_wherever_its_count_goes() {
        let mut written = Written::default();
        assert_eq!(look(&mut written, &[(2, Some(10)), (3, Some(100))], 0), 110);
        // Its parent takes its end, and writes five more.
        assert_eq!(look(&mut written, &[(2, Some(115))], 0), 115);
        // The parent was looked at before it took the end of this one.
        assert_eq!(look(&mut written, &[(2, Some(115)), (4, Some(50))], 0), 165);
        assert_eq!(look(&mut written, &[(2, Some(115))], 0), 165);
        assert_eq!(look(&mut written, &[(2, Some(165))], 0), 165);
        // An orphan comes to the process that looks.
        assert_eq!(look(&mut written, &[(2, Some(165)), (5, Some(7))], 0), 172);
        assert_eq!(look(&mut written, &[(2, Some(165))], 7), 172);
    }

    #[test]
    fn what_was_seen_of_a_child_stays_counted_where_nobody_takes_its_end() {
        let mut written = Written::default();
        for round in 1..=5 {
            look(&mut written, &[(2, Some(0)), (2 + round, Some(100))], 0);
            assert_eq!(look(&mut written, &[(2, Some(0))], 0), u64::from(round) * 100);
        }
    }

    #[test]
    fn one_that_hides_itself_is_counted_when_it_ends() {
        let mut written = Written::default();
        assert_eq!(look(&mut written, &[(2, Some(10)), (3, Some(5))], 0), 15);
        assert_eq!(look(&mut written, &[(2, Some(10)), (3, None)], 0), 15);
        assert_eq!(look(&mut written, &[(2, Some(70))], 0), 70);
    }
}
