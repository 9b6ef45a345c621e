//! A folder of its own for each test: a project, a folder that programs may write, a manifest and a state folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The built binary.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_toolgate");

pub(crate) struct Home {
    folder: tempfile::TempDir,
}

/// What differs from one test's manifest to another's; each is TOML of the table it is named for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Policy {
    pub(crate) approvals: &'static str,
    pub(crate) limits: &'static str,
    pub(crate) python: &'static str,
}

impl Home {
    pub(crate) fn new(policy: Policy) -> Self {
        let folder = tempfile::Builder::new().prefix("toolgate-test-").tempdir().unwrap();
        let home = Self { folder };
        for (path, text) in [
            ("project/notes.txt", "first line\nsecond line\nthird line\n"),
            ("project/src/apples.csv", "basket,apples\n1,12\n2,17\n"),
            ("project/secrets/key.txt", "hidden\n"),
            ("scratch/seen.txt", "seen\n"),
        ] {
            let path = home.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::write(home.manifest(), home.toml(policy)).unwrap();
        home
    }

    fn toml(&self, Policy { approvals, limits, python }: Policy) -> String {
        let root = |name: &str| Value::from(self.path(name).to_str().unwrap()).to_string();
        format!(
            r#"version = 1
[clients]
stdio = "all"
http = "all"
[roots.work]
path = "session"
mode = "rw"
quota = {{ bytes = "8MiB", files = 500 }}
allowed_paths = ["**"]
[roots.project]
path = {project}
mode = "rw"
allowed_paths = ["**"]
denied_paths = ["secrets/**"]
[roots.scratch]
path = {scratch}
mode = "rw"
allowed_paths = ["**"]
[files]
runs_later = []
[network]
allowed_domains = ["nowhere.invalid"]
[python]
check = "imports"
allowed_imports = ["time", "sys", "os", "subprocess", "math"]
roots = ["work", "scratch"]
require = []
timeout = "60s"
{python}
[profiles.all]
permissions = ["STANDARD", "EXECUTE_CODE"]
allowed_tools = ["*"]
[approvals]
{approvals}
[limits]
rate_limit_per_minute = 5000
timeout = "60s"
{limits}
"#,
            project = root("project"),
            scratch = root("scratch"),
        )
    }

    /// A path below this folder.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.path("tools.toml")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    pub(crate) fn read(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).unwrap_or_else(|fault| format!("<{fault}>"))
    }

    /// The variables that its server is started with.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let inherited = ["PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"].into_iter();
        let mut all: Vec<(String, String)> = inherited.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect();
        all.push(("HOME".into(), self.folder.path().to_str().unwrap().into()));
        all.push(("TOOLGATE_STATE_DIR".into(), self.state().to_str().unwrap().into()));
        all
    }

    /// The binary with these arguments, in this folder.
    pub(crate) fn toolgate(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.env_clear().envs(self.environment()).args(arguments).current_dir(self.folder.path());
        command
    }

    /// The log is whole: `toolgate audit verify` says so.
    pub(crate) fn verify(&self) {
        let out = self.toolgate(&["audit", "verify"]).output().unwrap();
        assert!(out.status.success(), "audit verify: {}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    }

    /// Every record of the log, the files one after another.
    pub(crate) fn records(&self) -> Vec<Value> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.state().join("audit"))
            .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
            .unwrap_or_default();
        files.retain(|path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl"));
        files.sort();
        let texts = files.iter().map(|path: &PathBuf| std::fs::read_to_string(path).unwrap()).collect::<Vec<_>>();
        texts.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The records of one kind for one tool.
    pub(crate) fn told(&self, event: &str, tool: &str) -> Vec<Value> {
        self.records().into_iter().filter(|record| record["ev"] == event && record["tool"] == tool).collect()
    }
}

/// The repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
