//! The manifest of a running server: looked at before every call, read when it changed.

#![expect(clippy::disallowed_methods, reason = "the manifest is a file that a user named")]

use std::fmt;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::arguments::ManifestChoice;
use super::guarded::guarded;
use super::setup::{self, Found, Unbuilt};
use super::text_file;
use crate::gate::{Waiting, hex};
use crate::manifest::Manifest;
use crate::reload::{APPLIED, Look, Offer, Source, WAITING, note_of};

/// Which file a text was read from: another one, or the same one written again, has another mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Mark {
    /// The mark of the file that lies at a path now.
    pub fn of(path: &Path) -> Option<Self> {
        let seen = std::fs::metadata(path).ok()?;
        Some(Self {
            device: seen.dev(),
            inode: seen.ino(),
            size: seen.len(),
            modified: (seen.mtime(), seen.mtime_nsec()),
            changed: (seen.ctime(), seen.ctime_nsec()),
        })
    }

    /// Whether it was written so short a time ago that it may be written on: editors truncate a file and fill it.
    fn is_fresh(&self) -> bool {
        const SETTLED: i128 = 30_000_000;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0));
        let then = i128::from(self.changed.0) * 1_000_000_000 + i128::from(self.changed.1);
        (0..SETTLED).contains(&(now - then))
    }
}

/// What a server tells about a manifest that waits: one file a server, below the state folder.
#[derive(Debug, Serialize, Deserialize)]
pub struct Told {
    /// The manifest's canonical path.
    pub manifest: PathBuf,
    /// The server.
    pub pid: u32,
    /// The digest of what waits.
    pub sha256: String,
    /// In what respects it is looser.
    pub looser: Vec<String>,
    /// The text that was in force before.
    pub before: String,
    /// The server's choices that belong to it.
    pub roots: Vec<(String, PathBuf)>,
}

/// The operator's word on a manifest.
#[derive(Debug, Serialize, Deserialize)]
pub struct Applied {
    /// The digest of the text.
    pub sha256: String,
    /// The file it was read from: the same text written again later is not meant.
    pub mark: Mark,
}

/// What is done to a manifest after it was read, as the command line asked.
pub type Adjust = Box<dyn Fn(&mut Manifest) -> Result<(), String> + Send + Sync>;

/// The file of a running server's manifest.
pub struct ManifestFile {
    choice: ManifestChoice,
    path: PathBuf,
    state: PathBuf,
    adjust: Adjust,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    mark: Option<Mark>,
    sha256: [u8; 32],
    before: String,
}

impl fmt::Debug for ManifestFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManifestFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ManifestFile {
    /// The file a manifest was found in; none for the built-in one.
    /// # Errors  When the state folder has no place.
    pub fn of(choice: &ManifestChoice, found: &Found, adjust: Adjust) -> Result<Option<Self>, Unbuilt> {
        let Some(path) = found.file.clone() else { return Ok(None) };
        let state = setup::state_path(&found.manifest, found.file.as_deref())?;
        // A change between the reading and now is a change.
        let mark = Mark::of(&path).filter(|mark| !mark.is_fresh() && text_file::read(&path).is_ok_and(|text| text == found.text));
        // What the choice names stays the same file, whatever happens to the working folder or the environment.
        let choice = ManifestChoice { manifest: Some(path.clone()), ..choice.clone() };
        let seen = Mutex::new(Seen { mark, sha256: found.manifest.sha256, before: found.text.clone() });
        Ok(Some(Self { choice, path, state, adjust, seen }))
    }

    /// Reads what lies there now as a start would.
    fn read(&self) -> Result<Found, Unbuilt> {
        let mut found = setup::find(&self.choice)?;
        (self.adjust)(&mut found.manifest).map_err(Unbuilt::Refused)?;
        Ok(found)
    }

    fn note(&self, folder: &str) -> PathBuf {
        self.state.join(folder).join(note_of(&self.path))
    }
}

