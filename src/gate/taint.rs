//! What each session has taken in from outside, and what of it lies in files: patterns cannot see a bare request hidden in data, but what
//! may follow from it can be held.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::marks::Marks;
use super::resolve::Case;
use super::shared::{CallGate, lock};
use crate::filter::{Filtered, Provenance};
use crate::manifest::Mode;
use crate::model::{Action, Entry, Field, HttpUrl, Level, Output, RelPath, Target};
use crate::policy::{self, python_network, python_roots};

/// Hosts that are remembered of one session; a further one counts as never contacted, which asks more and never less.
const MAX_HOSTS: usize = 1024;
/// Files below a moved folder that are marked one by one; with more of them the folder is.
const MAX_BELOW: usize = 256;
/// Living interpreters that are remembered to hold what came from outside; with more of them, all count as such.
const MAX_HANDLES: usize = 1024;

/// What is remembered of all sessions of one server.
#[derive(Debug, Default)]
pub(super) struct Taint {
    sessions: HashMap<String, Session>,
    /// Files that hold what came from the web, whichever session saved them: a root may be shared.
    marks: Marks,
    /// Interpreters whose variables may hold it: their caller may come back to them from another session.
    handles: HashSet<String>,
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
        self.marks.end(|root| root.split_once(OF).is_some_and(|(_, of)| of == session));
    }

    fn holds_untrusted(&self, handle: &str) -> bool {
        self.handles.len() >= MAX_HANDLES || self.handles.contains(handle)
    }
}

/// The entries of a call, in the order of its touches.
#[derive(Debug)]
pub struct Places<'a> {
    /// As the call names them.
    pub named: &'a [Target],
    /// As links lead to them, where they are followed.
    pub led: Vec<Target>,
    /// What lay below the first of them before the call, where all of it goes along.
    pub below: &'a [Entry],
}

impl Places<'_> {
    fn all(&self) -> impl Iterator<Item = &Target> {
        self.named.iter().chain(&self.led)
    }

    /// The names of one touch: as the call names it, and where links lead to.
    fn of(&self, touch: usize) -> impl Iterator<Item = &Target> {
        self.named.get(touch).into_iter().chain(self.led.get(touch))
    }
}

impl CallGate {
    /// Whether the session has taken in untrusted content, and the hosts it has contacted.
    pub fn intake(&self, session: &str) -> (bool, Vec<String>) {
        let taint = lock(&self.shared.taint);
        taint.sessions.get(session).map_or_else(Default::default, |known| (known.untrusted, known.hosts.iter().cloned().collect()))
    }

    /// Notes that a session contacts a host, from when on it is no new one.
    pub fn record_host(&self, session: &str, url: Option<&HttpUrl>) {
        let Some(url) = url else { return };
        remember(&mut lock(&self.shared.taint), session, url.host_str());
    }

    /// The hosts a redirect may lead to, where the session would have to be asked for any other: what stands in a page may name a host in a
    /// redirect as well as in a link.
    pub(super) fn hosts(&self, case: &Case<'_>) -> Option<Arc<[String]>> {
        let (untrusted, mut contacted) = self.intake(&case.call.caller.session);
        let asks = untrusted && self.manifest.approvals.after_untrusted == crate::manifest::AfterUntrusted::Raise;
        if !asks || policy::mode(case.capability, Level::Change) == Mode::None {
            return None;
        }
        contacted.extend(case.screened.url.as_ref().map(|url| url.host_str().to_owned()));
        Some(contacted.into())
    }

