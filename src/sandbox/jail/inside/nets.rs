//! Network namespaces that serve again. To make one and to clear it away is a tenth of a call, and all that a program without leave for the network
//! can leave in one is a socket: where the kernel counts none, it is as good as new.

#![expect(clippy::disallowed_methods, reason = "the jail process reads what the kernel shows of itself")]

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use nix::sched::CloneFlags;
use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// So many wait for the next jails.
const MOST_IDLE: usize = 8;

/// Those whose jails are dead, and the one of the process that forks jails: it steps out of it for a fork and comes back.
#[derive(Debug, Default)]
pub(super) struct Nets {
    home: Option<OwnedFd>,
    idle: Vec<OwnedFd>,
}

impl Nets {
    /// Enters one in which nobody has left anything; a process that is forked now is in it. `None` where there is none.
    pub(super) fn step_in(&mut self) -> Option<OwnedFd> {
        let net = self.idle.pop()?;
        // Where something is left, others may be as busy.
        let good = enter(&net) && is_empty();
        if !good {
            self.come_home();
        }
        good.then_some(net)
    }

    /// Leaves what was entered.
    pub(super) fn come_home(&mut self) {
        if !self.home.as_ref().is_some_and(enter) {
            // Its own sockets would be counted in there from now on.
            *self = Self::default();
        }
    }

    /// Takes one whose jail is dead.
    pub(super) fn take_back(&mut self, net: OwnedFd) {
        if self.home.is_none() && nix::sched::unshare(CloneFlags::CLONE_NEWNET).is_ok() {
            // Its first one belongs to a user namespace into which there is no way back for an ordinary user (setns(2)).
            self.home = own();
        }
        if self.home.is_some() && self.idle.len() < MOST_IDLE {
            self.idle.push(net);
        }
    }

    /// In a forked process: what is to be closed there.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.home.iter().chain(&self.idle).map(AsRawFd::as_raw_fd)
    }
}

/// The network namespace of this process.
pub(super) fn own() -> Option<OwnedFd> {
    open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

fn enter(net: &OwnedFd) -> bool {
    move_into_link_name_space(net.as_fd(), Some(LinkNameSpaceType::Network)).is_ok()
}

/// Whether there is no socket in the network namespace of this process, not even one on its way in a message (`proc_pid_net(5)`, `sockstat`).
fn is_empty() -> bool {
    std::fs::read_to_string("/proc/thread-self/net/sockstat").is_ok_and(|text| has_none(&text))
}

fn has_none(sockstat: &str) -> bool {
    sockstat.lines().next() == Some("sockets: used 0")
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::sandbox::jail::order;

    #[test]
    fn only_what_says_that_there_is_none_has_none() {
        assert!(has_none("sockets: used 0\nTCP: inuse 0 orphan 0 tw 0 alloc 0 mem 0\n"));
        for text in ["sockets: used 1\n", "sockets: used 01\n", "", "TCP: inuse 0\nsockets: used 0\n", "sockets: used 0 or more\n"] {
            assert!(!has_none(text), "{text:?}");
        }
    }

    /// Only the calling thread changes its network namespace.
    #[test]
    fn a_namespace_with_a_socket_serves_no_other_jail_and_an_empty_one_does() {
        let (carrier, received) = order::channel().unwrap();
        if nix::sched::unshare(CloneFlags::CLONE_NEWNET).is_err() {
            println!("skipped: network namespaces cannot be made here by this user; run it as root");
            return;
        }
        let (mut nets, used) = (Nets::default(), own().unwrap());
        let number = |net: &OwnedFd| rustix::fs::fstat(net).unwrap().st_ino;
        let (left, other) = UnixStream::pair().unwrap();
        // On its way in a message to somebody elsewhere, it outlives whoever made it.
        order::send_bytes(carrier.as_fd(), b"one", &[left.as_fd()]).unwrap();
        let again = used.try_clone().unwrap();
        nets.take_back(used);
        let home = number(&own().unwrap());
        assert_ne!(home, number(&again), "it has left what it takes back");
        assert!(nets.step_in().is_none());
        assert_eq!(number(&own().unwrap()), home);
        drop((left, other));
        nets.take_back(again.try_clone().unwrap());
        assert!(nets.step_in().is_none(), "one is on its way");
        drop((carrier, received));
        nets.take_back(again.try_clone().unwrap());
        let entered = nets.step_in().unwrap();
        assert_eq!([number(&entered), number(&own().unwrap())], [number(&again); 2]);
        nets.come_home();
        assert_eq!(number(&own().unwrap()), home);
        for _ in 0..2 * MOST_IDLE {
            nets.take_back(again.try_clone().unwrap());
        }
        assert_eq!(nets.idle.len(), MOST_IDLE);
    }
}
