//! The facts of an interpreter, kept in the state folder under a fingerprint of every file that they were taken from.

#![expect(clippy::disallowed_methods, reason = "the interpreter's own files are looked at before any program runs")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, stat};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::facts::{InterpreterFacts, PROBE, SHELL};
use crate::state::StateDir;

/// The facts, and the [`fingerprint`] that they hold for.
#[derive(Debug, Serialize, Deserialize)]
struct CachedFacts {
    fingerprint: String,
    facts: InterpreterFacts,
}

/// The facts of the interpreter at `name`, where its fingerprint is the one that they were stored under.
pub(super) fn load(state: &StateDir, name: &Path) -> Option<InterpreterFacts> {
    let file = found(name)?;
    let cached: CachedFacts = serde_json::from_slice(&state.recall(&place(&file))?).ok()?;
    (cached.fingerprint == fingerprint(&file, &cached.facts)).then_some(cached.facts)
}

/// Stores the facts of the interpreter at `name`; of a shim nothing is stored.
pub(super) fn store(state: &StateDir, name: &Path, facts: &InterpreterFacts) {
    let Some(file) = found(name).filter(|file| is_the_interpreter(file, facts)) else { return };
    let cached = CachedFacts { fingerprint: fingerprint(&file, facts), facts: facts.clone() };
    let kept = serde_json::to_vec(&cached).map_err(std::io::Error::other).and_then(|text| state.remember(&place(&file), &text));
    if let Err(fault) = kept {
        tracing::debug!(%fault, "the facts of the interpreter are not stored");
    }
}

/// The file that a name means, as a started program is looked for (execvp(3)), but for entries of the search path that are no absolute folders: with
/// `.` in it a program of the repository would run outside the jail.
pub fn found(name: &Path) -> Option<PathBuf> {
    if name.is_absolute() {
        return Some(name.to_owned());
    }
    found_in(name, &std::env::var_os("PATH")?)
}

/// The file that is started for a name: a path as it is, and else as [`found`] has it.
pub(super) fn started(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 { Some(name.to_owned()) } else { found(name) }
}

fn found_in(name: &Path, search: &std::ffi::OsStr) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return None;
    }
    // One that depends on where the server was started may lie in a repository.
    let files = std::env::split_paths(search).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    files.into_iter().find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

/// Whether the file is the interpreter itself: a shim may start another one tomorrow, and no file shows it.
fn is_the_interpreter(file: &Path, facts: &InterpreterFacts) -> bool {
    file.canonicalize().is_ok_and(|real| real == Path::new(&facts.program))
}

/// The name of its entry in the state folder.
fn place(file: &Path) -> String {
    let digest = Sha256::digest(file.as_os_str().as_encoded_bytes());
    let name = digest.iter().take(8).fold(0_u64, |name, byte| name << 8 | u64::from(*byte));
    format!("python-{name:016x}")
}

/// A digest of what the facts depend on: the probe, the file, the environment, and which objects with which stamps are at [`places`].
fn fingerprint(file: &Path, facts: &InterpreterFacts) -> String {
    let mut digest = Sha256::new();
    let mut add = |text: &[u8]| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    };
    for text in [env!("CARGO_PKG_VERSION"), PROBE, super::BOOTSTRAP] {
        add(text.as_bytes());
    }
    add(file.as_os_str().as_encoded_bytes());
    let matters = |name: &str| ["LD_", "SSL_", "OPENSSL_", "PYTHON"].iter().any(|prefix| name.starts_with(prefix));
    let environment: BTreeSet<_> = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(matters)).collect();
    for (name, value) in &environment {
        add(name.as_encoded_bytes());
        add(value.as_encoded_bytes());
    }
    for path in places(file, facts) {
        add(path.as_os_str().as_encoded_bytes());
        let seen = stat(&path).map(|at| (at.st_dev, at.st_ino, at.st_size, at.st_mtime, at.st_mtime_nsec, at.st_ctime, at.st_ctime_nsec));
        add(format!("{seen:?}").as_bytes());
    }
    data_encoding::HEXLOWER.encode(&digest.finalize())
}

