//! Finds out, by asking it once, what an interpreter needs to see in order to run.

#![expect(clippy::disallowed_methods, reason = "the interpreter is looked for before any program runs")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use serde::{Deserialize, Serialize};

use super::outcome::NoRun;

/// An interpreter and the part of the host that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What it runs before a program, compiled by itself: compiling it anew takes 2 ms, a third of its whole start.
    #[serde(skip)]
    pub(super) code: Vec<u8>,
}

/// Where the certificates of authorities are, in the form of [`Interpreter::needs`] and [`Interpreter::links`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Certificates {
    needs: BTreeSet<PathBuf>,
    links: Vec<(String, String)>,
}

/// What [`PROBE`] prints.
#[derive(Debug, Deserialize)]
struct Told {
    executable: String,
    program: String,
    version: String,
    prefixes: Vec<String>,
    folders: Vec<String>,
    module_path: Vec<String>,
    libraries: Vec<String>,
    certificates: Vec<String>,
    code: String,
}

impl Interpreter {
    /// Asks the interpreter at `name` (a path, or a name on the search path) where its parts are. It is started once, with no program of a model.
    ///
    /// # Errors
    /// [`NoRun::Unavailable`] when it cannot be started or does not answer.
    pub fn detect(name: &Path) -> Result<Self, NoRun> {
        let unavailable = |reason: String| NoRun::Unavailable {
            layer: "interpreter".to_owned(),
            reason: format!("`{}` {reason}; set `[python] interpreter`", name.display()),
        };
        // A shim (a shell script that picks a version) needs the caller's environment; the jail never gets it.
        let output = Command::new(name)
            .args(["-I", "-c", PROBE, super::inside::BOOTSTRAP])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .map_err(|e| unavailable(format!("cannot be started ({e})")))?;
        if !output.status.success() {
            return Err(unavailable("is no working Python 3".to_owned()));
        }
        let told: Told = serde_json::from_slice(&output.stdout).map_err(|_| unavailable("does not answer like Python 3".to_owned()))?;
        Ok(Self::plan(told))
    }

