//! Jails whose pool was given up.

use rustix::process::Pid;

use super::cell::{Cell, Heard};
use super::cgroup::Group;
use crate::sandbox::jail::order::End;

/// A jail whose pool is gone.
#[derive(Debug)]
pub(super) struct Retired(Cell);

impl Retired {
    /// What is left of a pool: its calls go on.
    pub(super) fn new(cell: Cell) -> Self {
        Self(cell)
    }

    /// Ends it; its group is to be removed when it is dead.
    pub(super) fn close(self) -> Option<Group> {
        self.0.close()
    }

    /// The jail.
    pub(super) fn cell(&self) -> &Cell {
        &self.0
    }

    /// Whether a child of the spawner with this number is of it.
    pub(super) fn knows(&self, pid: Pid) -> bool {
        self.0.knows(pid)
    }

    /// Hears what is said to it.
    pub(super) fn hear(&mut self, heard: &Heard) {
        self.0.hear(heard);
    }

    /// Takes note of a dead process; whether this was its last one.
    pub(super) fn died(&mut self, pid: Pid, end: &End) -> bool {
        self.0.died(pid, end);
        self.0.is_of(pid)
    }
}
