//! `toolgate kill` and `resume`: the emergency stop, and the end of a suspension.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::audit as log;
use super::run::{End, Fault, Report};
use crate::audit::{Event, Record, Sync};
use crate::filter::escape;
use crate::state::{StateDir, Store, of_session};

/// Stop all work on every server of the state folder at once.
#[derive(Debug, Args)]
pub(super) struct Kill {
    /// The reason, for the log.
    #[arg(long, default_value = "operator")]
    reason: String,
}

/// End the emergency stop, or the suspension of one caller.
#[derive(Debug, Args)]
pub(super) struct Resume {
    /// The caller that was suspended, as the log names it.
    #[arg(long, value_name = "P")]
    principal: Option<String>,
    /// The session that was suspended, as its refusals and the log name it. Sessions are suspended over standard input only.
    #[arg(long, value_name = "ID", conflicts_with = "principal")]
    session: Option<String>,
}

pub(super) fn kill(Kill { reason }: &Kill, path: &Path) -> Result<Report, Fault> {
    let folder = StateDir::open(path)?;
    // Looked at before the switch is on, for an installation ends at once by it, and after: a server that starts later than that finds it.
    let before = folder.has_running();
    folder.kill(reason)?;
    let running = if matches!(before, Ok(true)) { before } else { folder.has_running() };
    // The switch is on already; its record tells why, and a full disk does not lift it.
    if let Err(fault) = note(&folder, Event::KillOn, reason) {
        writeln!(io::stderr(), "toolgate: the stop is on, and could not be recorded: {fault}")?;
    }
    let place = path.display();
    let text = match &running {
        Ok(true) => format!("the emergency stop is on for every server with the state folder {place}; `toolgate resume` lifts it\n"),
        Ok(false) => format!(
            "no server was stopped: none uses the state folder {place}. The emergency stop is on there: a server that starts with this folder is \
         stopped as well, until `toolgate resume`. To stop a server that uses another folder, name its manifest with `--manifest`\n"
        ),
        Err(fault) => format!("set, and it cannot be told whether a server with the state folder {place} is running: {fault}\n"),
    };
    let has_running = running.ok();
    let json = json!({"state": path, "stopped": true, "heard": has_running});
    Ok(Report { json, text, end: End::of(has_running == Some(true)) })
}

/// Of a caller or a session ends its suspension; without one, the emergency stop.
pub(super) fn resume(Resume { principal, session }: &Resume, path: &Path) -> Result<Report, Fault> {
    let (principal, session) = (principal.as_deref(), session.as_deref());
    let folder = StateDir::open(path)?;
    let (key, named) = match (principal, session) {
        (Some(principal), _) => (principal.to_owned(), format!("the caller `{}`", escape(principal))),
        (None, Some(session)) => (of_session(session), format!("the session `{}`", escape(session))),
        (None, None) => {
            // Lifted only once that is on record.
            if folder.is_killed() {
                note(&folder, Event::KillOff, "operator")?;
            }
            let was_on = folder.resume()?;
            let text = if was_on { "the emergency stop is lifted\n" } else { "the emergency stop was not on\n" };
            return Ok(Report { json: json!({"state": path, "was_stopped": was_on}), text: text.to_owned(), end: End::of(was_on) });
        }
    };
    let place = path.display();
    if !Store::open(&folder)?.resume(&key)? {
        return Err(Fault::Use(format!("{named} is not suspended on any server with the state folder {place}")));
    }
    append(&folder, &Record { session, principal, ..Record::new(Event::BreakerReset) })?;
    let text = format!("{named} is not suspended any more, on every server with the state folder {place}\n");
    Ok(Report { json: json!({"state": path, "resumed": key}), text, end: End::Done })
}

/// Records what the operator did, and why.
pub(super) fn note(folder: &StateDir, event: Event, reason: &str) -> Result<(), Fault> {
    let mut record = Record::new(event);
    record.extra.insert("reason_given".to_owned(), reason.into());
    append(folder, &record)
}

fn append(folder: &StateDir, record: &Record<'_>) -> Result<(), Fault> {
    let log = log::open(folder.path())?;
    log.append(record, Sync::Durable)?;
    Ok(log.close()?)
}
