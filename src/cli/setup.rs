//! From a choice of manifest to a server: the only place where the command line's authority over folders, clock and environment is handed down.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::Args;

use super::guarded::guarded;
use super::lookup::{self, By, variable};
use super::run::Fault;
use super::{check, environment, rule_files, trust};
use crate::audit::Log;
use crate::context::ServerContext;
use crate::entry;
use crate::gate::Gate;
use crate::manifest::{self, Manifest, Place};
use crate::sandbox::files::{self, Location, Roots};
use crate::sandbox::web::{self, Egress};
use crate::sandbox::{Sandbox, programs};
use crate::server::http;
use crate::state::StateDir;
use crate::tools;

/// How a manifest is taken.
#[derive(Debug, Clone, Args)]
pub struct Choice {
    /// The profile to judge by. Default: `[clients] stdio`.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Another folder for a root of the manifest. May be given several times.
    #[arg(long = "root", value_name = "NAME=PATH", value_parser = name_and_path)]
    pub roots: Vec<(String, PathBuf)>,
}

fn name_and_path(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), PathBuf::from(path))),
        _ => Err(format!("`{text}` is not NAME=PATH, e.g. project=/home/me/project")),
    }
}

/// A manifest and where it came from.
#[derive(Debug)]
pub struct Found {
    /// Its path; none for the built-in one.
    pub file: Option<PathBuf>,
    /// How it came to be meant.
    pub by: By,
    /// The manifest, its roots placed.
    pub manifest: Manifest,
}

impl Found {
    /// The built-in one.
    pub fn builtin() -> Self {
        Self { file: None, by: By::Name, manifest: Manifest::builtin() }
    }

    /// The state folder of its servers.
    /// # Errors  When there is no place for it.
    pub fn state(&self) -> Result<PathBuf, Fault> {
        state_path(self.manifest.state.dir.as_deref(), self.file.as_deref())
    }

    /// What no call may touch.
    pub fn guarded(&self) -> Vec<PathBuf> {
        guarded(self.file.as_deref(), &self.manifest)
    }

    fn refused(&self, faults: Vec<manifest::Fault>) -> Fault {
        Fault::Manifest { file: self.file.clone().unwrap_or_default(), faults }
    }
}

fn unusable(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> Fault {
    move |why| Fault::Use(format!("{what}: {why}"))
}

/// Reads and places a manifest, the one that is named or the one that is found; looks at no root yet. `roots`: those put elsewhere.
/// # Errors  Every fault of it at once.
pub fn find(named: Option<&Path>, roots: &[(String, PathBuf)]) -> Result<Found, Fault> {
    let Some(lookup::Manifest { path: file, by }) = lookup::manifest(named)? else {
        return Ok(Found::builtin());
    };
    let text = super::text_file::read(&file).map_err(unusable(format!("the manifest `{}` cannot be read", file.display())))?;
    Ok(Found { by, ..read(&file, &text, roots)? })
}

/// Like [`find`], for what serves by a manifest or starts what it names.
/// # Errors  As [`find`], and that it was found, not named, and is not trusted.
pub fn find_trusted(named: Option<&Path>, roots: &[(String, PathBuf)]) -> Result<Found, Fault> {
    let found = find(named, roots)?;
    trust::demanded(&found)?;
    Ok(found)
}

/// Reads a text as the manifest that lies at `file`, with roots that the command line put elsewhere.
/// # Errors  Every fault of it at once.
pub fn read(file: &Path, text: &str, roots: &[(String, PathBuf)]) -> Result<Found, Fault> {
    let refused = |faults| Fault::Manifest { file: file.to_owned(), faults };
    let mut manifest = manifest::parse(text, tools::specs()).map_err(refused)?;
    let canonical = file.canonicalize().map_err(unusable(format!("the manifest `{}` cannot be found", file.display())))?;
    for (name, path) in roots {
        let path = std::path::absolute(path).map_err(unusable(format!("`{}` is no place", path.display())))?;
        manifest.place_root(name, &path.to_string_lossy()).map_err(|fault| Fault::Use(format!("--root {name}: {fault}")))?;
    }
    let base = canonical.parent().unwrap_or(Path::new("/"));
    manifest.resolve_roots(&base.to_string_lossy()).map_err(refused)?;
    manifest.network.secrets.values_mut().for_each(|secret| secret.place(base));
    rule_files::add(&mut manifest, base).map_err(refused)?;
    if let Ok(state) = state_path(manifest.state.dir.as_deref(), Some(&canonical)) {
        manifest.python.installed = environment::installed(&manifest, Some(&canonical), &state);
    }
    Ok(Found { file: Some(canonical), by: By::Name, manifest })
}

/// The state folder that the command line names for every command of this process.
static NAMED_STATE: OnceLock<PathBuf> = OnceLock::new();

/// Takes the state folder that the command line names, in place of what the manifest or the environment says.
/// # Errors  When the working folder, to which it is relative, is gone.
pub(super) fn name_state(dir: &Path) -> io::Result<()> {
    // The first word counts; there is one command line.
    let _ = NAMED_STATE.set(std::path::absolute(dir)?);
    Ok(())
}

/// The state folder that the command line names.
pub(super) fn named_state() -> Option<&'static Path> {
    NAMED_STATE.get().map(PathBuf::as_path)
}

