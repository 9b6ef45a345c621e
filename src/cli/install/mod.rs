//! Registration in the configuration of known clients: the snippet, and its way into the file without losing anything else there.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

mod clients;
mod edit;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::lookup::{self, variable};
use super::run::{End, Fault, Globals, Report};
use super::{setup, text_file, trust};
use crate::sandbox::programs::on_search_path;
pub use clients::Client;
use clients::Format;
pub(super) use edit::snippet;

/// How a client starts the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The binary: an absolute path, or a name that the client finds.
    pub program: String,
    /// Its arguments, `serve` first.
    pub arguments: Vec<String>,
}

/// Where configurations lie.
#[derive(Debug, Clone)]
pub struct Places {
    /// The user's folder.
    pub home: PathBuf,
    /// The folder of configurations, e.g. `$XDG_CONFIG_HOME`.
    pub config: PathBuf,
    /// The project, for clients that read theirs from there.
    pub project: PathBuf,
}

/// What a registration did.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    /// The client's file.
    file: PathBuf,
    /// Where its former content is kept; none where there was none or nothing changed.
    backup: Option<PathBuf>,
    /// Whether anything had to be written.
    changed: bool,
}

impl Places {
    /// Those of the user of this process.
    pub(super) fn of_user() -> Result<Self, Fault> {
        let home = variable("HOME").ok_or_else(|| Fault::Use("HOME is not set".to_owned()))?;
        let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        Ok(Self { home, config, project: std::env::current_dir()? })
    }
}

/// Print toolgate's entry in a client's configuration, or write it.
#[derive(Debug, Args)]
pub struct Install {
    /// The client.
    #[arg(value_parser = Client::parser())]
    client: &'static Client,
    /// Write the entry.
    #[arg(long)]
    write: bool,
    /// Remove the entry.
    #[arg(long)]
    remove: bool,
}

pub(super) fn run(arguments: &Install, globals: &Globals) -> Result<Report, Fault> {
    let (client, places) = (arguments.client, Places::of_user()?);
    if arguments.remove {
        return uninstall(arguments);
    }
    let (server, words) = server(client, globals.manifest.as_deref(), &places)?;
    let words = words + &client.note().unwrap_or_default();
    let file = client.file(&places);
    let done =
        if arguments.write { Some(change(client, &places, true, &|text| edit::with(client, text, &server).map(Some))?) } else { None };
    let text = match &done {
        None => format!("# into {}\n{}\n", file.display(), snippet(client, &server)),
        Some(done) if !done.changed => format!("{} has it already\n", done.file.display()),
        Some(done) => format!("wrote {}{}\n", done.file.display(), text_file::kept(done.backup.as_deref())),
    };
    let json = json!({
        "file": file, "written": done.as_ref().is_some_and(|done| done.changed), "backup": done.and_then(|done| done.backup),
        "command": server.program, "args": server.arguments, "text": snippet(client, &server), "notes": words.lines().collect::<Vec<_>>(),
    });
    Ok(Report { json, text: text + &words, end: End::Done })
}

/// Takes the server out of the client's configuration again.
pub(super) fn uninstall(&Install { client, write, .. }: &Install) -> Result<Report, Fault> {
    let removed = change(client, &Places::of_user()?, write, &|text| edit::without(client, text))?;
    let file = removed.file.display();
    let text = match (removed.changed, write) {
        (false, _) => format!("{file} does not have it\n"),
        (true, false) => format!("{file} has it; --write takes it out\n"),
        (true, true) => format!("took it out of {file}{}\n", text_file::kept(removed.backup.as_deref())),
    };
    let json = json!({"file": removed.file, "found": removed.changed, "removed": removed.changed && write, "backup": removed.backup});
    Ok(Report { json, text, end: End::of(removed.changed) })
}

