//! `toolgate approvals secret`: who may answer, and what they prove it with.

use std::io::Write;

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

use super::{Failed, SecretCommand, terminal};
use crate::audit::{Authenticator, Checked, Enrolment, Event, Kind, Lineage, Proven, StateDir, enrollable};
use crate::cli::layout::Colour;
use crate::cli::setup::wall_seconds;

/// The name of an operator who gives none.
const DEFAULT: &str = "operator";

/// Runs a subcommand; `false`: it was refused.
pub(super) fn run(folder: &StateDir, command: SecretCommand, out: &mut dyn Write) -> Result<bool, Failed> {
    match command {
        SecretCommand::Set { who, totp } => return set(folder, who, totp, out),
        SecretCommand::List { json } => {
            for operator in folder.operators()? {
                if json {
                    writeln!(out, "{}", serde_json::to_string(&operator).map_err(std::io::Error::other)?)?;
                    continue;
                }
                let kind = match operator.kind {
                    Kind::Passphrase => "passphrase",
                    Kind::Totp => "authenticator",
                };
                let by: Vec<&str> = operator.lineage.vouched().collect();
                let word = match (operator.lineage.is_known(), by.as_slice()) {
                    (true, []) => "one of the first".to_owned(),
                    (true, by) => format!("on the word of {}", by.join(", ")),
                    (false, _) => "of unknown origin: seconds nobody".to_owned(),
                };
                writeln!(out, "{}  {kind}  {word}", operator.name)?;
            }
        }
        SecretCommand::Remove { name } => {
            if vouched(folder, &name, out)?.is_none() {
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

/// Sets secrets: those of the first names, that of one more name, or a new one in place of an old one.
fn set(folder: &StateDir, who: Vec<String>, totp: bool, out: &mut dyn Write) -> Result<bool, Failed> {
    let names = if who.is_empty() { vec![DEFAULT.to_owned()] } else { who };
    let several = names.len() > 1;
    if several && !folder.operators()?.is_empty() {
        return Err(Failed::Use("there are operators already; enrol one at a time".to_owned()));
    }
    if names.iter().enumerate().any(|(index, name)| names.iter().skip(index + 1).any(|other| other == name)) {
        return Err(Failed::Use("an operator is named twice".to_owned()));
    }
    let Some(Vouched { by, mut secrets }) = (match names.as_slice() {
        [name] => vouched(folder, name, out)?,
        _ => Some(Vouched::default()),
    }) else {
        return Ok(false);
    };
    let mut given = Vec::new();
    for name in names.iter().filter(|_| !totp) {
        let prompt = if several { format!("new passphrase of {name}: ") } else { "new passphrase: ".to_owned() };
        let Some(passphrase) = terminal::secret(&prompt)? else {
            return Err(Failed::Use("give a passphrase on the terminal, or as a line of standard input".to_owned()));
        };
        if secrets.contains(&passphrase) {
            return Err(Failed::Use("two operators cannot have one passphrase; each has one that no other knows".to_owned()));
        }
        secrets.push(passphrase.clone());
        given.push(passphrase);
    }
    // All before the first is kept: of several, either all are the first or none is.
    for (index, name) in names.iter().enumerate() {
        enrollable(name, given.get(index).map(String::as_str))?;
    }
    let mut shown = Vec::new();
    for name in names.iter().filter(|_| totp) {
        let Some(proven) = authenticator(name, out)? else {
            writeln!(out, "refused: no code of the authenticator of {name} was given; nothing has changed")?;
            return Ok(false);
        };
        shown.push(proven);
    }
    for (index, name) in names.iter().enumerate() {
        let enrolment = if by.is_empty() { Enrolment::Founding(&names) } else { Enrolment::Vouched(&by) };
        let word = if by.is_empty() { String::new() } else { format!(", on the word of {}", by.join(" and ")) };
        if let Some(passphrase) = given.get(index) {
            folder.set_passphrase(name, passphrase, enrolment)?;
            note(folder, name, &format!("passphrase{word}"))?;
            writeln!(out, "{name} answers with this passphrase from now on")?;
        } else if let Some(proven) = shown.get(index) {
            folder.set_totp(name, proven, enrolment)?;
            note(folder, name, &format!("totp{word}"))?;
            writeln!(out, "{name} answers with this authenticator from now on")?;
        }
    }
    let known = folder.operators()?;
    let enrolled: Vec<_> = known.iter().map(|operator| (operator.name.as_str(), &operator.lineage)).collect();
    if !Lineage::has_two(&enrolled) {
        let first = names.first().map_or(DEFAULT, String::as_str);
        writeln!(
            out,
            "note: for `two_persons` a second person is missing here, and an operator who is enrolled later counts as one with the first. Where it is \
             needed, enrol the first operators together, in a new state folder: toolgate approvals secret set --as {first} --as NAME"
        )?;
    }
    Ok(true)
}

/// Shows a new key to a person's authenticator, and takes it for theirs when the authenticator shows a right code. `None`: it did not.
fn authenticator(name: &str, out: &mut dyn Write) -> Result<Option<Proven>, Failed> {
    const TRIES: u32 = 3;
    let authenticator = Authenticator::draw()?;
    let address = authenticator.address(name);
    writeln!(out, "show this to the authenticator of {name}, or give it the address below; neither is shown again:\n")?;
    // A picture that cannot be made leaves the address, which says the same.
    if let Ok(code) = QrCode::new(&address) {
        writeln!(out, "{}", picture(&code, Colour::of_stdout()))?;
    }
    writeln!(out, "{address}\n")?;
    out.flush()?;
    for left in (0..TRIES).rev() {
        let Some(given) = terminal::secret("the code it shows now: ")? else { break };
        if let Some(proven) = authenticator.proven(given.trim(), wall_seconds()) {
            return Ok(Some(proven));
        }
        let again = if left > 0 { "; wait for the next one and give that" } else { "" };
        writeln!(out, "that is not its code now: the clocks here and there may differ{again}")?;
    }
    Ok(None)
}

/// A QR code in half blocks: two rows of it in a line, and the quiet zone around. Dark on light where there are colours; else light on dark,
/// which a terminal mostly is.
fn picture(code: &QrCode, colour: Colour) -> String {
    let (dark, light) = match colour {
        Colour::On => (Dense1x2::Dark, Dense1x2::Light),
        Colour::Off => (Dense1x2::Light, Dense1x2::Dark),
    };
    let text = code.render::<Dense1x2>().dark_color(dark).light_color(light).build();
    text.lines().map(|line| colour.paint("30;107", line) + "\n").collect()
}

/// Who vouched, and with what, where that is no secret of the one they vouched for.
#[derive(Default)]
struct Vouched {
    by: Vec<String>,
    secrets: Vec<String>,
}

/// Reads the secrets of the vouchers: none for the first enrolment, one for the second, two for every other; else a program of the same user could
/// enrol itself. A new secret in place of an old one takes the old one alone. `None`: they were not given.
fn vouched(folder: &StateDir, name: &str, out: &mut dyn Write) -> Result<Option<Vouched>, Failed> {
    let mut candidates: Vec<String> = folder.operators()?.into_iter().map(|operator| operator.name).collect();
    let own = candidates.iter().any(|known| known == name);
    if own {
        candidates.retain(|known| known == name);
    }
    let needed = candidates.len().min(2);
    let mut word = Vouched::default();
    while word.by.len() < needed {
        let names = candidates.join(" or ");
        let more = if word.by.is_empty() { "present secret" } else { "and, for it takes two, the present secret" };
        let given = terminal::secret(&format!("{more} of {names}: "))?;
        let mut proved = None;
        for candidate in given.iter().flat_map(|_| &candidates) {
            match folder.check_operator(candidate, given.as_deref().unwrap_or_default(), wall_seconds())? {
                Checked::Right => {
                    proved = Some(candidate.clone());
                    break;
                }
                Checked::Wrong => {}
                Checked::Closed(seconds) => writeln!(out, "{candidate}: too many wrong secrets; try again in {seconds} s")?,
            }
        }
        let (Some(proved), Some(given)) = (proved, given) else {
            writeln!(out, "refused: {more} of {names} comes first")?;
            return Ok(None);
        };
        candidates.retain(|candidate| *candidate != proved);
        word.by.push(proved);
        if !own {
            word.secrets.push(given);
        }
    }
    Ok(Some(word))
}

fn note(folder: &StateDir, name: &str, what: &str) -> Result<(), Failed> {
    super::super::switch::note(folder, Event::OperatorChanged, &format!("{name}: {what}")).map_err(|fault| Failed::State(fault.to_string()))
}