/// The state folder: of the command line, the manifest (`dir`, beside `file`), the environment, or the user.
/// # Errors  When there is no place for it.
fn state_path(dir: Option<&str>, file: Option<&Path>) -> Result<PathBuf, Fault> {
    match dir.filter(|dir| !dir.is_empty() && NAMED_STATE.get().is_none()) {
        Some(dir) => Ok(file.and_then(Path::parent).unwrap_or(Path::new(".")).join(dir)),
        None => own_state(),
    }
}

/// The state folder where no manifest says another: of the command line, the environment, or the user.
/// # Errors  When there is no place for it.
pub(super) fn own_state() -> Result<PathBuf, Fault> {
    let of_user = || variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state"))).map(|base| base.join("toolgate"));
    NAMED_STATE.get().cloned().or_else(|| variable("TOOLGATE_STATE_DIR")).or_else(of_user).ok_or_else(|| {
        Fault::Use("there is no place for the state folder; give `--state-dir`, or set TOOLGATE_STATE_DIR or `[state] dir`".to_owned())
    })
}

/// The state folder that commands about a running server mean. A manifest with faults must not keep the operator from the log or the switch: its
/// `[state] dir` alone is read. A manifest that was found and is not trusted says no folder: it may have come with a repository, and would lead
/// the operator away from the servers that run.
/// # Errors  When a manifest that was named cannot be read, or there is no place for the folder.
pub(super) fn state_of(flag: Option<&Path>) -> Result<PathBuf, Fault> {
    let Ok(Some(found)) = lookup::manifest(flag) else { return own_state() };
    let text = match super::text_file::read(&found.path) {
        Err(why) if flag.is_some() => return Err(unusable(format!("the manifest `{}` cannot be read", found.path.display()))(why)),
        text => text.unwrap_or_default(),
    };
    let table: toml::Table = text.parse().unwrap_or_default();
    let Some(dir) = table.get("state").and_then(|state| state.get("dir")).and_then(toml::Value::as_str) else { return own_state() };
    let file = found.path.canonicalize()?;
    let sha256 = || read(&file, &text, &[]).map_or_else(|_| trust::digest(&text), |found| found.manifest.sha256);
    if found.by == By::Place && !trust::is_trusted(&file, &sha256()) {
        tracing::warn!("`{}` is not trusted, so its `[state] dir` is not used; name it with `--manifest` to use it", file.display());
        return own_state();
    }
    state_path(Some(dir), Some(&file))
}

/// The profile a process on standard input and output gets.
/// # Errors  When the one that was asked for does not exist.
pub fn stdio_profile(manifest: &Manifest, choice: &Choice) -> Result<Option<String>, Fault> {
    match choice.profile.clone().or_else(|| manifest.clients.stdio.clone()) {
        Some(name) if !manifest.profiles.contains_key(&name) => {
            let known: Vec<&str> = manifest.profiles.keys().map(String::as_str).collect();
            Err(Fault::Use(format!("there is no profile `{name}`; the manifest has: {}", known.join(", "))))
        }
        found => Ok(found),
    }
}

