//! `toolgate approvals`: the operator's channel. What waits, what it is, yes or no, and who may say so.

mod secrets;

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::jsonl::without_nulls;
use super::run::{End, Fault, Report};
use crate::audit::{is_hidden, plain};
use crate::policy::Scope;
use crate::state::StateDir;

/// What to do on the operator's channel.
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// List the questions that wait, of all servers of the state folder.
    List,
    /// Show one question in full.
    Show {
        /// The question's id, or its beginning.
        id: String,
    },
    /// Allow the call, once. Asks for the operator's passphrase, or reads it as a line of standard input.
    Allow {
        /// Which question, who answers and why.
        #[command(flatten)]
        reply: Reply,
        /// Allow the same tool on the same target until the session ends. Only where the manifest says `first`.
        #[arg(long, conflicts_with = "scope")]
        session: bool,
        /// For which calls the answer holds. The question lists what it offers.
        #[arg(long, value_parser = PossibleValuesParser::new(Scope::ALL.map(Scope::as_str)))]
        scope: Option<String>,
    },
    /// Deny the call. Needs no passphrase.
    Deny {
        /// Which question, who answers and why.
        #[command(flatten)]
        reply: Reply,
    },
    /// Show each new question until stopped. Answer with `allow` or `deny` in another terminal.
    Watch,
    /// Manage the operators, each with a passphrase.
    #[command(subcommand)]
    Secret(SecretCommand),
}

/// An answer to a question.
#[derive(Debug, Args)]
pub struct Reply {
    /// The question's id, or its beginning.
    pub id: String,
    /// The operator that answers. Default: the only one that has a passphrase.
    #[arg(long = "as", value_name = "NAME")]
    pub who: Option<String>,
    /// The reason, for the log.
    #[arg(long)]
    pub reason: Option<String>,
}

/// What to do with the passphrases of operators.
#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// Give an operator a passphrase. Two other operators, or the only one, enter theirs first.
    Set {
        /// The operator's name. Repeat it to enrol the first operators together.
        #[arg(long = "as", value_name = "NAME", default_value = "operator")]
        who: Vec<String>,
    },
    /// List the operators.
    List,
    /// Take an operator's passphrase away.
    Remove {
        /// The operator's name.
        name: String,
    },
}

/// Runs a subcommand on the servers of a state folder.
pub(super) fn run(state: &Path, command: ApprovalsCommand, as_json: bool, out: &mut dyn Write) -> Result<Report, Fault> {
    let is_first = matches!(command, ApprovalsCommand::Secret(_)) && matches!(state.try_exists(), Ok(false));
    // The first secret is set before the first server runs: its folder is made as a server would make it.
    let folder = if is_first { StateDir::open(state) } else { StateDir::visit(state) };
    let folder = folder.map_err(|fault| match state.try_exists() {
        Ok(false) => Fault::NoServer(state.display().to_string()),
        _ => fault.into(),
    })?;
    match command {
        ApprovalsCommand::List => {
            let questions = Server::reach(&folder)?.questions()?;
            for question in &questions {
                writeln!(out, "{}", if as_json { question.to_string() } else { one_line(question) })?;
            }
            if questions.is_empty() && !as_json {
                writeln!(out, "nothing waits")?;
            }
            Ok(End::Done.into())
        }
        ApprovalsCommand::Show { id } => {
            let mut server = Server::reach(&folder)?;
            let question = server.question(&id)?;
            let whole = server.ask(&json!({"do": "show", "id": text(&question, "id")}))?;
            let mut text = shown(&question);
            if let Some(difference) = whole.pointer("/question/diff").and_then(Value::as_str).filter(|text| !text.is_empty()) {
                let _ = write!(text, "\nthe whole difference:\n{}", visible(difference));
            }
            Ok(Report { json: question, text, end: End::Done })
        }
        ApprovalsCommand::Allow { reply, session, scope } => {
            let decision = scope.unwrap_or_else(|| if session { "session" } else { "once" }.to_owned());
            answer(&folder, &reply, &decision, as_json, out)
        }
        ApprovalsCommand::Deny { reply } => answer(&folder, &reply, "deny", as_json, out),
        ApprovalsCommand::Watch => watch(&folder, as_json, out),
        ApprovalsCommand::Secret(command) => secrets::run(&folder, command, as_json, out),
    }
}

/// Prints each question when it comes, until the output is closed. Servers come and go meanwhile.
fn watch(folder: &StateDir, as_json: bool, out: &mut dyn Write) -> Result<Report, Fault> {
    let mut known = Vec::new();
    loop {
        let questions = match Server::reach(folder).and_then(|mut server| server.questions()) {
            Err(Fault::NoServer(_)) => Vec::new(),
            other => other?,
        };
        let is_known = |id: &str| known.iter().any(|question| text(question, "id") == id);
        for question in questions.iter().filter(|question| !is_known(text(question, "id"))) {
            if as_json {
                writeln!(out, "{question}")?;
            } else {
                let id = plain(text(question, "id"));
                writeln!(out, "{}\ntoolgate approvals allow {id}   (or: deny {id}, show {id})\n", shown(question))?;
            }
        }
        out.flush()?;
        known = questions;
        std::thread::sleep(LOOK);
    }
}

/// Between two looks for questions.
const LOOK: Duration = Duration::from_millis(300);

/// A server that answers.
#[derive(Debug)]
struct Server(BufReader<UnixStream>);

