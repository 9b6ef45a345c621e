//! Where, as it is written: roots, files, network, Python.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A named folder.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct Root {
    /// A folder, absolute or relative to this file, or `session`: a private scratch folder per session, wiped at its end.
    pub(in crate::manifest) path: Option<String>,
    /// `ro` (default): read only. `rw`: read and write.
    pub(in crate::manifest) mode: Option<RootMode>,
    /// Patterns of what may be touched, relative to the root: `*` stays inside one folder, `**` crosses folders. Missing: nothing.
    pub(in crate::manifest) allowed_paths: Option<Vec<String>>,
    /// Patterns of what may not, whatever allows it; upper and lower case are one, and a denied folder denies what is below.
    pub(in crate::manifest) denied_paths: Option<Vec<String>>,
    /// Files whose content others wrote (downloads, mail): what is read of them is told to be data from outside, and marks the session.
    pub(in crate::manifest) untrusted_paths: Option<Vec<String>>,
    /// Bounds of a session folder.
    pub(in crate::manifest) quota: Option<Quota>,
}

/// Whether a root may be changed.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(in crate::manifest) enum RootMode {
    #[serde(rename = "ro")]
    ReadOnly,
    #[serde(rename = "rw")]
    ReadWrite,
}

/// Bounds of a session folder.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct Quota {
    /// All files together, e.g. `200 MiB`.
    pub(in crate::manifest) bytes: Option<String>,
    /// Files and folders.
    pub(in crate::manifest) files: Option<u64>,
}

/// Rules that hold inside every root.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct Files {
    /// Patterns of what may be touched in no root.
    pub(in crate::manifest) denied_paths: Option<Vec<String>>,
    /// Files whose content others wrote (downloads, mail): what is read of them is told to be data from outside, and marks the session.
    pub(in crate::manifest) untrusted_paths: Option<Vec<String>>,
    /// Files that other programs run later: a change of one is level 3. `defaults` (when missing: hooks, CI, editor and agent settings, shell
    /// profiles, …), `builds`, or patterns. Empty: none.
    pub(in crate::manifest) runs_later: Option<Vec<String>>,
    /// Largest file that is read whole or written, e.g. `1 MiB`.
    pub(in crate::manifest) max_file_size: Option<String>,
    /// Longest answer, e.g. `64 KiB`; longer reads are cut, with the offset to go on from.
    pub(in crate::manifest) max_answer: Option<String>,
    /// `deny` (default), or `inside`: followed while they stay in the root, judged by where they lead.
    pub(in crate::manifest) symlinks: Option<Symlinks>,
}

/// What happens on a symbolic link.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::manifest) enum Symlinks {
    Deny,
    Inside,
}

/// Which web addresses are open.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct Network {
    /// Hosts: a name, or `*.` before at least two labels for any subdomain (not the bare name).
    pub(in crate::manifest) allowed_domains: Option<Vec<String>>,
    /// True: any host on the public internet, addresses written as numbers too, less `denied_domains`.
    pub(in crate::manifest) any_public: Option<bool>,
    /// Hosts that are never contacted, nor their subdomains.
    pub(in crate::manifest) denied_domains: Option<Vec<String>>,
    /// Ports, 443 when missing.
    pub(in crate::manifest) allowed_ports: Option<Vec<u16>>,
    /// Ports that are never contacted.
    pub(in crate::manifest) denied_ports: Option<Vec<u16>>,
    /// `https` (default), `http`.
    pub(in crate::manifest) allowed_schemes: Option<Vec<String>>,
    /// Single private addresses with their port, e.g. `10.1.2.3:8080`.
    pub(in crate::manifest) internal: Option<Vec<String>>,
    /// Largest response, e.g. `2 MiB`.
    pub(in crate::manifest) max_response: Option<String>,
    /// Redirects that are followed, each judged again.
    pub(in crate::manifest) max_redirects: Option<u32>,
    /// Connections at one time: of all fetches together, and of each program.
    pub(in crate::manifest) max_connections: Option<u32>,
    /// Requests of one caller to one host in any 60 seconds.
    pub(in crate::manifest) rate_limit_per_minute: Option<u64>,
    /// Requests of one caller to one host in any hour.
    pub(in crate::manifest) rate_limit_per_hour: Option<u64>,
    /// A proxy through which everything goes, e.g. `http://proxy.example:3128`. Missing: none; the environment is never asked.
    pub(in crate::manifest) proxy: Option<String>,
    /// `respect` (default) or `ignore` robots.txt.
    pub(in crate::manifest) robots: Option<Robots>,
    /// Values that a header of `fetch` may name as `${secret:NAME}` and no answer shows.
    pub(in crate::manifest) secrets: Option<BTreeMap<String, Secret>>,
}

/// A value that only the connector reads.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct Secret {
    /// The environment variable that holds it.
    pub(in crate::manifest) env: Option<String>,
    /// Or the file; no root shows it. Relative to this manifest.
    pub(in crate::manifest) file: Option<String>,
    /// Where it may be sent to, over https: hosts as in `allowed_domains`, or single addresses (then over http too).
    pub(in crate::manifest) hosts: Option<Vec<String>>,
}

