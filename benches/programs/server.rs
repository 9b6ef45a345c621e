//! The built binary as a client sees it: requests out, answers in, by their ids.
#![expect(
    clippy::indexing_slicing,
    clippy::unnecessary_debug_formatting,
    reason = "a JSON value read by a missing name is null; a path is quoted for TOML"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A manifest and a state folder.
pub(crate) struct House {
    folder: tempfile::TempDir,
}

impl House {
    /// A house with one root of the session, everything on, limits far away, and more lines in `[python]`.
    pub(crate) fn new(interpreter: &Path, python: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let manifest = format!(
            "version = 1\n[clients]\nstdio = \"all\"\n[roots.work]\npath = \"session\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n\
             [python]\nroots = [\"work\"]\ninterpreter = {interpreter:?}\nallowed_imports = [\"time\", \"numpy\", \"pandas\"]\n{python}\n\
             [profiles.all]\npermissions = [\"STANDARD\", \"EXECUTE_CODE\"]\nallowed_tools = [\"*\"]\n\
             [limits]\nrate_limit_per_minute = 1000000\nconcurrent_calls = 64\ncpu_per_hour = \"10h\"\n"
        );
        std::fs::write(folder.path().join("tools.toml"), manifest).expect("a manifest");
        Self { folder }
    }
}

/// A running server after its handshake.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    pub(crate) fn start(house: &House) -> Self {
        let manifest = house.folder.path().join("tools.toml");
        let own = env!("CARGO_BIN_EXE_toolgate").into();
        let mut command = Command::new(std::env::var_os("TOOLGATE_BENCH_BINARY").unwrap_or(own));
        command.arg("serve").arg("--manifest").arg(manifest).env("TOOLGATE_STATE_DIR", house.folder.path().join("state"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the server starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), BufReader::new(child.stdout.take().expect("a pipe")));
        let mut server = Self { child, input, output, next: 0 };
        let hello = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}"#;
        let id = server.send("initialize", hello);
        server.receive(&[id]);
        server.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").expect("the server reads");
        server
    }

    /// Reads the list of tools, as every client does before it calls one.
    pub(crate) fn list(&mut self) {
        let id = self.send("tools/list", "{}");
        self.receive(&[id]);
    }

    /// Memory of the server's own process, in MiB: what is resident, its share of it, what no other process has. What waits for programs is apart.
    pub(crate) fn own_memory(&self) -> String {
        std::thread::sleep(Duration::from_millis(300));
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id())).unwrap_or_default();
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
        };
        let own = of("Private_Clean:") + of("Private_Dirty:");
        format!("{:.1} MiB resident, {:.1} MiB shared out, {own:.1} MiB private", of("Rss:"), of("Pss:"))
    }

    fn send(&mut self, method: &str, params: &str) -> u64 {
        self.next += 1;
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"{method}\",\"params\":{params}}}\n", self.next);
        self.input.write_all(line.as_bytes()).expect("the server reads");
        self.next
    }

    /// Waits for an answer to one of these.
    fn receive(&mut self, ids: &[u64]) -> u64 {
        loop {
            let mut text = String::new();
            assert!(self.output.read_line(&mut text).expect("the server answers") > 0, "the server ended");
            let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let Some(id) = answer["id"].as_u64().filter(|id| ids.contains(id)) else { continue };
            assert!(answer["error"].is_null() && answer["result"]["isError"] != true, "{text}");
            return id;
        }
    }

    fn call(&mut self, code: &str, fresh: bool) -> u64 {
        let arguments = serde_json::json!({"name": "run_python", "arguments": {"code": code, "fresh": fresh}});
        self.send("tools/call", &arguments.to_string())
    }

    /// From before the request is written to its whole answer.
    pub(crate) fn timed(&mut self, code: &str) -> Duration {
        let begun = Instant::now();
        let id = self.call(code, false);
        self.receive(&[id]);
        begun.elapsed()
    }

    /// The same with a cold interpreter.
    pub(crate) fn timed_fresh(&mut self, code: &str) -> Duration {
        let begun = Instant::now();
        let id = self.call(code, true);
        self.receive(&[id]);
        begun.elapsed()
    }

    /// Calls per second with so many under way.
    pub(crate) fn throughput(&mut self, code: &str, flight: usize, calls: usize) -> f64 {
        let begun = Instant::now();
        let mut under_way: Vec<u64> = (0..flight.min(calls)).map(|_| self.call(code, false)).collect();
        for sent in under_way.len()..calls + flight.min(calls) {
            let done = self.receive(&under_way);
            under_way.retain(|id| *id != done);
            if sent < calls {
                let id = self.call(code, false);
                under_way.push(id);
            }
        }
        calls as f64 / begun.elapsed().as_secs_f64()
    }

    /// What the server and everything below it take, each page that is shared by its share, and how many processes there are.
    pub(crate) fn memory(&self) -> String {
        let mut all = vec![self.child.id()];
        let mut at = 0;
        while let Some(pid) = all.get(at) {
            all.extend(children(*pid));
            at += 1;
        }
        format!("{:.1} MiB in {} processes", all.iter().map(|pid| proportional_kb(*pid)).sum::<f64>() / 1024.0, all.len())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

fn proportional_kb(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
