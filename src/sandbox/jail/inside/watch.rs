//! Adds up what all processes of the jail use: rlimits bound each process alone.

#![expect(clippy::disallowed_methods, reason = "the jail process reads what the kernel shows of its children")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::cpu_time::{CpuTime, Id, Ticks};
use super::crowd::{Crowd, Faces};
use super::fill::Fill;
use super::reached::{self, Peaks};
use super::written::{self, Written};
use super::{cgroup, site, unnamed};
use crate::sandbox::jail::order::{self, Full, Reached, Spent, Word};
use crate::sandbox::jail::outcome::Limit;
use crate::sandbox::jail::spec::Limits;

/// Whose processes are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Every one that `/proc` shows but pid 1: it is the jail's own.
    All,
    /// The descendants of the process that looks: `/proc` is the host's.
    Below,
    /// None: the kernel does not tell whose children a process has, and it was said that nothing is added up.
    None,
}

/// Looks at every process of the jail.
#[derive(Debug)]
pub(super) struct Watch {
    limits: Limits,
    seen: Seen,
    /// Whether the kernel does not bound the number of threads exactly.
    counts: bool,
    scratch: Option<PathBuf>,
    ticks_per_second: u64,
    page: u64,
    peak: u64,
    cpu: CpuTime,
    /// What the control group has counted, and had when the watch began.
    counted: Option<(File, u64)>,
    used_ms: u64,
    /// What is written, where there is a root to write in.
    written: Option<Written>,
    /// Folders of the host's disks, where they are bounded.
    grounds: Vec<unnamed::Ground>,
    fills: Vec<Fill>,
    looks: u64,
    crowd: Crowd,
    /// Where it is told whether the program stands at its bound of processes, and what was told last.
    crowd_to: Option<OwnedFd>,
    told: Option<bool>,
    meter: Option<Meter>,
    peaks: Peaks,
}

/// Tells the server what a session uses, which its interpreter says as well, but may say falsely.
#[derive(Debug)]
struct Meter {
    to: OwnedFd,
    told: Spent,
}

impl Meter {
    /// Tells of every twentieth of a second and of every 64 KiB, and of ever larger steps: between two calls they are read now and then, and have to find room until then.
    fn tell(&mut self, used: Spent) {
        let is_worth = |now: u64, told: u64, least: u64| now >= told.saturating_add((told / 16).max(least));
        let is_more = is_worth(used.cpu_ms, self.told.cpu_ms, 50) || is_worth(used.written, self.told.written, 64 * 1024);
        if is_more && order::send_now(self.to.as_fd(), &Word::Used(used)).is_ok() {
            self.told = used;
        }
    }
}

/// One process as `/proc/PID/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    ticks: Ticks,
    /// What of its own time was spent in the kernel.
    in_kernel: u64,
    start: u64,
    threads: u64,
    pages: u64,
    space: u64,
    blocked: u64,
}

impl Watch {
    /// A watch over these limits.
    pub(super) fn new(limits: Limits) -> Self {
        let ask = |what| nix::unistd::sysconf(what).ok().flatten().and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
        Self {
            limits,
            seen: Seen::All,
            counts: false,
            scratch: None,
            ticks_per_second: ask(nix::unistd::SysconfVar::CLK_TCK).unwrap_or(100),
            page: ask(nix::unistd::SysconfVar::PAGE_SIZE).unwrap_or(4096),
            peak: 1,
            cpu: CpuTime::default(),
            counted: None,
            used_ms: 0,
            written: None,
            grounds: Vec::new(),
            fills: Vec::new(),
            looks: 0,
            crowd: Crowd::default(),
            crowd_to: None,
            told: None,
            meter: None,
            peaks: Peaks::default(),
        }
    }

    /// The same watch, which tells on this channel whether the program stands at its bound of processes, and what processor time a session uses.
    pub(super) fn telling(mut self, is_session: bool, channel: &OwnedFd) -> Self {
        self.crowd_to = channel.try_clone().ok();
        let to = is_session.then(|| channel.try_clone().ok()).flatten();
        self.meter = to.map(|to| Meter { to, told: Spent::default() });
        self
    }

    /// The same watch, which charges what the control group counts from now on where that is more than what is seen: nothing escapes that.
    pub(super) fn charging(self, counter: Option<File>) -> Self {
        let file = counter.and_then(|file| cgroup::cpu_time(&file).map(|before| (file, before)));
        Self { counted: file, ..self }
    }

    /// The same watch, which bounds the number of threads itself.
    pub(super) fn counting(self) -> Self {
        Self { counts: true, ..self }
    }

