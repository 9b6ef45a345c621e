//! `toolgate approvals`: the operator's channel. What waits, what it is, yes or no, and who may say so.

mod arguments;
mod secrets;
mod terminal;
mod watch;

pub use arguments::{ApprovalsCommand, Reply, SecretCommand};

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::audit::{StateDir, is_hidden, plain};

/// Why a subcommand could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// No server can be reached.
    #[error("no server is running on the state folder `{0}`, so nothing waits and nothing can be answered")]
    Nobody(String),
    /// The state folder cannot be used.
    #[error("{0}")]
    State(String),
    /// The words of the command line fit nothing.
    #[error("{0}")]
    Use(String),
    /// The connection or the terminal failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs a subcommand on the servers of a state folder; `false`: the answer is a no.
/// # Errors  `Failed`.
pub fn run(state: &Path, command: ApprovalsCommand, json: bool, out: &mut dyn Write) -> Result<bool, Failed> {
    let is_first = matches!(command, ApprovalsCommand::Secret { .. }) && matches!(state.try_exists(), Ok(false));
    // The first secret is set before the first server runs: its folder is made as a server would make it.
    let folder = if is_first { StateDir::open(state) } else { StateDir::visit(state) };
    let folder = match folder {
        Ok(folder) => folder,
        Err(_) if matches!(state.try_exists(), Ok(false)) => return Err(Failed::Nobody(state.display().to_string())),
        Err(fault) => return Err(Failed::State(fault.to_string())),
    };
    match command {
        ApprovalsCommand::List => list(&mut Server::reach(&folder)?, json, out),
        ApprovalsCommand::Show { id } => show(&mut Server::reach(&folder)?, &id, json, out),
        ApprovalsCommand::Allow { reply, session, scope } => {
            let say = match scope {
                Some(scope) => scope.as_str(),
                None if session => "session",
                None => "once",
            };
            answer(&mut Server::reach(&folder)?, &reply, say, json, out)
        }
        ApprovalsCommand::Deny { reply } => answer(&mut Server::reach(&folder)?, &reply, "deny", json, out),
        ApprovalsCommand::Watch { .. } if json => {
            Err(Failed::Use("`approvals watch` is for a person; scripts read `approvals list --json`".to_owned()))
        }
        ApprovalsCommand::Watch { who } => watch::run(&folder, who.as_deref(), out),
        ApprovalsCommand::Secret { command } => secrets::run(&folder, command, json, out),
    }
}

/// A server that answers.
#[derive(Debug)]
struct Server(BufReader<UnixStream>);

/// A server that says nothing for so long has died.
const PATIENCE: Duration = Duration::from_secs(30);

