//! `toolgate packages sync`: from `[python] packages` to a lock file and an environment that programs get read-only.
//!
//! Only wheels are taken: an sdist would run its own code here, outside every wall, in order to be built.

#![expect(clippy::disallowed_methods, reason = "the command line starts the installer and lays out the environment")]

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::environment::{self, FOLDER, STAMP};
use super::run::{End, Fault, Report};
use super::setup::{self, Found};
use crate::audit::StateDir;
use crate::manifest::{Lock, Pinned};
use crate::sandbox::processes;
use crate::sandbox::programs::on_search_path;

/// How far a sync may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// By the lock where it fits, else a new one.
    Ordinary,
    /// By the lock alone: one that does not fit is a negative answer.
    Locked,
    /// A new lock in any case.
    Upgrade,
}

/// Brings lock and environment up to the manifest. Says on the way what is done; the report has for scripts `packages` with name and version,
/// `installed` (whether anything was), and as far as it came there `lock`, `lock_written`, `installer`, and `why` where the lock does not fit.
pub(super) fn sync(found: &Found, reach: Reach, out: &mut dyn Write) -> Result<Report, Fault> {
    let mut json = Map::from_iter([("packages".to_owned(), json!([])), ("installed".to_owned(), json!(false))]);
    let end = bring_up(found, reach, out, &mut json)?;
    Ok(Report { json: Value::Object(json), ..end.into() })
}

fn bring_up(found: &Found, reach: Reach, out: &mut dyn Write, report: &mut Map<String, Value>) -> Result<End, Fault> {
    let file = found.file.as_deref().ok_or_else(|| Fault::Use("there is no manifest, so no packages are asked for".to_owned()))?;
    let packages = &found.manifest.python.packages;
    if packages.is_empty() {
        writeln!(out, "`[python] packages` names none; programs run in `{}` as it is", found.manifest.python.interpreter)?;
        return Ok(End::Done);
    }
    let state = setup::state_path(&found.manifest, Some(file))?;
    let state = StateDir::open(&state).map_err(|fault| Fault::Use(fault.to_string()))?;
    // An installation ends with the emergency stop, as a server does.
    state.heed()?;
    let configured = environment::base(&found.manifest, Some(file));
    // A name in a relative entry of the search path may be a program of the repository.
    let base = if configured.components().count() > 1 {
        configured.clone()
    } else {
        on_search_path(&configured).ok_or_else(|| {
            Fault::Use(format!("`{}` is in no absolute folder of the search path; set `[python] interpreter`", configured.display()))
        })?
    };
    stage(out, &format!("asking {} what it is", base.display()))?;
    let told = ask(&base, &state)?;
    let lock_path = environment::lock_path(file);
    let mut tell = |name: &str, value: Value| drop(report.insert(name.to_owned(), value));
    tell("lock", json!(lock_path));
    let list = |lock: &Lock| lock.pinned.iter().map(|Pinned { name, version, .. }| json!({"name": name, "version": version})).collect();
    let written = match (environment::read_lock(&lock_path), reach) {
        (Ok(lock), _) => lock,
        (Err(_), Reach::Upgrade) => None,
        (Err(why), _) => return Err(Fault::Use(format!("{why}; mend it, or make a new one with --upgrade"))),
    };
    let fitting = written.as_ref().map(|lock| fits(lock, packages, &told.python));
    if reach == Reach::Locked
        && let Some(why) = fitting.clone().unwrap_or_else(|| Err("there is none".to_owned())).err()
    {
        tell("why", json!(why));
        writeln!(out, "the lock `{}` does not fit: {why}", lock_path.display())?;
        return Ok(End::Negative);
    }
    let kept = written.filter(|_| reach != Reach::Upgrade && fitting == Some(Ok(())));
    if let Some(lock) = kept.as_ref() {
        let place = environment::place(state.path(), lock, &configured);
        if fs::read_to_string(place.join(STAMP)).is_ok_and(|text| text == lock.text()) {
            tell("packages", list(lock));
            writeln!(out, "{} package(s) are there already, as the lock says", lock.pinned.len())?;
            return Ok(End::Done);
        }
    }
    let folder = state.path().join(FOLDER);
    fs::create_dir_all(&folder)?;
    let site = Site { folder: folder.join(format!(".building-{}", std::process::id())), state };
    stage(out, "laying out an environment")?;
    let installer = Installer::find(&base, &told, &site)?;
    stage(out, &format!("looking up what {} package(s) need, with {}", packages.len(), installer.name()))?;
    let found = installer.resolve(packages, kept.as_ref(), &site)?;
    let lock = match kept.clone() {
        Some(lock) => {
            if let Err(why) = holds_exactly(&lock, &found) {
                let why = format!("the lock `{}` does not fit: {why}", lock_path.display());
                if reach == Reach::Locked {
                    writeln!(out, "{why}")?;
                    return Ok(End::Negative);
                }
                return Err(Fault::Use(format!("{why}; look at how the lock came to that, then make a new one with --upgrade")));
            }
            lock
        }
        None => Lock { wanted: packages.clone(), python: told.python, pinned: found },
    };
    let names: Vec<&str> = lock.pinned.iter().map(|pinned| pinned.name.as_str()).collect();
    stage(out, &format!("installing {} package(s): {}", names.len(), names.join(", ")))?;
    installer.install(&lock, &site)?;
    open_to_readers(&site.folder)?;
    fs::write(site.folder.join(STAMP), lock.text())?;
    let place = environment::place(site.state.path(), &lock, &configured);
    // What is there without its stamp was left by a machine that went down.
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::rename(&site.folder, &place)?;
    if kept.is_none() {
        let beside = lock_path.with_extension(format!("lock.{}", std::process::id()));
        fs::write(&beside, lock.text()).and_then(|()| fs::rename(&beside, &lock_path))?;
        writeln!(out, "wrote {}", lock_path.display())?;
    }
    tell("packages", list(&lock));
    for (name, value) in [("installed", json!(true)), ("installer", json!(installer.name())), ("lock_written", json!(kept.is_none()))] {
        tell(name, value);
    }
    for Pinned { name, version, .. } in &lock.pinned {
        writeln!(out, "  {name} {version}")?;
    }
    writeln!(
        out,
        "{} package(s) installed with {}; programs see them from the next start of a server on",
        lock.pinned.len(),
        installer.name()
    )?;
    Ok(End::Done)
}

