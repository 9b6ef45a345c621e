//! Where in the hierarchies of control groups this process may make its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::scope;

/// The two kinds of hierarchies (cgroups(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// One hierarchy for each controller.
    One,
    /// One for all.
    Two,
}

/// What bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    /// Memory.
    Memory,
    /// Shares of processors.
    Cpu,
    /// Nothing: processor time is only counted. In version 2 that needs no controller (`cpu.stat` in cgroups(7)).
    CpuTime,
}

/// A folder in which groups might be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The folder.
    pub(super) folder: PathBuf,
    /// Its kind.
    pub(super) version: Version,
    /// For what it was found.
    pub(super) controller: Controller,
    /// In version 2: whether its groups have shares of processors as well.
    pub(super) has_cpu: bool,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Candidates {
    /// For memory, or why there is none.
    pub(super) memory: Result<Candidate, String>,
    /// For shares, or why there is none.
    pub(super) cpu: Result<Candidate, String>,
    /// Where processor time is counted, for programs whose other groups do not count it, or why nowhere.
    pub(super) cpu_time: Result<Candidate, String>,
}

/// Finds the places that pass the trial: our own groups, then a scope that systemd delegates, then the group above ours.
pub(super) fn all(works: impl Fn(&Candidate) -> bool) -> Candidates {
    let hierarchy = || Hierarchy::read(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"));
    let none = || Err(String::new());
    let mut found = Candidates { memory: none(), cpu: none(), cpu_time: none() };
    let hierarchy_now = hierarchy();
    for controller in [Controller::Memory, Controller::Cpu] {
        let mut place = hierarchy_now.find(controller, &works);
        if place.is_none() && hierarchy_now.unified.is_some() && scope::ask() {
            // The move is done some time after it was asked for.
            let deadline = Instant::now() + Duration::from_millis(500);
            while place.is_none() && Instant::now() < deadline {
                let moved = hierarchy();
                place = (moved != hierarchy_now).then(|| moved.find(controller, &works)).flatten();
                let _ = rustix::event::poll(&mut [], Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 5_000_000 }));
            }
        }
        let place = place.or_else(|| hierarchy_now.find_above(controller, &works));
        let place = place.ok_or_else(|| hierarchy_now.lack(controller));
        match controller {
            Controller::Memory => found.memory = place,
            Controller::Cpu | Controller::CpuTime => found.cpu = place,
        }
    }
    // Last: in version 2 the groups for the others count it, and this process may be in another group by now.
    let hierarchy_now = hierarchy();
    found.cpu_time = hierarchy_now.find(Controller::CpuTime, &works).ok_or_else(|| hierarchy_now.lack(Controller::CpuTime));
    found
}

/// The groups this process is in.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hierarchy {
    memory: Option<PathBuf>,
    cpu: Option<PathBuf>,
    cpu_time: Option<PathBuf>,
    unified: Option<PathBuf>,
    /// Where the one of version 2 is mounted.
    top: PathBuf,
}

impl Hierarchy {
    /// Reads what `/proc/self/mountinfo` and `/proc/self/cgroup` say.
    fn read(mounts: &str, own: &str) -> Self {
        let mut found = Self::default();
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
                    wanted(number, controllers)
                        .then(|| Path::new(point).join(path.strip_prefix(root).unwrap_or(path).trim_start_matches('/')))
                })
            };
            let has = |name: &str| *kind == "cgroup" && options.split(',').any(|option| option == name);
            let of = |name: &'static str| path(&move |_, controllers| controllers.split(',').any(|one| one == name));
            if has("memory") {
                found.memory = found.memory.or_else(|| of("memory"));
            }
            if has("cpu") {
                found.cpu = found.cpu.or_else(|| of("cpu"));
            }
            if has("cpuacct") {
                found.cpu_time = found.cpu_time.or_else(|| of("cpuacct"));
            }
            if *kind == "cgroup2" && found.unified.is_none() {
                found.unified = path(&|number, _| number == "0");
                found.top = PathBuf::from(point);
            }
        }
        found
    }

    fn find(&self, controller: Controller, works: &impl Fn(&Candidate) -> bool) -> Option<Candidate> {
        let own = match controller {
            Controller::Memory => &self.memory,
            Controller::Cpu => &self.cpu,
            Controller::CpuTime => &self.cpu_time,
        };
        let one = own.clone().map(|folder| Candidate { folder, version: Version::One, controller, has_cpu: false });
        let two = || match controller {
            Controller::CpuTime => {
                self.unified.clone().map(|folder| Candidate { folder, version: Version::Two, controller, has_cpu: false })
            }
            _ => self.unified.as_deref().and_then(|folder| ready(folder, controller)),
        };
        one.filter(works).or_else(|| two().filter(works))
    }

    /// The group above ours, where its groups have the controller already.
    fn find_above(&self, controller: Controller, works: &impl Fn(&Candidate) -> bool) -> Option<Candidate> {
        let above = self.unified.as_deref()?.parent().filter(|above| above.starts_with(&self.top))?;
        gives(above, controller).filter(works)
    }

    fn lack(&self, controller: Controller) -> String {
        let name = word(controller);
        let known =
            if self.memory.is_none() && self.cpu.is_none() && self.unified.is_none() { "is not mounted" } else { "is not ours to use" };
        format!("the {name} controller {known}; run in a delegated scope, e.g. `systemd-run --user --scope -p Delegate=yes`")
    }
}

