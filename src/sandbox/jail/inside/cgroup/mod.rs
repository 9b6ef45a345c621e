//! Control groups of the kernel, where they can be had: the one bound that counts every page of all processes together, and the only one on
//! the share of a processor.

#![expect(clippy::disallowed_methods, reason = "the jail process writes to its own control group, which no program can reach yet")]

mod find;
mod scope;

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::sandbox::jail::spec::Limits;
use find::{Candidate, Version};

/// Where groups can be made, for each of the controllers; in version 2 it is one folder.
#[derive(Debug)]
pub(super) struct Place {
    memory: Result<Candidate, String>,
    cpu: Result<Candidate, String>,
    cpu_time: Result<Candidate, String>,
    /// Groups whose processes are dead, as good as new.
    idle: Vec<Group>,
}

/// So many groups are kept for the next calls: to make and to remove one is a twentieth of a call.
const MOST_IDLE: usize = 8;
/// So much may still be counted in a group that serves again, in bytes: what the kernel keeps of files that a program looked at, and what it
/// counts ahead for each processor.
const LEFT_OVER: u64 = 1024 * 1024;

/// The groups of one call. Dropping them removes them, as far as their processes are gone.
#[derive(Debug)]
pub(super) struct Group {
    memory: Option<Bound>,
    cpu: Option<Bound>,
    /// Where neither of the others counts processor time.
    cpu_time: Option<Bound>,
    lacks: Lacks,
    limits: Limits,
    /// The processor time that was counted in it before, in microseconds.
    before: u64,
}

/// What of a group could not be had, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lacks {
    /// The bound on memory.
    pub(super) memory: Option<String>,
    /// The share of a processor.
    pub(super) cpu: Option<String>,
    /// The count of processor time.
    pub(super) cpu_time: Option<String>,
    /// Whether no share needs a bound: it is the whole machine. Who is in a group sees no more of the machine than its share.
    pub(super) all_cpu: bool,
}

#[derive(Debug)]
struct Bound {
    folder: PathBuf,
    // Opened by who may: the supervisor that reads it later is another user by then.
    counter: File,
    /// What is counted in it now, where that can be asked.
    usage: Option<File>,
    /// The processor time of all that were ever in it, where that is counted.
    cpu_time: Option<File>,
    /// Who writes `0` to it is in.
    door: File,
    /// Where the share of a processor is set, and to what: what was used of it is forgotten when it is set again.
    share: Option<(File, String)>,
}

impl Place {
    /// Finds out by making groups and taking them away again.
    pub(super) fn find() -> Self {
        let found = find::all(|candidate| {
            let limits = Limits { memory: 64 * 1024 * 1024, ..Limits::default() };
            make(candidate, &limits).is_ok()
        });
        for candidate in [&found.memory, &found.cpu, &found.cpu_time].into_iter().flatten() {
            sweep(&candidate.folder);
        }
        Self { memory: found.memory, cpu: found.cpu, cpu_time: found.cpu_time, idle: Vec::new() }
    }

    /// Whether shares of processors can be bounded.
    pub(super) fn has_cpu(&self) -> bool {
        self.cpu.is_ok()
    }

    /// Makes the groups of a call, or has one from an earlier call.
    pub(super) fn make(&mut self, limits: &Limits) -> Group {
        if let Some(at) = self.idle.iter().position(|group| group.fits(limits)) {
            let mut group = self.idle.swap_remove(at);
            group.before = group.counted();
            return group;
        }
        let mut group = Group { memory: None, cpu: None, cpu_time: None, lacks: Lacks::default(), limits: *limits, before: 0 };
        match self.memory.clone().and_then(|place| make(&place, limits)) {
            Ok(bound) => group.memory = Some(bound),
            Err(reason) => group.lacks.memory = Some(reason),
        }
        // Also where no share needs a bound: the weight lets programs yield to the server.
        group.lacks.all_cpu = !limits.shares();
        match &self.cpu {
            // One folder has both in version 2.
            Ok(place) if place.version == Version::Two && group.memory.is_some() => {}
            place => match place.clone().and_then(|place| make(&place, limits)) {
                Ok(bound) => group.cpu = Some(bound),
                Err(_) if group.lacks.all_cpu => {}
                Err(reason) => group.lacks.cpu = Some(reason),
            },
        }
        if group.bounds().all(|bound| bound.cpu_time.is_none()) {
            match self.cpu_time.clone().and_then(|place| make(&place, limits)) {
                Ok(bound) => group.cpu_time = Some(bound),
                Err(reason) => group.lacks.cpu_time = Some(reason),
            }
        }
        group
    }

    /// Takes a group whose processes are dead: for a later call, where nothing in it tells of this one, else to remove it.
    pub(super) fn take_back(&mut self, group: Group) {
        if self.idle.len() < MOST_IDLE && group.is_as_new() {
            self.idle.push(group);
        }
    }

    /// Removes what is kept.
    pub(super) fn clear(&mut self) {
        self.idle.clear();
    }

    /// In a forked process: what is to be closed there.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.idle.iter().flat_map(Group::descriptors)
    }
}

