//! `[python]`: the walls in which Python runs.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use smart_default::SmartDefault;

use super::fault::Ledger;
use super::form::entries;
use super::{AllowPattern, Files, Root, RootMode};
use crate::model::Bytes;

/// How much the static check of Python judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Imports and constructs.
    #[default]
    Strict,
    /// Imports alone.
    Imports,
    /// Nothing: the jail stands alone.
    Off,
}

/// What becomes of what a program writes in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Writes {
    /// It is there at once.
    #[default]
    Direct,
}

/// A root as a program sees it. The root's own mode and the flags of the profile hold besides.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "UseForm")]
pub struct RootUse {
    /// The root's name.
    pub name: String,
    /// What the program may do in it at most. Read only: a view, whatever the root's own mode.
    pub mode: RootMode,
}

impl RootUse {
    /// A root with its own mode.
    pub fn whole(name: impl Into<String>) -> Self {
        Self { name: name.into(), mode: RootMode::ReadWrite }
    }
}

/// A root as a program sees it, as it is written.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum UseForm {
    /// The root's name; its own mode holds.
    Name(String),
    /// The name with what the program may do in it.
    Table(UseTable),
}

/// A root as a program sees it, key by key.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
struct UseTable {
    /// The root's name.
    name: String,
    /// `ro`: a program can only read it. `rw`: a program can write where the root's own mode allows it.
    mode: RootMode,
    /// What happens to files that a program writes. `direct`: they are in the root at once.
    #[serde(rename = "writes")]
    _writes: Writes,
}

impl From<UseForm> for RootUse {
    fn from(written: UseForm) -> Self {
        match written {
            UseForm::Name(name) => Self::whole(name),
            UseForm::Table(UseTable { name, mode, .. }) => Self { name, mode },
        }
    }
}

/// What `[python] backend` may name.
pub const BACKENDS: &[&str] = &["auto", "native", "landlock", "bubblewrap", "container"];

/// The containers in which Python runs. The image brings the interpreter, its `python3`, and its packages; nothing is ever pulled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Container {
    /// `docker` or `podman`.
    #[schemars(extend("enum" = ["docker", "podman"]))]
    pub engine: String,
    /// The image. It must be on this machine; none is pulled.
    #[schemars(extend("format" = "text"))]
    pub image: String,
    /// `runc`, `crun` or `runsc` (gVisor). Without this key, the engine chooses.
    #[schemars(extend("enum" = ["runc", "crun", "runsc"]))]
    pub runtime: Option<String>,
}

/// Interpreters that keep their variables between calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct Sessions {
    /// Most of them at the same time.
    #[default(4)]
    pub max: u32,
    /// An unused one ends after this time, e.g. `10m`.
    #[default(Duration::from_mins(10))]
    pub idle: Duration,
}

/// The walls in which Python runs.
#[derive(Debug, Clone, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct Python {
    /// The interpreter: a name on the search path, or a path, which may be relative to this file and may lie in a virtual environment.
    #[schemars(extend("format" = "text"))]
    #[default("python3".to_owned())]
    pub interpreter: String,
    /// Packages of the environment that `toolgate packages sync` builds, e.g. `numpy==2.3.5`. Names and versions only: no address, path or
    /// option.
    #[schemars(extend("items" = entries("package")))]
    pub packages: Vec<String>,
    /// Modules that are imported once and then shared by all programs.
    #[schemars(extend("items" = entries("module")))]
    #[default(["json", "re", "math", "statistics"].map(str::to_owned).into())]
    pub preload: Vec<String>,
    /// What the static check looks at before a program runs. `strict`: imports and forbidden constructs. `imports`: imports only. `off`:
    /// nothing; only the sandbox holds.
    pub check: Check,
    /// Modules that a program may import; `*` is any. Without this key, none.
    #[schemars(extend("items" = entries("module")))]
    pub allowed_imports: Vec<String>,
    /// Modules that the packages named in `packages` brought into the environment on this machine; a program may import these as well.
    #[serde(skip)]
    pub installed: Vec<String>,
    /// Calls that `check = "strict"` would refuse and that are allowed, by name.
    pub allowed_calls: Vec<String>,
    /// Attributes that `check = "strict"` would refuse and that are allowed, by name.
    pub allowed_attributes: Vec<String>,
    /// The roots that a program sees. A name alone: with the mode of the root. `{ name = "project", mode = "ro" }`: read only. Without this
    /// key, none.
    pub roots: Vec<RootUse>,
    /// `true`: a program may contact what `[network]` allows.
    pub network: bool,
    /// Longest run time, e.g. `10s`.
    #[default(Duration::from_secs(10))]
    pub timeout: Duration,
    /// Most processor time, e.g. `10s`.
    #[default(Duration::from_secs(10))]
    pub cpu: Duration,
    /// Share of one core, e.g. `100%`. It holds where the machine has control groups.
    #[schemars(with = "String", extend("format" = "percent"))]
    #[default(100)]
    pub cpu_share: u32,
    /// Most memory of a program with all its processes, e.g. `256 MiB`.
    #[default(Bytes::mib(256))]
    pub memory: Bytes,
    /// Most processes and threads of a program.
    #[schemars(range(min = 1))]
    #[default(16)]
    pub processes: u32,
    /// Most open files of one process.
    #[schemars(range(min = 1))]
    #[default(256)]
    pub open_files: u32,
    /// Largest file that a program may write.
    #[default(Bytes::mib(64))]
    pub file_size: Bytes,
    /// Size of its private `/tmp`.
    #[default(Bytes::mib(64))]
    pub scratch: Bytes,
    /// Longest output of each stream. Of a longer one, begin and end are kept.
    #[default(Bytes::kib(64))]
    pub output: Bytes,
    /// Interpreters that keep their variables between calls.
    pub sessions: Sessions,
    /// Environment variables. A program has no others.
    pub env: BTreeMap<String, String>,
    /// The sandbox. `auto`: the strongest that works on this machine, except `container`. A name: this one, and no program runs where it
    /// does not work.
    #[schemars(extend("enum" = BACKENDS))]
    #[default("auto".to_owned())]
    pub backend: String,
    /// The container for `backend = "container"`.
    pub container: Option<Container>,
    /// Layers of the sandbox that must work; else `run_python` is refused.
    #[schemars(extend("items" = json!({"type": "string", "enum": ["filesystem", "network", "processes", "syscalls", "memory"]})))]
    // Without `memory`: that layer is partial where the machine gives no memory control group.
    #[default(["filesystem", "network", "processes", "syscalls"].map(str::to_owned).into())]
    pub require: Vec<String>,
}

