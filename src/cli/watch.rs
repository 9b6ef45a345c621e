//! The manifest of a running server: looked at before every call, read when it changed.

#![expect(clippy::disallowed_methods, reason = "the manifest is a file that a user named")]

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use super::http::HttpChoice;
use super::lookup::By;
use super::run::Fault;
use super::setup::{self, Choice, Found};
use super::trust;
use crate::manifest::Manifest;
use crate::reload::{Look, Offer, Source};

/// Which file a text was read from: another one, or the same one written again, has another mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    /// Device and inode.
    file: (u64, u64),
    /// When it was changed, in nanoseconds since 1970; every write is a change (inode(7), ctime).
    changed: i128,
}

impl Mark {
    /// The mark of the file that lies at a path now.
    fn of(path: &Path) -> Option<Self> {
        let seen = std::fs::metadata(path).ok()?;
        Some(Self { file: (seen.dev(), seen.ino()), changed: i128::from(seen.ctime()) * 1_000_000_000 + i128::from(seen.ctime_nsec()) })
    }

    /// Whether it was written so short a time ago that it may be written on: editors truncate a file and fill it.
    fn is_fresh(&self) -> bool {
        const SETTLED: i128 = 30_000_000;
        (0..SETTLED).contains(&(Timestamp::now().as_nanosecond() - self.changed))
    }
}

/// The file of a running server's manifest.
#[derive(Debug)]
pub(super) struct ManifestFile {
    choice: Choice,
    http: HttpChoice,
    path: PathBuf,
    by: By,
    state: PathBuf,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    mark: Option<Mark>,
    /// Whether the manifest in force lies where others than the operator change files, so that a change of it holds once it is trusted.
    is_bound: bool,
    /// The digest of what lies there and waits for that.
    held: Option<[u8; 32]>,
}

impl ManifestFile {
    /// The file a manifest was found in; none for the built-in one.
    /// # Errors  When the state folder has no place.
    pub(super) fn of(choice: &Choice, http: &HttpChoice, found: &Found) -> Result<Option<Self>, Fault> {
        let Some(path) = found.file.clone() else { return Ok(None) };
        let state = found.state()?;
        // Without a mark the file is read at the first look: it may have changed since it was found.
        let seen = Mutex::new(Seen { mark: None, is_bound: is_bound(&path, found.by, &found.manifest), held: None });
        Ok(Some(Self { choice: choice.clone(), http: http.clone(), path, by: found.by, state, seen }))
    }

    /// Reads what lies there now as a start would.
    fn read(&self) -> Result<Found, Fault> {
        // The path stays the same file, whatever happens to the working folder or the environment.
        let mut found = setup::find(Some(&self.path), &self.choice.roots)?;
        self.http.adjust(&mut found.manifest, self.choice.profile.as_deref())?;
        Ok(found)
    }
}

/// Whether a change of a manifest counts only once it is trusted: it was not named, or it lies where a client's own editor or a pull of a
/// repository can change it.
pub(super) fn is_bound(file: &Path, by: By, manifest: &Manifest) -> bool {
    let in_root =
        |segments: &Vec<String>| Path::new(&format!("/{}", segments.join("/"))).canonicalize().is_ok_and(|root| file.starts_with(root));
    by != By::Name
        || manifest.roots.values().flat_map(|root| &root.paths).any(in_root)
        || file.ancestors().any(|folder| folder.join(".git").exists())
}

impl Source for ManifestFile {
    fn look(&self, in_force: &[u8; 32]) -> Look {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = Mark::of(&self.path);
        if mark == seen.mark && mark.is_some() && !seen.held.is_some_and(|held| trust::is_trusted(&self.path, &held)) {
            return Look::Same;
        }
        let Some(mark) = mark else {
            // An editor takes a file away for a moment; one that stays away is told once.
            let told = seen.mark.take().is_none();
            return if told { Look::Same } else { Look::Refused(format!("`{}` is gone", self.path.display())) };
        };
        if mark.is_fresh() {
            return Look::Unsettled;
        }
        let read = self.read();
        if Mark::of(&self.path) != Some(mark) {
            return Look::Unsettled;
        }
        seen.mark = Some(mark);
        seen.held = None;
        let mut found = match read {
            Ok(found) if found.manifest.sha256 == *in_force => return Look::Same,
            Ok(found) => found,
            Err(fault) => return Look::Refused(fault.to_string()),
        };
        if seen.is_bound && !trust::is_trusted(&self.path, &found.manifest.sha256) {
            seen.held = Some(found.manifest.sha256);
            let file = self.path.display();
            return Look::Refused(format!(
                "`{file}` is not trusted as it is now; `toolgate trust {file}` shows what it opens, and puts it in force"
            ));
        }
        match setup::checked_places(&mut found, &self.state) {
            Ok(places) => {
                seen.is_bound = is_bound(&self.path, self.by, &found.manifest);
                Look::Changed(Box::new(Offer { guarded: found.guarded(), manifest: found.manifest, places }))
            }
            Err(fault) => Look::Refused(fault.to_string()),
        }
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}
