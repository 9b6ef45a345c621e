//! `write`: a content in the place of nothing or of the file that was judged.

use rustix::io::Errno;

use super::content::digest;
use super::fault::{changed, fault, missing};
use super::folder::{reachable, root_itself};
use super::look::single;
use super::masks::{listed, masked_content, written_mask};
use super::quota::check_quota;
use super::read::{read_judged, regular, too_large};
use super::replace::{Destination, USUAL, Unplaced, put, write_all};
use super::roots::Roots;
use crate::filter::holds_secret_mask;
use crate::filter::masked::secrets_in;
use crate::gate::Opened;
use crate::gate::{Permit, Terms};
use crate::model::{Bytes, Code, Failure, Identity, Kind, Target, WriteFile, WriteMode};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub target: Target,
    /// Whether it is new.
    pub created: bool,
    /// Its size in bytes.
    pub size: u64,
    /// Its digest; none where it holds a masked secret that the call did not bring.
    pub sha256: Option<String>,
    /// Which object it is now.
    pub identity: Identity,
    /// The folders that were made for it, the topmost first.
    pub folders: Vec<Target>,
}

impl Roots {
    /// Writes the file the permit names, atomically: old or new content, never half, also when this server or the machine dies. Missing folders
    /// above it are made, and stay where it cannot be written then.
    ///
    /// # Errors
    /// `not_a_directory` (on the way), `is_a_directory`, `already_exists`, `conflict`, `file_too_large`, `no_space`, `masked_content` (a mask would
    /// take the place of a secret, a masked secret would be shown by what is appended to it, or a digest of one would be compared).
    pub fn write(&self, permit: Permit<WriteFile>) -> Result<Written, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = single(opened)?;
        let target = &opened.target;
        reachable(&opened)?;
        let exists = opened.fact.kind != Kind::Absent;
        if exists && action.mode == WriteMode::Create {
            return Err(Failure::new(Code::AlreadyExists, format!("`{target}` exists")).hint("use mode `overwrite`, or another name"));
        }
        let mut before = Vec::new();
        let hides = exists && terms.manifest.filters.hides_secrets();
        let compares = action.mode == WriteMode::Append || action.expected_sha256.is_some() || (hides && brings_masks(&action));
        if exists && compares {
            before = read_judged(&opened, terms.max_file_size)?;
        }
        if let Some(expected) = &action.expected_sha256 {
            let names = if hides { self.known.names(&before) } else { Vec::new() };
            if !names.is_empty() {
                return Err(no_digest(target, &names));
            }
            if !exists || digest(&before) != *expected {
                return Err(unexpected(target, exists));
            }
        }
        if hides && let Some(failure) = masks_in_the_way(&action, &before, target) {
            return Err(failure);
        }
        if action.mode != WriteMode::Append || before.is_empty() {
            return self.put_judged(&opened, &terms, &action.content, USUAL);
        }
        before.extend_from_slice(&action.content);
        let mut written = self.put_judged(&opened, &terms, &before, USUAL)?;
        written.sha256 = written.sha256.filter(|_| !hides || self.known.secrets(&before).is_empty());
        Ok(written)
    }

    /// Puts a whole content at a judged place, for verbs that have spent their permit. `mode`: the permission bits of a new file.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(super) fn put_judged(&self, opened: &Opened, terms: &Terms, content: &[u8], mode: u32) -> Result<Written, Failure> {
        let target = &opened.target;
        let exists = opened.fact.kind != Kind::Absent;
        if exists {
            regular(opened)?;
        }
        let size = content.len() as u64;
        if Bytes(size) > terms.max_file_size {
            return Err(too_large(target, terms.max_file_size));
        }
        terms.may_write(target, Bytes(size))?;
        let root = self.find(&terms.session, &target.root)?;
        let entries = u64::from(!exists) + opened.fact.missing_folders as u64;
        check_quota(&root, target, size.saturating_sub(opened.fact.size), entries)?;
        let (folder, name, folders) = self.new_place(&root, opened)?;
        let durable = !root.scratch;
        let destination = Destination { folder: &folder, name: &name, judged: &opened.fact, mode, durable };
        let identity = put(destination, |file| write_all(file, content)).map_err(|why| unplaced(why, target))?;
        Ok(Written { target: target.clone(), created: !exists, size, sha256: Some(digest(content)), identity, folders })
    }
}

/// Why a write of an existing file cannot be: its content holds the mask of a secret that the write would overwrite, or what it appends
/// would make one of the rest unmasked. A mask that the file itself mentions may stay.
pub(super) fn masks_in_the_way(action: &WriteFile, before: &[u8], target: &Target) -> Option<Failure> {
    match action.mode {
        WriteMode::Append => {
            let after = secrets_in(&[before, &action.content].concat());
            let shows = secrets_in(before).iter().any(|secret| !after.contains(secret));
            shows.then(|| {
                let why = format!("`{target}` ends with a masked secret, which the text would run into; nothing was changed");
                masked_content(why, "begin the text with a line end")
            })
        }
        WriteMode::Overwrite | WriteMode::Create if brings_masks(action) => {
            let content = std::str::from_utf8(&action.content).unwrap_or_default();
            let name = written_mask(&secrets_in(before), &String::from_utf8_lossy(before), content)?;
            let why = format!("the content holds `[SECRET:{name}]`, the mask of a secret in `{target}` that it would overwrite");
            Some(masked_content(why, "change the lines around the secret with edit_file, or leave the mask out"))
        }
        WriteMode::Overwrite | WriteMode::Create => None,
    }
}

/// Whether a content holds what may be the mask of a secret.
fn brings_masks(action: &WriteFile) -> bool {
    std::str::from_utf8(&action.content).is_ok_and(holds_secret_mask)
}

/// The digest of a content that is known but for a short secret tells the secret: no answer gives one, and none confirms one.
pub(super) fn no_digest(target: &Target, names: &[&'static str]) -> Failure {
    let why = format!("`{target}` holds masked secrets ({}), so no digest of it is compared; nothing was changed", listed(names));
    masked_content(why, "change it with edit_file, which compares the passages, or write it without `expected_sha256`")
}

/// It is not what the caller says it read.
pub(super) fn unexpected(target: &Target, exists: bool) -> Failure {
    let why = if exists { "does not have the expected content" } else { "does not exist" };
    Failure::new(Code::Conflict, format!("`{target}` {why}; nothing was changed")).hint("read it again and repeat the call")
}

/// The held folder and the name in it, for verbs that give or take names.
pub(super) fn place(opened: &Opened) -> Result<(&Arc<OwnedFd>, String), Failure> {
    let Some((_, name)) = opened.path().split_last() else { return Err(root_itself(&opened.target)) };
    match &opened.folder {
        Some(folder) => Ok((folder, name.to_owned())),
        None => Err(missing(&opened.target)),
    }
}

pub(super) fn unplaced(why: Unplaced, target: &Target) -> Failure {
    match why {
        Unplaced::Changed => changed(target),
        Unplaced::Errno(Errno::NOENT) => missing(target),
        Unplaced::Errno(errno) => fault(errno, target, "written"),
    }
}
