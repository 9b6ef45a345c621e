//! The right to begin: one for each call. Who starts the program takes it first, and so does who gives the call up; there is only one.
//!
//! So a call that was given up never begins, wherever its order lies by then, and one whose jail is gone while the ticket is still there can be
//! made again elsewhere: not one instruction of its program has run.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// The ticket of one call, which all who have to do with it hold (`eventfd(2)`): a read takes it, for one alone.
#[derive(Debug)]
pub(crate) struct Ticket(OwnedFd);

impl Ticket {
    /// A new one. It never makes anybody wait, and no program inherits it.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(1, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// The ticket that came as a descriptor.
    pub(crate) fn from_fd(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// The same ticket, held once more.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn share(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// The same ticket, held under a number not below this one (`fcntl(2)`, `F_DUPFD_CLOEXEC`).
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn above(&self, number: RawFd) -> io::Result<Self> {
        Ok(Self(rustix::io::fcntl_dupfd_cloexec(&self.0, number)?))
    }

    /// Takes it; false when somebody has it already.
    pub(crate) fn take(&self) -> bool {
        rustix::io::retry_on_intr(|| rustix::io::read(&self.0, &mut [0_u8; 8])).is_ok()
    }

    /// Gives back what was taken: nothing was begun with it.
    pub(crate) fn give_back(&self) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Whether nobody has it yet.
    pub(crate) fn is_there(&self) -> bool {
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
    }

    /// Its number in this process.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl AsFd for Ticket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_who_reach_for_a_ticket_one_has_it_and_only_that_one_can_give_it_back() {
        let ticket = Ticket::new().unwrap();
        let others: Vec<Ticket> = (0..8).map(|_| ticket.share().unwrap()).collect();
        let took = std::thread::scope(|scope| {
            let hands: Vec<_> = others.iter().map(|ticket| scope.spawn(|| ticket.take())).collect();
            hands.into_iter().map(|hand| hand.join().unwrap()).filter(|took| *took).count()
        });
        assert_eq!((took, ticket.is_there(), ticket.take()), (1, false, false));
        others[3].give_back();
        assert!(ticket.is_there() && ticket.take() && !others[0].take());
    }
}