/// The command line that a client starts the server with, and the notes that `install` and `init` print beside it.
///
/// A file that a team shares through its repository names neither a folder of this machine nor the manifest: the server finds that beside the file,
/// and serves by it only where its user trusts it.
pub(super) fn server(client: &Client, flag: Option<&Path>, places: &Places) -> Result<(Server, String), Fault> {
    let program = std::env::current_exe()?;
    let found = lookup::manifest(flag)?;
    let mut words = String::new();
    let mut arguments = vec!["serve".to_owned()];
    let mut shared = client.is_shared();
    match found {
        None => {
            words.push_str(
                "no manifest is found: the built-in one would be in force; `toolgate init` writes one here, then install again\n",
            );
        }
        Some(lookup::Manifest { path, .. }) => {
            let file = path.canonicalize().map_err(|fault| Fault::Use(format!("`{}`: {fault}", path.display())))?;
            let text = text_file::read(&file)?;
            shared &= lookup::above(&places.project).and_then(|found| found.canonicalize().ok()).is_some_and(|found| found == file);
            if !shared {
                arguments.extend(["--manifest".to_owned(), file.display().to_string()]);
            } else if !trust::is_trusted(&file, &trust::digest(&text)) {
                let _ = writeln!(words, "it serves by {} once `toolgate trust` has shown it", file.display());
            }
        }
    }
    if let Some(dir) = setup::named_state() {
        arguments.extend(["--state-dir".to_owned(), dir.display().to_string()]);
    }
    // Whether a client that starts `toolgate` starts this program.
    let is_found = on_search_path(Path::new("toolgate")).is_some_and(|found| found.canonicalize().ok() == program.canonicalize().ok());
    if shared && is_found {
        words.push_str("the file can be shared: it names no folder of this machine; each of its users runs `toolgate trust` once\n");
    } else if shared {
        words.push_str("to share the file, put `toolgate` on the search path and install again: now the file names it by its place\n");
    }
    let program = if shared && is_found { "toolgate".to_owned() } else { program.display().to_string() };
    Ok((Server { program, arguments }, words))
}

/// Replaces a client's file in one step by what `after` makes of its text, and keeps a copy beside it; `None` leaves it. `write`: whether that is done,
/// or only looked at.
/// # Errors  When the file cannot be read as what it should be, or cannot be written; it is then as it was.
fn change(client: &Client, places: &Places, write: bool, after: &dyn Fn(&str) -> Result<Option<String>, String>) -> Result<Written, Fault> {
    let named = client.file(places);
    if client.is_pasted() {
        let place = named.display();
        let what = "this client is configured by hand: paste what `toolgate install` prints into";
        return Err(Fault::Use(format!("{what} {place}, or take it out there")));
    }
    let file = if client.is_shared() {
        if let Some(link) = link_below(&places.project, &named) {
            let link = link.display();
            return Err(Fault::Use(format!(
                "`{link}` is a symbolic link and could lead anywhere; replace it, or paste what install prints"
            )));
        }
        named
    } else {
        // A linked configuration of a person stays linked: what the link leads to is replaced.
        named.canonicalize().unwrap_or(named)
    };
    let failed = |what: &str, why: &dyn std::fmt::Display| Fault::Use(format!("`{}` cannot be {what}: {why}", file.display()));
    let before = match std::fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => None,
        Err(fault) => return Err(failed("read", &fault)),
    };
    let format = if client.format() == Format::Toml { "TOML" } else { "JSON with comments" };
    let text = before.as_deref().unwrap_or_default();
    let after =
        after(text).map_err(|why| failed(&format!("read as {format}"), &format!("{why}; mend it, or paste the snippet by hand")))?;
    let Some(after) = after.filter(|after| before.as_deref() != Some(after.as_str())) else {
        return Ok(Written { file, backup: None, changed: false });
    };
    if !write {
        return Ok(Written { file, backup: None, changed: true });
    }
    let backup = before.as_ref().map(|_| text_file::keep(&file)).transpose().map_err(|fault| failed("copied to a backup", &fault))?;
    text_file::replace(&file, &after).map_err(|fault| failed("written", &fault))?;
    Ok(Written { file, backup, changed: true })
}

/// The first link on the way from a folder to a file below it, the file included; whether or not it leads anywhere. A repository may hold links,
/// and they lead wherever its author wants.
fn link_below(folder: &Path, file: &Path) -> Option<PathBuf> {
    let way = file.strip_prefix(folder).unwrap_or(file).ancestors().map(|part| folder.join(part)).collect::<Vec<_>>();
    way.into_iter().rev().find(|part| part != folder && part.is_symlink())
}
