//! HTTP by hand: what no well-behaved client would send must be sendable.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take before the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The one message of the body, be it JSON or a stream of events.
    pub(crate) fn message(&self) -> Value {
        if let Ok(whole) = serde_json::from_str(&self.body) {
            return whole;
        }
        let events: Vec<Value> =
            self.body.lines().filter_map(|line| line.strip_prefix("data: ")).filter_map(|data| serde_json::from_str(data).ok()).collect();
        events.into_iter().rfind(|event| event.get("id").is_some()).unwrap_or_else(|| panic!("no message in {self:?}"))
    }
}

pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// The bytes of a request; `Host`, the length and the end of the connection are filled in.
pub(crate) fn bytes(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    for (name, value) in [("host", "localhost"), ("connection", "close"), ("content-length", &*body.len().to_string())] {
        if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            let _ = write!(text, "{name}: {value}\r\n");
        }
    }
    [text.as_bytes(), b"\r\n", body].concat()
}

pub(crate) fn request(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut stream = connect(address);
    // A server that answers before it has read all may close first.
    let _ = stream.write_all(&bytes(method, path, headers, body));
    read(stream)
}

/// Reads an answer to the end of its connection.
pub(crate) fn read(stream: impl Read) -> Answer {
    let mut reader = BufReader::new(stream);
    let (status, headers) = head(&mut reader);
    let mut body = Vec::new();
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    if chunked {
        while let Some(chunk) = chunk(&mut reader) {
            body.extend_from_slice(&chunk);
        }
    } else {
        let _ = reader.read_to_end(&mut body);
    }
    Answer { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

pub(crate) fn head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line:?}")).parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    (status, headers)
}

/// One chunk of a chunked body; none at its end.
pub(crate) fn chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut size = String::new();
    reader.read_line(&mut size).ok()?;
    let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
    let mut bytes = vec![0; size + 2];
    reader.read_exact(&mut bytes).ok()?;
    bytes.truncate(size);
    Some(bytes)
}

const JSON: [(&str, &str); 2] = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

/// A caller: an address, and the headers that say who it is.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) address: &'a str,
    pub(crate) token: Option<&'a str>,
}

impl Caller<'_> {
    /// Posts a message with further headers.
    pub(crate) fn post(&self, more: &[(&str, &str)], body: &str) -> Answer {
        let bearer = self.token.map(|token| format!("Bearer {token}"));
        let bearer = bearer.iter().map(|bearer| ("authorization", bearer.as_str()));
        let headers: Vec<(&str, &str)> = JSON.into_iter().chain(bearer).chain(more.iter().copied()).collect();
        request(self.address, "POST", "/mcp", &headers, body.as_bytes())
    }

    /// Begins a session of the handshake era; its id.
    pub(crate) fn begin(&self) -> String {
        let answer = self.post(&[], &hello().to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = answer.header("mcp-session-id").unwrap().to_owned();
        let noted =
            self.post(&[("mcp-session-id", &session)], &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        assert_eq!(noted.status, 202, "{noted:?}");
        session
    }

    /// A call in a session.
    pub(crate) fn call_in(&self, session: &str, id: i64, tool: &str, arguments: &Value) -> Answer {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        self.post(&[("mcp-session-id", session)], &message.to_string())
    }

    /// A call of 2026-07-28, from a client that can show forms.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Answer {
        self.call_with(tool, &json!({"name": tool, "arguments": arguments}))
    }

    pub(crate) fn call_with(&self, tool: &str, params: &Value) -> Answer {
        self.post(&modern("tools/call", tool), &message("tools/call", params).to_string())
    }
}

pub(crate) const MODERN: &str = "2026-07-28";

pub(crate) fn modern<'a>(method: &'a str, name: &'a str) -> [(&'a str, &'a str); 3] {
    [("mcp-protocol-version", MODERN), ("mcp-method", method), ("mcp-name", name)]
}

/// A message of 2026-07-28.
pub(crate) fn message(method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub(crate) fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}}}, "clientInfo": {"name": "tests", "version": "1"}}})
}
