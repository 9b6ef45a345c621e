//! `toolgate packages sync`: from `[python] packages` to a lock file and an environment that programs get read-only.
//!
//! Only wheels are taken: an sdist would run its own code here, outside every wall, in order to be built.

#![expect(clippy::disallowed_methods, reason = "the command line starts the installer and lays out the environment")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use rustix::fs::Mode;
use rustix::process::umask;
use serde::Deserialize;
use serde_json::{Value, json};

use super::environment::{self, FOLDER, STAMP};
use super::run::{End, Fault, Globals, Report};
use super::{progress, setup};
use crate::manifest::{Lock, Pinned};
use crate::sandbox::processes;
use crate::sandbox::programs::on_search_path;
use crate::state::StateDir;

/// What to do with the packages.
#[derive(Debug, Subcommand)]
pub(super) enum PackagesCommand {
    /// Install the packages of the lock file, each by its digest. Without a lock that fits the manifest, write one first.
    Sync(Sync),
}

/// The arguments of `sync`.
#[derive(Debug, Args)]
pub(super) struct Sync {
    /// Write no lock; exit 1 if it does not fit the manifest.
    #[arg(long, conflicts_with = "upgrade")]
    locked: bool,
    /// Write a new lock with the newest versions that the manifest allows.
    #[arg(long)]
    upgrade: bool,
}

/// Brings lock and environment up to the manifest. Says on the way what is done; the report has for scripts `packages` with name and version,
/// `installed` (whether anything was), and as far as it came there `lock`, `lock_written`, `installer`, and `why` where the lock does not fit.
pub(super) fn sync(&Sync { locked, upgrade }: &Sync, globals: &Globals, out: &mut dyn Write) -> Result<Report, Fault> {
    let found = setup::find_trusted(globals.manifest.as_deref(), &[])?;
    let progress = progress::spinner("installing", globals);
    let mut silent = io::sink();
    let out = if globals.json { &mut silent } else { out };
    let file = found.file.as_deref().ok_or_else(|| Fault::Use("there is no manifest, so no packages are asked for".to_owned()))?;
    let packages = &found.manifest.python.packages;
    if packages.is_empty() {
        let text = format!("`[python] packages` names none; programs run in `{}` as it is\n", found.manifest.python.interpreter);
        return Ok(Report { json: json!({"packages": [], "installed": false}), text, end: End::Done });
    }
    let state = StateDir::open(&found.state()?)?;
    // An installation ends with the emergency stop, as a server does.
    state.mark_running()?;
    let configured = environment::base(&found.manifest, Some(file));
    let base = environment::program(&configured).ok_or_else(|| {
        Fault::Use(format!("`{}` is in no absolute folder of the search path; set `[python] interpreter`", configured.display()))
    })?;
    stage(out, &progress, &format!("asking {} what it is", base.display()))?;
    let identity = ask(&base, &state)?;
    let lock_path = environment::lock_path(file);
    let unfit = |why: &str| Report {
        json: json!({"packages": [], "installed": false, "lock": lock_path, "why": why}),
        text: format!("the lock `{}` does not fit: {why}\n", lock_path.display()),
        end: End::Negative,
    };
    let list = |lock: &Lock| lock.pinned.iter().map(|pinned| json!({"name": pinned.name, "version": pinned.version})).collect::<Value>();
    let written = match environment::read_lock(&lock_path) {
        Err(why) if !upgrade => return Err(Fault::Use(format!("{why}; mend it, or make a new one with --upgrade"))),
        read => read.unwrap_or_default(),
    };
    let fitting = written.ok_or_else(|| "there is none".to_owned()).and_then(|lock| fits(lock, packages, &identity.python));
    let kept = match fitting {
        Err(why) if locked => return Ok(unfit(&why)),
        fitting => fitting.ok().filter(|_| !upgrade),
    };
    let built = kept.as_ref().filter(|lock| environment::is_built(&environment::place(state.path(), lock, &configured), lock));
    if let Some(lock) = built {
        let json = json!({"packages": list(lock), "installed": false, "lock": lock_path});
        let text = format!("{} package(s) are there already, as the lock says\n", lock.pinned.len());
        return Ok(Report { json, text, end: End::Done });
    }
    stage(out, &progress, "laying out an environment")?;
    let site = Site::lay_out(&base, pip(&base, &identity)?, state)?;
    stage(out, &progress, &format!("looking up what {} package(s) need, with pip", packages.len()))?;
    let pinned = site.resolve(packages, kept.as_ref())?;
    let is_kept = kept.is_some();
    let lock = kept.unwrap_or_else(|| Lock { wanted: packages.clone(), python: identity.python, pinned: pinned.clone() });
    match holds_exactly(&lock, &pinned) {
        Err(why) if locked => return Ok(unfit(&why)),
        Err(why) => {
            let lock = lock_path.display();
            let what = "look at how the lock came to that, then make a new one with --upgrade";
            return Err(Fault::Use(format!("the lock `{lock}` does not fit: {why}; {what}")));
        }
        Ok(()) => {}
    }
    let names: Vec<&str> = lock.pinned.iter().map(|pinned| pinned.name.as_str()).collect();
    stage(out, &progress, &format!("installing {} package(s): {}", names.len(), names.join(", ")))?;
    site.install(&lock)?;
    site.put(&lock, &environment::place(site.state.path(), &lock, &configured))?;
    let mut text = String::new();
    if !is_kept {
        super::text_file::replace(&lock_path, &lock.text())?;
        text = format!("wrote {}\n", lock_path.display());
    }
    text.extend(lock.pinned.iter().map(|pinned| format!("  {} {}\n", pinned.name, pinned.version)));
    let _ = writeln!(text, "{} package(s) installed with pip; programs see them from the next start of a server on", lock.pinned.len());
    let json = json!({"packages": list(&lock), "installed": true, "installer": "pip", "lock": lock_path, "lock_written": !is_kept});
    Ok(Report { json, text, end: End::Done })
}

