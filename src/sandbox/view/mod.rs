//! What a program must not see of a root: computed over the opened folder before the program starts, anew before every call.

mod fit;
mod listing;

use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::below;
use super::files::{Hidden, Stat};
use super::programs::Cover;
use crate::manifest::Manifest;
use crate::model::{Kind, RelPath};
use listing::{Bound, Entry, Kept, Listing, clock, list};

/// Most entries of a root that are looked at; a larger tree is refused rather than half masked.
pub(super) const MOST: usize = 1_000_000;
/// Entries that are looked at without leaving the thread, which takes about as long as another one needs to wake up.
pub(super) const FEW: usize = 100;

/// Why a root cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unshown {
    #[error("it has more than {0} entries, too many to judge one by one; give Python a smaller folder")]
    TooMany(usize),
    #[error("more than {0} entries in it may not be seen, too many to cover one by one; deny the folders they are in")]
    TooManyMasks(usize),
    #[error("a folder in it cannot be read, so its denied entries cannot be masked ({0})")]
    Unreadable(Errno),
    #[error("an entry right in it has a name that is not UTF-8, which no pattern can judge and no mask can name; rename it")]
    NotText,
    #[error("entries that may not be seen are moved about in it all the time")]
    Restless,
    #[error("the call was cancelled")]
    Cancelled,
}

/// What of a root is covered before a program starts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct View {
    /// What is masked, each with the object that it was; below a masked folder nothing more is listed.
    pub(super) masked: Vec<Cover>,
    /// Folders that are masked whole only because something in them cannot be masked by itself: too much, or a name that is not UTF-8.
    pub(super) left_out: Vec<String>,
}

/// One look at a root.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) manifest: Arc<Manifest>,
    pub(super) name: String,
    pub(super) root: Arc<OwnedFd>,
    pub(super) hidden: Arc<Hidden>,
    /// How many roots the program sees: they share what a jail can cover.
    pub(super) roots: usize,
}

/// The listings of roots, kept from one look to the next.
#[derive(Debug, Default)]
pub(super) struct Views(Mutex<HashMap<String, Arc<tokio::sync::Mutex<Kept>>>>);

impl Views {
    /// What of a root is masked now. A root of few entries is looked at here, a larger one on a thread of its own: one look at a time for
    /// each root, and a look whose call has ended ends.
    ///
    /// # Errors
    /// Why the root cannot be shown; the outer one when the thread failed.
    pub(super) async fn look(&self, look: Look) -> Result<Result<View, Unshown>, String> {
        let kept = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Of roots that a later manifest took away nothing is kept.
            all.retain(|name, _| look.manifest.roots.contains_key(name));
            Arc::clone(all.entry(look.name.clone()).or_default())
        };
        if let Ok(mut kept) = kept.try_lock()
            && kept.is_empty()
        {
            match look.now(&mut kept, FEW, &CancellationToken::new()) {
                Err(Unshown::TooMany(_)) => {}
                few => {
                    // What is looked through in a moment needs no memory.
                    *kept = Kept::default();
                    return Ok(few);
                }
            }
        }
        let cancel = CancellationToken::new();
        let ended = cancel.clone().drop_guard();
        let mut kept = kept.lock_owned().await;
        let looked = tokio::task::spawn_blocking(move || look.now(&mut kept, MOST, &cancel)).await;
        ended.disarm();
        looked.map_err(|fault| fault.to_string())
    }
}

/// How often a root is looked through again because what was to be masked had moved meanwhile.
const AGAIN: usize = 5;

impl Look {
    /// The entries that must be masked: denied, matched by no allowed pattern, the server's own, and where anything is denied every file that
    /// has a name which is not seen (a hard link may be the second name of a denied file). At most `most` entries are looked at.
    fn now(&self, kept: &mut Kept, most: usize, stop: &CancellationToken) -> Result<View, Unshown> {
        let open_to_all =
            |root: &crate::manifest::Root| root.denied.is_empty() && root.allowed.iter().any(|pattern| pattern.as_str() == "**");
        let all_is_open = self.manifest.files.denied.is_empty() && self.manifest.roots.get(&self.name).is_some_and(open_to_all);
        if all_is_open && !self.hidden.is_inside() && !self.hidden.is_anywhere() {
            return Ok(View::default());
        }
        for _ in 0..AGAIN {
            let mut walk =
                Walk { look: self, all_is_open, most, stop, old: kept.take(&self.manifest), new: HashMap::new(), found: Found::default() };
            let walked = walk.all();
            let Walk { old, mut new, found, .. } = walk;
            if walked.is_err() {
                // Half a walk is still good for the next one.
                new.extend(old);
            }
            kept.keep(&self.manifest, new);
            walked?;
            let unnamed = found.unnamed.clone();
            let (masked, shown) = found.masked(&self.root);
            let (masked, mut left_out) = fit::fit(masked, &shown, self.roots)?;
            // One that lies in a folder that is left out for another reason is told with that.
            left_out.extend(unnamed.into_iter().filter(|folder| masked.contains(folder)));
            left_out.sort();
            left_out.dedup();
            // One that is gone may have another name by now, under which it was not seen.
            if let Some(masked) = masked.into_iter().map(|path| self.mask(path)).collect::<Result<_, Unshown>>()? {
                return Ok(View { masked, left_out });
            }
        }
        Err(Unshown::Restless)
    }

