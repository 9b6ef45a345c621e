//! What an interpreter and the shell say of themselves: each is started once and asked.

#![expect(clippy::disallowed_methods, reason = "the interpreter is looked for before any program runs")]

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::outcome::NoRun;

/// What [`PROBE`] prints, and what the shell said beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
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

impl Told {
    /// Asks the interpreter at `name`, a path or a name on the search path, which is this `file`, and the shell. Neither outlives the wait for its answer.
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
        python.args(["-I", "-c", PROBE, super::inside::BOOTSTRAP]).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let output = python.output().await.map_err(|e| unavailable(format!("cannot be started ({e})")))?;
        if !output.status.success() {
            return Err(unavailable("is no working Python 3".to_owned()));
        }
        let told: Self = serde_json::from_slice(&output.stdout).map_err(|_| unavailable("does not answer like Python 3".to_owned()))?;
        Ok(Self { shell: shell_libraries().await, ..told })
    }
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
pub(super) const PROBE: &str = r#"
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