fn make(place: &Candidate, limits: &Limits) -> Result<Bound, String> {
    let mut name = [0_u8; 8];
    getrandom::fill(&mut name).map_err(|e| e.to_string())?;
    let owner = rustix::process::getpid().as_raw_nonzero();
    let folder = place.folder.join(format!("{}{owner}-{:016x}", prefix(), u64::from_ne_bytes(name)));
    fs::create_dir(&folder).map_err(|e| e.to_string())?;
    let fitted = fit_out(place, &folder, limits).and_then(|counter| {
        let usage = ["memory.usage_in_bytes", "memory.current"].iter().find_map(|name| File::open(folder.join(name)).ok());
        // Version 1 counts it in a controller that often has a hierarchy of its own.
        let counts = if place.version == Version::Two { "cpu.stat" } else { "cpuacct.usage" };
        let cpu_time = File::open(folder.join(counts)).ok();
        Ok(Bound { counter, usage, cpu_time, door: door(&folder)?, share: share(place, &folder, limits)?, folder: folder.clone() })
    });
    fitted.inspect_err(|_| {
        let _ = fs::remove_dir(&folder);
    })
}

/// Sets the share of a processor and how little it weighs beside others, where this group has it.
fn share(place: &Candidate, folder: &Path, limits: &Limits) -> Result<Option<(File, String)>, String> {
    match (place.version, place.controller) {
        (Version::One, find::Controller::Cpu) => drop(fs::write(folder.join("cpu.shares"), SHARES.to_string())),
        (Version::Two, _) if place.has_cpu => drop(fs::write(folder.join("cpu.weight"), WEIGHT.to_string())),
        _ => {}
    }
    if !limits.shares() {
        return Ok(None);
    }
    let quota = u64::from(limits.cpu_share).max(1).saturating_mul(PERIOD_US) / 100;
    let (name, value) = match (place.version, place.controller) {
        (Version::One, find::Controller::Cpu) => ("cpu.cfs_quota_us", quota.to_string()),
        (Version::Two, _) if place.has_cpu => ("cpu.max", format!("{quota} {PERIOD_US}")),
        _ => return Ok(None),
    };
    let set = fs::OpenOptions::new().write(true).open(folder.join(name));
    let share = (set.map_err(|e| format!("{name}: {e}"))?, value);
    set_again(&share).map_err(|e| format!("{name}: {e}"))?;
    Ok(Some(share))
}

/// Sets it to what it is: the kernel then begins a period with the whole of it (`tg_set_cfs_bandwidth`).
fn set_again((file, value): &(File, String)) -> std::io::Result<()> {
    file.write_all_at(value.as_bytes(), 0)
}

/// Opens the file by which a process comes in. In version 1 that is `tasks`. A thread that moves itself there moves at once; who moves others, or writes to `cgroup.procs`, stops every fork
/// and every end of a process until all processors have passed a quiet state, some ten milliseconds (`cgroup_threadgroup_rwsem`).
fn door(folder: &Path) -> Result<File, String> {
    let open = |name| fs::OpenOptions::new().write(true).open(folder.join(name));
    open("tasks").or_else(|_| open("cgroup.procs")).map_err(|e| e.to_string())
}

/// Sets the bounds of a group, and opens what counts its kills.
fn fit_out(place: &Candidate, folder: &Path, limits: &Limits) -> Result<File, String> {
    let write = |file: &str, value: &str| fs::write(folder.join(file), value).map_err(|e| format!("{file}: {e}"));
    let open = |file: &str| File::open(folder.join(file)).map_err(|e| format!("{file}: {e}"));
    match (place.version, place.controller) {
        (Version::One, find::Controller::Memory) => {
            write("memory.limit_in_bytes", &limits.memory.to_string())?;
            // Only there when the kernel counts swap; without it what is swapped out is not counted.
            let _ = write("memory.memsw.limit_in_bytes", &limits.memory.to_string());
            open("memory.oom_control")
        }
        (Version::One, find::Controller::Cpu) => {
            write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            open("cpu.stat")
        }
        (Version::One, find::Controller::CpuTime) => open("cpuacct.usage"),
        (Version::Two, find::Controller::CpuTime) => open("cpu.stat"),
        (Version::Two, controller) => {
            if controller == find::Controller::Memory {
                write("memory.max", &limits.memory.to_string())?;
                let _ = write("memory.swap.max", "0");
            }
            // The supervisor and its child count as well; the exact bound is another.
            let _ = write("pids.max", &limits.processes.saturating_add(2).to_string());
            open(if controller == find::Controller::Memory { "memory.events" } else { "cpu.stat" })
        }
    }
}

/// How much the programs of a call weigh on a processor that others want as well, in percent of a group that nothing was set for: half. They yield
/// to the server, whose one thread weighs twice as much as all of them together, and still get their part beside other work of the machine.
/// Where nothing else wants the processor the weight changes nothing.
const WEIGHT: u64 = 50;
/// The same in version 1, which counts from 1024 where version 2 counts from 100 (`cpu.shares`, `cpu.weight`).
const SHARES: u64 = WEIGHT * 1024 / 100;

