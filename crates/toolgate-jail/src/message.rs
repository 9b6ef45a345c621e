//! The messages between the server, the spawner and the jails, and how they travel with their descriptors: one `SOCK_SEQPACKET` message each.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Deserialize, Serialize};

use crate::backend::NotStarted;
use crate::end::{End, Usage};
use crate::spec::{Cover, Folder, Layer, Layers, Limits, Spec};

/// What a jail is built from: which of the kernel's means, found out by doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Isolation {
    /// Every namespace, that of users among them, and an own root.
    Namespaces,
    /// All of them but that of users: root enters them, and each jail gets a user number of its own.
    Rooted,
    /// No namespace: Landlock, the system call filter, and a process group that nothing can leave.
    Landlock,
    /// The namespaces and the root are made by `bwrap`, which is this file.
    Bubblewrap(String),
}

/// What is the same for all calls that one waiting jail can serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) isolation: Isolation,
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) shown: Vec<String>,
    pub(crate) links: Vec<(String, String)>,
    pub(crate) folders: Vec<FolderPlan>,
    /// Its time on the clock is the call's own.
    pub(crate) limits: Limits,
    pub(crate) require: Vec<Layer>,
    pub(crate) network: bool,
    pub(crate) waits: bool,
}

/// A folder of a plan; its descriptor and what is covered in it come with the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FolderPlan {
    pub(crate) name: String,
    pub(crate) writable: bool,
    pub(crate) unnamed: Option<u64>,
}

impl FolderPlan {
    /// The plan of a folder.
    pub(crate) fn of(folder: &Folder) -> Self {
        Self { name: folder.name.clone(), writable: folder.writable, unnamed: folder.unnamed }
    }
}

impl Plan {
    /// The plan of a spec with an isolation.
    pub(crate) fn of(spec: &Spec, isolation: Isolation) -> Self {
        Self {
            isolation,
            program: spec.program.clone(),
            arguments: spec.arguments.clone(),
            environment: spec.environment.clone(),
            shown: spec.shown.clone(),
            links: spec.links.clone(),
            folders: spec.folders.iter().map(FolderPlan::of).collect(),
            limits: Limits { wall: Duration::ZERO, ..spec.limits },
            require: spec.require.clone(),
            network: spec.network,
            waits: spec.waits,
        }
    }
}

/// What is a call's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Call {
    /// What is covered in each folder, in the order of the plan.
    pub(crate) covers: Vec<Vec<Cover>>,
    pub(crate) wall: Duration,
    /// Processor time, in addition to what was used before.
    pub(crate) cpu: Duration,
    pub(crate) start_dir: String,
}

impl Call {
    /// The call of a spec.
    pub(crate) fn of(spec: &Spec) -> Self {
        let covers = spec.folders.iter().map(|folder| folder.covers.clone()).collect();
        Self { covers, wall: spec.limits.wall, cpu: spec.limits.cpu, start_dir: spec.start_dir.clone() }
    }
}

/// From the server to the spawner.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Start a jail. Descriptors: the jail's end of its channel; where the program does not wait, its standard input, output and error; on
    /// grounds that show folders from the start, these.
    Start(Box<Plan>, Call),
    /// Show folders to a jail, and cover what must not be seen in each. Descriptors: the server's end of the jail's channel, the folders. The number is
    /// that of [`Event::Begun`].
    Show(Vec<FolderPlan>, Option<u32>, Vec<Vec<Cover>>),
}

/// From the server (or the spawner for it) to init.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Command {
    /// Show the folders of the plan, and cover this in each: from the spawner. Descriptors: their mounts.
    Show(Vec<Vec<Cover>>),
    /// A call. Descriptors: standard input, output, error, task, report.
    Call(Call),
    /// Have every process stand still.
    Pause,
    /// The folders cannot be shown, for this reason: from the spawner, to be said to the server.
    Refuse(NotStarted),
}

