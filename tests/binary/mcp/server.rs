//! One server under test: its streams, its memory and its children.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::home::Home;

/// How long an answer may take before the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// The revision without a handshake.
pub(crate) const STATELESS: &str = "2026-07-28";

pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Answers and notes that came while another was waited for.
    pub(crate) set_aside: Vec<Value>,
    next: i64,
    errors: std::path::PathBuf,
}

/// What an ended server left.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// What it still said.
    pub(crate) said: Vec<Value>,
}

impl Server {
    pub(crate) fn start(home: &Home) -> Self {
        Self::start_with(home, &[], &[])
    }

    pub(crate) fn start_with(home: &Home, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = home.toolgate(&["serve", "--manifest", home.manifest().to_str().unwrap()]);
        command.args(arguments).envs(environment.iter().copied());
        Self::of(home, command)
    }

    /// A server that is started by this command.
    pub(crate) fn of(home: &Home, mut command: Command) -> Self {
        let errors = home.path(&format!("stderr-{}.txt", std::thread::current().name().unwrap_or("x").replace("::", "-")));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::options().append(true).create(true).open(&errors).unwrap())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::with_capacity(1 << 20, output).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, set_aside: Vec::new(), next: 1, errors }
    }

    /// A server that has shaken hands at this version, with a client that can answer forms.
    pub(crate) fn greeted(home: &Home, version: &str) -> Self {
        let mut server = Self::start(home);
        let hello = server.request("initialize", &hello(version));
        assert_eq!(hello["result"]["protocolVersion"], version, "{hello}");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    pub(crate) fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap_or_default()
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.send_raw(&line);
    }

    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).and_then(|()| input.flush()).unwrap_or_else(|fault| panic!("the server does not read: {fault}"));
    }

    /// Sends a request and gives its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = json!(self.next);
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.answer(&id)
    }

    /// A request of the stateless revision, from a client that can answer forms.
    pub(crate) fn stateless(&mut self, method: &str, params: &Value) -> Value {
        self.request(method, &with_meta(params, STATELESS))
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// The answer to this id; what comes before it is set aside. Questions to the person are left unanswered there.
    pub(crate) fn answer(&mut self, id: &Value) -> Value {
        let started = Instant::now();
        if let Some(at) = self.set_aside.iter().position(|message| message["id"] == *id && message["method"].is_null()) {
            return self.set_aside.remove(at);
        }
        while let Some(message) = self.next_message(PATIENCE.saturating_sub(started.elapsed())) {
            if message["id"] == *id && message["method"].is_null() {
                return message;
            }
            self.set_aside.push(message);
        }
        panic!("no answer to {id} within {PATIENCE:?}; meanwhile: {:?}\n{}", self.set_aside, self.errors());
    }

    /// The next message; none when the time is up or the server has closed its output.
    pub(crate) fn next_message(&mut self, patience: Duration) -> Option<Value> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(message(&line)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// The server still serves.
    pub(crate) fn is_alive(&mut self) {
        let pong = self.request("ping", &with_meta(&json!({}), STATELESS));
        assert!(pong["result"].is_object() || pong["error"]["code"] == -32601, "{pong}\n{}", self.errors());
    }

    /// The number of the server's process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Every process below this one.
    pub(crate) fn children(&self) -> Vec<u32> {
        descendants(self.child.id())
    }

    /// Closes the input and waits.
    pub(crate) fn close(mut self) -> Ended {
        self.input = None;
        self.wait()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = std::process::Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end; a server that outlives the patience is killed and the test fails.
    pub(crate) fn wait(&mut self) -> Ended {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(started.elapsed() < PATIENCE, "the server did not end\n{}", self.errors());
            std::thread::sleep(Duration::from_millis(1));
        };
        let mut said = std::mem::take(&mut self.set_aside);
        said.extend(std::iter::from_fn(|| self.next_message(Duration::from_secs(2))));
        Ended { status, said }
    }

    /// Most memory it ever held, in bytes.
    pub(crate) fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line of standard output: one JSON-RPC message and nothing else.
fn message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|fault| panic!("standard output holds no message: {fault}: {line:?}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
    message
}

pub(crate) fn hello(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "tests", "version": "1"}})
}

/// `params` with what every request of the stateless revision carries.
pub(crate) fn with_meta(params: &Value, version: &str) -> Value {
    let mut params = params.clone();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "tests", "version": "1"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    params
}

/// A call that changes a file that is there.
pub(crate) fn write(content: &str) -> Value {
    json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": content}})
}

/// The call again with the state of its question, and with an answer where there is one.
pub(crate) fn repeat(params: &Value, state: &Value, answer: Option<Value>) -> Value {
    let mut params = params.clone();
    params["requestState"] = state.clone();
    if let Some(answer) = answer {
        params["inputResponses"] = json!({ "approval": answer });
    }
    params
}

/// The code of a refusal; empty where there is none.
pub(crate) fn code(answer: &Value) -> &str {
    answer["result"]["structuredContent"]["code"].as_str().unwrap_or_default()
}

/// The call did what it was asked.
pub(crate) fn went_well(answer: &Value) -> bool {
    answer["result"].is_object() && answer["result"]["isError"] != true && answer["result"]["resultType"] != "input_required"
}

/// A process that does not outlive its test.
pub(crate) struct Guarded(pub(crate) Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every process below one, as the kernel knows them now.
pub(crate) fn descendants(parent: u32) -> Vec<u32> {
    children(parent).into_iter().flat_map(|child| std::iter::once(child).chain(descendants(child))).collect()
}

fn children(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// Whether any of these still runs; a process that has ended and was not yet asked for does not.
pub(crate) fn any_runs(processes: &[u32]) -> bool {
    processes.iter().any(|id| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    })
}

/// Waits for a condition; the test fails when it does not come.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