    /// What of an answer is untrusted, besides pages: the content of files that the manifest marks or that came from the web, and the
    /// output of programs that may have read such files or the network. A file is looked for by the name it was called by and by the one that links
    /// lead to.
    pub fn provenance(&self, session: &str, action: &Action, places: &Places<'_>, profile: &str, output: &Output) -> Provenance {
        if !matches!(
            action,
            Action::SearchFiles(_) | Action::ListDirectory(_) | Action::ReadFile(_) | Action::EditFiles(_) | Action::RunPython(_)
        ) {
            return Provenance::default();
        }
        let mut taint = lock(&self.shared.taint);
        if let Err(fault) = self.shared.store.read_untrusted_files(|text| taint.marks.read_from(text)) {
            tracing::error!(%fault, "the marks of untrusted files cannot be read; those of this server stay in force");
        }
        let is_marked = |target: &Target| self.manifest.is_untrusted(target) || taint.marks.is_marked(&self.place(session, target));
        let untrusted_file = match action {
            // Names are as good a place for words as lines are.
            Action::SearchFiles(_) | Action::ListDirectory(_) => paths_of(output).into_iter().find(|path| {
                // A name that is no path below a root may be of a file from outside.
                target_of(path).is_none_or(|target| is_marked(&target))
            }),
            Action::ReadFile(_) | Action::EditFiles(_) => places.all().find(|target| is_marked(target)).map(ToString::to_string),
            _ => None,
        };
        let untrusted_program = match action {
            Action::RunPython(run) => {
                let seen = python_roots(&self.manifest, profile);
                let marked = |name: &str| {
                    let root = self.manifest.roots.get(name);
                    root.is_some_and(|root| !root.untrusted.is_empty()) || taint.marks.holds_in(&self.folder(session, name))
                };
                python_network(&self.manifest, profile)
                    || run.session.as_deref().is_some_and(|handle| taint.holds_untrusted(handle))
                    || seen.iter().any(|(name, _)| marked(name))
                    || (!seen.is_empty() && !self.manifest.files.untrusted.is_empty())
            }
            _ => false,
        };
        Provenance { untrusted_file, untrusted_program }
    }

    /// Marks what a move or a copy is about to make of files from outside. This comes before the call acts: whatever ends it half-way, what it wrote
    /// is marked.
    pub fn brings(&self, session: &str, action: &Action, places: &Places<'_>) {
        if !matches!(action, Action::MoveFile(_) | Action::CopyFile(_)) {
            return;
        }
        let mut taint = lock(&self.shared.taint);
        self.with_marks(&mut taint, |marks| {
            let mut strange: BTreeSet<RelPath> =
                places.of(0).flat_map(|from| self.untrusted_below(session, marks, from, places.below)).collect();
            if strange.contains(&RelPath::ROOT) || strange.len() > MAX_BELOW {
                strange = BTreeSet::from([RelPath::ROOT]);
            }
            for (to, rest) in places.of(1).flat_map(|to| strange.iter().map(move |rest| (to, rest))) {
                let Some(path) = rest.rebased(&RelPath::ROOT, &to.path) else { continue };
                let new = Target { root: to.root.clone(), path };
                if !self.manifest.is_untrusted(&new) {
                    marks.add(&self.place(session, &new), &self.folder(session, &to.root));
                }
            }
        });
    }

    /// What of a place and of what lies below it is from outside, by the paths from there.
    fn untrusted_below(&self, session: &str, marks: &Marks, from: &Target, below: &[Entry]) -> Vec<RelPath> {
        let whole = self.manifest.is_untrusted(from).then_some(RelPath::ROOT);
        let named = below.iter().filter_map(|entry| {
            let target = Target { root: from.root.clone(), path: entry.path.clone() };
            let rest = entry.path.rebased(&from.path, &RelPath::ROOT)?;
            self.manifest.is_untrusted(&target).then_some(rest)
        });
        marks.from(&self.place(session, from)).into_iter().chain(whole).chain(named).collect()
    }

    /// Keeps in mind what a call left behind: pages that were saved, what programs made of files from outside, and interpreters that hold them.
    pub fn record_written(&self, session: &str, action: &Action, places: &Places<'_>, output: &Output, provenance: &Provenance) {
        let mut taint = lock(&self.shared.taint);
        let place = |target: &Target| self.place(session, target);
        let folder = |target: &Target| self.folder(session, &target.root);
        match (action, places.named) {
            (Action::Fetch(fetch), _) => {
                if let Some(last) = final_host(output) {
                    remember(&mut taint, session, &last);
                }
                if fetch.save_to.is_some() {
                    self.with_marks(&mut taint, |marks| places.all().for_each(|target| marks.add(&place(target), &folder(target))));
                }
            }
            // Its new place is marked already; in its old place there is nothing any more.
            (Action::MoveFile(_), _) => self.with_marks(&mut taint, |marks| places.of(0).for_each(|from| marks.remove(&place(from)))),
            (Action::DeleteFile(_), [gone]) => self.with_marks(&mut taint, |marks| marks.remove(&place(gone))),
            (Action::RunPython(run), _) => {
                let made = if provenance.untrusted_program { paths_of(output) } else { Vec::new() };
                let made: Vec<Target> = made.iter().filter_map(|path| target_of(path)).collect();
                if !made.is_empty() {
                    self.with_marks(&mut taint, |marks| made.iter().for_each(|target| marks.add(&place(target), &folder(target))));
                }
                // What a session has read it may write into a program.
                if (provenance.untrusted_program || taint.sessions.get(session).is_some_and(|known| known.untrusted))
                    && let Some(handle) = handle_of(output).or_else(|| run.session.clone())
                    && taint.handles.len() < MAX_HANDLES
                {
                    taint.handles.insert(handle);
                }
            }
            _ => {}
        }
    }

