//! Adds up what all processes of a jail use: rlimits bound each process alone.

#![expect(clippy::disallowed_methods, reason = "init reads what the kernel shows of its children")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::resource::{UsageWho, getrusage};
use rustix::process::Pid;

use super::host_folders;
use crate::end::Limit;
use crate::spawner::cgroup;
use crate::spec::Limits;

/// Whose processes are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VisibleProcesses {
    /// Every one that `/proc` shows but pid 1 and the process that looks: it is the jail's own.
    All,
    /// The descendants of the process that looks: `/proc` is the host's.
    Below,
    /// None: there is no `/proc`, or it does not show whose children a process has.
    None,
}

/// A folder on a disk of the host, and how many bytes may lie on that disk in open files that have no name.
pub(super) type Unnamed = (PathBuf, u64);

/// Looks at every process of a jail.
#[derive(Debug)]
pub(super) struct Watch {
    limits: Limits,
    pub(super) visible: VisibleProcesses,
    /// The scratch folder, where no mount bounds it.
    pub(super) scratch: Option<PathBuf>,
    pub(super) unnamed: Vec<Unnamed>,
    /// What a control group counts of processor time.
    counter: Option<File>,
    /// Whether a control group bounds memory.
    has_memory: bool,
    ticks_per_second: u64,
    page: u64,
    peak: u64,
    used_ms: u64,
    /// The own processor time of each process at the last look, and what all looks saw them use, in ticks. It holds what children used whose end
    /// nobody takes (`SIGCHLD` ignored).
    own: BTreeMap<u32, u64>,
    seen_used: u64,
    looks: u64,
}

/// One process as `/proc/PID/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    /// Processor time in clock ticks: its own, and with that of the children whose end it has taken.
    own: u64,
    ticks: u64,
    threads: u64,
    pages: u64,
}

/// Every so many looks the open files are looked at, which takes longer than all the rest.
const UNNAMED_EVERY: u64 = 4;

impl Watch {
    /// A watch over these limits. `counter`: the file of a control group that counts processor time; `has_memory`: one bounds memory.
    pub(super) fn new(limits: Limits, visible: VisibleProcesses, counter: Option<File>, has_memory: bool) -> Self {
        let ask = |what| nix::unistd::sysconf(what).ok().flatten().and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
        Self {
            limits,
            visible,
            scratch: None,
            unnamed: Vec::new(),
            counter,
            has_memory,
            ticks_per_second: ask(nix::unistd::SysconfVar::CLK_TCK).unwrap_or(100),
            page: ask(nix::unistd::SysconfVar::PAGE_SIZE).unwrap_or(4096),
            peak: 1,
            used_ms: 0,
            own: BTreeMap::new(),
            seen_used: 0,
            looks: 0,
        }
    }

    /// The most processes and threads seen at one time.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    /// The processor time that was used by the last look, in milliseconds, or by now where a control group counts it.
    pub(super) fn cpu_ms(&self) -> u64 {
        self.counter.as_ref().and_then(cgroup::cpu_time).unwrap_or(0).max(self.used_ms)
    }

