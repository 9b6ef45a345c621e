//! The processor time that the processes of a jail have used together, those among them that have ended.

use std::collections::BTreeMap;

/// A process, whose number may be given again once it has ended: the number, and when it was started.
pub(super) type Id = (u32, u64);

/// Processor time of one process in clock ticks (`proc_pid_stat(5)`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    /// Its own.
    pub(super) own: u64,
    /// That of the children whose end it has taken, and of theirs.
    pub(super) children: u64,
}

/// Adds up what is seen at each look.
///
/// The kernel charges a process to its parent only where that takes its end (`wait(2)`): where `SIGCHLD` is ignored, nobody has its time any more.
/// So what was seen of a process stays charged when it is gone.
#[derive(Debug, Default)]
pub(super) struct CpuTime {
    total: u64,
    seen: BTreeMap<Id, Ticks>,
    reaped: u64,
}

impl CpuTime {
    /// Takes note of every process there is, and of what this process has reaped itself. How much was used by now.
    pub(super) fn note(&mut self, living: BTreeMap<Id, Ticks>, reaped: u64) -> u64 {
        // What was taken over since the last look from processes that have ended, seen before or not.
        let mut taken = reaped.saturating_sub(self.reaped);
        for (id, now) in &living {
            let before = self.seen.remove(id);
            let since = before.unwrap_or_default();
            self.total += now.own.saturating_sub(since.own);
            let children = now.children.saturating_sub(since.children);
            // Those of a new process were never seen: they are younger.
            if before.is_some() { taken += children } else { self.total += children }
        }
        // Charged when it was seen, and among what was taken where its end was taken.
        let gone: u64 = self.seen.values().map(|ticks| ticks.own + ticks.children).sum();
        self.total += taken.saturating_sub(gone);
        (self.seen, self.reaped) = (living, self.reaped.max(reaped));
        self.total
    }

    /// How much had been used by the last look.
    pub(super) fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(cpu: &mut CpuTime, living: &[(u32, u64, u64)], reaped: u64) -> u64 {
        cpu.note(living.iter().map(|(pid, own, children)| ((*pid, 1), Ticks { own: *own, children: *children })).collect(), reaped)
    }

    #[test]
    fn a_child_whose_end_is_taken_is_charged_once_and_to_its_last_tick() {
        let mut cpu = CpuTime::default();
        assert_eq!(look(&mut cpu, &[(2, 5, 0), (3, 10, 0)], 0), 15);
        // It used two more before it ended, and another came and went unseen.
        assert_eq!(look(&mut cpu, &[(2, 6, 15)], 0), 6 + 15);
        // The parent ends as well, and is reaped by who looks.
        assert_eq!(look(&mut cpu, &[], 23), 23);
        assert_eq!(cpu.total(), 23);
    }

    #[test]
    fn a_child_whose_end_nobody_takes_stays_charged() {
        let mut cpu = CpuTime::default();
        for round in 0..10 {
            assert_eq!(look(&mut cpu, &[(2, 1, 0), (10 + round, 20, 0)], 0), 1 + 20 * u64::from(round + 1));
        }
        assert_eq!(look(&mut cpu, &[(2, 1, 0)], 0), 201);
    }

    #[test]
    fn a_number_that_is_given_again_is_another_process() {
        let mut cpu = CpuTime::default();
        let one = |start, own| BTreeMap::from([((7, start), Ticks { own, children: 0 })]);
        assert_eq!(cpu.note(one(1, 20), 0), 20);
        assert_eq!(cpu.note(one(2, 15), 0), 35);
        assert_eq!(cpu.note(one(2, 16), 0), 36);
    }

    #[test]
    fn what_a_new_process_has_taken_is_charged_whole() {
        let mut cpu = CpuTime::default();
        look(&mut cpu, &[(2, 1, 0), (3, 9, 0)], 0);
        // The one that is gone hides nothing of what a new one's children used.
        assert_eq!(look(&mut cpu, &[(2, 1, 0), (4, 2, 30)], 0), 10 + 32);
    }
}
