//! `toolgate trust`: a manifest that no command line names serves only after its user has seen it. Without this, a cloned repository could
//! grant itself rights. What is trusted is a path and a digest; it is kept in the user's own state folder, wherever a manifest puts its own.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::io::{self, BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::lookup::{self, By};
use super::run::{End, Fault, Globals, Report};
use super::setup::{self, Found};
use super::text_file;
use crate::filter::escape_line;
use crate::gate::hex;
use crate::manifest::{Approvals, Check, Manifest, Place, RootMode};
use crate::model::Level;
use crate::policy::effect::meaning;

/// The folder below the user's state folder.
const FOLDER: &str = "trusted";

/// Where trust is kept. No call may touch it.
pub(super) fn folder() -> Result<PathBuf, Fault> {
    Ok(setup::own_state()?.join(FOLDER))
}

/// The file of a manifest in the folder, by its canonical path.
fn note_of(manifest: &Path) -> PathBuf {
    PathBuf::from(hex(&Sha256::digest(manifest.as_os_str().as_bytes())))
}

/// What the file says: the manifest's canonical path, and the digest of its text and of its files of rules.
fn trusted(manifest: &Path, sha256: &[u8; 32]) -> Value {
    json!({"manifest": manifest.to_string_lossy(), "sha256": hex(sha256)})
}

/// The digest of a manifest without a folder of rules, by its text.
pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// Trusts the manifest of this digest at a path.
/// # Errors  When that cannot be kept.
pub(super) fn keep(file: &Path, sha256: &[u8; 32]) -> Result<(), Fault> {
    let manifest = file.canonicalize()?;
    let note = folder()?.join(note_of(&manifest));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder()?)?;
    // Whole or not at all: a server may look at it just now.
    Ok(text_file::replace(&note, &trusted(&manifest, sha256).to_string())?)
}

/// The last line of a command that wrote a manifest and tried to trust it.
pub(super) fn ending(kept: &Result<(), Fault>) -> String {
    match kept {
        Ok(()) => "it is trusted as it is now; run `toolgate trust` after each edit\n".to_owned(),
        Err(why) => format!("it must be trusted before it serves: run `toolgate trust` (it could not be done now: {why})\n"),
    }
}

/// What a user has seen of the manifest at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Exactly this text.
    Trusted,
    /// Another text.
    Changed,
    /// Nothing.
    Never,
}

impl Standing {
    /// That a valid manifest must be trusted before it serves; none where it is. `named`: the path that the command line gives.
    pub(super) fn missing_trust(self, named: Option<&Path>) -> Option<String> {
        let file = named.map(|file| format!(" {}", file.display())).unwrap_or_default();
        match self {
            Self::Trusted => None,
            Self::Changed => Some(format!("valid, but changed since you trusted it: run `toolgate trust{file}`")),
            Self::Never => {
                Some(format!("valid, but you have not trusted it yet: run `toolgate trust{file}`, or name the file with `--manifest`"))
            }
        }
    }
}

/// The standing of the manifest of this digest at this canonical path.
pub(super) fn standing(file: &Path, sha256: &[u8; 32]) -> Standing {
    match folder().map(|folder| std::fs::read_to_string(folder.join(note_of(file)))) {
        Ok(Ok(kept)) if serde_json::from_str(&kept).ok() == Some(trusted(file, sha256)) => Standing::Trusted,
        Ok(Ok(_)) => Standing::Changed,
        _ => Standing::Never,
    }
}

/// Whether the manifest of exactly this digest at this canonical path is trusted.
pub(super) fn is_trusted(file: &Path, sha256: &[u8; 32]) -> bool {
    standing(file, sha256) == Standing::Trusted
}

/// Whether a manifest may serve: it was named, or its user has seen exactly this text at this place.
/// # Errors  That it may not, and what to do.
pub(super) fn demanded(found: &Found) -> Result<(), Fault> {
    let Some(file) = found.file.as_deref().filter(|_| found.by == By::Place) else { return Ok(()) };
    match standing(file, &found.manifest.sha256).missing_trust(None) {
        Some(missing) => Err(Fault::Untrusted(format!("{}: {missing}", file.display()))),
        None => Ok(()),
    }
}

/// Show what a manifest opens, and ask whether it may serve.
#[derive(Debug, Args)]
pub(super) struct Trust {
    /// The same as `--manifest`.
    file: Option<PathBuf>,
    /// Trust it without a question.
    #[arg(long, short)]
    pub(super) yes: bool,
    /// Take the trust away.
    #[arg(long, conflicts_with = "yes")]
    remove: bool,
}

pub(super) fn run(arguments: &Trust, globals: &Globals, out: &mut dyn Write) -> Result<Report, Fault> {
    let Some(lookup::Manifest { path, .. }) = lookup::manifest(arguments.file.as_deref().or(globals.manifest.as_deref()))? else {
        return Err(Fault::Use("there is no manifest to trust; `toolgate init` writes one".to_owned()));
    };
    if arguments.remove {
        let canonical = path.canonicalize().unwrap_or(path.clone());
        let was = std::fs::remove_file(folder()?.join(note_of(&canonical))).is_ok();
        let text = format!("{} {}\n", path.display(), if was { "is not trusted any more" } else { "was not trusted" });
        return Ok(Report { json: json!({"manifest": canonical, "trusted": false, "removed": was}), text, end: End::of(was) });
    }
    lookup::of_caller(&path).map_err(Fault::Use)?;
    offer(&setup::find(Some(&path), &[])?, arguments.yes, globals, out)
}