impl Source for ManifestFile {
    fn look(&self) -> Look {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = Mark::of(&self.path);
        if mark == seen.mark && mark.is_some() {
            return Look::Same;
        }
        let Some(mark) = mark else {
            // An editor takes a file away for a moment; one that stays away is told once.
            let told = seen.mark.take().is_none();
            return if told { Look::Same } else { Look::Faulty(format!("`{}` is gone", self.path.display())) };
        };
        if mark.is_fresh() {
            return Look::Unsettled;
        }
        let read = self.read().and_then(|mut found| setup::checked_places(&mut found, &self.state).map(|places| (found, places)));
        if Mark::of(&self.path) != Some(mark) {
            return Look::Unsettled;
        }
        seen.mark = Some(mark);
        match read {
            Ok((found, _)) if found.manifest.sha256 == seen.sha256 => Look::Same,
            Ok((found, places)) => {
                seen.sha256 = found.manifest.sha256;
                let guarded = guarded(found.file.as_deref(), &found.manifest);
                Look::Changed(Box::new(Offer { manifest: found.manifest, places, guarded }))
            }
            Err(fault) => {
                // The same text again, after a faulty one, is a change back.
                seen.sha256 = [0; 32];
                Look::Faulty(fault.to_string())
            }
        }
    }

    fn is_applied(&self, sha256: &[u8; 32]) -> bool {
        let Ok(text) = std::fs::read_to_string(self.note(APPLIED)) else { return false };
        let Ok(applied) = serde_json::from_str::<Applied>(&text) else { return false };
        let meant = applied.sha256 == hex(sha256) && Mark::of(&self.path) == Some(applied.mark);
        if meant {
            // From here on this text is what a later change is compared with.
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).before = text_file::read(&self.path).unwrap_or_default();
        }
        meant
    }

    fn tell(&self, waiting: Option<&Waiting>) {
        let file = self.state.join(WAITING).join(format!("{}.{}", note_of(&self.path).display(), std::process::id()));
        let done = match waiting {
            None => {
                if let Ok(text) = text_file::read(&self.path) {
                    self.seen.lock().unwrap_or_else(PoisonError::into_inner).before = text;
                }
                match std::fs::remove_file(&file) {
                    Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => Ok(()),
                    done => done,
                }
            }
            Some(waiting) => {
                let told = Told {
                    manifest: self.path.clone(),
                    pid: std::process::id(),
                    sha256: hex(&waiting.manifest.sha256),
                    looser: waiting.looser.clone(),
                    before: self.seen.lock().unwrap_or_else(PoisonError::into_inner).before.clone(),
                    roots: self.choice.roots.clone(),
                };
                put(&file, &told)
            }
        };
        if let Err(fault) = done {
            tracing::error!(%fault, "what waits could not be told to the operator's commands");
        }
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

impl Drop for ManifestFile {
    fn drop(&mut self) {
        self.tell(None);
    }
}

/// Puts a value into a file of the state folder, whole or not at all.
/// # Errors  When it cannot be written.
pub fn put(file: &Path, value: &impl Serialize) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(folder) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let draft = file.with_extension(format!("{}.draft", std::process::id()));
    let mut out = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    out.write_all(&serde_json::to_vec(value).map_err(std::io::Error::other)?)?;
    std::fs::rename(&draft, file)
}

/// What servers that still run tell about manifests that wait.
pub fn waiting(state: &Path) -> Vec<Told> {
    let Ok(entries) = std::fs::read_dir(state.join(WAITING)) else { return Vec::new() };
    let files = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end != "draft"));
    let mut told = Vec::new();
    for file in files {
        let one = std::fs::read_to_string(&file).ok().and_then(|text| serde_json::from_str::<Told>(&text).ok());
        let Some(one) = one else { continue };
        if runs(one.pid) {
            told.push(one);
        } else {
            // Its server died; nobody waits there any more.
            let _ = std::fs::remove_file(&file);
        }
    }
    told
}

fn runs(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
