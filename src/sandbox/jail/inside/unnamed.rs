//! Files that a program holds and that have no name any more: they take the disk of the host, and no look into a folder finds them.

#![expect(clippy::disallowed_methods, reason = "the jail process reads what the kernel shows of its children")]

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::sandbox::jail::outcome::Limit;

/// A folder on a disk of the host that the program may write to.
#[derive(Debug)]
pub(super) struct Ground {
    path: PathBuf,
    /// The most bytes that may lie on its disk without a name.
    most: u64,
    /// Its device and the free bytes on it when it was first looked at.
    at_first: Option<(u64, u64)>,
    /// Whether what cannot be looked into counts where its disk fills up.
    suspects: bool,
    /// Looks in a row at which that was so.
    in_a_row: u32,
}

/// A process that is about to become another program cannot be looked into for a moment.
const IN_A_ROW: u32 = 3;

impl Ground {
    /// A folder and its bound. It is looked at when there is something to compare.
    pub(super) fn new(path: PathBuf, most: u64) -> Self {
        Self { path, most, at_first: None, suspects: true, in_a_row: 0 }
    }

    /// The same, for a folder of which only what can be seen counts: where the host's own `/proc` is looked at, it may show less.
    pub(super) fn trusting(self) -> Self {
        Self { suspects: false, ..self }
    }

    /// Its device, and how many bytes fewer are free there than at first.
    fn taken(&mut self) -> Option<(u64, u64)> {
        let device = std::fs::metadata(&self.path).ok()?.dev();
        let facts = rustix::fs::statvfs(&self.path).ok()?;
        let free = facts.f_bfree.saturating_mul(facts.f_frsize);
        let (first_device, at_first) = *self.at_first.get_or_insert((device, free));
        (device == first_device).then(|| (device, at_first.saturating_sub(free)))
    }
}

/// What processes hold without a name.
#[derive(Debug, Default)]
struct Held {
    /// Bytes on the disk, by device and inode.
    files: BTreeMap<(u64, u64), u64>,
    /// Devices that are bounded by their own size, or have a ground of their own.
    others: BTreeSet<u64>,
    /// What cannot be looked into: a process that hides itself, files on their way through a socket, a mapping of a closed file.
    hidden: Option<&'static str>,
}

/// So much of a disk may be taken by others while something of the program cannot be looked into.
const BY_OTHERS: u64 = 256 * 1024 * 1024;

/// Looks at what the processes hold. A bound that is passed comes back with what showed it.
pub(super) fn look(grounds: &mut [Ground], processes: &[u32]) -> Option<(Limit, String)> {
    let taken: Vec<Option<(u64, u64)>> = grounds.iter_mut().map(Ground::taken).collect();
    if taken.iter().all(Option::is_none) {
        return None;
    }
    let scratch = ["/tmp", "/dev/shm"].into_iter().filter_map(|place| std::fs::metadata(place).ok()).map(|facts| facts.dev());
    let others = scratch.chain(taken.iter().flatten().map(|(device, _)| *device)).collect();
    let mut held = Held { others, ..Held::default() };
    for pid in processes {
        held.add(*pid);
    }
    let passed = |(ground, taken): (&mut Ground, Option<(u64, u64)>)| {
        let (device, taken) = taken?;
        held.passes(device, ground.most).or_else(|| held.fills(taken, ground))
    };
    grounds.iter_mut().zip(taken).find_map(passed).map(|evidence| (Limit::Disk, evidence))
}

impl Held {
    fn passes(&self, device: u64, most: u64) -> Option<String> {
        // Where folders lie over each other, a file may have another device than its folder (overlayfs).
        let is_there = |on: u64| on == device || !self.others.contains(&on);
        let bytes: u64 = self.files.iter().filter(|((on, _), _)| is_there(*on)).map(|(_, bytes)| bytes).sum();
        (bytes > most).then(|| format!("{bytes} bytes in open files that have no name"))
    }

