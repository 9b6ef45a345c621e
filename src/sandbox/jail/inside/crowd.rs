//! Tells a program that stands at its bound of processes from one that was there for a moment.

/// Whether a program stands at its bound of processes: one that only starts more is at it at every look, whatever ends it then.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// The last looks, the newest in the lowest bit: whether there were as many as may be.
    looks: u32,
    count: u32,
}

impl Crowd {
    /// So many looks are remembered.
    const KEPT: u32 = 20;

    /// Notes whether there were as many as may be at a look.
    pub(super) fn note(&mut self, is_full: bool) {
        self.looks = (self.looks << 1 | u32::from(is_full)) & ((1 << Self::KEPT) - 1);
        self.count = (self.count + 1).min(Self::KEPT);
    }

    /// At how many of how many looks it was full, where that was at three at least and at three of four.
    pub(super) fn stands(&self) -> Option<(u32, u32)> {
        let full = self.looks.count_ones();
        (full >= 3 && full * 4 >= self.count * 3).then_some((full, self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_stands_at_its_bound_that_is_there_at_nearly_every_look() {
        let stands = |looks: &[bool]| {
            let mut crowd = Crowd::default();
            for is_full in looks {
                crowd.note(*is_full);
            }
            crowd.stands()
        };
        assert_eq!((stands(&[]), stands(&[true; 2]), stands(&[false; 40])), (None, None, None));
        assert_eq!((stands(&[true; 3]), stands(&[true; 50])), (Some((3, 3)), Some((20, 20))));
        // A crowd of long ago says nothing of the end, and one look that counts while one has just left takes nothing away.
        assert_eq!(stands(&[[true; 20], [false; 20]].concat()), None);
        assert_eq!(stands(&[[false; 20], [true; 20]].concat()), Some((20, 20)));
        assert_eq!(stands(&[true, true, false, true, true]), Some((4, 5)));
        assert_eq!(stands(&[true, false, true, false, true]), None);
    }
}