/// Opens everything the manifest names and builds the server.
/// # Errors  What cannot be opened; nothing is served then.
pub fn build(mut found: Found) -> Result<ServerContext, Fault> {
    let path = found.state()?;
    let places = checked_places(&mut found, &path)?;
    let state = Arc::new(StateDir::open(&path)?);
    if let Err(fault) = state.mark_running() {
        tracing::warn!(%fault, "`toolgate kill` will stop this server, but cannot see that it runs");
    }
    let log = Log::open(state.path(), entry::settings(&found.manifest.audit, state.path()), Arc::new(jiff::Timestamp::now))?;
    let manifest = &found.manifest;
    let roots = Roots::open(&places, &found.guarded(), Some(state.path())).map_err(unopened)?;
    let jail = programs::Settings {
        preload: manifest.python.preload.clone(),
        sessions: programs::SessionBounds { max: manifest.python.sessions.max as usize, idle: manifest.python.sessions.idle },
        state: Some(Arc::clone(&state)),
        ..jail(&found, state.path())
    };
    let egress = Egress::new(web::Settings { max_connections: manifest.network.max_connections, ..web::Settings::default() });
    let log = Arc::new(log);
    let gate = Gate::new(found.manifest, state).map_err(unusable("the shared counts cannot be opened"))?;
    let sandbox = Sandbox::new(roots, egress.watched(Arc::clone(&log), gate.meter()), jail);
    let server = ServerContext::new(log, gate, sandbox, tools::all());
    let place = found.file.map_or_else(|| "built in".to_owned(), |file| file.display().to_string());
    server.manifest_loaded(&place);
    Ok(server)
}

/// How the programs of a manifest are run.
pub(super) fn jail(found: &Found, state: &Path) -> programs::Settings {
    let python = &found.manifest.python;
    let (interpreter, unready) = environment::find(&found.manifest, found.file.as_deref(), state);
    let (backend, container) = (python.backend.clone(), programs::container_settings(python));
    programs::Settings { interpreter, unready, backend, container, ..programs::Settings::default() }
}

/// What must hold of a manifest on any machine: its own tests.
/// # Errors  Those that do not hold.
pub(super) fn checked_policy(found: &Found) -> Result<(), Fault> {
    let faults = check::failed_tests(&found.manifest);
    if faults.is_empty() { Ok(()) } else { Err(found.refused(faults)) }
}

/// The places of a manifest that is to be served, with what must hold of it: its own tests, the files that it names, its folders. Changes nothing
/// on the machine.
/// # Errors  What does not hold, is missing, or cannot be held here.
pub(super) fn checked_places(found: &mut Found, state: &Path) -> Result<Vec<files::RootConfig>, Fault> {
    // The manifest's own tests run at every load; one that fails refuses the file.
    checked_policy(found)?;
    let faults = missing_files(&found.manifest, found.file.as_deref());
    if !faults.is_empty() {
        return Err(found.refused(faults));
    }
    let places = places(found)?;
    let state = examined(state, &places).map_err(|what| match &found.manifest.state.dir {
        Some(_) => found.refused(vec![found.manifest.fault("state.dir", what)]),
        None => Fault::Use(what),
    })?;
    let guarded = found.guarded();
    let own: Vec<&Path> = guarded.iter().chain([&state]).map(PathBuf::as_path).collect();
    python_writes_apart(&found.manifest, &places, &own)?;
    // Opened without the state folder: nothing is made.
    Roots::open(&places, &guarded, None).map_err(unopened)?;
    Ok(places)
}