    /// Changes the marks as all servers of the state folder know them.
    fn with_marks(&self, taint: &mut Taint, change: impl Fn(&mut Marks)) {
        let marks = &mut taint.marks;
        let kept = self.shared.store.untrusted_files(|text| {
            marks.read_from(text);
            change(marks);
            ((), marks.take_shared_text())
        });
        if let Err(fault) = kept {
            tracing::error!(%fault, "the marks of untrusted files could not be shared; only this server has them");
            change(marks);
        }
    }

    /// Marks the session where an answer holds untrusted content, and gives the answer with the mark of its session.
    #[must_use]
    pub fn record_source(&self, session: &str, filtered: Filtered) -> Filtered {
        let mut taint = lock(&self.shared.taint);
        if filtered.parts().untrusted.is_some() {
            taint.sessions.entry(session.to_owned()).or_default().untrusted = true;
        }
        let marked = taint.sessions.get(session).is_some_and(|known| known.untrusted);
        drop(taint);
        if marked { filtered.in_untrusted_session() } else { filtered }
    }

    /// A place as it is remembered: each session has its own folder behind the name of a session root, and other folders are the machine's.
    fn place(&self, session: &str, target: &Target) -> Target {
        let root = self.manifest.roots.get(&target.root);
        if root.is_some_and(crate::manifest::Root::is_session) {
            return Target { root: format!("{}{OF}{session}", target.root), path: target.path.clone() };
        }
        // The last of its paths is the one its links lead to.
        let folder = root.and_then(|root| root.paths.last()).map(|segments| segments.join("/"));
        let whole = folder.map(|folder| if target.path.is_root() { folder } else { format!("{folder}/{}", target.path) });
        match whole.as_deref().map(RelPath::parse) {
            Some(Ok(path)) => Target { root: String::new(), path },
            // A folder whose name no path may have is known to this server by its root.
            _ => target.clone(),
        }
    }

    fn folder(&self, session: &str, name: &str) -> Target {
        self.place(session, &Target { root: name.to_owned(), path: RelPath::ROOT })
    }
}

fn remember(taint: &mut Taint, session: &str, host: &str) {
    let hosts = &mut taint.sessions.entry(session.to_owned()).or_default().hosts;
    if hosts.len() < MAX_HOSTS {
        hosts.insert(host.to_owned());
    }
}

/// The host that a page came from in the end.
fn final_host(output: &Output) -> Option<String> {
    let url = output.meta.get("toolgate/page")?.get("final_url")?.as_str()?;
    HttpUrl::parse(url).ok().map(|url| url.host_str().to_owned())
}

/// `ROOT/rest` as a place; none for what is no path below a root.
fn target_of(path: &str) -> Option<Target> {
    let (root, rest) = path.split_once('/').unwrap_or((path, ""));
    RelPath::parse(rest).ok().map(|path| Target { root: root.to_owned(), path })
}

/// The paths that an answer lists: the files a search looked into, or a program made.
fn paths_of(output: &Output) -> Vec<String> {
    let lists = output.structured.iter().flatten().filter_map(|(_, field)| match field {
        Field::List(rows) => Some(rows),
        _ => None,
    });
    let values = lists.flatten().flatten().filter_map(|(name, field)| match field {
        Field::Name(path, _) if *name == "path" => Some(path.clone()),
        _ => None,
    });
    values.collect()
}

/// The handle of the interpreter that a program left running.
fn handle_of(output: &Output) -> Option<String> {
    output.structured.iter().flatten().find_map(|(name, field)| match field {
        Field::Name(handle, _) if *name == "session" => Some(handle.clone()),
        _ => None,
    })
}

/// Between a session root's name and its session; no root's name holds it.
const OF: char = '@';
