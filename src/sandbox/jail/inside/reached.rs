//! How far the processes of a jail come towards their bounds. A program says itself that it met one, and may say so falsely: what is seen here
//! is told with it.
//!
//! An interpreter in which something failed that a bound makes fail stands still for a moment, with every signal blocked, until it was looked at:
//! what it holds is still there then. One that does not shows no more than any other process.

#![expect(clippy::disallowed_methods, reason = "the jail process reads what the kernel shows of its children")]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, statat};
use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::jail::order::Reached;

/// The signals from 1 to 31 but the two that cannot be blocked, as `/proc/PID/stat` has them (field 32 of `proc_pid_stat(5)`).
const ALL_BLOCKED: u64 = 0x7fff_ffff & !(1 << 8) & !(1 << 18);
/// `SIGCONT`, by which it is let go on.
const CONTINUE: u64 = 1 << 17;
/// When this many descriptors were looked at, the processes that are left wait for the next look.
const AT_ONCE: u64 = 512;
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
    /// Folders of scratch space, as this process sees them: of those that only a program sees, all that are no roots. What lies in a root is looked at after the call.
    scratch: Vec<PathBuf>,
    all: Reached,
    untold: Reached,
    /// Those that stood still at the last look, and were looked at since they do: at which look, and how many descriptors they had.
    looked: BTreeMap<u32, (u64, u64)>,
    looks: u64,
}

impl Peaks {
    /// Over folders as this process sees them, and as the program sees them; and the scratch space among the former.
    pub(super) fn over(disks: Vec<PathBuf>, inside: Vec<String>, scratch: Vec<PathBuf>) -> Self {
        Self { disks, inside, scratch, ..Self::default() }
    }

    /// Takes note of what every process shows at a look, and looks closer at those that stand still, in the order of [`Peaks::turns`]. What is new
    /// since the last time that this was asked for comes back where there are such, and those that were looked at: they go on after [`release`].
    pub(super) fn note(&mut self, seen: Reached, still: &[u32]) -> Option<(Reached, Vec<u32>)> {
        let full = self.disks.iter().any(|disk| is_full(disk));
        self.add(Reached { full, ..seen });
        self.looks += 1;
        let turns = self.turns(still);
        if !turns.is_empty() {
            // A write that failed may have closed its file by now: what it wrote lies there until the program goes on.
            let file_size = self.scratch.iter().map(|folder| largest(folder)).max().unwrap_or(0);
            self.add(Reached { file_size, ..Reached::default() });
        }
        for pid in &turns {
            let found = closer(*pid, &self.inside);
            self.looked.insert(*pid, (self.looks, found.files));
            self.add(found);
        }
        (!turns.is_empty()).then(|| (std::mem::take(&mut self.untold), turns))
    }

    /// Which of those that stand still are looked at now: first those that were not since they do, of which one always is. One that keeps standing
    /// still after it was looked at (a program may block signals for ever) has its turn again after the others, where the budget is not used up.
    fn turns(&mut self, still: &[u32]) -> Vec<u32> {
        self.looked.retain(|pid, _| still.contains(pid));
        let (again, first): (Vec<u32>, Vec<u32>) = still.iter().partition(|pid| self.looked.contains_key(pid));
        let (mut turns, mut left) = (Vec::new(), AT_ONCE);
        for pid in first {
            if left == 0 {
                return turns;
            }
            left = left.saturating_sub(descriptors(pid));
            turns.push(pid);
        }
        let mut again: Vec<(u64, u64, u32)> =
            again.into_iter().filter_map(|pid| self.looked.get(&pid).map(|(when, files)| (*when, *files, pid))).collect();
        again.sort_unstable();
        for (_, files, pid) in again {
            if files <= left {
                left -= files;
                turns.push(pid);
            }
        }
        turns
    }

    fn add(&mut self, seen: Reached) {
        (self.all, self.untold) = (self.all.and(seen), self.untold.and(seen));
    }

    /// The most of each.
    pub(super) fn all(&self) -> Reached {
        self.all
    }
}

