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
use super::init::{self, Init};
use super::layout::Colour;
use super::run::{Fault, Report};
use super::table::Form;
use crate::filter::escape_line;
use crate::tools;

/// One call of the script.
#[derive(Deserialize)]
struct Step {
    tool: String,
    arguments: Value,
}

/// Plays the demo into `out`: no more lines and columns than a terminal has ([`WIDTH`] by 24, less one line for the prompt).
/// # Errors  When the server cannot be started or stops answering.
pub(super) fn run(out: &mut dyn Write) -> Result<Report, Fault> {
    let folder = tempfile::Builder::new().prefix("toolgate-demo-").tempdir()?;
    let web = serve_page()?;
    lay_out(folder.path(), web)?;
    let colour = Colour::of_stdout();
    writeln!(out, "A scripted client calls the real server. Files, web, data and Python are real.")?;
    let state = folder.path().join("state");
    let mut client = Client::start(folder.path(), &state)?;
    let script: Vec<Step> =
        serde_json::from_str(&include_str!("demo/script.json").replace("PORT", &web.to_string())).map_err(io::Error::other)?;
    // A build without databases has no such tool.
    for step in script.into_iter().filter(|step| tools::find(&step.tool).is_some()) {
        let params = json!({"name": step.tool, "arguments": step.arguments});
        let (answer, asked) = client.request("tools/call", &params)?;
        show(&step, &answer["result"], asked.as_deref(), colour, out)?;
    }
    client.stop()?;
    let verified = audit::run(&state, AuditCommand::Verify { head: None }, Form::Table(colour), &mut io::sink())?;
    row(out, colour, ("36", "audit"), "hash chain of the log", verified.text.lines().last().unwrap_or_default())?;
    Ok(Report { text: NEXT.to_owned(), ..verified })
}

/// The columns of a terminal.
const WIDTH: usize = 80;

const NEXT: &str = "
toolgate init                         writes tools.toml: what agents may do here
toolgate install claude-code --write  registers the server (--help: all clients)
toolgate audit tail                   shows what was called, and what came of it
";

/// A folder with a secret in it, and the manifest that `toolgate init` writes for it.
fn lay_out(folder: &Path, web: u16) -> io::Result<()> {
    let project = folder.join("project");
    std::fs::create_dir_all(&project)?;
    std::fs::write(project.join("README.md"), "The orchard has 41 apples.\n")?;
    std::fs::write(project.join(".env"), "API_TOKEN=not-for-models\n")?;
    let answers = Init { folder: Some("project".into()), allow: vec![format!("http://127.0.0.1:{web}")], ..Init::default() };
    std::fs::write(folder.join("tools.toml"), init::manifest(&answers)?.0)?;
    #[cfg(feature = "sqlite")]
    add_database(folder)?;
    Ok(())
}

/// A database in the project, which the manifest opens.
#[cfg(feature = "sqlite")]
fn add_database(folder: &Path) -> io::Result<()> {
    let orchard = rusqlite::Connection::open(folder.join("project/orchard.db")).map_err(io::Error::other)?;
    orchard.execute_batch("CREATE TABLE trees (apples INTEGER); INSERT INTO trees VALUES (25), (17)").map_err(io::Error::other)?;
    let manifest = std::fs::read_to_string(folder.join("tools.toml"))?.replace("[\"READ_FILE\"", "[\"DATABASE_READ\", \"READ_FILE\"");
    std::fs::write(folder.join("tools.toml"), manifest + "\n[databases.orchard]\nurl = \"sqlite:project/orchard.db\"\n")
}

/// One call: what it was, what the person was asked, how it was judged, and what came back.
fn show(step: &Step, result: &Value, asked: Option<&str>, colour: Colour, out: &mut dyn Write) -> io::Result<()> {
    let [path, url, sql, code] = ["path", "url", "sql", "code"].map(|name| step.arguments[name].as_str());
    let target = path.or(url).or(sql).or(code.and_then(|code| code.lines().last())).unwrap_or_default();
    let call = format!("{:<14} {target}", step.tool);
    if let Some(question) = asked {
        row(out, colour, ("33", "asked"), &call, "")?;
        question.lines().try_for_each(|line| row(out, colour, ("0", ""), &format!("| {line}"), ""))?;
    }
    let call = if asked.is_some() { "a person said yes" } else { &call };
    let content = &result["structuredContent"];
    let [code, message, errors] = ["code", "message", "stderr"].map(|name| content[name].as_str());
    if result["isError"] != true {
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let line = text.lines().find(|line| !line.starts_with("<untrusted")).unwrap_or_default();
        let rows = content["rows"].as_array().map(|rows| json!(rows).to_string());
        return row(out, colour, ("32", "allowed"), call, rows.as_deref().unwrap_or(line));
    }
    // A program that fails was allowed to start.
    let (word, code, why) = match errors.and_then(|errors| errors.lines().last()) {
        Some(error) => ("failed", None, format!("in its jail: {error}")),
        None => ("denied", code, message.unwrap_or_default().to_owned()),
    };
    row(out, colour, ("31", word), call, code.unwrap_or_default())?;
    row(out, colour, ("0", ""), "", &why)
}

/// A line of the demo, cut where the terminal ends: a word in a colour, a text, and an answer, dim.
fn row(out: &mut dyn Write, colour: Colour, (code, word): (&str, &str), text: &str, answer: &str) -> io::Result<()> {
    let fit = |text: &str, most: usize| {
        let text = escape_line(text);
        if text.chars().count() <= most { text.into_owned() } else { text.chars().take(most.saturating_sub(1)).chain(['…']).collect() }
    };
    let text = fit(text, WIDTH - 9);
    let answer = fit(answer, WIDTH.saturating_sub(11 + text.chars().count()));
    let gap = if text.is_empty() || answer.is_empty() { "" } else { "  " };
    writeln!(out, "{} {text}{gap}{}", colour.paint(code, &format!("{word:<8}")), colour.paint("2", &answer))
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
        client.request("initialize", &hello)?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        writeln!(self.input, "{message}")?;
        self.input.flush()
    }

    /// The answer to one request, and the question that was asked on the way, to which the person says yes.
    fn request(&mut self, method: &str, params: &Value) -> io::Result<(Value, Option<String>)> {
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
                let result = json!({"action": "accept", "content": {"decision": "once"}});
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
