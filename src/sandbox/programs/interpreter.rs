//! Finds out, by asking it once, what an interpreter needs to see in order to run.

#![expect(clippy::disallowed_methods, reason = "the interpreter is looked for before any program runs")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use toolgate_jail::Spec;

use super::facts::{InterpreterFacts, SHELL};
use super::facts_cache;
use super::outcome::NoRun;
use super::spec::DEFAULT_LIMITS;
use crate::state::StateDir;

/// An interpreter and the part of the host that it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interpreter {
    /// The file that is executed, no link.
    pub program: String,
    /// The name under which it runs; inside a virtual environment it decides where packages are looked for.
    pub argv0: String,
    /// Its version, e.g. `3.11.2`.
    pub version: String,
    /// Folders and files it reads, none below another, as they stand on the host.
    pub needs: Vec<String>,
    /// Links on the way to them: where they stand, and what they say.
    pub links: Vec<(String, String)>,
    /// Where it looks for modules.
    pub module_path: Vec<String>,
    /// Folders and files with the certificates it trusts, for programs that have a network.
    #[serde(skip)]
    pub(super) certificates: Certificates,
    /// What it runs at its start (`-c`): the bootstrap as it was compiled by itself; compiling it anew takes 2 ms, a third of a whole start.
    #[serde(skip)]
    pub(super) start: String,
}

/// Where the certificates of authorities are, in the form of [`Interpreter::needs`] and [`Interpreter::links`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Certificates {
    needs: BTreeSet<PathBuf>,
    links: Vec<(String, String)>,
}

impl Interpreter {
    /// Asks the interpreter at `name` (a path, or a name on the search path) where its parts are. It is started once, with no program of a model.
    ///
    /// # Errors
    /// [`NoRun::Unavailable`] when it cannot be started or does not answer.
    pub async fn detect(name: &Path) -> Result<Self, NoRun> {
        let facts = InterpreterFacts::ask(name, facts_cache::started(name)).await?;
        off_the_loop(move || Self::plan(facts)).await
    }

    /// The same, where nobody asks it again what `state` remembers of this very interpreter.
    ///
    /// # Errors
    /// As [`Interpreter::detect`].
    pub(super) async fn find(name: &Path, state: Option<&Arc<StateDir>>) -> Result<Self, NoRun> {
        let Some(state) = state else { return Self::detect(name).await };
        let (known, place) = (Arc::clone(state), name.to_owned());
        let remembered = off_the_loop(move || facts_cache::load(&known, &place).map(Self::plan)).await?;
        if let Some(interpreter) = remembered {
            return Ok(interpreter);
        }
        let facts = InterpreterFacts::ask(name, facts_cache::started(name)).await?;
        let (known, place) = (Arc::clone(state), name.to_owned());
        off_the_loop(move || {
            facts_cache::store(&known, &place, &facts);
            Self::plan(facts)
        })
        .await
    }

    /// The one of an image, which brings all that it needs. Its version is not known, so it compiles the bootstrap itself.
    pub(super) fn of_image() -> Self {
        Self { program: "python3".to_owned(), argv0: "python3".to_owned(), start: super::BOOTSTRAP.to_owned(), ..Self::default() }
    }

    /// Whether it is one of an image.
    pub(super) fn is_of_image(&self) -> bool {
        self.needs.is_empty()
    }

    /// What it needs to see, and the links on the way, where it also sees which authorities to trust.
    pub(super) fn with_certificates(&self) -> (Vec<String>, Vec<(String, String)>) {
        let mut all = self.certificates.needs.clone();
        all.extend(self.needs.iter().map(PathBuf::from));
        let needs = without_nested(&all);
        let outside = |path: &str| !needs.iter().any(|parent| Path::new(path).starts_with(parent));
        let links: BTreeSet<_> = self.links.iter().chain(&self.certificates.links).filter(|(path, _)| outside(path)).cloned().collect();
        (texts(&needs), links.into_iter().collect())
    }

    /// A text without the folders in which the interpreter lies: they may tell whose it is, and `site-packages/…` says as much. What is the system's
    /// own is the same everywhere.
    pub(super) fn without_folders(&self, mut text: String) -> String {
        let mut folders: Vec<&String> =
            self.module_path.iter().filter(|folder| !folder.starts_with("/usr/") && !folder.starts_with("/opt/")).collect();
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
        for (folder, (_, name)) in folders.iter().filter_map(|folder| Some((folder, folder.rsplit_once('/')?))) {
            text = text.replace(&format!("{folder}/"), &format!("{name}/"));
        }
        text
    }

