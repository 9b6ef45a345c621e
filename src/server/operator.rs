//! The operator's side of a server: a socket in the state folder, on which questions are listed and answered, one JSON object a line.
//!
//! Only the owner of the state folder and root can connect. An owner also has to prove to be an operator, for an agent's other tools may run as the
//! same user; root need not.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::audit::{Event, Record, Sync};
use crate::context::ServerContext;
use crate::policy::is_caller;
use crate::state::{Answered, Ask, Checked, Operator, OperatorSocket, Say, persons};

/// What an operator asks of a server.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// Everything that waits.
    List,
    /// One question.
    Show { id: String },
    /// An answer.
    Answer {
        id: String,
        say: Say,
        /// What the operator was shown.
        binding: String,
        #[serde(default)]
        operator: Option<String>,
        #[serde(default)]
        secret: Option<String>,
        #[serde(default)]
        reason: Option<String>,
    },
}

/// A question as an operator sees it.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    ask: Ask,
    /// Who agreed already; of two of whom one enrolled the other alone, the first.
    agreed: Vec<String>,
    /// How often the same was asked.
    times: u64,
}

/// The socket of this server, until dropped.
#[derive(Debug)]
pub(super) struct Operators {
    task: JoinHandle<()>,
    /// Its name goes last.
    _place: OperatorSocket,
}

impl Drop for Operators {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Begins to listen; a server that cannot be reached by operators serves all the same, and says so.
pub(super) fn listen(server: &Arc<ServerContext>) -> Option<Operators> {
    let listener = server.state().listen().and_then(|(listener, place)| {
        listener.set_nonblocking(true)?;
        Ok((UnixListener::from_std(listener)?, place))
    });
    match listener {
        Ok((listener, place)) => Some(Operators { task: tokio::spawn(accept(listener, Arc::clone(server))), _place: place }),
        Err(fault) => {
            tracing::warn!(%fault, "operators cannot reach this server");
            None
        }
    }
}

/// Connections at one time; an operator needs one.
const MOST: usize = 16;

async fn accept(listener: UnixListener, server: Arc<ServerContext>) {
    let places = Arc::new(tokio::sync::Semaphore::new(MOST));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Beyond the bound the connection is closed at once.
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
                let server = Arc::clone(&server);
                tokio::spawn(async move {
                    if let Err(fault) = attend(stream, &server).await {
                        tracing::info!(%fault, "an operator's connection ended");
                    }
                    drop(place);
                });
            }
            Err(fault) => {
                tracing::warn!(%fault, "a connection of an operator could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// The longest line an operator sends.
const LINE: u64 = 64 << 10;
/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_mins(10);

async fn attend(stream: UnixStream, server: &Arc<ServerContext>) -> std::io::Result<()> {
    let peer = stream.peer_cred()?;
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let own = server.state().owner();
    if peer.uid() != own && peer.uid() != 0 {
        record(server, Event::OperatorRefused, None, json!({"uid": peer.uid(), "why": "another user"}))?;
        return Ok(());
    }
    let by_root = peer.uid() != own;
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut reader).take(LINE);
        let Ok(read) = tokio::time::timeout(SILENCE, bounded.read_until(b'\n', &mut line)).await else { return Ok(()) };
        if read? == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_slice::<Request>(&line) {
            Ok(request) => answer(server, request, peer.uid(), by_root).await.unwrap_or_else(|fault| failed(&fault.to_string())),
            Err(_) => failed("this is no request"),
        };
        let mut line = answer.to_string().into_bytes();
        line.push(b'\n');
        writer.write_all(&line).await?;
    }
}

fn failed(why: &str) -> Value {
    json!({"ok": false, "why": why})
}

async fn answer(server: &Arc<ServerContext>, request: Request, uid: u32, by_root: bool) -> std::io::Result<Value> {
    match request {
        Request::List => {
            let now = server.gate().tick();
            let waiting = server.state().asks()?.into_iter().filter(|ask| !ask.is_over(now));
            // A whole difference is long; it is shown with its question alone.
            let short = waiting.map(|ask| Ask { diff: String::new(), ..ask });
            let shown: std::io::Result<Vec<Shown>> = short.map(|ask| shown(server, ask)).collect();
            Ok(json!({"ok": true, "questions": shown?}))
        }
        Request::Show { id } => match server.state().ask(&id)? {
            Some(ask) => Ok(json!({"ok": true, "question": shown(server, ask)?})),
            None => Ok(failed("no such question waits")),
        },
        Request::Answer { id, say, binding, operator, secret, reason } => {
            let Some(ask) = server.state().ask(&id)? else { return Ok(failed("no such question waits")) };
            if ask.binding != binding {
                return Ok(failed("this is not the question you were shown; look at it again"));
            }
            if ask.is_over(server.gate().tick()) {
                return Ok(failed("the question has ended"));
            }
            let word = word(say);
            // INVARIANT: a yes goes no further than the question offers, whatever an operator's program sends.
            let is_plain = matches!(say, Say::Deny | Say::Once) || say == Say::Session && ask.level < 3;
            if !is_plain && !ask.choices.iter().any(|(value, _)| value == word) {
                return Ok(failed(&format!("this question does not offer `{word}`")));
            }
            let server = Arc::clone(server);
            // A passphrase is slow to check, on purpose.
            let done = tokio::task::spawn_blocking(move || match prove(&server, &ask, say, Prover { operator, secret, uid, by_root })? {
                Ok(operator) => keep(&server, &ask, operator, say, uid, reason),
                Err(why) => Ok(failed(&why)),
            });
            done.await.map_err(std::io::Error::other)?
        }
    }
}

/// Who says to be an operator, and how they prove it.
struct Prover {
    operator: Option<String>,
    secret: Option<String>,
    uid: u32,
    by_root: bool,
}

/// The operator who proved to be one; or why nobody did.
fn prove(server: &ServerContext, ask: &Ask, say: Say, who: Prover) -> std::io::Result<Result<Operator, String>> {
    let Prover { operator, secret, uid, by_root } = who;
    let unproven = |name: String| Ok(Ok(Operator { name, enrolled_by: None }));
    if by_root {
        return unproven("root".to_owned());
    }
    // A no needs no proof: it makes nothing possible.
    if say == Say::Deny && secret.is_none() {
        return unproven(operator.unwrap_or_else(|| format!("uid:{uid}")));
    }
    let known = server.state().operators()?;
    let name = match (operator, known.as_slice()) {
        (_, []) => return Ok(Err("no operator has a secret yet: toolgate approvals secret set".to_owned())),
        (Some(name), _) => name,
        (None, [only]) => only.name.clone(),
        (None, _) => return Ok(Err("several operators have secrets; say who you are with `--as NAME`".to_owned())),
    };
    let why = match server.state().check_operator(&name, secret.as_deref().unwrap_or_default(), server.gate().tick().seconds())? {
        Checked::Right if is_caller(&name, &ask.principal) => "nobody approves a call of their own".to_owned(),
        Checked::Right => {
            let enrolled_by = known.into_iter().find(|operator| operator.name == name).and_then(|operator| operator.enrolled_by);
            return Ok(Ok(Operator { name, enrolled_by }));
        }
        Checked::Wrong => "the secret is not this operator's".to_owned(),
        Checked::Closed(seconds) => format!("too many wrong secrets; try again in {seconds} s"),
    };
    record(server, Event::OperatorRefused, Some(ask), json!({"operator": name, "uid": uid, "why": why}))?;
    Ok(Err(why))
}

/// Keeps an answer: on the record first.
fn keep(server: &ServerContext, ask: &Ask, operator: Operator, say: Say, uid: u32, reason: Option<String>) -> std::io::Result<Value> {
    let name = operator.name.clone();
    let answered = Answered::new(ask, operator, say, server.gate().tick());
    if server.state().answers(&ask.id)?.iter().any(|other| other.operator == name) {
        return Ok(failed("you have answered this already"));
    }
    let decision = word(say);
    let reason = reason.map(|reason| reason.chars().take(500).collect::<String>());
    record(
        server,
        Event::ApprovalAnswered,
        Some(ask),
        json!({"decision": decision, "operator": name, "uid": uid, "reason_given": reason}),
    )?;
    if !server.state().put_answer(&answered)? {
        return Ok(failed("you have answered this already"));
    }
    let agreed = agreed(server, &ask.id)?;
    let counted = persons(&agreed).len();
    let lacking = if say == Say::Deny { 0 } else { usize::from(ask.needed).saturating_sub(counted) };
    let note =
        (lacking > 0 && agreed.len() > counted).then_some("one of those who agreed enrolled the other alone; another operator must agree");
    Ok(json!({"ok": true, "operator": name, "decision": decision, "lacking": lacking, "note": note}))
}

/// An answer as it is written.
const fn word(say: Say) -> &'static str {
    match say {
        Say::Deny => "deny",
        Say::Once => "once",
        Say::Session => "session",
        Say::SessionFolder => "session_folder",
        Say::SessionRoot => "session_root",
    }
}

