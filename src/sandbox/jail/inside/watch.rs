//! Adds up what all processes of the jail use: rlimits bound each process alone.

#![expect(clippy::disallowed_methods, reason = "the jail process reads what the kernel shows of its children")]

use std::path::Path;

use crate::sandbox::jail::outcome::Limit;
use crate::sandbox::jail::spec::Limits;

/// Looks at every process of the jail through its own `/proc`.
#[derive(Debug)]
pub(super) struct Watch {
    limits: Limits,
    ticks_per_second: u64,
    page: u64,
    peak: u64,
}

/// One process as `/proc/PID/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    ticks: u64,
    threads: u64,
    pages: u64,
}

impl Watch {
    /// A watch over these limits.
    pub(super) fn new(limits: Limits) -> Self {
        let ask = |what| nix::unistd::sysconf(what).ok().flatten().and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
        Self {
            limits,
            ticks_per_second: ask(nix::unistd::SysconfVar::CLK_TCK).unwrap_or(100),
            page: ask(nix::unistd::SysconfVar::PAGE_SIZE).unwrap_or(4096),
            peak: 1,
        }
    }

    /// The most processes and threads seen at one time.
    pub(super) fn pids_peak(&self) -> u64 {
        self.peak
    }

    /// Looks once. A limit that is passed comes back with what showed it.
    pub(super) fn look(&mut self) -> Option<(Limit, String)> {
        let mut total = Process { ticks: reaped_ticks(self.ticks_per_second), threads: 0, pages: 0 };
        let mut pids = Vec::new();
        for entry in std::fs::read_dir("/proc").ok()?.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()).filter(|pid| *pid > 1) else { continue };
            let Some(process) = std::fs::read_to_string(entry.path().join("stat")).ok().as_deref().and_then(parse) else { continue };
            total.ticks += process.ticks;
            total.threads += process.threads;
            total.pages += process.pages;
            pids.push((pid, process.pages));
        }
        self.peak = self.peak.max(total.threads);
        let used = u128::from(total.ticks) * 1000 / u128::from(self.ticks_per_second);
        if used > self.limits.cpu.as_millis() {
            return Some((Limit::Cpu, format!("{used} ms of processor time over all processes")));
        }
        // Resident pages count what processes share once for each of them; the exact sum is dear and asked for only in doubt.
        if total.pages.saturating_mul(self.page) > self.limits.memory {
            let sum: u64 = pids.iter().map(|(pid, pages)| proportional(*pid).unwrap_or(pages * self.page)).sum();
            if sum > self.limits.memory {
                return Some((Limit::Memory, format!("{sum} bytes resident over all processes")));
            }
        }
        None
    }
}

/// Processor time of the children that this process has reaped.
fn reaped_ticks(ticks_per_second: u64) -> u64 {
    let Ok(usage) = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN) else { return 0 };
    let micros: i64 = [usage.user_time(), usage.system_time()].iter().map(|time| time.tv_sec() * 1_000_000 + time.tv_usec()).sum();
    micros.unsigned_abs().saturating_mul(ticks_per_second) / 1_000_000
}

/// Reads a line of `/proc/PID/stat` (`proc_pid_stat(5)`); the name in brackets may hold anything, so fields count from the last `)`.
fn parse(line: &str) -> Option<Process> {
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field.checked_sub(3)?)?.parse::<u64>().ok();
    // 14..=17: own and children's time; 20: threads; 24: resident pages.
    let ticks = (14..=17).map_while(number).sum();
    Some(Process { ticks, threads: number(20)?, pages: number(24)? })
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
    fn a_process_name_with_brackets_and_spaces_shifts_no_field() {
        let line = "7 (a) b ) c) S 1 7 7 0 -1 4194560 100 0 0 0 11 22 33 44 20 0 5 0 123 1000000 250 18446744073709551615 0";
        assert_eq!(parse(line), Some(Process { ticks: 110, threads: 5, pages: 250 }));
        assert_eq!(parse("7 (a"), None);
    }
}