/// Lets those go on that stood still and were looked at.
pub(super) fn release(looked: &[u32]) {
    for pid in looked.iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
        let _ = kill_process(pid, Signal::CONT);
    }
}

/// How many descriptors a process has.
fn descriptors(pid: u32) -> u64 {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |all| all.count() as u64)
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
    let places = inside.iter().map(|place| (place, root.join(place.trim_start_matches('/'))));
    for (place, folder) in places {
        reached.full |= is_full(&folder);
        if !place.starts_with("/roots/") {
            reached.file_size = reached.file_size.max(largest(&folder));
        }
    }
    reached
}

/// So many entries of scratch space are looked at, in folders of this depth.
const MOST_ENTRIES: usize = 2000;
const DEEPEST: usize = 8;

/// The size of the largest file below a folder, as far as that is looked at; no link is followed.
fn largest(folder: &Path) -> u64 {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(top) = open(folder, flags, Mode::empty()) else { return 0 };
    let (mut left, mut size, mut waiting) = (MOST_ENTRIES, 0, vec![(top, 0)]);
    while let Some((at, depth)) = waiting.pop() {
        for entry in Dir::read_from(&at).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let Some(rest) = left.checked_sub(1) else { return size };
            left = rest;
            let Ok(facts) = statat(&at, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            match FileType::from_raw_mode(facts.st_mode) {
                FileType::RegularFile => size = size.max(facts.st_size.unsigned_abs()),
                FileType::Directory if depth < DEEPEST => {
                    waiting.extend(openat(&at, name, flags, Mode::empty()).ok().map(|inner| (inner, depth + 1)));
                }
                _ => {}
            }
        }
    }
    size
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
        let (told, looked) = peaks.note(tasks(3), &[std::process::id()]).unwrap();
        assert_eq!(looked, [std::process::id()]);
        assert!(told.tasks == 5 && told.files > 2 && !told.full, "{told:?}");
        assert_eq!(peaks.note(tasks(2), &[u32::MAX]), Some((tasks(2), vec![u32::MAX])));
        assert_eq!(peaks.all(), told);
    }

    #[test]
    fn the_largest_file_of_scratch_space_is_seen_when_it_is_closed_and_no_link_out_of_it_is() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
        elsewhere.as_file().set_len(1 << 20).unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("a/b/x"), [0; 700]).unwrap();
        std::fs::write(folder.path().join("y"), [0; 70]).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("link")).unwrap();
        let mut peaks = Peaks::over(Vec::new(), Vec::new(), vec![folder.path().to_owned()]);
        assert_eq!((peaks.note(Reached::default(), &[]), peaks.all().file_size), (None, 0), "nothing stands still");
        assert_eq!(peaks.note(Reached::default(), &[u32::MAX - 1]).unwrap().0.file_size, 700);
    }

    #[test]
    fn one_that_keeps_standing_still_takes_no_turn_from_others_and_costs_a_bounded_time() {
        let mut peaks = Peaks::default();
        // Numbers that no process has.
        let [a, b, c, d] = [4, 3, 2, 1].map(|at| u32::MAX - at);
        let mut looked = |still: &[u32], files: u64| {
            let turns = peaks.note(Reached::default(), still).map_or(Vec::new(), |(_, looked)| looked);
            // As if each held so much.
            peaks.looked.values_mut().for_each(|one| one.1 = files);
            turns
        };
        assert_eq!(looked(&[a, b], AT_ONCE), [a, b]);
        assert_eq!(looked(&[a, b, c], AT_ONCE), [c, a], "one that has just begun to first");
        assert_eq!(looked(&[a, b, c], AT_ONCE), [b], "then the one whose turn is longest ago");
        assert_eq!(looked(&[a, b, c], AT_ONCE + 1), [a]);
        assert_eq!(looked(&[a, b, c, d], 1), [d], "one that costs more has one turn");
        // One that went on meanwhile is looked at as if it were new.
        assert_eq!(looked(&[a, c], AT_ONCE + 1), [c, a]);
        assert_eq!(looked(&[a, b, c], AT_ONCE), [b]);
    }
}
