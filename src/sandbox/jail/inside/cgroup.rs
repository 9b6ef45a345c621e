//! Memory groups of the kernel, where they can be had: the one bound that counts every page of all processes together.

#![expect(clippy::disallowed_methods, reason = "the jail process writes to its own control group, which no program can reach yet")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A place in the hierarchy below which groups can be made.
#[derive(Debug, Clone)]
pub(super) struct Place {
    folder: PathBuf,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// One group. Dropping it removes it, as far as its processes are gone.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    // Opened by who may: the supervisor that reads it later is another user by then.
    counter: File,
}

impl Place {
    /// Finds a place by making a group there and taking it away again.
    ///
    /// # Errors
    /// Why there is none, for `isolation.layers`.
    pub(super) fn find() -> Result<Self, String> {
        let (mounts, own) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
        let candidates = candidates(&mounts, &own);
        for (folder, version) in &candidates {
            let place = Self { folder: folder.clone(), version: *version };
            if place.make(64 * 1024 * 1024).is_ok() {
                place.sweep();
                return Ok(place);
            }
        }
        let known = if candidates.is_empty() { "no memory controller is mounted" } else { "the memory controller is not ours to use" };
        Err(format!(
            "{known}; run in a delegated scope, e.g. `systemd-run --user --scope -p Delegate=yes`; until then memory is bounded by address space and by looking"
        ))
    }

    /// Makes a group with a bound in bytes.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(super) fn make(&self, bytes: u64) -> Result<Group, String> {
        let mut name = [0_u8; 8];
        getrandom::fill(&mut name).map_err(|e| e.to_string())?;
        let owner = rustix::process::getpid().as_raw_nonzero();
        let folder = self.folder.join(format!("{PREFIX}{owner}-{:016x}", u64::from_ne_bytes(name)));
        fs::create_dir(&folder).map_err(|e| e.to_string())?;
        let counter = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let counter = File::open(folder.join(counter)).map_err(|e| e.to_string())?;
        let group = Group { folder, counter };
        match self.version {
            Version::One => {
                group.write("memory.limit_in_bytes", bytes)?;
                // Only there when the kernel counts swap; without it what is swapped out is not counted.
                let _ = group.write("memory.memsw.limit_in_bytes", bytes);
            }
            Version::Two => {
                group.write("memory.max", bytes)?;
                let _ = group.write("memory.swap.max", 0);
            }
        }
        Ok(group)
    }
}

impl Place {
    /// Removes what spawners left that were killed.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
            if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// What the names of our groups begin with; the number of their spawner follows.
const PREFIX: &str = "toolgate-";

impl Group {
    /// Takes a process in; 0 is the caller. What it used before is not counted.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(super) fn take(&self, pid: i32) -> Result<(), String> {
        self.write("cgroup.procs", pid.unsigned_abs().into())
    }

    /// How many processes the kernel killed because the bound was reached.
    pub(super) fn kills(&self) -> u64 {
        let mut text = [0_u8; 512];
        let count = self.counter.read_at(&mut text, 0).unwrap_or(0);
        kills(&String::from_utf8_lossy(text.get(..count).unwrap_or_default()))
    }

    fn write(&self, file: &str, value: u64) -> Result<(), String> {
        fs::write(self.folder.join(file), value.to_string()).map_err(|e| e.to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| e.to_string())
}

fn kills(text: &str) -> u64 {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")).and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Folders in which a group may be made: our own of version 1; in version 2 our own or its parent, since a group with
/// processes of its own has no children with a bound (cgroups(7), no internal processes).
fn candidates(mounts: &str, own: &str) -> Vec<(PathBuf, Version)> {
    let mut found = Vec::new();
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let (Some(root), Some(point), Some(kind), Some(options)) = (left.get(3), left.get(4), right.first(), right.get(2)) else {
            continue;
        };
        let path = |wanted: &dyn Fn(&str, &str) -> bool| {
            let mut lines = own.lines().map(|line| line.splitn(3, ':'));
            lines.find_map(|mut parts| {
                let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
                wanted(number, controllers).then(|| Path::new(point).join(path.strip_prefix(root).unwrap_or(path).trim_start_matches('/')))
            })
        };
        if *kind == "cgroup" && options.split(',').any(|option| option == "memory") {
            found.extend(path(&|_, controllers| controllers.split(',').any(|name| name == "memory")).map(|folder| (folder, Version::One)));
        }
        if *kind == "cgroup2"
            && let Some(folder) = path(&|number, _| number == "0")
        {
            let parent = folder.parent().filter(|parent| parent.starts_with(point)).map(|parent| (parent.to_owned(), Version::Two));
            found.push((folder, Version::Two));
            found.extend(parent);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_in_both_versions_also_below_a_shifted_root() {
        let mounts = "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      31 25 0:27 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let own = "4:memory:/a/b\n1:cpu:/\n0::/user.slice/x.scope\n";
        let expected = [
            (PathBuf::from("/sys/fs/cgroup/memory/a/b"), Version::One),
            (PathBuf::from("/sys/fs/cgroup/unified/user.slice/x.scope"), Version::Two),
            (PathBuf::from("/sys/fs/cgroup/unified/user.slice"), Version::Two),
        ];
        assert_eq!(candidates(mounts, own), expected);
        assert_eq!(candidates("", own), []);
    }

    #[test]
    fn kills_are_read_from_both_versions() {
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), 3);
        assert_eq!(kills("low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 0\n"), 2);
        assert_eq!(kills(""), 0);
    }
}
