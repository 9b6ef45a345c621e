//! `edit_files`: exact passages of several files, all or none. Every new content is written and on disk before the first file is replaced, and what
//! was replaced is kept until the last one is: a failure puts it back.
//!
//! A kill of the server between the first and the last replacement leaves some files new and others old, each of them whole; the next start
//! removes what was kept beside them.

use std::collections::BTreeMap;

use rustix::fs::{FlockOperation, flock, fsync};

use super::edit::{Edited, apply};
use super::fault::fault;
use super::read::{regular, too_large};
use super::replace::{Swap, Written};
use super::resolve::open_folder;
use super::room::make_room;
use super::roots::Roots;
use super::write::{place, unplaced};
use crate::gate::{Permit, Terms};
use crate::model::{Bytes, Code, EditFiles, Failure, Opened, Target};

/// The largest sum of contents of one call: old and new ones are held in memory together.
const TOGETHER: Bytes = Bytes::mib(16);

impl Roots {
    /// Applies the permit's edits to the files it names, all or none, and gives what became of each in order. The diffs are together no longer
    /// than `max_answer`.
    ///
    /// # Errors
    /// As `edit`, for the first file that says no; `argument_invalid` where two paths name one file; `file_too_large` also for all together. No
    /// file is changed then, except where another program replaced one meanwhile, which the failure tells.
    pub fn edit_files(&self, permit: Permit<EditFiles>) -> Result<Vec<Edited>, Failure> {
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
            if Bytes(total) > TOGETHER {
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
            make_room(&*self.find(&terms.session, root)?, target, new.saturating_sub(old), 0)?;
        }
        let mut places = Vec::with_capacity(opened.len());
        for opened in opened {
            let root = self.find(&terms.session, &opened.target.root)?;
            self.leftovers.clean(&root, opened);
            let (folder, name) = place(opened)?;
            // While it has a temporary name, no server that cleans up must take it for a leftover. A lock that another program has does as well.
            let _ = flock(regular(opened)?, FlockOperation::NonBlockingLockExclusive);
            places.push((folder, name, !root.scratch));
        }
        let mut swaps = Vec::with_capacity(opened.len());
        for (((folder, name, durable), opened), (_, content)) in places.iter().zip(opened).zip(&*edited) {
            let content = Written::usual(content.as_bytes(), *durable);
            let swap = Swap::prepare(folder, name, &opened.fact, content).map_err(|why| unplaced(why, &opened.target))?;
            swaps.push(swap);
        }
        for at in 0..swaps.len() {
            let Some((swap, opened, (file, _))) = swaps.get_mut(at).zip(opened.get(at)).zip(edited.get_mut(at)).map(flat) else { continue };
            match swap.place() {
                Ok(identity) => file.identity = Some(identity),
                Err(why) => {
                    let failure = unplaced(why, &opened.target);
                    return Err(restored(&mut swaps, opened_names(at, edited), failure));
                }
            }
        }
        for (folder, _, durable) in &places {
            if *durable {
                open_folder(folder).and_then(fsync).map_err(|errno| fault(errno, &first(opened), "written"))?;
            }
        }
        Ok(())
    }
}

fn flat<A, B, C>(((a, b), c): ((A, B), C)) -> (A, B, C) {
    (a, b, c)
}

/// The first target, which stands for all in a failure of the disk.
fn first(opened: &[Opened]) -> Target {
    opened.first().map_or_else(|| Target { root: String::new(), path: crate::model::RelPath::ROOT }, |opened| opened.target.clone())
}

fn opened_names(count: usize, edited: &[(Edited, String)]) -> Vec<Target> {
    edited.iter().take(count).map(|(file, _)| file.target.clone()).collect()
}

/// Puts the first files back, the last one first, and gives the failure, with those that could not be put back.
fn restored(swaps: &mut [Swap<'_>], targets: Vec<Target>, failure: Failure) -> Failure {
    let stuck: Vec<String> =
        swaps.iter_mut().zip(targets).rev().filter_map(|(swap, target)| (!swap.restore()).then(|| format!("`{target}`"))).collect();
    if stuck.is_empty() {
        return failure;
    }
    let what = format!("{}; meanwhile another program changed {}, which were not put back", failure.0.message, stuck.join(", "));
    Failure::new(Code::Conflict, what).hint("read all files of the call again")
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
    let total = opened.iter().fold(0, |sum: u64, opened| sum.saturating_add(opened.fact.size));
    if Bytes(total) > TOGETHER { Err(too_much(total)) } else { Ok(()) }
}

fn too_much(total: u64) -> Failure {
    let why = format!("the files of the call have {} together; {TOGETHER} are the most", Bytes(total));
    Failure::new(Code::FileTooLarge, why).hint("change them in several calls")
}