impl Server {
    fn reach(folder: &StateDir) -> Result<Self, Failed> {
        let stream = folder.reach_server().map_err(|fault| match fault.kind() {
            io::ErrorKind::NotFound => Failed::Nobody(folder.path().display().to_string()),
            _ => Failed::Io(fault),
        })?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    fn ask(&mut self, request: &Value) -> Result<Value, Failed> {
        self.0.get_mut().write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        serde_json::from_str(&line).map_err(|_| Failed::State("the server closed the connection".to_owned()))
    }

    fn questions(&mut self) -> Result<Vec<Value>, Failed> {
        let answer = self.ask(&json!({"do": "list"}))?;
        Ok(answer.get("questions").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// The question whose id begins with `id`.
    fn question(&mut self, id: &str) -> Result<Value, Failed> {
        let mut fits = self.questions()?;
        fits.retain(|question| text(question, "id").starts_with(id));
        match (fits.pop(), fits.is_empty()) {
            (Some(question), true) if id.len() >= 4 => Ok(question),
            (Some(_), _) => Err(Failed::Use(format!("`{}` fits several questions; give more of the id", plain(id)))),
            (None, _) => Err(Failed::Use(format!("no question `{}` waits; see toolgate approvals list", plain(id)))),
        }
    }
}

fn list(server: &mut Server, as_json: bool, out: &mut dyn Write) -> Result<bool, Failed> {
    let questions = server.questions()?;
    if questions.is_empty() && !as_json {
        writeln!(out, "nothing waits")?;
    }
    for question in questions {
        if as_json {
            writeln!(out, "{question}")?;
        } else {
            writeln!(out, "{}", one_line(&question))?;
        }
    }
    Ok(true)
}

fn show(server: &mut Server, id: &str, as_json: bool, out: &mut dyn Write) -> Result<bool, Failed> {
    let question = server.question(id)?;
    if as_json {
        writeln!(out, "{question}")?;
    } else {
        print(&question, out)?;
    }
    Ok(true)
}

fn print(question: &Value, out: &mut dyn Write) -> Result<(), Failed> {
    writeln!(out, "{}", one_line(question))?;
    for name in ["call", "session", "profile", "code"] {
        writeln!(out, "{name:<10} {}", plain(text(question, name)))?;
    }
    let agreed: Vec<&str> = question.get("agreed").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if !agreed.is_empty() {
        writeln!(out, "agreed     {}", plain(&agreed.join(", ")))?;
    }
    writeln!(out)?;
    // Escaped where it was made; here once more, for it comes over a socket.
    for line in text(question, "text").lines() {
        writeln!(out, "{}", line.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect::<String>())?;
    }
    Ok(())
}

/// Shows a question and answers it.
fn answer(server: &mut Server, reply: &Reply, say: &str, as_json: bool, out: &mut dyn Write) -> Result<bool, Failed> {
    let question = server.question(&reply.id)?;
    let mut aside = io::stderr();
    let shown: &mut dyn Write = if as_json { &mut aside } else { out };
    print(&question, shown)?;
    writeln!(shown)?;
    shown.flush()?;
    // The one who allows has read what stands above; what they prove themselves with is never an argument, for others can read those.
    let secret = if say == "deny" { None } else { terminal::secret("passphrase: ", &mut io::stdin().lock())? };
    let proof = Proof { who: reply.who.as_deref(), secret: secret.as_deref(), reason: reply.reason.as_deref() };
    if !as_json {
        return send(server, &question, say, &proof, out);
    }
    let mut said = sent(server, &question, say, &proof)?;
    let is_done = said.get("ok") == Some(&Value::Bool(true));
    if let Some(fields) = said.as_object_mut() {
        fields.insert("id".to_owned(), json!(text(&question, "id")));
        fields.retain(|_, value| !value.is_null());
    }
    writeln!(out, "{said}")?;
    Ok(is_done)
}

/// Who answers, what they prove it with, and why they answer so.
struct Proof<'a> {
    who: Option<&'a str>,
    secret: Option<&'a str>,
    reason: Option<&'a str>,
}

/// Sends an answer to a question that was shown. Gives what the server says: `ok`, and with it `operator`, `decision`, `lacking` and `note`, else `why`.
fn sent(server: &mut Server, question: &Value, say: &str, proof: &Proof<'_>) -> Result<Value, Failed> {
    let Proof { who, secret, reason } = proof;
    let mut request = json!({"do": "answer", "id": text(question, "id"), "say": say, "binding": text(question, "binding")});
    for (name, value) in [("operator", who), ("secret", secret), ("reason", reason)] {
        if let (Some(value), Some(fields)) = (value, request.as_object_mut()) {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    server.ask(&request)
}

/// Sends an answer to a question that was shown, and says what came of it; `false`: it was refused.
fn send(server: &mut Server, question: &Value, say: &str, proof: &Proof<'_>, out: &mut dyn Write) -> Result<bool, Failed> {
    let said = sent(server, question, say, proof)?;
    if said.get("ok") != Some(&Value::Bool(true)) {
        writeln!(out, "refused: {}", plain(text(&said, "why")))?;
        return Ok(false);
    }
    let lacking = said.get("lacking").and_then(Value::as_u64).unwrap_or(0);
    let done = match (say, lacking) {
        ("deny", _) => "denied".to_owned(),
        (_, 0) => "allowed".to_owned(),
        (_, more) => format!("noted; {more} more operator(s) must agree"),
    };
    writeln!(out, "{done}, by {}", plain(text(&said, "operator")))?;
    if !text(&said, "note").is_empty() {
        writeln!(out, "{}", plain(text(&said, "note")))?;
    }
    Ok(true)
}

fn one_line(question: &Value) -> String {
    let number = |name: &str| question.get(name).and_then(Value::as_u64).unwrap_or(0);
    let left = number("expires").saturating_sub(super::setup::wall_seconds());
    let first = text(question, "text").lines().next().unwrap_or_default();
    let agreed = question.get("agreed").and_then(Value::as_array).map_or(0, Vec::len);
    let mut line = format!(
        "{}  level {}  {} s left  {}  {}  {}",
        plain(text(question, "id")),
        number("level"),
        left,
        plain(text(question, "principal")),
        plain(text(question, "tool")),
        plain(first)
    );
    if number("needed") > 1 {
        line = format!("{line}  ({agreed} of {} operators agreed)", number("needed"));
    }
    if number("times") > 1 {
        line = format!("{line}  (asked {} times)", number("times"));
    }
    line
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
