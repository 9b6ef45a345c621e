//! What a program puts into a bounded folder when nobody looks: the server weighs a root during a call and after it, and a session goes on.

#![expect(clippy::disallowed_methods, reason = "the jail process looks at folders that its own program writes to")]

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::sandbox::jail::outcome::Limit;

/// Weighs a folder now and then, and at once where as much was taken of its disk as the folder may hold.
#[derive(Debug)]
pub(super) struct Fill {
    folder: PathBuf,
    quota: u64,
    most: u64,
    next: Instant,
    /// Before this it is not weighed, whatever the disk says: others may be filling that.
    earliest: Instant,
    /// The bytes that were free on its disk when it was weighed last, or the most since.
    free: Option<u64>,
}

/// Until the first look; most calls are over by then.
const FIRST: Duration = Duration::from_secs(1);
/// A look may take this part of the time.
const PART: u32 = 50;
/// More than any quota rounds up to: the server's own look is the exact one.
const SLACK: u64 = 32 * 1024 * 1024;
/// Folders in folders; deeper ones could not be weighed, and count as everything (the server's look has the same bound).
const DEEPEST: usize = 64;
/// More entries than this count as everything.
const MOST_ENTRIES: u64 = 1_000_000;

impl Fill {
    /// A folder that may hold so many bytes.
    pub(super) fn new(folder: PathBuf, quota: u64) -> Self {
        let (most, now) = (quota.saturating_mul(2).saturating_add(SLACK), Instant::now());
        Self { folder, quota, most, next: now + FIRST, earliest: now, free: None }
    }

    /// Looks when it is time to. A bound that is passed comes back with what showed it.
    pub(super) fn look(&mut self) -> Option<(Limit, String)> {
        let now = Instant::now();
        // Asked for at every look, so that what is compared is not older than the last one.
        let fills = rustix::fs::statvfs(&self.folder).is_ok_and(|facts| self.fills(facts.f_bfree.saturating_mul(facts.f_frsize)));
        if now < self.next && (!fills || now < self.earliest) {
            return None;
        }
        let passed = self.passed();
        let pause = now.elapsed() * PART;
        (self.next, self.earliest, self.free) = (now + FIRST.max(pause), now + pause, None);
        passed.map(|evidence| (Limit::Disk, evidence))
    }

    /// Whether so few bytes are free by now that the folder may hold more than its quota.
    fn fills(&mut self, free: u64) -> bool {
        let before = self.free.map_or(free, |before| before.max(free));
        self.free = Some(before);
        before.saturating_sub(free) > self.quota
    }

    fn passed(&self) -> Option<String> {
        let (mut bytes, mut entries) = (0_u64, 0_u64);
        let mut folders = vec![(self.folder.clone(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            if depth > DEEPEST {
                return Some(format!("folders {DEEPEST} deep"));
            }
            // One that is closed is opened by the server's next look.
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                entries += 1;
                let Ok(facts) = entry.metadata() else { continue };
                bytes = bytes.saturating_add(facts.blocks().saturating_mul(512));
                if bytes > self.most || entries > MOST_ENTRIES {
                    return Some(format!("{bytes} bytes in {entries} entries of a root whose quota is {} bytes", self.quota));
                }
                if facts.is_dir() {
                    folders.push((entry.path(), depth + 1));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_weighed_by_what_it_takes_whatever_its_shape() {
        let folder = tempfile::tempdir().unwrap();
        let fill = || Fill { most: 1 << 20, ..Fill::new(folder.path().to_owned(), 0) };
        std::fs::File::create(folder.path().join("hole")).unwrap().set_len(1 << 40).unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("below/link")).unwrap();
        assert_eq!(fill().passed(), None);
        let mut large = std::fs::File::create(folder.path().join("below/large")).unwrap();
        std::io::Write::write_all(&mut large, &vec![1; 2 << 20]).unwrap();
        large.sync_all().unwrap();
        assert!(fill().passed().is_some_and(|said| said.contains("quota")));
        large.set_len(0).unwrap();
        large.sync_all().unwrap();
        assert_eq!(fill().passed(), None);
        std::fs::create_dir_all((0..=DEEPEST).fold(folder.path().to_owned(), |at, _| at.join("d"))).unwrap();
        assert!(fill().passed().is_some_and(|said| said.contains("deep")));
    }

    #[test]
    fn a_disk_that_fills_up_has_it_weighed_at_once_and_one_that_others_empty_does_not() {
        let mut fill = Fill::new(PathBuf::from("/"), 100);
        let seen = [1000, 950, 900, 899, 700, 1500, 1400, 1399].map(|free| fill.fills(free));
        assert_eq!(seen, [false, false, false, true, true, false, false, true]);
    }

    #[test]
    fn it_is_looked_at_when_it_is_time_to_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all((0..=DEEPEST).fold(folder.path().to_owned(), |at, _| at.join("d"))).unwrap();
        let mut fill = Fill::new(folder.path().to_owned(), 0);
        fill.quota = u64::MAX;
        fill.next = Instant::now() + Duration::from_hours(1);
        assert_eq!(fill.look(), None);
        fill.next = Instant::now();
        assert!(fill.look().is_some() && fill.next > Instant::now());
    }
}