    /// A program that leaves with 0, by which a backend is tried.
    pub(super) fn trial(&self) -> Spec {
        Spec {
            program: self.program.clone(),
            arguments: [self.argv0.as_str(), "-ISB", "-c", "import sys; sys.exit(6 * 7 - 42)"].map(str::to_owned).to_vec(),
            environment: std::collections::BTreeMap::new(),
            shown: self.needs.clone(),
            links: self.links.clone(),
            folders: Vec::new(),
            start_dir: "/tmp".to_owned(),
            limits: DEFAULT_LIMITS,
            require: Vec::new(),
            network: false,
            waits: false,
            label: String::new(),
        }
    }

    fn plan(facts: InterpreterFacts) -> Self {
        let mut wanted: BTreeSet<PathBuf> = BTreeSet::new();
        let mut want = |path: &str| wanted.extend(real(path));
        // A prefix of its own is shown whole; a prefix that is the system's (`/usr`) holds far more than Python.
        facts.prefixes.iter().filter(|prefix| !SHARED.contains(&prefix.as_str())).for_each(|prefix| want(prefix));
        facts.folders.iter().chain(&facts.module_path).for_each(|folder| want(folder));
        want(&facts.program);
        want(SHELL);
        wanted.extend(loaded(facts.libraries.iter().chain(&facts.shell).map(String::as_str)));
        let needs = without_nested(&wanted);
        let named = [facts.executable.as_str(), SHELL].into_iter();
        let links = links(named.chain(facts.module_path.iter().chain(&facts.prefixes).map(String::as_str)), &needs);
        let certificates = certificates(&facts.certificates);
        Self {
            program: facts.program,
            argv0: facts.executable,
            version: facts.version,
            needs: texts(&needs),
            links,
            certificates,
            module_path: facts.module_path,
            start: format!("import marshal\nexec(marshal.loads(bytes.fromhex('{}')))", facts.code),
        }
    }
}

/// What a program needs to see that loads these libraries, and the links on the way.
pub(in crate::sandbox) fn shown<'a>(program: &str, libraries: impl Iterator<Item = &'a str>) -> (Vec<String>, Vec<(String, String)>) {
    let needs = without_nested(&real(program).into_iter().chain(loaded(libraries)).collect());
    let links = links([program], &needs);
    (texts(&needs), links)
}

/// What a path leads to, where that is neither the root nor a folder right in it.
fn real(path: &str) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok().filter(|real| real.components().count() > 2)
}

/// Where these libraries are, and what the loader needs to find them.
fn loaded<'a>(libraries: impl Iterator<Item = &'a str>) -> Vec<PathBuf> {
    let place = |library: &str| {
        let file = real(library)?;
        match file.parent().and_then(Path::to_str) {
            Some(folder) if !PLAIN_LIBRARIES.contains(&folder) => real(folder),
            _ => Some(file),
        }
    };
    libraries.filter_map(place).chain(EXTRAS.into_iter().filter_map(real)).collect()
}

fn texts(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

/// Keeps the paths that lie below no other path of the set. The set is sorted, so a parent comes before what is below it.
pub(super) fn without_nested(paths: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !kept.iter().any(|parent| path.starts_with(parent)) {
            kept.push(path.clone());
        }
    }
    kept
}

/// The links on the way to these paths, at whatever depth, and those of the host's first level (`/lib` to `/usr/lib`); what lies below a need is
/// shown with it.
fn links<'a>(paths: impl IntoIterator<Item = &'a str>, needs: &[PathBuf]) -> Vec<(String, String)> {
    let mut found = BTreeSet::new();
    for path in ["/bin", "/lib", "/lib32", "/lib64", "/etc/localtime"].into_iter().chain(paths) {
        for (link, target) in on_the_way(Path::new(path)) {
            if !needs.iter().any(|parent| link.starts_with(parent))
                && let (Some(link), Some(target)) = (link.to_str(), target.to_str())
            {
                found.insert((link.to_owned(), target.to_owned()));
            }
        }
    }
    found.into_iter().collect()
}

/// The links that are followed from the root to an absolute path, each with its target.
fn on_the_way(path: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    let mut at = PathBuf::from("/");
    let mut rest: Vec<OsString> = path.components().rev().map(|part| part.as_os_str().to_owned()).collect();
    while let Some(part) = rest.pop() {
        match part.to_str() {
            Some("/") => at = PathBuf::from("/"),
            Some("..") => drop(at.pop()),
            Some(".") => {}
            _ => at.push(part),
        }
        // INVARIANT: at most 40 links are followed, like the kernel's own bound (path_resolution(7)).
        if found.len() < 40
            && let Ok(target) = std::fs::read_link(&at)
        {
            rest.extend(target.components().rev().map(|part| part.as_os_str().to_owned()));
            found.push((at.clone(), target));
            at.pop();
        }
    }
    found
}

