//! How each client is started, and what it can do.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::home::{BINARY, Home, repository};
use crate::scenarios::Scenario;
use crate::server::HttpServer;

/// A client of one package in one mode of negotiation.
pub(crate) struct Client {
    pub(crate) name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    mode: &'static str,
    /// The protocol version it must end up with.
    pub(crate) protocol: &'static str,
    way: Way,
}

pub(crate) const PYTHON_2: &str = ".venv-mcp2/bin/python";
const PYTHON_1: &str = ".venv-mcp1/bin/python";
const FASTMCP: &str = ".venv-fastmcp/bin/python";
const LANGCHAIN: &str = ".venv-langchain/bin/python";
const NODE: &str = "node";
const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// How a client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Stdio,
    Http,
    Sse,
}

use Way::{Http, Sse, Stdio as Pipe};

pub(crate) const CLIENTS: &[Client] = &[
    client("python_2_legacy", PYTHON_2, &["driver.py"], "legacy", HANDSHAKE, Pipe),
    client("python_2_auto", PYTHON_2, &["driver.py"], "auto", STATELESS, Pipe),
    client("python_2_pinned", PYTHON_2, &["driver.py"], STATELESS, STATELESS, Pipe),
    client("python_1", PYTHON_1, &["driver.py"], "legacy", HANDSHAKE, Pipe),
    client("typescript_2_legacy", NODE, &["driver.mjs", "client"], "legacy", HANDSHAKE, Pipe),
    client("typescript_2_auto", NODE, &["driver.mjs", "client"], "auto", STATELESS, Pipe),
    client("typescript_2_pinned", NODE, &["driver.mjs", "client"], STATELESS, STATELESS, Pipe),
    client("typescript_1", NODE, &["driver.mjs", "sdk"], "legacy", HANDSHAKE, Pipe),
    client("inspector_legacy", NODE, &["inspector.mjs"], "legacy", HANDSHAKE, Pipe),
    client("inspector_modern", NODE, &["inspector.mjs"], "modern", STATELESS, Pipe),
    client("python_2_legacy_http", PYTHON_2, &["driver.py"], "legacy", HANDSHAKE, Http),
    client("python_2_auto_http", PYTHON_2, &["driver.py"], "auto", STATELESS, Http),
    client("python_2_pinned_http", PYTHON_2, &["driver.py"], STATELESS, STATELESS, Http),
    client("python_1_http", PYTHON_1, &["driver.py"], "legacy", HANDSHAKE, Http),
    client("typescript_2_legacy_http", NODE, &["driver.mjs", "client"], "legacy", HANDSHAKE, Http),
    client("typescript_2_auto_http", NODE, &["driver.mjs", "client"], "auto", STATELESS, Http),
    client("typescript_2_pinned_http", NODE, &["driver.mjs", "client"], STATELESS, STATELESS, Http),
    client("typescript_1_http", NODE, &["driver.mjs", "sdk"], "legacy", HANDSHAKE, Http),
    client("inspector_legacy_http", NODE, &["inspector.mjs"], "legacy", HANDSHAKE, Http),
    client("inspector_modern_http", NODE, &["inspector.mjs"], "modern", STATELESS, Http),
    client("python_2_sse", PYTHON_2, &["driver.py"], "legacy", HANDSHAKE, Sse),
    client("python_1_sse", PYTHON_1, &["driver.py"], "legacy", HANDSHAKE, Sse),
    client("typescript_2_sse", NODE, &["driver.mjs", "client"], "legacy", HANDSHAKE, Sse),
    client("typescript_1_sse", NODE, &["driver.mjs", "sdk"], "legacy", HANDSHAKE, Sse),
    client("fastmcp_auto", FASTMCP, &["driver_more.py", "fastmcp"], "auto", STATELESS, Pipe),
    client("fastmcp_auto_http", FASTMCP, &["driver_more.py", "fastmcp"], "auto", STATELESS, Http),
    client("fastmcp_legacy_http", FASTMCP, &["driver_more.py", "fastmcp"], "legacy", HANDSHAKE, Http),
    client("fastmcp_sse", FASTMCP, &["driver_more.py", "fastmcp"], "legacy", HANDSHAKE, Sse),
    client("langchain", LANGCHAIN, &["driver_more.py", "langchain"], "legacy", HANDSHAKE, Pipe),
    client("langchain_http", LANGCHAIN, &["driver_more.py", "langchain"], "legacy", HANDSHAKE, Http),
    client("langchain_sse", LANGCHAIN, &["driver_more.py", "langchain"], "legacy", HANDSHAKE, Sse),
    client("inspector_sse", NODE, &["inspector.mjs"], "legacy", HANDSHAKE, Sse),
];

const fn client(
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    mode: &'static str,
    protocol: &'static str,
    way: Way,
) -> Client {
    Client { name, program, arguments, mode, protocol, way }
}

impl Client {
    fn folder() -> PathBuf {
        repository().join("tests/clients")
    }

