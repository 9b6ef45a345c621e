//! Which files hold what came from outside. Of folders that stay, every server on the state folder knows, also after a restart; of a session's
//! own folder only the server that has it.

use std::collections::BTreeSet;

use crate::model::{RelPath, Target};

/// Files that are remembered; beyond them a whole root counts as a stranger's.
const MAX_FILES: usize = 4096;
/// Bytes of their names, as they are kept.
const MAX_TEXT: usize = 512 << 10;

/// The marks. A place in a folder that stays is named from the machine's own root, whose name here is empty: two manifests may call one folder
/// by two names.
#[derive(Debug, Default)]
pub(super) struct Marks {
    files: BTreeSet<Target>,
    /// The text that the shared ones were read from last.
    text: Vec<u8>,
    changed: bool,
}

impl Marks {
    /// Adds the marks of the other servers of the folder. A text that cannot be parsed removes none.
    pub(super) fn read_from(&mut self, text: &[u8]) {
        if self.text == text {
            return;
        }
        if let Ok(paths) = serde_json::from_slice::<Vec<String>>(text) {
            self.files.retain(|file| !file.root.is_empty());
            let parsed = paths.iter().filter_map(|path| RelPath::parse(path).ok());
            self.files.extend(parsed.map(|path| Target { root: String::new(), path }));
            text.clone_into(&mut self.text);
        }
    }

    /// The text for the servers of the folder, where a mark is new.
    pub(super) fn take_shared_text(&mut self) -> Option<Vec<u8>> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let paths: Vec<String> = self.files.iter().filter(|file| file.root.is_empty()).map(|file| file.path.to_string()).collect();
        let text = serde_json::to_vec(&paths).ok()?;
        self.text.clone_from(&text);
        Some(text)
    }

    /// Marks a place; `root` is the folder of its root, which is marked as a whole when there are too many.
    pub(super) fn add(&mut self, place: &Target, root: &Target) {
        if self.is_marked(place) {
            return;
        }
        let size = |file: &Target| file.path.segments().iter().map(|segment| segment.len() + 2).sum::<usize>() + 4;
        if self.files.len() >= MAX_FILES || self.files.iter().map(size).sum::<usize>() + size(place) > MAX_TEXT {
            self.files.retain(|file| !is_below(file, root));
            self.files.insert(root.clone());
        } else {
            self.files.insert(place.clone());
        }
        self.changed |= place.root.is_empty();
    }

    /// What is marked at a place and below it, by the paths from there: the place itself is the root.
    pub(super) fn from(&self, place: &Target) -> Vec<RelPath> {
        let whole = self.is_marked(place).then_some(RelPath::ROOT);
        let below = self.files.iter().filter(|file| is_below(file, place));
        whole.into_iter().chain(below.filter_map(|file| file.path.rebased(&place.path, &RelPath::ROOT))).collect()
    }

    /// What is gone, with all below it, says nothing any more.
    pub(super) fn remove(&mut self, place: &Target) {
        let before = self.files.len();
        self.files.retain(|file| !is_below(file, place));
        self.changed |= before != self.files.len() && place.root.is_empty();
    }

    /// Forgets the folders that end with a session.
    pub(super) fn end(&mut self, is_of_session: impl Fn(&str) -> bool) {
        self.files.retain(|file| file.root.is_empty() || !is_of_session(&file.root));
    }

    /// Whether a file is marked, or a folder it lies in.
    pub(super) fn is_marked(&self, place: &Target) -> bool {
        let held = |path| self.files.contains(&Target { root: place.root.clone(), path });
        !self.files.is_empty() && place.path.ancestors().any(held)
    }

    /// Whether anything in a folder is marked, or the folder itself.
    pub(super) fn holds_in(&self, folder: &Target) -> bool {
        self.is_marked(folder) || self.files.iter().any(|file| is_below(file, folder))
    }
}

fn is_below(file: &Target, folder: &Target) -> bool {
    file.root == folder.root && file.path.is_within(&folder.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(text: &str) -> Target {
        Target { root: String::new(), path: RelPath::parse(text).unwrap() }
    }

    fn own(text: &str) -> Target {
        Target { root: "work@s".to_owned(), path: RelPath::parse(text).unwrap() }
    }

    #[test]
    fn a_saved_page_is_known_by_its_place_and_others_are_not() {
        let mut marks = Marks::default();
        marks.add(&shared("home/site/pages/a.html"), &shared("home/site"));
        assert!(marks.is_marked(&shared("home/site/pages/a.html")) && marks.holds_in(&shared("home/site")));
        for other in ["home/site/pages/b.html", "home/site/pages", "home/project/pages/a.html", "home"] {
            assert!(!marks.is_marked(&shared(other)), "{other}");
        }
        assert!(!marks.is_marked(&own("home/site/pages/a.html")) && !marks.holds_in(&shared("home/project")));
        let path = |text| RelPath::parse(text).unwrap();
        assert_eq!(marks.from(&shared("home/site/pages")), [path("a.html")]);
        assert_eq!(marks.from(&shared("home/site/pages/a.html")), [RelPath::ROOT, RelPath::ROOT]);
        assert_eq!(marks.from(&shared("home/project")), [] as [RelPath; 0]);
        marks.remove(&shared("home/site/pages"));
        assert!(!marks.holds_in(&shared("home")));
    }

    #[test]
    fn what_one_server_marks_another_learns_and_a_torn_text_takes_nothing_away() {
        let mut first = Marks::default();
        first.add(&own("a"), &own(""));
        assert_eq!(first.take_shared_text(), None, "a session's own folder is nobody else's");
        first.add(&shared("w/a"), &shared("w"));
        let text = first.take_shared_text().unwrap();
        let mut second = Marks::default();
        second.read_from(&text);
        assert!(second.is_marked(&shared("w/a")) && !second.is_marked(&own("a")));
        for torn in [b"".as_slice(), b"[\"w/", b"{}"] {
            second.read_from(torn);
            assert!(second.is_marked(&shared("w/a")));
        }
        first.remove(&shared("w/a"));
        second.read_from(&first.take_shared_text().unwrap());
        assert!(!second.is_marked(&shared("w/a")) && first.is_marked(&own("a")));
    }

    #[test]
    fn beyond_what_is_remembered_a_whole_root_is_a_strangers() {
        let mut marks = Marks::default();
        (0..=MAX_FILES).for_each(|n| marks.add(&shared(&format!("work/{n}")), &shared("work")));
        assert!(marks.is_marked(&shared("work/any")) && !marks.is_marked(&shared("project/any")));
        let mut marks = Marks::default();
        let long = "x".repeat(250);
        (0..MAX_FILES).for_each(|n| marks.add(&shared(&format!("work/{long}/{n}")), &shared("work")));
        assert!(marks.is_marked(&shared("work/any")) && marks.take_shared_text().unwrap().len() < 2 * MAX_TEXT);
    }
}
