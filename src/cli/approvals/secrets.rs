//! `toolgate approvals secret`: who may answer, each with a passphrase.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::{SecretCommand, secret};
use crate::audit::Event;
use crate::cli::run::{End, Fault, Report};
use crate::cli::setup::wall_seconds;
use crate::cli::switch;
use crate::state::{Checked, StateDir};

/// Runs a subcommand.
pub(super) fn run(folder: &StateDir, command: SecretCommand, as_json: bool, out: &mut dyn Write) -> Result<Report, Fault> {
    let is_done = match command {
        SecretCommand::Set { who } => set(folder, who, out)?,
        SecretCommand::List => {
            for operator in folder.operators()? {
                if as_json {
                    writeln!(out, "{}", serde_json::to_string(&operator).map_err(io::Error::other)?)?;
                    continue;
                }
                let by = operator.enrolled_by.map(|by| format!("  enrolled by {by} alone")).unwrap_or_default();
                writeln!(out, "{}{by}", operator.name)?;
            }
            true
        }
        SecretCommand::Remove { name } => {
            let may = enrollers(folder, &name, out)?.is_some();
            let is_removed = may && folder.remove_operator(&name)?;
            if is_removed {
                note(folder, &name, "removed")?;
                writeln!(out, "{name} cannot answer any more")?;
            } else if may {
                writeln!(out, "{name} has no passphrase here")?;
            }
            is_removed
        }
    };
    Ok(End::of(is_done).into())
}

/// Sets passphrases: those of the first names, that of one more name, or a new one in place of an old one.
fn set(folder: &StateDir, names: Vec<String>, out: &mut dyn Write) -> Result<bool, Fault> {
    if names.len() > 1 && !folder.operators()?.is_empty() {
        return Err(Fault::Use("there are operators already; enrol one at a time".to_owned()));
    }
    if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
        return Err(Fault::Use("an operator is named twice".to_owned()));
    }
    let enrollers = match names.as_slice() {
        [name] => enrollers(folder, name, out)?,
        _ => Some(Vec::new()),
    };
    let Some(enrollers) = enrollers else { return Ok(false) };
    let mut new: Vec<(String, String)> = Vec::new();
    for name in names {
        let Some(passphrase) = secret(&format!("new passphrase of {name}: "))? else {
            return Err(Fault::Use("give a passphrase on the terminal, or as a line of standard input".to_owned()));
        };
        if enrollers.iter().chain(&new).any(|(other, theirs)| *other != name && *theirs == passphrase) {
            return Err(Fault::Use("two operators cannot have one passphrase; each has one that no other knows".to_owned()));
        }
        new.push((name, passphrase));
    }
    let by: Vec<String> = enrollers.into_iter().map(|(name, _)| name).collect();
    folder.enrol(&new, &by)?;
    let word = if by.is_empty() { String::new() } else { format!(", enrolled by {}", by.join(" and ")) };
    for (name, _) in new {
        note(folder, &name, &format!("passphrase{word}"))?;
        writeln!(out, "{name} answers with this passphrase from now on")?;
    }
    Ok(true)
}

/// Reads the present passphrases of operators, and gives each with its name: of none for the first enrolment, of one for the second, of two for every
/// other; else a program of the same user could enrol itself. A known operator gives its own alone. `None`: they were not given.
fn enrollers(folder: &StateDir, name: &str, out: &mut dyn Write) -> Result<Option<Vec<(String, String)>>, Fault> {
    let mut candidates: Vec<String> = folder.operators()?.into_iter().map(|operator| operator.name).collect();
    if candidates.iter().any(|known| known == name) {
        candidates.retain(|known| known == name);
    }
    let needed = candidates.len().min(2);
    let mut proved: Vec<(String, String)> = Vec::new();
    while proved.len() < needed {
        let names = candidates.join(" or ");
        let more = if proved.is_empty() { "present passphrase" } else { "and, for it takes two, the present passphrase" };
        let given = secret(&format!("{more} of {names}: "))?.unwrap_or_default();
        let mut right = None;
        for (index, candidate) in candidates.iter().enumerate().filter(|_| !given.is_empty()) {
            match folder.check_operator(candidate, &given, wall_seconds())? {
                Checked::Right => {
                    right = Some(index);
                    break;
                }
                Checked::Wrong => {}
                Checked::Closed(seconds) => writeln!(out, "{candidate}: too many wrong passphrases; try again in {seconds} s")?,
            }
        }
        let Some(index) = right else {
            writeln!(out, "refused: {more} of {names} comes first")?;
            return Ok(None);
        };
        proved.push((candidates.remove(index), given));
    }
    Ok(Some(proved))
}

fn note(folder: &StateDir, name: &str, what: &str) -> Result<(), Fault> {
    switch::note(folder, Event::OperatorChanged, &format!("{name}: {what}"))
}