/// What a jail reports to the server.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    /// The spawner has started it: the user number that it has for itself. Descriptors: its process (`pidfd_open(2)`), and the file that counts the
    /// processes killed for memory, where there is one.
    Begun(Option<u32>),
    /// Its program stands behind all walls. The socket of its gateway comes along.
    Ready(Layers),
    /// The folders are shown.
    Shown,
    /// The program has its call.
    Started,
    /// Nothing has run, and nothing will.
    Refused(NotStarted),
    /// Every process stands still; what they have used and written so far.
    Paused(Usage, u64),
    /// Every process but init is dead.
    Ended(End),
}

/// The largest message; below the smallest default buffer of a socket (`/proc/sys/net/core/wmem_default`, 208 KiB).
const LARGEST: usize = 192 * 1024;
/// The most descriptors in one message (`SCM_MAX_FD` is 253, unix(7)).
const MOST_FDS: usize = 128;

/// A socket pair that keeps messages apart.
///
/// # Errors
/// The error of the system.
pub(crate) fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends one value with descriptors as one message.
///
/// # Errors
/// What went wrong; a closed peer among it.
pub(crate) fn send<T: Serialize>(socket: BorrowedFd<'_>, value: &T, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_bytes(socket, &serde_json::to_vec(value)?, fds)
}

/// Sends bytes with descriptors as one message.
///
/// # Errors
/// What went wrong; a closed peer among it.
pub(crate) fn send_bytes(socket: BorrowedFd<'_>, text: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    if text.len() > LARGEST || fds.len() > MOST_FDS {
        return Err(io::Error::other(format!("a message of {} bytes and {} descriptors is too large", text.len(), fds.len())));
    }
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    rustix::io::retry_on_intr(|| sendmsg(socket, &[IoSlice::new(text)], &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Receives one value with its descriptors; `None` when the peer has closed.
///
/// # Errors
/// What went wrong; on a socket that does not wait, that there is nothing.
pub(crate) fn receive<T: serde::de::DeserializeOwned>(socket: BorrowedFd<'_>) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let (text, fds) = receive_bytes(socket)?;
    if text.is_empty() { Ok(None) } else { Ok(Some((serde_json::from_slice(&text)?, fds))) }
}

/// Receives bytes with descriptors; no bytes when the peer has closed.
///
/// # Errors
/// As [`receive`].
pub(crate) fn receive_bytes(socket: BorrowedFd<'_>) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut text = vec![0_u8; LARGEST];
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = rustix::io::retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(&mut text)], &mut control, RecvFlags::CMSG_CLOEXEC))?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if got.flags.contains(ReturnFlags::CTRUNC) {
        // This process may open no more. Which of them are missing cannot be told, and a wall may be among them.
        return Err(io::Error::other("some descriptors of a message were lost (RLIMIT_NOFILE)"));
    }
    text.truncate(got.bytes);
    Ok((text, fds))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_message_that_lost_descriptors_is_refused_whole_and_the_next_one_is_heard() {
        let (ours, theirs) = channel().unwrap();
        let one = ours.try_clone().unwrap();
        // More than anybody here sends, and fewer than the kernel takes: some do not fit at the other end.
        let fds = vec![one.as_fd(); MOST_FDS + 20];
        let mut space = vec![MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS + 20))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&ours, &[IoSlice::new(b"\"Started\"")], &mut control, SendFlags::NOSIGNAL).unwrap();
        let refused = receive::<Event>(theirs.as_fd()).unwrap_err().to_string();
        assert!(refused.contains("descriptors"), "{refused}");
        send(ours.as_fd(), &Event::Started, &[one.as_fd(), one.as_fd()]).unwrap();
        let event = receive::<Event>(theirs.as_fd()).unwrap();
        assert!(matches!(event, Some((Event::Started, fds)) if fds.len() == 2));
    }

    #[test]
    fn a_message_that_is_too_large_is_not_sent() {
        let (ours, _theirs) = channel().unwrap();
        assert!(send_bytes(ours.as_fd(), &vec![0; LARGEST + 1], &[]).is_err());
    }
}
