//! What `install` registers and `uninstall` takes out: the command line by which a client starts the server.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::arguments::{ClientName, YesNo};
use super::lookup;
use super::run::{End, Fault, Manner, write_first};
use super::{init, install, setup, trust};

/// The command line that a client starts the server with, and the notes that `install` and `init` print beside it.
///
/// A file that a team shares through its repository names neither a folder of this machine nor the manifest: the server finds that beside the file,
/// and serves by it only where its user trusts it.
pub(super) fn server(client: ClientName, flag: Option<&Path>, places: &install::Places) -> Result<(install::Server, String), Fault> {
    let program = std::env::current_exe()?;
    let found = lookup::manifest(flag).map_err(Fault::Use)?;
    let mut words = String::new();
    let mut arguments = vec!["serve".to_owned()];
    let mut shared = install::is_shared(client);
    match found {
        None => {
            words.push_str(
                "no manifest is named or found: the built-in one would be in force, with a scratch folder for each session and nothing else. \
                 `toolgate init` writes a tools.toml here; then install again\n",
            );
        }
        Some(lookup::Manifest { path, .. }) => {
            let file = path.canonicalize().map_err(|fault| Fault::Use(format!("`{}`: {fault}", path.display())))?;
            let text = super::text_file::read(&file)?;
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
    let is_found = on_search_path(&program);
    if shared && is_found {
        words.push_str("the file can be shared: it names no folder of this machine; each of its users runs `toolgate trust` once\n");
    } else if shared {
        words.push_str(
            "`toolgate` is not on the search path, so the file names it by its place: to share the file, put it there and install again\n",
        );
    }
    let program = if shared && is_found { "toolgate".to_owned() } else { program.display().to_string() };
    Ok((install::Server { program, arguments }, words))
}

/// Whether the name `toolgate` finds this program.
fn on_search_path(program: &Path) -> bool {
    let first = std::env::var_os("PATH")
        .and_then(|path| std::env::split_paths(&path).map(|folder| folder.join("toolgate")).find(|file| file.is_file()));
    first.and_then(|file| file.canonicalize().ok()).is_some_and(|file| program.canonicalize().is_ok_and(|program| program == file))
}

/// `toolgate install`. `asks`: whether a person is there to be offered a first manifest where there is none.
pub(super) fn install(
    client: ClientName,
    write: bool,
    json: bool,
    asks: bool,
    manifest: Option<&Path>,
    out: &mut dyn Write,
) -> Result<End, Fault> {
    let places = install::Places::of_user()?;
    if asks && lookup::manifest(manifest).map_err(Fault::Use)?.is_none() {
        let here = places.project.display();
        let question =
            format!("There is no manifest here or above. Write a first tools.toml in {here}, which opens that folder? yes/no [no]");
        if init::yes_or_no(&mut std::io::stdin().lock(), out, &question)? == Some(YesNo::Yes) {
            write_first(None, init::Given::default(), Manner { yes: true, ..Manner::default() }, out)?;
        }
    }
    let (server, words) = server(client, manifest, &places)?;
    let note = install::note(client).unwrap_or_default();
    let written = if write { Some(install::write(client, &places, &server)?) } else { None };
    if json {
        let notes: Vec<&str> = words.lines().chain(note.lines()).collect();
        let told = json!({
            "file": install::file(client, &places),
            "written": written.as_ref().is_some_and(|written| written.changed),
            "backup": written.and_then(|written| written.backup),
            "command": server.program,
            "args": server.arguments,
            "text": install::snippet(client, &server),
            "notes": notes,
        });
        writeln!(out, "{told}")?;
        return Ok(End::Done);
    }
    match written {
        None => writeln!(out, "# into {}\n{}", install::file(client, &places).display(), install::snippet(client, &server))?,
        Some(install::Written { file, changed: false, .. }) => writeln!(out, "{} has it already", file.display())?,
        Some(install::Written { file, backup: None, .. }) => writeln!(out, "wrote {}", file.display())?,
        Some(install::Written { file, backup: Some(backup), .. }) => {
            writeln!(out, "wrote {}; what was there is kept in {}", file.display(), backup.display())?;
        }
    }
    write!(out, "{words}{note}")?;
    Ok(End::Done)
}

/// `toolgate install CLIENT --remove`, or `uninstall CLIENT`
pub(super) fn uninstall(client: ClientName, write: bool, json: bool, out: &mut dyn Write) -> Result<End, Fault> {
    let places = install::Places::of_user()?;
    let removed = install::remove(client, &places, write)?;
    if json {
        let told = json!({
            "file": removed.file,
            "found": removed.changed,
            "removed": removed.changed && write,
            "backup": removed.backup,
        });
        writeln!(out, "{told}")?;
        return Ok(if removed.changed { End::Done } else { End::Negative });
    }
    let file = removed.file.display();
    match (removed.changed, write, removed.backup) {
        (false, ..) => writeln!(out, "{file} does not have it")?,
        (true, false, _) => writeln!(out, "{file} has it; --write takes it out")?,
        (true, true, None) => writeln!(out, "took it out of {file}")?,
        (true, true, Some(backup)) => writeln!(out, "took it out of {file}; what was there is kept in {}", backup.display())?,
    }
    Ok(if removed.changed { End::Done } else { End::Negative })
}

impl install::Places {
    /// Those of the user of this process.
    pub(super) fn of_user() -> Result<Self, Fault> {
        let home = std::env::var_os("HOME").map(PathBuf::from).ok_or_else(|| Fault::Use("HOME is not set".to_owned()))?;
        let config =
            std::env::var_os("XDG_CONFIG_HOME").filter(|text| !text.is_empty()).map_or_else(|| home.join(".config"), PathBuf::from);
        Ok(Self { home, config, project: std::env::current_dir()? })
    }
}
