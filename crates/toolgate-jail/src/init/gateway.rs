//! The one way out of a jail whose program may use the network: a socket that listens on the loopback of the jail's own, otherwise empty,
//! network namespace. The server gets the socket and takes what comes; nothing else answers in there.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, listen, recv, send, socket_with};

use crate::spec::GATEWAY_PORT;

/// Connections that wait to be taken; more are refused by the kernel.
const BACKLOG: i32 = 64;

/// Wakes the loopback and listens on it. Needs the rights over the network namespace, so it comes before they are given up.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn open() -> Result<OwnedFd, String> {
    wake_loopback().map_err(|e| format!("the loopback cannot be woken ({e})"))?;
    let text = |e: rustix::io::Errno| format!("nothing can listen on the loopback ({e})");
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).map_err(text)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, GATEWAY_PORT)).map_err(text)?;
    listen(&socket, BACKLOG).map_err(text)?;
    Ok(socket)
}

/// Sets the loopback up; the kernel gives it its addresses then.
///
/// # Source
/// rtnetlink(7), `RTM_NEWLINK`; netlink(7) for the header and the acknowledgement. The loopback is interface 1 in every namespace.
fn wake_loopback() -> Result<(), String> {
    let text = |e: rustix::io::Errno| e.to_string();
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None).map_err(text)?;
    send(&socket, &message(), SendFlags::empty()).map_err(text)?;
    let mut answer = [0_u8; 64];
    let (_, length) = recv(&socket, &mut answer[..], RecvFlags::empty()).map_err(text)?;
    match error_of(answer.get(..length).unwrap_or_default()) {
        Some(0) => Ok(()),
        Some(number) => Err(std::io::Error::from_raw_os_error(number.saturating_neg()).to_string()),
        None => Err("the kernel gave no answer that could be read".to_owned()),
    }
}

/// `RTM_NEWLINK` for interface 1: the flag `IFF_UP`, and no other, is to be set.
fn message() -> Vec<u8> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const LOOPBACK: i32 = 1;
    const UP: u32 = 1;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes()); // the number of this message
    message.extend(0_u32.to_ne_bytes()); // from whom: the kernel fills it in
    message.extend([0; 4]); // any family, any type
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes()); // which flags change
    message
}

/// The error number of an acknowledgement, 0 for none, negative as the kernel writes it.
fn error_of(answer: &[u8]) -> Option<i32> {
    const ERROR: u16 = 2;
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    (kind == ERROR).then(|| answer.get(16..20)?.try_into().ok().map(i32::from_ne_bytes)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_as_long_as_it_says_and_an_answer_is_read_by_position() {
        assert_eq!(message().len(), 32);
        let mut answer = vec![0; 36];
        answer[4] = 2;
        assert_eq!(error_of(&answer), Some(0));
        answer[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(error_of(&answer), Some(-1));
        assert_eq!(error_of(&answer[..18]), None);
        answer[4] = 3;
        assert_eq!(error_of(&answer), None);
    }
}