/// Where the state folder is, or would be made.
/// # Errors  Why it cannot be there.
fn examined(state: &Path, places: &[files::RootConfig]) -> Result<PathBuf, String> {
    let state = StateDir::examine(state).map_err(|fault| fault.to_string())?;
    // No call may touch the state folder or what is in it.
    let held = places.iter().find(|place| matches!(&place.at, Location::Folder(folder) if folder.starts_with(&state)));
    match held {
        Some(files::RootConfig { name, .. }) => {
            Err(format!("the root `{name}` would be in the state folder, where no call may touch anything"))
        }
        None => Ok(state),
    }
}

/// A fault for each file that the manifest names and that is not there.
fn missing_files(manifest: &Manifest, file: Option<&Path>) -> Vec<manifest::Fault> {
    let base = file.and_then(Path::parent).unwrap_or(Path::new("."));
    let mut faults = Vec::new();
    for (index, rule) in manifest.clients.oauth.iter().enumerate().filter(|(_, rule)| !rule.jwks.starts_with("https://")) {
        let what = match super::text_file::read(&base.join(&rule.jwks)) {
            Ok(text) => match http::check_keys(text.as_bytes()) {
                Ok(()) => continue,
                Err(why) => format!("the file `{}` holds no keys: {why}", rule.jwks),
            },
            Err(_) => format!("there is no file `{}` that can be read; write an https URL, or a file beside this one", rule.jwks),
        };
        faults.push(manifest.fault(&format!("clients.oauth[{index}].jwks"), what));
    }
    if !environment::is_there(manifest, file) {
        let what =
            format!("there is no program `{}` that can be run; write a path, or a name on the search path", manifest.python.interpreter);
        faults.push(manifest.fault("python.interpreter", what));
    }
    faults
}

/// A program that writes in a root is not asked file by file, so nothing of the server's own may lie in it.
fn python_writes_apart(manifest: &Manifest, places: &[files::RootConfig], guarded: &[&Path]) -> Result<(), Fault> {
    for place in places {
        let Location::Folder(folder) = &place.at else { continue };
        let writable = manifest.python.roots.iter().any(|seen| seen.name == place.name && seen.mode == manifest::RootMode::ReadWrite);
        let writes = writable && manifest.roots.get(&place.name).is_some_and(|root| root.mode == manifest::RootMode::ReadWrite);
        if let Some(inside) = guarded.iter().find(|path| writes && path.starts_with(folder)) {
            let (root, inside) = (&place.name, inside.display());
            return Err(Fault::Refused(format!(
                "root_not_enforceable: a program would write in `{root}`, and `{inside}` lies in it; give it mode = \"ro\" in `[python] roots`"
            )));
        }
    }
    Ok(())
}

/// Seconds since 1970 of the machine's clock.
pub(super) fn wall_seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A root that cannot be opened.
pub(super) fn unopened((path, errno): (PathBuf, rustix::io::Errno)) -> Fault {
    unusable(format!("the root `{}` cannot be opened", path.display()))(errno.into())
}

/// Finds each root on the machine, by its canonical path; callers may use that one as well as the one the manifest writes.
pub(super) fn places(found: &mut Found) -> Result<Vec<files::RootConfig>, Fault> {
    let (mut places, mut canonical, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for (name, root) in &found.manifest.roots {
        let written = root.paths.first().map(|segments| format!("/{}", segments.join("/"))).unwrap_or_default();
        let at = match (&root.place, Path::new(&written).canonicalize()) {
            (Place::Session, _) => Location::Session,
            (Place::Path(_), Ok(real)) => {
                canonical.push((name.clone(), real.to_string_lossy().into_owned()));
                Location::Folder(real)
            }
            (Place::Path(_), Err(fault)) => {
                let what = format!("the folder `{written}` cannot be found: {fault}; make it, or name another");
                faults.push(found.manifest.fault(&format!("roots.{name}.path"), what));
                continue;
            }
        };
        places.push(files::RootConfig { name: name.clone(), at, quota: root.quota });
    }
    if !faults.is_empty() {
        return Err(found.refused(faults));
    }
    for (name, path) in canonical {
        found.manifest.add_root_path(&name, &path);
    }
    found.manifest.check_nesting().map_err(|faults| found.refused(faults))?;
    Ok(places)
}
