//! How far the processes of a jail come towards their bounds. A program says itself that it met one, and may say so falsely: what is seen here
//! is told with it.
//!
//! An interpreter in which something failed that a bound makes fail stands still for a moment, with every signal blocked, until it was looked at:
//! what it holds is still there then. One that does not shows no more than any other process.

#![expect(clippy::disallowed_methods, reason = "the jail process reads what the kernel shows of its children")]

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::jail::order::Reached;

/// The signals from 1 to 31 but the two that cannot be blocked, as `/proc/PID/stat` has them (field 32 of `proc_pid_stat(5)`).
const ALL_BLOCKED: u64 = 0x7fff_ffff & !(1 << 8) & !(1 << 18);
/// `SIGCONT`, by which it is let go on.
const CONTINUE: u64 = 1 << 17;
/// So many that stand still are looked at in one look; the next one takes the others.
const AT_ONCE: usize = 32;
/// Less than this is free of a full disk: a write that fits in part is made in part.
const FULL: u64 = 16 * 1024;

/// Whether a process with these blocked signals waits to be looked at.
pub(super) fn stands_still(blocked: u64) -> bool {
    // A signal that is waited for is not blocked meanwhile (`sigtimedwait(2)`).
    blocked | CONTINUE == ALL_BLOCKED
}

/// What processes have reached, and what of it was not told yet.
#[derive(Debug, Default)]
pub(super) struct Peaks {
    /// Folders on the disks that the program may write to, as this process sees them.
    disks: Vec<PathBuf>,
    /// The same as a program sees them.
    inside: Vec<String>,
    all: Reached,
    untold: Reached,
}

impl Peaks {
    /// Over folders as this process sees them, and as the program sees them.
    pub(super) fn over(disks: Vec<PathBuf>, inside: Vec<String>) -> Self {
        Self { disks, inside, ..Self::default() }
    }

    /// Takes note of what every process shows at a look, and looks closer at those that stand still. What is new since the last time that this
    /// was asked for comes back where there are such; they go on after [`release`].
    pub(super) fn note(&mut self, seen: Reached, still: &[u32]) -> Option<Reached> {
        let full = self.disks.iter().any(|disk| is_full(disk));
        self.add(Reached { full, ..seen });
        for pid in still.iter().take(AT_ONCE) {
            self.add(closer(*pid, &self.inside));
        }
        (!still.is_empty()).then(|| std::mem::take(&mut self.untold))
    }

    fn add(&mut self, seen: Reached) {
        (self.all, self.untold) = (self.all.and(seen), self.untold.and(seen));
    }

    /// The most of each.
    pub(super) fn all(&self) -> Reached {
        self.all
    }
}

/// Lets those go on that stood still to be looked at.
pub(super) fn release(still: &[u32]) {
    for pid in still.iter().take(AT_ONCE).filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
        let _ = kill_process(pid, Signal::CONT);
    }
}

/// What one process holds. Nothing where that may not be read.
fn closer(pid: u32, inside: &[String]) -> Reached {
    let mut reached = Reached::default();
    for file in std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
        reached.files += 1;
        let facts = std::fs::metadata(file.path()).ok().filter(std::fs::Metadata::is_file);
        reached.file_size = reached.file_size.max(facts.map_or(0, |facts| facts.size()));
    }
    let root = Path::new("/proc").join(pid.to_string()).join("root");
    reached.full = inside.iter().any(|place| is_full(&root.join(place.trim_start_matches('/'))));
    reached
}

/// Whether nothing more can be written on the disk of a folder, or no file be made there.
fn is_full(folder: &Path) -> bool {
    let Ok(facts) = rustix::fs::statvfs(folder) else { return false };
    let is_bounded = facts.f_files > 0;
    facts.f_blocks > 0 && facts.f_bavail.saturating_mul(facts.f_frsize) < FULL || is_bounded && facts.f_favail == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_stands_still_that_waits_with_every_signal_blocked_as_the_kernel_shows_it() {
        let program =
            "import signal\nsignal.pthread_sigmask(signal.SIG_SETMASK, range(1, 32))\nsignal.sigtimedwait([signal.SIGCONT], 60)\nprint(1)";
        let child = std::process::Command::new("python3").args(["-c", program]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let blocked = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(29).unwrap().parse::<u64>().unwrap()
        };
        while !stands_still(blocked()) {
            std::thread::yield_now();
        }
        release(&[child.id()]);
        assert_eq!(child.wait_with_output().unwrap().stdout, b"1\n");
        assert!(!stands_still(0) && !stands_still(CONTINUE));
    }

    #[test]
    fn what_was_told_is_not_told_again_and_stays_among_all() {
        let mut peaks = Peaks::default();
        let tasks = |tasks| Reached { tasks, ..Reached::default() };
        assert_eq!(peaks.note(tasks(5), &[]), None);
        let told = peaks.note(tasks(3), &[std::process::id()]).unwrap();
        assert!(told.tasks == 5 && told.files > 2 && !told.full, "{told:?}");
        assert_eq!(peaks.note(tasks(2), &[u32::MAX]), Some(tasks(2)));
        assert_eq!(peaks.all(), told);
    }
}
