//! Tells a program that stands at its bound of processes from one that was there for a moment.

use std::collections::BTreeSet;

use super::cpu_time::Id;

/// What is seen of the processes of a program at a look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Faces {
    /// Which processes there are.
    pub(super) all: BTreeSet<Id>,
    /// Their processor time in ticks, and what of it was spent in the kernel.
    pub(super) used: u64,
    pub(super) in_kernel: u64,
}

/// Whether a program stands at its bound of processes: one that only starts more is at it at every look, whatever ends it then. One that has
/// started as many as may be, and works in them, is there as well; what tells them apart is a sign that more were to be started. No kernel
/// counts what `RLIMIT_NPROC` refuses. The signs are that processes end and others come in their place, and that nearly all processor time is spent in
/// the kernel, where the refused starts are made.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// The last looks, the newest in the lowest bit: whether there were as many as may be.
    looks: u32,
    count: u32,
    /// The same looks: whether there were others than at the look before, and as many.
    changes: u32,
    last: Option<Faces>,
    /// Processor time in ticks between looks at which the same processes were there, and as many as may be.
    used: u64,
    in_kernel: u64,
}

impl Crowd {
    /// So many looks are remembered.
    const KEPT: u32 = 20;
    const MASK: u32 = (1 << Self::KEPT) - 1;
    /// So many changes are a sign: one process may take the place of another once.
    const CHANGES: u32 = 2;
    /// Less processor time than this says nothing, in ticks.
    const LEAST: u64 = 5;
    /// Beyond this what was used long ago counts half.
    const MOST: u64 = 400;

    /// Notes the processes of a look at which there were as many as may be; none of another look.
    pub(super) fn note(&mut self, full: Option<Faces>) {
        self.looks = (self.looks << 1 | u32::from(full.is_some())) & Self::MASK;
        self.count = (self.count + 1).min(Self::KEPT);
        let mut changed = false;
        if let (Some(before), Some(now)) = (&self.last, &full) {
            changed = before.all != now.all;
            if !changed {
                self.used += now.used.saturating_sub(before.used);
                self.in_kernel += now.in_kernel.saturating_sub(before.in_kernel);
            }
        }
        if self.used > Self::MOST {
            (self.used, self.in_kernel) = (self.used / 2, self.in_kernel / 2);
        }
        if self.looks == 0 {
            (self.used, self.in_kernel) = (0, 0);
        }
        self.changes = (self.changes << 1 | u32::from(changed)) & Self::MASK;
        self.last = full;
    }

    /// At how many of how many looks it was full, where that was at three at least and at three of four, and whether more were to be started.
    pub(super) fn stands(&self) -> Option<(u32, u32, bool)> {
        let full = self.looks.count_ones();
        (full >= 3 && full * 4 >= self.count * 3).then_some((full, self.count, self.wants_more()))
    }

    fn wants_more(&self) -> bool {
        let is_in_kernel = self.used >= Self::LEAST && self.in_kernel * 3 >= self.used * 2;
        is_in_kernel || self.changes.count_ones() >= Self::CHANGES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look at these processes, each with so much of its time in the kernel.
    fn faces(pids: std::ops::Range<u32>, used: u64, in_kernel: u64) -> Faces {
        Faces { all: pids.map(|pid| (pid, 1)).collect(), used, in_kernel }
    }

    #[test]
    fn a_program_stands_at_its_bound_that_is_there_at_nearly_every_look() {
        let stands = |looks: &[bool]| {
            let mut crowd = Crowd::default();
            for (at, is_full) in (0..).zip(looks) {
                crowd.note(is_full.then(|| faces(at..at + 9, 0, 0)));
            }
            crowd.stands()
        };
        assert_eq!((stands(&[]), stands(&[true; 2]), stands(&[false; 40])), (None, None, None));
        assert_eq!((stands(&[true; 3]), stands(&[true; 50])), (Some((3, 3, true)), Some((20, 20, true))));
        // A crowd of long ago says nothing of the end, and one look that counts while one has just left takes nothing away.
        assert_eq!(stands(&[[true; 20], [false; 20]].concat()), None);
        assert_eq!(stands(&[[false; 20], [true; 20]].concat()), Some((20, 20, true)));
        assert_eq!(stands(&[true, true, false, true, true]), Some((4, 5, true)));
        assert_eq!(stands(&[true, false, true, false, true]), None);
    }

    #[test]
    fn a_full_pool_that_computes_or_waits_is_no_crowd_and_one_that_is_refused_all_the_time_is() {
        let stands = |used: u64, in_kernel: u64| {
            let mut crowd = Crowd::default();
            for look in 0..200 {
                crowd.note(Some(faces(0..16, used * look, in_kernel * look)));
            }
            crowd.stands()
        };
        for (used, in_kernel) in [(0, 0), (5, 0), (5, 2)] {
            assert_eq!(stands(used, in_kernel), Some((20, 20, false)), "{in_kernel} of {used}");
        }
        assert_eq!(stands(5, 4), Some((20, 20, true)));
        // One worker that is replaced is none either.
        let mut crowd = Crowd::default();
        for first in [0, 0, 0, 1, 1, 1] {
            crowd.note(Some(faces(first..first + 16, 0, 0)));
        }
        assert_eq!(crowd.stands(), Some((6, 6, false)));
    }
}
