//! A manifest that opens the servers of the test to programs, and nothing else.
#![expect(
    clippy::panic,
    clippy::unnecessary_debug_formatting,
    reason = "a test that cannot be set up fails loudly; a path is quoted for TOML"
)]

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::gateway::servers::Servers;

pub(crate) struct Setup {
    folder: tempfile::TempDir,
    pub(crate) servers: Servers,
}

impl Setup {
    /// `python`: further lines of `[python]`; a key of its own wins over the usual one.
    pub(crate) fn new(python: &str) -> Self {
        Self::made(python, false)
    }

    /// Where everything goes through a proxy.
    pub(crate) fn with_proxy() -> Self {
        Self::made("", true)
    }

    fn made(python: &str, proxied: bool) -> Self {
        let folder = tempfile::Builder::new().prefix("toolgate-test-").tempdir().unwrap();
        let shelf = folder.path().join("shelf");
        std::fs::create_dir(&shelf).unwrap();
        let servers = Servers::start();
        std::fs::write(shelf.join("ca.pem"), &servers.authority).unwrap();
        std::fs::write(shelf.join("other.pem"), crate::gateway::servers::authority().1).unwrap();
        let (plain, tls) = (servers.plain, servers.tls);
        let usual = [
            "network = true",
            "check = \"off\"",
            "roots = [\"shelf\"]",
            "env = { SSL_CERT_FILE = \"/roots/shelf/ca.pem\" }",
            "timeout = \"60s\"",
        ];
        let key = |line: &str| line.split('=').next().unwrap_or_default().trim().to_owned();
        let kept: Vec<&str> = usual.into_iter().filter(|line| python.lines().all(|other| key(other) != key(line))).collect();
        let proxy = if proxied { format!("proxy = \"http://me:secret@127.0.0.1:{}\"", servers.proxy) } else { String::new() };
        let text = format!(
            r#"version = 1
[clients]
stdio = "all"
[roots.shelf]
path = {shelf:?}
allowed_paths = ["**"]
[network]
allowed_domains = ["localhost"]
allowed_schemes = ["http", "https"]
internal = ["127.0.0.1:{plain}", "[::1]:{plain}", "127.0.0.1:{tls}", "[::1]:{tls}"]
robots = "ignore"
{proxy}
[python]
{python}
{kept}
[profiles.all]
permissions = ["STANDARD", "EXECUTE_CODE"]
allowed_tools = ["*"]
[approvals]
level_2 = "none"
level_3 = "none"
[limits]
timeout = "60s"
"#,
            kept = kept.join("\n")
        );
        std::fs::write(folder.path().join("tools.toml"), text).unwrap();
        Self { folder, servers }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
        let inherited = ["PATH", "LLVM_PROFILE_FILE"].into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
        command.env_clear().envs(inherited).env("HOME", self.folder.path()).env("TOOLGATE_STATE_DIR", self.folder.path().join("state"));
        // A proxy of the environment leads nowhere, and is never asked.
        command.env("http_proxy", "http://127.0.0.1:1").env("HTTPS_PROXY", "http://127.0.0.1:1");
        command.current_dir(self.folder.path()).args(arguments);
        command
    }

    /// What the command prints on either stream.
    pub(crate) fn toolgate(&self, arguments: &[&str]) -> String {
        let out = self.command(arguments).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
    }

    /// The structured answer of a program.
    pub(crate) fn run(&self, program: &str) -> Value {
        std::fs::write(self.folder.path().join("program.py"), program).unwrap();
        let out = self.command(&["python", "--manifest", "tools.toml", "--json", "program.py"]).output().unwrap();
        serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|_| panic!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr)))
    }

    /// Whether the interpreter has a module.
    pub(crate) fn has_module(&self, name: &str) -> bool {
        self.run(&format!("import {name}"))["status"] == "ok"
    }

    /// Every record of the log.
    pub(crate) fn records(&self) -> Vec<Value> {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(self.folder.path().join("state/audit")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl"));
        let texts: Vec<String> = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
        texts.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn verify(&self) {
        assert!(self.command(&["audit", "verify"]).status().unwrap().success());
    }
}
