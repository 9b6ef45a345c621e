//! Control groups, where they can be had: the one bound that counts every page of all processes together, and the only one on the share of a
//! processor.

#![expect(clippy::disallowed_methods, reason = "the spawner writes to control groups of its own, which no program can reach")]

mod find;
mod scope;

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::end::Limit;
use crate::spec::Limits;
use find::{Candidate, Controller, Version};

/// Where groups can be made, for each of the controllers; in version 2 it is one folder.
#[derive(Debug)]
pub(super) struct Parents {
    memory: Result<Candidate, String>,
    cpu: Result<Candidate, String>,
    cpu_time: Result<Candidate, String>,
}

/// The groups of one jail. Dropping it removes them, as far as their processes are gone.
#[derive(Debug, Default)]
pub(crate) struct Group {
    folders: Vec<PathBuf>,
    /// A process of one thread that writes `0` to each is in.
    procs: Vec<File>,
    /// Counts the processes killed for memory.
    kills: Option<File>,
    /// Counts processor time.
    cpu_time: Option<File>,
    /// What could not be had.
    lacks: Lacks,
}

/// What of a group could not be had, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lacks {
    /// The bound on memory.
    pub(crate) memory: Option<String>,
    /// The share of a processor.
    pub(crate) cpu: Option<String>,
    /// The count of processor time.
    pub(crate) cpu_time: Option<String>,
    /// Whether no share needs a bound: it is the whole machine.
    pub(crate) all_cpu: bool,
}

impl Parents {
    /// Finds out by making groups and taking them away again.
    pub(super) fn find() -> Self {
        let found = find::all(|candidate| {
            let mut trial = Group::default();
            trial.add(candidate, &TRIAL).is_ok()
        });
        for candidate in [&found.memory, &found.cpu, &found.cpu_time].into_iter().flatten() {
            sweep(&candidate.folder);
        }
        Self { memory: found.memory, cpu: found.cpu, cpu_time: found.cpu_time }
    }

    /// Whether shares of processors can be bounded.
    pub(super) fn has_cpu(&self) -> bool {
        self.cpu.is_ok()
    }

    /// Makes the groups of a jail.
    pub(super) fn make(&self, limits: &Limits) -> Group {
        // Also where no share needs a bound: the weight lets programs yield to the server.
        let mut group = Group::default();
        group.lacks.all_cpu = !limits.shares();
        group.lacks.memory = self.memory.as_ref().map_err(Clone::clone).and_then(|place| group.add(place, limits)).err();
        // One folder has both in version 2.
        let has_both = self.cpu.as_ref().is_ok_and(|place| place.version == Version::Two) && group.lacks.memory.is_none();
        if !has_both {
            let lack = self.cpu.as_ref().map_err(Clone::clone).and_then(|place| group.add(place, limits)).err();
            group.lacks.cpu = lack.filter(|_| !group.lacks.all_cpu);
        }
        if group.cpu_time.is_none() {
            group.lacks.cpu_time = self.cpu_time.as_ref().map_err(Clone::clone).and_then(|place| group.add(place, limits)).err();
        }
        group
    }
}

/// Limits with which it is tried whether a group can be made.
const TRIAL: Limits = Limits {
    wall: std::time::Duration::ZERO,
    cpu: std::time::Duration::ZERO,
    cpu_share: 100,
    memory: 64 << 20,
    processes: 16,
    open_files: 0,
    file_size: 0,
    scratch: 0,
};

impl Group {
    /// Makes one group at a place.
    fn add(&mut self, place: &Candidate, limits: &Limits) -> Result<(), String> {
        let folder = place.folder.join(new_name().map_err(|e| e.to_string())?);
        fs::create_dir(&folder).map_err(|e| e.to_string())?;
        self.folders.push(folder.clone());
        fit_out(place, &folder, limits)?;
        let open = |name: &str| File::open(folder.join(name)).ok();
        if place.controller == Controller::Memory {
            self.kills = open(if place.version == Version::Two { "memory.events" } else { "memory.oom_control" });
        }
        self.cpu_time = self.cpu_time.take().or_else(|| open(if place.version == Version::Two { "cpu.stat" } else { "cpuacct.usage" }));
        // In version 1 a thread that writes itself to `tasks` moves at once; who writes to `cgroup.procs` waits until all processors have passed a
        // quiet state, some ten milliseconds (`cgroup_threadgroup_rwsem`).
        let open = |name| fs::OpenOptions::new().write(true).open(folder.join(name));
        self.procs.push(open("tasks").or_else(|_| open("cgroup.procs")).map_err(|e| e.to_string())?);
        Ok(())
    }

    /// Takes the caller in, which has one thread. What could not be had comes back.
    pub(crate) fn enter(&self) -> Lacks {
        match self.procs.iter().try_for_each(|mut door| door.write_all(b"0")) {
            Ok(()) => self.lacks.clone(),
            Err(reason) => {
                let reason = Some(reason.to_string());
                Lacks { memory: reason.clone(), cpu: reason.clone(), cpu_time: reason, all_cpu: false }
            }
        }
    }

