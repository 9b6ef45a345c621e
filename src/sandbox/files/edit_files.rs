//! `edit`: exact passages of one or several files, all or none. Every new content is written and on disk, and every file is looked at again, before
//! the first one is replaced.
//!
//! A kill of the server between the first and the last replacement leaves some files new and others old, each of them whole.

use std::collections::BTreeMap;

use rustix::fs::fsync;

use super::edit::{Edited, apply};
use super::fault::fault;
use super::quota::check_quota;
use super::read::too_large;
use super::replace::{Destination, Prepared, USUAL, write_all};
use super::resolve::open_folder;
use super::roots::Roots;
use super::write::{place, unplaced};
use crate::gate::Opened;
use crate::gate::{Permit, Terms};
use crate::model::{Bytes, Code, EditFiles, Failure, Target};

/// The largest sum of contents of one call: old and new ones are held in memory together.
const TOGETHER: Bytes = Bytes::mib(16);

impl Roots {
    /// Applies the permit's edits to the files it names, all or none, and gives what became of each in order. Line ends and byte order mark stay as
    /// they are in a file, also where the edit writes `\n`. The diffs are together no longer than `max_answer`.
    ///
    /// # Errors
    /// For the first file that says no: `edit_mismatch` (a passage that is missing or ambiguous), `masked_content` (a passage on a masked line, a
    /// mask that would be written as it stands, or a secret that would be shown), `not_text`, `conflict`, `no_space`, as `read`; `file_too_large`
    /// also for all together; `argument_invalid` where two paths name one file. No file is changed then, except where another program changed one
    /// between two replacements, which the failure tells.
    pub fn edit(&self, permit: Permit<EditFiles>) -> Result<Vec<Edited>, Failure> {
        let (action, opened, terms) = permit.spend();
        let files = action.files();
        if files.len() != opened.len() {
            return Err(Failure::new(Code::Internal, "the permit holds not one object for each file"));
        }
        several(&opened)?;
        let (mut left, mut total) = (terms.max_answer, 0);
        let mut edited = Vec::with_capacity(files.len());
        for ((_, edits), opened) in files.iter().zip(&opened) {
            let (file, content) = apply(edits, opened, terms.max_file_size, left, terms.manifest.filters.hides_secrets())?;
            left = Bytes(left.0.saturating_sub(file.diff.len() as u64));
            total += content.len() as u64;
            if Bytes(file.size) > terms.max_file_size {
                return Err(too_large(&opened.target, terms.max_file_size));
            }
            if files.len() > 1 && Bytes(total) > TOGETHER {
                return Err(too_much(total));
            }
            if !action.dry_run {
                terms.may_write(&opened.target, Bytes(total))?;
            }
            edited.push((file, content));
        }
        if !action.dry_run {
            self.replace_all(&opened, &terms, &mut edited)?;
        }
        Ok(edited.into_iter().map(|(file, _)| file).collect())
    }

    fn replace_all(&self, opened: &[Opened], terms: &Terms, edited: &mut [(Edited, String)]) -> Result<(), Failure> {
        let mut growth: BTreeMap<&str, (u64, u64, &Target)> = BTreeMap::new();
        for (opened, (file, _)) in opened.iter().zip(&*edited) {
            let (old, new, target) = growth.entry(&opened.target.root).or_insert((0, 0, &opened.target));
            (*old, *new, *target) = (*old + opened.fact.size, *new + file.size, &opened.target);
        }
        for (root, (old, new, target)) in growth {
            check_quota(&*self.find(&terms.session, root)?, target, new.saturating_sub(old), 0)?;
        }
        let places = opened.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let mut prepared = Vec::with_capacity(opened.len());
        for (((folder, name), opened), (_, content)) in places.iter().zip(opened).zip(&*edited) {
            let durable = !self.find(&terms.session, &opened.target.root)?.scratch;
            self.cleaned.clean(folder);
            let destination = Destination { folder, name, judged: &opened.fact, mode: USUAL, durable };
            let fill = Prepared::new(destination, |file| write_all(file, content.as_bytes()));
            prepared.push((fill.map_err(|why| unplaced(why, &opened.target))?, opened));
        }
        for (prepared, opened) in &prepared {
            prepared.judged().map_err(|why| unplaced(why, &opened.target))?;
        }
        for (count, ((prepared, opened), (file, _))) in prepared.into_iter().zip(edited).enumerate() {
            let failed = |why| if count == 0 { unplaced(why, &opened.target) } else { half_done(&opened.target, count) };
            file.identity = Some(prepared.place().map_err(failed)?);
        }
        for ((folder, _), opened) in places.iter().zip(opened) {
            if !self.find(&terms.session, &opened.target.root)?.scratch {
                open_folder(folder).and_then(fsync).map_err(|errno| fault(errno, &opened.target, "written"))?;
            }
        }
        Ok(())
    }
}

/// A failure after the first files of a call were changed.
fn half_done(target: &Target, count: usize) -> Failure {
    let why =
        format!("`{target}` could not be replaced after {count} files of the call were changed; it and the files after it are unchanged");
    Failure::new(Code::Conflict, why).hint("read all files of the call again")
}

/// Whether these files can be changed by one call: no two are one, and together they are not too large.
///
/// # Errors
/// `argument_invalid`, `file_too_large`
pub(super) fn several(opened: &[Opened]) -> Result<(), Failure> {
    for (at, one) in opened.iter().enumerate() {
        let object = |opened: &Opened| opened.fact.identity.map(|identity| (identity.device, identity.inode));
        if let Some(other) = opened.iter().take(at).find(|other| object(other).is_some() && object(other) == object(one)) {
            let why = format!("`{}` and `{}` are the same file", other.target, one.target);
            return Err(Failure::new(Code::ArgumentInvalid, why).hint("name each file by one path in all edits of it"));
        }
    }
    if opened.len() < 2 {
        return Ok(());
    }
    let total = opened.iter().fold(0, |sum: u64, opened| sum.saturating_add(opened.fact.size));
    if Bytes(total) > TOGETHER { Err(too_much(total)) } else { Ok(()) }
}

fn too_much(total: u64) -> Failure {
    let why = format!("the files of the call have {} together; {TOGETHER} are the most", Bytes(total));
    Failure::new(Code::FileTooLarge, why).hint("change them in several calls")
}
