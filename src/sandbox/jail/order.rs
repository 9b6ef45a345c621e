//! The words between the server and its jail process, and how they travel with their descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, recvmsg,
    sendmsg,
};
use serde::{Deserialize, Serialize};

use super::kind::{Kind, Known, RootOrder};
use super::outcome::{Limit, Usage};
use super::spec::{Layers, Limits, Mask};

/// One call, as the jail process gets it. Its descriptors come in the order channel of the call, ticket, standard input, output, error,
/// program, report, compiled bootstrap, then the roots.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// What it shares with other calls.
    pub(crate) kind: Arc<Kind>,
    /// What it does not.
    pub(crate) asked: Asked,
}

/// What is a call's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// How long its program may take.
    pub(crate) wall: Duration,
    /// Where that starts.
    pub(crate) start_dir: String,
    /// For each root what must not be seen in it.
    pub(crate) masked: Vec<Vec<Mask>>,
    /// Start from nothing.
    pub(crate) fresh: bool,
    /// There is no program: jails are got ready for those that come later.
    pub(crate) ahead: bool,
    /// The profile it is made under, for those who watch.
    pub(crate) profile: String,
}

impl Order {
    /// The roots, each with what must not be seen in it.
    pub(crate) fn roots(&self) -> impl Iterator<Item = (&RootOrder, &[Mask])> {
        self.kind.roots.iter().zip(self.asked.masked.iter().map(Vec::as_slice))
    }
}

/// What a jail that waits does not know yet of the call it gets. The descriptors are those of an [`Order`], the roots as mounts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Go {
    /// What the call asks for.
    pub(crate) asked: Asked,
    /// There is no interpreter in the jail, and the call starts one. What its groups need comes after the roots.
    pub(crate) new_program: Option<Groups>,
}

/// What is there of the control groups of a call.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Groups {
    /// So many files to write `0` to, in order to be in.
    pub(crate) doors: usize,
    /// Whether the file comes last that counts the processes killed for memory.
    pub(crate) counted: bool,
}

/// What the jail process says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Word {
    /// Everything stands and the program starts. The socket of its doorway comes along, where it has one.
    Started(Layers),
    /// A required layer cannot be had.
    Unavailable {
        /// Its name.
        layer: String,
        /// Why.
        reason: String,
    },
    /// A root cannot be shown.
    Root {
        /// Its name.
        root: String,
        /// Why.
        reason: String,
    },
    /// A root is not shown: something that is masked in it was moved between the look at it and this. Nothing has run.
    Moved {
        /// Its name.
        root: String,
    },
    /// The jail failed.
    Fault(String),
    /// A jail is being built for this very call, and how long that takes is bounded there.
    Building,
    /// The jail came to nothing, and the ticket of the call is where it was.
    Returned,
    /// So much all processes of a session have used by now.
    Used(Spent),
    /// So far the processes of a session have come since this was said last.
    Reached(Reached),
    /// Whether the program stands at its bound of processes by now, and what shows it; said when that changes, for a jail that cannot say it at the end.
    Crowd(Option<Box<Full>>),
    /// Every process of the program is dead.
    Ended(End),
    /// The same, of a program whose start was not told.
    Over(Box<Layers>, End),
    /// A jail that waits has its root; what an interpreter needs to come in comes along (from init to the spawner), and last, where this is said,
    /// the network namespace that it has made.
    Built(bool),
    /// A waiting interpreter sits in its jail, behind all walls.
    Seated,
    /// The interpreter forked a program that has this number (0: it could not).
    Forked(i32),
    /// Every process of the session stands still, as was asked for.
    Stands,
}

/// What the server says to the jail of a session. A half that is closed says that it is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Pace {
    /// A call is over: every process of it stands still until the next.
    Stand,
    /// A call begins.
    Go,
}

/// How the program ended, as the jail saw it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    /// The number it left with.
    pub(crate) exit: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// The limit for which it was killed, set before the kill, and what showed it.
    pub(crate) stopped: Option<(Limit, String)>,
    /// What it used.
    pub(crate) usage: Usage,
    /// The bytes of files on disks that its processes changed in memory, page by page, as the kernel counts them.
    pub(crate) written: u64,
    /// How far they came towards their bounds.
    pub(crate) reached: Box<Reached>,
    /// That it had as many processes as it may have, look after look until it ended, where that was so.
    #[serde(default)]
    pub(crate) crowd: Option<Box<Full>>,
}

/// What shows that a program had as many processes and threads as it may have, look after look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Full {
    /// It in words.
    pub(crate) seen: Box<str>,
    /// Whether there were signs that it wanted more.
    pub(crate) wants_more: bool,
}