/// The answers that are no refusal.
fn agreed(server: &ServerContext, id: &str) -> std::io::Result<Vec<Answered>> {
    let mut answers = server.state().answers(id)?;
    answers.retain(|answered| answered.say != Say::Deny);
    Ok(answers)
}

fn shown(server: &ServerContext, ask: Ask) -> std::io::Result<Shown> {
    let agreed = persons(&agreed(server, &ask.id)?).into_iter().map(|answered| answered.operator.clone()).collect();
    Ok(Shown { times: server.state().times_asked(&ask.id), agreed, ask })
}

/// Records what an operator did, on disk before it counts.
fn record(server: &ServerContext, event: Event, ask: Option<&Ask>, facts: Value) -> std::io::Result<()> {
    let mut record = Record::new(event);
    let facts = if let Value::Object(facts) = facts { facts } else { Map::new() };
    let decision = facts.get("decision").and_then(Value::as_str).map(str::to_owned);
    record.decision = decision.as_deref();
    if let Some(ask) = ask {
        record.call = Some(&ask.call);
        record.session = Some(&ask.session);
        record.principal = Some(&ask.principal);
        record.profile = Some(&ask.profile);
        record.tool = Some(&ask.tool);
        record.level = Some(ask.level);
        record.approval = Some(&ask.id);
    }
    record.extra = facts.into_iter().filter(|(name, value)| name != "decision" && !value.is_null()).collect();
    server.log().append(&record, Sync::Durable).map(drop).map_err(std::io::Error::other)
}