    fn fills(&self, taken: u64, ground: &mut Ground) -> Option<String> {
        let Some(hidden) = self.hidden.filter(|_| ground.suspects && taken > ground.most.saturating_add(BY_OTHERS)) else {
            ground.in_a_row = 0;
            return None;
        };
        ground.in_a_row += 1;
        (ground.in_a_row >= IN_A_ROW).then(|| format!("{taken} bytes of the disk were taken while it held {hidden}"))
    }

    /// Each thread may have a table of files of its own (`clone(2)`, `CLONE_FILES`).
    fn add(&mut self, pid: u32) {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return };
        for thread in threads.flatten() {
            match std::fs::read_dir(thread.path().join("fd")) {
                Ok(files) => files.flatten().for_each(|file| self.add_file(&file.path())),
                // One that has ended meanwhile is no longer there, and hides nothing.
                Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied && lives(&thread.path()) => {
                    self.hidden = Some("a process that cannot be looked into");
                }
                Err(_) => {}
            }
        }
        if std::fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.lines().any(|line| self.is_hidden_mapping(line))) {
            self.hidden = Some("a mapping of a file that has no name");
        }
    }

    fn add_file(&mut self, path: &Path) {
        let Ok(leads_to) = std::fs::read_link(path) else { return };
        let leads_to = leads_to.as_os_str().as_encoded_bytes();
        if leads_to.starts_with(b"socket:") {
            let facts = path.parent().and_then(Path::parent).zip(path.file_name()).map(|(thread, name)| thread.join("fdinfo").join(name));
            let under_way = facts.and_then(|facts| std::fs::read_to_string(facts).ok()).is_some_and(|facts| has_files_under_way(&facts));
            if under_way {
                self.hidden = Some("files on their way through a socket");
            }
            return;
        }
        // A look at every other file could wait for a disk; what a call brings along lies in memory.
        if leads_to.ends_with(b" (deleted)")
            && !leads_to.starts_with(b"/memfd:")
            && let Ok(facts) = std::fs::metadata(path)
            && facts.nlink() == 0
        {
            self.files.insert((facts.dev(), facts.ino()), facts.blocks().saturating_mul(512));
        }
    }

    /// Whether a line of `/proc/PID/maps` is of a file on a disk that has no name and is not known by a descriptor (`proc_pid_maps(5)`).
    fn is_hidden_mapping(&self, line: &str) -> bool {
        let mut fields = line.split_ascii_whitespace();
        let (Some(device), Some(inode)) = (fields.nth(3), fields.next().and_then(|inode| inode.parse::<u64>().ok())) else { return false };
        // Those with the major number 0 are no disks, but memory; they are bounded by it.
        line.ends_with(" (deleted)") && !device.starts_with("00:") && !self.files.keys().any(|(_, known)| *known == inode)
    }
}

/// Whether a thread still has its memory. One that comes to its end belongs to root in `/proc` until it is taken, as one that hides itself does
/// (`proc(5)`), but holds no files for long.
fn lives(thread: &Path) -> bool {
    let stat = std::fs::read_to_string(thread.join("stat")).unwrap_or_default();
    // The name before it may hold anything; of what follows, the twenty-first is the size of the address space.
    let size = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(20));
    size.is_some_and(|size| size != "0")
}

