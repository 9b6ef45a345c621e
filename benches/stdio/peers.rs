//! The servers that are measured and how each is called.
//!
//! - toolgate: this build, with gate, filters and audit on.
//! - server-filesystem: `@modelcontextprotocol/server-filesystem` from npm, found in `tests/clients/node_modules` or under `TOOLGATE_BENCH_NPM`.
//! - rust-mcp-filesystem: from the crate registry, found on the search path or under `TOOLGATE_BENCH_CARGO`.

use std::path::{Path, PathBuf};

/// Every peer, installed or not; ours first.
pub(crate) const NAMES: [&str; 3] = ["toolgate", "server-filesystem", "rust-mcp-filesystem"];

/// One server.
pub(crate) struct Peer {
    /// Its name.
    pub(crate) name: &'static str,
    /// Program and arguments.
    pub(crate) command: Vec<String>,
    /// Added to the environment.
    pub(crate) environment: Vec<(String, String)>,
    read_tool: &'static str,
    folder: PathBuf,
}

impl Peer {
    /// The params of a call that reads a file.
    pub(crate) fn read(&self, file: &str) -> String {
        format!(r#"{{"name":"{}","arguments":{{"path":"{}"}}}}"#, self.read_tool, self.folder.join(file).display())
    }

    /// The params of a call that writes 1 KB to one of fifty files.
    pub(crate) fn write(&self, number: usize) -> String {
        let path = self.folder.join(format!("out{number}.txt"));
        format!(r#"{{"name":"write_file","arguments":{{"path":"{}","content":"{}"}}}}"#, path.display(), "w".repeat(1024))
    }
}

/// Bytes of a test file.
pub(crate) fn size(file: &str) -> usize {
    match file {
        "1k.txt" => 1 << 10,
        "1m.txt" => 1 << 20,
        _ => 10 << 20,
    }
}

/// The peers of this machine, each with a folder of its own.
pub(crate) fn installed(scratch: &Path) -> Vec<Peer> {
    let folder = |name: &str| {
        let folder = scratch.join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        for file in ["1k.txt", "1m.txt", "10m.txt"] {
            let line = "The quick brown fox jumps over the lazy dog, 0123456789 times.\n";
            let text: String = line.chars().cycle().take(size(file)).collect();
            std::fs::write(folder.join(file), text).expect("a file");
        }
        folder
    };
    let mut peers = Vec::new();
    let root = folder("toolgate");
    let manifest = scratch.join("tools.toml");
    std::fs::write(&manifest, manifest_for(&root)).expect("a manifest");
    peers.push(Peer {
        name: "toolgate",
        command: [env!("CARGO_BIN_EXE_toolgate"), "serve", "--manifest", &manifest.display().to_string()].map(str::to_owned).to_vec(),
        environment: vec![("TOOLGATE_STATE_DIR".to_owned(), scratch.join("state").display().to_string())],
        read_tool: "read_file",
        folder: root,
    });
    let npm =
        std::env::var_os("TOOLGATE_BENCH_NPM").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients"), PathBuf::from);
    let script = npm.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    if script.exists() {
        let root = folder("server-filesystem");
        let command = ["node".to_owned(), script.display().to_string(), root.display().to_string()].to_vec();
        peers.push(Peer { name: "server-filesystem", command, environment: Vec::new(), read_tool: "read_text_file", folder: root });
    }
    let search = std::env::var_os("TOOLGATE_BENCH_CARGO").or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    if let Some(program) = std::env::split_paths(&search).map(|dir| dir.join("rust-mcp-filesystem")).find(|file| file.exists()) {
        let root = folder("rust-mcp-filesystem");
        let command = [program.display().to_string(), "--allow-write".to_owned(), root.display().to_string()].to_vec();
        peers.push(Peer { name: "rust-mcp-filesystem", command, environment: Vec::new(), read_tool: "read_text_file", folder: root });
    }
    peers
}

/// Everything on, nothing in the way of a measurement: the limits are high, the writes level 1 or remembered as allowed.
fn manifest_for(root: &Path) -> String {
    format!(
        r#"version = 1
[clients]
stdio = "bench"
[roots.data]
path = "{}"
mode = "rw"
allowed_paths = ["**"]
[files]
max_file_size = "16 MiB"
max_answer = "16 MiB"
[profiles.bench]
permissions = ["FULL"]
allowed_tools = ["*"]
rate_limit_per_minute = 100000000
[limits]
concurrent_calls = 64
write_per_hour = "100 GiB"
[approvals]
level_2 = "none"
"#,
        root.display()
    )
}
