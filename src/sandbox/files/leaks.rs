//! Masked secrets on their way to where programs read files as they are: one rule for copies and moves.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;

use super::fault::{changed, fault};
use super::known::Known;
use super::masks::held;
use super::resolve::{open_file, step};
use super::seen::Seen;
use super::stop::Stop;
use crate::filter::masked::{REACH, secrets_in_wide};
use crate::manifest::Manifest;
use crate::model::{Code, Failure, Kind, Opened, RelPath, Target};
use crate::policy::readers::shows_more;

/// A way between two roots on which a masked secret comes before programs that do not see it where it is.
#[derive(Debug)]
pub(super) struct Leak<'a> {
    from: &'a Opened,
    to: &'a Target,
    known: &'a Known,
}

impl<'a> Leak<'a> {
    /// The way from one place to another; none where it shows no program more than it sees, or where the manifest masks nothing.
    pub(super) fn between(manifest: &Manifest, from: &'a Opened, to: &'a Opened, known: &'a Known) -> Option<Self> {
        let leaks = manifest.filters.hides_secrets() && shows_more(manifest, &from.target.root, &to.target.root);
        leaks.then_some(Self { from, to: &to.target, known })
    }

    /// Looks through what is to go: a file, or every file below a folder, as they were judged.
    ///
    /// # Errors
    /// `masked_content`; `conflict` where another program changed it meanwhile; `timeout` where it could not be looked through in time (a file
    /// that is begun is read to its end piece by piece); `cancelled`.
    pub(super) fn check(&self, stop: &Stop) -> Result<(), Failure> {
        let from = self.from;
        let (Some(object), Some(folder)) = (&from.object, &from.folder) else { return Ok(()) };
        if from.fact.kind == Kind::File {
            let name = from.path().segments().last().map(String::as_str).unwrap_or_default();
            let seen = |seen: &Seen| seen.is_as_judged(&from.fact);
            return self.file(&from.target, || open_file(object, folder, name), seen, stop);
        }
        for entry in from.fact.below.iter().filter(|entry| entry.kind == Kind::File) {
            let target = Target { root: from.target.root.clone(), path: entry.path.clone() };
            let path = entry.path.rebased(from.path(), &RelPath::ROOT).ok_or_else(|| changed(&target))?;
            let is_judged = |seen: &Seen| seen.kind == entry.kind && seen.size == entry.size && Some(seen.identity) == entry.identity;
            if stop.is_late() {
                return Err(self.late());
            }
            self.file(&target, || open_below(object, &path), is_judged, stop)?;
        }
        Ok(())
    }

    fn file(
        &self,
        target: &Target,
        open: impl FnOnce() -> Result<OwnedFd, Errno>,
        is_judged: impl Fn(&Seen) -> bool,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let failed = |errno| {
            if matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) { changed(target) } else { fault(errno, target, "read") }
        };
        let mut file = File::from(open().map_err(failed)?);
        let is_judged = |file: &File| Seen::of(file).is_ok_and(|seen| is_judged(&seen));
        if !is_judged(&file) {
            return Err(changed(target));
        }
        let names = self.names(&mut file, target, stop)?;
        if !is_judged(&file) {
            return Err(changed(target));
        }
        if names.is_empty() { Ok(()) } else { Err(self.refused(target, &names)) }
    }

    /// The names of the secrets in a file of any size, which is not held in memory. Each piece is looked through with what is around it.
    fn names(&self, file: &mut File, target: &Target, stop: &Stop) -> Result<Vec<&'static str>, Failure> {
        let failed = |why: io::Error| fault(Errno::from_io_error(&why).unwrap_or(Errno::IO), target, "read");
        let mut piece = Vec::new();
        loop {
            stop.check()?;
            let old = piece.len();
            let read = file.by_ref().take(PIECE).read_to_end(&mut piece).map_err(failed)?;
            if read == 0 {
                return Ok(Vec::new());
            }
            let names = self.names_in(&piece);
            if !names.is_empty() {
                return Ok(names);
            }
            if (read as u64) < PIECE {
                continue;
            }
            if stop.is_late() {
                return Err(self.late());
            }
            // Of characters of two and four bytes each one stays whole.
            let kept = (old + read).saturating_sub(REACH) / 4 * 4;
            piece.drain(..kept);
        }
    }

    fn names_in(&self, piece: &[u8]) -> Vec<&'static str> {
        let mut names: Vec<_> = self.known.secrets_of_piece(piece).into_iter().map(|secret| secret.name).collect();
        names.extend(secrets_in_wide(piece));
        names
    }

    /// Whether a whole content may go.
    ///
    /// # Errors
    /// `masked_content`
    pub(super) fn of_names(&self, names: &[&'static str]) -> Result<(), Failure> {
        if names.is_empty() { Ok(()) } else { Err(self.refused(&self.from.target, names)) }
    }

    fn refused(&self, held_by: &Target, names: &[&'static str]) -> Failure {
        let held = held(names);
        let why = format!(
            "`{held_by}` holds masked secrets ({held}), and programs see `{}` as it is; there they would read what the masks hide",
            self.to.root
        );
        let hint = "keep it in its own root, or write a file without the secrets";
        Failure(Failure::new(Code::MaskedContent, why).hint(hint).0.rule("filters.secrets"))
    }

    fn late(&self) -> Failure {
        let why = format!("`{}` could not be looked through for masked secrets in the time of a call", self.from.target);
        Failure::new(Code::Timeout, why).hint("bring over less at once, or ask the operator for a longer `timeout`")
    }
}

/// The file at a path below a folder, through no link.
fn open_below(folder: impl AsFd, path: &RelPath) -> Result<OwnedFd, Errno> {
    let (name, parents) = path.segments().split_last().ok_or(Errno::NOENT)?;
    let mut parent = step(&folder, c".")?;
    for name in parents {
        parent = step(&parent, name.as_str())?;
    }
    open_file(step(&parent, name.as_str())?, &parent, name.as_str())
}

/// Bytes of a piece: some times [`REACH`], as what is around a piece is looked through again with the next one.
const PIECE: u64 = 8 << 20;