    /// Bytes that the living processes and their reaped children wrote to files on disks (`write_bytes` of `proc_pid_io(5)`).
    pub(super) fn written(&self) -> u64 {
        let written = |pid| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
            text.lines().find_map(|line| line.strip_prefix("write_bytes: "))?.trim().parse::<u64>().ok()
        };
        self.pids().unwrap_or_default().into_iter().filter_map(written).sum()
    }

    /// Looks once; `cpu_ms` is the bound on processor time. A limit that is passed comes back with what showed it.
    ///
    /// # Errors
    /// Where it cannot look: what goes on unseen has no bound any more.
    pub(super) fn look(&mut self, cpu_ms: u64) -> Result<Option<(Limit, String)>> {
        let (mut ticks, mut threads, mut pages, mut pids) = (0, 0, 0, Vec::new());
        let last = std::mem::take(&mut self.own);
        for pid in self.pids()? {
            let stat = match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
                Err(e) if has_ended(&e) => continue,
                stat => stat?,
            };
            let Some(process) = parse(&stat) else { continue };
            ticks += process.ticks;
            threads += process.threads;
            pages += process.pages;
            // A lower figure is another process's that has the number now.
            let before = last.get(&pid).copied().filter(|before| *before <= process.own).unwrap_or(0);
            self.seen_used += process.own - before;
            self.own.insert(pid, process.own);
            pids.push((pid, process.pages));
        }
        let ms = |ticks: u64| ticks.saturating_mul(1000) / self.ticks_per_second;
        self.used_ms = self.used_ms.max(ms(ticks) + reaped_ms()).max(ms(self.seen_used));
        self.peak = self.peak.max(threads);
        let (used, most) = (self.cpu_ms(), self.limits.processes);
        if used > cpu_ms {
            return Ok(Some((Limit::Cpu, format!("{used} ms of processor time over all processes"))));
        }
        // The kernel bounds it exactly, but where it counts the processes of others with them.
        if threads > most {
            return Ok(Some((Limit::Pids, format!("{threads} processes and threads, under a bound of {most}"))));
        }
        if let Some(hit) = self.scratch.as_deref().and_then(|scratch| host_folders::weigh(scratch, self.limits.scratch)) {
            return Ok(Some(hit));
        }
        self.looks += 1;
        if !self.unnamed.is_empty() && self.looks % UNNAMED_EVERY == 1 {
            let pids: Vec<u32> = pids.iter().map(|(pid, _)| *pid).collect();
            if let Some(hit) = held_unnamed(&self.unnamed, &pids) {
                return Ok(Some(hit));
            }
        }
        // Resident pages count what processes share once for each of them; the exact sum is dear and asked for only in doubt.
        if !self.has_memory && pages.saturating_mul(self.page) > self.limits.memory {
            let sum: u64 = pids.iter().map(|(pid, pages)| proportional(*pid).unwrap_or(pages * self.page)).sum();
            if sum > self.limits.memory {
                return Ok(Some((Limit::Memory, format!("{sum} bytes resident over all processes"))));
            }
        }
        Ok(None)
    }

    fn pids(&self) -> Result<Vec<u32>> {
        match self.visible {
            VisibleProcesses::None => Ok(Vec::new()),
            // A look must end while a program starts processes without end.
            VisibleProcesses::Below => descendants(self.limits.processes.saturating_add(1)),
            VisibleProcesses::All => {
                let own = std::process::id();
                let entries = std::fs::read_dir("/proc")?.flatten();
                let pids = entries.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
                Ok(pids.filter(|pid| *pid > 1 && *pid != own).collect())
            }
        }
    }
}

/// Whether this is said of a process that has ended.
fn has_ended(e: &Error) -> bool {
    e.kind() == ErrorKind::NotFound || e.raw_os_error() == Some(nix::libc::ESRCH)
}

/// The descendants of this process by the host's numbers (`proc_tid_children(5)`), itself left out; no more are looked for when there are `most`.
fn descendants(most: u64) -> Result<Vec<u32>> {
    let mut found = children(std::process::id())?;
    let mut at = 0;
    while let Some(pid) = found.get(at).filter(|_| (found.len() as u64) < most) {
        match children(*pid) {
            Err(e) if has_ended(&e) => {}
            below => found.extend(below?),
        }
        at += 1;
    }
    Ok(found)
}

/// The children of every thread of a process. The file is there in every kernel that was built with `CONFIG_PROC_CHILDREN`.
///
/// # Errors
/// The main thread of this process has no such file. That of another thread may be gone: the thread has ended.
fn children(pid: u32) -> Result<Vec<u32>> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let task = task?;
        match std::fs::read_to_string(task.path().join("children")) {
            Err(e) if has_ended(&e) && task.file_name() != *own => {}
            list => found.extend(list?.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
        }
    }
    Ok(found)
}

/// The children of this process; none where the kernel does not tell.
pub(crate) fn own_children() -> Vec<Pid> {
    let all = children(std::process::id()).unwrap_or_default();
    all.into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())).collect()
}

/// Whether the descendants of this process can be looked at.
pub(super) fn can_look_below() -> bool {
    children(std::process::id()).is_ok()
}

