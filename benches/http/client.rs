//! A caller over HTTP/1.1 with one connection that is kept, and no more than the measurements need.
#![expect(clippy::indexing_slicing, reason = "a message of its own making; a JSON value read by a missing name is null")]

use std::fmt::Write as _;
use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// One caller in one era.
pub(crate) struct Caller {
    stream: BufReader<TcpStream>,
    address: String,
    /// The session, where it shook hands.
    pub(crate) session: Option<String>,
    next: u64,
    /// The token it brings, as a header.
    bearer: String,
}

impl Caller {
    /// A caller of 2026-07-28.
    pub(crate) async fn modern(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), address: address.to_owned(), session: None, next: 1, bearer: String::new() })
    }

    /// The same caller, with a token.
    pub(crate) fn known_by(mut self, token: &str) -> Self {
        self.bearer = format!("authorization: Bearer {token}\r\n");
        self
    }

    /// Shakes hands: from here on a caller of 2025-11-25, with its session.
    pub(crate) async fn greet(mut self) -> io::Result<Self> {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}}}, "clientInfo": {"name": "load", "version": "1"}}});
        let (status, session, _) = self.post("", &hello).await?;
        self.session = session.filter(|_| status == 200);
        if self.session.is_none() {
            return Err(io::Error::other(format!("no session: {status}")));
        }
        self.post("", &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        Ok(self)
    }

    /// A call; its result. Every question is answered with a yes, as the era asks it.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> io::Result<Value> {
        let params = json!({"name": tool, "arguments": arguments});
        let result = self.call_with(tool, params.clone()).await?;
        if result["resultType"] != "input_required" {
            return Ok(result);
        }
        let mut again = params;
        again["requestState"] = result["requestState"].clone();
        again["inputResponses"] = json!({"approval": yes()});
        self.call_with(tool, again).await
    }

    /// Ends the session, where there is one.
    pub(crate) async fn end(mut self) -> io::Result<()> {
        let Some(session) = self.session.take() else { return Ok(()) };
        let head = format!("DELETE /mcp HTTP/1.1\r\nhost: {}\r\nmcp-session-id: {session}\r\n{}\r\n", self.address, self.bearer);
        self.stream.get_mut().write_all(head.as_bytes()).await?;
        match self.answer().await? {
            (204, ..) => Ok(()),
            (status, ..) => Err(io::Error::other(format!("a session was not ended: {status}"))),
        }
    }

    async fn call_with(&mut self, tool: &str, params: Value) -> io::Result<Value> {
        self.next += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params});
        let mut headers = String::new();
        if self.session.is_none() {
            message["params"]["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
                "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
            });
            let _ = write!(headers, "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n");
        }
        let (status, _, body) = self.post(&headers, &message).await?;
        let text =
            if body.starts_with('{') { &body } else { body.lines().rev().find_map(|line| line.strip_prefix("data: {")).unwrap_or("") };
        let whole = if body.starts_with('{') { text.to_owned() } else { format!("{{{text}") };
        let answer: Value = serde_json::from_str(&whole).map_err(|_| io::Error::other(format!("{status}: {body}")))?;
        match answer.get("result") {
            Some(result) if status == 200 => Ok(result.clone()),
            _ => Err(io::Error::other(format!("{status}: {answer}"))),
        }
    }

    async fn post(&mut self, headers: &str, message: &Value) -> io::Result<(u16, Option<String>, String)> {
        let body = message.to_string();
        let session = self.session.as_ref().map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{session}{}{headers}content-length: {}\r\n\r\n{body}",
            self.address,
            self.bearer,
            body.len()
        );
        self.stream.get_mut().write_all(head.as_bytes()).await?;
        self.answer().await
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    async fn answer(&mut self) -> io::Result<(u16, Option<String>, String)> {
        let status = self.line().await?.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
        let (mut length, mut chunked, mut session) = (0, false, None);
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap_or(0),
                "transfer-encoding" => chunked = true,
                "mcp-session-id" => session = Some(value.to_owned()),
                _ => {}
            }
        }
        let mut body = Vec::new();
        while chunked {
            let size = usize::from_str_radix(&self.line().await?, 16).unwrap_or(0);
            let from = body.len();
            body.resize(from + size, 0);
            if let Some(piece) = body.get_mut(from..) {
                self.stream.read_exact(piece).await?;
            }
            self.line().await?;
            chunked = size > 0;
            if let Some(question) = body.get(from..).and_then(question) {
                let mut beside = Self::modern(&self.address).await?;
                beside.session.clone_from(&self.session);
                beside.bearer.clone_from(&self.bearer);
                let answer = json!({"jsonrpc": "2.0", "id": question, "result": yes()});
                Box::pin(beside.post("", &answer)).await?;
            }
        }
        if length > 0 {
            body.resize(length, 0);
            self.stream.read_exact(&mut body).await?;
        }
        Ok((status, session, String::from_utf8_lossy(&body).into_owned()))
    }
}

/// What a person answers who agrees once.
fn yes() -> Value {
    json!({"action": "accept", "content": {"decision": "once"}})
}

/// The id of the question in an event, if it is one.
fn question(event: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(event).ok().filter(|text| text.contains("elicitation/create"))?;
    let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
    let message: Value = serde_json::from_str(data).ok()?;
    (message["method"] == "elicitation/create").then(|| message["id"].clone())
}

/// A server of the built binary over a scratch house; killed when it is dropped.
pub(crate) struct Server {
    pub(crate) child: std::process::Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(binary: &std::path::Path, house: &std::path::Path) -> io::Result<Self> {
        use std::io::BufRead;
        let mut child = std::process::Command::new(binary)
            .args(["serve", "--http", "127.0.0.1:0", "--manifest"])
            .arg(house.join("tools.toml"))
            .env("TOOLGATE_STATE_DIR", house.join("state"))
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()?;
        let errors = child.stderr.take().ok_or_else(|| io::Error::other("no stderr"))?;
        let mut lines = io::BufReader::new(errors).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("serving MCP at http://")?.1.trim_end_matches("/mcp").to_owned()));
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("server: {line}")));
        Ok(Self { child, address: address.ok_or_else(|| io::Error::other("the server did not start"))? })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A house to measure in: a few files, and a manifest that lets all be done at once.
pub(crate) fn house(folder: &std::path::Path) -> io::Result<()> {
    std::fs::create_dir_all(folder.join("project/src"))?;
    std::fs::write(folder.join("project/small.txt"), "a line of text\n".repeat(64))?;
    for n in 0..50 {
        std::fs::write(folder.join(format!("project/src/file{n}.txt")), format!("file {n}\nneedle {n}\n"))?;
    }
    let manifest = r#"version = 1
[clients]
stdio = "all"
http = "all"
# The digest of `bench`.
[[clients.token]]
name = "bench"
sha256 = "1b32c28cb38c05480eccc1bd60ff97029b57a05c96718b96dad7e9d84894f549"
profile = "all"
[roots.project]
path = "project"
mode = "rw"
allowed_paths = ["**"]
[roots.work]
path = "session"
mode = "rw"
allowed_paths = ["**"]
[python]
roots = ["work"]
[profiles.all]
permissions = ["FULL"]
allowed_tools = ["*"]
[approvals]
level_2 = "none"
level_3 = "none"
[limits]
rate_limit_per_minute = 100000000
concurrent_calls = 256
timeout = "60s"
write_per_hour = "100 GiB"
cpu_per_hour = "100h"
"#;
    std::fs::write(folder.join("tools.toml"), manifest)
}
