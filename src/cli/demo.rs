//! `toolgate demo`: the main job end to end in a terminal. The server is this very binary, spoken to over real MCP by a scripted client; files, web
//! server and Python are real.

#![expect(clippy::disallowed_methods, reason = "the demo plays a client and a web server of its own, over files of its own")]
#![expect(clippy::indexing_slicing, reason = "a JSON value read by a name that it lacks is null")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use super::audit::{self, AuditCommand};
use super::layout::Colour;
use super::run::{Fault, Report};
use crate::filter::escape_line;

/// One step of the script: a call and what the person would answer if asked.
#[derive(Deserialize)]
struct Step {
    tool: String,
    arguments: Value,
    /// `yes, once`, with the code where one is shown, `no`, or `bare accept`: an empty form, as some clients send on their own.
    person: String,
    why: String,
}

/// Plays the demo into `out`.
/// # Errors  When the server cannot be started or stops answering.
pub(super) fn run(out: &mut dyn Write) -> Result<Report, Fault> {
    let folder = tempfile::Builder::new().prefix("toolgate-demo-").tempdir()?;
    let web = serve_page()?;
    lay_out(folder.path(), web)?;
    let colour = Colour::of_stdout();
    writeln!(out, "toolgate demo: a scripted client speaks MCP to `toolgate serve`; files, web server and Python are real.\n")?;
    let state = folder.path().join("state");
    let mut client = Client::start(folder.path(), &state)?;
    let tools = client.request("tools/list", &json!({}), "no")?.0;
    let names: Vec<&str> = tools["result"]["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    writeln!(out, "The client sees {} tools: {}\n", names.len(), names.join(", "))?;
    let mut question = None;
    let script: Vec<Step> = serde_json::from_str(&with_port(include_str!("demo/script.json"), web)).map_err(io::Error::other)?;
    for step in script {
        let params = json!({"name": step.tool, "arguments": step.arguments});
        let (answer, asked) = client.request("tools/call", &params, &step.person)?;
        writeln!(out, "{}", shown(&step, &answer, asked.is_some(), colour))?;
        question = question.or(asked);
    }
    if let Some(question) = question {
        writeln!(out, "\nWhat the person saw the first time they were asked:\n")?;
        question.lines().try_for_each(|line| writeln!(out, "  | {line}"))?;
    }
    client.stop()?;
    writeln!(out, "\nThe audit log (toolgate audit tail, then verify):\n")?;
    let tail = AuditCommand::Tail { terms: Vec::new(), lines: 12, follow: false };
    audit::run(&state, tail, false, out)?;
    let mut report = audit::run(&state, AuditCommand::Verify { head: None }, false, out)?;
    report.text += "\nNext: `toolgate init` writes a tools.toml, `toolgate install CLIENT` registers it, `toolgate doctor` says what this machine \
                    enforces.\n";
    Ok(report)
}

fn lay_out(folder: &Path, web: u16) -> io::Result<()> {
    let project = folder.join("project");
    std::fs::create_dir_all(project.join("src"))?;
    std::fs::write(project.join("README.md"), "# Orchard\n\nCounts apples.\n\n- 3 baskets\n- 41 apples\n")?;
    std::fs::write(project.join("src/apples.csv"), "basket,apples\n1,12\n2,17\n3,12\n")?;
    std::fs::write(project.join(".env"), "API_TOKEN=not-for-models\n")?;
    std::fs::write(folder.join("tools.toml"), with_port(include_str!("demo/tools.toml"), web))
}

/// A text of the demo, with the port of its web server.
fn with_port(text: &str, web: u16) -> String {
    text.replace("PORT", &web.to_string())
}

/// One call: what it was, how it was judged, whether a person was asked, and what came back.
fn shown(step: &Step, answer: &Value, asked: bool, colour: Colour) -> String {
    let [path, url, code] = ["path", "url", "code"].map(|name| step.arguments[name].as_str());
    let target = path.or(url).or(code.and_then(|code| code.lines().next())).unwrap_or_default();
    let result = &answer["result"];
    let failed = result["isError"].as_bool().unwrap_or(false) || answer.get("error").is_some();
    let [code, status] = ["code", "status"].map(|name| result["structuredContent"][name].as_str());
    let verdict = match (failed, code, status) {
        (false, ..) => "allowed".to_owned(),
        (true, Some(code), None) => format!("denied: {code}"),
        (true, _, Some(status)) => format!("allowed; program: {status}"),
        (true, None, None) => "failed".to_owned(),
    };
    let approval = if asked { format!(" (asked: {})", step.person) } else { String::new() };
    let text = result["content"][0]["text"].as_str().filter(|_| !failed).unwrap_or_default();
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or(&step.why);
    let verdict = colour.paint(if !failed || status.is_some() { "32" } else { "31" }, &escape_line(&verdict));
    let answer = colour.paint("2", &format!("    {}", escape_line(first)));
    format!("{} {}  {verdict}{approval}\n{answer}", step.tool, escape_line(target))
}

/// A page on a free loopback port, served by a thread that ends with the process.
fn serve_page() -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 1024];
            // One read is enough for the one short request of the demo.
            let _ = stream.read(&mut request);
            let answer =
                format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{PAGE}", PAGE.len());
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    Ok(port)
}

const PAGE: &str = include_str!("demo/page.html");

/// A client of a few lines that speaks MCP as the handshake era does.
struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn start(folder: &Path, state: &Path) -> io::Result<Self> {
        let mut server = Command::new(std::env::current_exe()?)
            .args(["serve", "--manifest"])
            .arg(folder.join("tools.toml"))
            .env("TOOLGATE_STATE_DIR", state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let mut client = Self { server, input, output: BufReader::new(output), next: 1 };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "demo", "version": env!("CARGO_PKG_VERSION")}
        });
        client.request("initialize", &hello, "no")?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        writeln!(self.input, "{message}")?;
        self.input.flush()
    }

    /// The answer to one request, and the question that was asked on the way.
    fn request(&mut self, method: &str, params: &Value, person: &str) -> io::Result<(Value, Option<String>)> {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let mut asked = None;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server ended; its words are above"));
            }
            let message: Value = serde_json::from_str(&line)?;
            if message["method"] == "elicitation/create" {
                let text = message["params"]["message"].as_str().unwrap_or_default().to_owned();
                let result = answer(person, &text);
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))?;
                asked = Some(text);
            } else if message["id"] == id {
                return Ok((message, asked));
            }
        }
    }

    fn stop(mut self) -> io::Result<()> {
        drop(self.input);
        self.server.wait().map(drop)
    }
}

fn answer(person: &str, text: &str) -> Value {
    let code = text.lines().find_map(|line| line.strip_prefix("code: "));
    match (person, code) {
        ("yes, once", Some(code)) => json!({"action": "accept", "content": {"decision": "once", "confirm": code}}),
        ("yes, once", None) => json!({"action": "accept", "content": {"decision": "once"}}),
        ("no", _) => json!({"action": "decline"}),
        _ => json!({"action": "accept", "content": {}}),
    }
}
