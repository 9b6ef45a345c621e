//! What lies at a path below a folder, found without a link anywhere on the way.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// Opens what lies at a path below a folder; a link is no way to it, and as the last name it is opened itself (with `PATH`) or refused. `path`: relative,
/// `/` between segments. `flags`: beside `NOFOLLOW` and `CLOEXEC`.
///
/// # Errors
/// What the kernel said: `LOOP` or `NOTDIR` where a link is on the way, `NOENT` where nothing lies there.
pub(super) fn open(folder: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(&folder, path, flags, Mode::empty(), resolve) {
        // Name by name, where the path is too long for one call, or something was renamed meanwhile.
        Err(Errno::NAMETOOLONG | Errno::AGAIN) => by_name(folder, path, flags),
        opened => opened,
    }
}

fn by_name(folder: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let way = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (above, last) = path.rsplit_once('/').map_or((None, path), |(above, last)| (Some(above), last));
    let mut at = openat(folder, ".", way, Mode::empty())?;
    for name in above.into_iter().flat_map(|above| above.split('/')) {
        at = openat(&at, segment(name)?, way, Mode::empty())?;
    }
    openat(&at, segment(last)?, flags, Mode::empty())
}

/// A name that leads nowhere but one step down.
fn segment(name: &str) -> Result<&str, Errno> {
    if matches!(name, "" | "." | "..") { Err(Errno::INVAL) } else { Ok(name) }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Stat, fstat};

    use super::*;

    fn object(facts: &Stat) -> (u64, u64) {
        (facts.st_dev, facts.st_ino)
    }

    fn look(folder: impl AsFd, path: &str) -> Result<Stat, Errno> {
        fstat(open(folder, path, OFlags::PATH)?)
    }

    #[test]
    fn what_lies_behind_a_link_is_not_below_a_folder_however_long_the_path_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("real/sub")).unwrap();
        std::fs::write(at("real/sub/file"), "x").unwrap();
        std::os::unix::fs::symlink("real", at("way")).unwrap();
        let dir = std::fs::File::open(folder.path()).unwrap();
        let there = look(&dir, "real/sub/file").unwrap();
        assert_eq!(object(&there), object(&rustix::fs::stat(at("way/sub/file")).unwrap()));
        assert_eq!(look(&dir, "way/sub/file").unwrap_err(), Errno::LOOP);
        assert_eq!(object(&look(&dir, "way").unwrap()), object(&rustix::fs::lstat(at("way")).unwrap()));
        assert_eq!(
            by_name(&dir, "real/sub/file", OFlags::PATH | OFlags::NOFOLLOW).map(|fd| object(&fstat(fd).unwrap())),
            Ok(object(&there))
        );
        for refused in ["way/sub/file", "real/../real/sub/file", "/etc/passwd", ""] {
            assert!(by_name(&dir, refused, OFlags::PATH | OFlags::NOFOLLOW).is_err(), "{refused}");
        }
        // Deeper than one call takes.
        let deep = vec!["d".repeat(200); 30];
        let mut below = open(&dir, "real", OFlags::PATH).unwrap();
        for name in &deep {
            rustix::fs::mkdirat(&below, name.as_str(), rustix::fs::Mode::RWXU).unwrap();
            below = open(&below, name, OFlags::PATH).unwrap();
        }
        let (long, through) = (format!("real/{}", deep.join("/")), format!("way/{}", deep.join("/")));
        assert_eq!(look(&dir, &long).map(|facts| object(&facts)), Ok(object(&fstat(&below).unwrap())));
        assert!(look(&dir, &through).is_err());
    }
}
