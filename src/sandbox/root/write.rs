//! `write`: a content in the place of nothing or of the file that was judged.

use rustix::io::Errno;

use super::below::usage;
use super::content::{Whole, digest, read_whole};
use super::fault::{changed, fault, missing};
use super::read::{regular, too_large};
use super::replace::{Unplaced, put};
use super::roots::{Root, Roots};
use crate::gate::{Permit, Terms};
use crate::model::{Bytes, Code, Failure, Identity, Kind, Link, Opened, Target, WriteFile, WriteMode};
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
    /// Its digest.
    pub sha256: String,
    /// Which object it is now.
    pub identity: Identity,
}

impl Roots {
    /// Writes the file the permit names, atomically: old or new content, never half, also when this server or the machine dies.
    ///
    /// # Errors
    /// `not_found` (its folder), `is_a_directory`, `already_exists`, `conflict`, `file_too_large`, `no_space`.
    pub fn write(&self, permit: Permit<WriteFile>) -> Result<Written, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
        let target = &opened.target;
        place(&opened)?;
        let exists = opened.fact.kind != Kind::Absent;
        if exists && action.mode == WriteMode::Create {
            return Err(Failure::new(Code::AlreadyExists, format!("`{target}` exists")).hint("use mode `overwrite`, or another name"));
        }
        let mut before = Vec::new();
        if exists && (action.mode == WriteMode::Append || action.expected_sha256.is_some()) {
            let read =
                read_whole(regular(&opened)?, opened.fact.size, terms.max_file_size).map_err(|errno| fault(errno, target, "read"))?;
            match read {
                Whole::Bytes(bytes) => before = bytes,
                Whole::TooLarge => return Err(too_large(target, terms.max_file_size)),
            }
        }
        if let Some(expected) = &action.expected_sha256
            && (!exists || digest(&before) != *expected)
        {
            return Err(unexpected(target, exists));
        }
        if action.mode != WriteMode::Append || before.is_empty() {
            return self.put_judged(&opened, &terms, &action.content);
        }
        before.extend_from_slice(&action.content);
        self.put_judged(&opened, &terms, &before)
    }

    /// Puts a whole content at a judged place, for verbs that have spent their permit (`save_to` of a fetch).
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(in crate::sandbox) fn put_judged(&self, opened: &Opened, terms: &Terms, content: &[u8]) -> Result<Written, Failure> {
        let target = &opened.target;
        let (folder, name) = place(opened)?;
        let exists = opened.fact.kind != Kind::Absent;
        if exists {
            regular(opened)?;
        }
        let size = content.len() as u64;
        if Bytes(size) > terms.max_file_size {
            return Err(too_large(target, terms.max_file_size));
        }
        let root = self.find(&terms.session, &target.root)?;
        make_room(&root, target, size.saturating_sub(opened.fact.size), u64::from(!exists))?;
        self.leftovers.clean(folder);
        let identity = put(folder, &name, &opened.fact, content, !root.scratch).map_err(|why| unplaced(why, target))?;
        Ok(Written { target: target.clone(), created: !exists, size, sha256: digest(content), identity })
    }
}

/// It is not what the caller says it read.
pub(super) fn unexpected(target: &Target, exists: bool) -> Failure {
    let why = if exists { "does not have the expected content" } else { "does not exist" };
    Failure::new(Code::Conflict, format!("`{target}` {why}; nothing was changed")).hint("read it again and repeat the call")
}

/// The held folder and the name in it, for verbs that give or take names.
pub(super) fn place(opened: &Opened) -> Result<(&Arc<OwnedFd>, String), Failure> {
    let path = match &opened.fact.link {
        Link::Leads(path) => path,
        _ => &opened.target.path,
    };
    let Some((_, name)) = path.split_last() else {
        return Err(Failure::new(Code::RootItself, format!("`{}` is a root itself", opened.target)));
    };
    match &opened.folder {
        Some(folder) => Ok((folder, name.to_owned())),
        None => Err(missing(&opened.target).hint("its folder does not exist; use create_directory first")),
    }
}

pub(super) fn unplaced(why: Unplaced, target: &Target) -> Failure {
    match why {
        Unplaced::Changed => changed(target),
        Unplaced::Errno(Errno::NOENT) => missing(target),
        Unplaced::Errno(errno) => fault(errno, target, "written"),
    }
}

/// Whether a root with a quota takes this much more.
pub(super) fn make_room(root: &Root, target: &Target, more_bytes: u64, more_files: u64) -> Result<(), Failure> {
    let Some(quota) = root.quota else { return Ok(()) };
    let most = quota.files.unwrap_or(u64::MAX);
    let (bytes, files) = usage(&*root.folder, most);
    let most_bytes = quota.bytes.unwrap_or(Bytes(u64::MAX));
    if bytes.saturating_add(more_bytes) > most_bytes.0 || files.saturating_add(more_files) > most {
        let bounds = [quota.bytes.map(|bytes| bytes.to_string()), quota.files.map(|files| format!("{files} files"))];
        let bounds = bounds.into_iter().flatten().collect::<Vec<_>>().join(" and ");
        let full = format!("`{target}` does not fit: the root `{}` may hold {bounds}", target.root);
        return Err(Failure::new(Code::NoSpace, full).hint("delete what is not needed any more"));
    }
    Ok(())
}
