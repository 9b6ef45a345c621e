//! What each session has taken in from outside, and what of it lies in files: patterns cannot see a bare request hidden in data, but what
//! may follow from it can be held.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::door::{Door, lock};
use crate::filter::{Filtered, Strange};
use crate::model::{Action, Field, HttpUrl, Output, Target};
use crate::policy::{Screened, python_network, python_roots};

/// Hosts that are remembered of one session; a further one counts as never contacted, which asks more and never less.
const MAX_HOSTS: usize = 1024;
/// Files that are remembered; beyond them a whole root counts as a stranger's.
const MAX_FILES: usize = 4096;

/// What is remembered of all sessions of one server.
#[derive(Debug, Default)]
pub(super) struct Taint {
    sessions: HashMap<String, Session>,
    /// Files that hold what came from the web, whichever session saved them: a root may be shared.
    files: BTreeSet<Target>,
}

#[derive(Debug, Default)]
struct Session {
    untrusted: bool,
    hosts: HashSet<String>,
}

impl Taint {
    /// Forgets a session with the folders that end with it. The files it saved elsewhere stay what they are.
    pub(super) fn end_session(&mut self, session: &str) {
        self.sessions.remove(session);
        self.files.retain(|file| file.root.split_once(OF).is_none_or(|(_, of)| of != session));
    }

    fn holds_in(&self, root: &str) -> bool {
        self.files.iter().any(|file| file.root == root)
    }

    fn is_strange(&self, target: &Target) -> bool {
        let held = |path| self.files.contains(&Target { root: target.root.clone(), path });
        target.path.ancestors().any(held)
    }

    fn add(&mut self, target: Target) {
        if self.files.len() < MAX_FILES {
            self.files.insert(target);
        } else {
            self.files.retain(|file| file.root != target.root);
            self.files.insert(Target { root: target.root, path: crate::model::RelPath::ROOT });
        }
    }
}

impl Door {
    /// Whether the session has taken in untrusted content, and the hosts it has contacted.
    pub fn intake(&self, session: &str) -> (bool, Vec<String>) {
        let taint = lock(&self.shared.taint);
        taint.sessions.get(session).map_or_else(Default::default, |known| (known.untrusted, known.hosts.iter().cloned().collect()))
    }

    /// Notes that a session contacts a host, from when on it is no new one.
    pub fn contacts(&self, session: &str, url: Option<&HttpUrl>) {
        let Some(url) = url else { return };
        let mut taint = lock(&self.shared.taint);
        let hosts = &mut taint.sessions.entry(session.to_owned()).or_default().hosts;
        if hosts.len() < MAX_HOSTS {
            hosts.insert(url.host_str().to_owned());
        }
    }

    /// What of an answer is a stranger's, besides pages: the content of files that the manifest marks or that came from the web, and the
    /// output of programs that may have read such files or the network.
    pub fn strange(&self, session: &str, action: &Action, screened: &Screened, profile: &str, output: &Output) -> Strange {
        let taint = lock(&self.shared.taint);
        let is_strange = |target: &Target| self.manifest.is_untrusted(target) || taint.is_strange(&self.place(session, target));
        let file = match action {
            Action::SearchFiles(_) => {
                let lists = output
                    .structured
                    .iter()
                    .flatten()
                    .filter_map(|(_, field)| if let Field::List(rows) = field { Some(rows) } else { None });
                let paths = lists.flatten().flatten().filter_map(|(name, field)| match field {
                    Field::Fact(value) if *name == "path" => value.as_str(),
                    _ => None,
                });
                let place = |path: &str| {
                    let (root, rest) = path.split_once('/').unwrap_or((path, ""));
                    // A name that is no path of the house cannot be told from a stranger's.
                    crate::model::RelPath::parse(rest).map_or(true, |path| is_strange(&Target { root: root.to_owned(), path }))
                };
                paths.into_iter().find(|path| place(path)).map(str::to_owned)
            }
            Action::ReadFile(_) | Action::EditFile(_) => screened.targets.iter().find(|target| is_strange(target)).map(ToString::to_string),
            _ => None,
        };
        let program = matches!(action, Action::RunPython(_)) && {
            let seen = python_roots(&self.manifest, profile);
            let marked = |name: &str| {
                let root = self.manifest.roots.get(name);
                root.is_some_and(|root| !root.untrusted.is_empty()) || taint.holds_in(&self.root(session, name))
            };
            python_network(&self.manifest, profile)
                || seen.iter().any(|(name, _)| marked(name))
                || (!seen.is_empty() && !self.manifest.files.untrusted.is_empty())
        };
        Strange { file, program }
    }

    /// Keeps in mind what a call did to files: pages that were saved, and where such files were moved.
    pub fn keeps(&self, session: &str, action: &Action, screened: &Screened) {
        let mut taint = lock(&self.shared.taint);
        match (action, screened.targets.as_slice()) {
            (Action::Fetch(fetch), targets) if fetch.save_to.is_some() => {
                for target in targets {
                    taint.add(self.place(session, target));
                }
            }
            (Action::MoveFile(_), [from, to]) => {
                let (from, to) = (self.place(session, from), self.place(session, to));
                if taint.is_strange(&from) {
                    taint.add(to.clone());
                }
                let below = |file: &Target| Some(Target { root: to.root.clone(), path: file.path.rebased(&from.path, &to.path)? });
                let moved: Vec<Target> = taint.files.iter().filter(|file| file.root == from.root).filter_map(below).collect();
                for target in moved {
                    taint.add(target);
                }
            }
            _ => {}
        }
    }

    /// Marks the session where an answer holds untrusted content, and gives the answer with the mark of its session.
    #[must_use]
    pub fn took_in(&self, session: &str, filtered: Filtered) -> Filtered {
        let mut taint = lock(&self.shared.taint);
        if filtered.parts().untrusted.is_some() {
            taint.sessions.entry(session.to_owned()).or_default().untrusted = true;
        }
        let marked = taint.sessions.get(session).is_some_and(|known| known.untrusted);
        drop(taint);
        if marked { filtered.in_untrusted_session() } else { filtered }
    }

    /// A place as it is remembered: each session has its own folder behind the name of a session root.
    fn place(&self, session: &str, target: &Target) -> Target {
        Target { root: self.root(session, &target.root), path: target.path.clone() }
    }

    fn root(&self, session: &str, name: &str) -> String {
        let own = self.manifest.roots.get(name).is_some_and(crate::manifest::Root::is_session);
        if own { format!("{name}{OF}{session}") } else { name.to_owned() }
    }
}

/// Between a session root's name and its session; no root's name holds it.
const OF: char = '@';

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RelPath;

    fn target(text: &str) -> Target {
        let (root, rest) = text.split_once('/').unwrap_or((text, ""));
        Target { root: root.to_owned(), path: RelPath::parse(rest).unwrap() }
    }

    #[test]
    fn a_saved_page_is_known_by_its_place_and_others_are_not() {
        let mut taint = Taint::default();
        taint.add(target("work/pages/a.html"));
        assert!(taint.is_strange(&target("work/pages/a.html")));
        for other in ["work/pages/b.html", "work/pages", "project/pages/a.html", "work"] {
            assert!(!taint.is_strange(&target(other)), "{other}");
        }
    }

    #[test]
    fn beyond_what_is_remembered_a_whole_root_is_a_strangers() {
        let mut taint = Taint::default();
        (0..=MAX_FILES).for_each(|n| taint.add(target(&format!("work/{n}"))));
        assert!(taint.files.len() <= MAX_FILES && taint.is_strange(&target("work/any")));
        assert!(!taint.is_strange(&target("project/any")));
    }
}