impl End {
    /// The end of a program of which nothing is known: what it used is taken for as much as it might use.
    pub(crate) fn untold(limits: &Limits) -> Self {
        let cpu_ms = u64::try_from(limits.cpu.as_millis()).unwrap_or(u64::MAX);
        Self { usage: Usage { cpu_ms, ..Usage::default() }, ..Self::default() }
    }
}

/// How far the processes of a program came towards its bounds, as its jail saw it: the most of each at any look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reached {
    /// Processes and threads at one time.
    pub(crate) tasks: u64,
    /// The memory of one process, in bytes: its address space, or what of it was in memory.
    pub(crate) memory: u64,
    /// Files that one process had open.
    pub(crate) files: u64,
    /// The largest file that one had open, in bytes.
    pub(crate) file_size: u64,
    /// Whether a disk that it may write to was full.
    pub(crate) full: bool,
}

impl Reached {
    /// The most of each.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            tasks: self.tasks.max(other.tasks),
            memory: self.memory.max(other.memory),
            files: self.files.max(other.files),
            file_size: self.file_size.max(other.file_size),
            full: self.full || other.full,
        }
    }
}

/// What the processes of a session have used by some moment of its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spent {
    /// Processor time in milliseconds.
    pub(crate) cpu_ms: u64,
    /// As [`End::written`].
    pub(crate) written: u64,
}

impl Spent {
    /// The larger of each.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { cpu_ms: self.cpu_ms.max(other.cpu_ms), written: self.written.max(other.written) }
    }

    /// Charges a call of a session for writes, in bytes, beyond what its calls were charged, which this is: what was `found` in the roots
    /// (`u64::MAX`: it cannot be counted), or what the kernel has `counted` in the session's whole life. What is found of a call is often counted
    /// only after it.
    pub(crate) fn charge_written(&mut self, found: u64, counted: u64) -> u64 {
        let before = self.written;
        if found == u64::MAX {
            // That is charged as much as may be: what the kernel has counted by now is part of it.
            self.written = before.max(counted);
            return found;
        }
        self.written = before.saturating_add(found).max(counted);
        self.written - before
    }
}

/// The largest message; far below the smallest socket buffer of Linux.
const LARGEST: usize = 160 * 1024;
/// The most descriptors in one message (`SCM_MAX_FD` is 253, unix(7)).
const MOST_FDS: usize = 128;

/// Sends one value with descriptors as one message.
///
/// # Errors
/// What went wrong; a closed peer among it.
pub(crate) fn send<T: Serialize>(socket: BorrowedFd<'_>, value: &T, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_bytes(socket, &serde_json::to_vec(value)?, fds)
}

/// Sends an order with its descriptors as one message: how long the text of its kind is, that text, then what is its own.
///
/// # Errors
/// As for [`send`].
pub(crate) fn send_order(socket: BorrowedFd<'_>, order: &Order, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let kind = order.kind.text();
    let length = u32::try_from(kind.len()).map_err(io::Error::other)?.to_le_bytes();
    send_with(socket, &[&length, kind, &serde_json::to_vec(&order.asked)?], fds, SendFlags::NOSIGNAL)
}

/// As [`send`], without descriptors, but never waits for room.
///
/// # Errors
/// What went wrong; that there is no room among it.
pub(crate) fn send_now<T: Serialize>(socket: BorrowedFd<'_>, value: &T) -> io::Result<()> {
    send_with(socket, &[&serde_json::to_vec(value)?], &[], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

/// Sends bytes with descriptors as one message.
///
/// # Errors
/// What went wrong; a closed peer among it.
pub(crate) fn send_bytes(socket: BorrowedFd<'_>, text: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_with(socket, &[text], fds, SendFlags::NOSIGNAL)
}

fn send_with(socket: BorrowedFd<'_>, parts: &[&[u8]], fds: &[BorrowedFd<'_>], flags: SendFlags) -> io::Result<()> {
    let other = |what: String| io::Error::other(what);
    let length: usize = parts.iter().map(|part| part.len()).sum();
    if length > LARGEST || fds.len() > MOST_FDS {
        return Err(other(format!("a message of {length} bytes and {} descriptors is too large", fds.len())));
    }
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(other("too many descriptors for one message".to_owned()));
    }
    let parts: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let sent = rustix::io::retry_on_intr(|| sendmsg(socket, &parts, &mut control, flags))?;
    if sent == length { Ok(()) } else { Err(other("a message was cut".to_owned())) }
}

/// What was received with its descriptors; nothing when the peer has closed. The text says what went wrong.
type Received<T> = Result<Option<(T, Vec<OwnedFd>)>, String>;