    /// The same watch, also over what is written in roots.
    pub(super) fn over_writes(self) -> Self {
        Self { written: Some(Written::default()), ..self }
    }

    /// The same watch, which notices when one of these disks is full.
    pub(super) fn over_disks(self, peaks: Peaks) -> Self {
        Self { peaks, ..self }
    }

    /// How far the processes have come towards their bounds.
    pub(super) fn reached(&self) -> Reached {
        let all = self.peaks.all();
        Reached { tasks: all.tasks.max(self.peak), ..all }
    }

    /// The same watch, also over a root with a quota: what lies in it, and what is held without a name on its disk. Where
    /// `all_is_shown`, what cannot be looked into is hidden on purpose.
    pub(super) fn over(mut self, folder: PathBuf, most: u64, all_is_shown: bool) -> Self {
        self.fills.push(Fill::new(folder.clone(), most));
        let ground = unnamed::Ground::new(folder, most);
        self.grounds.push(if all_is_shown { ground } else { ground.trusting() });
        self
    }

    /// The same watch over the descendants of this process, with what the kernel does not bound there: the scratch folder, and where
    /// `counts` is set the number of threads.
    pub(super) fn below(self, scratch: PathBuf, counts: bool) -> Self {
        let most = self.limits.scratch;
        let seen = if can_look_below() { Seen::Below } else { Seen::None };
        let mut watch = Self { seen, scratch: Some(scratch.clone()), counts: counts || self.counts, ..self };
        watch.grounds.push(unnamed::Ground::new(scratch, most).trusting());
        watch
    }

    /// Counts once more what a program used and leaves, where it cannot count for itself.
    pub(super) fn last_look(&mut self) {
        self.used_ms = self.used_ms.max(self.used_now());
        if self.seen == Seen::Below {
            let left = self.pids().map_or(0, |pids| pids.len() as u64);
            self.peak = self.peak.max(left + 1);
        }
    }