/// Says what is done next, before it is.
fn stage(out: &mut dyn Write, what: &str) -> io::Result<()> {
    writeln!(out, "{what} …")?;
    out.flush()
}

fn fits(lock: &Lock, packages: &[String], python: &str) -> Result<(), String> {
    lock.fits(packages)?;
    if lock.python == python { Ok(()) } else { Err(format!("it was made for {}, and this is {python}", lock.python)) }
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
pub(super) struct Told {
    /// Its version and machine.
    pub(super) python: String,
    pip: bool,
    venv: bool,
}

/// Asks an interpreter; it is started once, with no program of a model.
fn ask(interpreter: &Path, state: &StateDir) -> Result<Told, Fault> {
    const QUESTION: &str = "import sys, json, sysconfig, importlib.util as u\n\
        print(json.dumps({'python': '%s-%d.%d %s' % (sys.implementation.name, *sys.version_info[:2], sysconfig.get_platform()), \
        'pip': bool(u.find_spec('pip')), 'venv': bool(u.find_spec('venv'))}))";
    let answer = run(Command::new(interpreter).args(["-I", "-c", QUESTION]), None, state)?;
    serde_json::from_slice(&answer.stdout).map_err(|_| Fault::Use(format!("`{}` does not answer like Python 3", interpreter.display())))
}

/// The folder in which an environment is built; what did not become one is removed.
#[derive(Debug)]
struct Site {
    folder: PathBuf,
    /// Where the emergency stop is looked for, which ends an installer as it ends a program.
    state: StateDir,
}

impl Site {
    fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What installs: the interpreter's own pip, else one on the search path, else uv.
#[derive(Debug)]
enum Installer {
    Pip(Vec<PathBuf>),
    Uv,
}

impl Installer {
    /// Finds one, and lays out the empty environment.
    fn find(base: &Path, told: &Told, site: &Site) -> Result<Self, Fault> {
        let answers = |program: &Path, arguments: &[&str]| {
            let started = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
            started.is_ok_and(|status| status.success())
        };
        let pip = Path::new("pip");
        let found = if !told.venv {
            None
        } else if told.pip {
            Some(Self::Pip(vec![base.to_owned(), "-m".into(), "pip".into()]))
        } else {
            answers(pip, &["--version"]).then(|| Self::Pip(vec![pip.to_owned()]))
        };
        let _ = fs::remove_dir_all(&site.folder);
        match found {
            Some(found) => {
                run(Command::new(base).args(["-I", "-m", "venv", "--without-pip"]).arg(&site.folder), None, &site.state)?;
                Ok(found)
            }
            None if answers(Path::new("uv"), &["--version"]) => {
                run(Command::new("uv").args(["venv", "--quiet", "--python"]).arg(base).arg(&site.folder), None, &site.state)?;
                Ok(Self::Uv)
            }
            None => Err(Fault::Use(format!(
                "neither `{}` with pip and venv nor uv is there to install with; install e.g. python3-pip and python3-venv, or uv",
                base.display()
            ))),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Pip(_) => "pip",
            Self::Uv => "uv",
        }
    }

    fn pip(command: &[PathBuf], site: &Site) -> Command {
        let mut words = command.iter();
        let mut pip = Command::new(words.next().map_or(Path::new("pip"), PathBuf::as_path));
        pip.args(words).arg("--python").arg(site.python()).args(["--disable-pip-version-check", "--no-input", "--quiet"]);
        pip
    }

    /// What the packages and all they need come to, with the digest of each file; of what `kept` names, at its versions. Nothing is installed.
    fn resolve(&self, packages: &[String], kept: Option<&Lock>, site: &Site) -> Result<Vec<Pinned>, Fault> {
        let bounds = site.folder.join("constraints.txt");
        let versions = kept.iter().flat_map(|lock| &lock.pinned).map(|Pinned { name, version, .. }| format!("{name}=={version}\n"));
        fs::write(&bounds, versions.collect::<String>())?;
        let mut pinned = match self {
            Self::Pip(command) => {
                let arguments = ["install", "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--report", "-"];
                reported(&run(Self::pip(command, site).args(arguments).arg("-c").arg(&bounds).args(packages), None, &site.state)?.stdout)?
            }
            Self::Uv => {
                let mut uv = Command::new("uv");
                uv.args(["pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate", "--only-binary", ":all:"]);
                let answer =
                    run(uv.arg("-c").arg(&bounds).arg("--python").arg(site.python()).arg("-"), Some(&packages.join("\n")), &site.state)?;
                Lock::parse(&String::from_utf8_lossy(&answer.stdout)).map_err(|fault| Fault::Use(format!("uv's answer: {fault}")))?.pinned
            }
        };
        pinned.sort();
        fs::remove_file(&bounds)?;
        Ok(pinned)
    }

    /// Installs exactly what the lock names, refusing a file with another digest.
    fn install(&self, lock: &Lock, site: &Site) -> Result<(), Fault> {
        let list = site.folder.join("requirements.txt");
        fs::write(&list, lock.text())?;
        let rules = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "-r"];
        let mut command = match self {
            Self::Pip(command) => {
                let mut pip = Self::pip(command, site);
                pip.arg("install");
                pip
            }
            Self::Uv => {
                let mut uv = Command::new("uv");
                uv.args(["pip", "install", "--quiet", "--link-mode", "copy", "--python"]).arg(site.python());
                uv
            }
        };
        run(command.args(rules).arg(&list), None, &site.state)?;
        if matches!(self, Self::Uv) {
            // pip compiles in its own process. uv would start the new interpreter with `site`, which runs the `.pth` files of the packages.
            let compile = ["-I", "-S", "-m", "compileall", "-q"];
            // A file that cannot be compiled, such as a template, is no fault of the environment.
            if let Err(fault) = run(Command::new(site.python()).args(compile).arg(site.folder.join("lib")), None, &site.state) {
                tracing::debug!(%fault, "not every module was compiled");
            }
        }
        Ok(fs::remove_file(&list)?)
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

/// Programs run as another user where the server is root, so everybody must be able to read what was installed.
fn open_to_readers(folder: &Path) -> Result<(), Fault> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            continue;
        }
        let mode = entry.metadata()?.permissions().mode();
        let wanted = mode | if kind.is_dir() || mode & 0o100 != 0 { 0o555 } else { 0o444 };
        if mode != wanted {
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(wanted))?;
        }
        if kind.is_dir() {
            open_to_readers(&entry.path())?;
        }
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Runs a command to its end, or to the emergency stop, which kills it with everything that it started.
fn run(command: &mut Command, input: Option<&str>, state: &StateDir) -> Result<Output, Fault> {
    let name = Path::new(command.get_program()).display().to_string();
    let fault = |why: &dyn std::fmt::Display| Fault::Use(format!("`{name}` {why}"));
    let stopped = || Fault::Use("the emergency stop is on: nothing is installed; lift it with `toolgate resume`".to_owned());
    if state.is_killed() {
        return Err(stopped());
    }
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() }).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| fault(&format_args!("cannot be started: {e}")))?;
    let (output, error) = (child.stdout.take(), child.stderr.take());
    let output = std::thread::scope(|scope| -> io::Result<Output> {
        let (stdout, stderr) = (scope.spawn(|| all_of(output)), scope.spawn(|| all_of(error)));
        if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
            scope.spawn(move || {
                // One that reads nothing says why.
                let _ = pipe.write_all(text.as_bytes());
            });
        }
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
        let read = |reader: ScopedJoinHandle<'_, Vec<u8>>| reader.join().unwrap_or_default();
        Ok(Output { status, stdout: read(stdout), stderr: read(stderr) })
    })?;
    if output.status.success() {
        return Ok(output);
    }
    if state.is_killed() {
        return Err(stopped());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    let last = lines.get(lines.len().saturating_sub(SAID)..).unwrap_or_default().join("\n");
    Err(fault(&format_args!("failed:\n{last}")))
}

/// Between two looks at an installer and at the emergency stop.
const LOOK: Duration = Duration::from_millis(5);

fn all_of(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came before a fault is what there is to tell.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    bytes
}
/// Lines of an installer's complaint that are passed on.
const SAID: usize = 12;

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
        let failed = run(Command::new("sh").args(["-c", "echo no such package >&2; exit 3"]), None, &state).unwrap_err().to_string();
        assert!(failed.contains("no such package"), "{failed}");
        state.kill("test").unwrap();
        let refused = run(Command::new("sh").args(["-c", "exit 0"]), None, &state).unwrap_err().to_string();
        assert!(refused.contains("emergency stop"), "{refused}");
    }
}