/// Receives one value with its descriptors; `None` when the peer has closed.
///
/// # Errors
/// The text of what went wrong.
pub(crate) fn receive<T: serde::de::DeserializeOwned>(socket: BorrowedFd<'_>) -> Received<T> {
    receive_with(socket, RecvFlags::CMSG_CLOEXEC)
}

/// Receives an order with its descriptors; `None` when the peer has closed.
///
/// # Errors
/// As for [`receive`].
pub(crate) fn receive_order(socket: BorrowedFd<'_>, known: &mut Known) -> Received<Order> {
    let Some((text, fds)) = receive_bytes(socket, RecvFlags::CMSG_CLOEXEC)? else { return Ok(None) };
    let cut = || "an order was cut".to_owned();
    let (length, rest) = text.split_first_chunk().ok_or_else(cut)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|e| e.to_string())?;
    let (kind, asked) = rest.split_at_checked(length).ok_or_else(cut)?;
    let order = Order { kind: known.read(kind)?, asked: serde_json::from_slice(asked).map_err(|e| e.to_string())? };
    Ok(Some((order, fds)))
}

/// As [`receive`], but never waits.
///
/// # Errors
/// The text of what went wrong; that there is nothing among it.
pub(crate) fn receive_now<T: serde::de::DeserializeOwned>(socket: BorrowedFd<'_>) -> Received<T> {
    receive_with(socket, RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT)
}

fn receive_with<T: serde::de::DeserializeOwned>(socket: BorrowedFd<'_>, flags: RecvFlags) -> Received<T> {
    let Some((text, fds)) = receive_bytes(socket, flags)? else { return Ok(None) };
    serde_json::from_slice(&text).map(|value| Some((value, fds))).map_err(|e| e.to_string())
}

fn receive_bytes(socket: BorrowedFd<'_>, flags: RecvFlags) -> Received<Vec<u8>> {
    // Asking for the length first is cheaper than clearing a buffer for the largest message.
    let peek = RecvFlags::PEEK | RecvFlags::TRUNC | (flags & RecvFlags::DONTWAIT);
    let (_, length) = rustix::io::retry_on_intr(|| recv(socket, &mut [0_u8; 1][..], peek)).map_err(|e| e.to_string())?;
    let mut text = vec![0_u8; length.clamp(1, LARGEST)];
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got =
        rustix::io::retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(&mut text)], &mut control, flags)).map_err(|e| e.to_string())?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if got.flags.contains(ReturnFlags::CTRUNC) {
        // This process may open no more. Which of them are missing cannot be told, and a wall may be among them.
        return Err("some descriptors of a message were lost (RLIMIT_NOFILE)".to_owned());
    }
    if got.bytes == 0 {
        return Ok(None);
    }
    if got.bytes > text.len() {
        return Err("a message was longer than its buffer".to_owned());
    }
    text.truncate(got.bytes);
    Ok(Some((text, fds)))
}

/// A socket pair that keeps messages apart.
///
/// # Errors
/// The text of what went wrong.
pub(crate) fn channel() -> Result<(OwnedFd, OwnedFd), String> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_a_session_writes_is_charged_once_also_where_a_call_cannot_be_counted() {
        let mut charged = Spent::default();
        assert_eq!([charged.charge_written(100, 0), charged.charge_written(0, 60), charged.charge_written(10, 150)], [100, 0, 50]);
        assert_eq!(charged.charge_written(u64::MAX, 5000), u64::MAX);
        assert_eq!([charged.charge_written(0, 5000), charged.charge_written(7, 5000), charged.charge_written(0, 6000)], [0, 7, 993]);
        assert_eq!((charged.charge_written(u64::MAX, 6000), charged.charge_written(1, 6000)), (u64::MAX, 1), "nothing is taken back");
    }

    #[test]
    fn a_message_that_lost_descriptors_is_refused_whole() {
        let (ours, theirs) = channel().unwrap();
        let one = ours.try_clone().unwrap();
        // More than anybody here sends, and fewer than the kernel takes: some do not fit at the other end.
        let fds = vec![one.as_fd(); MOST_FDS + 20];
        let mut space = vec![MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS + 20))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&ours, &[IoSlice::new(b"\"Built\"")], &mut control, SendFlags::NOSIGNAL).unwrap();
        let refused = receive_now::<Word>(theirs.as_fd()).unwrap_err();
        assert!(refused.contains("descriptors"), "{refused}");
        // The next one is heard.
        send(ours.as_fd(), &Word::Built(false), &[one.as_fd(), one.as_fd()]).unwrap();
        let heard = receive_now::<Word>(theirs.as_fd()).unwrap();
        assert!(matches!(heard, Some((Word::Built(false), fds)) if fds.len() == 2));
    }
}
