//! What no call may touch: the files that the server itself reads and runs. A call that wrote one of them would change what is decided,
//! or run a program outside the jail.

#![expect(clippy::disallowed_methods, reason = "the command line is where the files that a manifest names are looked for")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{environment, lookup, trust};
use crate::manifest::{Manifest, Place, RootMode};

/// Files that the command line names, beside those of the manifest.
static NAMED: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Guards the files of TLS that the command line names, from the next [`guarded`] on. The first call counts; there is one command line.
pub(super) fn name_files(files: &[&Path]) {
    let _ = NAMED.set(files.iter().flat_map(|file| name_and_target(file)).collect());
}

/// Canonical paths, the last names of which may be missing:
/// - the manifest in force, every place where the next start would look for a manifest, and the note of which are trusted;
/// - the lock of each of them, which says what the next sync installs, before there is one and before a manifest names a package;
/// - the folder of its filter rules, the files of its secrets, the keys that tokens are verified with, those of TLS, and the files that reviewers are run from;
/// - as far as calls may write there: the interpreter, its environment and its library. The server asks the interpreter where it lives, and
///   that runs outside the jail.
pub(super) fn guarded(file: Option<&Path>, manifest: &Manifest) -> Vec<PathBuf> {
    let next = lookup::manifest(None).ok().flatten().and_then(|found| found.path.canonicalize().ok());
    let manifests: Vec<PathBuf> = file.map(Path::to_owned).into_iter().chain(next).collect();
    let mut guarded: Vec<PathBuf> = manifests.iter().flat_map(|file| name_and_target(&environment::lock_path(file))).collect();
    guarded.extend(manifests);
    // A manifest that puts its state elsewhere leaves the user's trust where it is.
    guarded.extend(trust::folder().ok().as_deref().and_then(canonical));
    let folder = file.and_then(Path::parent).unwrap_or(Path::new("."));
    guarded.extend(NAMED.get().into_iter().flatten().cloned());
    let secrets = manifest.network.secrets.values().filter_map(|secret| secret.file.clone());
    let keys = manifest.clients.oauth.iter().map(|rule| &rule.jwks).filter(|jwks| !jwks.contains("://")).map(|jwks| folder.join(jwks));
    let rules = manifest.filters.rules_dir.iter().map(|rules| folder.join(rules));
    guarded.extend(secrets.chain(keys).chain(rules).flat_map(|file| name_and_target(&file)));
    guarded.extend(reviewer_files(manifest, folder));
    let writable = writable_roots(manifest);
    let is_near = |path: &PathBuf| writable.iter().any(|root| path.starts_with(root) || root.starts_with(path));
    guarded.extend(interpreter_places(&environment::base(manifest, file)).into_iter().filter(is_near));
    guarded.sort();
    guarded.dedup();
    guarded
}

/// Each word of a reviewer's command that names a file: the program, or what it interprets.
fn reviewer_files(manifest: &Manifest, folder: &Path) -> impl Iterator<Item = PathBuf> {
    let commands = manifest.review.reviewers.iter().map(|reviewer| &reviewer.command);
    let here = std::env::current_dir().unwrap_or_default();
    let places = commands.flatten().flat_map(move |word| [folder.join(word), here.join(word)]);
    places.filter(|path| path.is_file()).flat_map(|path| name_and_target(&path))
}

/// The folders of the roots that calls may write in.
fn writable_roots(manifest: &Manifest) -> Vec<PathBuf> {
    let written = manifest.roots.values().filter(|root| root.mode == RootMode::ReadWrite && !matches!(root.place, Place::Session));
    let folders = written.filter_map(|root| root.paths.first().map(|segments| PathBuf::from(format!("/{}", segments.join("/")))));
    folders.filter_map(|folder| folder.canonicalize().ok()).collect()
}

/// Every place from which an interpreter, a path or a name on the search path, takes what it runs.
fn interpreter_places(named: &Path) -> Vec<PathBuf> {
    let is_path = named.parent().is_some_and(|parent| !parent.as_os_str().is_empty());
    let search = std::env::var_os("PATH").unwrap_or_default();
    let of_name = || std::env::split_paths(&search).map(|folder| folder.join(named)).collect();
    let candidates: Vec<PathBuf> = if is_path { vec![named.to_owned()] } else { of_name() };
    let mut places = Vec::new();
    for candidate in candidates {
        // A name earlier on the search path would be found in the place of the one that is.
        places.extend(canonical(&candidate));
        if candidate.is_file() {
            behind(&candidate, &mut places);
            break;
        }
    }
    places
}

/// The most links from a name to the program behind it, and from an environment to the one it was made from; the kernel follows as many.
const MOST_LINKS: usize = 40;

/// What lies behind a program: each link on the way, and of each folder of programs on it the environment and the library.
fn behind(program: &Path, places: &mut Vec<PathBuf>) {
    let mut next = Some(program.to_owned());
    for _ in 0..MOST_LINKS {
        let Some(program) = next.as_deref().and_then(canonical) else { return };
        let Some(prefix) = program.parent().and_then(Path::parent) else { return };
        let settings = prefix.join("pyvenv.cfg");
        if settings.is_file() {
            places.push(prefix.to_owned());
            if let Some(home) = home(&settings) {
                let name = program.file_name().unwrap_or(OsStr::new("python3"));
                library(&home, places);
                places.extend(canonical(&home.join(name)));
            }
        } else if is_script(&program) && program.parent().and_then(Path::file_name) == Some(OsStr::new("shims")) {
            // A version manager: the script chooses one of the interpreters that lie beside its folder.
            places.push(prefix.to_owned());
        }
        library(program.parent().unwrap_or(prefix), places);
        next = std::fs::read_link(&program).ok().map(|link| program.parent().unwrap_or(prefix).join(link));
        places.push(program);
    }
}

/// The libraries that an interpreter in this folder of programs would import from.
fn library(programs: &Path, places: &mut Vec<PathBuf>) {
    let Some(prefix) = programs.parent() else { return };
    for folder in ["lib", "lib64", "local/lib"] {
        let found = std::fs::read_dir(prefix.join(folder)).into_iter().flatten().flatten();
        let libraries = found.filter(|entry| entry.file_name().to_string_lossy().starts_with("python3")).map(|entry| entry.path());
        places.extend(libraries.filter_map(|path| path.canonicalize().ok()));
    }
}

/// The folder of programs that an environment was made from, as its settings name it.
fn home(settings: &Path) -> Option<PathBuf> {
    let text = super::text_file::read(settings).ok()?;
    let value = text.lines().find_map(|line| line.split_once('=').filter(|(key, _)| key.trim() == "home"))?.1;
    PathBuf::from(value.trim()).canonicalize().ok()
}

fn is_script(program: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; 2];
    std::fs::File::open(program).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!"
}

/// Where a file lies, or would lie, and what it leads to where it is a link.
fn name_and_target(path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    canonical(path).into_iter().chain(path.canonicalize())
}

/// Where a file lies, or would lie: its folder is found, its own name is not followed.
fn canonical(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}
