//! `create_directory` and `info`, and the folders that are made above a new name.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{Mode, fsync, mkdirat};
use rustix::io::Errno;

use super::content::{count_lines, digest, is_binary, read_whole};
use super::fault::{changed, fault, missing};
use super::look::{Guard, single};
use super::quota::check_quota;
use super::resolve::{open_folder, step};
use super::roots::{Root, Roots};
use super::stat::Stat;
use crate::gate::Opened;
use crate::gate::Permit;
use crate::model::{Code, CreateDirectory, Failure, FileInfo, Kind, RelPath, Target};
use toolgate_page::picture;

/// Facts about one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The path.
    pub target: Target,
    /// What is there.
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    /// Nanoseconds since 1970 of its last change.
    pub modified_ns: i128,
    /// Permission bits.
    pub mode: u32,
    /// Facts about the content of a regular file that is not too large.
    pub content: Option<ContentInfo>,
}

/// Facts about a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentInfo {
    /// Its digest; none where a secret in it is masked, which the digest could tell.
    pub sha256: Option<String>,
    /// Its lines, where it is text.
    pub lines: Option<u64>,
    /// Its media type, as far as it is known.
    pub mime_type: &'static str,
}

impl Roots {
    /// Tells what stands at the permit's path.
    ///
    /// # Errors
    /// `not_found`
    pub fn info(&self, permit: Permit<FileInfo>) -> Result<Info, Failure> {
        let (_, opened, terms) = permit.spend();
        let opened = single(opened)?;
        let object = opened.object.as_ref().ok_or_else(|| missing(&opened.target))?;
        let seen = Stat::of(object).map_err(|errno| fault(errno, &opened.target, "looked at"))?;
        let readable = seen.kind == Kind::File && seen.names == 1 && !opened.fact.protected;
        let bytes = if readable { read_whole(object, seen.size, terms.max_file_size).ok().flatten() } else { None };
        let hides = terms.manifest.filters.hides_secrets();
        let content = bytes.map(|bytes| ContentInfo::of(&bytes, !hides || self.known.names(&bytes).is_empty()));
        Ok(Info {
            target: opened.target,
            kind: seen.kind,
            size: seen.size,
            modified_ns: seen.identity.mtime_ns,
            mode: seen.mode & 0o777,
            content,
        })
    }

    /// Creates the folder the permit names and the missing ones above it, and gives how many were made. A folder that is there is fine.
    ///
    /// # Errors
    /// `already_exists` and `not_a_directory` where a file stands there or on the way, `no_space`, `conflict`.
    pub fn create_directory(&self, permit: Permit<CreateDirectory>) -> Result<u64, Failure> {
        let (_, opened, terms) = permit.spend();
        let opened = single(opened)?;
        let target = &opened.target;
        match opened.fact.kind {
            Kind::Directory => return Ok(0),
            Kind::Absent => {}
            _ => return Err(Failure::new(Code::AlreadyExists, format!("`{target}` exists and is no folder"))),
        }
        let root = self.find(&terms.session, &target.root)?;
        check_quota(&root, target, 0, opened.path().segments().len() as u64)?;
        make_folders(&root, &Guard::new(self, &root), target, opened.path()).map(|(_, made)| made.len() as u64)
    }

    /// The folder that holds the name of a judged place, the name, and the folders that were made above it.
    ///
    /// # Errors
    /// `root_itself`, `not_a_directory` (a name on the way is no folder), `conflict`, `no_space`, `path_not_allowed`.
    pub(super) fn new_place(&self, root: &Root, opened: &Opened) -> Result<(Arc<OwnedFd>, String, Vec<Target>), Failure> {
        reachable(opened)?;
        let Some((parent, name)) = opened.path().split_last() else { return Err(root_itself(&opened.target)) };
        let (folder, made) = match &opened.folder {
            Some(folder) => (Arc::clone(folder), Vec::new()),
            None => make_folders(root, &Guard::new(self, root), &opened.target, &parent)?,
        };
        self.cleaned.clean(&folder);
        Ok((folder, name.to_owned(), made))
    }
}

/// Whether a new name can be given at an opened place: its folder is there, or can be made.
///
/// # Errors
/// `not_a_directory`, `root_itself`
pub(super) fn reachable(opened: &Opened) -> Result<(), Failure> {
    if opened.folder.is_some() || opened.fact.missing_folders > 0 {
        return Ok(());
    }
    if opened.path().is_root() {
        return Err(root_itself(&opened.target));
    }
    let why = format!("`{}` cannot be written: a name on the way is no folder", opened.target);
    Err(Failure::new(Code::NotADirectory, why).hint("list the folders on the way, and write below one of them"))
}

/// A verb of a name that is none.
pub(super) fn root_itself(target: &Target) -> Failure {
    Failure::new(Code::RootItself, format!("`{target}` is a root itself"))
}

/// The folder at `path` and those that were made on the way to it, the topmost first. A folder that another call made meanwhile is used where it
/// is a plain folder that no rule of the server protects. Where the call fails afterwards, what was made stays, empty.
fn make_folders(root: &Root, guard: &Guard<'_>, target: &Target, path: &RelPath) -> Result<(Arc<OwnedFd>, Vec<Target>), Failure> {
    let failed = |errno| fault(errno, target, "created");
    let (mut folder, mut made) = (Arc::clone(&root.folder), Vec::new());
    for path in path.ancestors().skip(1) {
        let name = path.segments().last().map(String::as_str).unwrap_or_default();
        let mut next = step(&folder, name);
        if next.as_ref().is_err_and(|errno| *errno == Errno::NOENT) {
            match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push(Target { root: target.root.clone(), path: path.clone() }),
                // Another call made it between the two.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(errno)),
            }
            if !root.scratch {
                // That a name is not on disk yet is no reason to fail.
                let _ = open_folder(&folder).and_then(fsync);
            }
            next = step(&folder, name);
        }
        let next = next.map_err(failed)?;
        let seen = Stat::of(&next).map_err(failed)?;
        match seen.kind {
            Kind::Directory if !guard.holds(&path, &seen) => folder = Arc::new(next),
            Kind::Directory | Kind::Symlink => return Err(changed(target)),
            _ => {
                let why = format!("`{target}` could not be created: `{name}` on the way is no folder");
                return Err(Failure::new(Code::NotADirectory, why));
            }
        }
    }
    Ok((folder, made))
}

impl ContentInfo {
    fn of(bytes: &[u8], has_digest: bool) -> Self {
        let text = std::str::from_utf8(bytes).is_ok() && !is_binary(bytes);
        Self {
            sha256: has_digest.then(|| digest(bytes)),
            lines: text.then(|| count_lines(bytes)),
            mime_type: picture(bytes).unwrap_or(if text { "text/plain" } else { "application/octet-stream" }),
        }
    }
}