/// What to do about robots.txt.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::manifest) enum Robots {
    Respect,
    Ignore,
}

/// The walls in which Python runs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct Python {
    /// `python3`, another interpreter, or a virtual environment's; a path is relative to this file.
    pub(in crate::manifest) interpreter: Option<String>,
    /// Packages of the environment that `toolgate packages sync` builds, e.g. `numpy==2.3.5`; names and versions, no address, path or option.
    pub(in crate::manifest) packages: Option<Vec<String>>,
    /// Modules imported once and shared by copy-on-write.
    pub(in crate::manifest) preload: Option<Vec<String>>,
    /// The static check: `strict` (default), `imports` (the allowlist alone) or `off` (the jail alone).
    pub(in crate::manifest) check: Option<Check>,
    /// Modules a program may import; `*`: any. Missing: none.
    pub(in crate::manifest) allowed_imports: Option<Vec<String>>,
    /// Calls that the strict check lets through by name.
    pub(in crate::manifest) allowed_calls: Option<Vec<String>>,
    /// Attributes that the strict check lets through by name.
    pub(in crate::manifest) allowed_attributes: Option<Vec<String>>,
    /// The only roots a program sees: a name, with the root's own mode, or `{ name = "project", mode = "ro" }`, a view that cannot be written.
    pub(in crate::manifest) roots: Option<Vec<RootUse>>,
    /// True: a program reaches what `[network]` allows, through the gate.
    pub(in crate::manifest) network: Option<bool>,
    /// Wall-clock time, e.g. `10s`.
    pub(in crate::manifest) timeout: Option<String>,
    /// Processor time, e.g. `10s`.
    pub(in crate::manifest) cpu: Option<String>,
    /// Share of one core, e.g. `100%`, where a cgroup can be had.
    pub(in crate::manifest) cpu_share: Option<String>,
    /// Memory, e.g. `256 MiB`.
    pub(in crate::manifest) memory: Option<String>,
    /// Processes and threads.
    pub(in crate::manifest) processes: Option<u32>,
    /// Open descriptors of one process.
    pub(in crate::manifest) open_files: Option<u32>,
    /// Largest file a program writes.
    pub(in crate::manifest) file_size: Option<String>,
    /// Its private /tmp.
    pub(in crate::manifest) scratch: Option<String>,
    /// Longest output per stream; head and tail are kept.
    pub(in crate::manifest) output: Option<String>,
    /// Living interpreters.
    pub(in crate::manifest) sessions: Option<Sessions>,
    /// The environment, otherwise empty.
    pub(in crate::manifest) env: Option<BTreeMap<String, String>>,
    /// `auto` (default): the strongest this machine can prove, `container` excepted; or a name, then nothing weaker is used.
    pub(in crate::manifest) backend: Option<String>,
    /// What `backend = "container"` runs programs in.
    pub(in crate::manifest) container: Option<Container>,
    /// Layers without which `run_python` is refused.
    pub(in crate::manifest) require: Option<Vec<Layer>>,
}

/// The containers in which Python runs. The image brings the interpreter, its `python3`, and its packages; nothing is ever pulled.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct Container {
    /// `docker` or `podman`.
    pub(in crate::manifest) engine: Option<Engine>,
    /// The image, which must be there.
    pub(in crate::manifest) image: Option<String>,
    /// `runc`, `crun` or `runsc` (gVisor); missing: the engine's own choice.
    pub(in crate::manifest) runtime: Option<Runtime>,
}

/// A container engine.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::manifest) enum Engine {
    Docker,
    Podman,
}

/// What an engine starts containers with.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::manifest) enum Runtime {
    Runc,
    Crun,
    Runsc,
}

/// A root as a program sees it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(in crate::manifest) enum RootUse {
    /// The root's name; its own mode holds.
    Named(String),
    /// The name with what the program may do in it.
    Said(RootUseSaid),
}

/// A root as a program sees it, key by key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct RootUseSaid {
    /// The root's name.
    pub(in crate::manifest) name: Option<String>,
    /// `ro` (default): a view of it that cannot be written, whatever the root's own mode. `rw`: as the root's own mode says.
    pub(in crate::manifest) mode: Option<RootMode>,
    /// What becomes of what is written: `direct` (default).
    pub(in crate::manifest) writes: Option<Writes>,
}

/// What becomes of what a program writes in a root.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::manifest) enum Writes {
    Staged,
    Direct,
}

/// A wall of the sandbox.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::manifest) enum Layer {
    Filesystem,
    Network,
    Processes,
    Syscalls,
    Memory,
}

impl Layer {
    /// The name as the manifest writes it.
    pub(in crate::manifest) const fn as_str(self) -> &'static str {
        match self {
            Layer::Filesystem => "filesystem",
            Layer::Network => "network",
            Layer::Processes => "processes",
            Layer::Syscalls => "syscalls",
            Layer::Memory => "memory",
        }
    }
}

/// How much the static check judges.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::manifest) enum Check {
    Strict,
    Imports,
    Off,
}

/// Living interpreters.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct Sessions {
    /// How many at one time.
    pub(in crate::manifest) max: Option<u32>,
    /// When an unused one ends, e.g. `10m`.
    pub(in crate::manifest) idle: Option<String>,
}
