//! `toolgate kill` and `resume`: the emergency stop, and the end of a suspension.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;

use super::audit as log;
use super::run::{End, Fault};
use crate::audit::store::{Store, of_session};
use crate::audit::{Event, Record, StateDir, Sync};
use crate::filter::escape;

/// `toolgate kill`
pub(super) fn kill(reason: &str, path: &Path, as_json: bool, out: &mut dyn Write) -> Result<End, Fault> {
    let folder = StateDir::open(path).map_err(|fault| Fault::Use(fault.to_string()))?;
    // Looked at before the switch is on, for an installation ends at once by it, and after: a server that starts later than that finds it.
    let before = folder.is_heeded();
    folder.kill(reason)?;
    let heeded = if matches!(before, Ok(true)) { before } else { folder.is_heeded() };
    // The switch is on already; its record tells why, and a full disk does not lift it.
    if let Err(fault) = note(&folder, Event::KillOn, reason) {
        writeln!(io::stderr(), "toolgate: the stop is on, and could not be recorded: {fault}")?;
    }
    let place = path.display();
    if as_json {
        let is_heard = heeded.as_ref().ok();
        writeln!(out, "{}", json!({"state": path, "stopped": true, "heard": is_heard}))?;
        return Ok(if is_heard == Some(&true) { End::Done } else { End::Negative });
    }
    match heeded {
        Ok(false) => {
            writeln!(
                out,
                "set, nobody is running: no server uses the state folder {place}; the emergency stop stays on for every later one, until \
                 `toolgate resume`. A server with another folder does not hear it: name its manifest with `--manifest`"
            )?;
            Ok(End::Negative)
        }
        Ok(true) => {
            writeln!(out, "the emergency stop is on for every server with the state folder {place}; `toolgate resume` lifts it")?;
            Ok(End::Done)
        }
        Err(fault) => {
            writeln!(out, "set, and it cannot be told whether a server with the state folder {place} is running: {fault}")?;
            Ok(End::Negative)
        }
    }
}

/// What a suspension is of.
#[derive(Debug)]
pub(super) enum Suspended {
    Principal(String),
    Session(String),
}

/// Ends a suspension.
pub(super) fn reset(suspended: &Suspended, path: &Path, as_json: bool, out: &mut dyn Write) -> Result<End, Fault> {
    let folder = StateDir::open(path).map_err(|fault| Fault::Use(fault.to_string()))?;
    let mut record = Record::new(Event::BreakerReset);
    let (key, named) = match suspended {
        Suspended::Principal(principal) => {
            record.principal = Some(principal);
            (principal.clone(), format!("the caller `{}`", escape(principal)))
        }
        Suspended::Session(session) => {
            record.session = Some(session);
            (of_session(session), format!("the session `{}`", escape(session)))
        }
    };
    let place = path.display();
    if !Store::open(&folder)?.resume(&key)? {
        return Err(Fault::Use(format!("{named} is not suspended on any server with the state folder {place}")));
    }
    append(&folder, &record)?;
    if as_json {
        writeln!(out, "{}", json!({"state": path, "resumed": key}))?;
        return Ok(End::Done);
    }
    writeln!(out, "{named} is not suspended any more, on every server with the state folder {place}")?;
    Ok(End::Done)
}

/// `toolgate resume`
pub(super) fn resume(path: &Path, as_json: bool, out: &mut dyn Write) -> Result<End, Fault> {
    let folder = StateDir::open(path).map_err(|fault| Fault::Use(fault.to_string()))?;
    // Lifted only once that is on record.
    if folder.is_killed() {
        note(&folder, Event::KillOff, "operator")?;
    }
    let was_on = folder.resume()?;
    if as_json {
        writeln!(out, "{}", json!({"state": path, "was_stopped": was_on}))?;
        return Ok(if was_on { End::Done } else { End::Negative });
    }
    writeln!(out, "{}", if was_on { "the emergency stop is lifted" } else { "the emergency stop was not on" })?;
    Ok(if was_on { End::Done } else { End::Negative })
}

/// Records what the operator did, and why.
pub(super) fn note(folder: &StateDir, event: Event, reason: &str) -> Result<(), Fault> {
    let mut record = Record::new(event);
    record.extra.insert("reason_given".to_owned(), reason.into());
    append(folder, &record)
}

fn append(folder: &StateDir, record: &Record) -> Result<(), Fault> {
    let log = log::open(folder.path()).map_err(log::Failed::from)?;
    log.append(record, Sync::Durable).map_err(log::Failed::from)?;
    log.close().map_err(log::Failed::from)?;
    Ok(())
}