/// Every file and folder that the facts were taken from, or that would change them by appearing.
/// # Source  The documentation of Python's `site` module: `pyvenv.cfg`, the folders of packages, the `.pth` files in them.
fn places(file: &Path, facts: &InterpreterFacts) -> BTreeSet<PathBuf> {
    let mut all: BTreeSet<PathBuf> = [file, Path::new(&facts.program), Path::new(SHELL)].into_iter().map(Path::to_owned).collect();
    all.extend(["/etc/ld.so.cache", "/etc/ld.so.preload"].map(PathBuf::from));
    all.extend(facts.libraries.iter().chain(&facts.shell).map(PathBuf::from));
    for folder in [file, Path::new(&facts.executable)].into_iter().flat_map(|file| file.ancestors().skip(1).take(2)) {
        all.insert(folder.join("pyvenv.cfg"));
    }
    let (major, rest) = facts.version.split_once('.').unwrap_or_default();
    let python = format!("python{major}.{}", rest.split('.').next().unwrap_or_default());
    let mut modules: BTreeSet<PathBuf> = facts.module_path.iter().chain(&facts.folders).map(PathBuf::from).collect();
    for prefix in facts.prefixes.iter().map(Path::new).chain([Path::new("/usr/local")]) {
        for library in ["lib", "lib64", "local/lib"].map(|library| prefix.join(library)) {
            modules.extend(["site-packages", "dist-packages"].map(|packages| library.join(&python).join(packages)));
            modules.insert(library.join("python3/dist-packages"));
        }
    }
    for folder in &modules {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        all.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "pth")));
    }
    all.extend(modules);
    all
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_name_is_looked_for_in_absolute_folders_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| {
            use std::os::unix::fs::PermissionsExt as _;
            let file = folder.path().join(name).join("python3");
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            file
        };
        let (_near, right) = (place("here"), place("bin"));
        // Relative to wherever this test runs: enough steps up to reach the root of the file system.
        let up = "../".repeat(64) + folder.path().join("here").to_str().unwrap().trim_start_matches('/');
        assert!(Path::new(&up).join("python3").is_file());
        let search = |folders: &[&str]| std::env::join_paths(folders).unwrap();
        let bin = right.parent().unwrap().to_str().unwrap();
        assert_eq!(found_in(Path::new("python3"), &search(&[".", "", &up, bin])), Some(right.clone()));
        assert_eq!(found_in(Path::new("python3"), &search(&[".", "", &up])), None);
        assert_eq!(found_in(Path::new("here/python3"), &search(&[bin])), None);
    }

    /// A virtual environment that is made of files alone, what its interpreter said, and a state folder.
    struct World {
        _folder: tempfile::TempDir,
        base: PathBuf,
        python: PathBuf,
        state: StateDir,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let base = folder.path().canonicalize().unwrap();
            std::fs::create_dir_all(base.join("env/bin")).unwrap();
            std::fs::create_dir_all(base.join("env/lib/python3.11/site-packages")).unwrap();
            std::fs::write(base.join("python3.11"), "an interpreter").unwrap();
            std::fs::write(base.join("env/pyvenv.cfg"), "home = /").unwrap();
            std::fs::write(base.join("env/lib/python3.11/site-packages/a.pth"), "/x").unwrap();
            std::fs::write(base.join("lib.so"), "a library").unwrap();
            symlink("../../python3.11", base.join("env/bin/python")).unwrap();
            // So that a change shows by its stamp, however soon it comes.
            for path in
                ["python3.11", "env/pyvenv.cfg", "env/lib/python3.11/site-packages/a.pth", "env/lib/python3.11/site-packages", "lib.so"]
            {
                std::fs::File::open(base.join(path)).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
            }
            let state = StateDir::open(&base.join("state")).unwrap();
            Self { _folder: folder, python: base.join("env/bin/python"), base, state }
        }

        fn at(&self, path: &str) -> String {
            self.base.join(path).to_str().unwrap().to_owned()
        }

        fn facts(&self) -> InterpreterFacts {
            InterpreterFacts {
                executable: self.at("env/bin/python"),
                program: self.at("python3.11"),
                version: "3.11.2".to_owned(),
                prefixes: vec![self.at("env")],
                folders: vec![self.at("lib/python3.11")],
                module_path: vec![self.at("lib/python3.11"), self.at("env/lib/python3.11/site-packages")],
                libraries: vec![self.at("lib.so")],
                certificates: Vec::new(),
                code: String::new(),
                shell: Vec::new(),
            }
        }

        fn store(&self) {
            store(&self.state, &self.python, &self.facts());
        }

        fn loaded(&self) -> Option<InterpreterFacts> {
            load(&self.state, &self.python)
        }
    }

    #[test]
    fn an_answer_is_remembered_and_given_again() {
        let world = World::new();
        assert_eq!(world.loaded(), None);
        world.store();
        assert_eq!(world.loaded(), Some(world.facts()));
        // By another name it is another question: a virtual environment is found by its name alone.
        assert_eq!(load(&world.state, &world.base.join("python3.11")), None);
    }

    #[test]
    fn an_answer_is_dropped_when_anything_it_was_taken_from_is_another() {
        type Change = (&'static str, fn(&World));
        let changes: [Change; 9] = [
            ("replaced", |world| {
                std::fs::write(world.base.join("new"), "an interpreter").unwrap();
                std::fs::rename(world.base.join("new"), world.base.join("python3.11")).unwrap();
            }),
            ("written to", |world| std::fs::write(world.base.join("python3.11"), "an interpreteR").unwrap()),
            ("led elsewhere", |world| {
                std::fs::write(world.base.join("python3.12"), "an interpreter").unwrap();
                std::fs::remove_file(&world.python).unwrap();
                symlink("../../python3.12", &world.python).unwrap();
            }),
            ("pyvenv.cfg changed", |world| std::fs::write(world.base.join("env/pyvenv.cfg"), "home = /x").unwrap()),
            ("pyvenv.cfg gone", |world| std::fs::remove_file(world.base.join("env/pyvenv.cfg")).unwrap()),
            ("a nearer pyvenv.cfg", |world| std::fs::write(world.base.join("env/bin/pyvenv.cfg"), "home = /").unwrap()),
            ("a .pth file changed", |world| std::fs::write(world.base.join("env/lib/python3.11/site-packages/a.pth"), "/y").unwrap()),
            ("a package came", |world| std::fs::create_dir(world.base.join("env/lib/python3.11/site-packages/six")).unwrap()),
            ("a library changed", |world| std::fs::write(world.base.join("lib.so"), "another").unwrap()),
        ];
        for (what, change) in changes {
            let world = World::new();
            world.store();
            assert!(world.loaded().is_some(), "{what}");
            change(&world);
            assert_eq!(world.loaded(), None, "{what}");
        }
    }

    #[test]
    fn a_shim_is_asked_again() {
        let world = World::new();
        let shim = world.base.join("shim");
        std::fs::write(&shim, "#!/bin/sh\nexec python \"$@\"\n").unwrap();
        store(&world.state, &shim, &world.facts());
        assert_eq!(load(&world.state, &shim), None);
    }

    #[test]
    fn an_answer_that_is_no_such_answer_is_asked_again() {
        let world = World::new();
        world.store();
        let name = place(&world.python);
        for text in ["", "null", "{}", "[]", r#"{"fingerprint":"","facts":{}}"#] {
            world.state.remember(&name, text.as_bytes()).unwrap();
            assert_eq!(world.loaded(), None, "{text}");
        }
        let whole = CachedFacts { fingerprint: "another".to_owned(), facts: world.facts() };
        world.state.remember(&name, &serde_json::to_vec(&whole).unwrap()).unwrap();
        assert_eq!(world.loaded(), None, "another fingerprint");
    }
}
