//! `toolgate approvals secret`: who may answer, and what they prove it with.

use std::io::Write;

use super::{Failed, terminal};
use crate::audit::{Checked, Event, Kind, StateDir};
use crate::cli::arguments::SecretCommand;
use crate::cli::setup::wall_seconds;

/// The name of an operator who gives none.
const DEFAULT: &str = "operator";

/// Runs a subcommand; `false`: it was refused.
pub(super) fn run(folder: &StateDir, command: SecretCommand, out: &mut dyn Write) -> Result<bool, Failed> {
    match command {
        SecretCommand::Set { who, totp } => {
            let name = who.unwrap_or_else(|| DEFAULT.to_owned());
            if !may_change(folder, &name, out)? {
                return Ok(false);
            }
            if totp {
                let address = folder.set_totp(&name)?;
                note(folder, &name, "totp")?;
                writeln!(
                    out,
                    "{name} answers with an authenticator from now on; give it this address, which is not shown again:\n{address}"
                )?;
            } else {
                let Some(passphrase) = terminal::secret("new passphrase: ")? else {
                    return Err(Failed::Use("give a passphrase on the terminal, or as a line of standard input".to_owned()));
                };
                folder.set_passphrase(&name, &passphrase)?;
                note(folder, &name, "passphrase")?;
                writeln!(out, "{name} answers with this passphrase from now on")?;
            }
        }
        SecretCommand::List => {
            for operator in folder.operators()? {
                let kind = match operator.kind {
                    Kind::Passphrase => "passphrase",
                    Kind::Totp => "authenticator",
                };
                writeln!(out, "{}  {kind}", operator.name)?;
            }
        }
        SecretCommand::Remove { name } => {
            if !may_change(folder, &name, out)? {
                return Ok(false);
            }
            if !folder.remove_operator(&name)? {
                writeln!(out, "{name} has no secret here")?;
                return Ok(false);
            }
            note(folder, &name, "removed")?;
            writeln!(out, "{name} cannot answer any more")?;
        }
    }
    Ok(true)
}

/// The first secret is free. From then on only an operator makes or unmakes operators: else an agent with the same user would make itself one.
fn may_change(folder: &StateDir, name: &str, out: &mut dyn Write) -> Result<bool, Failed> {
    let known = folder.operators()?;
    if known.is_empty() {
        return Ok(true);
    }
    // One who has a secret proves to be that one; a new one is vouched for by any who has.
    let own: Vec<_> = known.iter().filter(|operator| operator.name == name).collect();
    let vouching = if own.is_empty() { known.iter().collect() } else { own };
    let names: Vec<&str> = vouching.iter().map(|operator| operator.name.as_str()).collect();
    let Some(given) = terminal::secret(&format!("present secret of {}: ", names.join(" or ")))? else {
        writeln!(out, "refused: the present secret of {} comes first", names.join(" or "))?;
        return Ok(false);
    };
    for operator in vouching {
        match folder.check_operator(&operator.name, &given, wall_seconds())? {
            Checked::Right => return Ok(true),
            Checked::Wrong => {}
            Checked::Closed(seconds) => writeln!(out, "{}: too many wrong secrets; try again in {seconds} s", operator.name)?,
        }
    }
    writeln!(out, "refused: the present secret of {} comes first", names.join(" or "))?;
    Ok(false)
}

fn note(folder: &StateDir, name: &str, what: &str) -> Result<(), Failed> {
    super::super::run::note(folder, Event::OperatorChanged, &format!("{name}: {what}")).map_err(|fault| Failed::State(fault.to_string()))
}
