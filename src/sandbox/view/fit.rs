//! What is masked must be a list that a jail can cover: where it is longer, whole folders are left out of the view.

use std::collections::{BTreeMap, BTreeSet};

use super::Unshown;

/// How many entries are covered one by one. Each is a mount that takes about 30 microseconds of every call.
const MASKS: usize = 1000;
/// Bytes of their paths, which travel in one message.
const BYTES: usize = 48 * 1024;

/// The masks as they can be covered, and the folders that had to be left out for that. `shown`: for each folder that was looked into, how many
/// of its entries may be seen. `roots`: how many roots share the bounds.
///
/// # Errors
/// [`Unshown::TooManyMasks`] where too much is masked in the root's own folder.
pub(super) fn fit(masked: Vec<String>, shown: &BTreeMap<String, usize>, roots: usize) -> Result<(Vec<String>, Vec<String>), Unshown> {
    let (most, bytes) = (MASKS / roots.max(1), BYTES / roots.max(1));
    let mut size = Size { masks: masked.len(), bytes: masked.iter().map(String::len).sum() };
    if size.fits(most, bytes) {
        return Ok((masked, Vec::new()));
    }
    let mut kept: BTreeSet<String> = masked.into_iter().collect();
    let mut left_out: BTreeSet<String> = BTreeSet::new();
    for folder in candidates(&kept, shown) {
        if size.fits(most, bytes) {
            break;
        }
        if folders_of(&folder).chain([folder.as_str()]).any(|above| left_out.contains(above)) {
            continue;
        }
        let below = format!("{folder}/");
        let covered: Vec<String> = kept.range(below.clone()..).take_while(|path| path.starts_with(&below)).cloned().collect();
        for path in &covered {
            kept.remove(path);
            left_out.remove(path);
            size.masks -= 1;
            size.bytes -= path.len();
        }
        size.masks += 1;
        size.bytes += folder.len();
        kept.insert(folder.clone());
        left_out.insert(folder);
    }
    if !size.fits(most, bytes) {
        return Err(Unshown::TooManyMasks(most));
    }
    Ok((kept.into_iter().collect(), left_out.into_iter().collect()))
}

struct Size {
    masks: usize,
    bytes: usize,
}

impl Size {
    const fn fits(&self, most: usize, bytes: usize) -> bool {
        self.masks <= most && self.bytes <= bytes
    }
}

/// Folders with several masks below them: first those of which least is lost.
fn candidates(masked: &BTreeSet<String>, shown: &BTreeMap<String, usize>) -> Vec<String> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for path in masked {
        for folder in folders_of(path) {
            counts.entry(folder).or_default().0 += 1;
        }
    }
    for (path, seen) in shown {
        for folder in folders_of(path).chain([path.as_str()]) {
            if let Some(count) = counts.get_mut(folder) {
                count.1 += seen;
            }
        }
    }
    let mut all: Vec<(&str, usize, usize)> =
        counts.into_iter().filter(|(_, (masks, _))| *masks > 1).map(|(folder, (masks, seen))| (folder, masks, seen)).collect();
    // Entries that are lost for each mask that is spared, compared without division; of equal ones the larger.
    all.sort_by(|a, b| (a.2 * (b.1 - 1)).cmp(&(b.2 * (a.1 - 1))).then(b.1.cmp(&a.1)).then(a.0.cmp(b.0)));
    all.into_iter().map(|(folder, ..)| folder.to_owned()).collect()
}

/// The folders above a path, the highest first; the root itself is none.
fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_and_what_does_not_takes_the_folder_of_which_least_is_lost() {
        let few = vec!["a/.env".to_owned(), ".git".to_owned()];
        assert_eq!(fit(few.clone(), &BTreeMap::new(), 1), Ok((few, Vec::new())));
        let mut masked: Vec<String> = (0..1200).map(|n| format!("store/p{}/f{n}", n % 7)).collect();
        masked.extend(["src/.env".to_owned(), "src/x.key".to_owned(), ".git".to_owned()]);
        let shown = BTreeMap::from([("store".to_owned(), 1), ("src".to_owned(), 40), ("store/p0".to_owned(), 3)]);
        let (mut masks, left_out) = fit(masked, &shown, 1).unwrap();
        masks.retain(|path| !path.starts_with("store/"));
        assert_eq!(masks, [".git", "src/.env", "src/x.key"]);
        assert!(left_out.iter().all(|folder| folder.starts_with("store/p")) && !left_out.contains(&"store/p0".to_owned()), "{left_out:?}");
        let flat: Vec<String> = (0..1200).map(|n| format!("f{n}")).collect();
        assert_eq!(fit(flat, &BTreeMap::new(), 1), Err(Unshown::TooManyMasks(MASKS)));
    }

    #[test]
    fn every_mask_stays_covered_by_itself_or_by_a_folder_above_it() {
        let masked: Vec<String> = (0..3000).map(|n| format!("a/b{}/c{}/d{n}", n % 3, n % 50)).collect();
        let (masks, _) = fit(masked.clone(), &BTreeMap::new(), 2).unwrap();
        assert!(masks.len() <= MASKS / 2);
        for path in &masked {
            assert!(folders_of(path).chain([path.as_str()]).any(|above| masks.iter().any(|mask| mask == above)), "{path}");
        }
    }
}
