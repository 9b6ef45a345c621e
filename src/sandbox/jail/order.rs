//! The words between the server and its jail process, and how they travel with their descriptors.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, recvmsg,
    sendmsg,
};
use serde::{Deserialize, Serialize};

use super::ground::Ground;
use super::interpreter::Interpreter;
use super::outcome::{Limit, Usage};
use super::spec::{Layer, Layers, Limits};

/// One call, as the jail process gets it. Its descriptors come in the order channel of the call, ticket, standard input, output, error,
/// program, report, compiled bootstrap, then the roots.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    /// What the jail is built on.
    pub(crate) ground: Ground,
    /// The interpreter and what it needs to see.
    pub(crate) interpreter: Interpreter,
    /// How much the program may use.
    pub(crate) limits: Limits,
    /// Its environment, whole.
    pub(crate) env: BTreeMap<String, String>,
    /// What must stand.
    pub(crate) require: Vec<Layer>,
    /// The roots, in the order of their descriptors.
    pub(crate) roots: Vec<RootOrder>,
    /// Where it starts.
    pub(crate) start_dir: String,
    /// Modules that a waiting interpreter has imported.
    pub(crate) preload: Vec<String>,
    /// What runs before the program; a waiting interpreter has compiled it.
    pub(crate) prelude: Option<String>,
    /// Start from nothing.
    pub(crate) fresh: bool,
    /// Whether the program has a doorway to the server's gateway.
    pub(crate) network: bool,
    /// The arguments of a program that is no interpreter, its own name first; empty for Python.
    pub(crate) command: Vec<String>,
    /// The profile it is made under, for those who watch.
    pub(crate) profile: String,
}

impl Order {
    /// Whether a jail that waits for one of the two serves the other as well: all is the same but the time, the start folder, the masks, whose
    /// it is, and whether an interpreter may wait for it.
    pub(crate) fn is_of_kind(&self, other: &Self) -> bool {
        // Whole, so that a new field has to be thought of here.
        let Self {
            ground,
            interpreter,
            limits,
            env,
            require,
            roots,
            start_dir: _,
            preload,
            prelude,
            fresh: _,
            network,
            command,
            profile: _,
        } = other;
        let same_root = |(one, two): (&RootOrder, &RootOrder)| (&one.name, one.writable) == (&two.name, two.writable);
        self.limits == Limits { wall: self.limits.wall, ..*limits }
            && (&self.ground, &self.env, &self.require, &self.preload, &self.command) == (ground, env, require, preload, command)
            && (self.roots.len() == roots.len() && self.roots.iter().zip(roots).all(same_root))
            && (self.network, &self.prelude, &self.interpreter) == (*network, prelude, interpreter)
    }
}

/// What a jail that waits does not know yet of the call it gets. The descriptors are those of an [`Order`], the roots as mounts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Go {
    /// Where the program starts.
    pub(crate) start_dir: String,
    /// How long it may take.
    pub(crate) wall: std::time::Duration,
    /// For each root what must not be seen in it.
    pub(crate) masked: Vec<Vec<String>>,
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

/// One root of an order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RootOrder {
    /// Its name.
    pub(crate) name: String,
    /// Whether the program may write.
    pub(crate) writable: bool,
    /// What it must not see into.
    pub(crate) masked: Vec<String>,
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
    /// The jail failed.
    Fault(String),
    /// A jail is being built for this very call, and how long that takes is bounded there.
    Building,
    /// The jail came to nothing, and the ticket of the call is where it was.
    Returned,
    /// So much processor time all processes of a session have used by now, in milliseconds.
    Used(u64),
    /// Every process of the program is dead.
    Ended(End),
    /// The same, of a program whose start was not told.
    Over(Layers, End),
    /// A jail that waits has its root; what an interpreter needs to come in comes along (from init to the spawner), and last, where this is said,
    /// the network namespace that it has made.
    Built(bool),
    /// A waiting interpreter sits in its jail, behind all walls.
    Seated,
    /// The interpreter forked a program that has this number (0: it could not).
    Forked(i32),
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

/// As [`send`], without descriptors, but never waits for room.
///
/// # Errors
/// What went wrong; that there is no room among it.
pub(crate) fn send_now<T: Serialize>(socket: BorrowedFd<'_>, value: &T) -> io::Result<()> {
    send_with(socket, &serde_json::to_vec(value)?, &[], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

/// Sends bytes with descriptors as one message.
///
/// # Errors
/// What went wrong; a closed peer among it.
pub(crate) fn send_bytes(socket: BorrowedFd<'_>, text: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_with(socket, text, fds, SendFlags::NOSIGNAL)
}

fn send_with(socket: BorrowedFd<'_>, text: &[u8], fds: &[BorrowedFd<'_>], flags: SendFlags) -> io::Result<()> {
    let other = |what: String| io::Error::other(what);
    if text.len() > LARGEST || fds.len() > MOST_FDS {
        return Err(other(format!("a message of {} bytes and {} descriptors is too large", text.len(), fds.len())));
    }
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(other("too many descriptors for one message".to_owned()));
    }
    let sent = rustix::io::retry_on_intr(|| sendmsg(socket, &[IoSlice::new(text)], &mut control, flags))?;
    if sent == text.len() { Ok(()) } else { Err(other("a message was cut".to_owned())) }
}

/// Receives one value with its descriptors; `None` when the peer has closed.
///
/// # Errors
/// The text of what went wrong.
pub(crate) fn receive<T: serde::de::DeserializeOwned>(socket: BorrowedFd<'_>) -> Result<Option<(T, Vec<OwnedFd>)>, String> {
    receive_with(socket, RecvFlags::CMSG_CLOEXEC)
}

/// As [`receive`], but never waits.
///
/// # Errors
/// The text of what went wrong; that there is nothing among it.
pub(crate) fn receive_now<T: serde::de::DeserializeOwned>(socket: BorrowedFd<'_>) -> Result<Option<(T, Vec<OwnedFd>)>, String> {
    receive_with(socket, RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT)
}

fn receive_with<T: serde::de::DeserializeOwned>(socket: BorrowedFd<'_>, flags: RecvFlags) -> Result<Option<(T, Vec<OwnedFd>)>, String> {
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
    let value = text.get(..got.bytes).ok_or("a message was longer than its buffer")?;
    serde_json::from_slice(value).map(|value| Some((value, fds))).map_err(|e| e.to_string())
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
