//! Which requests of `ioctl(2)` a program may make. The others reach code of file systems and devices that takes room no limit sees
//! (`FS_IOC_ZERO_RANGE`, extent size hints), changes attributes that Landlock leaves open, or types into a terminal.

use nix::libc;
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// Refuses every request that is not listed.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn refused() -> Result<Vec<SeccompRule>, String> {
    // The kernel takes an `unsigned int`: a filter that compared all 64 bits could be passed by setting a higher one.
    let other = |request: &u64| {
        SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *request & 0xffff_ffff).map_err(|e| e.to_string())
    };
    let conditions = LISTED.iter().map(other).collect::<Result<_, _>>()?;
    Ok(vec![SeccompRule::new(conditions).map_err(|e| e.to_string())?])
}

/// What `CPython` asks for in `os`, `termios`, `tty`, `pty`, `curses` and `socket`, and what libuv and shells do (`ioctl_tty(2)`, `ioctl(2)`).
/// `CPython` asks every stream that it opens whether it is a terminal, by `TCGETS`.
const LISTED: &[u64] = &[
    // Descriptors: closed on execution or kept, waiting or not, what is there to read.
    libc::FIOCLEX,
    libc::FIONCLEX,
    libc::FIONBIO,
    libc::FIONREAD,
    // Terminals: their modes, their size, what they still have to send.
    libc::TCGETS,
    libc::TCSETS,
    libc::TCSETSW,
    libc::TCSETSF,
    libc::TCGETS2,
    libc::TCSETS2,
    libc::TCSETSW2,
    libc::TCSETSF2,
    libc::TCSBRK,
    libc::TCSBRKP,
    libc::TCXONC,
    libc::TCFLSH,
    libc::TIOCOUTQ,
    libc::TIOCGWINSZ,
    libc::TIOCSWINSZ,
    // Jobs of a terminal.
    libc::TIOCSCTTY,
    libc::TIOCNOTTY,
    libc::TIOCGPGRP,
    libc::TIOCSPGRP,
    libc::TIOCGSID,
    // Pairs of terminals.
    libc::TIOCGPTN,
    libc::TIOCSPTLCK,
    libc::TIOCGPTLCK,
    libc::TIOCGPTPEER,
];