/// The time over which a share is counted; the kernel's own default.
const PERIOD_US: u64 = 100_000;

/// Removes what spawners left that were killed.
fn sweep(place: &Path) {
    let own = prefix();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(&own)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// What the names of our groups begin with; the number of their spawner follows, which means something only among the processes that see it.
fn prefix() -> String {
    let namespace = rustix::fs::stat("/proc/self/ns/pid").map_or(0, |facts| facts.st_ino);
    format!("toolgate-{namespace}-")
}

impl Group {
    /// The files of its groups: a process of one thread that writes `0` to each is in. What it used before is not counted.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(super) fn doors(&self) -> Result<Vec<File>, String> {
        self.bounds().map(|bound| bound.door.try_clone()).collect::<Result<_, _>>().map_err(|e| e.to_string())
    }

    fn bounds(&self) -> impl Iterator<Item = &Bound> {
        [&self.memory, &self.cpu, &self.cpu_time].into_iter().flatten()
    }

    /// Whether a call with these limits is bounded by it.
    fn fits(&self, limits: &Limits) -> bool {
        let of = |limits: &Limits| (limits.memory, limits.processes, limits.cpu_share);
        of(&self.limits) == of(limits)
    }

    /// Whether a call cannot tell it from a new one: nothing runs in it, nothing was killed in it, hardly anything is counted in it.
    fn is_as_new(&self) -> bool {
        let Some(memory) = &self.memory else { return false };
        let left = memory.usage.as_ref().and_then(|file| text(file).trim().parse::<u64>().ok());
        left.is_some_and(|left| left <= LEFT_OVER.min(self.limits.memory / 64))
            && self.kills() == 0
            && self.bounds().all(|bound| bound.is_empty() && bound.share.as_ref().is_none_or(|share| set_again(share).is_ok()))
    }

    /// Takes the caller in, which has one thread.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(super) fn enter(&self) -> Result<(), String> {
        go_through(self.doors()?)
    }

    /// In a forked process: what is to be closed there.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.bounds().flat_map(Bound::files).map(AsRawFd::as_raw_fd)
    }

    /// What could not be had.
    pub(super) fn lacks(&self) -> Lacks {
        self.lacks.clone()
    }

    /// How many processes the kernel killed because the bound on memory was reached.
    pub(super) fn kills(&self) -> u64 {
        self.memory.as_ref().map_or(0, |bound| counted(&bound.counter))
    }

    fn counted(&self) -> u64 {
        self.bounds().find_map(|bound| cpu_time(bound.cpu_time.as_ref()?)).unwrap_or(0)
    }

    /// The processor time of its call, in milliseconds; 0 where it is not counted.
    pub(super) fn spent_ms(&self) -> u64 {
        self.counted().saturating_sub(self.before) / 1000
    }

    /// The file that counts the processor time of its processes, for [`cpu_time`] in another process.
    pub(super) fn cpu_time(&self) -> Option<File> {
        self.bounds().find_map(|bound| bound.cpu_time.as_ref()?.try_clone().ok())
    }

    /// The file that counts them, for [`counted`] in another process.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(super) fn counter(&self) -> Result<Option<File>, String> {
        self.memory.as_ref().map(|bound| bound.counter.try_clone()).transpose().map_err(|e| e.to_string())
    }
}

/// Takes the caller in, which has one thread, by the files of [`Group::doors`].
///
/// # Errors
/// The text of what went wrong.
pub(super) fn go_through(doors: impl IntoIterator<Item = File>) -> Result<(), String> {
    doors.into_iter().try_for_each(|mut door| door.write_all(b"0")).map_err(|e| e.to_string())
}

impl Bound {
    fn files(&self) -> impl Iterator<Item = &File> {
        let share = self.share.as_ref().map(|(file, _)| file);
        [&self.counter, &self.door].into_iter().chain(&self.usage).chain(&self.cpu_time).chain(share)
    }

    fn is_empty(&self) -> bool {
        fs::read(self.folder.join("cgroup.procs")).is_ok_and(|inside| inside.is_empty())
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // Whoever is left in it, of whatever parent. Version 1 has no such file.
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
        let _ = fs::remove_dir(&self.folder);
    }
}

/// How many kills such a file tells of.
pub(super) fn counted(counter: &File) -> u64 {
    kills(&text(counter))
}

/// The processor time that such a file tells of, in microseconds.
pub(super) fn cpu_time(counter: &File) -> Option<u64> {
    let text = text(counter);
    match text.lines().find_map(|line| line.strip_prefix("usage_usec ")) {
        Some(micros) => micros.trim().parse().ok(),
        None => text.trim().parse::<u64>().ok().map(|nanos| nanos / 1000),
    }
}

/// The first half KiB of a file of the kernel, as it is now.
fn text(file: &File) -> String {
    let mut text = [0_u8; 512];
    let count = file.read_at(&mut text, 0).unwrap_or(0);
    String::from_utf8_lossy(text.get(..count).unwrap_or_default()).into_owned()
}

fn kills(text: &str) -> u64 {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")).and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
