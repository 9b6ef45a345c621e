//! The user numbers of the host as which programs run when the server is root: one that all may share, and one for each jail at a time.
//!
//! What the kernel counts by users (files on their way through sockets, pages of pipes, processes) a program then has for itself alone.

#![expect(clippy::disallowed_methods, reason = "the jail process reads what the kernel shows of itself")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::OnceLock;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};

/// The user that all programs may share: one that no account has, if it exists in our own user namespace.
///
/// Never 0: the kernel exempts root from its bound on processes, and a file of root is readable for it.
pub(super) fn shared() -> u32 {
    static FOUND: OnceLock<u32> = OnceLock::new();
    *FOUND.get_or_init(|| if is_mapped(RARE, 1) { RARE } else { SMALL })
}

/// The numbers of one server: none that a jail has is given to another.
#[derive(Debug)]
pub(super) struct Users {
    first: u32,
    given: Rc<RefCell<Given>>,
    // The kernel frees the name when every process that holds it is dead: a supervisor that outlives its server keeps the numbers with it.
    _reservation: OwnedFd,
}

/// The numbers that no jail may be given.
#[derive(Debug, Default)]
struct Given {
    /// A jail has it.
    taken: BTreeSet<u32>,
    /// Its jail was ended from outside, so that processes of it may live for a moment.
    left: BTreeSet<u32>,
}

impl Users {
    /// Reserves numbers that no other server of this machine gives away. `None` where there are none, or all are reserved.
    pub(super) fn reserve() -> Option<Self> {
        let (first, blocks) = if is_mapped(FIRST, BLOCKS * BLOCK) { (FIRST, BLOCKS) } else { (FEW_FIRST, FEW_BLOCKS) };
        if !is_mapped(first, blocks * BLOCK) {
            return None;
        }
        let begin = begin();
        (0..blocks.min(ATTEMPTS)).find_map(|next| {
            let block = u32::try_from((begin + u64::from(next)) % u64::from(blocks)).ok()?;
            let first = first + block * BLOCK;
            Some(Self { first, given: Rc::default(), _reservation: reserve(first).ok()? })
        })
    }

    /// The lowest number that no jail has: what was made for it before is found again.
    pub(super) fn take(&self) -> Option<User> {
        let given = &mut *self.given.borrow_mut();
        let block = self.first..self.first + BLOCK;
        let free = |given: &Given| block.clone().find(|number| !given.taken.contains(number) && !given.left.contains(number));
        let number = free(given).or_else(|| {
            given.left = &given.left & &living()?;
            free(given)
        })?;
        given.taken.insert(number);
        Some(User { number, given: Rc::clone(&self.given) })
    }
}

/// The number of one jail, free again when this is dropped: its processes are dead by then.
#[derive(Debug)]
pub(super) struct User {
    /// The number, of the user and of the group.
    pub(super) number: u32,
    given: Rc<RefCell<Given>>,
}

impl User {
    /// Gives the number up while processes of its jail may live: no jail has it before all of them are dead.
    pub(super) fn leave(self) {
        self.given.borrow_mut().left.insert(self.number);
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.given.borrow_mut().taken.remove(&self.number);
    }
}

/// The users of all processes; none where they cannot be listed.
fn living() -> Option<BTreeSet<u32>> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let statuses = processes.filter_map(|process| std::fs::read_to_string(process.path().join("status")).ok());
    // The real user, the first of four (`proc_pid_status(5)`): a program has no other.
    let user = |status: String| status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next()?.parse().ok();
    Some(statuses.filter_map(user).collect())
}

/// Reserves the block of numbers that begins with this one: a name in the abstract namespace of sockets is had once (`unix(7)`).
fn reserve(first: u32) -> Result<OwnedFd, rustix::io::Errno> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrUnix::new_abstract_name(format!("toolgate-users-{first}").as_bytes())?)?;
    Ok(socket)
}

/// Where the search for a free block begins. Containers may share users, but no names of sockets: two of them begin elsewhere, and so do two
/// servers of one.
fn begin() -> u64 {
    // 2^32 divided by the golden ratio: numbers that lie side by side come to lie far apart.
    const SPREAD: u64 = 2_654_435_769;
    let namespace = rustix::fs::stat("/proc/self/ns/pid").map_or(0, |facts| facts.st_ino);
    let own = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
    u64::from(own) + namespace.wrapping_mul(SPREAD) % (1 << 32)
}

/// Numbers in one block, as many as jails of one server may stand at one time; with more of them, those have the shared number.
const BLOCK: u32 = 256;
/// Blocks that are tried, when others are reserved.
const ATTEMPTS: u32 = 64;
/// Above the numbers of SSSD (`ldap_idmap_range_max`), below those of foreign disk images (systemd, `UIDS-GIDS.md`).
const FIRST: u32 = 2_001_000_000;
const BLOCKS: u32 = 571_000;
/// In a container with few users.
const FEW_FIRST: u32 = 60_416;
const FEW_BLOCKS: u32 = 19;
/// The shared number, and that in a container with few users.
const RARE: u32 = 1_993_000_000;
const SMALL: u32 = 65_432;

/// Whether this many users exist in our own user namespace, in a row.
fn is_mapped(first: u32, count: u32) -> bool {
    std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| maps(&map, first, count))
}

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
    fn a_number_is_had_once_at_a_time_and_two_servers_have_none_in_common() {
        let (Some(one), Some(other)) = (Users::reserve(), Users::reserve()) else {
            println!("skipped: this user namespace has too few users; run it in that of the host");
            return;
        };
        let all = |users: &Users| std::iter::from_fn(|| users.take()).collect::<Vec<User>>();
        let (mut first, second) = (all(&one), all(&other));
        let numbers: BTreeSet<u32> = first.iter().chain(&second).map(|user| user.number).collect();
        assert_eq!(numbers.len(), 2 * BLOCK as usize);
        assert!(!numbers.contains(&shared()));
        let freed = first.remove(7).number;
        assert_eq!(one.take().map(|user| user.number), Some(freed));
        // What is left behind is had again once no process has it, and not before.
        first.remove(3).leave();
        let again = one.take().unwrap();
        assert!(!first.iter().any(|user| user.number == again.number));
        drop(again);
        let own = rustix::process::getuid().as_raw();
        assert!(living().unwrap().contains(&own));
        let block = Users { first: own, given: Rc::default(), _reservation: reserve(FIRST - 1).unwrap() };
        block.take().unwrap().leave();
        let rest = all(&block);
        assert!(rest.len() < BLOCK as usize && rest.iter().all(|user| user.number != own));
    }

    #[test]
    fn users_are_there_only_where_all_of_them_are_mapped_together() {
        let map = "         0          0       1000\n      1000     100000      65536\n";
        for (first, count, expected) in [(0, 1000, true), (999, 2, false), (1000, 65_536, true), (1000, 65_537, false), (70_000, 1, false)]
        {
            assert_eq!(maps(map, first, count), expected, "{first} {count}");
        }
        assert!(maps("         0          0 4294967295\n", FIRST, BLOCKS * BLOCK) && !maps("", 0, 1));
        const { assert!(FEW_FIRST + FEW_BLOCKS * BLOCK <= SMALL && FIRST > RARE) };
    }
}