impl Ledger<'_> {
    pub(super) fn python(&mut self, python: &mut Python, roots: &BTreeMap<String, Root>, files: &Files) {
        for (name, value) in &python.env {
            let at = format!("python.env.{name}");
            if name.is_empty() || name.contains(['=', '\0']) {
                self.fault(&at, "the name of a variable is not empty and holds no `=`");
            }
            if value.contains('\0') {
                self.fault(&at, "the value of a variable holds no NUL");
            }
        }
        // An engine would take an image that begins so for an option.
        if python.container.as_ref().is_some_and(|own| own.engine.is_empty() || own.image.is_empty() || own.image.starts_with('-')) {
            self.fault("python.container", "write the `engine`, `docker` or `podman`, and the `image`");
        }
        if python.backend == "container" {
            if python.container.is_none() {
                self.fault("python.backend", "the backend `container` needs `[python.container]` with `engine` and `image`");
            }
            if python.network {
                self.fault("python.network", "a container has no way to the network; write `network = false`, or another `backend`");
            }
            if !python.packages.is_empty() {
                self.fault("python.packages", "in a container the image brings the packages; install them there, and leave this out");
            }
        }
        self.python_roots(python, roots, files);
    }

    /// A program inside a writable root is not asked file by file, so nothing in such a root may be denied. A session's own folder holds
    /// nothing but what the session made. A view cannot be written, whatever the root's own mode.
    fn python_roots(&mut self, python: &mut Python, roots: &BTreeMap<String, Root>, files: &Files) {
        let mut given: Vec<RootUse> = Vec::new();
        for (index, one) in std::mem::take(&mut python.roots).into_iter().enumerate() {
            let at = format!("python.roots[{index}]");
            let name = &one.name;
            if name.is_empty() {
                self.fault(&format!("{at}.name"), "`name` is missing");
                continue;
            }
            let Some(root) = roots.get(name) else {
                self.unknown(&at, "root of this manifest", name, roots.keys().map(String::as_str));
                continue;
            };
            if let Some(twin) = given.iter().find(|twin| twin.name == *name) {
                if *twin != one {
                    self.fault(&at, format!("`{name}` stands here twice, with two modes; leave one of them out"));
                }
                continue;
            }
            let is_view = one.mode == RootMode::ReadOnly;
            if is_view && self.holds(&format!("{at}.writes")) {
                self.fault(&format!("{at}.writes"), "nothing is written in a read-only view; leave `writes` out, or write `mode = \"rw\"`");
            }
            if !is_view && self.holds(&format!("{at}.mode")) && root.mode == RootMode::ReadOnly {
                self.fault(&at, format!("`roots.{name}.mode` is `ro`, so no program writes there; write `mode = \"ro\"` here as well"));
            } else if is_view && python.network && !root.is_session() {
                self.fault(
                    &at,
                    format!(
                        "a program that sees `{name}` and reaches the network could send what it reads there; write `network = false`, or leave the view out"
                    ),
                );
            } else if !is_view && root.mode == RootMode::ReadWrite && !root.is_session() {
                self.enforceable(&at, name, root, files);
            }
            given.push(one);
        }
        python.roots = given;
    }

    /// A program that writes in a root is asked for no single file, so all of the root must be open to it.
    fn enforceable(&mut self, at: &str, name: &str, root: &Root, files: &Files) {
        let why = if !root.denied.is_empty() {
            format!("`roots.{name}.denied_paths` denies something in it")
        } else if !files.denied.is_empty() {
            "`files.denied_paths` denies something in it".to_owned()
        } else if !root.allowed.iter().any(AllowPattern::is_everything) {
            format!("`roots.{name}.allowed_paths` does not open all of it")
        } else {
            return;
        };
        self.fault(
            at,
            format!(
                "root_not_enforceable: a program would write in `{name}` without being asked for each file, but {why}; \
                 write `{{ name = \"{name}\", mode = \"ro\" }}` for a view that cannot be written, or leave it out here"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::manifest::{Manifest, parse};
    use crate::model::{Flag, ToolSpec};
    use crate::policy::python_roots;

    fn read(python: &str) -> Result<Manifest, String> {
        let text = format!(
            "version = 1\n[roots.work]\npath = \"session\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n\
             [roots.project]\npath = \"/p\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\ndenied_paths = [\".git/**\"]\n\
             [roots.data]\npath = \"/d\"\nmode = \"ro\"\nallowed_paths = [\"**\"]\n\
             [profiles.all]\npermissions = [\"STANDARD\", \"EXECUTE_CODE\"]\nallowed_tools = [\"*\"]\n\
             [profiles.blind]\npermissions = [\"EXECUTE_CODE\"]\nallowed_tools = [\"*\"]\n\
             [profiles.narrow]\npermissions = [\"STANDARD\", \"EXECUTE_CODE\"]\nallowed_tools = [\"*\"]\nroots = [\"work\"]\n\
             [python]\n{python}\n"
        );
        parse(&text, &[&ToolSpec::new("run_python", &[Flag::ExecuteCode], &[])])
            .map_err(|faults| faults.iter().map(|fault| format!("{}: {fault}", fault.at)).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_view_shows_any_root_and_is_never_written() {
        let manifest = read("roots = [\"work\", { name = \"project\", mode = \"ro\" }, { name = \"data\" }]").unwrap();
        assert_eq!(python_roots(&manifest, "all"), [("work", true), ("project", false), ("data", false)]);
        assert_eq!(python_roots(&manifest, "narrow"), [("work", true)]);
        assert_eq!(python_roots(&manifest, "blind"), [], "without READ_FILE a program sees no root");
        let manifest = read("roots = [{ name = \"work\", mode = \"rw\", writes = \"direct\" }]").unwrap();
        assert_eq!(python_roots(&manifest, "all"), [("work", true)]);
    }

    #[test]
    fn what_a_root_of_python_cannot_be_is_said_with_its_place() {
        for (python, said) in [
            ("roots = [\"project\"]", "python.roots[0]: root_not_enforceable: a program would write in `project`"),
            ("roots = [\"project\"]", "write `{ name = \"project\", mode = \"ro\" }` for a view that cannot be written"),
            ("roots = [{ name = \"project\", mode = \"rw\" }]", "root_not_enforceable"),
            ("roots = [{ name = \"work\", mode = \"rw\", writes = \"staged\" }]", "`staged` is not one of `direct`"),
            ("roots = [{ name = \"project\", writes = \"direct\" }]", "nothing is written in a read-only view"),
            ("roots = [{ name = \"data\", mode = \"rw\" }]", "`roots.data.mode` is `ro`"),
            ("roots = [{ name = \"projekt\", mode = \"ro\" }]", "project"),
            ("roots = [{ mode = \"ro\" }]", "`name` is missing"),
            ("roots = [{ name = \"work\", mod = \"ro\" }]", "unknown key `mod`"),
            ("roots = [{ name = \"work\", mode = \"wo\" }]", "`wo` is not one of `ro`, `rw`"),
            ("roots = [3]", "a text in quotes or a table"),
            ("roots = [\"work\", { name = \"work\", mode = \"ro\" }]", "`work` stands here twice"),
            ("network = true\nroots = [{ name = \"project\", mode = \"ro\" }]", "could send what it reads there"),
            ("network = true\nroots = [{ name = \"data\", mode = \"ro\" }]", "could send what it reads there"),
        ] {
            let faults = read(python).map(drop).unwrap_err();
            assert!(faults.contains(said), "{python}: {faults}");
        }
        // A scratch folder holds nothing but what the session made; the root's own mode is as it was.
        for python in ["network = true\nroots = [{ name = \"work\", mode = \"ro\" }]", "network = true\nroots = [\"data\", \"work\"]"] {
            assert!(read(python).is_ok(), "{python}");
        }
    }
}
