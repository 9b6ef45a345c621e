//! What no program may do to files although they are its own: give them away with its rights, or hold up who opens them.
//!
//! A file in a writable root belongs on the host to whoever runs the server, root among them: one with a set-user-id bit would run as that user,
//! started by anybody who finds it. `nosuid` holds inside the jail alone.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// Refuses every call that makes a file with a set-user-id or set-group-id bit, or sets one, and leases on files, for which whoever opens the
/// file next has to wait (`fcntl(2)`, `/proc/sys/fs/lease-break-time`). `openat2` has its mode behind a pointer and is not among them.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn refused() -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for (call, mode) in SETTING {
        for bit in BITS {
            rules.entry(*call).or_default().push(rule(&[(*mode, bit, bit)])?);
        }
    }
    for (call, flags) in OPENING {
        for (making, bit) in MAKING.iter().flat_map(|making| BITS.map(|bit| (*making, bit))) {
            rules.entry(*call).or_default().push(rule(&[(*flags, making, making), (*flags + 1, bit, bit)])?);
        }
    }
    let commands = COMMANDS.map(|command| rule(&[(1, u64::from(u32::MAX), command)]));
    rules.insert(libc::SYS_fcntl, commands.into_iter().collect::<Result<_, _>>()?);
    Ok(rules)
}

/// When each of these arguments has this value under this mask.
fn rule(conditions: &[(u8, u64, u64)]) -> Result<SeccompRule, String> {
    let condition = |(index, mask, value): &(u8, u64, u64)| {
        SeccompCondition::new(*index, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(*mask), *value).map_err(|e| e.to_string())
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?).map_err(|e| e.to_string())
}

/// `S_ISUID` and `S_ISGID` (`inode(7)`).
const BITS: [u64; 2] = [0o4000, 0o2000];
/// `O_CREAT` and `__O_TMPFILE`: without one of them the mode is not looked at and may be anything.
const MAKING: [u64; 2] = [libc::O_CREAT.unsigned_abs() as u64, 0o20_000_000];
/// `F_SETLEASE`, `F_SETDELEG` of Linux 6.19, and `F_NOTIFY`, which tells what others do in a folder.
const COMMANDS: [u64; 3] = [1024, 1040, 1026];

/// Which argument is the mode.
const SETTING: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_mknodat, 2),
    // fchmodat2, the same number on every architecture.
    (452, 2),
];

/// Which argument holds the flags; the mode comes after it.
const OPENING: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];