    fn pids(&self) -> std::io::Result<Vec<u32>> {
        match self.seen {
            Seen::None => Ok(Vec::new()),
            // More than may be there need not be counted: a look must end while a program starts processes without end.
            Seen::Below => descendants(if self.counts { self.limits.processes.saturating_add(1) } else { u64::MAX }),
            Seen::All => {
                let mut pids = Vec::new();
                for entry in std::fs::read_dir("/proc")? {
                    pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()).filter(|pid| *pid > 1));
                }
                Ok(pids)
            }
        }
    }

    /// The most processes and threads seen at one time.
    pub(super) fn pids_peak(&self) -> u64 {
        self.peak
    }

    /// What shows that the program stood at its bound of processes.
    pub(super) fn crowd(&self) -> Option<Box<Full>> {
        let most = self.limits.processes;
        self.crowd.stands().map(|(full, count, wants_more)| {
            let seen =
                format!("{most} processes and threads, as many as there may be, at {full} of its last {count} looks").into_boxed_str();
            Box::new(Full { seen, wants_more })
        })
    }

    /// The processor time that was used by the last look, in milliseconds; 0 before the first.
    pub(super) fn cpu_ms(&self) -> u64 {
        self.used_ms
    }

    /// The bytes of files on disks that were changed by the last look ([`order::End::written`]).
    pub(super) fn written(&self) -> u64 {
        self.written.as_ref().map_or(0, Written::total)
    }

    fn used_now(&self) -> u64 {
        let seen = u64::try_from(u128::from(self.cpu.total()) * 1000 / u128::from(self.ticks_per_second)).unwrap_or(u64::MAX);
        let counted = self.counted.as_ref().and_then(|(counter, before)| Some(cgroup::cpu_time(counter)?.saturating_sub(*before) / 1000));
        seen.max(counted.unwrap_or(0))
    }

    /// Looks once. A limit that is passed comes back with what showed it.
    ///
    /// # Errors
    /// Where it cannot look: what goes on unseen has no bound any more.
    pub(super) fn look(&mut self) -> std::io::Result<Option<(Limit, String)>> {
        let (mut threads, mut pages, mut space, mut faces) = (0_u64, 0_u64, 0_u64, Faces::default());
        let mut still = Vec::new();
        let mut living: BTreeMap<Id, Ticks> = BTreeMap::new();
        let mut writers = BTreeMap::new();
        let mut pids = Vec::new();
        let there = self.pids()?;
        // Before each of them is looked at: that takes longer the more there are.
        if let Some(hit) = self.crowded(there.len() as u64) {
            self.used_ms = self.used_ms.max(self.used_now());
            return Ok(Some(hit));
        }
        for pid in there {
            let stat = match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
                Ok(stat) => stat,
                Err(e) if has_ended(&e) => continue,
                Err(e) => return Err(e),
            };
            let Some(process) = parse(&stat) else { continue };
            living.insert((pid, process.start), process.ticks);
            faces.all.insert((pid, process.start));
            (faces.used, faces.in_kernel) = (faces.used + process.ticks.own, faces.in_kernel + process.in_kernel);
            if self.written.is_some() {
                writers.insert((pid, process.start), written::by(pid));
            }
            threads += process.threads;
            pages += process.pages;
            space = space.max(process.space);
            if reached::stands_still(process.blocked) {
                still.push(pid);
            }
            pids.push((pid, process.pages));
        }
        self.cpu.note(living, reaped_ticks(self.ticks_per_second)?);
        self.used_ms = self.used_now();
        if let Some(written) = &mut self.written {
            written.note(writers, written::by_the_dead());
        }
        let told = self.peaks.note(Reached { tasks: threads, memory: space, ..Reached::default() }, &still);
        if let Some((told, looked)) = told {
            if let Some(meter) = &self.meter {
                // Said before they go on: the server hears of it before it hears of their end.
                let _ = order::send_now(meter.to.as_fd(), &Word::Reached(told));
            }
            reached::release(&looked);
        }
        self.crowd.note((threads >= self.limits.processes).then_some(faces));
        Ok(self.passed(threads, pages, &pids))
    }

    /// Whether there are too many processes and threads, where the kernel does not bound them exactly.
    fn crowded(&mut self, threads: u64) -> Option<(Limit, String)> {
        self.peak = self.peak.max(threads);
        (self.counts && threads > self.limits.processes)
            .then(|| (Limit::Pids, format!("{threads} processes and threads or more, under a bound of {}", self.limits.processes)))
    }

    fn passed(&mut self, threads: u64, pages: u64, pids: &[(u32, u64)]) -> Option<(Limit, String)> {
        let crowded = self.crowded(threads);
        let crowd = self.crowd();
        let told = crowd.as_ref().map(|crowd| crowd.wants_more);
        if told != self.told
            && let Some(to) = &self.crowd_to
        {
            self.told = order::send_now(to.as_fd(), &Word::Crowd(crowd)).map_or(self.told, |()| told);
        }
        let used = self.used_ms;
        let spent = Spent { cpu_ms: used, written: self.written() };
        if let Some(meter) = &mut self.meter {
            meter.tell(spent);
        }
        if u128::from(used) > self.limits.cpu.as_millis() {
            return Some((Limit::Cpu, format!("{used} ms of processor time over all processes")));
        }
        if crowded.is_some() {
            return crowded;
        }
        if let Some(hit) = self.scratch.as_deref().and_then(|scratch| site::weigh(scratch, &self.limits)) {
            return Some(hit);
        }
        if let Some(hit) = self.fills.iter_mut().find_map(Fill::look) {
            return Some(hit);
        }
        let looks = self.looks;
        self.looks += 1;
        if !self.grounds.is_empty() && looks.is_multiple_of(UNNAMED_EVERY) {
            let all: Vec<u32> = pids.iter().map(|(pid, _)| *pid).collect();
            if let Some(hit) = unnamed::look(&mut self.grounds, &all) {
                return Some(hit);
            }
        }
        // Resident pages count what processes share once for each of them; the exact sum is dear and asked for only in doubt.
        if pages.saturating_mul(self.page) > self.limits.memory {
            let sum: u64 = pids.iter().map(|(pid, pages)| proportional(*pid).unwrap_or(pages * self.page)).sum();
            if sum > self.limits.memory {
                return Some((Limit::Memory, format!("{sum} bytes resident over all processes")));
            }
        }
        None
    }
}

/// Every so many looks the open files are looked at, which takes longer than all the rest.
const UNNAMED_EVERY: u64 = 4;

/// Whether this is said of a process that has ended.
fn has_ended(e: &std::io::Error) -> bool {
    e.kind() == ErrorKind::NotFound || e.raw_os_error() == Some(nix::libc::ESRCH)
}

/// The descendants of this process by the host's numbers (`proc_tid_children(5)`), itself left out; no more are looked for when there are `most`.
fn descendants(most: u64) -> std::io::Result<Vec<u32>> {
    let own = std::fs::read_link("/proc/self")?;
    let own: u32 = own.to_str().and_then(|own| own.parse().ok()).ok_or(ErrorKind::InvalidData)?;
    let mut found = children(own)?;
    let mut at = 0;
    while let Some(pid) = found.get(at).filter(|_| (found.len() as u64) < most) {
        let below = match children(*pid) {
            Err(e) if has_ended(&e) => Vec::new(),
            below => below?,
        };
        found.extend(below.into_iter().filter(|pid| *pid != own));
        at += 1;
    }
    Ok(found)
}