/// The places an interpreter looks for authorities in, what their links lead to, and the links themselves.
fn certificates(places: &[String]) -> Certificates {
    let mut found = Certificates::default();
    for place in places.iter().map(String::as_str).chain(AUTHORITIES) {
        let links = on_the_way(Path::new(place)).into_iter();
        found.links.extend(links.filter_map(|(link, target)| Some((link.to_str()?.to_owned(), target.to_str()?.to_owned()))));
        found.needs.extend(std::fs::canonicalize(place).ok().filter(|real| real.components().count() > 3));
    }
    found.links.sort();
    found.links.dedup();
    found
}

/// Where distributions keep the certificates that the folders above hold links to; no folder of keys is among them.
const AUTHORITIES: [&str; 5] = [
    "/etc/ssl/certs",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
];

/// Prefixes that Python shares with the rest of the system.
const SHARED: [&str; 3] = ["/", "/usr", "/usr/local"];
/// Library folders that hold other things as well: only the files that were loaded are shown.
const PLAIN_LIBRARIES: [&str; 4] = ["/lib", "/usr/lib", "/usr/local/lib", "/usr/bin"];
/// Shown where they exist: the loader's folder and index, the time zones, and the locale of `LANG`.
const EXTRAS: [&str; 5] = ["/lib64", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo", "/usr/lib/locale/C.utf8"];

/// Does what waits for the disk on a thread of its own.
async fn off_the_loop<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, NoRun> {
    tokio::task::spawn_blocking(work).await.map_err(|fault| NoRun::fault("looking for Python", fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_below_another_is_dropped_and_a_name_twin_is_kept() {
        let paths = ["/opt/py", "/opt/py/lib", "/opt/python"].map(PathBuf::from).into_iter().collect();
        assert_eq!(without_nested(&paths), ["/opt/py", "/opt/python"].map(PathBuf::from));
    }

    #[test]
    fn links_to_folders_on_the_way_are_shown_as_well_and_those_of_what_is_shown_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("real/env/bin")).unwrap();
        for (target, link) in [("real", "first"), ("../first/env", "real/second"), ("python3.11", "real/env/bin/python")] {
            std::os::unix::fs::symlink(target, base.join(link)).unwrap();
        }
        let path = base.join("first/second/bin/python");
        let text = |at: &str| base.join(at).to_str().unwrap().to_owned();
        let links_with = |needs: &[PathBuf]| -> Vec<(String, String)> {
            links([path.to_str().unwrap()], needs).into_iter().filter(|(link, _)| Path::new(link).starts_with(&base)).collect()
        };
        let first = (text("first"), "real".to_owned());
        let second = (text("real/second"), "../first/env".to_owned());
        let last = (text("real/env/bin/python"), "python3.11".to_owned());
        assert_eq!(links_with(&[]), [first.clone(), last, second.clone()]);
        assert_eq!(links_with(&[base.join("real/env")]), [first.clone(), second]);
        assert_eq!(links_with(&[base.join("real")]), [first]);
        // A link to itself ends.
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();
        assert_eq!(on_the_way(&base.join("loop/x")).len(), 40);
    }

    #[tokio::test]
    async fn an_interpreter_that_is_none_is_unavailable_with_the_key_to_set() {
        let error = Interpreter::detect(Path::new("/bin/false")).await.unwrap_err();
        assert!(matches!(&error, NoRun::Unavailable { reason, .. } if reason.contains("[python] interpreter")), "{error}");
    }

    #[test]
    fn a_traceback_names_no_folder_of_an_interpreter_but_those_of_the_system() {
        let module_path =
            ["/home/ada/py/lib/python3.11", "/home/ada/py/lib/python3.11/site-packages", "/usr/lib/python3"].map(str::to_owned);
        let interpreter = Interpreter { module_path: module_path.to_vec(), ..Interpreter::default() };
        let text = "in /home/ada/py/lib/python3.11/site-packages/x.py, /home/ada/py/lib/python3.11/json/a.py, /usr/lib/python3/os.py";
        let shown = "in site-packages/x.py, python3.11/json/a.py, /usr/lib/python3/os.py";
        assert_eq!(interpreter.without_folders(text.to_owned()), shown);
    }

    #[tokio::test]
    async fn the_machines_interpreter_shows_its_parts_and_not_the_whole_system() {
        let Ok(found) = Interpreter::detect(Path::new("python3")).await else { return };
        assert!(found.program.starts_with('/') && found.version.starts_with("3."), "{found:?}");
        assert!(found.needs.iter().all(|need| !["/", "/usr", "/etc", "/home", "/root"].contains(&need.as_str())), "{found:?}");
    }
}
