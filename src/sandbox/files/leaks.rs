//! Masked secrets on their way to where programs read files as they are: one rule for copies and moves.

use super::content::read_whole;
use super::fault::{changed, fault};
use super::known::Known;
use super::masks::{LOOKED_THROUGH, listed, masked_content};
use super::resolve::{open_below, open_file};
use super::stat::Stat;
use super::stop::Stop;
use crate::gate::Opened;
use crate::manifest::Manifest;
use crate::model::{Code, Failure, Kind, RelPath, Target};
use crate::policy::shows_more;
use rustix::io::Errno;
use std::os::fd::OwnedFd;

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
    /// `masked_content`, also for a file too large to be looked through; `conflict` where another program changed it meanwhile; `timeout`;
    /// `cancelled`.
    pub(super) fn check(&self, stop: &Stop) -> Result<(), Failure> {
        let from = self.from;
        let Some(object) = &from.object else { return Ok(()) };
        if from.fact.kind == Kind::File {
            let opened = open_file(object).and_then(|file| Ok((Stat::of(&file)?, file))).map(|(seen, file)| (file, seen));
            return self.file(&from.target, opened, |seen| seen.is_as_judged(&from.fact));
        }
        for entry in from.fact.below.iter().filter(|entry| entry.kind == Kind::File) {
            stop.check()?;
            if stop.is_late() {
                let why = format!("`{}` could not be searched for masked secrets in time", from.target);
                return Err(Failure::new(Code::Timeout, why).hint("copy or move less at once, or ask the operator for a longer `timeout`"));
            }
            let target = Target { root: from.target.root.clone(), path: entry.path.clone() };
            let path = entry.path.rebased(from.path(), &RelPath::ROOT).ok_or_else(|| changed(&target))?;
            self.file(&target, open_below(object, &path), |seen| seen.is_entry(entry))?;
        }
        Ok(())
    }

    fn file(&self, target: &Target, opened: Result<(OwnedFd, Stat), Errno>, is_judged: impl Fn(&Stat) -> bool) -> Result<(), Failure> {
        let failed = |errno| match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => changed(target),
            errno => fault(errno, target, "read"),
        };
        let (file, seen) = opened.map_err(failed)?;
        let Some(bytes) = read_whole(&file, seen.size, LOOKED_THROUGH).map_err(failed)? else {
            let why = format!("`{target}` is larger than {LOOKED_THROUGH}, too large to be searched for masked secrets");
            return Err(masked_content(why, "leave it in its root, or copy it in parts"));
        };
        let names = self.known.names(&bytes);
        if !is_judged(&seen) || !is_judged(&Stat::of(&file).map_err(failed)?) {
            return Err(changed(target));
        }
        if names.is_empty() { Ok(()) } else { Err(self.refused(target, &names)) }
    }

    /// Whether a whole content may go.
    ///
    /// # Errors
    /// `masked_content`
    pub(super) fn of_names(&self, names: &[&'static str]) -> Result<(), Failure> {
        if names.is_empty() { Ok(()) } else { Err(self.refused(&self.from.target, names)) }
    }

    fn refused(&self, target: &Target, names: &[&'static str]) -> Failure {
        let why = format!(
            "`{target}` holds masked secrets ({}), and Python programs read files of `{}` without masks",
            listed(names),
            self.to.root
        );
        masked_content(why, "leave it in its root, or write a file without the secrets")
    }
}