    /// Node 22 comes as a package for this machine's processor.
    fn program(&self) -> PathBuf {
        if self.program != NODE {
            return Self::folder().join(self.program);
        }
        let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        Self::folder().join(format!("node_modules/node-linux-{processor}/bin/node"))
    }

    /// Why it cannot be run.
    pub(crate) fn missing(&self) -> Option<String> {
        let program = self.program();
        let stamp = if self.program == NODE { "node_modules/.stamp" } else { &self.program.replace("bin/python", ".stamp") };
        let whole = program.exists() && Self::folder().join(stamp).exists();
        (!whole).then(|| "it is not installed; `./check --setup` installs it".to_owned())
    }

    pub(crate) fn is_told_the_version(&self) -> bool {
        self.mode == STATELESS
    }

    pub(crate) fn is_inspector(&self) -> bool {
        self.name.starts_with("inspector")
    }

    /// The inspector's command line makes one request a run and can ask nobody.
    pub(crate) fn can_play(&self, scenario: &Scenario) -> bool {
        !self.is_inspector() || scenario.for_inspector
    }

    /// Starts the client's process, which plays one script after another.
    pub(crate) fn start(&'static self) -> Driver {
        let mut command = Command::new(self.program());
        command.args(self.arguments).current_dir(Self::folder());
        Driver { client: self, process: Process::start(command) }
    }
}

/// A client that runs.
pub(crate) struct Driver {
    pub(crate) client: &'static Client,
    process: Process,
}

impl Driver {
    /// Plays the steps, and gives what the driver told.
    pub(crate) fn play(&mut self, home: &Home, answers: Option<&[&str]>, steps: &Value) -> Told {
        let Client { way, mode, .. } = *self.client;
        let server = (way != Pipe).then(|| HttpServer::start(home));
        let route = if way == Sse { "sse" } else { "mcp" };
        let script = json!({
            "transport": match way { Pipe => "stdio", Http => "http", Sse => "sse" },
            "url": server.as_ref().map(|server| format!("{}/{route}", server.address)),
            "command": BINARY,
            "args": ["serve", "--manifest", home.manifest()],
            "env": home.environment().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
            "mode": mode,
            "answers": answers,
            "slow_s": 4,
            "steps": steps,
        });
        let told = self.process.play(&script, Duration::from_mins(2));
        let errors = server.map(HttpServer::stop).unwrap_or_default();
        assert!(told["fault"].is_null(), "{}\n{errors}", told["fault"].as_str().unwrap_or_default());
        Told { value: told, errors }
    }
}

/// A process that reads scripts and prints results, one JSON object a line each. What it and its servers write to stderr goes to this test's.
pub(crate) struct Process {
    child: Child,
    scripts: ChildStdin,
    /// The reader, which waits in a thread of its own while a script is played.
    results: Option<BufReader<ChildStdout>>,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.expect("the client starts");
        let scripts = child.stdin.take().unwrap();
        let results = child.stdout.take().map(BufReader::new);
        Self { child, scripts, results }
    }

    /// Plays one script. One that takes longer than `most` ends the process, and with it the test.
    pub(crate) fn play(&mut self, script: &Value, most: Duration) -> Value {
        writeln!(self.scripts, "{script}").unwrap();
        let mut results = self.results.take().unwrap();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = results.read_line(&mut line);
            let _ = sender.send((read.map(|_| line), results));
        });
        let (line, results) = receiver.recv_timeout(most).unwrap_or_else(|_| panic!("no result in {most:?} of {script}"));
        self.results = Some(results);
        let line = line.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|fault| panic!("{fault} in {line:?} of {script}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a driver told of its script.
pub(crate) struct Told {
    pub(crate) value: Value,
    /// What the client and the server wrote to stderr.
    pub(crate) errors: String,
}

impl Told {
    /// The result of a step that went well.
    pub(crate) fn ok(&self, step: usize) -> &Value {
        let ok = &self.value["steps"][step]["ok"];
        assert!(!ok.is_null(), "step {step} gave {}\n{}", self.value["steps"][step], self.errors);
        ok
    }

    /// The text of a call that succeeded.
    pub(crate) fn text(&self, step: usize) -> String {
        let ok = self.ok(step);
        assert_ne!(ok["isError"], true, "step {step} gave {ok}\n{}", self.errors);
        texts(ok)
    }

    /// The code and the text of a call that was answered with `isError`.
    pub(crate) fn refused(&self, step: usize) -> (String, String) {
        let ok = self.ok(step);
        assert_eq!(ok["isError"], true, "step {step} gave {ok}\n{}", self.errors);
        (ok["structuredContent"]["code"].as_str().unwrap_or_default().to_owned(), texts(ok))
    }

    /// The code of a protocol error.
    pub(crate) fn error(&self, step: usize) -> i64 {
        self.value["steps"][step]["error"]["code"].as_i64().unwrap_or_else(|| panic!("step {step} gave {}", self.value["steps"][step]))
    }

    pub(crate) fn questions(&self) -> &[Value] {
        self.value["questions"].as_array().map_or(&[], Vec::as_slice)
    }
}

fn texts(result: &Value) -> String {
    result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}
