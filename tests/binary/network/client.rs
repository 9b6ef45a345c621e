//! The built server, started in its place, and a client that speaks MCP to it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::network::internet::Internet;

pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Value>,
    next: u64,
}

impl Server {
    /// Serves this manifest on the server's side of the wire.
    pub(crate) fn start(internet: &Internet, manifest: &str, environment: &[(String, String)]) -> Self {
        let place = tempfile::Builder::new().prefix("serve-").tempdir_in(internet.folder.path()).unwrap().keep();
        let file = place.join("tools.toml");
        std::fs::write(&file, manifest).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
        command.args(["serve", "--manifest"]).arg(&file).current_dir(&place);
        command.env("TOOLGATE_STATE_DIR", internet.path("state")).env("SSL_CERT_FILE", internet.authority()).env_remove("SSL_CERT_DIR");
        command.envs(environment.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        // What a thread starts is in the thread's namespaces.
        let mut child = internet.wire.server.within(move || command.spawn().unwrap());
        let output = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        let input = child.stdin.take().unwrap();
        let mut server = Self { child, input, lines, next: 1 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "net", "version": "1"}});
        assert!(server.request("initialize", &hello)["result"].is_object());
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.lines.recv_timeout(Duration::from_mins(1)).unwrap_or_else(|_| panic!("no answer to {method} {params}"));
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls `fetch`; its result.
    pub(crate) fn fetch(&mut self, arguments: &Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": "fetch", "arguments": arguments}));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The page at a URL: the text of its answer, or the code of its refusal.
    pub(crate) fn page(&mut self, url: &str) -> Result<String, String> {
        outcome(&self.fetch(&json!({"url": url})))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

/// The text of an answer, or the code of a refusal.
pub(crate) fn outcome(result: &Value) -> Result<String, String> {
    if result["isError"] == true {
        return Err(result["structuredContent"]["code"].as_str().unwrap_or("no code").to_owned());
    }
    let texts = result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A manifest for one profile with everything, and this `[network]`.
pub(crate) fn manifest(network: &str) -> String {
    hurried(network).replace("timeout = \"4s\"", "timeout = \"30s\"")
}

/// The same for calls of four seconds at most.
pub(crate) fn hurried(network: &str) -> String {
    format!(
        r#"version = 1
[clients]
stdio = "all"
[roots.work]
path = "session"
mode = "rw"
allowed_paths = ["**"]
denied_paths = ["no/**"]
[profiles.all]
permissions = ["STANDARD"]
allowed_tools = ["fetch", "read_file"]
[approvals]
level_2 = "none"
level_3 = "none"
[limits]
rate_limit_per_minute = 100000
timeout = "4s"
breaker = {{ denials = 100000, within = "1m" }}
[network]
{network}
"#
    )
}