/// Shows what a manifest opens and trusts it: where that was said before (`yes`), or where the answer to the question is yes.
pub(super) fn offer(found: &Found, yes: bool, globals: &Globals, out: &mut dyn Write) -> Result<Report, Fault> {
    let canonical = found.file.clone().unwrap_or_default();
    let (sha256, grants) = (hex(&found.manifest.sha256), grants(&found.manifest));
    let already = is_trusted(&canonical, &found.manifest.sha256);
    let mut text = format!("manifest  {}\nsha256    {sha256}\n", escape_line(&canonical.to_string_lossy()));
    text.extend(grants.iter().map(|line| format!("  {}\n", escape_line(line))));
    let mut is_trusted = already || yes;
    if !is_trusted && !globals.json {
        write!(out, "{}\ntrust it, so that servers started in its folder use it? [y/N] ", std::mem::take(&mut text))?;
        out.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        is_trusted = matches!(answer.trim(), "y" | "Y" | "yes");
    }
    if is_trusted && !already {
        keep(&canonical, &found.manifest.sha256)?;
    }
    text.push_str(match (is_trusted, already) {
        (false, _) => "it is not trusted\n",
        (true, true) => "it is trusted\n",
        (true, false) => "it is trusted, until its text changes\n",
    });
    let json = json!({"manifest": canonical, "sha256": sha256, "trusted": is_trusted, "grants": grants});
    Ok(Report { json, text, end: End::of(is_trusted) })
}

/// What a manifest opens, a line each.
fn grants(manifest: &Manifest) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, profile) in &manifest.profiles {
        let tools: Vec<String> = profile.allowed_tools.iter().map(|tool| tool.as_str().to_owned()).collect();
        lines.push(format!("profile {name}: {}; tools {}", profile.permissions, tools.join(", ")));
    }
    for (name, root) in &manifest.roots {
        let mode = if root.mode == RootMode::ReadWrite { "read and write" } else { "read" };
        let place = match &root.place {
            Place::Session => "a scratch folder of the session".to_owned(),
            Place::Path(path) => path.clone(),
        };
        lines.push(format!("root {name}: {mode} {place}"));
    }
    for (name, database) in &manifest.databases {
        let mode = if database.mode == RootMode::ReadWrite { "read and change" } else { "read" };
        lines.extend(database.url.as_ref().map(|url| format!("database {name}: {mode} {url}")));
    }
    let mail = &manifest.mail;
    if let (Some(server), Some(from)) = (&mail.smtp, &mail.from) {
        lines.push(format!("mail: as {} by {}, to {}", from.as_str(), server.url.host_str(), mail.allowed_recipients.join(", ")));
    }
    let network = &manifest.network;
    let mut hosts: Vec<String> = network.allowed_domains.iter().map(ToString::to_string).collect();
    hosts.extend(network.internal.iter().map(ToString::to_string));
    if network.any_public {
        hosts.push("any public host".to_owned());
    }
    if !hosts.is_empty() {
        lines.push(format!("network: {}", hosts.join(", ")));
    }
    lines.extend(manifest.network.secrets.keys().map(|name| format!("secret {name}: sent with requests")));
    let python = &manifest.python;
    let check = if python.check == Check::Off { ", programs are not checked" } else { "" };
    let network = if python.network { ", with the network" } else { "" };
    let roots: Vec<String> = python
        .roots
        .iter()
        .map(|root| if root.mode == RootMode::ReadWrite { root.name.clone() } else { format!("{} (read only)", root.name) })
        .collect();
    lines.push(format!(
        "python: {}, sees {}{network}{check}",
        python.interpreter,
        if roots.is_empty() { "no root".to_owned() } else { roots.join(", ") }
    ));
    let usual = Approvals::default();
    for level in Level::ALL {
        let (mode, default) = (manifest.approvals.mode(level), usual.mode(level));
        if mode < default {
            let (what, level, mode, default) = (meaning(level), u8::from(level), mode.as_str(), default.as_str());
            lines.push(format!("approvals: what {what} (level {level}) is `{mode}`, where it is `{default}` by default"));
        }
    }
    if !manifest.filters.hides_secrets() {
        lines.push("filters: secrets in files, pages and output are shown".to_owned());
    }
    if let Some(dir) = &manifest.state.dir {
        lines.push(format!("state: the log, the grants and the emergency stop are kept in {dir}"));
    }
    for reviewer in &manifest.review.reviewers {
        let program = format!("the program {} is started and", reviewer.command.join(" "));
        lines.push(format!("review: {} sees calls", if reviewer.client_model { "the client's own model" } else { &program }));
    }
    lines
}