    /// The mask over what lies at a path by now; none where nothing does.
    fn mask(&self, path: String) -> Result<Option<Cover>, Unshown> {
        match below::open(&self.root, &path, OFlags::PATH).and_then(Stat::of) {
            Ok(seen) => Ok(Some(Cover { path, object: Some(seen.object()) })),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(Unshown::Unreadable(errno)),
        }
    }
}

/// A walk through a root.
struct Walk<'w> {
    look: &'w Look,
    all_is_open: bool,
    most: usize,
    stop: &'w CancellationToken,
    old: HashMap<String, Arc<Listing>>,
    new: HashMap<String, Arc<Listing>>,
    found: Found,
}

/// What a walk found.
#[derive(Default)]
struct Found {
    masked: Vec<String>,
    /// Folders that are masked because of a name in them that is not UTF-8.
    unnamed: Vec<String>,
    /// How many entries of each folder may be seen.
    shown: BTreeMap<String, usize>,
    /// Files with several names: how many, and those that were seen.
    linked: HashMap<(u64, u64), (u64, Vec<String>)>,
}

impl Walk<'_> {
    fn all(&mut self) -> Result<(), Unshown> {
        let (mut seen, mut waiting) = (0, vec![RelPath::ROOT]);
        while let Some(folder) = waiting.pop() {
            let Some(opened) = descend(&self.look.root, &folder)? else { continue };
            let path = folder.to_string();
            let bound = Bound { most: self.most, left: self.most.saturating_sub(seen), stop: self.stop };
            let listing = list(self.look, &folder, &opened, self.old.remove(&path), clock(), bound)?;
            seen += listing.entries.len();
            if seen > self.most {
                return Err(Unshown::TooMany(self.most));
            }
            if self.stop.is_cancelled() {
                return Err(Unshown::Cancelled);
            }
            if listing.is_unnamed {
                if folder.is_root() {
                    return Err(Unshown::NotText);
                }
                self.found.masked.push(path.clone());
                self.found.unnamed.push(path.clone());
            } else {
                self.entries(&listing, &folder, &opened, &mut waiting)?;
            }
            self.new.insert(path, listing);
        }
        Ok(())
    }

    fn entries(&mut self, listing: &Listing, folder: &RelPath, opened: &OwnedFd, waiting: &mut Vec<RelPath>) -> Result<(), Unshown> {
        let hidden = &self.look.hidden;
        let path_of = |entry: &Entry| folder.join(&entry.name.to_string_lossy());
        let mut shown = 0;
        for entry in &listing.entries {
            if !entry.is_shown || hidden.is(opened, &entry.name, entry.inode) {
                self.found.masked.push(path_of(entry).to_string());
                continue;
            }
            shown += 1;
            match entry.kind {
                Kind::Directory => {
                    let path = path_of(entry);
                    // Where all is open, only the way to what is the server's own has to be gone.
                    if !self.all_is_open || hidden.is_anywhere() || hidden.is_below(&path) {
                        waiting.push(path);
                    }
                }
                Kind::File if !self.all_is_open => {
                    if let Some(seen) = linked(opened, &entry.name)? {
                        self.found.linked.entry(seen.object()).or_insert((seen.names, Vec::new())).1.push(path_of(entry).to_string());
                    }
                }
                _ => {}
            }
        }
        self.found.shown.insert(folder.to_string(), shown);
        Ok(())
    }
}

impl Found {
    /// Everything that is masked, and what is shown of each folder. A file with several names is seen where each of its names is: which of them is a denied one cannot be told
    /// from the others, and one that was not seen may be denied, or lie outside.
    fn masked(self, root: &OwnedFd) -> (Vec<String>, BTreeMap<String, usize>) {
        let mut masked = self.masked;
        for (object, (names, paths)) in self.linked {
            // Asked once more: a name that was moved during the walk may have been counted twice.
            let is_it = |path: &String| {
                let seen = below::open(root, path, OFlags::PATH).and_then(Stat::of);
                seen.is_ok_and(|seen| (seen.object(), seen.names) == (object, names))
            };
            let is_whole = names == paths.len() as u64 && paths.iter().all(is_it);
            if !is_whole {
                masked.extend(paths);
            }
        }
        masked.sort();
        (masked, self.shown)
    }
}

/// A regular file that has more than one name.
fn linked(folder: &OwnedFd, name: &CStr) -> Result<Option<Stat>, Unshown> {
    match Stat::at(folder, name) {
        Ok(seen) => Ok(Some(seen).filter(|seen| seen.kind == Kind::File && seen.names > 1)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(Unshown::Unreadable(errno)),
    }
}

/// Opens a folder below the root without following links. Nothing when it has gone meanwhile.
fn descend(root: &OwnedFd, folder: &RelPath) -> Result<Option<OwnedFd>, Unshown> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let opened = if folder.is_root() {
        openat(root, ".", flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    } else {
        below::open(root, &folder.to_string(), flags)
    };
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(Unshown::Unreadable(errno)),
    }
}

#[cfg(test)]
mod tests;