    /// Has it compile a text of ours for other processes of its own; `None` where it cannot.
    pub(super) fn compile(&self, source: &str) -> Option<Vec<u8>> {
        let mut child = Command::new(&self.program)
            .args(["-I", "-S", "-c", COMPILE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        // It reads everything before it writes, so neither side waits for the other.
        let sent = child.stdin.take().map(|mut stdin| std::io::Write::write_all(&mut stdin, source.as_bytes()));
        let output = child.wait_with_output().ok()?;
        (matches!(sent, Some(Ok(()))) && output.status.success() && !output.stdout.is_empty()).then_some(output.stdout)
    }

    /// The same interpreter, where it also sees which authorities to trust.
    pub(super) fn with_certificates(&self) -> Self {
        let mut all = self.certificates.needs.clone();
        all.extend(self.needs.iter().map(PathBuf::from));
        let needs = without_nested(&all);
        let outside = |path: &str| !needs.iter().any(|parent| Path::new(path).starts_with(parent));
        let mut links: Vec<_> = self.links.iter().filter(|(path, _)| outside(path)).cloned().collect();
        links.extend(
            self.certificates.links.iter().filter(|(path, _)| outside(path) && !self.links.iter().any(|(known, _)| known == path)).cloned(),
        );
        let needs = needs.iter().filter_map(|path| path.to_str().map(str::to_owned)).collect();
        Self { needs, links, ..self.clone() }
    }

    fn plan(told: Told) -> Self {
        let mut wanted: BTreeSet<PathBuf> = BTreeSet::new();
        let mut want = |path: &str| {
            if let Ok(real) = std::fs::canonicalize(path)
                && real.components().count() > 2
            {
                wanted.insert(real);
            }
        };
        // A prefix of its own is shown whole; a prefix that is the system's (`/usr`) holds far more than Python.
        told.prefixes.iter().filter(|prefix| !SHARED.contains(&prefix.as_str())).for_each(|prefix| want(prefix));
        told.folders.iter().chain(&told.module_path).for_each(|folder| want(folder));
        want(&told.program);
        want(SHELL);
        for library in told.libraries.iter().chain(&shell_libraries()) {
            let Ok(real) = std::fs::canonicalize(library) else { continue };
            match real.parent().and_then(Path::to_str) {
                Some(folder) if !PLAIN_LIBRARIES.contains(&folder) => want(folder),
                _ => want(library),
            }
        }
        for extra in EXTRAS {
            want(extra);
        }
        let needs = without_nested(&wanted);
        let named = [told.executable.as_str(), SHELL].into_iter();
        let links = links(named.chain(told.module_path.iter().chain(&told.prefixes).map(String::as_str)), &needs);
        let certificates = certificates(&told.certificates);
        Self {
            program: told.program,
            argv0: told.executable,
            version: told.version,
            needs: needs.iter().filter_map(|path| path.to_str().map(str::to_owned)).collect(),
            links,
            certificates,
            module_path: told.module_path,
            code: base64::engine::general_purpose::STANDARD.decode(told.code).unwrap_or_default(),
        }
    }
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
        let mut path = PathBuf::from(place);
        for _ in 0..40 {
            let Ok(target) = std::fs::read_link(&path) else { break };
            found.links.extend(path.to_str().zip(target.to_str()).map(|(path, target)| (path.to_owned(), target.to_owned())));
            let Some(next) = path.parent().map(|parent| parent.join(&target)) else { break };
            path = next;
        }
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

/// The shell that `subprocess` and `os.system` start. Starting programs is no wall of the jail, and those two are ordinary use.
const SHELL: &str = "/bin/sh";

/// The libraries of the shell, as it sees them itself; it reads the list with what is built into it.
fn shell_libraries() -> Vec<String> {
    const ASK: &str = "while read -r line; do echo \"$line\"; done < /proc/self/maps";
    let asked = Command::new(SHELL).args(["-c", ASK]).env_clear().stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = asked.map(|output| output.stdout).unwrap_or_default();
    let mut found: Vec<String> = String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(5))
        .filter(|path| path.starts_with('/') && path.rsplit_once('/').is_some_and(|(_, name)| name.contains(".so")))
        .map(str::to_owned)
        .collect();
    found.dedup();
    found
}

/// Prefixes that Python shares with the rest of the system.
const SHARED: [&str; 3] = ["/", "/usr", "/usr/local"];
/// Library folders that hold other things as well: only the files that were loaded are shown.
const PLAIN_LIBRARIES: [&str; 4] = ["/lib", "/usr/lib", "/usr/local/lib", "/usr/bin"];
/// Shown where they exist: the loader's folder and index, and the time zones.
const EXTRAS: [&str; 4] = ["/lib64", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo"];

/// Compiles its input.
const COMPILE: &str = "import marshal, sys; \
    sys.stdout.buffer.write(marshal.dumps(compile(sys.stdin.buffer.read(), '<prelude>', 'exec', 0, True)))";

/// Asks where things are. Modules with foreign libraries are loaded so that their libraries show up in the memory map.
const PROBE: &str = r#"
import sys, os, json, sysconfig, marshal, base64
for name in ("ssl", "_sqlite3", "_ctypes", "_lzma", "_bz2", "zlib", "_hashlib", "readline", "_uuid", "_decimal", "_curses", "_dbm", "_gdbm", "_zstd"):
    try:
        __import__(name)
    except Exception:
        pass
libraries = set()
with open("/proc/self/maps") as maps:
    for line in maps:
        parts = line.split(None, 5)
        if len(parts) == 6 and ".so" in os.path.basename(parts[5]):
            libraries.add(parts[5].strip())
certificates = []
try:
    where = sys.modules["ssl"].get_default_verify_paths()
    certificates = [p for p in (where.openssl_cafile, where.openssl_capath, where.cafile, where.capath) if p]
except Exception:
    pass
paths = sysconfig.get_paths()
print(json.dumps({
    "executable": os.path.abspath(sys.executable),
    "program": os.path.realpath("/proc/self/exe"),
    "version": "%d.%d.%d" % sys.version_info[:3],
    "prefixes": sorted({sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}),
    "folders": [paths["stdlib"], paths["platstdlib"]],
    "module_path": [p for p in sys.path if p],
    "libraries": sorted(libraries),
    "certificates": certificates,
    "code": base64.b64encode(marshal.dumps(compile(sys.argv[1], "<string>", "exec"))).decode(),
}))
"#;

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

    #[test]
    fn an_interpreter_that_is_none_is_unavailable_with_the_key_to_set() {
        let error = Interpreter::detect(Path::new("/bin/false")).unwrap_err();
        assert!(matches!(&error, NoRun::Unavailable { reason, .. } if reason.contains("[python] interpreter")), "{error}");
    }

    #[test]
    fn the_machines_interpreter_shows_its_parts_and_not_the_whole_system() {
        let Ok(found) = Interpreter::detect(Path::new("python3")) else { return };
        assert!(found.program.starts_with('/') && found.version.starts_with("3."), "{found:?}");
        assert!(found.needs.iter().all(|need| !["/", "/usr", "/etc", "/home", "/root"].contains(&need.as_str())), "{found:?}");
    }
}