    /// The file that counts the processes killed for memory, for [`kills`] in any process.
    pub(crate) fn kills(&self) -> Option<&File> {
        self.kills.as_ref()
    }

    /// The file that counts the processor time, for [`cpu_time`].
    pub(crate) fn cpu_time(&self) -> Option<&File> {
        self.cpu_time.as_ref()
    }

    /// Every descriptor that it holds.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.procs.iter().chain(&self.kills).chain(&self.cpu_time).map(AsRawFd::as_raw_fd)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            // Whoever is left in it, of whatever parent. Version 1 has no such file.
            let _ = fs::write(folder.join("cgroup.kill"), "1");
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Sets the bounds of a group.
fn fit_out(place: &Candidate, folder: &Path, limits: &Limits) -> Result<(), String> {
    let write = |file: &str, value: &str| fs::write(folder.join(file), value).map_err(|e| format!("{file}: {e}"));
    let quota = u64::from(limits.cpu_share).max(1).saturating_mul(PERIOD_US) / 100;
    match (place.version, place.controller) {
        (Version::One, Controller::Memory) => {
            write("memory.limit_in_bytes", &limits.memory.to_string())?;
            // Only there when the kernel counts swap; without it what is swapped out is not counted.
            let _ = write("memory.memsw.limit_in_bytes", &limits.memory.to_string());
        }
        (Version::One, Controller::Cpu) => {
            write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            let _ = write("cpu.shares", &SHARES.to_string());
            if limits.shares() {
                write("cpu.cfs_quota_us", &quota.to_string())?;
            }
        }
        (_, Controller::CpuTime) => {}
        (Version::Two, controller) => {
            if controller == Controller::Memory {
                write("memory.max", &limits.memory.to_string())?;
                let _ = write("memory.swap.max", "0");
            }
            // Init and what starts it count as well; the exact bound is another.
            let _ = write("pids.max", &limits.processes.saturating_add(2).to_string());
            if place.has_cpu {
                let _ = write("cpu.weight", &WEIGHT.to_string());
                if limits.shares() {
                    write("cpu.max", &format!("{quota} {PERIOD_US}"))?;
                }
            }
        }
    }
    Ok(())
}

/// How much programs weigh on a processor that others want as well, in percent of a group that nothing was set for: they yield to the server, and
/// still get their part beside other work of the machine.
const WEIGHT: u64 = 50;
/// The same in version 1, which counts from 1024 where version 2 counts from 100 (`cpu.shares`, `cpu.weight`).
const SHARES: u64 = WEIGHT * 1024 / 100;
/// The time over which a share is counted; the kernel's own default.
const PERIOD_US: u64 = 100_000;

/// Removes what spawners left that were killed.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_left_over) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// What the names of our groups begin with; the number of who made it follows, which means something only among the processes that see it.
fn prefix() -> String {
    let namespace = rustix::fs::stat("/proc/self/ns/pid").map_or(0, |facts| facts.st_ino);
    format!("toolgate-{namespace}-")
}

/// A name that nothing has yet, and by which this process is known to be who made what has it.
pub(crate) fn new_name() -> Result<String, getrandom::Error> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random)?;
    Ok(format!("{}{}-{:016x}", prefix(), std::process::id(), u64::from_ne_bytes(random)))
}

/// The process that made what has this name. None for one of another process namespace, which cannot be seen.
fn maker(name: &str) -> Option<u32> {
    name.strip_prefix(&prefix())?.split('-').next()?.parse().ok()
}

/// Whether this process made what has this name.
pub(crate) fn is_own(name: &str) -> bool {
    maker(name) == Some(std::process::id())
}

/// Whether the process is gone that made what has this name.
pub(crate) fn is_left_over(name: &str) -> bool {
    maker(name).is_some_and(|maker| !Path::new(&format!("/proc/{maker}")).exists())
}

/// How many processes the kernel killed because the bound on memory was reached, by the file that counts them.
pub(crate) fn kills(counter: &File) -> u64 {
    text(counter).lines().find_map(|line| line.strip_prefix("oom_kill ")).and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// The limit that so many kills are of, and what shows it.
pub(crate) fn out_of_memory(kills: u64) -> (Limit, String) {
    (Limit::Memory, format!("oom_kill {kills}: the kernel stopped {kills} of its processes at the memory limit"))
}

/// The processor time of all that were ever in a group, in milliseconds, by the file that counts it.
pub(crate) fn cpu_time(counter: &File) -> Option<u64> {
    let text = text(counter);
    match text.lines().find_map(|line| line.strip_prefix("usage_usec ")) {
        Some(micros) => micros.trim().parse::<u64>().ok().map(|micros| micros / 1000),
        None => text.trim().parse::<u64>().ok().map(|nanos| nanos / 1_000_000),
    }
}

/// The first half KiB of a file of the kernel, as it is now.
pub(crate) fn text(file: &File) -> String {
    let mut text = [0_u8; 512];
    let count = file.read_at(&mut text, 0).unwrap_or(0);
    String::from_utf8_lossy(text.get(..count).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests;