/// Says what is done next, before it is.
fn stage(out: &mut dyn Write, progress: &ProgressBar, what: &str) -> io::Result<()> {
    progress.suspend(|| {
        writeln!(out, "{what} …")?;
        out.flush()
    })
}

fn fits(lock: Lock, packages: &[String], python: &str) -> Result<Lock, String> {
    lock.fits(packages)?;
    if lock.python == python { Ok(lock) } else { Err(format!("it was made for {}, and this is {python}", lock.python)) }
}

/// Whether a lock names what the wanted packages pull in at its versions, and nothing else: what it names beside that would be installed too.
///
/// # Errors
/// A sentence with the first package that differs.
fn holds_exactly(lock: &Lock, pulled_in: &[Pinned]) -> Result<(), String> {
    let is_among = |all: &[Pinned], one: &Pinned| all.iter().any(|other| other.name == one.name);
    if let Some(more) = lock.pinned.iter().find(|pinned| !is_among(pulled_in, pinned)) {
        return Err(format!("it holds `{}=={}`, which nothing in `[python] packages` pulls in", more.name, more.version));
    }
    match pulled_in.iter().find(|pinned| !is_among(&lock.pinned, pinned)) {
        Some(less) => Err(format!("`{}` is needed, and it does not hold that", less.name)),
        None => Ok(()),
    }
}

/// What an interpreter says of itself.
#[derive(Debug, Deserialize)]
struct Identity {
    /// Its version and machine.
    python: String,
    pip: bool,
    venv: bool,
}

/// Asks an interpreter; it is started once, with no program of a model.
fn ask(interpreter: &Path, state: &StateDir) -> Result<Identity, Fault> {
    const QUESTION: &str = "import sys, json, sysconfig, importlib.util as u\n\
        print(json.dumps({'python': '%s-%d.%d %s' % (sys.implementation.name, *sys.version_info[:2], sysconfig.get_platform()), \
        'pip': bool(u.find_spec('pip')), 'venv': bool(u.find_spec('venv'))}))";
    let answer = run(Command::new(interpreter).args(["-I", "-c", QUESTION]), state)?;
    serde_json::from_slice(&answer).map_err(|_| Fault::Use(format!("`{}` does not answer like Python 3", interpreter.display())))
}

/// The interpreter's own pip, else the one on the search path.
fn pip(base: &Path, identity: &Identity) -> Result<Vec<PathBuf>, Fault> {
    if identity.venv && identity.pip {
        return Ok(vec![base.to_owned(), "-m".into(), "pip".into()]);
    }
    let found = on_search_path(Path::new("pip")).filter(|_| identity.venv).map(|pip| vec![pip]);
    let lacks = || format!("`{}` lacks pip or venv; install python3-pip and python3-venv, or name another interpreter", base.display());
    found.ok_or_else(|| Fault::Use(lacks()))
}

