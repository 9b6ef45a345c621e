//! What a program puts into a bounded folder when nobody looks: the server weighs a root during a call and after it, and a session goes on.

#![expect(clippy::disallowed_methods, reason = "the jail process looks at folders that its own program writes to")]

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::sandbox::jail::outcome::Limit;

/// Weighs a folder now and then.
#[derive(Debug)]
pub(super) struct Fill {
    folder: PathBuf,
    most: u64,
    next: Instant,
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
    pub(super) fn new(folder: PathBuf, most: u64) -> Self {
        Self { folder, most: most.saturating_mul(2).saturating_add(SLACK), next: Instant::now() + FIRST }
    }

    /// Looks when it is time to. A bound that is passed comes back with what showed it.
    pub(super) fn look(&mut self) -> Option<(Limit, String)> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        let passed = self.passed();
        self.next = now + FIRST.max(now.elapsed() * PART);
        passed.map(|evidence| (Limit::Disk, evidence))
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
                    return Some(format!("{bytes} bytes in {entries} entries of a folder with a quota"));
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
    fn it_is_looked_at_when_it_is_time_to_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all((0..=DEEPEST).fold(folder.path().to_owned(), |at, _| at.join("d"))).unwrap();
        let mut fill = Fill::new(folder.path().to_owned(), 0);
        fill.next = Instant::now() + Duration::from_hours(1);
        assert_eq!(fill.look(), None);
        fill.next = Instant::now();
        assert!(fill.look().is_some() && fill.next > Instant::now());
    }
}