/// Processes and threads of this user on the whole host.
pub(super) fn own_threads() -> u64 {
    let own = rustix::process::getuid().as_raw();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let statuses = processes.filter_map(|process| std::fs::read_to_string(process.path().join("status")).ok());
    let number = |status: &str, name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next()?.parse::<u64>().ok())
    };
    statuses.filter(|status| number(status, "Uid:") == Some(own.into())).filter_map(|status| number(&status, "Threads:")).sum()
}

/// Processor time in milliseconds of the children that this process has reaped.
pub(super) fn reaped_ms() -> u64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| {
        let micros: i64 = [usage.user_time(), usage.system_time()].iter().map(|time| time.tv_sec() * 1_000_000 + time.tv_usec()).sum();
        micros.unsigned_abs() / 1000
    })
}

/// Reads a line of `/proc/PID/stat` (`proc_pid_stat(5)`); the name in brackets may hold anything, so fields count from the last `)`.
fn parse(line: &str) -> Option<Process> {
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field.checked_sub(3)?)?.parse::<u64>().ok();
    // 14 and 15: own time; 16 and 17: that of children whose end was taken; 20: threads; 24: resident pages.
    let own = number(14)? + number(15)?;
    Some(Process { own, ticks: own + number(16)? + number(17)?, threads: number(20)?, pages: number(24)? })
}

/// The process's share of memory; what it shares counts by the number of sharers. `None` where it may not be read.
fn proportional(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Adds up the open files of processes that have no name any more: they take the disk, and no look into a folder finds them. Each thread may have a
/// table of files of its own (`CLONE_FILES` of clone(2)).
fn held_unnamed(bounds: &[Unnamed], pids: &[u32]) -> Option<(Limit, String)> {
    let mut held: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for pid in pids {
        for thread in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            for file in std::fs::read_dir(thread.path().join("fd")).into_iter().flatten().flatten() {
                let leads_to = std::fs::read_link(file.path()).unwrap_or_default();
                let leads_to = leads_to.as_os_str().as_encoded_bytes();
                // A look at every other file could wait for a disk; what a call brings along lies in memory.
                if leads_to.ends_with(b" (deleted)")
                    && !leads_to.starts_with(b"/memfd:")
                    && let Ok(facts) = std::fs::metadata(file.path())
                    && facts.nlink() == 0
                {
                    held.insert((facts.dev(), facts.ino()), facts.blocks().saturating_mul(512));
                }
            }
        }
    }
    bounds.iter().find_map(|(folder, most)| {
        let device = std::fs::metadata(folder).ok()?.dev();
        let bytes: u64 = held.iter().filter(|((on, _), _)| *on == device).map(|(_, bytes)| bytes).sum();
        (bytes > *most).then(|| (Limit::Disk, format!("{bytes} bytes in open files that have no name")))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_process_name_with_brackets_and_spaces_shifts_no_field() {
        let line = "7 (a) b ) c) S 1 7 7 0 -1 4194560 100 0 0 0 11 22 33 44 20 0 5 0 123 1000000 250 18446744073709551615 0";
        assert_eq!(parse(line), Some(Process { own: 33, ticks: 110, threads: 5, pages: 250 }));
        assert_eq!(parse("7 (a"), None);
    }

    #[test]
    fn a_file_without_a_name_counts_by_what_it_takes_on_its_disk_and_one_with_a_name_does_not() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let passes = |most| held_unnamed(&[(folder.path().to_owned(), most)], &[std::process::id()]).is_some();
        let mut named = tempfile::NamedTempFile::new_in(folder.path()).unwrap();
        named.write_all(&vec![1; 3 << 20]).unwrap();
        named.as_file().sync_all().unwrap();
        assert!(!passes(2 << 20));
        let unnamed = named.into_file();
        assert!(passes(2 << 20) && !passes(1 << 30));
        // Several descriptors of one file are one file, and a hole takes nothing.
        let again = unnamed.try_clone().unwrap();
        again.set_len(1 << 40).unwrap();
        assert!(!passes(5 << 20));
    }

    #[test]
    fn the_processes_below_this_one_are_found() {
        let mut child = std::process::Command::new("sleep").arg("3600").spawn().unwrap();
        let found = descendants(u64::MAX);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.unwrap().contains(&child.id()));
    }
}