/// Whether `/proc/PID/fdinfo/N` of a socket counts files that were sent and not received.
fn has_files_under_way(facts: &str) -> bool {
    facts.lines().filter_map(|line| line.strip_prefix("scm_fds:")).any(|count| count.trim() != "0")
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    fn opened(file: &impl std::os::fd::AsRawFd) -> PathBuf {
        PathBuf::from(format!("/proc/self/task/{}/fd/{}", std::process::id(), file.as_raw_fd()))
    }

    #[test]
    fn a_file_without_a_name_counts_by_what_it_takes_and_one_with_a_name_does_not() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let device = std::fs::metadata(folder.path()).unwrap().dev();
        let passes = |paths: &[PathBuf], most| {
            let mut held = Held { others: BTreeSet::from([device]), ..Held::default() };
            for path in paths {
                held.add_file(path);
            }
            held.passes(device, most).is_some()
        };
        let mut named = tempfile::NamedTempFile::new_in(folder.path()).unwrap();
        named.write_all(&vec![1; 3 << 20]).unwrap();
        named.as_file().sync_all().unwrap();
        assert!(!passes(&[opened(named.as_file())], 2 << 20));
        let unnamed = named.into_file();
        assert!(passes(&[opened(&unnamed)], 2 << 20) && !passes(&[opened(&unnamed)], 1 << 30));
        // Several descriptors of one file are one file, and a hole takes nothing.
        let again = unnamed.try_clone().unwrap();
        again.set_len(1 << 40).unwrap();
        assert!(!passes(&[opened(&unnamed), opened(&again)], 5 << 20));
    }

    #[test]
    fn a_file_counts_on_its_own_disk_or_on_every_one_where_that_is_not_known() {
        let (files, others) = (BTreeMap::from([((1, 5), 10), ((2, 5), 20), ((9, 5), 40)]), BTreeSet::from([1, 2, 3]));
        let held = Held { files, others, hidden: None };
        let bytes = |device| (0..100).find(|most| held.passes(device, *most).is_none());
        assert_eq!((bytes(1), bytes(2), bytes(3)), (Some(50), Some(60), Some(40)));
    }

    #[test]
    fn what_cannot_be_looked_into_counts_where_the_disk_fills_up() {
        let held = Held { hidden: Some("a process that cannot be looked into"), ..Held::default() };
        let most = 1 << 20;
        let ground = || Ground::new(PathBuf::from("/"), most);
        let looks = |held: &Held, taken: &[u64], mut ground: Ground| -> Vec<bool> {
            taken.iter().map(|taken| held.fills(*taken, &mut ground).is_some()).collect()
        };
        let (below, above) = (most + BY_OTHERS, most + BY_OTHERS + 1);
        assert_eq!(looks(&held, &[below; 4], ground()), [false; 4]);
        assert_eq!(looks(&held, &[above; 4], ground()), [false, false, true, true]);
        assert_eq!(looks(&held, &[above, above, below, above], ground()), [false; 4], "not in a row");
        assert_eq!(looks(&held, &[above; 4], ground().trusting()), [false; 4]);
        // Whatever others write, a program that hides nothing is not ended for it.
        assert_eq!(looks(&Held::default(), &[u64::MAX; 4], ground()), [false; 4]);
    }

    #[test]
    fn a_process_that_has_ended_hides_nothing() {
        assert!(lives(Path::new("/proc/thread-self")));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let ended = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(rustix::process::Pid::from_child(&child)), ended).unwrap();
        let thread = PathBuf::from(format!("/proc/{0}/task/{0}", child.id()));
        assert!(thread.exists() && !lives(&thread));
        let mut held = Held::default();
        held.add(child.id());
        assert_eq!(held.hidden, None);
        child.wait().unwrap();
        assert!(!lives(&thread));
    }

    #[test]
    fn a_mapping_of_a_closed_file_and_files_under_way_are_noticed() {
        let mut held = Held::default();
        let line = "7f00-7f01 rw-s 00000000 fe:00 4711                     /disk/x (deleted)";
        assert!(held.is_hidden_mapping(line));
        assert!(!held.is_hidden_mapping(&line.replace("fe:00", "00:2f")), "in memory");
        assert!(!held.is_hidden_mapping(line.trim_end_matches(" (deleted)")));
        held.files.insert((1, 4711), 0);
        assert!(!held.is_hidden_mapping(line), "counted already");
        assert!(has_files_under_way("pos:\t0\nscm_fds: 3\n") && !has_files_under_way("scm_fds: 0\n") && !has_files_under_way(""));
        // As the kernel of this machine says it.
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        let sent = [one.as_fd()];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = rustix::net::SendAncillaryBuffer::new(&mut space);
        assert!(control.push(rustix::net::SendAncillaryMessage::ScmRights(&sent)));
        let text = [std::io::IoSlice::new(b"x")];
        rustix::net::sendmsg(&one, &text, &mut control, rustix::net::SendFlags::empty()).unwrap();
        let mut held = Held::default();
        held.add_file(&opened(&other));
        assert_eq!(held.hidden, Some("files on their way through a socket"));
    }
}