/// Makes a group of version 2 ready to have groups of its own: its processes, which must be ours, go into one of them first, since a group with
/// processes gives no controller to others (cgroups(7), no internal processes).
fn ready(folder: &Path, controller: Controller) -> Option<Candidate> {
    if let Some(given) = gives(folder, controller) {
        return Some(given);
    }
    let offered = fs::read_to_string(folder.join("cgroup.controllers")).ok()?;
    if !offered.split_ascii_whitespace().any(|name| name == word(controller)) {
        return None;
    }
    let inside: Vec<u32> = pids(folder)?;
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs());
    let own = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
    if inside.iter().any(|pid| ![own, parent].contains(pid)) {
        return None;
    }
    let leaf = folder.join(LEAF);
    if !inside.is_empty() {
        let made = fs::create_dir(&leaf);
        if made.is_err_and(|e| e.kind() != std::io::ErrorKind::AlreadyExists) {
            return None;
        }
        for pid in &inside {
            fs::write(leaf.join("cgroup.procs"), pid.to_string()).ok()?;
        }
    }
    for name in ["memory", "cpu", "pids"] {
        if offered.split_ascii_whitespace().any(|offered| offered == name) {
            let _ = fs::write(folder.join("cgroup.subtree_control"), format!("+{name}"));
        }
    }
    gives(folder, controller)
}

/// Where the server and the spawner go.
const LEAF: &str = "toolgate-server";

/// A candidate, where the groups of this folder have the controller.
fn gives(folder: &Path, controller: Controller) -> Option<Candidate> {
    let given = fs::read_to_string(folder.join("cgroup.subtree_control")).ok()?;
    let has = |name: &str| given.split_ascii_whitespace().any(|given| given.trim_start_matches('+') == name);
    has(word(controller)).then(|| Candidate { folder: folder.to_owned(), version: Version::Two, controller, has_cpu: has("cpu") })
}

fn word(controller: Controller) -> &'static str {
    match controller {
        Controller::Memory => "memory",
        Controller::Cpu => "cpu",
        Controller::CpuTime => "cpuacct",
    }
}

fn pids(folder: &Path) -> Option<Vec<u32>> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).ok()?;
    text.lines().map(|line| line.parse().ok()).collect()
}

/// A file of `/proc`; what cannot be read names no group.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_groups_are_found_in_both_versions_also_below_a_shifted_root() {
        let mounts = "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      31 25 0:27 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let own = "4:memory:/a/b\n1:cpu,cpuacct:/docker/abc/x\n0::/user.slice/x.scope\n";
        let expected = Hierarchy {
            memory: Some(PathBuf::from("/sys/fs/cgroup/memory/a/b")),
            cpu: Some(PathBuf::from("/sys/fs/cgroup/cpu/x")),
            cpu_time: Some(PathBuf::from("/sys/fs/cgroup/cpu/x")),
            unified: Some(PathBuf::from("/sys/fs/cgroup/unified/user.slice/x.scope")),
            top: PathBuf::from("/sys/fs/cgroup/unified"),
        };
        assert_eq!(Hierarchy::read(mounts, own), expected);
        assert_eq!(Hierarchy::read("", own), Hierarchy::default());
        assert!(Hierarchy::default().lack(Controller::Cpu).contains("is not mounted"));
    }

    /// A folder that looks like a group of version 2.
    fn group(controllers: &str, given: &str, inside: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("cgroup.controllers", controllers), ("cgroup.subtree_control", given), ("cgroup.procs", inside)] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn a_group_that_gives_its_controllers_already_is_taken_as_it_is() {
        let folder = group("cpu memory pids\n", "cpu memory\n", "");
        let expected = Candidate { folder: folder.path().to_owned(), version: Version::Two, controller: Controller::Memory, has_cpu: true };
        assert_eq!(ready(folder.path(), Controller::Memory), Some(expected));
        assert!(!folder.path().join(LEAF).exists());
    }

    #[test]
    fn our_own_processes_step_aside_and_strangers_are_left_alone() {
        let own = std::process::id();
        let delegated = group("cpu memory pids\n", "\n", &format!("{own}\n"));
        // The kernel's file grows with each word; a file of a plain folder has the last one.
        assert!(ready(delegated.path(), Controller::Memory).is_none());
        assert_eq!(fs::read_to_string(delegated.path().join(LEAF).join("cgroup.procs")).unwrap(), own.to_string());
        assert_eq!(fs::read_to_string(delegated.path().join("cgroup.subtree_control")).unwrap(), "+pids");
        let shared = group("cpu memory\n", "\n", &format!("{own}\n1\n"));
        assert_eq!(ready(shared.path(), Controller::Memory), None);
        assert!(!shared.path().join(LEAF).exists());
        assert_eq!(fs::read_to_string(shared.path().join("cgroup.subtree_control")).unwrap(), "\n");
    }

    #[test]
    fn processor_time_is_counted_in_a_hierarchy_of_its_own_or_in_any_group_of_version_2() {
        let mounts = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n31 25 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n";
        let found = Hierarchy::read(mounts, "2:cpuacct:/a\n1:cpu:/b\n");
        assert_eq!(found.cpu_time, Some(PathBuf::from("/sys/fs/cgroup/cpuacct/a")));
        let folder = group("\n", "\n", &format!("{}\n", std::process::id()));
        let two = Hierarchy { unified: Some(folder.path().to_owned()), ..Hierarchy::default() };
        let candidate =
            Candidate { folder: folder.path().to_owned(), version: Version::Two, controller: Controller::CpuTime, has_cpu: false };
        assert_eq!(two.find(Controller::CpuTime, &|_| true), Some(candidate));
        assert_eq!((two.find(Controller::CpuTime, &|_| false), two.find(Controller::Cpu, &|_| true)), (None, None));
    }

    #[test]
    fn a_group_without_the_controller_is_none() {
        let folder = group("hugetlb\n", "\n", "");
        assert_eq!(ready(folder.path(), Controller::Memory), None);
        assert_eq!(ready(folder.path(), Controller::Cpu), None);
    }
}
