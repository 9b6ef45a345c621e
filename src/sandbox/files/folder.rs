//! `create_directory` and `info`.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;

use super::content::{Whole, count_lines, digest, picture, read_whole};
use super::fault::{changed, fault, missing};
use super::resolve::step;
use super::room::make_room;
use super::roots::Roots;
use super::seen::Seen;
use crate::gate::Permit;
use crate::model::{Code, CreateDirectory, Failure, FileInfo, Kind, Link, Target};

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
        let opened = opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
        let object = opened.object.as_ref().ok_or_else(|| missing(&opened.target))?;
        let seen = Seen::of(object).map_err(|errno| fault(errno, &opened.target, "looked at"))?;
        let readable = seen.kind == Kind::File && seen.names == 1 && !opened.fact.protected;
        let content = if readable { read_whole(object, seen.size, terms.max_file_size).ok() } else { None };
        Ok(Info {
            target: opened.target,
            kind: seen.kind,
            size: seen.size,
            modified_ns: seen.identity.mtime_ns,
            mode: seen.mode & 0o777,
            content: content.and_then(|whole| match whole {
                Whole::Bytes(bytes) => {
                    let mut info = ContentInfo::of(&bytes);
                    let hides = terms.manifest.filters.hides_secrets();
                    info.sha256 = info.sha256.filter(|sha256| !hides || self.known.names(&bytes, sha256).is_empty());
                    Some(info)
                }
                Whole::TooLarge => None,
            }),
        })
    }

    /// Creates the folder the permit names and the missing ones above it, and gives how many were made. A folder that is there is fine.
    ///
    /// # Errors
    /// `already_exists` and `not_a_directory` where a file stands there or on the way, `no_space`, `conflict`.
    pub fn create_directory(&self, permit: Permit<CreateDirectory>) -> Result<u64, Failure> {
        let (_, opened, terms) = permit.spend();
        let opened = opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
        let target = &opened.target;
        match opened.fact.kind {
            Kind::Directory => return Ok(0),
            Kind::Absent => {}
            _ => return Err(Failure::new(Code::AlreadyExists, format!("`{target}` exists and is no folder"))),
        }
        let root = self.find(&terms.session, &target.root)?;
        let path = match &opened.fact.link {
            Link::Leads(path) => path,
            _ => &target.path,
        };
        make_room(&root, target, 0, path.segments().len() as u64)?;
        let mut made = 0;
        let mut at: Option<OwnedFd> = None;
        for name in path.segments() {
            let folder = at.as_ref().map_or(root.folder.as_fd(), AsFd::as_fd);
            let next = match step(folder, name.as_str()) {
                Err(Errno::NOENT) => {
                    match mkdirat(folder, name.as_str(), Mode::from_raw_mode(0o777)) {
                        Ok(()) => made += 1,
                        // Another call made it between the two.
                        Err(Errno::EXIST) => {}
                        Err(errno) => return Err(fault(errno, target, "created")),
                    }
                    step(folder, name.as_str())
                }
                answer => answer,
            };
            let next = next.map_err(|errno| fault(errno, target, "created"))?;
            match Seen::of(&next).map_err(|errno| fault(errno, target, "created"))?.kind {
                Kind::Directory => at = Some(next),
                Kind::Symlink => return Err(changed(target)),
                _ => {
                    return Err(Failure::new(
                        Code::NotADirectory,
                        format!("`{target}` could not be created: `{name}` on the way is no folder"),
                    ));
                }
            }
        }
        Ok(made)
    }
}

impl ContentInfo {
    fn of(bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).is_ok() && !bytes.iter().take(8192).any(|byte| *byte == 0);
        Self {
            sha256: Some(digest(bytes)),
            lines: text.then(|| count_lines(bytes)),
            mime_type: picture(bytes).unwrap_or(if text { "text/plain" } else { "application/octet-stream" }),
        }
    }
}
