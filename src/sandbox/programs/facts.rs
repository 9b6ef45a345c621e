//! The facts of an interpreter and of the shell: each is started once and prints them.

#![expect(clippy::disallowed_methods, reason = "the interpreter is looked for before any program runs")]

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::outcome::NoRun;

/// What [`PROBE`] prints, and the libraries of the shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InterpreterFacts {
    pub(super) executable: String,
    pub(super) program: String,
    pub(super) version: String,
    pub(super) prefixes: Vec<String>,
    pub(super) folders: Vec<String>,
    pub(super) module_path: Vec<String>,
    pub(super) libraries: Vec<String>,
    pub(super) certificates: Vec<String>,
    pub(super) code: String,
    /// The libraries of the shell.
    #[serde(default)]
    pub(super) shell: Vec<String>,
}

impl InterpreterFacts {
    /// Asks the interpreter at `name`, a path or a name on the search path, which is this `file`, and the shell. Neither outlives the wait for its answer.
    /// The question stands outside the jail, so it runs nothing of the folders of packages (`-S`): [`PROBE`] reads what `site` would add.
    ///
    /// # Errors
    /// [`NoRun::Unavailable`] when it cannot be started or does not answer.
    pub(super) async fn ask(name: &Path, file: Option<PathBuf>) -> Result<Self, NoRun> {
        let unavailable = |reason: String| NoRun::Unavailable {
            layer: "interpreter".to_owned(),
            reason: format!("`{}` {reason}; set `[python] interpreter`", name.display()),
        };
        // A shim (a shell script that picks a version) needs the caller's environment; the jail never gets it.
        let file = file.ok_or_else(|| unavailable("is in no absolute folder of the search path".to_owned()))?;
        let mut python = Command::new(file);
        python.args(["-I", "-S", "-c", PROBE, super::BOOTSTRAP]).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let output = python.output().await.map_err(|e| unavailable(format!("cannot be started ({e})")))?;
        if !output.status.success() {
            return Err(unavailable("is no working Python 3".to_owned()));
        }
        let facts: Self = serde_json::from_slice(&output.stdout).map_err(|_| unavailable("does not answer like Python 3".to_owned()))?;
        Ok(Self { shell: shell_libraries().await, ..facts })
    }
}

/// Those of these modules that the interpreter does not have; none where it does not answer. The question stands outside the jail, so nothing of
/// the folders of packages runs.
pub fn lacking(interpreter: &Path, modules: &[String]) -> Vec<String> {
    const FIND: &str = "
from importlib.machinery import PathFinder
def there(name): return name in sys.builtin_module_names or PathFinder.find_spec(name, module_path)
print(*[module for module in sys.argv[2:] if not there(module.split('.')[0])])";
    let mut python = std::process::Command::new(interpreter);
    python.args(["-I", "-S", "-c", &format!("{PROBE}{FIND}"), ""]).args(modules).stdin(Stdio::null()).stderr(Stdio::null());
    let answer = python.output().ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    let names = String::from_utf8_lossy(&answer).lines().last().unwrap_or_default().to_owned();
    names.split_whitespace().map(str::to_owned).collect()
}

/// The shell that `subprocess` and `os.system` start. Starting programs is no wall of the jail, and those two are ordinary use.
pub(super) const SHELL: &str = "/bin/sh";

/// The libraries of the shell, as it sees them itself; it reads the list with what is built into it.
async fn shell_libraries() -> Vec<String> {
    const ASK: &str = "while read -r line; do echo \"$line\"; done < /proc/self/maps";
    let mut shell = Command::new(SHELL);
    shell.args(["-c", ASK]).env_clear().stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let text = shell.output().await.map(|output| output.stdout).unwrap_or_default();
    let mut found: Vec<String> = String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(5))
        .filter(|path| path.starts_with('/') && path.rsplit_once('/').is_some_and(|(_, name)| name.contains(".so")))
        .map(str::to_owned)
        .collect();
    found.dedup();
    found
}

/// Asks where things are. Modules with foreign libraries are loaded so that their libraries show up in the memory map.
///
/// `site` would run the lines of `.pth` files that begin with `import`, and `sitecustomize`. Here `pyvenv.cfg` and the `.pth` files are read
/// for the folders that they name, and nothing they hold is run. `site.getsitepackages` is a function of the standard library that only
/// joins names; distributions change it to name the folders of their own (`dist-packages`).
/// # Source  The documentation of Python's `site` module.
pub(super) const PROBE: &str = include_str!("probe.py");

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// What the interpreter itself would look in, with `site`.
    fn with_site(python: &Path) -> Vec<String> {
        let ask = "import sys, json; print(json.dumps([p for p in sys.path if p]))";
        let output = std::process::Command::new(python).args(["-I", "-c", ask]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn environment(base: &Path, folder: &Path, more: &[&str]) -> (PathBuf, PathBuf) {
        let mut venv = std::process::Command::new(base);
        assert!(venv.args(["-I", "-m", "venv", "--without-pip"]).args(more).arg(folder).status().unwrap().success());
        let library = std::fs::read_dir(folder.join("lib")).unwrap().next().unwrap().unwrap();
        (folder.join("bin/python"), library.path().join("site-packages"))
    }

    #[tokio::test]
    async fn the_folders_of_packages_are_those_that_the_interpreter_itself_would_look_in() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let machine = PathBuf::from("python3");
        let mut all = vec![machine.clone()];
        all.extend(Some(PathBuf::from("/usr/bin/python3")).filter(|python| python.is_file()));
        for (name, more) in [("own", &[][..]), ("shared", &["--system-site-packages"])] {
            let (python, packages) = environment(&machine, &base.join(name), more);
            std::fs::create_dir_all(base.join("editable/src")).unwrap();
            std::fs::create_dir(packages.join("beside")).unwrap();
            let lines = format!("# a comment\n\n{}\nbeside\nno/such/folder\nimport sys\n", base.join("editable/src").display());
            std::fs::write(packages.join("editable.pth"), lines).unwrap();
            // Whether a byte order mark belongs to the first line differs between versions; here it is named already.
            std::fs::write(packages.join("marked.pth"), "\u{feff}beside\n").unwrap();
            all.push(python);
        }
        for python in all {
            let facts = InterpreterFacts::ask(&python, Some(python.clone())).await.unwrap();
            assert_eq!(facts.module_path, with_site(&python), "{}", python.display());
        }
    }

    #[tokio::test]
    async fn asking_an_interpreter_runs_no_code_of_its_packages() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (python, packages) = environment(Path::new("python3"), &base.join("env"), &[]);
        let mark = base.join("ran");
        let code = format!("import os; open({:?}, 'a').write('x')\n", mark.to_str().unwrap());
        for name in ["evil.pth", "sitecustomize.py", "usercustomize.py", "json.py", "site.py", "_zstd.py", "readline.py"] {
            std::fs::write(packages.join(name), &code).unwrap();
        }
        std::fs::write(packages.join("tab.pth"), code.replace("import ", "import\t")).unwrap();
        let facts = InterpreterFacts::ask(&python, Some(python.clone())).await.unwrap();
        assert!(facts.module_path.iter().any(|folder| Path::new(folder) == packages), "{facts:?}");
        assert!(!mark.exists(), "code of the packages ran outside the jail");
        // The ordinary start of that interpreter runs it: the environment is one.
        assert!(!with_site(&python).is_empty() && mark.exists());
    }
}
