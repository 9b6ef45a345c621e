//! Whether a root with a quota takes more: exactly, before anything of ours is written, and now and then while a program writes by itself.

use super::below::usage;
use super::roots::{Root, Roots};
use crate::manifest::Quota;
use crate::model::{Bytes, Code, Failure, Target};

/// Whether a root takes this much more.
pub(super) fn check_quota(root: &Root, target: &Target, more_bytes: u64, more_files: u64) -> Result<(), Failure> {
    let Some(quota) = root.quota else { return Ok(()) };
    let most = most_entries(quota);
    let (bytes, files) = usage(&*root.folder, most);
    let files = files.saturating_add(more_files);
    if fits(quota, bytes.saturating_add(more_bytes), files) {
        return Ok(());
    }
    let has_files = quota.files.is_some() || files > most;
    let bounds = [quota.bytes.map(|bytes| bytes.to_string()), has_files.then(|| format!("{most} files"))];
    let bounds = bounds.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    Err(full(format!("`{target}` does not fit: the root `{}` may hold {bounds}", target.root)))
}

fn fits(quota: Quota, bytes: u64, files: u64) -> bool {
    bytes <= quota.bytes.unwrap_or(Bytes(u64::MAX)).0 && files <= most_entries(quota)
}

fn full(why: String) -> Failure {
    Failure::new(Code::NoSpace, why).hint("delete what is not needed any more")
}

/// How many entries a root may have. Where its quota bounds bytes alone, that is as many as small files would be: an empty file takes room too,
/// and each has to be looked at.
fn most_entries(quota: Quota) -> u64 {
    quota.files.or_else(|| quota.bytes.map(|bytes| (bytes.0 / SMALL_FILE).max(FEW_FILES))).unwrap_or(u64::MAX)
}

const SMALL_FILE: u64 = 1024;
const FEW_FILES: u64 = 10_000;

impl Roots {
    /// What stands against more in a root that holds more than its quota already. A large root is looked at on a thread of its own.
    ///
    /// # Errors
    /// `no_space`, and as [`folder`](Self::folder).
    pub(in crate::sandbox) async fn has_space(&self, session: &str, name: &str) -> Result<(), Failure> {
        let root = self.find(session, name)?;
        let Some(quota) = root.quota else { return Ok(()) };
        let (bytes, files) = usage(&*root.folder, FEW.min(most_entries(quota)));
        let is_in_bounds = if files <= FEW {
            fits(quota, bytes, files)
        } else {
            let walk = move || {
                let (bytes, files) = usage(&*root.folder, most_entries(quota));
                fits(quota, bytes, files)
            };
            let walked = tokio::task::spawn_blocking(walk).await;
            walked.map_err(|fault| Failure::new(Code::Internal, format!("a root could not be looked at: {fault}")))?
        };
        if is_in_bounds { Ok(()) } else { Err(full(format!("the root `{name}` holds more than its quota"))) }
    }
}

/// Entries that are looked at without leaving the thread, which takes about as long as another one needs to wake up.
const FEW: u64 = 200;

#[cfg(test)]
mod tests {
    use super::super::roots::{Location, RootConfig};
    use super::*;
    use crate::model::RelPath;

    fn roots(state: &std::path::Path, bytes: u64) -> Roots {
        let quota = Some(Quota { bytes: Some(Bytes(bytes)), files: None });
        Roots::open(&[RootConfig { name: "r".to_owned(), at: Location::Session, quota }], &[], Some(state)).unwrap()
    }

    fn fill(roots: &Roots, from: u64, to: u64) {
        use rustix::fs::{Mode, OFlags, openat};
        let folder = roots.folder("s", "r").unwrap();
        for at in from..to {
            openat(&*folder, at.to_string(), OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
        }
    }

    #[tokio::test]
    async fn a_root_of_few_and_one_of_many_entries_are_full_beyond_their_quota() {
        let folder = tempfile::tempdir().unwrap();
        let roots = roots(folder.path(), 1024);
        let root = roots.find("s", "r").unwrap();
        fill(&roots, 0, FEW);
        assert_eq!(roots.has_space("s", "r").await, Ok(()));
        fill(&roots, FEW, FEW_FILES);
        assert_eq!(roots.has_space("s", "r").await, Ok(()));
        fill(&roots, FEW_FILES, FEW_FILES + 1);
        let full = roots.has_space("s", "r").await.unwrap_err();
        assert_eq!((full.0.code, full.0.message.as_str()), (Code::NoSpace, "the root `r` holds more than its quota"));
        let refused = check_quota(&root, &Target { root: "r".to_owned(), path: RelPath::ROOT }, 0, 0).unwrap_err();
        assert!(refused.0.message.contains("1 KiB and 10000 files"), "{refused}");
    }
}