/// A server that says nothing for so long has died.
const PATIENCE: Duration = Duration::from_secs(30);

impl Server {
    fn reach(folder: &StateDir) -> Result<Self, Fault> {
        let stream = folder.reach_server().map_err(|fault| match fault.kind() {
            io::ErrorKind::NotFound => Fault::NoServer(folder.path().display().to_string()),
            _ => Fault::Io(fault),
        })?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    fn ask(&mut self, request: &Value) -> Result<Value, Fault> {
        self.0.get_mut().write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        serde_json::from_str(&line).map_err(|_| Fault::Use("the server closed the connection".to_owned()))
    }

    fn questions(&mut self) -> Result<Vec<Value>, Fault> {
        let answer = self.ask(&json!({"do": "list"}))?;
        Ok(answer.get("questions").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// The question whose id begins with `id`.
    fn question(&mut self, id: &str) -> Result<Value, Fault> {
        let mut fits = self.questions()?;
        fits.retain(|question| text(question, "id").starts_with(id));
        match (fits.pop(), fits.is_empty()) {
            (Some(question), true) if id.len() >= 4 => Ok(question),
            (Some(_), _) => Err(Fault::Use(format!("`{}` fits several questions; give more of the id", plain(id)))),
            (None, _) => Err(Fault::Use(format!("no question `{}` waits; see toolgate approvals list", plain(id)))),
        }
    }
}

/// A question as a person reads it.
fn shown(question: &Value) -> String {
    let mut shown = one_line(question) + "\n";
    for name in ["call", "session", "profile", "code"] {
        let _ = writeln!(shown, "{name:<10} {}", plain(text(question, name)));
    }
    let agreed: Vec<&str> = question.get("agreed").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if !agreed.is_empty() {
        let _ = writeln!(shown, "agreed     {}", plain(&agreed.join(", ")));
    }
    shown + "\n" + &visible(text(question, "text"))
}

/// Lines that steer no terminal. They were escaped where they were made, and came over a socket since.
fn visible(text: &str) -> String {
    text.lines().map(|line| line.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect::<String>() + "\n").collect()
}

/// Shows a question and answers it. A server answers with `ok`, and with it `operator`, `decision`, `lacking` and `note`, else `why`.
fn answer(folder: &StateDir, reply: &Reply, decision: &str, as_json: bool, out: &mut dyn Write) -> Result<Report, Fault> {
    let mut server = Server::reach(folder)?;
    let question = server.question(&reply.id)?;
    let id = text(&question, "id");
    let mut aside = io::stderr();
    let place: &mut dyn Write = if as_json { &mut aside } else { out };
    writeln!(place, "{}", shown(&question))?;
    place.flush()?;
    // The operator has read what stands above. A passphrase is never an argument, for others can read those.
    let secret = if decision == "deny" { None } else { secret("passphrase: ")? };
    let request = json!({
        "do": "answer", "id": id, "say": decision, "binding": text(&question, "binding"),
        "operator": reply.who, "secret": secret, "reason": reply.reason,
    });
    let mut json = server.ask(&request)?;
    let is_done = json.get("ok") == Some(&Value::Bool(true));
    let done = match (decision, json.get("lacking").and_then(Value::as_u64).unwrap_or(0)) {
        _ if !is_done => format!("refused: {}", plain(text(&json, "why"))),
        ("deny", _) => "denied".to_owned(),
        (_, 0) => "allowed".to_owned(),
        (_, more) => format!("noted; {more} more operator(s) must agree"),
    };
    let by = if is_done { format!(", by {}", plain(text(&json, "operator"))) } else { String::new() };
    let note = Some(plain(text(&json, "note"))).filter(|note| !note.is_empty()).map(|note| note + "\n");
    let text = format!("{done}{by}\n{}", note.unwrap_or_default());
    if let Some(fields) = json.as_object_mut() {
        fields.insert("id".to_owned(), json!(id));
    }
    Ok(Report { json: without_nulls(json), text, end: End::of(is_done) })
}

/// Asks for a passphrase: on a terminal without echo, else the next line of standard input, so that scripts can give one. None: an empty one.
fn secret(prompt: &str) -> io::Result<Option<String>> {
    let mut secret = String::new();
    if io::stdin().is_terminal() {
        secret = rpassword::prompt_password(prompt)?;
    } else {
        io::stdin().lock().read_line(&mut secret)?;
    }
    Ok(Some(secret.trim_end_matches(['\r', '\n']).to_owned()).filter(|secret| !secret.is_empty()))
}

fn one_line(question: &Value) -> String {
    let number = |name: &str| question.get(name).and_then(Value::as_u64).unwrap_or(0);
    let [id, principal, tool] = ["id", "principal", "tool"].map(|name| plain(text(question, name)));
    let left = number("expires").saturating_sub(super::setup::wall_seconds());
    let first = plain(text(question, "text").lines().next().unwrap_or_default());
    let agreed = question.get("agreed").and_then(Value::as_array).map_or(0, Vec::len);
    let mut line = format!("{id}  {left} s left  {principal}  {tool}  {first}");
    if number("needed") > 1 {
        let _ = write!(line, "  ({agreed} of {} operators agreed)", number("needed"));
    }
    if number("times") > 1 {
        let _ = write!(line, "  (asked {} times)", number("times"));
    }
    line
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