/// The folder in which an environment is built; what did not become one is removed.
#[derive(Debug)]
struct Site {
    folder: PathBuf,
    /// The command line of pip.
    pip: Vec<PathBuf>,
    /// Where the emergency stop is looked for, which ends an installer as it ends a program.
    state: StateDir,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Site {
    /// An environment with nothing installed.
    fn lay_out(base: &Path, pip: Vec<PathBuf>, state: StateDir) -> Result<Self, Fault> {
        // Programs run as another user where the server is root, so everybody must be able to read what is installed.
        umask(Mode::WGRP | Mode::WOTH);
        let folder = state.path().join(FOLDER);
        fs::create_dir_all(&folder)?;
        let site = Self { folder: folder.join(format!(".building-{}", std::process::id())), pip, state };
        let _ = fs::remove_dir_all(&site.folder);
        run(Command::new(base).args(["-I", "-m", "venv", "--without-pip"]).arg(&site.folder), &site.state)?;
        Ok(site)
    }

    /// Runs pip for this folder: with these arguments, one that names a file, and then these packages.
    fn run_pip(&self, arguments: &[&str], file: &Path, packages: &[String]) -> Result<Vec<u8>, Fault> {
        let mut words = self.pip.iter();
        let mut pip = Command::new(words.next().map_or(Path::new("pip"), PathBuf::as_path));
        pip.args(words).arg("--python").arg(self.folder.join("bin/python")).args(["--disable-pip-version-check", "--no-input", "--quiet"]);
        run(pip.args(["install", "--only-binary", ":all:"]).args(arguments).arg(file).args(packages), &self.state)
    }

    /// What the packages and all they need come to, with the digest of each file; of what `kept` names, at its versions. Nothing is installed.
    fn resolve(&self, packages: &[String], kept: Option<&Lock>) -> Result<Vec<Pinned>, Fault> {
        let bounds = self.folder.join("constraints.txt");
        let versions = kept.iter().flat_map(|lock| &lock.pinned).map(|Pinned { name, version, .. }| format!("{name}=={version}\n"));
        fs::write(&bounds, versions.collect::<String>())?;
        let arguments = ["--dry-run", "--ignore-installed", "--report", "-", "-c"];
        let mut pinned = reported(&self.run_pip(&arguments, &bounds, packages)?)?;
        pinned.sort();
        fs::remove_file(&bounds)?;
        Ok(pinned)
    }

    /// Installs exactly what the lock names, refusing a file with another digest.
    fn install(&self, lock: &Lock) -> Result<(), Fault> {
        let list = self.folder.join("requirements.txt");
        fs::write(&list, lock.text())?;
        self.run_pip(&["--no-deps", "--require-hashes", "-r"], &list, &[])?;
        Ok(fs::remove_file(&list)?)
    }

    /// Moves the whole environment to its place.
    fn put(&self, lock: &Lock, place: &Path) -> io::Result<()> {
        fs::write(self.folder.join(STAMP), lock.text())?;
        // What is there without its stamp was left by a machine that went down.
        if place.exists() {
            fs::remove_dir_all(place)?;
        }
        fs::rename(&self.folder, place)
    }
}

/// Reads pip's report (its format 1).
fn reported(text: &[u8]) -> Result<Vec<Pinned>, Fault> {
    let report: Value = serde_json::from_slice(text).map_err(|fault| Fault::Use(format!("pip's report cannot be read: {fault}")))?;
    let text = |value: &Value, at: &str| value.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let one = |item: &Value| {
        let digest = text(item, "/download_info/archive_info/hashes/sha256");
        Pinned::new(&text(item, "/metadata/name"), &text(item, "/metadata/version"), vec![digest])
    };
    let items = report.get("install").and_then(Value::as_array).ok_or_else(|| Fault::Use("pip's report lists nothing".to_owned()))?;
    items.iter().map(one).collect::<Result<_, _>>().map_err(|fault| Fault::Use(format!("pip's report: {fault}")))
}

/// What a command writes; it runs to its end, or to the emergency stop, which kills it with everything that it started.
fn run(command: &mut Command, state: &StateDir) -> Result<Vec<u8>, Fault> {
    let name = Path::new(command.get_program()).display().to_string();
    let stopped = || Fault::Use("the emergency stop is on: nothing is installed; lift it with `toolgate resume`".to_owned());
    if state.is_killed() {
        return Err(stopped());
    }
    let (output, errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(errors.try_clone()?);
    let mut child = command.spawn().map_err(|fault| Fault::Use(format!("`{name}` cannot be started: {fault}")))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if state.is_killed() {
            // INVARIANT: it was not waited for yet, so its number is still its own.
            processes::kill_tree(child.id());
        }
        std::thread::sleep(LOOK);
    };
    if status.success() {
        return Ok(written(output)?);
    }
    if state.is_killed() {
        return Err(stopped());
    }
    let complaint = written(errors)?;
    let complaint = String::from_utf8_lossy(&complaint);
    let lines: Vec<&str> = complaint.lines().collect();
    let last = lines.get(lines.len().saturating_sub(COMPLAINT)..).unwrap_or_default().join("\n");
    Err(Fault::Use(format!("`{name}` failed:\n{last}")))
}

/// What a command has written into a file.
fn written(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Between two looks at an installer and at the emergency stop.
const LOOK: Duration = Duration::from_millis(5);

/// Lines of an installer's complaint that are passed on.
const COMPLAINT: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pips_report_becomes_pins_and_one_without_a_digest_is_refused() {
        let item = |hashes: &str| {
            format!(
                r#"{{"install": [{{"metadata": {{"name": "NumPy", "version": "2.3.5"}}, "download_info": {{"archive_info": {{"hashes": {hashes}}}}}}}]}}"#
            )
        };
        let digest = "a".repeat(64);
        let pinned = reported(item(&format!(r#"{{"sha256": "{digest}"}}"#)).as_bytes()).unwrap();
        assert_eq!(pinned, [Pinned::new("numpy", "2.3.5", vec![digest]).unwrap()]);
        assert!(reported(item("{}").as_bytes()).is_err());
    }

    #[test]
    fn what_an_installer_complains_of_is_passed_on() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let failed = run(Command::new("sh").args(["-c", "echo no such package >&2; exit 3"]), &state).unwrap_err().to_string();
        assert!(failed.contains("no such package"), "{failed}");
        state.kill("test").unwrap();
        let refused = run(Command::new("sh").args(["-c", "exit 0"]), &state).unwrap_err().to_string();
        assert!(refused.contains("emergency stop"), "{refused}");
    }
}
