//! Which interpreter programs get: the manifest's own, or the environment that was built from its packages.

#![expect(clippy::disallowed_methods, reason = "the command line is where the lock file is read and the environment is looked for")]

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::manifest::{Lock, Manifest};
use crate::sandbox::programs::on_search_path;

/// The folder of the environments, below the state folder.
pub(super) const FOLDER: &str = "python";
/// What an environment that is whole has in it: the lock it was built from.
pub(super) const STAMP: &str = "toolgate.lock";

/// The interpreter of a manifest, and why no program may run in it yet. With packages it is the environment's, which must be there and built from a
/// lock that fits.
pub fn find(manifest: &Manifest, file: Option<&Path>, state: &Path) -> (PathBuf, Option<String>) {
    let base = base(manifest, file);
    if manifest.python.packages.is_empty() {
        return (base, None);
    }
    match ready(manifest, file, state, &base) {
        Ok(interpreter) => (interpreter, None),
        Err(why) => (base, Some(format!("{why}; run `toolgate packages sync`"))),
    }
}

fn ready(manifest: &Manifest, file: Option<&Path>, state: &Path, base: &Path) -> Result<PathBuf, String> {
    let path = lock_path(file.ok_or("a manifest without a file has no packages")?);
    let lock = read_lock(&path)?.ok_or_else(|| format!("`[python] packages` has no lock file `{}` yet", name(&path)))?;
    lock.fits(&manifest.python.packages).map_err(|why| format!("the lock `{}` does not fit the manifest: {why}", name(&path)))?;
    let folder = place(state, &lock, base);
    if is_built(&folder, &lock) {
        return Ok(folder.join("bin/python"));
    }
    Err(format!("the environment that the lock `{}` names is not built on this machine", name(&path)))
}

/// Whether the environment of a lock is whole.
pub(super) fn is_built(folder: &Path, lock: &Lock) -> bool {
    std::fs::read_to_string(folder.join(STAMP)).is_ok_and(|text| text == lock.text())
}

/// The modules that the packages of a manifest brought into the environment on this machine, by the records of their installation; none where
/// the environment is not ready. Packages that were installed because others need them are not named in the manifest, and do not count.
pub(super) fn installed(manifest: &Manifest, file: Option<&Path>, state: &Path) -> Vec<String> {
    let Ok(interpreter) = ready(manifest, file, state, &base(manifest, file)) else { return Vec::new() };
    let wanted: Vec<String> = manifest.python.packages.iter().map(|package| distribution(package)).collect();
    let libraries = interpreter.parent().and_then(Path::parent).map(|environment| environment.join("lib"));
    let folders = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let mut modules = std::collections::BTreeSet::new();
    for site in libraries.iter().flat_map(|libraries| folders(libraries)).map(|python| python.join("site-packages")) {
        for record in folders(&site) {
            let name = record.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some((package, _)) = name.strip_suffix(".dist-info").and_then(|name| name.split_once('-')) else { continue };
            if wanted.contains(&distribution(package)) {
                let lines = std::fs::read_to_string(record.join("RECORD")).unwrap_or_default();
                modules.extend(lines.lines().filter_map(module_of));
            }
        }
    }
    modules.into_iter().collect()
}

/// The name of the distribution that a requirement asks for, in the form in which names are compared (PEP 503).
fn distribution(requirement: &str) -> String {
    let name: String = requirement.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).collect();
    name.to_lowercase().replace(['_', '.'], "-")
}

/// The public module that a file of a distribution belongs to; none for what is no module, or for a module of the standard library.
fn module_of(line: &str) -> Option<String> {
    let path = line.trim_start_matches('"').split([',', '"']).next()?;
    let first = match path.split_once('/') {
        Some((folder, _)) => folder,
        None if matches!(path.rsplit_once('.'), Some((_, "py" | "so"))) => path.split('.').next()?,
        None => return None,
    };
    let is_name = first.starts_with(|c: char| c.is_alphabetic()) && first.chars().all(|c| c == '_' || c.is_alphanumeric());
    (is_name && !toolgate_pycheck::is_standard_module(first)).then(|| first.to_owned())
}

/// The interpreter as the manifest names it: a name on the search path, or a path, which is relative to the manifest.
pub(super) fn base(manifest: &Manifest, file: Option<&Path>) -> PathBuf {
    let written = PathBuf::from(&manifest.python.interpreter);
    match file.and_then(Path::parent) {
        Some(folder) if manifest.python.interpreter.contains('/') => folder.join(written),
        _ => written,
    }
}

/// The program of an interpreter as [`base`] gives it. A name in a relative entry of the search path may be a program of the repository.
pub(super) fn program(base: &Path) -> Option<PathBuf> {
    if base.components().count() > 1 { Some(base.to_owned()) } else { on_search_path(base) }
}

/// Whether the interpreter that a manifest names is there and can be run. A machine without the default one runs no programs and may serve all else.
pub(super) fn is_there(manifest: &Manifest, file: Option<&Path>) -> bool {
    let written = &manifest.python.interpreter;
    let base = base(manifest, file);
    if written.contains('/') {
        return base.is_file() && rustix::fs::access(&base, rustix::fs::Access::EXEC_OK).is_ok();
    }
    *written == Manifest::default().python.interpreter || on_search_path(&base).is_some()
}

/// The lock file of a manifest: beside it, with the ending `.lock`.
pub(super) fn lock_path(manifest: &Path) -> PathBuf {
    manifest.with_extension("lock")
}

/// Reads a lock file; none where there is no such file.
pub(super) fn read_lock(path: &Path) -> Result<Option<Lock>, String> {
    match super::text_file::read(path) {
        Ok(text) => Lock::parse(&text).map(Some).map_err(|fault| format!("the lock `{}` is broken, {fault}", name(path))),
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(format!("the lock `{}` cannot be read: {fault}", name(path))),
    }
}

/// Where the environment of a lock and an interpreter stands: another lock is another folder, so that a server that runs keeps its own.
pub(super) fn place(state: &Path, lock: &Lock, base: &Path) -> PathBuf {
    let digest = Sha256::new().chain_update(lock.text()).chain_update([0]).chain_update(base.as_os_str().as_encoded_bytes()).finalize();
    let name = digest.iter().take(8).fold(0_u64, |name, byte| name << 8 | u64::from(*byte));
    state.join(FOLDER).join(format!("{name:016x}"))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_record_names_its_module_and_never_one_of_the_standard_library() {
        for (line, module) in [
            ("pandas/core/frame.py,sha256=x,1", Some("pandas")),
            ("six.py,sha256=x,1", Some("six")),
            ("_cffi_backend.cpython-311-x86_64-linux-gnu.so,,", None),
            ("yaml/__init__.py,,", Some("yaml")),
            ("ujson.cpython-311-x86_64-linux-gnu.so,,", Some("ujson")),
            ("os.py,,", None),
            ("ctypes/__init__.py,,", None),
            ("pandas-2.3.3.dist-info/METADATA,,", None),
            ("../../../bin/f2py,,", None),
            ("", None),
        ] {
            assert_eq!(module_of(line).as_deref(), module, "{line}");
        }
        assert_eq!(distribution("Scikit_Learn[all]>=1"), "scikit-learn");
    }
}