/// The children of every thread of a process. The file is there in every kernel that was built with `CONFIG_PROC_CHILDREN`.
fn children(pid: u32) -> std::io::Result<Vec<u32>> {
    let mut found = Vec::new();
    let mut ended = None;
    let mut is_seen = false;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        match std::fs::read_to_string(task?.path().join("children")) {
            Ok(list) => {
                is_seen = true;
                found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            }
            Err(e) if has_ended(&e) => ended = Some(e),
            Err(e) => return Err(e),
        }
    }
    ended.filter(|_| !is_seen).map_or(Ok(found), Err)
}

/// The children of this process by the host's numbers; none where the kernel does not tell.
pub(super) fn own_children() -> Vec<u32> {
    descendants(0).unwrap_or_default()
}

/// Whether the descendants of this process can be looked at.
pub(super) fn can_look_below() -> bool {
    descendants(1).is_ok()
}

/// Ends every child of this process, whoever started it, until there is none.
pub(super) fn end_children() {
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
    loop {
        let Ok(found) = descendants(u64::MAX) else { return };
        for pid in found.into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
            let _ = kill_process(pid, Signal::KILL);
        }
        match rustix::io::retry_on_intr(|| wait(WaitOptions::empty())) {
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// Processes and threads of this user on the whole host.
pub(super) fn own_threads() -> u64 {
    let own = rustix::process::getuid().as_raw();
    let mut count = 0;
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(status) = std::fs::read_to_string(entry.path().join("status")) else { continue };
        let number =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next()?.parse::<u64>().ok());
        if number("Uid:") == Some(own.into()) {
            count += number("Threads:").unwrap_or(0);
        }
    }
    count
}

/// Processor time of the children that this process has reaped.
fn reaped_ticks(ticks_per_second: u64) -> std::io::Result<u64> {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)?;
    let micros: i64 = [usage.user_time(), usage.system_time()].iter().map(|time| time.tv_sec() * 1_000_000 + time.tv_usec()).sum();
    Ok(micros.unsigned_abs().saturating_mul(ticks_per_second) / 1_000_000)
}

/// Reads a line of `/proc/PID/stat` (`proc_pid_stat(5)`); the name in brackets may hold anything, so fields count from the last `)`.
fn parse(line: &str) -> Option<Process> {
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field.checked_sub(3)?)?.parse::<u64>().ok();
    // 14 and 15: own time; 16 and 17: that of children whose end was taken; 20: threads; 22: start; 24: resident pages.
    let ticks = Ticks { own: number(14)? + number(15)?, children: number(16)? + number(17)? };
    // 23: address space; 32: blocked signals.
    let (space, blocked) = (number(23)?, number(32).unwrap_or(0));
    Some(Process { ticks, in_kernel: number(15)?, start: number(22)?, threads: number(20)?, pages: number(24)?, space, blocked })
}

/// The process's share of memory; what it shares counts by the number of sharers. `None` where it may not be read.
fn proportional(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_group_counts_is_charged_from_the_beginning_of_the_watch_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.stat");
        let counts = |micros: u64| std::fs::write(&path, format!("usage_usec {micros}\n")).unwrap();
        counts(5_000_000);
        let mut watch = Watch::new(Limits::default()).charging(File::open(&path).ok());
        assert_eq!((watch.used_now(), watch.cpu_ms()), (0, 0));
        counts(5_700_000);
        assert_eq!(watch.used_now(), 700);
        // What is seen is more where the group is of a part only.
        watch.cpu.note(BTreeMap::from([((2, 1), Ticks { own: watch.ticks_per_second * 2, children: 0 })]), 0);
        assert_eq!(watch.used_now(), 2000);
        assert_eq!(Watch::new(Limits::default()).charging(None).used_now(), 0);
    }

    #[test]
    fn a_process_name_with_brackets_and_spaces_shifts_no_field() {
        let line = "7 (a) b ) c) S 1 7 7 0 -1 4194560 100 0 0 0 11 22 33 44 20 0 5 0 123 1000000 250 18446744073709551615 0";
        assert_eq!(
            parse(line),
            Some(Process {
                ticks: Ticks { own: 33, children: 77 },
                in_kernel: 22,
                start: 123,
                threads: 5,
                pages: 250,
                space: 1_000_000,
                blocked: 0
            })
        );
        assert_eq!(parse("7 (a"), None);
    }
}
