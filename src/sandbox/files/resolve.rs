//! From a root's handle to an object below it, never through a link.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use super::stat::Stat;
use crate::model::{Kind, RelPath};
use crate::sandbox::below;

/// A handle (`O_PATH`: nothing is opened for reading, so a pipe or device notices nothing) on what stands at `path`.
/// The last name may be a link; the handle is then on the link itself.
///
/// # Errors
/// `ENOENT`; `ENOTDIR`; `ELOOP` for a link on the way.
pub(super) fn open(root: impl AsFd, path: &RelPath) -> Result<OwnedFd, Errno> {
    if path.is_root() { step(root, c".") } else { below::open(root, &path.to_string(), OFlags::PATH) }
}

/// A handle on one name of a held folder; on the link itself where it is one.
pub(super) fn step(folder: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    openat(folder, name, HANDLE, Mode::empty())
}

/// The same folder, opened so that its entries can be read. Works without `/proc`.
pub(super) fn open_folder(folder: impl AsFd) -> Result<OwnedFd, Errno> {
    openat(folder, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// The regular file that a handle is on, opened for reading: the same object, whatever its name leads to by now.
pub(super) fn open_file(handle: impl AsFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    openat(CWD, format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()), flags, Mode::empty())
}

/// The regular file at a path below a held folder, open for reading, with what it is.
///
/// # Errors
/// As [`open`]; `ELOOP` also for what is no regular file.
pub(super) fn open_below(folder: impl AsFd, path: &RelPath) -> Result<(OwnedFd, Stat), Errno> {
    let handle = open(folder, path)?;
    let seen = Stat::of(&handle)?;
    if seen.kind != Kind::File {
        return Err(Errno::LOOP);
    }
    Ok((open_file(&handle)?, seen))
}

/// Where following links ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Led {
    /// At this path of the same root, which holds no link as far as was seen; it is opened anew without links.
    To(RelPath),
    /// Out of the root, in a loop, or at a name that cannot be spoken of.
    Out,
}

/// Follows links from `path` inside one root, name by name. The last name is followed only when `last` says so.
/// `place` is the root's own path as text, so that an absolute link back into the root is understood; nothing is opened by it.
pub(super) fn follow(root: BorrowedFd<'_>, place: &[String], path: &RelPath, last: bool) -> Result<Led, Errno> {
    let mut left: Vec<String> = path.segments().iter().rev().cloned().collect();
    let mut reached: Vec<(String, OwnedFd)> = Vec::new();
    let mut links = 0;
    while let Some(name) = left.pop() {
        match name.as_str() {
            "" | "." => continue,
            ".." => {
                if reached.pop().is_none() {
                    return Ok(Led::Out);
                }
                continue;
            }
            _ => {}
        }
        let here = reached.last().map_or(root, |(_, folder)| folder.as_fd());
        let handle = match step(here, name.as_str()) {
            Ok(handle) => handle,
            // What is missing has no links below it: the rest is taken as it stands, if it cannot climb.
            Err(Errno::NOENT) => {
                let rest: Vec<String> = left.into_iter().rev().collect();
                if rest.iter().any(|part| matches!(part.as_str(), "" | "." | "..")) {
                    return Ok(Led::Out);
                }
                let names = reached.into_iter().map(|(name, _)| name).chain([name]).chain(rest);
                return Ok(led(names));
            }
            Err(errno) => return Err(errno),
        };
        if Stat::of(&handle)?.kind == Kind::Symlink && (last || !left.is_empty()) {
            links += 1;
            let Ok(target) = readlinkat(&handle, c"", Vec::new())?.into_string() else { return Ok(Led::Out) };
            if links > MOST_LINKS || target.is_empty() {
                return Ok(Led::Out);
            }
            let parts: Vec<String> = target.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            let parts = if target.starts_with('/') {
                reached.clear();
                match parts.strip_prefix(place) {
                    Some(inside) => inside.to_vec(),
                    None => return Ok(Led::Out),
                }
            } else {
                parts
            };
            left.extend(parts.into_iter().rev());
        } else {
            reached.push((name, handle));
        }
    }
    Ok(led(reached.into_iter().map(|(name, _)| name)))
}

fn led(names: impl Iterator<Item = String>) -> Led {
    let text = names.collect::<Vec<_>>().join("/");
    RelPath::parse(&text).map_or(Led::Out, Led::To)
}

const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// As many as the kernel follows (`path_resolution(7)`).
const MOST_LINKS: usize = 40;
